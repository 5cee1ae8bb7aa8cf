"""The rooms of the command line: a command waits for nothing but its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from attractor.cli.main import ROOMS, build_parser, main


def test_a_server_does_not_wait_for_the_checker_or_the_runtime() -> None:
    program = (
        "import sys; from attractor.cli.main import build_parser; build_parser(['serve']).parse_args(['serve']);"
        "print([name for name in sys.modules if name.startswith(('attractor.check', 'attractor.runtime'))])"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert said.stdout == "[]\n"


def test_checking_a_specification_does_not_wait_for_worlds_and_their_server() -> None:
    program = (
        "import sys; from attractor.cli.main import main; main(['check', 'attractor.check.specs.peterson', '--json']);"
        "print([name for name in sys.modules if name.startswith(('attractor.check.world', 'attractor.apiserver'))])"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert said.stdout.endswith("}\n[]\n")


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_can_be_entered_alone(room: str) -> None:
    assert build_parser([room]).prog == "attractor"


def test_an_interrupt_ends_a_command_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("attractor.cli.commands.manifests.print_crds", interrupted)
    assert main(["crd", "x.py"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize("words", [["check", "x.py"], ["tla", "export", "x.py"], ["replay", "x.json"], ["run", "x.py"]])
def test_a_flag_that_a_command_does_not_know_is_refused_with_the_usage_of_that_command(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--no-such-flag"])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith(f"usage: attractor {' '.join(words[:-1])} [-h]")
    assert said.endswith("error: unrecognized arguments: --no-such-flag\n")

"""Commands by name: a command waits for nothing but its own, operators and other packages bring theirs."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from attractor.cli.main import build_parser, main
from attractor.cli.registry import own_commands, own_demos

SUMMARY = "Fleets of things"
ENTRIES = """\
[attractor.commands]
fleet = fleet_operator:configure
serve = fleet_operator:configure
torn = fleet_operator:missing

[attractor.demos]
fleet = fleet_operator:configure
"""
PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "add-a-command.md").read_text()
(OPERATOR,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
(TORN,) = re.findall(r"^\$ attractor torn\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def printed(program: str) -> str:
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return said.stdout


def test_a_server_does_not_wait_for_the_checker_or_the_runtime() -> None:
    program = (
        "import sys; from attractor.cli.main import lazy_parser; from attractor.cli.registry import own_commands;"
        "lazy_parser(own_commands()).parse_args(['serve']);"
        "print([name for name in sys.modules if name.startswith(('attractor.check', 'attractor.runtime'))])"
    )
    assert printed(program) == "[]\n"


def test_the_list_of_commands_imports_none_of_them() -> None:
    program = (
        "import sys; from attractor.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted(name for name in sys.modules if name.startswith('attractor.')))"
    )
    assert printed(program).splitlines()[-1] == str(
        [
            "attractor.cli",
            "attractor.cli.main",
            "attractor.cli.parser",
            "attractor.cli.registry",
            "attractor.cli.secret_arguments",
            "attractor.cli.terminal",
            "attractor.operators",
            "attractor.operators.commands",
        ]
    )


def test_checking_a_specification_does_not_wait_for_worlds_and_their_server() -> None:
    program = (
        "import sys; from attractor.cli.main import main; main(['check', 'attractor.check.specs.peterson', '--json']);"
        "print([name for name in sys.modules if name.startswith(('attractor.check.world', 'attractor.apiserver'))])"
    )
    assert printed(program).endswith("}\n[]\n")


@pytest.mark.parametrize("name", [each.name for each in own_commands()])
def test_every_command_shows_its_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: attractor {name} [-h]")


@pytest.mark.parametrize("name", [each.name for each in own_demos()])
def test_every_demonstration_shows_its_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: attractor demo {name} [-h]")


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from parsers(each)


def examples(parser: argparse.ArgumentParser) -> list[list[str]]:
    """The commands of a help text, as far as they are ours: without what a shell makes of their output."""
    lines = (line[2:] for line in (parser.epilog or "").splitlines() if line.startswith("  attractor "))
    found = []
    for line in lines:
        words = shlex.split(line)
        ends = [words.index(sign) for sign in ("|", ">", "&&") if sign in words]
        found.append(words[1 : min(ends, default=len(words))])
    return found


def test_every_command_says_what_it_is_and_has_an_example_that_it_takes() -> None:
    whole = build_parser()
    for parser in parsers(whole):
        assert parser.description, parser.prog
        assert examples(parser), f"{parser.prog} has no example"
        for words in examples(parser):
            assert " ".join(["attractor", *words]).startswith(parser.prog), f"an example of {parser.prog}: {words}"
            whole.parse_args(words)


@pytest.mark.parametrize("columns", ["80", "120"])
def test_help_is_as_wide_as_the_terminal_but_for_commands_to_copy(
    columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for parser in parsers(build_parser()):
        lines = parser.format_help().splitlines()
        assert [line for line in lines if len(line) > int(columns) and not line.startswith("  attractor ")] == []


def test_a_command_that_there_is_not_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chekc", "x.py"]) == 2
    assert capsys.readouterr().err == "error: there is no command `chekc`\n\nhint: did you mean `attractor check`?\n"


def attractor(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line, where a package with an operator is installed."""
    info = site / "fleet_operator-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: fleet-operator\nVersion: 1.0\nSummary: {SUMMARY}\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    (site / "fleet_operator.py").write_text(OPERATOR)
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "attractor", *words]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False, cwd=site
    )


def test_another_package_brings_a_command_and_a_demonstration(tmp_path: Path) -> None:
    assert "    fleet          Fleets of things (fleet-operator)\n" in attractor(tmp_path, "--help").stdout
    ran = attractor(tmp_path, "fleet", "--size", "4")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("a fleet of 4\n", "", 0)
    assert "Look after fleets." in attractor(tmp_path, "fleet", "--help").stdout
    assert attractor(tmp_path, "demo", "fleet").stdout == "a fleet of 3\n"


def test_another_package_cannot_take_a_command_of_ours(tmp_path: Path) -> None:
    assert "Serve a Kubernetes API from this process" in attractor(tmp_path, "serve", "--help").stdout


def test_a_command_of_another_package_that_cannot_be_loaded_is_told_with_its_package(tmp_path: Path) -> None:
    ran = attractor(tmp_path, "torn")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", TORN, 2)


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

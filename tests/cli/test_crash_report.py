"""A crash of attractor's own: an exit code that no verdict has, and a report file."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import pytest

import attractor
from attractor.check import api
from attractor.cli import main as command
from attractor.cli.commands.check import EXIT
from attractor.cli.crash_report import CRASHED
from attractor.cli.registry import Command, own_commands

if TYPE_CHECKING:
    from pathlib import Path


class OutOfHand(BaseException):
    """Raised by a part of ours for a part of ours, and caught by neither."""


def out_of_hand(*_: object) -> None:
    raise OutOfHand("a part is missing")


@pytest.mark.parametrize(("broken", "said_of"), [(None, "not callable"), (out_of_hand, "a part is missing")])
def test_a_failure_of_our_own_is_no_verdict_and_leaves_a_report(
    broken: object, said_of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api, "audit_steps", broken)
    code = command.main(["check", "attractor.check.specs.peterson"])
    assert code == CRASHED == 70
    assert code not in {*EXIT.values(), 2}
    (file,) = tmp_path.glob("attractor-crash-*.txt")
    said = capsys.readouterr().err
    assert "attractor itself has failed, and nothing was decided" in said
    assert f"please report it with {file.name}" in said
    assert "Traceback" not in said
    report = file.read_text()
    assert "command: attractor check attractor.check.specs.peterson" in report
    assert f"attractor: {attractor.__version__}" in report
    assert platform.python_version() in report
    assert "msgspec: " in report
    assert said_of in report
    assert "check/api.py" in report


@pytest.mark.parametrize("name", [each.name for each in own_commands()])
def test_every_command_that_fails_by_our_fault_has_that_exit_code(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def broken(*_: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(Command, "configure", broken)
    assert command.main([name]) == CRASHED


def test_a_mistake_of_the_specification_is_no_crash_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slips.py").write_text(
        "from attractor.check import Spec, action, var\n"
        "class Slips(Spec):\n    n: int = var(0)\n    @action\n    def go(self) -> None:\n        self.n = 1 // self.n\n"
    )
    assert command.main(["check", "slips.py"]) == 2
    assert "slips.py:6" in capsys.readouterr().err
    assert not list(tmp_path.glob("attractor-crash-*"))

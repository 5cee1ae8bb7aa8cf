"""``attractor check --certificate`` and ``attractor-verify``, as a person types them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.cli.main import main as attractor
from attractor_verify.main import main as attractor_verify

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LAMP = """
from attractor.check import Spec, action, always_eventually, constant, var


class Lamp(Spec):
    sides: int = constant(1)
    on: bool = var(False)

    @action(fair="weak")
    def switch(self) -> None:
        self.on = not self.on

    comes_on = always_eventually(lambda self: self.on)
"""


def test_a_certificate_written_by_the_command_line_is_verified_by_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lamp_of_the_command.py").write_text(LAMP)
    asked = ["check", "lamp_of_the_command.py", "--const", "sides=2", "--certificate", "lamp.cert"]
    assert attractor(asked) == 0
    capsys.readouterr()
    assert attractor_verify(["lamp.cert"]) == 0
    assert capsys.readouterr().out.startswith("Lamp(sides=2): verified; 2 states, 4 rows executed again")


def test_what_is_rejected_has_an_exit_code_of_its_own_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "proof.cert"
    asked = ["check", "attractor.check.specs.peterson:Peterson", "--certificate", str(path)]
    assert attractor(asked) == 0
    path.write_bytes(path.read_bytes()[:-1])
    assert attractor_verify([str(path)]) == 1
    assert "error: rejected:" in capsys.readouterr().err
    assert attractor_verify([str(tmp_path / "none.cert")]) == 2
    (tmp_path / "text.cert").write_text("hello\n")
    assert attractor_verify([str(tmp_path / "text.cert")]) == 1
    assert "is no certificate; `attractor check --certificate FILE` writes one" in capsys.readouterr().err


def test_a_world_made_by_a_function_is_found_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pair.cert"
    assert attractor(["check", "attractor.operators.configpair.proofs:world", "--certificate", str(path)]) == 0
    assert attractor_verify([str(path)]) == 0
    assert "undelivered events of a kind: quiesces" in capsys.readouterr().out

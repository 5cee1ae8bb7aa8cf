"""``attractor tla export``: files for TLC."""

from pathlib import Path

from tests.cli.conftest import Run


def test_export_writes_module_and_configurations(run: Run, tmp_path: Path) -> None:
    found = run("tla", "export", "attractor.check.specs.irsa", "--const", "workers=3", "-o", "out")
    assert found.code == 0
    assert found.out.split() == ["out/Irsa.tla", "out/Irsa.cfg", "out/IrsaLiveness.cfg"]
    assert "workers = 3" in (tmp_path / "out" / "Irsa.cfg").read_text()
    assert "hint: check it with `java -cp tla2tools.jar tlc2.TLC -config Irsa.cfg Irsa.tla`" in found.err


def test_export_refuses_with_line_and_reason(run: Run, tmp_path: Path) -> None:
    found = run("tla", "export", "lift.py:Other")
    assert found.code == 2
    line = next(n for n, text in enumerate((tmp_path / "lift.py").read_text().splitlines(), 1) if "nowhere" in text)
    assert f"lift.py:{line}: " in found.err
    assert not (tmp_path / "Other.tla").exists()

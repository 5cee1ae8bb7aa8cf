"""The demonstrations say what they do, and do it."""

import re
import subprocess
import sys
from pathlib import Path


def shown(where: Path, *words: str) -> str:
    """What a demonstration prints."""
    command = [sys.executable, "-m", "attractor", "demo", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=where)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_demo_runs_the_right_operator_breaks_the_naive_one_and_proves_the_right_one(tmp_path: Path) -> None:
    text = shown(tmp_path)
    run, broken, proved = (text.index(f"\n{number}  ") for number in (1, 2, 3))
    assert "-> web-cm1: red, web-cm2: red  converged" in text[run:broken]
    assert text[run:broken].count("-> web-cm1: blue, web-cm2: blue  converged") == 2
    assert "   7  host1           host1 crashes and starts again\n" in text[broken:proved]
    assert "and then nothing more happens, for ever" in text[broken:proved]
    assert "runtime   confirmed: nothing is left to do, and `eventually stable` is not reached" in text[broken:proved]
    assert text[proved:].count("\nholds     under") == 4
    assert re.search(
        r"an edit and a crash at any step: [\d,]+ states, [\d.]+ s\n  within  a lag of 3 undelivered", text[proved:]
    )
    (diagram,) = tmp_path.glob("traces/*.html")
    assert str(diagram.relative_to(tmp_path)) in text
    assert "web-cm1" in diagram.read_text()


def test_demo_server_defines_writes_watches_refuses_and_collects(tmp_path: Path) -> None:
    text = shown(tmp_path, "server")
    assert "a blue widget must be larger than 1" in text
    assert "   NAME    SIZE   COLOR\n   large   10     blue\n   small   3      blue\n" in text
    watched = "ADDED small, ADDED large, MODIFIED small, ADDED settings, DELETED small, DELETED settings"
    assert watched in text
    assert "widget small was deleted, and its configmap went with it" in text

"""``attractor demo dbcluster``: a real database, a killed operator, and every row."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_demonstration_loses_no_row_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "attractor", "demo", "dbcluster"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    counts = re.findall(r"count     (\d+) rows were acknowledged, 0 are lost", done.stdout)
    assert len(counts) == 2
    assert int(counts[0]) >= 20
    assert "kill -9 of process" in done.stdout
    assert "Plan: 2 to create, 1 to change, 1 to delete." in done.stdout
    assert "the password is the same one" in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert not [place for place in homes() if place.startswith(str(tmp_path))]


def homes() -> list[str]:
    """The working directories of all processes that can be looked at."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found.append(os.readlink(process / "cwd"))
    return found

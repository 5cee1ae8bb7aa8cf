"""``attractor demo dbcluster``: a real database, a killed operator, and every row."""

import re
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_demonstration_loses_no_row_and_leaves_no_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "attractor", "demo", "dbcluster"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    counts = re.findall(r"count     (\d+) rows were acknowledged, 0 are lost", done.stdout)
    assert len(counts) == 2
    assert int(counts[0]) >= 20
    assert "kill -9 of process" in done.stdout
    assert "Plan: 2 to create, 1 to change, 1 to delete." in done.stdout
    assert "the password is the same one" in done.stdout
    assert not re.search(
        r"redis-server 127\.", subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    )

"""The demonstration says what it does, and does it."""

import subprocess
import sys


def test_demo_defines_writes_watches_refuses_collects_and_proves() -> None:
    done = subprocess.run([sys.executable, "-m", "attractor", "demo"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "a blue widget must be larger than 1" in done.stdout
    assert "   NAME    SIZE   COLOR\n   large   10     blue\n   small   3      blue\n" in done.stdout
    watched = "ADDED small, ADDED large, MODIFIED small, ADDED settings, DELETED small, DELETED settings"
    assert watched in done.stdout
    assert "with 4 workers holds: 87,622 states" in done.stdout
    assert "with 1 worker it is violated: deadlock after 11 steps" in done.stdout

"""The demonstration says what it does, does it, and leaves nothing running."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_demo_survives_a_crash_upgrades_an_agent_and_takes_everything_down() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "attractor", "demo", "edge"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "the agent of rome was killed while it created a cluster" in done.stdout
    assert "Cloudlet paris is upgrading" in done.stdout
    assert "agent 2 serves" in done.stdout
    assert "0 instances still run" in done.stdout
    assert done.stderr == ""

"""The demonstration says what it does, does it, and leaves nothing running, however it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attractor.operators.edge.drivers.processes import naming

DEMO = [sys.executable, "-m", "attractor", "demo", "edge"]


@pytest.mark.slow
def test_the_demo_survives_a_crash_upgrades_an_agent_and_takes_everything_down(tmp_path: Path) -> None:
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(DEMO, capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 0, done.stderr
    assert "the agent of rome was killed while it created a cluster" in done.stdout
    assert "Cloudlet paris is upgrading" in done.stdout
    assert "agent 2 serves" in done.stdout
    assert "0 instances still run" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stderr == ""
    nothing_is_left(tmp_path)


HEARING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
"""What a shell has started in the background does not hear of interrupts, and neither do its children; this one does."""


@pytest.mark.parametrize(
    ("number", "word"),
    [
        pytest.param(signal.SIGINT, "crash", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, "agents", marks=pytest.mark.nightly),
        pytest.param(signal.SIGTERM, "upgrade", marks=pytest.mark.nightly),
    ],
)
def test_a_demo_that_is_interrupted_leaves_no_process_and_no_file(
    tmp_path: Path, number: signal.Signals, word: str
) -> None:
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", HEARING, *DEMO]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if line.startswith(word):
                demo.send_signal(number)
                break
        rest = demo.stdout.read()
    assert demo.returncode == 130
    assert rest.endswith("stopped; all that was started is ended\n")
    nothing_is_left(tmp_path)


def nothing_is_left(directory: Path) -> None:
    assert naming(directory) == []
    assert list(directory.iterdir()) == []

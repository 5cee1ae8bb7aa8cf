"""The demonstration says what it does, does it, and leaves nothing running, however it ends."""

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from attractor.operators.edge.api.states import AGENT, CLOUDLET, CLUSTER_INST
from attractor.operators.edge.cli.demo_table import HEADING, INDENT, Row, StateTable
from attractor.operators.local.processes import naming

WITHIN_S = 300
"""A demonstration that hangs is a failure, not a wait; on an idle machine it takes ten seconds."""
DEMO = [sys.executable, "-m", "attractor", "demo", "edge"]


@pytest.mark.slow
def test_the_demo_survives_a_crash_upgrades_an_agent_and_takes_everything_down(tmp_path: Path) -> None:
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(DEMO, capture_output=True, text=True, check=False, env=environ, timeout=WITHIN_S)
    assert done.returncode == 0, done.stderr
    assert "the agent of rome was killed while it created a cluster" in done.stdout
    assert "Cloudlet paris is upgrading" in done.stdout
    assert "agent 2 serves" in done.stdout
    assert "0 instances still run" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stderr == ""
    nothing_is_left(tmp_path)


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
    with subprocess.Popen(DEMO, stdout=subprocess.PIPE, text=True, env=environ) as demo:
        assert demo.stdout is not None
        with ended_in_time(demo):
            for line in demo.stdout:
                if line.startswith(word):
                    demo.send_signal(number)
                    break
            rest = demo.stdout.read()
    assert demo.returncode == 130
    assert rest.endswith("stopped; all that was started is ended\n")
    nothing_is_left(tmp_path)


@contextmanager
def ended_in_time(process: subprocess.Popen[str]) -> Iterator[None]:
    """Kill a process that hangs, so that whoever reads from it comes to an end."""
    timer = threading.Timer(WITHIN_S, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def nothing_is_left(directory: Path) -> None:
    assert naming(directory) == []
    assert list(directory.iterdir()) == []


def test_the_table_keeps_its_columns_whatever_the_states_are() -> None:
    shown = io.StringIO()
    table = StateTable(None, ("berlin",), 0.0, shown)  # type: ignore[arg-type]  # nobody is asked
    longest = max((f"v1 {tracked} ({own})" for tracked in CLOUDLET.states for own in AGENT.states), key=len)
    instance = max(CLUSTER_INST.states, key=len)
    for row in (HEADING, Row("berlin", longest, instance, instance), Row("berlin", "v1 Ready", "Ready", "Ready")):
        shown.write(INDENT + table._text(row) + "\n")
    heading, *lines = shown.getvalue().splitlines()
    for line in lines:
        assert len(line) <= 80
        for title in ("CLUSTER one", "APP shop"):
            at = heading.index(title)
            assert line[at - 1] == " "
            assert line[at] != " "

"""What a run means for its Executable: facts, phases, and whether and when there is another run. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from attractor.operators.devplane.api.executables import MOVES

if TYPE_CHECKING:
    from datetime import datetime

    from attractor.operators.devplane.api.executables import Executable, ExecutableStatus, Phase, RestartPolicy
    from attractor.operators.devplane.drivers.processes import Run

FIRST_BACKOFF_S, MAX_BACKOFF_S = 0.5, 60.0
STEADY_S = 60.0
"""A run that lasted this long was no failed attempt: the next restart does not wait longer than the first one did."""


def move(status: ExecutableStatus, phase: Phase, message: str = "") -> None:
    """Go to another phase, as the table allows."""
    if phase != status.phase:
        assert phase in MOVES[status.phase], f"the table has no way from {status.phase!r} to {phase!r}"
        status.phase = phase
    status.message = message


def tell_facts(status: ExecutableStatus, run: Run) -> None:
    """Say what is known about a run."""
    status.restarts = max(status.restarts, run.number)
    status.pid = run.pid
    status.started_at, status.finished_at = run.started_at, run.finished_at
    status.exit_code = run.exit_code
    status.stdout_file, status.stderr_file = run.stdout_file, run.stderr_file


def tell_end(executable: Executable, run: Run) -> None:
    """Say what the end of a run leads to: another run, later, or the end of all."""
    spec, status = executable.spec, executable.status
    if run.state == "failed":
        move(status, "FailedToStart", run.error)
    elif run.is_stopped:
        move(status, "Terminated")
    elif not spec.stop and is_run_again(spec.restart_policy, run):
        status.restarts = run.number + 1
        status.backoff_seconds = next_backoff_s(status.backoff_seconds, run)
        how = "was lost" if run.state == "lost" else f"ended with {run.exit_code}"
        move(status, "Starting", f"{how}; starts again {status.backoff_seconds:g} s later")
    elif run.state == "lost":
        move(status, "Unknown", "its process is gone, and nobody saw how it ended: what watched it was killed too")
    else:
        move(status, "Finished")


def is_run_again(policy: RestartPolicy, run: Run) -> bool:
    """Whether a run that ended by itself is followed by another; one whose end nobody saw counts as failed."""
    return policy == "Always" or (policy == "OnFailure" and run.exit_code != 0)


def next_backoff_s(before_s: float, run: Run) -> float:
    """How long to wait after a run: twice as long as before it, up to a limit, unless it was a steady one."""
    lasted = timedelta() if run.started_at is None or run.finished_at is None else run.finished_at - run.started_at
    if lasted >= timedelta(seconds=STEADY_S):
        return FIRST_BACKOFF_S
    return min(max(FIRST_BACKOFF_S, 2 * before_s), MAX_BACKOFF_S)


def waits_s(status: ExecutableStatus, run: Run, now: datetime) -> float:
    """How much longer the next run has to wait for the backoff; 0 when its time has come."""
    if run.finished_at is None:
        return 0.0
    return max(0.0, status.backoff_seconds - (now - run.finished_at).total_seconds())

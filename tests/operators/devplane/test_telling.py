"""What a run means for its Executable: the table of phases, restarts and their backoff."""

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from attractor.objects.resource import MicroTime
from attractor.operators.devplane.api.executables import (
    FINAL,
    MOVES,
    Executable,
    ExecutableSpec,
    ExecutableStatus,
    Phase,
    RestartPolicy,
)
from attractor.operators.devplane.controllers.executables import (
    is_run_again,
    move,
    next_backoff_s,
    tell_end,
    tell_facts,
    waits_s,
)
from attractor.operators.devplane.drivers.processes import Run, RunState

BEGAN = MicroTime.of(datetime(2026, 1, 1, tzinfo=UTC))


def run(state: RunState = "ended", code: int | None = 0, lasted_s: float = 1, **fields: bool) -> Run:
    """A run that is over."""
    return Run(
        0, state, 7, BEGAN, MicroTime.of(BEGAN + timedelta(seconds=lasted_s)), code,
        is_stopped=fields.get("is_stopped", False), error="no such program",
    )  # fmt: skip


def told(
    made: Run, *, phase: Phase = "Running", policy: RestartPolicy = "Never", stop: bool = False
) -> ExecutableStatus:
    """The status of an Executable whose run is over."""
    spec = ExecutableSpec(command=["x"], restart_policy=policy, stop=stop)
    executable = Executable(spec=spec, status=ExecutableStatus(phase=phase))
    tell_facts(executable.status, made)
    tell_end(executable, made)
    return executable.status


def test_the_table_has_every_phase_and_leads_nowhere_else() -> None:
    phases = set(get_args(Phase))
    assert set(MOVES) == phases
    assert {""}.union(*MOVES.values()) == phases
    assert {"Finished", "Terminated", "FailedToStart", "Unknown"} == FINAL


def test_a_move_that_the_table_does_not_have_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="no way from 'Finished' to 'Running'"):
        move(ExecutableStatus(phase="Finished"), "Running")


@pytest.mark.parametrize(
    ("made", "phase"),
    [
        (run(), "Finished"),
        (run(code=3), "Finished"),
        (run(is_stopped=True), "Terminated"),
        (run("lost", None), "Unknown"),
    ],
)
def test_a_run_that_is_not_followed_by_another_is_the_end(made: Run, phase: Phase) -> None:
    assert told(made).phase == phase


def test_one_that_failed_says_why_whatever_the_policy() -> None:
    status = told(run("failed", None), phase="Starting", policy="Always")
    assert (status.phase, status.message) == ("FailedToStart", "no such program")


@pytest.mark.parametrize(
    ("policy", "made", "again"),
    [
        ("Never", run(code=1), False),
        ("OnFailure", run(code=0), False),
        ("OnFailure", run(code=1), True),
        ("OnFailure", run("lost", None), True),
        ("Always", run(code=0), True),
    ],
)
def test_the_policy_decides_whether_it_runs_again(policy: RestartPolicy, made: Run, *, again: bool) -> None:
    assert is_run_again(policy, made) == again
    assert (told(made, policy=policy).phase == "Starting") == again


def test_what_was_told_to_stop_is_not_run_again() -> None:
    assert told(run(code=1), policy="Always", stop=True).phase == "Finished"
    assert told(run(code=143, is_stopped=True), policy="Always").phase == "Terminated"


def test_each_restart_waits_twice_as_long_up_to_a_limit() -> None:
    waits = [0.0]
    for _ in range(10):
        waits.append(next_backoff_s(waits[-1], run(code=1)))
    assert waits[1:] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_after_a_steady_run_the_restart_waits_as_the_first_one_did() -> None:
    assert next_backoff_s(32, run(code=1, lasted_s=60)) == 0.5


def test_the_backoff_counts_from_the_end_of_the_run() -> None:
    status, made = ExecutableStatus(backoff_seconds=2), run()
    assert made.finished_at is not None
    assert waits_s(status, made, made.finished_at) == 2
    assert waits_s(status, made, made.finished_at + timedelta(seconds=1.5)) == 0.5
    assert waits_s(status, made, made.finished_at + timedelta(seconds=5)) == 0

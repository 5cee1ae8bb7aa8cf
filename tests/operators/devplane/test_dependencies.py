"""Executables wait for others, and are started again: what is waited for, in words, and with real processes."""

import re
from pathlib import Path

import pytest

from attractor.objects.errors import Invalid
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.executables import (
    Dependency,
    DependencyCondition,
    Executable,
    ExecutableReplicaSet,
    ExecutableReplicaSetSpec,
    ExecutableReplicaSetStatus,
    ExecutableSpec,
    ExecutableStatus,
    ExecutableTemplate,
    LogProbe,
    Probe,
    TcpProbe,
)
from attractor.operators.devplane.controllers.dependencies import restart_word, unmet
from attractor.operators.devplane.proofs.properties import LONG_AGO
from tests.operators.devplane.planes import FOREVER, Plane, text_of


def executable(name: str, status: ExecutableStatus, **spec: object) -> Executable:
    """An Executable in a state."""
    return Executable(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=ExecutableSpec(**{"command": ["serve"], **spec}),  # type: ignore[arg-type]
        status=status,
    )


RUNNING = ExecutableStatus(phase="Running", health="Healthy", started_at=LONG_AGO)
UNPROVEN = ExecutableStatus(phase="Running", health="Caution", started_at=LONG_AGO)
DONE = ExecutableStatus(phase="Finished", exit_code=0, started_at=LONG_AGO)
FAILED = ExecutableStatus(phase="Finished", exit_code=3, started_at=LONG_AGO)
IMPOSSIBLE = ExecutableStatus(phase="FailedToStart")
STOPPED = ExecutableStatus(phase="Terminated")


@pytest.mark.parametrize(
    ("condition", "status", "why"),
    [
        ("Started", ExecutableStatus(phase="Starting"), "does not run yet"),
        ("Started", UNPROVEN, ""),
        ("Started", FAILED, ""),
        ("Started", IMPOSSIBLE, "has failed; see why, and restart it"),
        ("Healthy", ExecutableStatus(), "does not run yet"),
        ("Healthy", UNPROVEN, "is not healthy yet"),
        ("Healthy", RUNNING, ""),
        ("Healthy", DONE, "has ended with exit code 0; restart it"),
        ("Healthy", STOPPED, "was told to stop"),
        ("Completed", RUNNING, "has not completed yet"),
        ("Completed", DONE, ""),
        ("Completed", FAILED, "has ended with exit code 3; restart it"),
    ],
)
def test_a_dependency_is_met_or_it_is_said_why_not(
    condition: DependencyCondition, status: ExecutableStatus, why: str
) -> None:
    said = unmet([Dependency(name="db", condition=condition)], {("Executable", "db"): executable("db", status)})
    assert said == (why and f"waits for Executable db, which {why}")


def test_a_dependency_that_is_not_there_is_waited_for() -> None:
    assert unmet([Dependency(name="db")], {}) == "waits for Executable db, which is not there"


@pytest.mark.parametrize(
    ("condition", "status", "why"),
    [
        ("Started", ExecutableReplicaSetStatus(), "does not run yet"),
        (
            "Started",
            ExecutableReplicaSetStatus(observed_generation=1, running_replicas=1),
            "has started 1 of 2 replicas",
        ),
        ("Started", ExecutableReplicaSetStatus(observed_generation=1, running_replicas=2), ""),
        ("Healthy", ExecutableReplicaSetStatus(observed_generation=1, health="Caution"), "is not healthy yet"),
        ("Healthy", ExecutableReplicaSetStatus(observed_generation=1, health="Healthy"), ""),
    ],
)
def test_all_replicas_of_a_set_count(
    condition: DependencyCondition, status: ExecutableReplicaSetStatus, why: str
) -> None:
    template = ExecutableTemplate(spec=ExecutableSpec(command=["serve"]))
    db = ExecutableReplicaSet(
        metadata=ObjectMeta(name="db", namespace="default", generation=1),
        spec=ExecutableReplicaSetSpec(replicas=2, template=template),
        status=status,
    )
    wanted = Dependency(name="db", kind="ExecutableReplicaSet", condition=condition)
    said = unmet([wanted], {("ExecutableReplicaSet", "db"): db})
    assert said == (why and f"waits for ExecutableReplicaSet db, which {why}")


def test_restarts_of_dependencies_are_followed_where_asked_for() -> None:
    followed = Dependency(name="db", restart=True)
    other = Dependency(name="cache")
    web = executable("web", ExecutableStatus(restart="before"), depends_on=[followed, other], restart="own")
    db = executable("db", ExecutableStatus(restart="files 2"))
    cache = executable("cache", ExecutableStatus(restart="files 3"))
    assert restart_word(web, {("Executable", "db"): db, ("Executable", "cache"): cache}) == "own db=files 2"
    assert restart_word(web, {("Executable", "db"): None}) == "before", "one that is gone is no reason to restart"


async def test_a_process_starts_when_another_has_completed(plane: Plane, tmp_path: Path) -> None:
    mark = tmp_path / "migrated"
    needs = [Dependency(name="migrate", condition="Completed")]
    await plane.create("web", f"test -e {mark} && echo migrated", depends_on=needs)
    await plane.until("web", lambda one: "waits for Executable migrate, which is not there" in one.status.message)
    await plane.create("migrate", f"touch {mark}")
    web = await plane.until_in("web", "Finished")
    assert web.status.exit_code == 0
    assert text_of(web.status.stdout_file) == "migrated\n"


async def test_a_process_starts_when_a_line_of_the_log_says_that_another_is_ready(plane: Plane, tmp_path: Path) -> None:
    go = tmp_path / "go"
    ready = Probe(name="ready", log=LogProbe(pattern="^ready to (accept|take)"))
    script = f"echo starting; until test -e {go}; do sleep 0.05; done; echo ready to accept >&2; {FOREVER}"
    await plane.create("db", script, probes=[ready])
    await plane.create("web", depends_on=[Dependency(name="db")])
    web = await plane.until("web", lambda one: "is not healthy yet" in one.status.message)
    assert web.status.phase == "Starting"
    db = await plane.until("db", lambda one: one.status.health == "Unhealthy")
    assert "no line matches '^ready to (accept|take)' yet" in db.status.message
    go.touch()
    await plane.until_in("web", "Running")


async def test_a_log_probe_does_not_count_lines_of_earlier_runs(plane: Plane, tmp_path: Path) -> None:
    once = tmp_path / "once"
    script = f"test -e {once} || echo ready; touch {once}; {FOREVER}"
    await plane.create("db", script, probes=[Probe(name="ready", log=LogProbe(pattern="ready"))])
    await plane.until("db", lambda one: one.status.health == "Healthy")
    await plane.change("db", restart="1")
    await plane.until("db", lambda one: one.status.restarts == 1 and one.status.health == "Unhealthy")


async def test_a_tcp_probe_succeeds_when_somebody_listens(plane: Plane) -> None:
    nobody = Probe(name="port", tcp=TcpProbe(port="1"))
    await plane.create("db", probes=[nobody])
    await plane.until("db", lambda one: one.status.health == "Unhealthy")


async def test_a_restart_ends_the_process_and_starts_another(plane: Plane) -> None:
    await plane.create("web")
    before = (await plane.until_in("web", "Running")).status
    await plane.change("web", restart="because")
    after = (await plane.until("web", lambda one: one.status.restarts == 1 and one.status.phase == "Running")).status
    assert after.pid != before.pid
    assert (after.restart, after.backoff_seconds) == ("because", 0)


@pytest.mark.parametrize(("script", "phase"), [("exit 3", "Finished"), ("", "FailedToStart")])
async def test_what_has_ended_is_run_again_by_a_restart(plane: Plane, script: str, phase: str) -> None:
    command = ["sh", "-c", script] if script else ["/no/such/program"]
    await plane.create("job", command=command)
    await plane.until_in("job", phase)
    await plane.change("job", restart="1")
    await plane.until("job", lambda one: one.status.restarts == 1 and one.status.phase == phase)


async def test_who_follows_a_dependency_is_restarted_with_it_and_waits_for_it(plane: Plane) -> None:
    await plane.create("db")
    await plane.create("web", depends_on=[Dependency(name="db", restart=True)])
    await plane.create("other", depends_on=[Dependency(name="db")])
    before = (await plane.until_in("web", "Running")).status
    await plane.until_in("other", "Running")
    await plane.change("db", restart="1")
    after = (await plane.until("web", lambda one: one.status.restarts == 1 and one.status.phase == "Running")).status
    assert after.pid != before.pid
    assert after.restart == "db=1"
    db = (await plane.get("db")).status
    assert db.started_at is not None
    assert after.started_at is not None
    assert db.started_at <= after.started_at
    assert (await plane.get("other")).status.restarts == 0


async def test_a_set_that_is_to_complete_is_refused(plane: Plane) -> None:
    wanted = Dependency(name="db", kind="ExecutableReplicaSet", condition="Completed")
    with pytest.raises(Invalid, match=re.escape("a replica set does not complete")):
        await plane.create("web", depends_on=[wanted])

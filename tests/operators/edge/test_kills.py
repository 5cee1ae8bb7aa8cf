"""Coordinator and agent are killed in every state of their tables, and nothing is lost, and nothing runs that should not.

An object is held in a state by the API server, so that a kill lands there for certain; which states there are, the
tables say. Judged is what runs in the end, by the processes of this machine.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from attractor.objects.errors import Forbidden
from attractor.objects.gvk import Key
from attractor.operators.edge.api.states import AGENT, APP_INST, CREATE, DELETE, UPDATE, UPGRADE, Actor, TrackedState
from attractor.operators.edge.api.types import AppInst, Cloudlet, ClusterInst, Instance
from attractor.operators.edge.cli.credentials import repair
from attractor.operators.edge.drivers.protocols import Ref
from attractor.testing import eventually
from tests.operators.edge.atwork import AtWork
from tests.operators.edge.holds import Held, Holds
from tests.operators.edge.programs import GATED, WITHIN_S, Programs

SECTIONS = {"create": CREATE, "update": UPDATE, "delete": DELETE}
VICTIMS = ("agent", "coordinator", "agent and coordinator")


def kills() -> Iterator[object]:
    """Every state that an operation on an app goes through, from the one in which it is claimed."""
    for operation, rows in SECTIONS.items():
        for state in dict.fromkeys(row.state for row in rows):
            mover = "agent" if APP_INST.owner(state) is Actor.CRM else "coordinator"
            for victims in VICTIMS:
                by_day = victims == mover and operation == "delete"
                yield pytest.param(operation, state, victims, marks=by_day_or_night(by_day))


def by_day_or_night(by_day: bool) -> pytest.MarkDecorator:
    """The long rest runs every night."""
    return pytest.mark.slow if by_day else pytest.mark.nightly


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def at_work(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AtWork]:
    directory: Path = tmp_path_factory.mktemp("kills")
    async with Programs(directory, Holds()) as programs:
        coordinator = await programs.coordinator()
        agent = await programs.started("berlin", *GATED)
        await programs.create_cluster()
        await programs.wait(ClusterInst, "one", "Ready")
        yield AtWork(programs, coordinator, agent)


@pytest.mark.parametrize(("operation", "state", "victims"), list(kills()))
@pytest.mark.asyncio(loop_scope="module")
async def test_a_kill_in_a_state_of_the_table_loses_nothing(
    at_work: AtWork, operation: str, state: TrackedState, victims: str
) -> None:
    programs, app, failed = at_work.programs, at_work.new_name(), state.endswith("Error")
    assert programs.holds is not None
    if operation != "create":
        await at_work.wish("create", app)
        await programs.wait(AppInst, app, "Ready")
    held = programs.holds.hold(Held("AppInst", "berlin", app, state))
    if failed:
        programs.fail_next()
    await at_work.wish(operation, app)
    await eventually(lambda: held.was_tried, within_s=WITHIN_S)
    status = await programs.status(AppInst, app)
    assert status.state == state
    claimed = (await programs.status(ClusterInst, "one")).apps[app]
    assert claimed == status.operation + (state in APP_INST.resting), "the kill is not between claim and operation"
    await at_work.kill_and_start(victims)
    await at_work.judge(operation, app, failed=failed)
    if operation != "delete":
        await at_work.leave(app)


def cluster_kills() -> Iterator[object]:
    """Every state that an operation on a cluster goes through; by day, one of each side."""
    for operation, rows in SECTIONS.items():
        for state in dict.fromkeys(row.state for row in rows):
            for victims in VICTIMS:
                by_day = (operation, state, victims) in {
                    ("create", "Creating", "agent"),
                    ("update", "UpdateError", "coordinator"),
                }
                yield pytest.param(operation, state, victims, marks=by_day_or_night(by_day))


@pytest.mark.parametrize(("operation", "state", "victims"), list(cluster_kills()))
@pytest.mark.asyncio(loop_scope="module")
async def test_a_kill_in_a_state_of_the_table_loses_nothing_of_a_cluster(
    at_work: AtWork, operation: str, state: TrackedState, victims: str
) -> None:
    programs, cluster, failed = at_work.programs, at_work.new_name(), state.endswith("Error")
    assert programs.holds is not None
    if operation != "create":
        await at_work.wish("create", cluster, ClusterInst)
        await programs.wait(ClusterInst, cluster, "Ready")
    held = programs.holds.hold(Held("ClusterInst", "berlin", cluster, state))
    if failed:
        programs.fail_next()
    await at_work.wish(operation, cluster, ClusterInst)
    await eventually(lambda: held.was_tried, within_s=WITHIN_S)
    status = await programs.status(ClusterInst, cluster)
    assert (status.state if status else TrackedState.NOT_PRESENT) == state, "nothing is said of what was never tried"
    await at_work.kill_and_start(victims)
    await at_work.judge(operation, cluster, failed=failed, kind=ClusterInst)
    if operation != "delete":
        await at_work.leave(cluster, ClusterInst)


def works_cut_short() -> Iterator[object]:
    """What an agent begins on either kind, and how far it came: before it did anything, and with a process not yet noted."""
    for kind in (AppInst, ClusterInst):
        for place in ("before", "during"):
            for operation, state in (("create", "Creating"), ("update", "Updating"), ("delete", "Deleting")):
                starts_a_process = operation == "create" or (operation == "update" and kind is AppInst)
                if place == "before" or starts_a_process:
                    by_day = (kind, operation) == (AppInst, "create") or (kind, place) == (ClusterInst, "during")
                    yield pytest.param(kind, operation, state, place, marks=by_day_or_night(by_day))


@pytest.mark.parametrize(("kind", "operation", "state", "place"), list(works_cut_short()))
@pytest.mark.asyncio(loop_scope="module")
async def test_an_agent_killed_at_what_it_has_begun_does_it(
    at_work: AtWork, kind: type[Instance], operation: str, state: str, place: str
) -> None:
    programs, name = at_work.programs, at_work.new_name()
    if operation != "create":
        await at_work.wish("create", name, kind)
        await programs.wait(kind, name, "Ready")
    programs.gate(place)
    await at_work.wish(operation, name, kind)
    await programs.wait_gate()
    assert (await programs.status(kind, name)).state == state
    await at_work.kill_and_start("agent")
    await at_work.judge(operation, name, failed=False, kind=kind)
    if operation != "delete":
        await at_work.leave(name, kind)


def deletion_kills() -> Iterator[object]:
    """Every state of a deletion."""
    for state in dict.fromkeys(row.state for row in DELETE):
        for victims in VICTIMS:
            by_day = (state, victims) == ("DeletePrepare", "coordinator")
            yield pytest.param(state, victims, marks=by_day_or_night(by_day))


@pytest.mark.parametrize(("state", "victims"), list(deletion_kills()))
@pytest.mark.asyncio(loop_scope="module")
async def test_a_kill_while_a_cluster_goes_with_its_apps_leaves_none_of_them(
    at_work: AtWork, state: TrackedState, victims: str
) -> None:
    programs, cluster = at_work.programs, at_work.new_name()
    assert programs.holds is not None
    await programs.create_cluster(cluster)
    await programs.create_app(f"{cluster}-app", cluster, auto_delete=True)
    await programs.wait(AppInst, f"{cluster}-app", "Ready")
    assert len(programs.running()) == 3
    held = programs.holds.hold(Held("ClusterInst", "berlin", cluster, state))
    if state == "DeleteError":
        programs.fail_next(cluster)
    await programs.admin.delete(ClusterInst, Key("berlin", cluster))
    await eventually(lambda: held.was_tried, within_s=WITHIN_S)
    assert (await programs.status(ClusterInst, cluster)).state == state
    await at_work.kill_and_start(victims)
    await programs.wait_gone(ClusterInst, cluster)
    await programs.wait_gone(AppInst, f"{cluster}-app")
    await eventually(lambda: programs.running() == {Ref("ClusterInst", "berlin", "one")}, within_s=WITHIN_S)


def upgrade_kills() -> Iterator[object]:
    """Every state of an upgrade: the tracked ones, and those of the two agents that the other side waits for."""
    tracked = [("", row.state) for row in UPGRADE]
    own = [(VERSIONS[row.actor], row.state) for row in AGENT.steps if row.event not in {"error", "bring up"}]
    for agent, state in dict.fromkeys([*tracked, *own]):
        for victims in ("agents", "coordinator", "agents and coordinator"):
            by_day = (state, victims) == ("Updating", "coordinator")
            yield pytest.param(agent, state, victims, marks=by_day_or_night(by_day))


VERSIONS = {Actor.CRM_V1: "1", Actor.CRM_V2: "2"}


@pytest.mark.parametrize(("agent", "state", "victims"), list(upgrade_kills()))
@pytest.mark.asyncio(loop_scope="module")
async def test_a_kill_during_an_upgrade_leaves_one_agent_and_a_documented_state(
    at_work: AtWork, agent: str, state: str, victims: str
) -> None:
    programs, name = at_work.programs, at_work.new_name()
    assert programs.holds is not None
    await programs.started(name)
    held = programs.holds.hold(Held("Cloudlet", name, name, state, agent))
    await programs.admin.patch(Cloudlet, Key(name, name), {"spec": {"version": "2"}})
    await eventually(lambda: held.was_tried, within_s=WITHIN_S)
    await at_work.kill_upgrade(victims, name)

    async def has_ended() -> str:
        status = await programs.status(Cloudlet, name, name)
        assert status.state == "UpdateError" or (status.state, status.version) == ("Ready", "2"), status
        return str(status.state)

    version = "2"
    if await eventually(has_ended, within_s=WITHIN_S) == "UpdateError":
        with pytest.raises(Forbidden, match="in failed upgrade state"):
            await programs.create_cluster(cloudlet=name)
        await repair(programs.admin, name)
        version = "1"
    await eventually(lambda: programs.agents(name) == {version}, within_s=WITHIN_S)
    await programs.wait(Cloudlet, name, "Ready", name)
    programs.end_cloudlet(name)


@pytest.mark.parametrize(
    ("agent", "state", "victims"),
    [
        pytest.param(agent, state, victims, marks=by_day_or_night((agent, victims) == ("", "coordinator")))
        for agent, state in (("1", "Init"), ("", "NotPresent"))
        for victims in ("agents", "coordinator", "agents and coordinator")
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_kill_while_a_cloudlet_comes_up_does_not_keep_it_down(
    at_work: AtWork, agent: str, state: str, victims: str
) -> None:
    programs, name = at_work.programs, at_work.new_name()
    assert programs.holds is not None
    await programs.cloudlet(name)
    await programs.credentials(name)
    held = programs.holds.hold(Held("Cloudlet", name, name, state, agent))
    programs.agent(name)
    await eventually(lambda: held.was_tried, within_s=WITHIN_S)
    await at_work.kill_upgrade(victims, name)
    await programs.wait(Cloudlet, name, "Ready", name)
    await eventually(lambda: programs.agents(name) == {"1"}, within_s=WITHIN_S)
    programs.end_cloudlet(name)

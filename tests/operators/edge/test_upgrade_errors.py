"""An upgrade fails at each step that can: the documented state, nothing changes until it is repaired, and then it works."""

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from attractor.objects.errors import Forbidden
from attractor.objects.gvk import Key
from attractor.operators.edge.api.states import UPGRADE, TrackedState
from attractor.operators.edge.api.types import AppInst, Cloudlet, ClusterInst
from attractor.operators.edge.cli.credentials import NothingToRepair, repair
from attractor.operators.edge.drivers.protocols import Ref
from attractor.testing import eventually
from tests.operators.edge.holds import Holds
from tests.operators.edge.programs import GATED, WITHIN_S, Programs

HERE = Key("berlin", "berlin")
RUNNING = {Ref("ClusterInst", "berlin", "one"), Ref("AppInst", "berlin", "shop")}


def nothing(_: Programs) -> None:
    """It fails by itself."""


def block_version(programs: Programs) -> None:
    """The file that says which version the machine starts cannot be written."""
    (programs.state_dir() / "version").mkdir()


def unblock_version(programs: Programs) -> None:
    (programs.state_dir() / "version").rmdir()


@dataclass(frozen=True)
class Cause:
    """How a step is made to fail, and what it says then."""

    says: str
    agent: str
    """The agent that is in Error."""
    upgrade_command: str = ""
    before: Callable[[Programs], None] = nothing
    after: Callable[[Programs], None] = nothing
    can_try_again: bool = True


def another_version(state_dir: str) -> str:
    """An agent of a version that nobody asked for, with the credentials of the one that was asked for."""
    arguments = ["--namespace", "berlin", "--version", "3", "--state-dir", state_dir]
    return shlex.join([sys.executable, *["-m", "attractor", "edge", "agent", "--kubeconfig"], f"{state_dir}/agent-2.kubeconfig", *arguments])  # fmt: skip


CAUSES = {
    ("UpdateRequested", "CRMv1 is Error"): {"cannot stop": Cause("told to fail", "1", before=Programs.fail_next)},
    ("Updating", "CRMv1 is Error"): {
        "ends at once": Cause("agent 2 ended with 1", "1", "false", can_try_again=False),
        "is not there": Cause("agent 2 cannot be started", "1", "/no/such/agent", can_try_again=False),
        "is of another version": Cause("wants agent 1, this is 3", "1", "{another}", can_try_again=False),
    },
    ("Updating", "CRMv2 is Error"): {
        "cannot take over": Cause("agent 2 cannot take over", "2", before=block_version, after=unblock_version)
    },
}
ROWS = [row for row in UPGRADE if row.next is TrackedState.UPDATE_ERROR]
STEPS = [
    pytest.param(row.event, cause, id=f"{row.state}, {row.event}: {name}")
    for row in ROWS
    for name, cause in CAUSES[row.state, row.event].items()
]


@pytest.mark.nightly
@pytest.mark.parametrize(("event", "cause"), STEPS)
async def test_an_upgrade_that_fails_at_a_step_is_left_to_an_administrator(
    tmp_path: Path, event: str, cause: Cause
) -> None:
    async with Programs(tmp_path, Holds()) as programs:
        await programs.coordinator()
        command = cause.upgrade_command.format(another=another_version(str(programs.state_dir())))
        await programs.started("berlin", *GATED, *(["--upgrade-command", command] if command else []))
        await programs.create_cluster()
        await programs.create_app()
        before = await programs.wait(AppInst, "shop", "Ready")
        cause.before(programs)
        await fails(programs, event, cause)
        assert programs.running() == RUNNING
        cause.after(programs)
        assert await repair(programs.admin, "berlin") == "Cloudlet berlin is Ready with agent 1"
        with pytest.raises(NothingToRepair):
            await repair(programs.admin, "berlin")
        await eventually(lambda: programs.agents() == {"1"}, within_s=WITHIN_S)
        assert (await programs.status(AppInst, "shop")).current == before.current
        await works(programs)
        if cause.can_try_again:
            await programs.admin.patch(Cloudlet, HERE, {"spec": {"version": "2"}})
            await eventually(lambda: programs.agents() == {"2"}, within_s=WITHIN_S)
            await programs.wait(Cloudlet, "berlin", "Ready")
            assert programs.running() == RUNNING


@pytest.mark.slow
async def test_an_upgrade_by_an_agent_of_another_version_is_refused_and_repaired(tmp_path: Path) -> None:
    cause = CAUSES["Updating", "CRMv1 is Error"]["is of another version"]
    async with Programs(tmp_path, Holds()) as programs:
        await programs.coordinator()
        command = another_version(str(programs.state_dir()))
        await programs.started("berlin", "--upgrade-command", command)
        await fails(programs, "CRMv1 is Error", cause)
        assert await repair(programs.admin, "berlin") == "Cloudlet berlin is Ready with agent 1"
        await eventually(lambda: programs.agents() == {"1"}, within_s=WITHIN_S)


async def fails(programs: Programs, event: str, cause: Cause) -> None:
    """Wish for version 2, and see what is left of that."""
    await programs.admin.patch(Cloudlet, HERE, {"spec": {"version": "2"}})
    status = await programs.wait(Cloudlet, "berlin", "UpdateError")
    assert status.message.startswith(f"upgrade to 2 failed ({event}): "), status.message
    assert cause.says in status.message
    assert status.agents[cause.agent].state == "Error"
    assert status.version == "1"
    for wish in (programs.create_cluster("two"), programs.create_app("late")):
        with pytest.raises(Forbidden, match="Cloudlet berlin is in failed upgrade state, please upgrade it manually"):
            await wish


async def works(programs: Programs) -> None:
    """After a repair changes are accepted and carried out."""
    await programs.admin.patch(ClusterInst, Key("berlin", "one"), {"spec": {"nodes": 2}})

    async def is_changed() -> bool:
        status = await programs.status(ClusterInst, "one")
        assert status.state == "Ready", status
        assert status.current is not None, status
        return bool(status.current.settings == {"nodes": "2"})

    await eventually(is_changed, within_s=WITHIN_S)

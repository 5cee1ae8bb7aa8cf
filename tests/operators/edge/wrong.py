"""Wrong coordinators and agents, one for each claim: production code with one part replaced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attractor.operators.edge.api import intents
from attractor.operators.edge.api.intents import status_of
from attractor.operators.edge.api.states import TrackedState
from attractor.operators.edge.api.types import Cloudlet, CloudletStatus, Instance, InstanceStatus
from attractor.operators.edge.controllers import agent, coordinator, takeover, upgrades
from attractor.operators.edge.controllers.agent import BEGUN, Worker
from attractor.operators.edge.controllers.takeover import LOOK_S, Takeover
from attractor.operators.edge.drivers.protocols import Launcher, LaunchError
from attractor.runtime import Context, Result

if TYPE_CHECKING:
    from attractor.operators.edge.api.types import AppInst, ClusterInst
    from attractor.operators.edge.drivers.protocols import Ref

T = TrackedState


@dataclass(frozen=True)
class Wrong:
    """Whose attribute is replaced by what, and what is wrong with it then."""

    owner: Any
    name: str
    by: Any


_resolve = coordinator._resolve
_begun = intents.begun
_work = Worker._work
_followed = upgrades.followed


def delete_unprepared(obj: Instance, event: str, message: str) -> InstanceStatus:
    """Asks the agent to delete without having prepared it."""
    status = _begun(obj, event, message)
    if event == "delete":
        status.state, status.target = T.DELETE_REQUESTED, None
    return status


async def give_up(ctx: Context, obj: Instance) -> bool:
    """A coordinator that loses patience with its agent: a row of the table, but the agent's."""
    status = status_of(obj.deep_copy())
    if status.state is T.CREATE_REQUESTED:
        status.state, status.error = T.CREATE_ERROR, "the agent is too slow"
        await coordinator._write(ctx, obj, status)
        return True
    return await _resolve(ctx, obj)


async def begin_anew(ctx: Context, obj: Instance) -> bool:
    """A coordinator that counts an operation again while the agent is at it."""
    status = status_of(obj.deep_copy())
    if status.state is T.CREATING and status.operation == 1:
        status.operation += 1
        await coordinator._write(ctx, obj, status)
        return True
    return await _resolve(ctx, obj)


async def begin_again_silently(self: Worker, ctx: Context, obj: Instance) -> Instance:
    """The agent as it once was: it does work again without saying so, while its own late report may arrive."""
    return obj


async def believe_the_cache(self: Worker, ctx: Context, ref: Ref) -> bool:
    """The agent as it once was: what its cache says should not be there it removes."""
    return True


async def forget_until_told_again(self: Worker, ctx: Context, ref: Ref) -> Result | None:
    """The agent as it once was: what it finds before it serves it does not look at again."""
    return None


async def claim_nothing(ctx: Context, cluster: ClusterInst, app: AppInst, operation: int) -> None:
    """Begins an app's operation without a claim in its cluster."""
    event = intents.wish(app)
    await coordinator._write(ctx, app, _begun(app, event, "waits for the agent"))


async def prepare_nothing(ctx: Context, cluster: ClusterInst) -> Result | None:
    """Deletes a cluster with the apps in it."""
    await coordinator._write(ctx, cluster, intents.prepared(cluster))
    return None


async def work_only_on_requests(self: Worker, ctx: Context, obj: Instance, ref: Ref) -> None:
    """Takes nothing up that an earlier process has begun."""
    if status_of(obj).state in BEGUN:
        await _work(self, ctx, obj, ref)


async def report_nothing(self: Worker, ctx: Context, obj: Instance, ref: Ref, session: str) -> None:
    """Never says what it finds."""


def run_ahead(cloudlet: Cloudlet, event: str) -> CloudletStatus:
    """A coordinator that calls an upgrade done when the old agent has only prepared it."""
    status = _followed(cloudlet, event)
    if status.state is T.UPDATING:
        status.state = T.UPDATE_DONE
    return status


async def bring_up_silently(self: Takeover, ctx: Context, cloudlet: Cloudlet, status: CloudletStatus) -> Result | None:
    """An old agent that does not say that the new one cannot be started."""
    try:
        await ctx.external(Launcher).start(status.upgrading_to)
    except LaunchError:
        return None
    return Result(requeue_after_s=LOOK_S)


def forget_the_old(cloudlet: Cloudlet, event: str) -> CloudletStatus:
    """A coordinator that forgets the old agent when the upgrade begins."""
    status = _followed(cloudlet, event)
    if event == "upgrade":
        status.agents = {}
    return status


def anybody_serves(cloudlet: Cloudlet | None, version: str) -> bool:
    """Agents that work whoever serves."""
    return cloudlet is not None


DELETES_UNPREPARED = Wrong(intents, "begun", delete_unprepared)
GIVES_UP = Wrong(coordinator, "_resolve", give_up)
BEGINS_ANEW = Wrong(coordinator, "_resolve", begin_anew)
SAYS_NOTHING_AGAIN = Wrong(Worker, "_begin_again", begin_again_silently)
BELIEVES_ITS_CACHE = Wrong(Worker, "_should_not_be", believe_the_cache)
FORGETS_UNTIL_TOLD_AGAIN = Wrong(Worker, "_wait_to_serve", forget_until_told_again)
CLAIMS_NOTHING = Wrong(coordinator, "_claim", claim_nothing)
PREPARES_NOTHING = Wrong(coordinator, "_prepare", prepare_nothing)
WORKS_ONLY_ON_REQUESTS = Wrong(Worker, "_work", work_only_on_requests)
REPORTS_NOTHING = Wrong(Worker, "_report", report_nothing)
RUNS_AHEAD = Wrong(upgrades, "followed", run_ahead)
BRINGS_UP_SILENTLY = Wrong(takeover.Takeover, "_bring_up", bring_up_silently)
FORGETS_THE_OLD = Wrong(upgrades, "followed", forget_the_old)
ANYBODY_SERVES = Wrong(agent, "serves", anybody_serves)

"""The agent's controller for its cloudlet: it comes up, prepares its own replacement, and takes over from the last one.

What an agent is, it has written down (``status.agents``), so that one that crashed goes on where it was. The old one
stops working before it says UpgradeInit, and the new one does not work before it has ended the old one; between the two
nobody does, and never do both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.errors import Forbidden, Unauthorized
from attractor.operators.edge.api.states import AGENT, Actor, CloudletState, TrackedState
from attractor.operators.edge.api.types import AgentInfo, Cloudlet
from attractor.operators.edge.controllers.upgrades import agent_state, cloudlet_status
from attractor.operators.edge.drivers.protocols import Driver, DriverError, Launcher, LaunchError
from attractor.runtime import Result, controller

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.operators.edge.api.types import CloudletStatus
    from attractor.runtime import Context, Controller

T, C = TrackedState, CloudletState
LOOK_S = 0.3
"""How often an old agent looks whether the new one is still there."""


def is_wanted(cloudlet: Cloudlet, version: str) -> bool:
    """Return whether an agent of this version has anything to do here."""
    status = cloudlet_status(cloudlet)
    return version in {status.version or cloudlet.spec.version, status.upgrading_to}


class Takeover:
    """Reconciles the cloudlet of the agent of one version."""

    def __init__(self, version: str) -> None:
        self.version = version

    async def reconcile(self, ctx: Context, key: Key) -> Result | None:
        """Go one step of the agent's own life."""
        cloudlet = await ctx.find(Cloudlet, key)
        if cloudlet is None or key.name != key.namespace:
            return None
        if not is_wanted(cloudlet, self.version):
            await self._leave(ctx, key)
            return None
        status = cloudlet_status(cloudlet)
        match agent_state(status, self.version):
            case None:
                await self._write(ctx, cloudlet, C.INIT, "has come up")
            case C.INIT:
                await self._init(ctx, cloudlet, status)
            case C.READY if status.state is T.READY:
                await ctx.external(Driver).resume()
            case C.READY if status.state is T.UPDATE_REQUESTED and self.version == status.version:
                return await self._prepare(ctx, cloudlet)
            case C.UPGRADE_INIT if status.state is T.UPDATING:
                return await self._bring_up(ctx, cloudlet, status)
            case C.UPGRADE_DONE if status.state is T.UPDATE_DONE:
                await self._follow(ctx, cloudlet, Actor.CRM_V2, "serve", "serves")
        return None

    async def _leave(self, ctx: Context, key: Key) -> None:
        """Go, once the server itself says that this version is not wanted, or lets it in no more."""
        try:
            cloudlet = await ctx.find(Cloudlet, key, cached=False)
        except (Forbidden, Unauthorized):
            await ctx.external(Launcher).leave(f"Cloudlet {key.name} lets agent {self.version} in no more")
            return
        if cloudlet is not None and not is_wanted(cloudlet, self.version):
            wanted = cloudlet_status(cloudlet).version or cloudlet.spec.version
            await ctx.external(Launcher).leave(f"Cloudlet {key.name} wants agent {wanted}, this is {self.version}")

    async def _init(self, ctx: Context, cloudlet: Cloudlet, status: CloudletStatus) -> None:
        """A new agent: serve a cloudlet that has none, or take over from the old one."""
        if status.version in {"", self.version}:
            await self._follow(ctx, cloudlet, Actor.CRM_V2, "bring up", "serves")
        elif status.state is T.UPDATING:
            try:
                await ctx.external(Launcher).end(status.version)
            except LaunchError as error:
                await self._follow(ctx, cloudlet, Actor.CRM_V2, "error", str(error))
            else:
                await self._follow(ctx, cloudlet, Actor.CRM_V2, "take over", f"has taken over from {status.version}")

    async def _prepare(self, ctx: Context, cloudlet: Cloudlet) -> Result | None:
        try:
            if not await ctx.external(Driver).drain():
                return Result(requeue_after_s=LOOK_S)
        except DriverError as error:
            await self._follow(ctx, cloudlet, Actor.CRM_V1, "error", str(error))
            return None
        await self._follow(ctx, cloudlet, Actor.CRM_V1, "prepare", "works no more, waits to start the next agent")
        return None

    async def _bring_up(self, ctx: Context, cloudlet: Cloudlet, status: CloudletStatus) -> Result | None:
        if agent_state(status, status.upgrading_to) in {C.UPGRADE_DONE, C.ERROR}:
            return None
        try:
            await ctx.external(Launcher).start(status.upgrading_to)
        except LaunchError as error:
            await self._follow(ctx, cloudlet, Actor.CRM_V1, "error", str(error))
            return None
        return Result(requeue_after_s=LOOK_S)

    async def _follow(self, ctx: Context, cloudlet: Cloudlet, actor: Actor, event: str, message: str) -> None:
        state = cloudlet_status(cloudlet).agents[self.version].state
        await self._write(ctx, cloudlet, AGENT.follow(state, actor, event), message)

    async def _write(self, ctx: Context, cloudlet: Cloudlet, state: CloudletState, message: str) -> None:
        changed = cloudlet.deep_copy()
        status = changed.status = cloudlet_status(changed)
        status.agents = {**status.agents, self.version: AgentInfo(state=state, message=message)}
        await ctx.patch_from(cloudlet, changed, subresource="status")


def takeover(version: str) -> Controller:
    """The controller of a cloudlet, for the agent of a version."""
    return controller(Takeover(version).reconcile, name="agent-cloudlet", for_=Cloudlet, externals=[Driver, Launcher])

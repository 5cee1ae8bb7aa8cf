"""Properties of the edge operator during an upgrade, as predicates of a world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.operators.edge.api.states import AGENT, CLOUDLET, TrackedState
from attractor.operators.edge.api.types import Cloudlet
from attractor.operators.edge.controllers.agent import serves
from attractor.operators.edge.controllers.upgrades import agent_state, cloudlet_status
from attractor.operators.edge.proofs.properties import AGENTS, actors_of, there

if TYPE_CHECKING:
    from attractor.check import WorldState

T = TrackedState


def version_of(host: str) -> str:
    """The version of the agent that a host runs: ``agent-1`` runs version 1."""
    return host.removeprefix(f"{AGENTS}-") if host.startswith(AGENTS) else ""


def upgrades_follow_the_tables(before: WorldState, after: WorldState, host: str) -> bool:
    """The cloudlet's state is moved by the coordinator, an agent's own by that agent, each along its table."""
    known = {obj.key: cloudlet_status(obj) for obj in before.list(Cloudlet)}
    for obj in after.list(Cloudlet):
        was, now = known[obj.key], cloudlet_status(obj)
        if was.state != now.state:
            rows = [row for row in CLOUDLET.steps if (row.state, row.next) == (was.state, now.state)]
            if not any(row.actor in actors_of(host) for row in rows):
                return False
        for version, said in now.agents.items():
            old = agent_state(was, version)
            if old == said.state:
                continue
            if version != version_of(host):
                return False
            if old is not None and said.state not in {row.next for row in AGENT.steps if row.state == old}:
                return False
    return True


def only_the_agent_that_serves_works(before: WorldState, after: WorldState, host: str) -> bool:
    """The platform is changed only by the agent of the version that serves; so never by two."""
    if there(before) == there(after):
        return True
    return any(serves(cloudlet, version_of(host)) for cloudlet in before.list(Cloudlet))


def the_old_agent_stays_until_the_new_one_has_come(world: WorldState) -> bool:
    """Before the upgrade has come to UpgradeDone, the version that serves is not forgotten."""
    for cloudlet in world.list(Cloudlet):
        status = cloudlet_status(cloudlet)
        if status.version and agent_state(status, status.version) is None:
            return False
    return True


def upgrade_has_ended(world: WorldState) -> bool:
    """The version that is wished for serves, or an error is left for an administrator."""
    for cloudlet in world.list(Cloudlet):
        status = cloudlet_status(cloudlet)
        if status.state is T.UPDATE_ERROR:
            if not status.message:
                return False
            continue
        if status.state is not T.READY or status.version != cloudlet.spec.version:
            return False
        if not serves(cloudlet, status.version):
            return False
    return True

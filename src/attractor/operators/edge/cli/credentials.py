"""Administration of cloudlets: an agent's credentials, and the repair of a failed upgrade."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from attractor.k8s.core_v1 import ServiceAccount
from attractor.objects.errors import Conflict, NotFound
from attractor.objects.gvk import Key
from attractor.operators.edge.api.access import account_of
from attractor.operators.edge.api.states import AGENT, CLOUDLET, Actor, CloudletState, TrackedState
from attractor.operators.edge.api.types import AgentInfo, Cloudlet
from attractor.operators.edge.controllers.upgrades import cloudlet_status
from attractor.operators.edge.drivers.process_launcher import TOKEN_S, token_request, with_token

if TYPE_CHECKING:
    from pathlib import Path

    from attractor.client import Client

ACCOUNT_S = 10.0


class NothingToRepair(Exception):
    """The cloudlet's upgrade has not failed."""


async def agent_kubeconfig(
    client: Client, admin: Path, cloudlet: str, version: str = "", lasts_s: int = TOKEN_S
) -> bytes:
    """A kubeconfig with which an agent connects where the administrator's does; raises ``ApiError``."""
    if not version:
        found = await client.get(Cloudlet, Key(cloudlet, cloudlet))
        version = cloudlet_status(found).version or found.spec.version
    key = Key(cloudlet, account_of(version))
    deadline = asyncio.get_running_loop().time() + ACCOUNT_S
    while True:
        try:
            answer = await client.create_subresource(ServiceAccount, key, "token", token_request(lasts_s))
            break
        except NotFound:
            if asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(0.1)
    return with_token(admin, answer["status"]["token"])


async def repair(client: Client, name: str) -> str:
    """Let the version that serves go on after a failed upgrade; raises ``NothingToRepair``, ``ApiError``.

    The wish goes back to that version, its agent is declared Ready again, and what is known of the other is forgotten;
    an agent of the other version that still runs sees that it is not wanted, and leaves.
    """
    while True:
        cloudlet = await client.get(Cloudlet, Key(name, name))
        status = cloudlet_status(cloudlet)
        if status.state is not TrackedState.UPDATE_ERROR:
            raise NothingToRepair(f"Cloudlet {name} is {status.state}, not UpdateError; there is nothing to repair")
        try:
            return await _repair(client, cloudlet)
        except Conflict:
            continue


async def _repair(client: Client, cloudlet: Cloudlet) -> str:
    status = cloudlet_status(cloudlet)
    if cloudlet.spec.version != status.version:
        cloudlet = await client.patch(Cloudlet, cloudlet.key, {"spec": {"version": status.version}})
        status = cloudlet_status(cloudlet)
    known = status.agents.get(status.version, AgentInfo(state=CloudletState.ERROR))
    if known.state is not CloudletState.READY:
        AGENT.check(known.state, [Actor.ADMIN], CloudletState.READY)
    CLOUDLET.check(status.state, [Actor.ADMIN], TrackedState.READY)
    status.agents = {status.version: AgentInfo(state=CloudletState.READY, message="repaired by an administrator")}
    status.state, status.upgrading_to = TrackedState.READY, ""
    status.message = f"repaired by an administrator; agent {status.version} serves"
    await client.update_status(cloudlet)
    return f"Cloudlet {cloudlet.metadata.name} is Ready with agent {status.version}"

"""The workload controllers, scheduler and simulated nodes of an embedded cluster, run by a manager of their own."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from attractor.objects.errors import AlreadyExists
from attractor.runtime.manager import Manager
from attractor.workloads import CONTROLLERS, kubelet_with, node_heartbeats, scheduler, simulated_node

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from attractor.apiserver.transaction import Source
    from attractor.client.client import Client
    from attractor.workloads import Behaviour

GRACE_S = 1.0
"""How long reconciles may take to finish when the cluster ends."""


@asynccontextmanager
async def running_workloads(client: Client, source: Source, nodes: int, behaviour: Behaviour) -> AsyncIterator[None]:
    """Run the controllers while the block lasts, on so many simulated nodes, by the time of the server."""
    for number in range(nodes):
        try:
            await client.create(simulated_node(f"node-{number}"))
        except AlreadyExists:  # a store that was used before has them
            continue
    controllers = [*CONTROLLERS, scheduler, kubelet_with(behaviour), node_heartbeats]

    def now() -> datetime:
        return datetime.fromisoformat(source.now_micro())

    async with Manager(client, controllers, now=now, grace_s=GRACE_S).running():
        yield

"""``PlaneContainers``: the machine's container runtime, for one control plane, which finds its own containers again."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from attractor.objects.gvk import Key
from attractor.operators.devplane.controllers.container_orders import KEY, MODE, PLANE
from attractor.operators.local.containers.engine import ContainerEngine
from attractor.operators.local.containers.runtime import InUse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from attractor.operators.local.containers.runtime import FoundNetwork, FoundVolume

STRAY_GRACE_S = 6


def plane_name(directory: Path) -> str:
    """Return the name of the plane whose records are in a directory; it stays the same when the plane comes again."""
    return hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:16]


class PlaneContainers(ContainerEngine):
    """The containers, networks and volumes of one plane."""

    def __init__(self, socket: str, plane: str) -> None:
        super().__init__(socket, watched=(PLANE, plane), told=KEY)
        self._plane = plane

    @property
    def keys(self) -> ContainerNews:
        """The Containers of which there is news; a source for their controller."""
        return ContainerNews(self)

    async def sweep(self) -> int:
        """End and remove all of the session, and answer how many containers there were; what is persistent stays."""
        containers = [one for one in await self.labelled(PLANE, self._plane) if one.label(MODE) == "Session"]
        for container in containers:
            await self.stop(container.id, STRAY_GRACE_S)
            await self.remove(container.id)
        for network in filter(_is_of_session, await self.networks()):
            await self.remove_network(network.name)
        for volume in filter(_is_of_session, await self.volumes()):
            try:
                await self.remove_volume(volume.name)
            except InUse:
                continue  # a persistent container has it
        return len(containers)


def _is_of_session(found: FoundNetwork | FoundVolume) -> bool:
    return found.label(MODE) == "Session"


class ContainerNews:
    """Keys of Containers, as the runtime's labels name them."""

    def __init__(self, engine: ContainerEngine) -> None:
        self._engine = engine

    async def __aiter__(self) -> AsyncIterator[Key]:
        async for text in self._engine.changes:
            namespace, _, name = text.partition("/")
            yield Key(namespace, name)

"""A developer control plane with real containers, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource
from attractor.operators.devplane.api.container_networks import (
    ContainerNetwork,
    ContainerNetworkConnection,
    ContainerVolume,
)
from attractor.operators.devplane.api.containers import Container, ContainerExec, ContainerSpec
from attractor.operators.devplane.api.services import Endpoint, Service
from attractor.operators.devplane.controllers.declarations import container_controllers
from attractor.operators.devplane.controllers.health import Prober
from attractor.operators.devplane.controllers.services import services
from attractor.operators.devplane.drivers.local.prober import LocalProber
from attractor.operators.devplane.drivers.local.proxy import LocalProxies
from attractor.operators.devplane.drivers.local.runtime import PlaneContainers
from attractor.operators.devplane.drivers.proxies import Proxies
from attractor.operators.local.containers.runtime import ContainerRuntime
from attractor.testing import ClusterUnderTest, eventually
from tests.operators.podman import IMAGE, Podman

FOREVER = "trap 'exit 0' TERM; while :; do sleep 1000 & wait; done"
WITHIN_S = 60.0
KINDS = (Container, ContainerExec, ContainerNetwork, ContainerNetworkConnection, ContainerVolume, Service, Endpoint)

R = TypeVar("R", bound=Resource)


def named(name: str) -> ObjectMeta:
    """The metadata of an object of a test."""
    return ObjectMeta(name=name, namespace="default")


@dataclass
class ContainerPlane:
    """A cluster, a runtime, and what runs on both."""

    cluster: ClusterUnderTest
    podman: Podman
    engine: PlaneContainers

    async def create(self, obj: R) -> R:
        """Store an object."""
        return await self.cluster.client.create(obj)

    async def run(self, name: str, script: str = FOREVER, **fields: Any) -> Container:
        """A Container that runs a shell script, unless it says otherwise."""
        usual = {"image": IMAGE, "command": ["sh", "-c", script], "stop_grace_seconds": 0, "pull_policy": "Never"}
        return await self.create(Container(metadata=named(name), spec=ContainerSpec(**{**usual, **fields})))

    async def get(self, kind: type[R], name: str) -> R:
        """An object as it is."""
        return await self.cluster.client.get(kind, Key("default", name))

    async def until(self, kind: type[R], name: str, condition: Callable[[Any], Any]) -> R:
        """An object, as soon as something is true of it."""

        async def found() -> R:
            obj = await self.get(kind, name)
            assert condition(obj), obj
            return obj

        return await eventually(found, within_s=WITHIN_S)

    async def until_in(self, name: str, phase: str) -> Container:
        """A Container, as soon as it is in a phase."""
        return await self.until(Container, name, lambda one: one.status.phase == phase)

    async def change(self, name: str, **spec: Any) -> None:
        """Change a Container's spec."""
        await self.cluster.client.patch(Container, Key("default", name), {"spec": spec})

    async def delete(self, kind: type[Resource], name: str) -> None:
        """Delete an object, and wait until it is gone."""
        await self.cluster.client.delete(kind, Key("default", name))
        await self.until_gone(kind, name)

    async def until_gone(self, kind: type[Resource], name: str) -> None:
        """Wait until an object is gone."""

        async def is_gone() -> bool:
            try:
                await self.get(kind, name)
            except NotFound:
                return True
            return False

        await eventually(is_gone, within_s=WITHIN_S)


@asynccontextmanager
async def container_plane(podman: Podman, plane: str = "test") -> AsyncIterator[ContainerPlane]:
    """A plane over a runtime; what it leaves there is its own matter."""
    async with (
        ClusterUnderTest() as cluster,
        PlaneContainers(podman.socket, plane) as engine,
        LocalProxies() as proxies,
    ):
        await cluster.install(*KINDS)
        externals = {ContainerRuntime: engine, Prober: LocalProber(), Proxies: proxies}
        async with cluster.running(*container_controllers(engine), services, externals=externals):
            yield ContainerPlane(cluster, podman, engine)

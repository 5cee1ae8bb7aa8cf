"""A small edge in one process: the embedded server with the operator's admission, coordinators, and agents with a platform in memory."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from attractor.apiserver.request.caller import User
from attractor.client import Client
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN
from attractor.k8s.core_v1 import Namespace
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.edge.admission import COORDINATORS, PLUGINS
from attractor.operators.edge.api.access import account_of
from attractor.operators.edge.api.types import (
    AppInst,
    AppInstSpec,
    Cloudlet,
    CloudletSpec,
    ClusterInst,
    ClusterInstSpec,
)
from attractor.operators.edge.cli.programs import install_kinds
from attractor.operators.edge.controllers.agent import worker
from attractor.operators.edge.controllers.declarations import CONTROLLERS
from attractor.operators.edge.controllers.takeover import takeover
from attractor.operators.edge.drivers.gate import Gate
from attractor.operators.edge.drivers.protocols import Driver, DriverError, Found, Launcher, Ref
from attractor.runtime import Manager
from attractor.runtime.toolkit.channel import Channel
from attractor.testing import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from typing import Self

    from attractor.runtime import Controller

COORDINATOR = User("edge-coordinator", groups=(COORDINATORS, "system:masters", "system:authenticated"))
PLAIN = User("ulla", groups=("system:authenticated",))


class Platform:
    """What is on a cloudlet, in memory; work can be held and made to fail. It notes what overlaps that must not."""

    def __init__(self) -> None:
        self.there: dict[Ref, Found] = {}
        self.failures: dict[str, str] = {}
        self.hold = asyncio.Event()
        self.hold.set()
        self.at_work: list[Ref] = []
        self.wrong: list[str] = []
        self.done: list[tuple[str, Ref]] = []

    async def work(self, what: str, ref: Ref, settings: dict[str, str]) -> None:
        """One operation: never two on one instance, never one on an app during one on a cluster."""
        for other in self.at_work:
            if other == ref or other.kind != ref.kind:
                self.wrong.append(f"{what} {ref} during work on {other}")
        if (
            ref.kind == "AppInst"
            and what == "apply"
            and Ref("ClusterInst", ref.namespace, settings["cluster"]) not in self.there
        ):
            self.wrong.append(f"{ref} without its cluster")
        if ref.kind == "ClusterInst" and what == "remove" and any(other.kind == "AppInst" for other in self.there):
            self.wrong.append(f"{ref} goes, with apps in it")
        self.at_work.append(ref)
        try:
            await self.hold.wait()
            await asyncio.sleep(0)
            if why := self.failures.pop(f"{what} {ref.name}", ""):
                raise DriverError(why)
            self.done.append((what, ref))
        finally:
            self.at_work.remove(ref)


class MemoryDriver:
    """A driver on a platform in memory; the platform outlives it."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._gate = Gate()
        self.asked: list[Ref] = []
        self.channels = {kind: Channel[Key]() for kind in ("ClusterInst", "AppInst")}

    async def find(self, ref: Ref) -> Found | None:
        self.asked.append(ref)
        return self._platform.there.get(ref)

    async def apply(self, ref: Ref, generation: int, settings: tuple[tuple[str, str], ...]) -> Found:
        with self._gate.working():
            await self._platform.work("apply", ref, dict(settings))
            found = self._platform.there[ref] = Found(generation, settings)
            return found

    async def remove(self, ref: Ref) -> None:
        with self._gate.working():
            await self._platform.work("remove", ref, {})
            self._platform.there.pop(ref, None)

    async def drain(self) -> bool:
        return self._gate.close()

    async def resume(self) -> None:
        self._gate.open()


class Edge:
    """The server, and hands for a user and an administrator."""

    def __init__(self) -> None:
        self._embedded = EmbeddedCluster(admission=PLUGINS)
        self._stack = AsyncExitStack()
        self.platform = Platform()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._embedded)
        self.admin = await self._stack.enter_async_context(self.client(ADMIN))
        await install_kinds(self.admin)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def client(self, user: User) -> Client:
        return Client(self._embedded.transport(user))

    def agent_user(self, cloudlet: str, version: str = "1") -> User:
        name = f"system:serviceaccount:{cloudlet}:{account_of(version)}"
        return User(
            name, groups=("system:serviceaccounts", f"system:serviceaccounts:{cloudlet}", "system:authenticated")
        )

    async def cloudlet(self, name: str = "berlin", version: str = "1") -> None:
        await self.admin.create(Namespace(metadata=ObjectMeta(name=name)))
        meta = ObjectMeta(name=name, namespace=name)
        await self.admin.create(Cloudlet(metadata=meta, spec=CloudletSpec(version=version)))

    @asynccontextmanager
    async def coordinator(self, controllers: Sequence[Controller] = CONTROLLERS) -> AsyncIterator[Manager]:
        async with self.client(COORDINATOR) as client, Manager(client, controllers, grace_s=1).running() as manager:
            yield manager

    @asynccontextmanager
    async def agent(
        self, cloudlet: str = "berlin", version: str = "1", launcher: Any = None
    ) -> AsyncIterator[MemoryDriver]:
        driver = MemoryDriver(self.platform)
        controllers = [
            takeover(version),
            worker(ClusterInst, version, (driver.channels["ClusterInst"],)),
            worker(AppInst, version, (driver.channels["AppInst"],)),
        ]
        externals: dict[Any, object] = {Driver: driver, Launcher: launcher or object()}
        client = self.client(self.agent_user(cloudlet, version))
        manager = Manager(client, controllers, namespace=cloudlet, externals=externals, grace_s=1)
        async with client, manager.running():
            yield driver

    async def create_cluster(self, name: str = "one", cloudlet: str = "berlin", **spec: Any) -> ClusterInst:
        meta = ObjectMeta(name=name, namespace=cloudlet)
        return await self.admin.create(ClusterInst(metadata=meta, spec=ClusterInstSpec(**spec)))

    async def create_app(
        self, name: str = "shop", cluster: str = "one", cloudlet: str = "berlin", **spec: Any
    ) -> AppInst:
        meta = ObjectMeta(name=name, namespace=cloudlet)
        return await self.admin.create(AppInst(metadata=meta, spec=AppInstSpec(cluster=cluster, **spec)))

    async def status(self, kind: Any, name: str, cloudlet: str = "berlin") -> Any:
        return (await self.admin.get(kind, Key(cloudlet, name))).status

    async def wait(self, kind: Any, name: str, state: str, cloudlet: str = "berlin") -> Any:
        """The status, once the instance is in a state and, if that is Ready, has what it wants."""

        async def is_so() -> Any:
            status = await self.status(kind, name, cloudlet)
            assert status is not None
            assert status.state == state, status
            return status

        return await eventually(is_so, within_s=20)

    async def wait_message(self, kind: Any, name: str, message: str, cloudlet: str = "berlin") -> Any:
        """The status, once it says something."""

        async def is_so() -> Any:
            status = await self.status(kind, name, cloudlet)
            assert status is not None
            assert status.message == message, status
            return status

        return await eventually(is_so, within_s=20)

    async def wait_gone(self, kind: Any, name: str, cloudlet: str = "berlin") -> None:
        async def is_so() -> bool:
            return all(obj.metadata.name != name for obj in await self.admin.list(kind, cloudlet))

        await eventually(is_so, within_s=20)

    async def wait_ready(self, cloudlet: str = "berlin") -> None:
        await self.wait(Cloudlet, cloudlet, "Ready", cloudlet)

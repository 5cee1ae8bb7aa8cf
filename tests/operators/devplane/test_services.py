"""Services and Endpoints on an embedded cluster, with real listeners: what clients find behind a name, and when."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
import pytest_asyncio

from attractor.objects.errors import Invalid, NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.executables import CommandProbe, Executable, ExecutableSpec, Probe, Serves
from attractor.operators.devplane.api.services import Endpoint, EndpointSpec, Service, ServiceSpec
from attractor.operators.devplane.controllers.endpoints import endpoints
from attractor.operators.devplane.controllers.services import services
from attractor.operators.devplane.drivers.local.proxy import LocalProxies
from attractor.operators.devplane.drivers.proxies import Place, Proxies
from attractor.testing import ClusterUnderTest, eventually
from attractor.workqueue.limits import Backoff

WEB = Key("default", "web")
API = Key("default", "api")
QUICK = replace(services, limiter=lambda: Backoff(0.01, 0.05))


@dataclass
class Net:
    """A cluster with the controllers of Services and Endpoints."""

    cluster: ClusterUnderTest
    proxies: LocalProxies

    async def create(self, **spec: Any) -> Service:
        """The Service web."""
        made = Service(metadata=ObjectMeta(name=WEB.name, namespace=WEB.namespace), spec=ServiceSpec(**spec))
        return await self.cluster.client.create(made)

    async def serve(self, name: str, place: Place) -> None:
        """An Endpoint that nobody's Executable has."""
        spec = EndpointSpec(service=WEB.name, address=place.address, port=place.port)
        await self.cluster.client.create(Endpoint(metadata=ObjectMeta(name=name, namespace="default"), spec=spec))

    async def until(self, condition: Callable[[Service], Any]) -> Service:
        """The Service web, as soon as something is true of it."""

        async def found() -> Service:
            service = await self.cluster.client.get(Service, WEB)
            assert condition(service), service.status
            return service

        return await eventually(found)

    async def run(self, **status: Any) -> None:
        """Say of the Executable api what whoever runs it would say."""
        await self.cluster.client.patch(Executable, API, {"status": status}, subresource="status")

    async def ports(self) -> list[int]:
        """Where the Endpoints are."""
        return sorted(one.spec.port for one in await self.cluster.client.list(Endpoint, "default"))

    async def until_ports(self, *ports: int) -> None:
        """Wait until the Endpoints are there and nowhere else."""

        async def are_these() -> bool:
            return await self.ports() == sorted(ports)

        await eventually(are_these)


@asynccontextmanager
async def running(cluster: ClusterUnderTest) -> AsyncIterator[Net]:
    async with (
        LocalProxies(patience_s=0) as proxies,
        cluster.running(QUICK, endpoints, externals={Proxies: proxies}),
    ):
        yield Net(cluster, proxies)


@pytest_asyncio.fixture(name="net")
async def _net() -> AsyncIterator[Net]:
    async with ClusterUnderTest() as cluster:
        await cluster.install(Service, Endpoint, Executable)
        async with running(cluster) as net:
            yield net


@asynccontextmanager
async def server(word: bytes) -> AsyncIterator[Place]:
    """Says one word to everybody."""

    def say(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(word)
        writer.close()

    made = await asyncio.start_server(say, "127.0.0.1", 0)
    async with made:
        yield Place(*made.sockets[0].getsockname())


async def ask(service: Service) -> bytes:
    reader, writer = await asyncio.open_connection(service.status.effective_address, service.status.effective_port)
    try:
        return await reader.read()
    finally:
        writer.close()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def test_a_service_has_an_address_at_once_and_is_ready_while_somebody_is_behind_it(net: Net) -> None:
    await net.create()
    waiting = await net.until(lambda one: one.status.effective_port)
    assert (waiting.status.phase, waiting.status.message) == ("NotReady", "nobody serves it yet")
    async with server(b"one") as place:
        await net.serve("one", place)
        ready = await net.until(lambda one: one.status.phase == "Ready")
        assert (ready.status.effective_port, ready.status.endpoints) == (waiting.status.effective_port, 1)
        assert [(one.type, one.status, one.reason) for one in ready.status.conditions] == [("Ready", "True", "Serving")]
        assert await ask(ready) == b"one"
    await net.cluster.client.delete(Endpoint, Key("default", "one"))
    again = await net.until(lambda one: one.status.phase == "NotReady")
    assert again.status.effective_port == waiting.status.effective_port
    assert [one.reason for one in again.status.conditions] == ["NoEndpoints"]


async def test_endpoints_that_were_there_first_are_found(net: Net) -> None:
    async with server(b"early") as place:
        await net.serve("early", place)
        await net.create()
        assert await ask(await net.until(lambda one: one.status.phase == "Ready")) == b"early"


async def test_a_port_in_use_is_said_and_had_as_soon_as_it_is_free(net: Net) -> None:
    async with server(b"other") as taken:
        await net.create(port=taken.port)
        service = await net.until(lambda one: "in use" in one.status.message)
        assert (service.status.phase, service.status.effective_port) == ("NotReady", 0)
        assert service.status.conditions[0].reason == "CannotListen"
    service = await net.until(lambda one: one.status.effective_port)
    assert service.status.effective_port == taken.port


async def test_an_address_survives_the_controller() -> None:
    async with ClusterUnderTest() as cluster:
        await cluster.install(Service, Endpoint, Executable)
        async with running(cluster) as first:
            await first.create()
            before = await first.until(lambda one: one.status.effective_port)
        async with running(cluster) as second, server(b"x") as place:
            await second.serve("x", place)
            after = await second.until(lambda one: one.status.phase == "Ready")
            assert after.status.effective_port == before.status.effective_port
            assert await ask(after) == b"x"


async def test_a_deleted_service_has_no_listener_any_more(net: Net) -> None:
    service = await net.create(port=free_port())
    await net.until(lambda one: one.status.effective_port)
    await net.cluster.client.delete(Service, WEB)
    await eventually(lambda: _is_gone(net))
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", service.spec.port)


async def _is_gone(net: Net) -> bool:
    try:
        await net.cluster.client.get(Service, WEB)
    except NotFound:
        return True
    return False


async def test_without_a_proxy_the_service_names_an_endpoint_and_stays_with_it(net: Net) -> None:
    await net.create(mode="Proxyless")
    await net.until(lambda one: one.status.observed_generation)
    await net.serve("b", Place("127.0.0.1", 7002))
    await net.until(lambda one: one.status.effective_port == 7002)
    await net.serve("a", Place("127.0.0.1", 7001))
    service = await net.until(lambda one: one.status.endpoints == 2)
    assert service.status.effective_port == 7002
    await net.cluster.client.delete(Endpoint, Key("default", "b"))
    await net.until(lambda one: one.status.effective_port == 7001)
    await net.cluster.client.delete(Endpoint, Key("default", "a"))
    service = await net.until(lambda one: one.status.phase == "NotReady")
    assert (service.status.effective_address, service.status.effective_port) == ("", 0)


async def test_where_a_service_listens_cannot_be_changed(net: Net) -> None:
    await net.create()
    with pytest.raises(Invalid, match="delete the object and create another"):
        await net.cluster.client.patch(Service, WEB, {"spec": {"port": 1234}})


async def test_an_endpoint_cannot_be_changed(net: Net) -> None:
    await net.serve("a", Place("127.0.0.1", 7001))
    with pytest.raises(Invalid, match="an Endpoint cannot be changed"):
        await net.cluster.client.patch(Endpoint, Key("default", "a"), {"spec": {"port": 1234}})


@pytest.fixture
def executable() -> Executable:
    """Serves web on a port that is chosen, and db on one of its own."""
    spec = ExecutableSpec(command=["serve"], serves=[Serves(service="web"), Serves(service="db", port=5432)])
    return Executable(metadata=ObjectMeta(name=API.name, namespace=API.namespace), spec=spec)


async def test_an_executable_has_an_endpoint_for_each_service_while_it_runs(net: Net, executable: Executable) -> None:
    made = await net.cluster.client.create(executable)
    await net.run(phase="Starting", ports={"web": 4001, "db": 5432})
    await net.run(phase="Running")
    await net.until_ports(4001, 5432)
    for one in await net.cluster.client.list(Endpoint, "default"):
        owner = one.metadata.controller
        assert owner is not None
        assert owner.uid == made.metadata.uid
    await net.run(phase="Stopping")
    await net.until_ports()


async def test_an_endpoint_follows_its_port(net: Net, executable: Executable) -> None:
    await net.cluster.client.create(executable)
    await net.run(phase="Running", ports={"web": 4001})
    await net.until_ports(4001)
    await net.run(ports={"web": 4002})
    await net.until_ports(4002)


async def test_who_fails_its_probes_gets_no_clients_until_it_is_well_again(net: Net, executable: Executable) -> None:
    executable.spec.probes = [Probe(name="p", command=CommandProbe(command=["true"]))]
    await net.cluster.client.create(executable)
    await net.run(phase="Running", health="Healthy", ports={"web": 4001})
    await net.until_ports(4001)
    await net.run(health="Unhealthy")
    await net.until_ports()
    await net.run(health="Healthy")
    await net.until_ports(4001)


async def test_endpoints_go_with_their_executable(net: Net, executable: Executable) -> None:
    await net.cluster.client.create(executable)
    await net.run(phase="Running", ports={"web": 4001})
    await net.until_ports(4001)
    await net.cluster.client.delete(Executable, API)
    await net.until_ports()

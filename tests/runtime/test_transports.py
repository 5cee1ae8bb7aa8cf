"""One operator on every way to a server: in process, HTTP with a token, HTTPS with a token, any kubeconfig."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from attractor.client import Client
from attractor.client.configuration.config import ClientConfig
from attractor.client.http.transport import HttpTransport
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from attractor.httpd.auth.certificates import ensure_certificates
from attractor.httpd.tls import server_context
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.configpair.api import ConfigPair, ConfigPairSpec
from attractor.operators.configpair.controllers import configpair
from attractor.runtime import Election, Manager
from attractor.testing import eventually
from tests.anycluster import GARBAGE_COLLECTION, PATIENCE_S, Leftovers, given_config, installed, own_namespace, ways

TOKEN = "scenario-token"
WAYS = ("in process", "http", "https")

pytestmark = pytest.mark.any_cluster


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("way", ways(metafunc.config, WAYS))


@asynccontextmanager
async def client_over(way: str, directory: Path) -> AsyncIterator[Client]:
    async with EmbeddedCluster(authenticator=Authenticator({TOKEN: ADMIN})) as cluster:
        if way == "in process":
            async with cluster.client() as client:
                yield client
            return
        tls: ssl.SSLContext | None = None
        ca: bytes | None = None
        if way == "https":
            files = ensure_certificates(directory, ["127.0.0.1"])
            tls, ca = server_context(files.cert, files.key, None), files.ca.read_bytes()
        address = await cluster.listen(tls=tls)
        async with Client(HttpTransport(ClientConfig.of(address.url, token=TOKEN, ca=ca))) as client:
            yield client


@pytest.fixture
async def client(way: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Client]:
    given = given_config(request.config)
    async with Client.connect(given) if given is not None else client_over(way, tmp_path) as made:
        yield made


@pytest.fixture
async def namespace(client: Client, leftovers: Leftovers) -> str:
    await installed(client, ConfigPair, leftovers)
    return await own_namespace(client, leftovers)


def pair_in(namespace: str, value: str) -> ConfigPair:
    return ConfigPair(metadata=ObjectMeta(name="web", namespace=namespace), spec=ConfigPairSpec(value=value))


@pytest.mark.needs(GARBAGE_COLLECTION)
async def test_a_pair_is_created_edited_and_deleted(client: Client, namespace: str) -> None:
    election = Election("pairs", namespace, "me")
    async with Manager(client, [configpair], namespace=namespace, election=election).running():
        pair = await client.create(pair_in(namespace, "1"))

        async def are(value: str) -> bool:
            found = [await client.get(ConfigMap, Key(namespace, f"web-cm{n}")) for n in (1, 2)]
            return [one.data for one in found] == [{"value": value}] * 2

        await eventually(lambda: are("1"), within_s=PATIENCE_S)
        await client.patch(ConfigPair, pair.key, {"spec": {"value": "2"}})
        await eventually(lambda: are("2"), within_s=PATIENCE_S)
        await client.delete(ConfigPair, pair.key)

        async def are_gone() -> bool:
            return not [one for one in await client.list(ConfigMap, namespace) if one.metadata.name[:4] == "web-"]

        await eventually(are_gone, within_s=PATIENCE_S)


async def test_a_standby_takes_over_from_a_leader_that_stops(client: Client, namespace: str) -> None:
    await client.create(pair_in(namespace, "1"))
    # Each manager has a client of its own, as two processes would.
    one = Manager(Client(client.transport), [configpair], namespace=namespace, election=_election(namespace, "one"))
    two = Manager(Client(client.transport), [configpair], namespace=namespace, election=_election(namespace, "two"))
    async with one.running():
        await eventually(lambda: client.get(ConfigMap, Key(namespace, "web-cm1")), within_s=PATIENCE_S)
    async with two.running():
        await client.delete(ConfigMap, Key(namespace, "web-cm1"))
        await eventually(lambda: client.get(ConfigMap, Key(namespace, "web-cm1")), within_s=PATIENCE_S)
        assert not one.is_leader
        assert two.is_leader


def _election(namespace: str, identity: str) -> Election:
    return Election("pairs", namespace, identity)

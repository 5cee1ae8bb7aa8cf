"""One scenario on every way to a server: in process, HTTP with a token, HTTPS with a token."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from examples.configpair import ConfigPair, ConfigPairSpec, configpair

from attractor.client import Client
from attractor.client.config import ClientConfig
from attractor.client.http.transport import HttpTransport
from attractor.embedded import EmbeddedCluster
from attractor.httpd.authentication import ADMIN, Authenticator
from attractor.httpd.certificates import ensure_certificates
from attractor.httpd.tls import server_context
from attractor.objects.builtin.apiextensions_v1 import CustomResourceDefinition
from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Election, Manager
from attractor.testing import eventually

TOKEN = "scenario-token"


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


@pytest.mark.parametrize("way", ["in process", "http", "https"])
async def test_a_pair_is_created_edited_and_deleted(way: str, tmp_path: Path) -> None:
    async with client_over(way, tmp_path) as client:
        await client.create(CustomResourceDefinition.from_dict(ConfigPair.crd()))

        async def is_served() -> bool:
            await client.list(ConfigPair)
            return True

        await eventually(is_served)
        async with Manager(client, [configpair], election=Election("pairs", "default", "me")).running():
            meta = ObjectMeta(name="web", namespace="default")
            pair = await client.create(ConfigPair(metadata=meta, spec=ConfigPairSpec(data={"a": "1"})))

            async def are(value: str) -> bool:
                found = [await client.get(ConfigMap, Key("default", f"web-{n}")) for n in (1, 2)]
                return [one.data for one in found] == [{"a": value}] * 2

            await eventually(lambda: are("1"))
            changed = pair.deep_copy()
            changed.spec.data = {"a": "2"}
            await client.patch(pair, changed)
            await eventually(lambda: are("2"))
            await client.delete(ConfigPair, pair.key)

            async def are_gone() -> bool:
                return not [one for one in await client.list(ConfigMap, "default") if one.metadata.name[:4] == "web-"]

            await eventually(are_gone)

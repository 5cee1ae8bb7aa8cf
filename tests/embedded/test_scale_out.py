"""Two servers on one etcd are one cluster."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from tests.httpd.api import CONFIGMAPS, HttpApi
from tests.httpd.conftest import TOKENS
from tests.store.etcdserver import EtcdServer

pytestmark = pytest.mark.slow


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[tuple[HttpApi, HttpApi]]:
    etcd = EtcdServer(tmp_path).start()
    try:
        async with AsyncExitStack() as stack:
            apis = []
            for _ in range(2):
                cluster = EmbeddedCluster(f"etcd:{etcd.endpoint}", authenticator=Authenticator(TOKENS))
                apis.append(HttpApi((await (await stack.enter_async_context(cluster)).listen()).port))
            yield apis[0], apis[1]
    finally:
        etcd.kill()


async def test_a_write_through_one_is_read_and_watched_through_the_other(servers: tuple[HttpApi, HttpApi]) -> None:
    one, other = servers
    async with other.watch() as watch:
        version = (await one.create("a")).json["metadata"]["resourceVersion"]
        assert (await other.get(f"{CONFIGMAPS}/a")).json["metadata"]["resourceVersion"] == version
        assert (await watch.event())["object"]["metadata"]["resourceVersion"] == version


async def test_two_writers_on_two_servers_never_lose_an_update(servers: tuple[HttpApi, HttpApi]) -> None:
    await servers[0].create("counter", n="0")

    async def add(api: HttpApi) -> None:
        added = 0
        while added < 20:
            found = (await api.get(f"{CONFIGMAPS}/counter")).json
            found["data"]["n"] = str(int(found["data"]["n"]) + 1)
            added += (await api.call("PUT", f"{CONFIGMAPS}/counter", found)).code == 200

    async with asyncio.TaskGroup() as group:
        for api in servers:
            group.create_task(add(api))
    assert (await servers[1].get(f"{CONFIGMAPS}/counter")).json["data"]["n"] == "40"


async def test_controllers_on_both_servers_do_not_get_in_each_others_way(servers: tuple[HttpApi, HttpApi]) -> None:
    one, other = servers
    body = {"metadata": {"name": "shop"}}
    assert (await one.call("POST", "/api/v1/namespaces", body)).code == 201
    assert (await one.call("POST", "/api/v1/namespaces/shop/configmaps", {"metadata": {"name": "a"}})).code == 201
    async with other.watch("fieldSelector=metadata.name%3Dshop", path="/api/v1/namespaces") as watch:
        await one.call("DELETE", "/api/v1/namespaces/shop")
        while (event := await watch.event())["type"] != "DELETED":
            assert event["object"]["metadata"]["name"] == "shop"

"""A cache over HTTPS while ``attractor serve`` is killed and started again."""

import asyncio
from pathlib import Path

import pytest

from attractor.cache import Cache
from attractor.client import Client, load_kubeconfig
from attractor.k8s.core_v1 import ConfigMap
from tests.client.conftest import PATIENCE_S, Served
from tests.factories import config_map

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_killed_server_that_comes_back_is_followed_again(tmp_path: Path, store: str) -> None:
    where = ("--store", store if store == "memory" else f"sqlite:{tmp_path / 'cluster.db'}")
    server = Served(tmp_path, *where, "--listen", "127.0.0.1:0")
    async with Client.connect(load_kubeconfig(server.kubeconfig)) as client, asyncio.timeout(PATIENCE_S):
        cache = Cache(client)
        informer = cache.informer(ConfigMap)

        def seen() -> list[str]:
            return sorted(key.name for key in informer.core.seen if key.namespace == "default")

        running = asyncio.ensure_future(cache.run())
        try:
            await client.create(config_map("old"))
            await informer.wait_for(lambda: informer.is_ready and seen() == ["old"])
            server.kill()
            await informer.wait_for(lambda: not cache.is_ready)
            server = await asyncio.to_thread(  # the informer goes on meanwhile, and finds nobody there
                Served, tmp_path, *where, "--listen", f"127.0.0.1:{server.port}"
            )
            await client.create(config_map("new"))
            expected = ["new"] if store == "memory" else ["new", "old"]
            await informer.wait_for(lambda: cache.is_ready and seen() == expected)
            assert [item.metadata.name for item in await cache.list(ConfigMap, namespace="default")] == expected
        finally:
            running.cancel()
            await asyncio.wait({running})
            server.kill()

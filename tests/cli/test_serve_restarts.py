"""``attractor serve`` in memory, stopped and started again on the same port: what clients of the one before meet."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from attractor.cli.commands import serve
from attractor.client import Client, load_kubeconfig
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import Gone, Timeout
from attractor.objects.resource import ObjectMeta


@asynccontextmanager
async def serving(directory: Path, port: int = 0) -> AsyncIterator[tuple[Client, int]]:
    words = ["--listen", f"127.0.0.1:{port}", "--state-dir", str(directory)]
    kubeconfig = directory / "kubeconfig"
    async with serve.serving(serve.Settings.parse(words)):
        config = load_kubeconfig(kubeconfig)
        async with Client.connect(config) as client:
            yield client, int(config.server.rpartition(":")[2])


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


async def test_a_watch_of_the_server_before_is_told_to_list_anew_by_its_successor(tmp_path: Path) -> None:
    async with serving(tmp_path) as (client, port):
        seen = (await client.create(config_map("old"))).metadata.resource_version
    async with serving(tmp_path, port) as (client, _):
        await client.create(config_map("new"))
        async with client.watch(ConfigMap, resource_version=seen, timeout_s=5) as events:
            with pytest.raises((Gone, Timeout)):  # as the versions of the new one are above or below
                await anext(events)


async def test_a_client_made_before_a_restart_reads_the_new_token_of_its_kubeconfig(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, port):
        client = Client.connect(load_kubeconfig(tmp_path / "kubeconfig"))
        await client.create(config_map("old"))
    async with client, serving(tmp_path, port):
        assert "old" not in [one.metadata.name for one in await client.list(ConfigMap, "default")]

"""The service ``kubernetes`` leads to the servers that listen."""

from typing import Any

import orjson
import pytest

from attractor.apiserver.admissionplugins import PLUGIN_NAMES
from attractor.embedded import EmbeddedCluster
from attractor.embedded.endpoints import ENDPOINTS, SLICE, Place, advertise, place_of, withdraw
from attractor.store.memory import MemoryStore


def stored(cluster: EmbeddedCluster, key: str) -> Any:
    entry = cluster.store.snapshot_nowait().get(key)
    assert entry is not None
    return orjson.loads(entry.value)


def places(cluster: EmbeddedCluster) -> list[str]:
    """Who is named, which both kinds of objects must agree about."""
    endpoints, sliced = stored(cluster, ENDPOINTS), stored(cluster, SLICE)
    named = [one["ip"] for subset in endpoints.get("subsets") or () for one in subset["addresses"]]
    assert named == [one["addresses"][0] for one in sliced["endpoints"]]
    return named


async def test_a_whole_cluster_names_the_address_that_it_listens_on() -> None:
    async with EmbeddedCluster(admission_plugins=PLUGIN_NAMES) as cluster:
        address = await cluster.listen()
        assert places(cluster) == ["127.0.0.1"]
        assert stored(cluster, ENDPOINTS)["subsets"][0]["ports"][0]["port"] == address.port
        await withdraw(cluster.server, Place("127.0.0.1", address.port))
        assert places(cluster) == []


async def test_servers_of_one_store_are_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryStore, "is_exclusive", False)
    async with EmbeddedCluster(admission_plugins=PLUGIN_NAMES) as cluster:
        await advertise(cluster.server, Place("10.1.0.2", 6443))
        await advertise(cluster.server, Place("10.1.0.1", 6443))
        assert places(cluster) == ["10.1.0.1", "10.1.0.2"]
        await withdraw(cluster.server, Place("10.1.0.2", 6443))
        assert places(cluster) == ["10.1.0.1"]


async def test_a_server_on_a_store_of_its_own_replaces_what_was_left_there() -> None:
    async with EmbeddedCluster(admission_plugins=PLUGIN_NAMES) as cluster:
        await advertise(cluster.server, Place("10.1.0.2", 6443))
        await advertise(cluster.server, Place("10.1.0.1", 7443))
        assert places(cluster) == ["10.1.0.1"]


async def test_a_listener_on_all_addresses_is_called_by_one_of_them() -> None:
    place = await place_of("0.0.0.0", 6443)
    assert place.family == "IPv4"
    assert place.address != "0.0.0.0"

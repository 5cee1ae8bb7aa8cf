"""The service ``kubernetes`` leads to the servers that listen."""

from typing import Any

import orjson
import pytest

from attractor.apiserver.admission.plugins import PLUGIN_NAMES
from attractor.embedded import EmbeddedCluster
from attractor.embedded.endpoints import ENDPOINTS, SLICE, Place, advertise, place_of, withdraw
from attractor.embedded.presence import LEASE_S, LEASES, RENEW_S, Presence
from attractor.store.memory import MemoryStore
from attractor.testing import VirtualTime
from tests.runtime.things import passing


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


async def test_a_server_that_was_killed_is_taken_out_by_the_others(
    virtual_time: VirtualTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryStore, "is_exclusive", False)
    async with EmbeddedCluster(admission_plugins=PLUGIN_NAMES) as cluster:
        one, other, killed = (Presence(cluster.server) for _ in range(3))
        async with one.kept(), other.kept():
            await one.join(Place("10.1.0.1", 6443))
            await other.join(Place("10.1.0.2", 6443))
            await killed.join(Place("10.1.0.3", 6443))
            await passing(RENEW_S)
            assert places(cluster) == ["10.1.0.1", "10.1.0.2", "10.1.0.3"]
            await passing(LEASE_S + RENEW_S)
            assert places(cluster) == ["10.1.0.1", "10.1.0.2"]
            await killed.renew()
            assert places(cluster) == ["10.1.0.1", "10.1.0.2", "10.1.0.3"], "it was only slow"
            await other.leave()
            assert places(cluster) == ["10.1.0.1", "10.1.0.3"]
            await passing(LEASE_S + 2 * RENEW_S)
            assert places(cluster) == ["10.1.0.1"]
        assert [entry.key for entry in cluster.store.snapshot_nowait().range(LEASES)] == [f"{LEASES}10.1.0.1"]


async def test_a_server_on_a_store_of_its_own_writes_nothing_to_say_that_it_lives(virtual_time: VirtualTime) -> None:
    async with EmbeddedCluster(admission_plugins=PLUGIN_NAMES) as cluster:
        await cluster.listen()
        before = cluster.store.revision
        await passing(5 * RENEW_S)
        assert cluster.store.revision == before


async def test_servers_with_different_ports_do_not_take_turns(
    virtual_time: VirtualTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryStore, "is_exclusive", False)
    async with EmbeddedCluster(admission_plugins=PLUGIN_NAMES) as cluster:
        one, other = (Presence(cluster.server) for _ in range(2))
        async with one.kept(), other.kept():
            await one.join(Place("10.1.0.1", 6443))
            await other.join(Place("10.1.0.2", 7443))
            entry = cluster.store.snapshot_nowait().get(SLICE)
            await passing(3 * RENEW_S)
            assert cluster.store.snapshot_nowait().get(SLICE) == entry

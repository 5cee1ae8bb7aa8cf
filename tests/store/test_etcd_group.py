"""Group commit on etcd: writes that share a transaction are as good as one after the other."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.store.contract import Compacted, Stale
from attractor.store.etcd import EtcdOptions, EtcdStore
from attractor.store.etcd.chain import Change, Write
from attractor.store.etcd.connection import Connection
from attractor.store.etcd.group import MAX_BYTES, MAX_COMPARES, Group
from attractor.store.etcd.layout import PLACES, Layout
from attractor.store.etcd.proto import rpc_pb2 as pb
from tests.store.etcdserver import EtcdServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from attractor.store.etcd.channel import CallFailed

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEYS = st.sampled_from(["a", "b", "c/x", "c/y", "d"])
CHANGES = st.builds(
    Change,
    st.dictionaries(KEYS, st.integers(0, 2), max_size=3),
    st.dictionaries(KEYS, st.just(b"v"), min_size=1, max_size=2),
    absent=st.sets(st.sampled_from(["c/", "d", "e/"]), max_size=2),
)


def write(change: Change) -> Write:
    return Write(change, -1, None)  # type: ignore[arg-type]


def holds(change: Change, state: dict[str, int]) -> bool:
    """Whether a write on its own would be taken; 3 is the revision of what the group itself has put."""
    is_empty = not any(key.startswith(prefix) for prefix in change.absent for key in state)
    return is_empty and all(state.get(key, 0) == revision for key, revision in change.compares.items())


@given(st.lists(CHANGES, min_size=1, max_size=6), st.dictionaries(KEYS, st.integers(1, 2)))
async def test_what_holds_for_a_group_holds_for_each_of_its_writes_in_turn(
    changes: list[Change], state: dict[str, int]
) -> None:
    group = Group(write(changes[0]))
    for change in changes[1:]:
        group.take(write(change))
    group.check_invariants()
    if holds(Change(group.compares, {}, absent=group.absent), state):
        for one in group.writes:
            assert holds(one.change, state)
            state |= dict.fromkeys(one.change.puts, 3)
    else:
        assert not all(holds(one.change, state) for one in group.writes), "one of them would have been refused"


async def test_a_group_stays_within_what_etcd_takes() -> None:
    def taken(*changes: Change) -> int:
        group = Group(write(changes[0]))
        return 1 + sum(group.take(write(change)) for change in changes[1:])

    def creates(count: int, value: bytes = b"", compares: int = 0, puts: int = 1) -> list[Change]:
        return [
            Change({f"{n}/{c}": 0 for c in range(compares)}, {f"k{n}/{p}": value for p in range(puts)})
            for n in range(count)
        ]

    assert taken(*creates(PLACES + 5)) == PLACES
    assert taken(*creates(9, bytes(MAX_BYTES // 4))) == 4
    assert taken(*creates(9, compares=MAX_COMPARES // 3)) == 3
    assert taken(*creates(9, puts=40)) == 2
    delete = Change({}, {"a": b""}, deletes={"b"})
    assert taken(delete, *creates(3)) == 1
    assert taken(*creates(3), delete, Change({}, {})) == 3


async def opened(server: EtcdServer, prefix: str, history_limit: int = 10_000) -> EtcdStore:
    options = EtcdOptions(endpoints=(server.endpoint,), prefix=prefix, timeout_s=20)
    return await EtcdStore.open(options, history_limit=history_limit)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each transaction has that is sent from now on."""
    sent: list[int] = []
    post = Connection.post_txn

    def counting(self: Connection, request: bytes, then: Callable[[bytes, CallFailed | None], None]) -> None:
        sent.append(len(request))
        post(self, request, then)

    monkeypatch.setattr(Connection, "post_txn", counting)
    return sent


async def created(store: EtcdStore, count: int, **compares: int) -> list[int]:
    """Create so many keys at once; the revisions."""
    async with asyncio.TaskGroup() as group:
        writes = [
            group.create_task(store.commit({f"k{n}": 0} | compares, puts={f"k{n}": b"%d" % n})) for n in range(count)
        ]
    return [write.result() for write in writes]


async def test_independent_writes_share_transactions_and_each_has_its_own_revision(
    etcd_server: EtcdServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = await opened(etcd_server, "/together/"), await opened(etcd_server, "/together/")
    sent = counted(monkeypatch)
    revisions = await created(store, 100)
    assert len(sent) < 100 / 8
    assert len(set(revisions)) == 100
    for server in (store, other, await opened(etcd_server, "/together/")):
        entries = (await server.snapshot()).range("")
        assert sorted(entry.revision for entry in entries) == sorted(revisions)
        assert server.revision == max(revisions)
        server.check_invariants()
        for number, revision in enumerate(revisions):
            assert next(entry for entry in entries if entry.key == f"k{number}").revision == revision
        await server.aclose()


async def test_a_watch_resumes_between_two_writes_of_one_transaction(etcd_server: EtcdServer) -> None:
    store, other = await opened(etcd_server, "/between/"), await opened(etcd_server, "/between/")
    revisions = sorted(await created(store, 50))
    assert any(second - first == 1 for first, second in pairwise(revisions))
    await other.snapshot()
    for server in (store, other):
        for place, revision in enumerate(revisions):
            assert [event.revision for event in server.events_after("", revision).events] == revisions[place + 1 :]
            assert server.snapshot_at(revision).count("") == place + 1
        await server.aclose()


async def test_a_conflict_in_one_write_fails_none_of_those_that_it_travels_with(etcd_server: EtcdServer) -> None:
    store, rival = await opened(etcd_server, "/conflict/"), await opened(etcd_server, "/conflict/")
    for number in range(20):
        before = await store.commit({}, puts={"hot": b""})
        await rival.commit({}, puts={"hot": b"faster"})
        wrong = asyncio.create_task(store.commit({"hot": before}, puts={"hot": b"late"}))
        right = [asyncio.create_task(store.commit({f"{number}/{n}": 0}, puts={f"{number}/{n}": b""})) for n in range(9)]
        with pytest.raises(Stale) as refused:
            await wrong
        assert refused.value.keys == {"hot"}
        assert len({await write for write in right}) == 9
        store.check_invariants()
    assert (await rival.snapshot()).count("") == 181
    await store.aclose()
    await rival.aclose()


async def test_an_etcd_that_takes_only_small_transactions_gets_them(tmp_path: Path) -> None:
    server = EtcdServer(tmp_path / "etcd", "--max-txn-ops", "4").start()
    store = await opened(server, "/small/")
    assert len(set(await created(store, 40))) == 40
    assert (await store.snapshot()).count("") == 40
    await store.aclose()
    server.kill()


async def test_a_store_from_before_there_were_places_is_read_and_its_old_revisions_are_gone(
    etcd_server: EtcdServer,
) -> None:
    store = await opened(etcd_server, "/old/")
    layout = Layout("/old/")
    connection = store._connected.result()
    for key in ("a", "b"):
        puts = [pb.PutRequest(key=layout.key(key), value=b"{}"), pb.PutRequest(key=layout.head)]
        request = pb.TxnRequest(success=[pb.RequestOp(request_put=put) for put in puts])
        old = (await connection.txn(request.SerializeToString())).header.revision
    await store.aclose()
    for _ in range(2):  # as soon as it is opened, and once there is history with places
        store = await opened(etcd_server, "/old/")
        assert [(one.key, one.value, one.revision) for one in (await store.snapshot()).range("")][:2] == [
            ("a", b"{}", (old - 1) * PLACES),
            ("b", b"{}", old * PLACES),
        ]
        with pytest.raises(Compacted):
            store.events_after("", old)
        await store.commit({"b": old * PLACES}, puts={"c": b"{}"})
        await store.aclose()


async def test_a_claim_is_heard_by_other_servers_and_is_no_part_of_the_state(etcd_server: EtcdServer) -> None:
    one, other = await opened(etcd_server, "/claims/"), await opened(etcd_server, "/claims/")
    claims: dict[str, list[str]] = {"one": [], "other": []}
    one.claimed, other.claimed = claims["one"].append, claims["other"].append
    before = await one.commit({}, puts={"hot": b""})
    one.claim("hot")
    await one.commit({}, puts={"later": b""})
    await other.snapshot()
    assert claims == {"one": [], "other": ["hot"]}
    for store in (one, other, await opened(etcd_server, "/claims/")):
        assert [entry.key for entry in store.snapshot_nowait().range("")] == ["hot", "later"]
        assert [event.key for event in store.events_after("", before).events] == ["later"]
        await store.aclose()

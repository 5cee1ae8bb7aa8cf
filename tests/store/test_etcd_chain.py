"""Own writes on their way to etcd: what drafts show of them, and what becomes of those that rest on them."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio

from attractor.store.contract import Entry, Stale
from attractor.store.etcd import EtcdOptions, EtcdStore
from attractor.store.etcd.chain import Chain, Draft, Write
from attractor.store.mvcc import View
from attractor.store.sortedmap import SortedMap
from tests.store.etcdserver import EtcdServer

pytestmark = pytest.mark.asyncio(loop_scope="session")

WRITERS = 50


def view(revision: int, **values: bytes) -> View:
    entries = [Entry(key, value, revision, revision) for key, value in sorted(values.items())]
    return View(revision, SortedMap.of([entry.key for entry in entries], entries))


def begin(chain: Chain, at: View, compares: dict[str, int], puts: dict[str, bytes], *deletes: str) -> Write:
    return chain.begin(at, compares, puts, deletes, asyncio.get_running_loop().create_future)


def shown(chain: Chain, at: View, key: str = "a") -> Entry:
    entry = Draft(at, chain).get(key)
    assert entry is not None
    return entry


async def test_a_draft_shows_a_write_on_its_way_under_a_mark_and_then_under_its_revision() -> None:
    chain, durable = Chain(), view(7, a=b"old")
    write = begin(chain, durable, {"a": 7}, {"a": b"new"})
    assert shown(chain, durable) == Entry("a", b"new", write.revision, 7)
    assert write.revision < 0
    chain.answered(write, 9)
    assert shown(chain, durable) == Entry("a", b"new", 9, 7)
    chain.ended(write)
    assert shown(chain, durable).value == b"old"


async def test_a_mirror_that_is_further_than_an_own_write_is_believed() -> None:
    chain = Chain()
    write = begin(chain, view(7, a=b"old"), {"a": 7}, {"a": b"ours"})
    chain.answered(write, 9)
    assert shown(chain, view(10, a=b"theirs")).value == b"theirs"


async def test_what_rests_on_a_lost_write_is_lost_and_shown_to_nobody() -> None:
    chain, durable = Chain(), view(7, a=b"old")
    one = begin(chain, durable, {"a": 7}, {"a": b"1"})
    two = begin(chain, durable, {"a": one.revision}, {"a": b"2"})
    assert two.rests_on == {"a": one}
    chain.lost(one)
    assert one.answer.cancelled()
    assert shown(chain, durable).value == b"old"
    three = begin(chain, durable, {"a": 7}, {"a": b"3"})
    chain.lost(two)
    assert shown(chain, durable) == Entry("a", b"3", three.revision, 7), "a lost write took another one with it"
    with pytest.raises(Stale):
        begin(chain, durable, {"a": two.revision}, {"a": b"4"})


async def test_a_write_that_follows_nothing_is_not_shown() -> None:
    chain, durable = Chain(), view(7, a=b"old")
    one = begin(chain, durable, {"a": 7}, {"a": b"1"})
    late = begin(chain, durable, {"a": 7}, {"a": b"late"})
    assert shown(chain, durable).value == b"1"
    chain.lost(late)
    assert shown(chain, durable) == Entry("a", b"1", one.revision, 7)


async def test_a_write_that_would_store_a_mark_is_stale() -> None:
    chain, durable = Chain(), view(7, a=b"old")
    one = begin(chain, durable, {"a": 7}, {"a": b"1"})
    with pytest.raises(Stale):
        begin(chain, durable, {"a": one.revision}, {"a": b'{"copied":"%d"}' % one.revision})


@pytest_asyncio.fixture(loop_scope="session")
async def store(etcd_server: EtcdServer) -> EtcdStore:
    return await EtcdStore.open(EtcdOptions(endpoints=(etcd_server.endpoint,), prefix="/chain/", timeout_s=20))


async def increment(store: EtcdStore) -> int:
    entry = (await store.draft()).get("n")
    value = int(entry.value) if entry else 0
    return await store.commit({"n": entry.revision if entry else 0}, puts={"n": b"%d" % (value + 1)})


async def test_writers_of_one_key_follow_each_other_and_none_has_to_begin_anew(store: EtcdStore) -> None:
    async with asyncio.TaskGroup() as group:
        writes = [group.create_task(increment(store)) for _ in range(WRITERS)]
    revisions = [write.result() for write in writes]
    assert len(set(revisions)) == WRITERS
    entry = store.snapshot_nowait().get("n")
    assert entry is not None
    assert (int(entry.value), entry.revision) == (WRITERS, max(revisions))
    values = [event.value for event in store.events_after("n", min(revisions) - 1).events]
    assert values == [b"%d" % (number + 1) for number in range(WRITERS)], "a watcher missed a write"
    assert store._chain.is_empty
    await store.commit({}, puts={}, deletes={"n"})
    await store.aclose()


async def test_a_key_is_created_anew_behind_its_own_deletion(store: EtcdStore) -> None:
    first = await store.commit({}, puts={"d": b"1"})
    deleted = asyncio.create_task(store.commit({"d": first}, puts={}, deletes={"d"}))
    await asyncio.sleep(0)
    assert Draft(store.snapshot_nowait(), store._chain).get("d") is None
    created = await store.commit({"d": 0}, puts={"d": b"2"})
    assert first < await deleted < created
    entry = store.snapshot_nowait().get("d")
    assert entry is not None
    assert entry.created == created
    await store.commit({}, puts={}, deletes={"d"})
    await store.aclose()


async def test_a_draft_is_not_settled_as_long_as_a_mark_was_shown(store: EtcdStore) -> None:
    write = asyncio.create_task(store.commit({}, puts={"n": b"1"}))
    await asyncio.sleep(0)
    draft = Draft(store.snapshot_nowait(), store._chain)
    assert draft.get("n") is not None
    assert not await store.settled(draft)
    again = await store.draft()
    assert again.get("n") == store.snapshot_nowait().get("n")
    assert await store.settled(again)
    await write
    await store.commit({}, puts={}, deletes={"n"})
    await store.aclose()


async def test_a_cancelled_writer_takes_those_that_rest_on_it_back_to_the_beginning(store: EtcdStore) -> None:
    first = asyncio.create_task(store.commit({}, puts={"n": b"1"}))
    await asyncio.sleep(0)
    resting = asyncio.create_task(store.commit({"n": _mark(store)}, puts={"n": b"2"}))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(Stale):
        await resting
    assert store._chain.is_empty
    await store.commit({}, puts={"n": b"0"})
    await increment(store)
    await store.commit({}, puts={}, deletes={"n"})
    await store.aclose()


def _mark(store: EtcdStore) -> int:
    return shown(store._chain, store.snapshot_nowait(), "n").revision

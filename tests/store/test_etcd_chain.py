"""Own writes on their way to etcd: what drafts show of them, and what becomes of those that rest on them."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio

from attractor.store.contract import Entry, Stale, StoreUnavailable, Unverifiable
from attractor.store.etcd import EtcdOptions, EtcdStore
from attractor.store.etcd.chain import Chain, Change, Draft, RecordingDraft, Write
from attractor.store.mvcc import View
from attractor.store.sorted_map import SortedMap
from tests.store.etcdserver import EtcdServer

pytestmark = pytest.mark.asyncio(loop_scope="session")

WRITERS = 50


def view(revision: int, **values: bytes) -> View:
    entries = [Entry(key, value, revision, revision) for key, value in sorted(values.items())]
    return View(revision, SortedMap.of([entry.key for entry in entries], entries))


def begin(chain: Chain, at: View, compares: dict[str, int], puts: dict[str, bytes], *deletes: str) -> Write:
    return chain.begin(at, Change(compares, puts, deletes), asyncio.get_running_loop().create_future())


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
    assert chain.lost(one) == [two]
    assert shown(chain, durable).value == b"old"
    three = begin(chain, durable, {"a": 7}, {"a": b"3"})
    assert chain.lost(two) == []
    assert shown(chain, durable) == Entry("a", b"3", three.revision, 7), "a lost write took another one with it"
    assert begin(chain, durable, {"a": two.revision}, {"a": b"4"}).compares() == {"a": two.revision}
    assert shown(chain, durable).value == b"3", "drafts show what can only be stale"


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


async def test_a_mark_of_nobody_is_stale_like_any_other_revision(store: EtcdStore) -> None:
    with pytest.raises(Stale) as refused:
        await store.commit({"x": -1, "y": 1, "z": 0}, puts={"z": b""})
    assert refused.value.keys == {"x", "y"}
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


async def test_a_cancelled_writer_does_not_take_its_write_back_from_those_that_rest_on_it(store: EtcdStore) -> None:
    before = store.revision
    first = asyncio.create_task(store.commit({}, puts={"n": b"1"}))
    await asyncio.sleep(0)
    resting = asyncio.create_task(store.commit({"n": _mark(store)}, puts={"n": b"2"}))
    await asyncio.sleep(0)
    first.cancel()
    await resting
    assert [event.value for event in store.events_after("n", before).events] == [b"1", b"2"]
    await store.commit({}, puts={}, deletes={"n"})
    await store.aclose()


def _mark(store: EtcdStore) -> int:
    return shown(store._chain, store.snapshot_nowait(), "n").revision


async def never(_: Stale) -> int:
    raise AssertionError("nobody was faster")


async def test_a_write_that_rests_on_two_waits_for_both_and_is_lost_once() -> None:
    chain, durable = Chain(), view(7, a=b"old", b=b"old")
    one, two = begin(chain, durable, {"a": 7}, {"a": b"1"}), begin(chain, durable, {"b": 7}, {"b": b"1"})
    both = begin(chain, durable, {"a": one.revision, "b": two.revision}, {"a": b"2"})
    other = begin(chain, durable, {"b": two.revision}, {"b": b"2"})
    assert chain.answered(one, 8) == []
    assert chain.answered(two, 9) == [both, other]
    assert both.compares() == {"a": 8, "b": 9}
    three = begin(chain, durable, {"a": both.revision, "b": other.revision}, {"a": b"3"})
    assert chain.lost(both) == [three]
    assert chain.lost(three) == []
    assert chain.answered(other, 10) == []


async def test_a_recording_draft_knows_what_it_has_shown_and_shows_nothing_that_etcd_cannot_compare() -> None:
    draft = RecordingDraft(view(7, a=b"old"), Chain())
    assert draft.get("a") is not None
    assert draft.get("b") is None
    assert not draft.has_any("c/")
    assert not draft.range("d/")
    assert not draft.count("e/")
    assert draft.read == {"a": 7, "b": 0}
    assert draft.absent == {"c/", "d/", "e/"}
    for read in (draft.range, draft.has_any, draft.count):
        with pytest.raises(Unverifiable):
            read("a")


async def test_a_speculative_commit_is_one_call_when_the_draft_was_right(store: EtcdStore) -> None:
    draft = store.draft_nowait()
    assert draft is not None
    assert draft.get("g") is None
    assert not draft.has_any("nothing/")
    revision = await store.commit_draft(draft, puts={"g": b"1"}, again=never)
    assert store.snapshot_nowait().get("g") == Entry("g", b"1", revision, revision)
    await store.commit({}, puts={}, deletes={"g"})
    await store.aclose()


@pytest.mark.parametrize("rival", ["g", "nothing/but"])
async def test_a_speculative_commit_on_a_wrong_draft_calls_again(
    store: EtcdStore, etcd_server: EtcdServer, rival: str
) -> None:
    other = await EtcdStore.open(EtcdOptions(endpoints=(etcd_server.endpoint,), prefix="/chain/", timeout_s=20))
    stale = store.draft_nowait()
    assert stale is not None
    assert stale.get("g") is None
    assert not stale.has_any("nothing/")
    await other.commit({}, puts={rival: b"theirs"})
    seen: list[Stale] = []

    async def again(lost: Stale) -> int:
        seen.append(lost)
        assert store.snapshot_nowait().get(rival) is not None, "the mirror does not show yet who was faster"
        return 42

    # As if the mirror had not heard yet: everything that the draft has shown is still what it says.
    assert await store.commit_draft(stale, puts={"h": b"ours"}, again=again) == 42
    assert [lost.keys for lost in seen] == [{"g"} if rival == "g" else {"nothing/"}]
    assert store.snapshot_nowait().get("h") is None
    await store.commit({}, puts={}, deletes={rival})
    await other.aclose()
    await store.aclose()


async def test_who_waits_for_a_read_is_told_when_the_store_is_closed(store: EtcdStore) -> None:
    reads = [asyncio.create_task(store.snapshot()) for _ in range(3)]
    await asyncio.sleep(0)
    await store.aclose()
    assert all(isinstance(error, StoreUnavailable) for error in await asyncio.gather(*reads, return_exceptions=True))


async def test_writes_under_way_are_told_when_the_store_is_closed(store: EtcdStore) -> None:
    writes = [asyncio.create_task(increment(store)) for _ in range(3)]
    first = asyncio.create_task(store.commit({}, puts={"closing": b"1"}))
    await asyncio.sleep(0)
    rests = asyncio.create_task(
        store.commit(
            {"closing": shown(store._chain, store.snapshot_nowait(), "closing").revision}, puts={"closing": b"2"}
        )
    )
    await asyncio.sleep(0)
    await store.aclose()
    ended = await asyncio.gather(*writes, first, rests, return_exceptions=True)
    assert all(isinstance(error, StoreUnavailable) for error in ended)
    store.check_invariants()

"""What every engine guarantees about writes and reads; the names are the guarantees."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from attractor.store.contract import Compacted, Entry, FutureRevision, SpeculativeWriter, Stale, StoreUnavailable
from tests.store.engines import step

if TYPE_CHECKING:
    from attractor.store.contract import Snapshot
    from tests.store.engines import AnyStore, Engine

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_transaction_is_all_or_nothing(store: AnyStore) -> None:
    first = await store.commit({}, puts={"a": b"1", "b": b"1"})
    with pytest.raises(Stale):
        await store.commit({"a": first, "b": first + 1}, puts={"a": b"2", "c": b"2"}, deletes={"b"})
    snapshot = await store.snapshot()
    assert [entry.value for entry in snapshot.range("")] == [b"1", b"1"]
    second = await store.commit({"a": first, "b": first}, puts={"a": b"2", "c": b"2"}, deletes={"b"})
    assert [(entry.key, entry.revision) for entry in store.snapshot_nowait().range("")] == [
        ("a", second),
        ("c", second),
    ]


async def test_a_stale_transaction_names_exactly_the_keys_that_differ(store: AnyStore) -> None:
    revision = await store.commit({}, puts={"a": b"", "b": b"", "c": b""})
    with pytest.raises(Stale) as refused:
        await store.commit({"a": revision, "b": 0, "c": revision - 1, "d": 7, "e": 0}, puts={"a": b"x"})
    assert refused.value.keys == {"b", "c", "d"}


async def test_comparing_with_zero_creates_a_key_only_once(store: AnyStore) -> None:
    revision = await store.commit({"a": 0}, puts={"a": b"1"})
    with pytest.raises(Stale):
        await store.commit({"a": 0}, puts={"a": b"2"})
    await store.commit({"a": revision}, puts={}, deletes={"a"})
    again = await store.commit({"a": 0}, puts={"a": b"3"})
    assert store.snapshot_nowait().get("a") == Entry("a", b"3", again, again)


async def test_an_entry_knows_who_wrote_it_last_and_who_created_it(store: AnyStore) -> None:
    created = await store.commit({}, puts={"a": b"1"})
    await store.commit({}, puts={"b": b"1"})
    written = await store.commit({}, puts={"a": b"2"})
    assert store.snapshot_nowait().get("a") == Entry("a", b"2", written, created)


async def test_revisions_grow_by_a_step_with_each_transaction(store: AnyStore) -> None:
    revisions = [await store.commit({}, puts={"a": b"same", "b": b"same"}) for _ in range(5)]
    assert revisions == [revisions[0] + number * step(store) for number in range(5)]
    assert store.revision == revisions[-1]


async def test_a_transaction_that_changes_nothing_takes_no_revision(store: AnyStore) -> None:
    revision = await store.commit({}, puts={"a": b"1"})
    assert await store.commit({}, puts={}, deletes={"absent"}) == revision
    assert await store.commit({"a": revision, "absent": 0}, puts={}) == revision
    assert await store.commit({"absent": 0}, puts={}, deletes={"absent"}) == revision
    with pytest.raises(Stale):
        await store.commit({"a": 0}, puts={}, deletes={"absent"})
    assert await store.commit({}, puts={}, deletes={"absent", "a"}) == revision + step(store)


async def test_a_write_is_visible_as_soon_as_it_is_acknowledged(store: AnyStore) -> None:
    for number in range(20):
        revision = await store.commit({}, puts={"a": b"%d" % number})
        assert store.revision == revision
        entry = store.snapshot_nowait().get("a")
        assert entry is not None
        assert entry.value == b"%d" % number


async def test_a_snapshot_never_changes(store: AnyStore) -> None:
    await store.commit({}, puts={"a": b"1", "b": b"1"})
    snapshot = await store.snapshot()
    before = list(snapshot.range(""))
    await store.commit({}, puts={"a": b"2", "c": b"2"}, deletes={"b"})
    await store.compact(store.revision)
    assert list(snapshot.range("")) == before
    assert snapshot.count("") == 2


async def test_every_retained_revision_can_be_read(store: AnyStore) -> None:
    states: dict[int, list[Entry]] = {store.revision: []}
    for number in range(200):
        puts = {f"k{number % 7}": b"%d" % number, f"k{number % 11}": b"%d" % number}
        revision = await store.commit({}, puts=puts, deletes={f"k{(number + 1) % 13}"} - puts.keys())
        states[revision] = list(store.snapshot_nowait().range(""))
    for revision, entries in states.items():
        snapshot = store.snapshot_at(revision)
        assert snapshot.revision == revision
        assert list(snapshot.range("")) == entries


async def test_the_future_cannot_be_read(store: AnyStore) -> None:
    with pytest.raises(FutureRevision):
        store.snapshot_at(store.revision + 1)
    with pytest.raises(FutureRevision):
        await store.compact(store.revision + 1)
    with pytest.raises(FutureRevision):
        async with store.watch("", after=store.revision + 1):
            pass


async def test_a_range_is_in_key_order_and_can_be_read_in_pages(store: AnyStore) -> None:
    keys = [f"/pods/{name}" for name in ("b", "a", "é", "a/x", "aa", "\U0001f600", "z")]
    await store.commit({}, puts={key: key.encode() for key in keys} | {"/podz": b"", "/pod": b"", "other": b""})
    snapshot = await store.snapshot()
    assert [entry.key for entry in snapshot.range("/pods/")] == sorted(keys)
    pages: list[str] = []
    after = ""
    while page := snapshot.range("/pods/", after=after, limit=2):
        assert snapshot.count("/pods/", after=after) == len(keys) - len(pages)
        pages += [entry.key for entry in page]
        after = pages[-1]
    assert pages == sorted(keys)
    assert snapshot.count("/pods/", after=after) == 0
    assert snapshot.count("") == 10
    assert snapshot.range("/nothing/") == []


async def test_values_are_any_bytes_and_keys_are_any_text(store: AnyStore) -> None:
    values = {"empty": b"", "zeros": bytes(3), "all": bytes(range(256)), "nul\0inside": b"x", "é/\U0010ffff": b"y"}
    await store.commit({}, puts=values)
    assert {entry.key: entry.value for entry in (await store.snapshot()).range("")} == values


@pytest.mark.parametrize("key", ["", "\0", "\0x", "\ud800"])
async def test_a_key_that_no_engine_could_write_is_refused(store: AnyStore, key: str) -> None:
    with pytest.raises(ValueError):
        await store.commit({}, puts={key: b""})
    with pytest.raises(ValueError, match="both put and deleted"):
        await store.commit({}, puts={"a": b""}, deletes={"a"})


@pytest.mark.parametrize("value", ["text", bytearray(b"x"), memoryview(b"x"), None])
async def test_a_value_that_is_not_bytes_is_refused(store: AnyStore, value: Any) -> None:
    with pytest.raises(TypeError, match="a store takes bytes"):
        await store.commit({}, puts={"a": value})


async def test_concurrent_increments_are_never_lost(store: AnyStore) -> None:
    writers, rounds = 16, 5

    async def increment() -> None:
        done = 0
        while done < rounds:
            entry = (await store.snapshot()).get("counter")
            value, revision = (int(entry.value), entry.revision) if entry else (0, 0)
            try:
                await store.commit({"counter": revision}, puts={"counter": b"%d" % (value + 1)})
                done += 1
            except Stale:
                continue

    async with asyncio.TaskGroup() as group:
        for _ in range(writers):
            group.create_task(increment())
    entry = store.snapshot_nowait().get("counter")
    assert entry is not None
    assert int(entry.value) == writers * rounds


async def test_concurrent_writers_each_get_a_revision_of_their_own(store: AnyStore) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(store.commit({}, puts={f"k{n % 5}": b"%d" % n})) for n in range(100)]
    revisions = [task.result() for task in tasks]
    assert len(set(revisions)) == 100
    assert max(revisions) - min(revisions) < 100 * step(store)
    for number, revision in enumerate(revisions):
        entry = store.snapshot_at(revision).get(f"k{number % 5}")
        assert entry is not None
        assert (entry.value, entry.revision) == (b"%d" % number, revision)


async def test_a_cancelled_writer_disturbs_nobody(store: AnyStore) -> None:
    cancelled = [asyncio.create_task(store.commit({}, puts={f"c{n}": b"", "all": b""})) for n in range(10)]
    await asyncio.sleep(0)
    for task in cancelled:
        task.cancel()
    await asyncio.wait(cancelled)
    revision = await store.commit({}, puts={"mine": b"1"})
    snapshot = await store.snapshot()
    mine = snapshot.get("mine")
    assert mine is not None
    assert mine.revision == revision
    assert bool(snapshot.count("c")) == (snapshot.get("all") is not None)


async def test_compaction_forgets_the_past_and_keeps_the_present(store: AnyStore) -> None:
    revisions = [await store.commit({}, puts={"a": b"%d" % n}) for n in range(150)]
    middle = revisions[100]
    await store.compact(middle)
    assert store.compacted == middle
    for revision in revisions[:100]:
        with pytest.raises(Compacted) as gone:
            store.snapshot_at(revision)
        assert gone.value.oldest == middle
    for number, revision in enumerate(revisions[100:], 100):
        assert store.snapshot_at(revision).range("")[0].value == b"%d" % number
    await store.compact(revisions[50])
    assert store.compacted == middle
    await store.compact(store.revision)
    assert [entry.value for entry in store.snapshot_nowait().range("")] == [b"149"]


async def test_history_stays_within_its_limit(engine: Engine) -> None:
    store = await engine.open(history_limit=64)
    for number in range(500):
        await store.commit({}, puts={f"k{number % 3}": b"%d" % number})
    assert 64 <= (store.revision - store.compacted) / step(store) < 3 * 64
    store.snapshot_at(store.compacted)
    store.check_invariants()


async def test_a_closed_store_refuses_writes(store: AnyStore) -> None:
    await store.aclose()
    await store.aclose()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.commit({}, puts={"a": b""})


@pytest.mark.parametrize("engine", ["sqlite", "etcd"], indirect=True)
async def test_state_and_history_outlive_the_process(engine: Engine) -> None:
    store = await engine.open()
    revisions = [await store.commit({}, puts={"a": b""})]
    for number in range(150):
        puts, deletes = {f"k{number % 10}": b"%d" % number}, {f"k{(number + 5) % 10}"}
        revisions.append(await store.commit({}, puts=puts, deletes=deletes))
    await store.compact(revisions[20])
    revision, entries = store.revision, store.snapshot_nowait().range("")
    before = revisions[50]
    old = store.snapshot_at(before).range("")
    events = store.events_after("", before).events
    await store.aclose()
    store = await engine.open()
    assert store.revision == revision
    assert store.compacted <= before
    assert store.snapshot_nowait().range("") == entries
    assert store.snapshot_at(before).range("") == old
    assert store.events_after("", before).events == events
    with pytest.raises(Compacted):
        store.snapshot_at(revisions[19])
    assert await store.commit({}, puts={"a": b""}) == revision + step(store)


def drafted(store: AnyStore) -> Snapshot:
    """The draft of an engine that is there; every engine of ours commits speculatively."""
    assert isinstance(store, SpeculativeWriter)
    draft = store.draft_nowait()
    assert draft is not None
    return draft


async def durable(written: int | asyncio.Future[int]) -> int:
    return written if isinstance(written, int) else await written


async def test_a_speculative_commit_writes_all_and_is_durable_when_it_answers(store: AnyStore) -> None:
    await store.commit({}, puts={"a": b"1", "b": b"1"})
    begun = store.commit_draft(drafted(store), puts={"a": b"2", "c": b"2"}, deletes={"b", "absent"})
    revision = await durable(begun)
    assert [(entry.key, entry.value, entry.revision) for entry in (await store.snapshot()).range("")] == [
        ("a", b"2", revision),
        ("c", b"2", revision),
    ]


async def test_speculative_commits_follow_each_other_without_waiting(store: AnyStore) -> None:
    begun = []
    for number in range(5):
        draft = drafted(store)
        before = draft.get("a")
        assert (before.value if before else None) == (b"%d" % (number - 1) if number else None), "a write is not shown"
        begun.append(store.commit_draft(draft, puts={"a": b"%d" % number}))
    revisions = [await durable(one) for one in begun]
    assert revisions == [revisions[0] + number * step(store) for number in range(5)]
    assert store.revision == revisions[-1]


async def test_a_speculative_commit_that_changes_nothing_answers_once_the_draft_is_durable(store: AnyStore) -> None:
    first = store.commit_draft(drafted(store), puts={"a": b"1"})
    draft = drafted(store)
    assert draft.get("a") is not None
    second = store.commit_draft(draft, puts={}, deletes={"absent"})
    revision = await durable(second)
    assert store.revision == revision == await durable(first)
    assert await durable(store.commit_draft(drafted(store), puts={})) == revision


async def test_a_closed_store_takes_no_speculative_commit(store: AnyStore) -> None:
    draft = drafted(store)
    await store.aclose()
    with pytest.raises(StoreUnavailable):
        store.commit_draft(draft, puts={"a": b"1"})

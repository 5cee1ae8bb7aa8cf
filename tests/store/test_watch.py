"""What every engine guarantees about watches; the names are the guarantees."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from attractor.store.contract import Batch, Compacted, Entry, Event
from attractor.store.memory import MemoryStore
from tests.store.engines import step

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.store.engines import AnyStore, Engine

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def take(batches: AsyncIterator[Batch], count: int) -> list[Event]:
    events: list[Event] = []
    while len(events) < count:
        batch = await anext(batches)
        assert batch.events
        assert batch.events[-1].revision <= batch.revision
        events += batch.events
    return events


async def test_events_are_in_order_without_gap_and_without_duplicate(store: AnyStore) -> None:
    start = store.revision
    async with store.watch("", after=start) as batches, asyncio.TaskGroup() as group:
        seen = group.create_task(take(batches, 300))
        written = [group.create_task(store.commit({}, puts={f"k{n % 9}": b"%d" % n})) for n in range(300)]
    events = seen.result()
    assert [event.revision for event in events] == sorted(task.result() for task in written)
    assert start < events[0].revision
    assert events[-1].revision <= start + 300 * step(store)
    values = {task.result(): b"%d" % n for n, task in enumerate(written)}
    assert all(event.value == values[event.revision] for event in events)


async def test_an_event_carries_what_was_there_before(store: AnyStore) -> None:
    start = store.revision
    one = await store.commit({}, puts={"a": b"1"})
    two = await store.commit({}, puts={"a": b"2"})
    three = await store.commit({}, puts={}, deletes={"a"})
    async with store.watch("", after=start) as batches:
        assert await take(batches, 3) == [
            Event(one, "a", b"1", None),
            Event(two, "a", b"2", Entry("a", b"1", one, one)),
            Event(three, "a", None, Entry("a", b"2", two, one)),
        ]


async def test_batches_never_split_a_revision(store: AnyStore) -> None:
    start = store.revision
    for number in range(50):
        await store.commit({}, puts={f"k{n}": b"%d" % number for n in range(60)})
    async with store.watch("", after=start) as batches:
        seen = 0
        while seen < 3000:
            batch = await anext(batches)
            revisions = [event.revision for event in batch.events]
            assert batch.revision == revisions[-1]
            assert all(revisions.count(revision) == 60 for revision in set(revisions))
            seen += len(revisions)


async def test_a_watch_resumes_after_any_retained_revision(store: AnyStore) -> None:
    start = store.revision
    revisions = [start]
    revisions += [await store.commit({}, puts={f"k{number % 3}": b"%d" % number}) for number in range(140)]
    for place in range(0, 140, 7):
        async with store.watch("", after=revisions[place]) as batches:
            events = await take(batches, 140 - place)
        assert [event.revision for event in events] == revisions[place + 1 :]


async def test_a_watch_sees_only_its_prefix(store: AnyStore) -> None:
    start = store.revision
    async with store.watch("/pods/", after=start) as batches:
        for key in ("/pods", "/pods/", "/podsx", "/pods/a", "/nodes/a", "/pods/b/c"):
            await store.commit({}, puts={key: b""})
        assert [event.key for event in await take(batches, 3)] == ["/pods/", "/pods/a", "/pods/b/c"]


async def test_history_before_the_compaction_cannot_be_watched(store: AnyStore) -> None:
    revisions = [await store.commit({}, puts={"a": b"%d" % n}) for n in range(10)]
    await store.compact(revisions[5])
    with pytest.raises(Compacted):
        async with store.watch("", after=revisions[4]):
            pass
    assert len(store.events_after("", revisions[5]).events) == 4
    await store.compact(revisions[6])
    with pytest.raises(Compacted):
        store.events_after("", revisions[5])
    async with store.watch("", after=revisions[6]) as batches:
        assert [event.revision for event in await take(batches, 3)] == revisions[7:]


async def test_a_watch_goes_on_after_a_compaction_behind_its_cursor(store: AnyStore) -> None:
    start = store.revision
    async with store.watch("/mine/", after=start) as batches, asyncio.TaskGroup() as group:
        await store.commit({}, puts={"/mine/a": b""})
        await take(batches, 1)
        waiting = group.create_task(take(batches, 1))
        for number in range(100):
            await store.commit({}, puts={"/other": b"%d" % number})
        await asyncio.sleep(0)
        await store.compact(store.revision)
        revision = await store.commit({}, puts={"/mine/b": b""})
    assert [event.revision for event in waiting.result()] == [revision]


async def test_a_waiting_watch_makes_progress_while_others_write_elsewhere(store: AnyStore) -> None:
    async with store.watch("/mine/", after=store.revision) as batches, asyncio.TaskGroup() as group:
        waiting = group.create_task(take(batches, 1))
        await asyncio.sleep(0)
        revision = await store.commit({}, puts={"/other": b""})
        assert batches.revision == revision
        mine = await store.commit({}, puts={"/mine/a": b""})
        await waiting
        assert batches.revision == mine


async def test_a_slow_watcher_is_told_and_delays_nobody(engine: Engine) -> None:
    store = await engine.open(history_limit=64)
    start = await store.commit({}, puts={"a": b"begin"})
    async with store.watch("", after=start) as slow, store.watch("", after=start) as quick:
        await store.commit({}, puts={"a": b""})
        await take(slow, 1)
        seen = await take(quick, 1)
        for number in range(300):
            await store.commit({}, puts={"a": b"%d" % number})
            seen += await take(quick, 1)
        assert [event.revision for event in seen] == [start + number * step(store) for number in range(1, 302)]
        with pytest.raises(Compacted):
            await anext(slow)


async def test_leaving_the_context_ends_the_watch(store: AnyStore) -> None:
    async with store.watch("", after=store.revision) as batches:
        pass
    await store.commit({}, puts={"a": b""})
    with pytest.raises(StopAsyncIteration):
        await anext(batches)
    assert not store._subscriptions._by_length


async def test_a_cancelled_watcher_leaves_nothing_behind(store: AnyStore) -> None:
    async def watch() -> None:
        async with store.watch("", after=store.revision) as batches:
            async for _ in batches:
                pass

    task = asyncio.create_task(watch())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert not store._subscriptions._by_length


async def test_closing_the_store_ends_its_watches(store: AnyStore) -> None:
    async def watch() -> int:
        async with store.watch("", after=store.revision) as batches:
            return len([batch async for batch in batches])

    task = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await store.aclose()
    assert await task == 0


async def test_events_can_be_read_without_waiting_up_to_a_limit(store: AnyStore) -> None:
    start = store.revision
    assert store.events_after("", start) == Batch(start, ())
    made = [await store.commit({}, puts={f"/a/{number}": b"", f"/b/{number}": b""}) for number in range(100)]
    batch = store.events_after("/a/", start, limit=10)
    assert (batch.revision, len(batch.events)) == (made[9], 10)
    batch = store.events_after("", start, limit=9)
    assert (batch.revision, len(batch.events)) == (made[4], 10)
    assert store.events_after("/c/", start) == Batch(made[-1], ())
    rest = store.events_after("/b/", made[89])
    assert [event.key for event in rest.events] == [f"/b/{n}" for n in range(90, 100)]


async def test_a_subscriber_hears_of_its_prefix_until_it_leaves(store: AnyStore) -> None:
    heard: list[int] = []
    leave = store.subscribe("/a/", heard.append)
    await store.commit({}, puts={"/b/": b""})
    assert heard == []
    first = await store.commit({}, puts={"/b/": b"", "/a/1": b"", "/a/2": b""})
    assert heard == [first]
    leave()
    leave()
    await store.commit({}, puts={"/a/1": b""})
    assert heard == [first]


async def test_of_a_thousand_watchers_only_those_concerned_are_woken() -> None:
    store = MemoryStore()
    told: list[int] = []
    for number in range(1000):
        store.subscribe(f"/kind{number:03}/", lambda _, number=number: told.append(number))  # type: ignore[misc]
    await store.commit({}, puts={"/kind007/a": b"", "/kind007/b": b"", "/kind500/a": b"", "/nobody/": b""})
    assert told == [7, 500]


async def test_a_subscriber_may_leave_or_come_while_it_is_told() -> None:
    store = MemoryStore()
    told: list[str] = []

    def first(_: int) -> None:
        told.append("first")
        leave()
        store.subscribe("", lambda _: told.append("late"))

    leave = store.subscribe("", first)
    store.subscribe("", lambda _: told.append("second"))
    await store.commit({}, puts={"a": b""})
    assert told == ["first", "second"]
    store.check_invariants()

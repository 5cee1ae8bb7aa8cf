"""The lookout: one look for all, no change missed, no bell rung for nothing."""

from __future__ import annotations

import asyncio

from attractor.embedded.lookout import Lookout
from attractor.store.memory import MemoryStore


async def test_a_change_rings_the_bells_of_those_it_concerns_and_no_other() -> None:
    store = MemoryStore()
    lookout = Lookout(store)
    a, b = (lookout.bell(lambda event, name=name: event.key == name) for name in "ab")  # type: ignore[misc]
    await store.commit({}, puts={"a": b""})
    await a.wait()
    assert not b.is_set()
    lookout.close()


async def test_many_changes_at_once_are_read_to_the_last() -> None:
    store = MemoryStore()
    lookout = Lookout(store)
    seen: list[int] = []

    def is_last(event: object) -> bool:
        seen.append(event.revision)  # type: ignore[attr-defined]
        return len(seen) == 2500

    bell = lookout.bell(is_last)
    for number in range(2500):
        await store.commit({}, puts={"k": b"%d" % number})
    await bell.wait()
    assert seen == list(range(1, 2501))
    lookout.close()


async def test_a_change_that_is_compacted_before_anybody_looked_concerns_everybody() -> None:
    store = MemoryStore()
    lookout = Lookout(store)
    bell = lookout.bell(lambda _: False)
    await store.commit({}, puts={"k": b"1"})
    await store.compact(await store.commit({}, puts={"k": b"2"}))
    await bell.wait()
    lookout.close()


async def test_a_bell_that_was_cleared_rings_again() -> None:
    store = MemoryStore()
    lookout = Lookout(store)
    bell = lookout.bell(lambda _: True)
    for number in range(3):
        await store.commit({}, puts={"k": b"%d" % number})
        await bell.wait()
        bell.clear()
    async with asyncio.timeout(5):
        await store.commit({}, puts={"k": b"last"})
        await bell.wait()
    lookout.close()

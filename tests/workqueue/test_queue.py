"""The queue on an event loop."""

import asyncio

import pytest

from attractor.testing import VirtualTime
from attractor.workqueue import Backoff, MaxOf, QueueShutDown, TokenBucket, WorkQueue
from attractor.workqueue.core import STALE
from tests.runtime.things import passing


async def test_worker_waits_until_a_key_is_added() -> None:
    queue: WorkQueue[str] = WorkQueue()
    async with asyncio.TaskGroup() as tasks:
        getting = tasks.create_task(queue.get())
        await asyncio.sleep(0)
        assert not getting.done()
        queue.add("a")
    assert getting.result() == "a"


async def test_wake_up_of_a_cancelled_worker_is_passed_on() -> None:
    queue: WorkQueue[str] = WorkQueue()
    async with asyncio.TaskGroup() as tasks:
        first, second = tasks.create_task(queue.get()), tasks.create_task(queue.get())
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
    assert second.result() == "a"


async def test_delayed_key_arrives_when_its_time_has_come_and_the_shortest_delay_counts() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("late", 0.02)
    queue.add_after("soon", 3600)
    queue.add_after("soon", 0.001)
    assert [await queue.get(), await queue.get()] == ["soon", "late"]


async def test_of_several_delays_the_shortest_and_of_several_priorities_the_highest_counts() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 0.001, priority=-100)
    queue.add_after("a", 3600, priority=0)
    queue.add_after("b", 3600, priority=7)
    queue.add_after("b", 0.001, priority=-100)
    assert sorted([await queue.get_with_priority(), await queue.get_with_priority()]) == [("a", 0), ("b", 7)]


async def test_a_delay_that_is_shortened_again_and_again_leaves_nothing_behind() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for number in range(10_000):
        queue.add_after("a", 1_000_000 - number)
        queue.add_after(f"b{number % 10}", 1_000_000)
    assert len(queue._delayed) <= 2 * len(queue._delayed_until) + STALE == 86
    queue.add_after("a", 0.001)
    assert await queue.get() == "a"


async def test_shutting_down_ends_workers_that_wait_and_keys_that_are_delayed(virtual_time: VirtualTime) -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 5)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(ended(queue))
        await asyncio.sleep(0)
        queue.shut_down()
    queue.add_after("b", 5)
    queue.add_rate_limited("c")
    await passing(10)
    assert queue.core.is_idle
    await queue.drain()


async def test_draining_waits_for_what_was_added_while_it_was_processed(virtual_time: VirtualTime) -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    async with asyncio.TaskGroup() as tasks:
        draining = tasks.create_task(queue.drain())
        await asyncio.sleep(0)
        queue.done("a")
        await passing(1)
        assert not draining.done()
        assert await queue.get() == "a"
        queue.done("a")


async def test_drain_waits_for_running_keys_and_ends_idle_workers() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    assert await queue.get() == "a"
    async with asyncio.TaskGroup() as tasks:
        idle = tasks.create_task(ended(queue))
        draining = tasks.create_task(queue.drain())
        await idle
        assert not draining.done()
        queue.done("a")
    queue.add("b")
    assert len(queue) == 0


async def ended(queue: WorkQueue[str]) -> None:
    with pytest.raises(QueueShutDown):
        await queue.get()


def test_backoff_doubles_up_to_its_limit_and_starts_over_when_forgotten() -> None:
    backoff = Backoff(base_s=1, max_s=5)
    assert [backoff.delay_s("a", 0) for _ in range(4)] == [1, 2, 4, 5]
    assert backoff.failures("a") == 4
    backoff.forget("a")
    assert backoff.delay_s("a", 0) == 1


async def test_a_key_that_fails_waits_as_long_as_its_limiter_says_until_it_is_forgotten(
    virtual_time: VirtualTime,
) -> None:
    queue: WorkQueue[str] = WorkQueue(Backoff(base_s=1, max_s=60))
    waited = []
    for attempt in range(5):
        began = virtual_time.time()
        queue.add_rate_limited("a")
        assert await queue.get() == "a"
        waited.append(virtual_time.time() - began)
        queue.done("a")
        if attempt == 2:
            assert queue.failures("a") == 3
            queue.forget("a")
    assert waited == pytest.approx([1, 2, 4, 1, 2])


async def test_by_default_a_failing_key_backs_off_from_5_ms_and_all_keys_share_10_a_second(
    virtual_time: VirtualTime,
) -> None:
    queue: WorkQueue[int] = WorkQueue()
    began = virtual_time.time()
    for key in range(130):
        queue.add_rate_limited(key)
    arrived = []
    for _ in range(130):
        await queue.get()
        arrived.append(virtual_time.time() - began)
    assert arrived[:100] == pytest.approx([0.005] * 100)
    assert arrived[100:] == pytest.approx([0.1 * (number + 1) for number in range(30)])


def test_a_clock_that_goes_back_takes_no_tokens_away() -> None:
    bucket = TokenBucket(rate=1, burst=2)
    assert [bucket.delay_s("a", now) for now in (100, 0, 1)] == [0, 0, 0]


def test_token_bucket_lets_a_burst_through_and_then_the_rate() -> None:
    bucket = TokenBucket(rate=2, burst=2)
    assert [bucket.delay_s("a", 0) for _ in range(4)] == [0, 0, 0.5, 1.0]
    assert bucket.delay_s("a", 10) == 0


def test_a_token_bucket_that_nobody_used_for_long_holds_no_more_than_its_burst() -> None:
    bucket = TokenBucket(rate=2, burst=2)
    assert [bucket.delay_s("a", now) for now in (0, 1000, 1000, 1000)] == [0, 0, 0, 0.5]


def test_several_limits_forget_a_key_together_and_remember_what_the_longest_memory_does() -> None:
    first, second = Backoff(base_s=1, max_s=9), Backoff(base_s=1, max_s=9)
    both = MaxOf(first, second, TokenBucket())
    second.delay_s("a", 0)
    both.delay_s("a", 0)
    assert both.failures("a") == 2
    both.forget("a")
    assert (first.failures("a"), second.failures("a"), both.failures("a")) == (0, 0, 0)
    with pytest.raises(ValueError, match="at least one limiter"):
        MaxOf()


def test_longest_of_several_limits_counts() -> None:
    both = MaxOf(Backoff(base_s=1, max_s=1), TokenBucket(rate=0.1, burst=1))
    assert [both.delay_s("a", 0), both.delay_s("a", 0)] == [1, 10]

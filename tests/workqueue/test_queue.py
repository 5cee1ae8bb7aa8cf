"""The queue on an event loop."""

import asyncio

import pytest

from attractor.workqueue import Backoff, MaxOf, QueueShutDown, TokenBucket, WorkQueue


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


def test_token_bucket_lets_a_burst_through_and_then_the_rate() -> None:
    bucket = TokenBucket(rate=2, burst=2)
    assert [bucket.delay_s("a", 0) for _ in range(4)] == [0, 0, 0.5, 1.0]
    assert bucket.delay_s("a", 10) == 0


def test_longest_of_several_limits_counts() -> None:
    both = MaxOf(Backoff(base_s=1, max_s=1), TokenBucket(rate=0.1, burst=1))
    assert [both.delay_s("a", 0), both.delay_s("a", 0)] == [1, 10]

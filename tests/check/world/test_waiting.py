"""Code under check that waits for a lock, a task or a thread: it works, or it is refused at once with the way out."""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
from pathlib import Path
from typing import Any

import pytest

from attractor import Context, Key, controller
from attractor.check import SpecError, Verdict, World, check
from attractor.check.sandbox import no_event_loop, watchdog
from tests.check.world.pairs import Pair, pair

LOCK = asyncio.Lock()
PLACES = asyncio.Semaphore(1)
OF_THREADS = threading.Lock()
AGAIN = threading.RLock()
CHANGED = threading.Condition()
PAUSE = asyncio.sleep  # refused before it pauses


def checked(reconcile: Any) -> Verdict:
    return check(World(controllers=[controller(reconcile, name="waits", for_=Pair)], objects=[pair()]))


def refused(reconcile: Any, marked: str = "# here") -> str:
    """What is said against a reconcile, without the line, which is the one with the mark."""
    with pytest.raises(SpecError) as raised:
        checked(reconcile)
    place, _, said = str(raised.value).partition(" ")
    file, number = place.removesuffix(":").rsplit(":", 1)
    assert file == __file__
    assert marked in Path(file).read_text().splitlines()[int(number) - 1]
    assert int(number) > reconcile.__code__.co_firstlineno
    return said


async def find(ctx: Context, key: Key) -> Pair | None:
    return await ctx.find(Pair, key)


# What works: it needs nobody else.


async def own_lock(ctx: Context, key: Key) -> None:
    lock, places = asyncio.Lock(), asyncio.Semaphore(2)
    async with lock, places:
        await ctx.find(Pair, key)


async def free_lock(ctx: Context, key: Key) -> None:
    async with LOCK:
        pass
    with OF_THREADS, AGAIN:
        pass
    await ctx.find(Pair, key)


async def filled_queue(ctx: Context, key: Key) -> None:
    lines: asyncio.Queue[int] = asyncio.Queue()
    await lines.put(1)
    await ctx.find(Pair, key)
    assert await lines.get() == 1


async def set_event(ctx: Context, key: Key) -> None:
    event = asyncio.Event()
    await ctx.find(Pair, key)
    event.set()
    await event.wait()


@pytest.mark.parametrize("reconcile", [own_lock, free_lock, filled_queue, set_event])
def test_what_needs_nobody_else_is_checked(reconcile: Any) -> None:
    verdict = checked(reconcile)
    verdict.assert_holds()
    assert verdict.distinct == 4
    assert verdict.warnings == ()


# What holds something that others would wait for.


async def shared_lock(ctx: Context, key: Key) -> None:
    async with LOCK:
        await ctx.find(Pair, key)  # here


async def shared_semaphore(ctx: Context, key: Key) -> None:
    async with PLACES:
        await ctx.find(Pair, key)  # here


@pytest.mark.parametrize("reconcile", [shared_lock, shared_semaphore])
def test_a_wait_with_a_shared_lock_in_hand_is_refused_with_the_line(reconcile: Any) -> None:
    said = refused(reconcile)
    assert said.startswith("waits while it holds an `asyncio.")
    assert "leave it out (a key is never reconciled twice at once" in said


# What waits for another task.


async def event(ctx: Context, key: Key) -> None:
    await ctx.find(Pair, key)
    await asyncio.Event().wait()  # here


async def condition(ctx: Context, key: Key) -> None:
    changed = asyncio.Condition()
    async with changed:
        await changed.wait()  # here


async def empty_queue(ctx: Context, key: Key) -> None:
    await asyncio.Queue[int]().get()  # here


async def full_queue(ctx: Context, key: Key) -> None:
    lines: asyncio.Queue[int] = asyncio.Queue(1)
    await lines.put(1)
    await lines.put(2)  # here


async def future(ctx: Context, key: Key) -> None:
    await asyncio.Future()  # here


WAITS = {
    event: "asyncio.Event",
    condition: "asyncio.Condition",
    empty_queue: "asyncio.Queue",
    full_queue: "asyncio.Queue",
    future: "asyncio.Future",
}


@pytest.mark.parametrize(("reconcile", "name"), WAITS.items())
def test_a_wait_for_another_task_is_refused_with_the_line(reconcile: Any, name: str) -> None:
    said = refused(reconcile)
    assert said.startswith(f"uses `{name}`; under check a reconcile runs alone, so nobody ends the wait")
    assert "leave it out (a key is never reconciled twice at once" in said


async def test_it_is_refused_alike_inside_a_running_loop_which_then_goes_on() -> None:
    assert refused(event).startswith("uses `asyncio.Event`;")
    assert refused(tasks).startswith("uses `asyncio.create_task`;")
    assert asyncio.all_tasks() == {asyncio.current_task()}
    async with asyncio.timeout(60):
        await asyncio.sleep(0)


async def test_a_lock_that_a_refused_reconcile_waited_for_can_be_used_by_a_loop() -> None:
    refused(shared_lock)
    async with asyncio.TaskGroup() as group, LOCK:
        group.create_task(_take_turns())
        await asyncio.sleep(0)


async def _take_turns() -> None:
    async with LOCK:
        pass


class Owner:
    """Keeps a lock as an attribute, which is where most people keep it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.of_threads = threading.Lock()

    async def among_tasks(self, ctx: Context, key: Key) -> None:
        async with self.lock:
            await ctx.find(Pair, key)  # here

    async def among_threads(self, ctx: Context, key: Key) -> None:
        with self.of_threads:
            await ctx.find(Pair, key)  # here


def test_a_lock_of_the_controller_that_is_held_over_an_await_is_refused_with_the_line() -> None:
    said = refused(Owner().among_tasks)
    assert said.startswith("waits while it holds an `asyncio.Lock`, which is no part of the state")
    assert refused(Owner().among_threads).startswith("waits while it holds a `threading.Lock`")


# Tasks.


async def together(ctx: Context, key: Key) -> None:
    await asyncio.gather(ctx.find(Pair, key), ctx.find(Pair, key))  # here


async def together_from_functions(ctx: Context, key: Key) -> None:
    await asyncio.gather(find(ctx, key), find(ctx, key))  # here


async def tasks(ctx: Context, key: Key) -> None:
    await asyncio.create_task(find(ctx, key))  # here


async def group(ctx: Context, key: Key) -> None:
    async with asyncio.TaskGroup() as tasks:  # here
        tasks.create_task(find(ctx, key))


STARTS = {
    together: "asyncio.gather",
    together_from_functions: "asyncio.gather",
    tasks: "asyncio.create_task",
    group: "asyncio.TaskGroup",
}


@pytest.mark.parametrize(("reconcile", "name"), STARTS.items())
def test_tasks_are_refused_with_the_line_and_no_coroutine_is_left_over(reconcile: Any, name: str) -> None:
    said = refused(reconcile)
    assert said.startswith(f"uses `{name}`; under check there are no tasks")
    assert "write `await ctx.gather(ctx.get(...), ...)`" in said


# Time.


async def deadline(ctx: Context, key: Key) -> None:
    async with asyncio.timeout(1):  # here
        await ctx.find(Pair, key)


async def waited_for(ctx: Context, key: Key) -> None:
    await asyncio.wait_for(find(ctx, key), 1)  # here


async def pause(ctx: Context, key: Key) -> None:
    await PAUSE(1)  # here


@pytest.mark.parametrize(
    ("reconcile", "name"), [(deadline, "asyncio.timeout"), (waited_for, "asyncio.wait_for"), (pause, "asyncio.sleep")]
)
def test_time_outside_the_context_is_refused_with_the_line(reconcile: Any, name: str) -> None:
    said = refused(reconcile)
    assert said.startswith(f"uses `{name}`; no time passes under check")
    assert "`Result(requeue_after_s=...)`" in said


@pytest.mark.parametrize("reconcile", [deadline, group])
def test_it_is_refused_where_asyncio_looks_for_the_task_without_asking_the_loop(
    reconcile: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CPython 3.14 does."""
    monkeypatch.setattr(no_event_loop.NoLoop, "__hash__", object.__hash__)
    assert refused(reconcile).startswith(("needs an event loop, and under check there is none", "uses `asyncio."))


async def gives_way(ctx: Context, key: Key) -> None:
    await asyncio.sleep(0)  # here


async def asks_the_loop(ctx: Context, key: Key) -> None:
    asyncio.get_running_loop().time()  # here


def test_giving_way_is_refused_at_the_authors_line() -> None:
    assert refused(gives_way).startswith("gives way to other tasks, which is no effect")


def test_the_time_of_the_loop_is_not_that_of_the_world() -> None:
    assert "write `await ctx.now()`" in refused(asks_the_loop)


# Threads.


async def held(ctx: Context, key: Key) -> None:
    with OF_THREADS:
        await ctx.find(Pair, key)  # here


async def held_by_hand(ctx: Context, key: Key) -> None:
    OF_THREADS.acquire()
    await ctx.find(Pair, key)  # here
    OF_THREADS.release()


async def held_again(ctx: Context, key: Key) -> None:
    with AGAIN:
        await ctx.find(Pair, key)  # here


async def held_with_condition(ctx: Context, key: Key) -> None:
    with CHANGED:
        await find(ctx, key)


@pytest.mark.parametrize(("reconcile", "name"), [(held, "Lock"), (held_by_hand, "Lock"), (held_again, "RLock")])
def test_a_lock_of_threads_that_is_held_over_an_await_is_refused_with_the_line(reconcile: Any, name: str) -> None:
    said = refused(reconcile)
    if OF_THREADS.locked():  # taken by hand
        OF_THREADS.release()
    assert said.startswith(f"waits while it holds a `threading.{name}`, which is no part of the state")
    assert "release it before the `await`" in said


def test_a_condition_that_a_caller_holds_is_refused_at_the_line_that_waits() -> None:
    with pytest.raises(SpecError, match=r"test_waiting\.py:\d+ waits while it holds a `threading\.RLock`"):
        checked(held_with_condition)


async def locks_twice(ctx: Context, key: Key) -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()  # here


async def waits_for_an_event(ctx: Context, key: Key) -> None:
    await ctx.find(Pair, key)
    threading.Event().wait()  # here


async def waits_for_a_line(ctx: Context, key: Key) -> None:
    queue.Queue[int]().get()  # here


async def waits_for_a_result(ctx: Context, key: Key) -> None:
    concurrent.futures.Future[int]().result()  # here


@pytest.mark.parametrize("reconcile", [locks_twice, waits_for_an_event, waits_for_a_line, waits_for_a_result])
def test_a_wait_for_a_thread_is_ended_and_refused_with_the_line(
    reconcile: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "LIMIT_S", 0.4)
    said = refused(reconcile)
    assert said.startswith("the reconcile waits here for another thread, and under check there is none")
    checked(own_lock).assert_holds()


@pytest.mark.parametrize("reconcile", [locks_twice, waits_for_an_event, waits_for_a_line, waits_for_a_result])
def test_a_wait_for_a_thread_is_refused_with_the_line_where_the_check_runs_in_another_thread(
    reconcile: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "LIMIT_S", 0.4)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        said = pool.submit(refused, reconcile).result()
        assert said.startswith("the code under check waits here for another thread, and under check there is none")
        pool.submit(checked, own_lock).result().assert_holds()


async def waits_for_its_turn(ctx: Context, key: Key) -> None:
    with OF_THREADS:  # here
        await ctx.find(Pair, key)


def test_a_check_that_was_given_up_ends_when_its_wait_does_and_leaves_the_lock_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watchdog, "LIMIT_S", 0.4)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with OF_THREADS:
            before = set(threading.enumerate())
            pool.submit(refused, waits_for_its_turn).result()
            left = [each for each in set(threading.enumerate()) - before if each.name == "attractor-check"]
        assert len(left) == 1
        left[0].join(10)
        assert not left[0].is_alive()
    assert not OF_THREADS.locked()


def test_a_mistake_is_told_to_the_thread_that_asked_for_the_check() -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(refused, starts).result().startswith("starts a thread; the code under check runs alone")


async def starts(ctx: Context, key: Key) -> None:
    threading.Thread(target=print).start()  # here


async def starts_a_pool(ctx: Context, key: Key) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        pool.submit(print)  # here


async def moves_to_a_thread(ctx: Context, key: Key) -> None:
    await asyncio.to_thread(print)  # here


@pytest.mark.parametrize("reconcile", [starts, starts_a_pool])
def test_threads_are_refused_with_the_line(reconcile: Any) -> None:
    assert refused(reconcile).startswith("starts a thread; the code under check runs alone")


def test_work_in_a_thread_is_refused_with_the_line() -> None:
    assert refused(moves_to_a_thread).startswith("uses `asyncio.to_thread`; code under check may ask only its context")


def test_threads_may_be_started_before_and_after() -> None:
    checked(own_lock).assert_holds()
    one = threading.Thread(target=lambda: None)
    one.start()
    one.join()

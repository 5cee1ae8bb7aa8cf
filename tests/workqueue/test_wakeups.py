"""The queue on an event loop, by rules: workers come, go and are cancelled, keys are added now and later.

No wake-up is lost: no key waits while a worker does. No key is with two workers. What is added runs after that, and what
is delayed not before its time.
"""

import asyncio
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.testing import VirtualTime
from attractor.workqueue import QueueShutDown, WorkQueue
from tests.runtime.things import passing

KEYS = st.sampled_from("abc")
PRIORITIES = st.sampled_from([0, 0, -100])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS, PRIORITIES),
        st.tuples(st.just("later"), KEYS, PRIORITIES, st.sampled_from([1, 2, 5])),
        st.tuples(st.just("worker")),
        st.tuples(st.just("cancel"), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("done"), st.integers(0, 5)),
        st.tuples(st.just("pass"), st.sampled_from([0, 1, 3])),
    ),
    max_size=40,
)


class Shop:
    """A queue, its workers, and what it owes."""

    def __init__(self, clock: VirtualTime) -> None:
        self.clock = clock
        self.queue: WorkQueue[str] = WorkQueue()
        self.workers: list[asyncio.Task[str]] = []
        self.taken: list[str] = []
        self.owed: dict[str, int] = {}
        """Keys that must run, with the priority that they ask for."""
        self.later: dict[str, tuple[float, int]] = {}

    def owe(self, key: str, priority: int) -> None:
        self.owed[key] = max(priority, self.owed.get(key, priority))

    def work(self) -> None:
        async def get() -> str:
            key, priority = await self.queue.get_with_priority()
            self.become_due()
            assert key not in self.taken, "it is with two workers"
            assert self.owed.pop(key) == priority
            self.taken.append(key)
            return key

        self.workers.append(asyncio.create_task(get()))

    def become_due(self) -> None:
        for key, (ready, priority) in tuple(self.later.items()):
            if ready <= self.clock.time():
                del self.later[key]
                self.owe(key, priority)

    async def step(self, what: str, *args: Any) -> None:
        idle = [worker for worker in self.workers if not worker.done()]
        match what, args:
            case "add", (key, priority):
                self.owe(key, priority)
                self.queue.add(key, priority=priority)
            case "later", (key, priority, delay_s):
                known = self.later.get(key, (self.clock.time() + delay_s, priority))
                self.later[key] = min(known[0], self.clock.time() + delay_s), max(known[1], priority)
                self.queue.add_after(key, delay_s, priority=priority)
            case "worker", ():
                self.work()
            case "cancel", (number, is_just_woken) if idle:
                if is_just_woken:  # at the very moment when it is woken for a key
                    self.owe("a", 0)
                    self.queue.add("a")
                idle[number % len(idle)].cancel()
            case "done", (number,) if self.taken:
                self.queue.done(self.taken.pop(number % len(self.taken)))
            case "pass", (seconds,):
                await passing(seconds)
        await self.clock.quiet()
        self.become_due()
        self.check()

    def check(self) -> None:
        self.queue.core.check_invariants()
        waiting = [key for key in self.owed if key not in self.taken]
        assert self.queue.core.state().dirty == set(self.owed)
        assert len(self.queue) == len(waiting)
        if any(not worker.done() for worker in self.workers):
            assert waiting == [], "a worker waits, and so does a key: a wake-up was lost"

    async def end(self) -> None:
        """Shut down: what is owed now is handed out, then workers end."""
        self.queue.shut_down()
        self.work()
        for _ in range(20):
            await self.clock.quiet()
            if self.taken:
                self.queue.done(self.taken.pop())
                self.work()
        async with asyncio.timeout(5):
            await self.queue.drain()
        assert self.owed == {}
        for worker in self.workers:
            with suppress(QueueShutDown, asyncio.CancelledError):
                await worker


@given(steps=STEPS)
@settings(max_examples=150)
def test_no_wake_up_is_lost_and_no_key_is_processed_twice_at_once(steps: list[tuple[Any, ...]]) -> None:
    async def run() -> None:
        clock = VirtualTime()
        with clock.install(asyncio.get_running_loop()):
            shop = Shop(clock)
            for what, *args in steps:
                await shop.step(what, *args)
            await shop.end()

    asyncio.run(run())

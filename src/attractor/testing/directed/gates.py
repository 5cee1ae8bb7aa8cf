"""Gates: where the parts of a host wait for their turn.

A gate has one place for each name (a worker, a kind). Who comes to it waits there with what it is about to do, and goes
on when the director opens the gate for that name, or is cancelled when the host crashes.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

N = TypeVar("N", bound="Hashable")
W = TypeVar("W")
P = TypeVar("P")


class Departed(AssertionError):
    """The runtime does something else than it was to do next; the text has both."""


class Worker(NamedTuple):
    """One worker of one controller, counted from 0 in the order in which they started.

    Effects that are asked for together are parts of a worker, counted from 0 too; ``whole`` is the worker itself.
    """

    controller: str
    number: int
    part: int = -1

    @property
    def whole(self) -> Worker:
        """The worker that this is a part of."""
        return self._replace(part=-1)

    def __str__(self) -> str:
        return f"worker {self.number} of {self.controller}{f', part {self.part}' if self.part >= 0 else ''}"


_current: ContextVar[Worker | None] = ContextVar("current worker", default=None)
"""The worker on whose behalf a task runs; tasks that it starts inherit it."""


def become(worker: Worker) -> None:
    """The current task, and what it starts from now on, is this worker, or this part of one."""
    _current.set(worker)


class Gate(Generic[N, W, P]):
    """Names wait here with a ``W``; opening hands them a ``P``."""

    def __init__(self, purpose: str) -> None:
        self._purpose = purpose
        self._places: dict[N, tuple[W, asyncio.Future[P]]] = {}
        self.is_shut = False
        """Whether the host is gone: what its parts would still do ends here."""

    @property
    def waiting(self) -> Mapping[N, W]:
        """Return who waits, and with what."""
        return {name: what for name, (what, _) in self._places.items()}

    async def wait(self, name: N, what: W) -> P:
        """Wait until the gate is opened for this name; nobody waits at one that is shut."""
        if self.is_shut:
            raise asyncio.CancelledError
        turn: asyncio.Future[P] = asyncio.get_running_loop().create_future()
        self._places[name] = what, turn
        try:
            return await turn
        finally:
            if self._places.get(name, (None, None))[1] is turn:
                del self._places[name]

    def open(self, name: N, permit: P) -> W:
        """Let one go on; answers what it waited with. Raises ``Departed`` when it does not wait here."""
        found = self._places.pop(name, None)
        if found is None:
            who = ", ".join(map(str, self._places)) or "nobody"
            raise Departed(f"{name} does not wait {self._purpose}; {who} does")
        found[1].set_result(permit)
        return found[0]


class Workers:
    """Workers by task. A task is known from when it first asks its controller's queue for a key."""

    def __init__(self) -> None:
        self._by_task: dict[asyncio.Task[object], Worker] = {}
        self._counts: dict[str, int] = {}
        self._admitted: set[Worker] = set()
        self._at_places: dict[Worker, asyncio.Task[object]] = {}

    def enrol(self, controller: str) -> Worker:
        """The worker that the current task is, a new one if it was none."""
        task = asyncio.current_task()
        assert task is not None, "workers are tasks"
        known = self._by_task.get(task)
        if known is None:
            number = self._counts.get(controller, 0)
            self._counts[controller] = number + 1
            known = self._by_task[task] = Worker(controller, number)
            become(known)
        return known

    def task(self, worker: Worker) -> asyncio.Task[object]:
        """The task that a worker is, or the one that its place has now."""
        if worker in self._at_places:
            return self._at_places[worker]
        return next(task for task, known in self._by_task.items() if known == worker)

    def settle_in(self, worker: Worker) -> None:
        """The current task does what is done at a place, for as long as it lasts."""
        task = asyncio.current_task()
        assert task is not None, "background work is done by tasks"
        self._at_places[worker] = task
        become(worker)

    def current(self) -> Worker | None:
        """The worker on whose behalf the current task runs; None for informers and other helpers."""
        found = _current.get()
        if found is None or (found.whole not in self._admitted and found.whole not in self._by_task.values()):
            return None
        return found

    def admit(self, worker: Worker) -> None:
        """Know one that is no task of the queue's: a place for background work."""
        self._admitted.add(worker)

    def is_own_task(self) -> bool:
        """Return whether the current task is a worker's own, not one that it started."""
        return asyncio.current_task() in self._by_task

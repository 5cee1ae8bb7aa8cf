"""A controller's queue in a world: the production core, kept in slots. Delays are timers that may fire at any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from attractor.check.errors import Disabled, Grown
from attractor.workqueue.core import QueueCore, QueueState

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.check.world.simulation.slots import Cell, Stage
    from attractor.objects.gvk import Key
    from attractor.runtime.worker.outcome import Next


class Timer(NamedTuple):
    """A key that comes again some time; one that ``ctx.schedule`` asked for is dropped when its key runs anyway."""

    key: Key
    priority: int
    is_scheduled: bool = False


@dataclass(frozen=True, slots=True)
class _Add:
    """Update of a queue: a key is added."""

    key: Key
    priority: int

    def __call__(self, state: QueueState[Key]) -> QueueState[Key]:
        core = QueueCore.of(state)
        core.add(self.key, self.priority)
        return core.state()


@dataclass(frozen=True, slots=True)
class _Done:
    """Update of a queue: a worker has finished with a key."""

    key: Key

    def __call__(self, state: QueueState[Key]) -> QueueState[Key]:
        core = QueueCore.of(state)
        core.done(self.key)
        return core.state()


@dataclass(frozen=True, slots=True)
class _Also:
    """One timer more."""

    timer: Timer

    def __call__(self, timers: frozenset[Timer]) -> frozenset[Timer]:
        return timers | {self.timer}


@dataclass(frozen=True, slots=True)
class _Unscheduled:
    """Without what ``ctx.schedule`` asked for a key."""

    key: Key

    def __call__(self, timers: frozenset[Timer]) -> frozenset[Timer]:
        return frozenset(each for each in timers if not (each.is_scheduled and each.key == self.key))


class WorldQueue:
    """The work queue of one controller on one host, kept in slots.

    Only keys that the world knows have steps of their own; an unknown one raises ``Grown``.
    """

    def __init__(self, stage: Stage, name: str, controller: str, keys: tuple[Key, ...]) -> None:
        empty: QueueState[Key] = QueueState((), frozenset(), frozenset())
        self._stage, self._controller = stage, controller
        self._keys = frozenset(keys)
        self.state: Cell = stage.slot("queue", name, empty)
        self.timers: Cell = stage.slot("timers", name, frozenset())
        self._empty = empty
        self.is_shut: Callable[[], bool] = lambda: False

    def add(self, key: Key, *, priority: int = 0) -> None:
        """Ask for a key to run soon; nobody can once the queue is shut."""
        if self.is_shut():
            return
        if key not in self._keys:
            raise Grown("keys", (self._controller, key))
        self.state.update(_Add(key, self._priority(priority)))

    def take(self, key: Key, workers: int, on_busy: Callable[[], None]) -> int:
        """Hand the key to a worker if it is next and a worker is free; answers its priority.

        ``on_busy`` is told that it is next and no worker is free.
        """
        core = QueueCore.of(self.state.get())
        is_busy = len(core.processing) >= workers
        got = core.get()
        if got is None or got[0] != key:
            raise Disabled
        if is_busy:
            on_busy()
            raise Disabled
        self.state.set(core.state())
        self.timers.update(_Unscheduled(key))
        return got[1]

    def finish(self, key: Key, follows: Next, priority: int) -> None:
        """A worker has finished with a key; this is what follows."""
        if follows.what != "done":
            self.later(key, priority)
        self.state.update(_Done(key))

    def later(self, key: Key, priority: int = 0) -> None:
        """Let a key come again when its timer fires."""
        if self.is_shut():
            return
        if key not in self._keys:
            raise Grown("keys", (self._controller, key))
        self.timers.update(_Also(Timer(key, self._priority(priority))))

    def schedule(self, key: Key) -> None:
        """Let a key run soon, unless it runs before."""
        if self.is_shut():
            return
        if key not in self._keys:
            raise Grown("keys", (self._controller, key))
        self.timers.update(_Also(Timer(key, 0, is_scheduled=True)))

    def fire(self, key: Key) -> None:
        """The time of a delayed key has come: as the queue was told, or as ``ctx.schedule`` asked for."""
        timers: frozenset[Timer] = self.timers.get()
        kinds = sorted({timer.is_scheduled for timer in timers if timer.key == key})
        if not kinds:
            raise Disabled
        is_scheduled = kinds[0] if len(kinds) == 1 else self._stage.view.choose(kinds)
        due = [timer for timer in timers if timer.key == key and timer.is_scheduled == is_scheduled]
        self.timers.set(timers - frozenset(due))
        self.add(key, priority=max(timer.priority for timer in due))

    def forget_waiting(self) -> None:
        """Nothing new begins: what waits is dropped, and what is with a worker stays."""
        state: QueueState[Key] = self.state.get()
        self.state.set(QueueState((), frozenset(), state.processing))
        self.timers.set(frozenset())

    def forget(self) -> None:
        """The process is gone."""
        self.state.set(self._empty)
        self.timers.set(frozenset())

    def _priority(self, priority: int) -> int:
        """Priorities order keys; where there is one key they say nothing."""
        return priority if len(self._keys) > 1 else 0

"""Background work in a world: what ``ctx.start`` began, each piece in a slot, with steps like a reconcile's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.errors import Disabled
from attractor.check.world.notes import Ended, Started
from attractor.check.world.remembering import Kept
from attractor.check.world.suspension import Suspended, context
from attractor.runtime.outcome import Next

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from attractor.check.world.stage import Cell, Stage
    from attractor.check.world.suspension import Run
    from attractor.check.world.worker import Worker
    from attractor.objects.gvk import Key
    from attractor.runtime import effects

PLACES = 2
"""How many pieces of background work of one controller make steps at once; more wait, as they do in production."""


class Work(NamedTuple):
    """A piece of work that has not begun."""

    function: Any
    key: Key
    args: Kept

    def __plain__(self) -> Any:
        return f"{getattr(self.function, '__name__', 'work')} for {self.key}"


class Background:
    """The background work of one controller on one host."""

    def __init__(self, stage: Stage, worker: Worker) -> None:
        self._stage, self._worker = stage, worker
        self.waiting: Cell = stage.slot("background waiting", worker.name, ())
        self.places = range(min(PLACES, worker.declared.background_limit))
        self._running: list[Cell] = [stage.slot("background", f"{worker.name}/{place}") for place in self.places]

    def start(self, effect: effects.Start) -> None:
        """Queue work; it begins with a step of its own."""
        self.waiting.set((*self.waiting.get(), Work(effect.work, effect.key, Kept(effect.args))))

    def go_on(self, place: int) -> None:
        """Begin the next piece of work at a place, or let the one that is there go on."""
        cell = self._running[place]
        found: tuple[Suspended, Work] | None = cell.get()
        suspensions = self._worker.suspensions
        if found is None:
            waiting: tuple[Work, ...] = self.waiting.get()
            if not waiting or any(self._running[before].get() is None for before in range(place)):
                raise Disabled
            work, *rest = waiting
            self.waiting.set(tuple(rest))
            self._stage.note(Started(self._worker.name, work.key))
            run = suspensions.begin(self._maker(work))
        else:
            suspended, work = found
            run = suspensions.resume(suspended, self._worker.answer(work.key, suspended.effect))
        self._settle(cell, work, run)

    def _maker(self, work: Work) -> Callable[[], Coroutine[Any, Any, Any]]:
        return lambda: work.function(context(self._worker.declared.name, work.key), *work.args.value)

    def _settle(self, cell: Cell, work: Work, run: Run) -> None:
        self._worker.run_local(work.key, run, is_background=True)
        if run.is_done:
            self._worker.audit.finished(run, work.key, self._maker(work), work.function)
            cell.set(None)
            self._stage.note(Ended(self._worker.name, work.key, run.error, Next("done")))
        else:
            cell.set((self._worker.suspensions.suspend(run, work.key, self._maker(work), work), work))

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs and nothing waits."""
        return not self.waiting.get() and all(cell.get() is None for cell in self._running)

    def forget(self) -> None:
        """The process is gone."""
        self.waiting.set(())
        for cell in self._running:
            cell.set(None)

"""Background work in a world: what ``ctx.start`` began, each piece in a slot, with steps like a reconcile's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.errors import Disabled
from attractor.check.events import Ended, Started
from attractor.check.world.simulation.process.activity import Activity, Pending
from attractor.check.world.simulation.process.controller_memory import Kept
from attractor.check.world.simulation.process.set_order_audit import Begun
from attractor.check.world.simulation.process.suspended import Beginning, context
from attractor.runtime.worker.outcome import Next

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from attractor.check.world.simulation.process.suspended import Answer, Run
    from attractor.check.world.simulation.process.worker import Worker
    from attractor.check.world.simulation.slots import Cell, Stage
    from attractor.objects.gvk import Key
    from attractor.runtime import effects


class Work(NamedTuple):
    """A piece of work that has not begun: a function, and its arguments."""

    task: Kept
    key: Key

    @property
    def function(self) -> Any:
        """The function, to be looked at only."""
        return self.task.held[0]

    def __plain__(self) -> Any:
        return f"{getattr(self.function, '__name__', 'work')} for {self.key}"


class Place(Activity):
    """A place at which one piece of background work runs."""

    def __init__(self, background: Background, worker: Worker, number: int) -> None:
        who = (("host", worker.host.name), ("controller", worker.declared.name), ("place", number))
        super().__init__(worker, worker.stage.slot("background", f"{worker.name}/{number}"), who)
        self._background, self._number = background, number

    def key(self, pending: Pending) -> Key:
        """The key that the work is about."""
        key: Key = pending.work.key
        return key

    def take(self) -> None:
        """Begin the next piece of work here, or let the one that is here go on."""
        if self.cell.get() is not None:
            self.go_on()
        else:
            work = self._background.next_for(self._number)
            self.worker.stage.note(Started(self.host.name, self.worker.declared.name, work.key))
            self._settle(work, self.worker.suspensions.begin(self._maker(work)))

    def resume(self, pending: Pending, answer: Answer) -> None:
        """Let it run on with an answer."""
        run = self.worker.suspensions.resume(pending.suspended, answer)
        self._settle(pending.work, run, is_cancelled=pending.is_cancelled)

    def _maker(self, work: Work) -> Callable[[], Coroutine[Any, Any, Any]]:
        def make(function: Any, args: tuple[Any, ...]) -> Coroutine[Any, Any, Any]:
            made: Coroutine[Any, Any, Any] = function(context(self.worker.declared.name, work.key), *args)
            return made

        return Beginning(work.task, make)

    def _settle(self, work: Work, run: Run, *, is_cancelled: bool = False) -> None:
        self.worker.run_local(work.key, run, is_background=True)
        if run.is_done:
            if self.worker.suspensions.end(run, work.key, self._maker(work), work):
                self.worker.audit.finished(
                    run, Begun(work.key, self._maker(work), work.function, self.worker.suspensions.met)
                )
            self.cell.set(None)
            self.worker.stage.note(Ended(self.host.name, self.worker.declared.name, work.key, run.error, Next("done")))
        else:
            suspended = self.worker.suspensions.suspend(run, work.key, self._maker(work), work)
            self.worker.bound_answers(suspended)
            self.cell.set(Pending(suspended, is_cancelled=is_cancelled, work=work))


class Background:
    """The background work of one controller on one host."""

    def __init__(self, stage: Stage, worker: Worker) -> None:
        self._stage, self._limit = stage, worker.declared.background_limit
        self.waiting: Cell = stage.slot("background waiting", worker.name, ())
        self._most = stage.bounds.background
        self.places = [Place(self, worker, number) for number in range(min(self._most, self._limit))]
        """More wait, as they do in production beyond the controller's own limit."""

    def start(self, effect: effects.Start) -> None:
        """Queue work; it begins with a step of its own."""
        waiting = (*self.waiting.get(), Work(Kept((effect.work, effect.args)), effect.key))
        if self._most < self._limit:
            busy = sum(each.cell.get() is not None for each in self.places)
            if busy + len(waiting) > self._most:
                text = f"{self._most} pieces of background work of a controller at once"
                self._stage.bind("background", text)
        self.waiting.set(waiting)

    def next_for(self, place: int) -> Work:
        """The work that begins at a place, if it is the first free one; there is no step when none waits."""
        waiting: tuple[Work, ...] = self.waiting.get()
        if not waiting or any(before.cell.get() is None for before in self.places[:place]):
            raise Disabled
        work, *rest = waiting
        self.waiting.set(tuple(rest))
        return work

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs and nothing waits."""
        return not self.waiting.get() and all(each.cell.get() is None for each in self.places)

    def forget(self) -> None:
        """The process is gone."""
        self.waiting.set(())
        for each in self.places:
            each.cell.set(None)

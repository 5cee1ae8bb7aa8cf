"""``Activity``: an author's coroutine that may be under way: the reconcile of a key, or background work at a place.

Whatever may happen to the one may happen to the other, so faults strike activities and know no difference.

A step is: perform what it waits for, hand it the answer, and let it run up to the next thing that others could notice.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attractor.check.errors import Disabled
from attractor.check.world.simulation.process.controller_memory import Kept
from attractor.check.world.simulation.process.suspended import Answer
from attractor.runtime import effects

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.check.world.simulation.process.suspended import Suspended
    from attractor.check.world.simulation.process.worker import Worker
    from attractor.check.world.simulation.slots import Cell
    from attractor.client.transport import ClientRequest
    from attractor.objects.gvk import Key
    from attractor.runtime.effects import Effect

    Wanted = Callable[[Effect[Any]], bool]
    Fate = Literal["unsent", "done", "late"]

WRITES = (effects.Create, effects.Update, effects.Patch, effects.Delete, effects.CreateSubresource)


def is_write(effect: Effect[Any]) -> bool:
    """Whether an effect writes to the server."""
    return isinstance(effect, WRITES)


class Pending(NamedTuple):
    """A suspended activity: what it waits for, the priority of its key, and the answers to part of a ``Gather``."""

    suspended: Suspended
    priority: int = 0
    answers: tuple[Kept | None, ...] = ()
    is_cancelled: bool = False
    """Whether it was told to end, which happens once."""
    work: Any = None
    """Which background work it is."""

    @property
    def parts(self) -> tuple[Effect[Any], ...]:
        """What it asks for: one thing, or several together."""
        effect = self.suspended.effect
        return effect.effects if isinstance(effect, effects.Gather) else (effect,)

    def is_open(self, at: int) -> bool:
        """Whether a part was not answered yet."""
        return not (self.answers and self.answers[at] is not None)


class Activity:
    """One slot in which something may be under way."""

    def __init__(self, worker: Worker, cell: Cell, arguments: tuple[tuple[str, Any], ...]) -> None:
        """``arguments`` tell it apart in the steps of the world."""
        self.worker, self.cell, self.arguments = worker, cell, arguments
        self.host = worker.host

    def pending(self) -> Pending:
        """What is under way; there is no step when nothing is."""
        found: Pending | None = self.cell.get()
        if found is None:
            raise Disabled
        return found

    def key(self, pending: Pending) -> Key:
        """The key that it is about."""
        raise NotImplementedError

    def resume(self, pending: Pending, answer: Answer) -> None:
        """Let it run on with an answer, and keep where it got to."""
        raise NotImplementedError

    def asked(self, only: Wanted | None = None) -> tuple[int, Effect[Any]]:
        """What it waits for: an effect, or one of those that it asked for together.

        With ``only`` there is no step unless such an effect is among them.
        """
        pending = self.pending()
        parts = pending.parts
        fitting = [at for at in range(len(parts)) if pending.is_open(at) and (only is None or only(parts[at]))]
        at = fitting[0] if len(fitting) == 1 else self.worker.stage.view.choose(fitting)
        return at, parts[at]

    def answer(self, effect: Effect[Any]) -> Answer:
        """Perform an effect that it waits for."""
        return self.worker.answer(self.key(self.pending()), effect)

    def reads_server(self, effect: Effect[Any]) -> bool:
        """Whether an effect is a read that the cache does not answer."""
        return self.worker.reads_server(effect)

    def asks_server(self, effect: Effect[Any]) -> bool:
        """Whether an effect goes to the server for certain."""
        return is_write(effect) or self.worker.reads_server(effect)

    # Steps.

    def go_on(self, only: Wanted | None = None) -> None:
        """Perform what it waits for, and let it go on."""
        pending = self.pending()
        at, effect = self.asked(only)
        answer = self.answer(effect)
        if isinstance(pending.suspended.effect, effects.Gather):
            answers = list(pending.answers or (None,) * len(pending.parts))
            answers[at] = Kept(answer.value if answer.error is None else answer.error)
            if None in answers:
                self.cell.set(pending._replace(answers=tuple(answers)))
                return
            answer = Answer(tuple(each.value for each in answers if each is not None))
        self.resume(pending, answer)

    def cancel(self, on_late: Callable[[ClientRequest], None] | None = None) -> None:
        """It is told to end where it waits: by ``CancelledError``, once. What it does about that is its own.

        A request under way was not sent, or is carried out, or (``on_late``) arrives some time; so with a call, but for
        the last. What is answered without waiting cannot be cancelled.
        """
        pending = self.pending()
        if pending.is_cancelled:
            raise Disabled
        is_together = isinstance(pending.suspended.effect, effects.Gather)
        for at, effect in enumerate(pending.parts):
            if pending.is_open(at):
                self._abandon(effect, on_late, is_together=is_together)
        self.resume(pending._replace(is_cancelled=True, answers=()), Answer(None, asyncio.CancelledError()))

    def can_be_cancelled(self) -> bool:
        """Whether something is under way that waits for somebody else, and was not cancelled."""
        found: Pending | None = self.cell.get()
        return found is not None and not found.is_cancelled and any(map(self._waits, found.parts))

    def _waits(self, effect: Effect[Any]) -> bool:
        return isinstance(effect, effects.Call) or self.asks_server(effect)

    def _abandon(
        self, effect: Effect[Any], on_late: Callable[[ClientRequest], None] | None, *, is_together: bool
    ) -> None:
        """What becomes of one thing that is waited for when the waiting ends."""
        fates: tuple[Fate, ...] = ("unsent",)
        if is_write(effect):
            fates = ("unsent", "done") if on_late is None else ("unsent", "done", "late")
        elif isinstance(effect, effects.Call):
            fates = ("unsent", "done")
        fate = fates[0] if len(fates) == 1 else self.worker.stage.view.choose(fates)
        if isinstance(effect, effects.Call):
            if fate == "done":
                self.answer(effect)
            return
        transport = self.host.transport
        transport.trouble = "cancelled after" if fate == "done" else "cancelled"
        try:
            answer = self.answer(effect)
        finally:
            transport.trouble = None
        if isinstance(answer.error, asyncio.CancelledError):
            if fate == "late" and on_late is not None and transport.last is not None:
                on_late(transport.last)
        elif not is_together:
            raise Disabled

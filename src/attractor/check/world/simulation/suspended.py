"""Reconciles that wait: each known by its frames, each brought back to life by running it again.

A coroutine cannot be copied, and the checker needs the same suspended reconcile in many states. So what a state holds
is a ``Suspended``: an identity (``frames`` and the effect that it waits for, whole: what is asked need not be in any
variable that is still read), and one history of answers that leads there.
To go on from it, a new coroutine is made and given that history; live ones that are left over are used up first.

What makes this right: a reconcile is a function of its answers. It is therefore run twice whenever it gets somewhere
new, and the two must agree; attributes of the controller must be the same after as before; and it must end.

For the same reason it is not run again where the same answer comes to the same place: where that led is known.
"""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from attractor.check import endless
from attractor.check.errors import SpecError, raising_line
from attractor.check.noloop import needs_a_loop
from attractor.check.world.frames import frame_of
from attractor.check.world.freezing import Unfreezable, freeze
from attractor.check.world.locking import held_lock
from attractor.check.world.telling import described
from attractor.objects.resource import DecodeError
from attractor.runtime.context import Context
from attractor.runtime.fieldlogger import FieldLogger
from attractor.runtime.steps import ForeignAwait, Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable

    from attractor.objects.gvk import Key
    from attractor.runtime.effects import Effect
    from attractor.runtime.outcome import Next
    from attractor.runtime.result import Result

MAX_EFFECTS = 500
"""A reconcile that asks for more than so many things is taken for one that does not end."""


MAX_LIVE = 4
"""How many live coroutines are kept for one place where reconciles wait."""


class CheckedCodeError(SpecError):
    """Code under check did something that makes checking it impossible; the text names the place and the way out."""


class Answer(NamedTuple):
    """What an effect was answered with; the coroutine gets copies, so this one stays as it was."""

    value: Any
    error: BaseException | None = None

    def copied(self) -> Answer:
        """An answer to give away."""
        if self.error is not None:
            return Answer(None, copy.copy(self.error).with_traceback(None))
        return Answer(copy.deepcopy(self.value))


class Run:
    """A coroutine that is alive, with the answers that it was given so far."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, Any]], history: tuple[Answer, ...] = ()) -> None:
        self.history: list[Answer] = []
        self.origin: Suspended | None = None
        """Where it last stood before this step."""
        self.error: Exception | None = None
        self._steps: Steps[Any] | None = None
        self._advance(lambda: self._begin(make()))
        for answer in history:
            self.go_on(answer)

    def _begin(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.coroutine = coroutine
        self._steps = Steps(coroutine)

    def go_on(self, answer: Answer) -> None:
        """Give the effect its answer; what the coroutine raises is kept as ``error``."""
        steps = self._steps
        if steps is None or steps.is_done:
            raise _differs(self.coroutine, "ended earlier")
        self.history.append(answer)
        given = answer.copied()
        self._advance(lambda: steps.answer(given.value) if given.error is None else steps.fail(given.error))

    def _advance(self, move: Callable[[], None]) -> None:
        try:
            endless.with_watch(move)
        except endless.Endless as stopped:
            raise CheckedCodeError(
                f"{raising_line(stopped)}: the reconcile computes for ever here, or at least for {endless.LIMIT_S:g} "
                "s of processor time, without asking for anything; make the loop end"
            ) from None
        except endless.Stuck as stopped:
            raise CheckedCodeError(
                f"{raising_line(stopped)}: the reconcile waits here for another thread, and under check there is "
                "none; ask the context instead, and leave locks out: a key is never reconciled twice at once"
            ) from None
        except ForeignAwait as problem:
            raise CheckedCodeError(str(problem)) from None
        except Exception as error:  # whatever a reconcile raises is an outcome of it
            if isinstance(error, RuntimeError) and needs_a_loop(error):
                raise CheckedCodeError(
                    f"{raising_line(error)} needs an event loop, and under check there is none; ask the context "
                    "instead: `Result(requeue_after_s=...)` to wait, `externals` for outside systems"
                ) from None
            self.error = error

    @property
    def is_done(self) -> bool:
        """Whether it has returned or raised."""
        return self.error is not None or self._steps is None or self._steps.is_done

    @property
    def effect(self) -> Effect[Any]:
        """What it asks for."""
        assert self._steps is not None
        return self._steps.effect

    @property
    def result(self) -> Result | None:
        """What it returned."""
        assert self._steps is not None
        returned: Result | None = self._steps.result
        return returned

    def close(self) -> None:
        """Give it up."""
        if self._steps is not None:
            self._steps.close()


class Suspended:
    """A coroutine that waits for an answer; one object for each identity, so equality is identity."""

    __slots__ = ("effect", "history", "identity", "key", "line", "live", "make")

    def __init__(self, run: Run, key: Key, make: Callable[[], Coroutine[Any, Any, Any]], identity: Hashable) -> None:
        self.identity = identity
        self.key = key
        self.make = make
        self.history = tuple(run.history)
        self.line = own_line(run.coroutine)
        try:
            self.effect: Effect[Any] = copy.deepcopy(run.effect)
        except DecodeError as error:
            raise SpecError(f"{self.line} hands over what does not fit its type: {error}") from None
        self.live: list[Run] = []

    def __repr__(self) -> str:
        return f"{described(self.effect)} at {self.line.rsplit('/', 1)[-1]}"

    def resume(self) -> Run:
        """A live coroutine that has got this far."""
        return self.live.pop() if self.live else Run(self.make, self.history)

    def keep(self, run: Run) -> None:
        """Keep a live coroutine that has got this far, unless there are enough."""
        if len(self.live) < MAX_LIVE:
            self.live.append(run)
        else:
            run.close()


class Finished(NamedTuple):
    """How a coroutine ended, and what follows from it."""

    error: Exception | None
    follows: Next


Went: TypeAlias = Suspended | Finished
"""Where a coroutine got to: the next thing that it waits for, or its end."""


class Suspensions:
    """The suspended coroutines of one function, each known once."""

    def __init__(self, guarded: Callable[[], Hashable] | None = None, *, merges: bool = True) -> None:
        """``guarded`` tells what the code may not change; without ``merges`` only equal histories are the same."""
        self._known: dict[Hashable, Suspended] = {}
        self._guarded = guarded
        self._merges = merges
        self._pristine = guarded() if guarded else None
        self._went: dict[tuple[Suspended, Hashable], Went] | None = {}
        """Where an answer led, by what waited for it and what it is; None once nothing may be taken for granted."""
        self.resumed = 0
        """How often user code was executed: begun or gone on."""

    def __len__(self) -> int:
        return len(self._known)

    def begin(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> Run:
        """A coroutine that has run up to its first effect."""
        self.resumed += 1
        return Run(make)

    def resume(self, suspended: Suspended, answer: Answer) -> Run:
        """Go on from a suspended coroutine with an answer."""
        self.resumed += 1
        run = suspended.resume()
        run.origin = suspended
        run.go_on(answer)
        return run

    def recall(self, suspended: Suspended, answer: Answer, go: Callable[[], tuple[Went, bool]]) -> Went:
        """Where this answer leads: as it did before, or by running the code (``go``), which is then remembered.

        ``go`` also says whether what it found depends on nothing but the answer.
        """
        if self._went is None:
            return go()[0]
        try:
            place = suspended, _frozen_answer(answer)
        except Unfreezable:
            return go()[0]
        known = self._went.get(place)
        if known is None:
            known, is_certain = go()
            if is_certain:
                self._went[place] = known
        return known

    def run_always(self) -> None:
        """From now on run the code whenever it is asked for: somebody wants to see whether it does the same again."""
        self._went = None

    def suspend(
        self, run: Run, key: Key, make: Callable[[], Coroutine[Any, Any, Any]], origin: Hashable = None
    ) -> Suspended:
        """The value that stands for a coroutine that waits; ``origin`` tells apart what began differently."""
        if len(run.history) > MAX_EFFECTS:
            raise CheckedCodeError(
                f"{own_line(run.coroutine)}: one reconcile of {key} has asked for {MAX_EFFECTS} things and does "
                "not end; return a Result(requeue_after_s=...) instead of waiting in a loop"
            )
        identity = self._identity(run, key, origin)
        known = self._known.get(identity)
        if known is None:
            _refuse_held(run)
            again = _again(run, make)
            if again.is_done or self._identity(again, key, origin) != identity:
                raise _differs(run.coroutine, "went another way")
            known = self._known[identity] = Suspended(run, key, make, identity)
            known.keep(again)
        known.keep(run)
        return known

    def check_guarded(self, run: Run, where: str) -> None:
        """Make sure that what the code may not change is as it was."""
        if self._guarded is not None and self._guarded() != self._pristine:
            _refuse_held(run, tasks=True)
            raise CheckedCodeError(
                f"{where} changes an attribute of its controller, or a global variable; memory that outlives a "
                "reconcile goes through `ctx.remember` (it is lost at a crash) or into the object's status"
            )

    def _identity(self, run: Run, key: Key, origin: Hashable) -> Hashable:
        if not self._merges:
            return (key, origin, "history", tuple(_frozen_answer(answer) for answer in run.history))
        try:
            memo: dict[int, int] = {}
            return (key, origin, frame_of(run.coroutine, memo), freeze(run.effect, memo))
        except Unfreezable:
            return (key, origin, "history", tuple(_frozen_answer(answer) for answer in run.history))


def _again(run: Run, make: Callable[[], Coroutine[Any, Any, Any]]) -> Run:
    """Another coroutine with the same answers; where it cannot be, the first lets go of what it holds."""
    try:
        return Run(make, tuple(run.history))
    except BaseException:
        run.close()
        raise


def _frozen_answer(answer: Answer) -> Hashable:
    return freeze((answer.value, answer.error))


def _differs(coroutine: Any, how: str) -> CheckedCodeError:
    return CheckedCodeError(
        f"{own_line(coroutine)}: the same answers led the reconcile another way ({how}); it must depend on "
        "its answers only: no time, random, uuid or id(), no iteration over a set; ask `ctx.now()`, and sort what you "
        "loop over"
    )


def _refuse_held(run: Run, *, tasks: bool = False) -> None:
    """Refuse a coroutine that waits with a lock of threads in its hands; with ``tasks`` also one of ``asyncio``."""
    lock = held_lock(run.coroutine, tasks=tasks)
    if lock is not None:
        line = own_line(run.coroutine)
        run.close()
        raise CheckedCodeError(
            f"{line} waits while it holds {lock}, which is no part of the state, so that others "
            "would wait for it for ever; leave it out (a key is never reconciled twice at once, and a write to an "
            "object that was changed meanwhile fails with `Conflict`), or release it before the `await`"
        )


def own_line(coroutine: Any) -> str:
    """File and line at which the author's code waits: the innermost frame outside the effects themselves."""
    line = ""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is None:
            break
        line = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        coroutine = coroutine.cr_await
    return line


class CheckedContext(Context):
    """A context whose log is silent: a reconcile is run more often than anything happens."""

    __slots__ = ()

    @property
    def log(self) -> FieldLogger:
        """A log that nobody reads."""
        return _SILENT


_SILENT = FieldLogger("attractor.check.world.silent")
logging.getLogger("attractor.check.world.silent").disabled = True


def context(controller: str, key: Key) -> Context:
    """A context for one reconcile."""
    return CheckedContext(controller, key)

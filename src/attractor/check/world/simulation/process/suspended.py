"""Reconciles that wait: each known by the answers that it was given, each brought back to life by running it again.

A coroutine cannot be copied, and the checker needs the same suspended reconcile in many states. So what a state holds
is a ``Suspended``: one object for each history of answers that leads there. Histories are nodes of a tree (``Place``),
so an answer is written down once, and two histories are the same exactly if they are the same node.
To go on from it, a new coroutine is made and given that history; live ones that are left over are used up first.

What makes this right: a reconcile is a function of its answers. It is therefore run twice whenever it gets somewhere
new, and the two must agree; attributes of the controller must be the same after as before; and it must end.

For the same reason it is not run again where the same answer comes to the same place: where that led is known.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from attractor.check.errors import SpecError, raising_line
from attractor.check.sandbox import watchdog
from attractor.check.sandbox.locks import held_lock
from attractor.check.sandbox.no_event_loop import needs_a_loop
from attractor.check.sandbox.outside import barring, meeting
from attractor.check.sandbox.purity import Guard
from attractor.check.sandbox.second_runs import audits
from attractor.check.values.snapshot import KNOWN, Same, Unfreezable, copied, freeze
from attractor.objects.resource import DecodeError
from attractor.runtime import effects
from attractor.runtime.context import Context
from attractor.runtime.effects import described
from attractor.runtime.observability.field_logger import FieldLogger
from attractor.runtime.steps import ForeignAwait, Steps
from attractor.runtime.worker.outcome import ended_itself
from attractor.runtime.worker.overdue import ReconcileTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable, Mapping
    from types import CodeType

    from attractor.check.world.simulation.process.controller_memory import Kept
    from attractor.objects.gvk import Key
    from attractor.runtime.effects import Effect
    from attractor.runtime.result import Result
    from attractor.runtime.worker.outcome import Next

MAX_LIVE = 4
"""How many live coroutines are kept for one place where reconciles wait."""


class CheckedCodeError(SpecError):
    """Code under check did something that makes checking it impossible; the text names the place and the way out."""


class Answer(NamedTuple):
    """Answer to an effect; the coroutine gets copies, so this one stays as it was."""

    value: Any
    error: BaseException | None = None

    def copied(self) -> Answer:
        """An answer to give away."""
        return Answer(copied(self.value), copied(self.error))


class Place:
    """A history of answers: the one before it, and one answer more. Equal histories of one beginning are one object."""

    __slots__ = ("_after", "_last", "answer", "before", "depth", "is_end", "suspended")

    def __init__(self, before: Place | None = None, answer: Answer | None = None) -> None:
        self.before, self.answer = before, answer
        self.depth: int = 0 if before is None else before.depth + 1
        self._after: dict[Hashable, Place] = {}
        self._last: Place | None = None
        """The one that was asked for last."""
        self.suspended: Suspended | None = None
        """Who waits here, if it is known."""
        self.is_end = False
        """Whether it is known to end here."""

    def after(self, answer: Answer) -> Place:
        """The history with one more answer; raises ``Unfreezable``."""
        if self._last is not None and self._last.answer is answer:
            return self._last
        content = freeze(tuple(answer))
        found = self._after.get(content)
        if found is None:
            found = self._after[content] = Place(self, answer)
        self._last = found
        return found

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All of them, from the first one on."""
        found: list[Answer] = []
        at = self
        while at.before is not None:
            assert at.answer is not None
            found.append(at.answer)
            at = at.before
        return tuple(reversed(found))


class Asked(NamedTuple):
    """An effect or the end of a coroutine: its content, the author's line, and its text."""

    content: Hashable
    line: str
    text: str


class Shared(NamedTuple):
    """What two coroutines have in production, and each has for itself in a world: neither may change it."""

    value: Any
    content: Hashable
    how: str
    line: str


class Beginning:
    """A function that makes the coroutine of a piece of background work, and what it gave to the last one."""

    def __init__(self, task: Kept, make: Callable[..., Coroutine[Any, Any, Any]]) -> None:
        self._task, self._make = task, make
        self.given: Any = None
        self.content: Hashable = None

    def __call__(self) -> Coroutine[Any, Any, Any]:
        """Make another one, with copies of its own."""
        self.given = self._task.value
        self.content = freeze(self.given)
        function, args = self.given
        return self._make(function, args)


class Run:
    """A coroutine that is alive, with the answers that it was given so far."""

    def __init__(
        self,
        make: Callable[[], Coroutine[Any, Any, Any]],
        history: tuple[Answer, ...] = (),
        *,
        noting_from: int | None = None,
    ) -> None:
        """With ``noting_from`` what it asks for is noted, after the first so many answers, and nothing from outside."""
        self.history: list[Answer] = []
        self.asked: list[Asked] = []
        """What it asked for since it last stood somewhere."""
        self.origin: Suspended | None = None
        """Where it last stood before this step."""
        self.error: Exception | None = None
        self._shared: list[Shared] = []
        self._steps: Steps[Any] | None = None
        self._is_barred = noting_from == 0
        """Whether it may ask nothing from outside, and is watched for that."""
        self._advance(lambda: self._begin(make()))
        if isinstance(make, Beginning):
            self._shared.append(
                Shared(make.given, make.content, "was given, or closes over", _first_line(self.coroutine))
            )
        for number, answer in enumerate(history):
            if noting_from is not None and number >= noting_from:
                self.note()
            self._is_barred = noting_from is not None and number + 1 >= noting_from
            self.go_on(answer)
        self._is_barred = False
        if noting_from is not None:
            self.note()

    def _begin(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.coroutine = coroutine
        self._steps = Steps(coroutine)

    def go_on(self, answer: Answer) -> None:
        """Give the effect its answer; what the coroutine raises is kept as ``error``."""
        steps = self._steps
        if steps is None or steps.is_done:
            raise _ended_early(self.coroutine)
        self.history.append(answer)
        match steps.effect:
            case effects.Start(work, _, args):
                self._share((work, args), "has handed to background work", own_line(self.coroutine))
            case effects.Defer(operation=operation):
                self._share(operation, "has handed to `ctx.defer`", own_line(self.coroutine))
        given = answer.copied()
        self._advance(lambda: steps.answer(given.value) if given.error is None else steps.fail(given.error))

    def _advance(self, move: Callable[[], None]) -> None:
        try:
            watchdog.with_watch(barring(move) if self._is_barred else move)
        except watchdog.Endless as stopped:
            raise CheckedCodeError(
                f"{raising_line(stopped)}: the reconcile computes for ever here, or at least for {watchdog.LIMIT_S:g} "
                "s of processor time, without asking for anything; make the loop end"
            ) from None
        except watchdog.Stuck as stopped:
            raise CheckedCodeError(
                f"{raising_line(stopped)}: the reconcile waits here for another thread, and under check there is "
                "none; ask the context instead, and leave locks out: a key is never reconciled twice at once"
            ) from None
        except ForeignAwait as problem:
            raise CheckedCodeError(str(problem)) from None
        except (asyncio.CancelledError, SystemExit) as end:  # they end the reconcile and nothing else
            was_told = any(isinstance(each.error, asyncio.CancelledError) for each in self.history)
            self.error = ReconcileTimeout(None, "") if was_told else ended_itself(end)
        except Exception as error:  # whatever a reconcile raises is an outcome of it
            if isinstance(error, RuntimeError) and needs_a_loop(error):
                raise CheckedCodeError(
                    f"{raising_line(error)} needs an event loop, and under check there is none; ask the context "
                    "instead: `Result(requeue_after_s=...)` to wait, `externals` for outside systems"
                ) from None
            self.error = error

    def _share(self, value: Any, how: str, line: str) -> None:
        """From now on another coroutine has this, too; what cannot be part of a state is refused elsewhere."""
        with suppress(Unfreezable):
            self._shared.append(Shared(value, freeze(value), how, line))

    def note(self) -> None:
        """Note what it asks for, or how it ended; raises ``CheckedCodeError`` for what cannot be part of a state."""
        for each in self._shared:
            if freeze(each.value) != each.content:
                raise CheckedCodeError(
                    f"{each.line}: the code changes what it {each.how} here; in production both sides see that, in a "
                    "world each has its own; work on a copy, and tell the other side through `ctx.remember`, "
                    "`ctx.defer` or an object"
                )
        if not self.is_done:
            line, effect = own_line(self.coroutine), self.effect
            self.asked.append(Asked(_content(effect, line), line, described(effect)))
        elif self.error is not None:
            line = raising_line(self.error)
            self.asked.append(Asked(_ending(self.error), line, f"raise {type(self.error).__name__}"))
        else:
            self.asked.append(Asked(_ending(self.result), _first_line(self.coroutine), "end"))

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
    """A coroutine that waits for an answer; one object for each history, so equality is identity."""

    __slots__ = ("effect", "key", "line", "live", "make", "place")

    def __init__(self, run: Run, key: Key, make: Callable[[], Coroutine[Any, Any, Any]], place: Place) -> None:
        self.key = key
        self.make = make
        self.place = place
        self.line = own_line(run.coroutine)
        try:
            self.effect: Effect[Any] = copied(run.effect)
        except DecodeError as error:
            raise SpecError(f"{self.line} hands over what does not fit its type: {error}") from None
        self.live: list[Run] = []

    def __repr__(self) -> str:
        return f"{described(self.effect)} at {self.line.rsplit('/', 1)[-1]}"

    def resume(self) -> Run:
        """A live coroutine that has got this far."""
        return self.live.pop() if self.live else Run(self.make, self.place.answers)

    def keep(self, run: Run) -> None:
        """Keep a live coroutine that has got this far, unless there are enough."""
        if len(self.live) < MAX_LIVE:
            self.live.append(run)
        else:
            run.close()


class Finished(NamedTuple):
    """End of a coroutine: its error, and what follows for its key."""

    error: Exception | None
    follows: Next


Went: TypeAlias = Suspended | Finished
"""Where a coroutine got to: the next thing that it waits for, or its end."""


class Suspensions:
    """The suspended coroutines of one function, each known once."""

    def __init__(self, function: Any) -> None:
        self._begun: dict[Hashable, Place] = {}
        self._function = function
        self._guard = Guard(function)
        self._went: dict[Place, Went] | None = {}
        """Where an answer led, by all answers up to it; None once nothing may be taken for granted."""
        self.on_new: Callable[[Place, Hashable, list[Asked]], None] | None = None
        """Told of what was asked for where a coroutine got somewhere new, and how that began."""
        self.resumed = 0
        """How often user code was executed: begun or gone on."""

    @property
    def met(self) -> Mapping[int, CodeType]:
        """The code that was seen to run, by its id."""
        return self._guard.met

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
        place = _after(suspended.place, answer, suspended.line)
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
        place = self._place(run, key, origin)
        known = place.suspended
        if known is None:
            again = None
            if audits():
                _refuse_held(run, self._function)
                again = self._compared(run, key, make)
            known = place.suspended = Suspended(run, key, make, place)
            if again is not None:
                again.asked.clear()
                known.keep(again)
            if self.on_new is not None:
                self.on_new(place, (key, origin), run.asked)
        run.asked.clear()
        known.keep(run)
        return known

    def end(self, run: Run, key: Key, make: Callable[[], Coroutine[Any, Any, Any]], origin: Hashable = None) -> bool:
        """A coroutine has ended: it must do so, and ask for the same before it, whenever it is given these answers.

        Answers whether it is the first that was given these.
        """
        place = self._place(run, key, origin)
        if place.is_end:
            return False
        if audits():
            self._compared(run, key, make)
        place.is_end = True
        if self.on_new is not None:
            self.on_new(place, (key, origin), run.asked)
        return True

    def _place(self, run: Run, key: Key, origin: Hashable) -> Place:
        """The history of a coroutine."""
        place = run.origin.place if run.origin else self._begun.setdefault((key, origin), Place())
        for answer in run.history[place.depth :]:
            place = _after(place, answer, own_line(run.coroutine))
        return place

    def _compared(self, run: Run, key: Key, make: Callable[[], Coroutine[Any, Any, Any]]) -> Run:
        """Another coroutine that was given the same answers, with nothing from outside, and did the same."""
        run.note()
        began = run.origin.place.depth + 1 if run.origin else 0
        self._guard.look_at_cached()
        try:
            with meeting(self._guard.meet):
                again = Run(make, tuple(run.history), noting_from=began)
        except BaseException:
            run.close()  # it lets go of what it holds
            raise
        compare(run.asked, again.asked, key)
        if self._guard.forget_cached():  # and once more without what functions have kept
            once_more = Run(make, tuple(run.history), noting_from=began)
            once_more.close()
            compare(run.asked, once_more.asked, key)
        return again

    def check_guarded(self, run: Run, where: str) -> None:
        """Make sure that what the code may not change is as it was."""
        changed = self._guard.changed() if audits() else None
        if changed is not None:
            _refuse_held(run, self._function, tasks=True)
            told = f" (`{changed}`)" if changed else ""
            raise CheckedCodeError(
                f"{_first_line(run.coroutine)}: {where} changes an attribute of its controller, or a global variable"
                f"{told}; memory that outlives a reconcile goes through `ctx.remember` (it is lost at a crash) or into "
                "the object's status"
            )


def _after(place: Place, answer: Answer, line: str) -> Place:
    """The history with one more answer, which came to this line."""
    try:
        return place.after(answer)
    except Unfreezable as problem:
        raise CheckedCodeError(
            f"{line}: what is answered here cannot be part of a state: {problem.told}; answer with {KNOWN}"
        ) from None


def _content(effect: Effect[Any], line: str) -> Hashable:
    """What is asked for, by content."""
    try:
        return freeze(effect)
    except Unfreezable as problem:
        raise CheckedCodeError(
            f"{line} hands over what cannot be part of a state: {problem.told}; use {KNOWN}"
        ) from None


def _ending(value: Any) -> Hashable:
    """What a coroutine returned or raised, by content as far as it can be compared."""
    try:
        return freeze(value)
    except Unfreezable:
        return Same(type(value))


def _first_line(coroutine: Any) -> str:
    return f"{coroutine.cr_code.co_filename}:{coroutine.cr_code.co_firstlineno}"


def compare(one: list[Asked], other: list[Asked], key: Key) -> None:
    """Raise ``CheckedCodeError`` at the first difference between two runs with the same answers."""
    for first, second in zip_longest(one, other):
        if first is None or second is None or first.content != second.content:
            raise _departed(first, second, key)


def _departed(first: Asked | None, second: Asked | None, key: Key) -> CheckedCodeError:
    """The words for two runs that were given the same answers and went different ways."""
    line = first.line if first else second.line if second else ""
    here = f"`{first.text}`" if first else "nothing"
    if second is None or first is None:
        there = f"`{second.text}` at {second.line}" if second else "nothing more"
    elif second.line != line:
        there = f"`{second.text}` at {second.line}"
    else:
        there = f"`{second.text}`" if second.text != first.text else "the same with other content"
    return CheckedCodeError(
        f"{line}: the reconcile of {key} was run twice with the same answers, and did {here} here the one time, "
        f"{there} the other; it must depend on its answers only: ask `ctx.now()` for the time, take no random numbers, "
        "keep nothing in variables that outlive it, and define classes that are handed over outside of functions"
    )


def _ended_early(coroutine: Any) -> CheckedCodeError:
    return CheckedCodeError(
        f"{_first_line(coroutine)}: `{coroutine.__name__}` ended earlier when it was run again with the same "
        "answers; it must depend on its answers only: ask `ctx.now()` for the time, take no random numbers, and keep "
        "nothing in variables that outlive it"
    )


def _refuse_held(run: Run, function: Any, *, tasks: bool = False) -> None:
    """Refuse a coroutine that waits with a lock of threads in its hands; with ``tasks`` also one of ``asyncio``."""
    lock = held_lock(run.coroutine, function, tasks=tasks)
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

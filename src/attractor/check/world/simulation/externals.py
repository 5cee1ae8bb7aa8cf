"""Outside systems in a world: a small model in the place of the real one.

A controller declares an outside system as a protocol class and reaches it with ``ctx.external(Iam)``. In production
the manager gives it an implementation; a world gives it a *model*: any object with methods of those names::

    class IamModel:
        def __init__(self) -> None:
            self.roles: dict[str, str] = {}

        def create_role(self, name: str) -> str:          # sync or async, as you like
            if name in self.roles:
                raise RoleExists(name)
            return self.roles.setdefault(name, f"arn:{name}")

        @happens(fair=False, times=1)                     # something that the outside does by itself
        def somebody_deletes_a_role(self) -> None:
            self.roles.popitem()

    World(..., externals={Iam: IamModel()})

The model object given is the initial state. Each call works on a copy, which becomes the next state; so a model may
change its attributes freely, and must keep nothing elsewhere. A method marked with ``happens`` is a step of the outside
system's own; it is disabled where it changes nothing, and what it returns are keys that the controllers' ``sources``
are told of. ``conformance`` compares a model with the real system.

A model outlives the hosts that call it. Where each host holds a part of its own (a client with a memory), two methods
say so: ``seen_by(host)`` answers the object that this host calls, ``host_dies(host)`` is called when it crashes. And
where the outside starts and ends hosts, ``runs(host)`` says which are up: one that is ended is gone with all it knew.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from attractor.check.errors import Disabled, SpecError
from attractor.check.events import Called
from attractor.check.sandbox.outside import barred, barring, meeting
from attractor.check.sandbox.purity import Guard, seen
from attractor.check.sandbox.second_runs import audits
from attractor.check.sandbox.set_order import Turnable, other_orders, sites, turnable, turned_round
from attractor.check.sandbox.touches import watched
from attractor.check.values.snapshot import KNOWN, Unfreezable, copied, freeze
from attractor.check.world.simulation.process.controller_memory import Kept
from attractor.check.world.simulation.process.suspended import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from attractor.check.events import CallTrouble
    from attractor.check.sandbox.touches import Run as Touches
    from attractor.check.world.simulation.slots import Cell, Stage

F = TypeVar("F", bound="Callable[..., Any]")
_MARK = "__attractor_happens__"


@dataclass(frozen=True)
class Happening:
    """A step that an outside system takes by itself: its fairness, and how often it may be taken."""

    fair: bool
    times: int | None


def happens(*, fair: bool = False, times: int | None = None) -> Callable[[F], F]:
    """Mark a method of a model as a step that the outside system takes by itself.

    Args:
        fair: Whether the step is weakly fair: if it stays possible, it happens at last.
        times: How often at most; ``None`` for no limit.
    """

    def mark(function: F) -> F:
        setattr(function, _MARK, Happening(fair, times))
        return function

    return mark


def happenings_of(model: type) -> list[tuple[str, Happening]]:
    """The steps that systems of a class take by themselves, by name."""
    found = ((name, getattr(method, _MARK, None)) for name, method in inspect.getmembers(model))
    return [(name, each) for name, each in found if isinstance(each, Happening)]


class NoAnswer(TimeoutError):
    """An outside system did not answer; whether it did what was asked is unknown."""


class Done(NamedTuple):
    """Result of a call: the model of the outside system afterwards, and its answer."""

    after: Kept
    answer: Answer


class LateCall(NamedTuple):
    """A call of an outside system that takes effect some time."""

    external: str
    host: str
    method: str
    given: Kept

    def __plain__(self) -> Any:
        return f"{self.external}.{self.method}"


class WorldExternal:
    """One outside system: its state is a slot, its methods are what ``Performer`` calls.

    A method is a function of the state and its arguments. So it is run twice, on two copies, the first time that it
    meets both, and must do the same; after that, what it did is known.
    """

    def __init__(self, stage: Stage, protocol: Any, model: object, failure: Callable[[], Exception]) -> None:
        self._stage, self._failure = stage, barring(failure)
        self.name: str = getattr(protocol, "__name__", str(protocol))
        self.model_class = type(model)
        self._done: dict[Hashable, Done] = {}
        self._guard = Guard(self.model_class)
        self._turnable: tuple[Turnable, ...] = ()
        stage.model.before_audit.append(self._done.clear)
        self.state: Cell = stage.slot("external", self.name, self._kept(model, self.model_class))
        self.trouble: CallTrouble | None = None
        self.on_change: list[Callable[[], None]] = []
        """Who is told that its state may have changed."""
        called = seen_by(model, "host")
        for name in _methods(protocol):
            if not callable(getattr(called, name, None)):
                raise SpecError(f"{type(model).__name__} models {self.name} but has no method {name!r}")

    def _kept(self, model: object, at: Any) -> Kept:
        try:
            return Kept(model)
        except SpecError as problem:
            raise SpecError(f"{_line(at)}: {problem}, and leave locks, clients and generators out of models") from None

    @property
    def is_told_of_crashes(self) -> bool:
        """Whether something is lost there when a host dies."""
        return hasattr(self.model_class, "host_dies")

    @property
    def decides_lives(self) -> bool:
        """Whether the outside starts and ends hosts."""
        return hasattr(self.model_class, "runs")

    def runs(self, host: str) -> bool:
        """Whether a host is up, as far as the outside decides."""
        answer = self._do("", "runs", (host,), {}).answer
        if answer.error is not None:
            raise answer.error
        return bool(answer.value)

    def _keep(self, after: Kept) -> None:
        self.state.set(after)
        for told in self.on_change:
            told()

    def seen_by(self, host: str) -> Seen:
        """The system, as a host calls it."""
        return Seen(self, host)

    def host_dies(self, host: str) -> None:
        """A host dies, and with it what it held of the system."""
        done = self._do("", "host_dies", (host,), {})
        if done.answer.error is not None:
            raise done.answer.error
        self.state.set(done.after)

    def call(self, host: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call of a host, or what its trouble makes of it."""
        if self.trouble in {"call failed", "call delayed"}:
            self._note(name, args, None, self.trouble)
            raise self._failure()
        after, (result, error) = self._do(host, name, args, kwargs)
        self._keep(after)
        self._note(name, args, result if error is None else error, self.trouble)
        if self.trouble:
            raise self._failure() from None
        if error is not None:
            raise error
        return result

    def arrive(self, call: LateCall) -> None:
        """A call takes effect that nobody waits for any more."""
        args, kwargs = call.given.value
        after, (result, error) = self._do(call.host, call.method, args, kwargs)
        self._keep(after)
        self._note(call.method, args, result if error is None else error, None)

    def _do(self, host: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Done:
        """What a method does in the present state: as it did before, or by running it, on behalf of a host if any."""
        before: Kept = self.state.get()
        asked = (before, host, name, freeze((args, kwargs)))
        done = self._done.get(asked)
        if done is None:
            done = self._run(before, host, name, args, kwargs)
            if audits():
                self._repeat(done, before, host, name, args, kwargs)
                self._audit(done, before, host, name, args, kwargs)
            self._done[asked] = done
            record = self._stage.model.record
            if record is not None:
                line = _line(getattr(self.model_class, name, self.model_class))
                situation = (freeze(before.held), host, asked[-1])
                content = (freeze(done.after.held), freeze(tuple(done.answer)))
                record.note(situation, f"`{self.model_class.__name__}.{name}`", line, repr(done.answer.value), content)
        return Done(done.after, done.answer.copied())

    def _repeat(self, done: Done, before: Kept, host: str, name: str, args: Any, kwargs: Any) -> None:
        """Run a method once more, with nothing from outside: it must do the same, and change nothing else."""
        with barred(), meeting(self._guard.meet):
            again = self._run(before, host, name, args, kwargs)
        line = _line(getattr(self.model_class, name, self.model_class))
        if (done.after, freeze(tuple(done.answer))) != (again.after, freeze(tuple(again.answer))):
            raise SpecError(
                f"{line}: `{self.model_class.__name__}.{name}` was run twice in the same state with the same "
                "arguments, and did different things; a model must depend on its attributes and arguments only"
            )
        if self._guard.changed() is not None:
            raise SpecError(
                f"{line}: `{self.model_class.__name__}.{name}` changes a variable outside of the model, which is "
                "no part of the state; keep it in an attribute of the model"
            )

    def _audit(self, done: Done, before: Kept, host: str, name: str, args: Any, kwargs: Any) -> None:
        """Run a method once more with sets in other orders, and see whether it changes what outlives it."""
        self._turnable = self._turnable or turnable(self.model_class)
        runs: list[Touches] = []
        for _ in other_orders(all_small=True):
            with turned_round(self._turnable), watched(seen) as touched:
                again = self._run(before, host, name, args, kwargs)
            runs.append(touched)
            if not sites:
                break
            if (done.after, freeze(tuple(done.answer))) != (again.after, freeze(tuple(again.answer))):
                raise SpecError(
                    f"{sites[-1]}: what `{self.model_class.__name__}.{name}` does depends on the order of a set, which "
                    "is another one in each process; take its elements in order, as in `sorted(...)`"
                )
        with turned_round(self._turnable), watched(seen, runs[0]) as second:
            self._run(before, host, name, args, kwargs)
        changed = second.changed()
        if changed is not None:
            raise SpecError(
                f"{changed.line}: `{self.model_class.__name__}.{name}` changes a {type(changed.value).__name__} that "
                "is no part of the model; keep it in an attribute of the model"
            )

    def _run(self, before: Kept, host: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Done:
        model = before.value
        called = seen_by(model, host) if host else model
        method = getattr(called, name)
        try:
            answer = Answer(_finished(method(*copied(args), **copied(kwargs))))
        except SpecError:
            raise
        except Exception as error:  # whoever called gets to see it
            answer = Answer(None, error)
        try:
            answer = answer.copied()
        except Unfreezable as problem:
            raise SpecError(
                f"{_line(method)}: `{self.model_class.__name__}.{name}` answers with what cannot be part of a state: "
                f"{problem.told}; use {KNOWN}"
            ) from None
        return Done(self._kept(model, method), answer)

    def _note(self, name: str, args: tuple[Any, ...], result: Any, trouble: CallTrouble | None) -> None:
        self._stage.note(Called(self.name, name, args, result, trouble))

    def happenings(self) -> list[tuple[str, Happening]]:
        """The steps that it takes by itself."""
        return happenings_of(self.model_class)

    def happen(self, name: str) -> Iterable[Any]:
        """Take a step of its own; answers the keys that sources are told of."""
        before: Kept = self.state.get()
        after, (told, error) = self._do("", name, (), {})
        if error is not None:
            raise error
        if after == before and not told:
            raise Disabled
        self._keep(after)
        self._note(name, (), told, None)
        return told or ()


class Seen:
    """An outside system, as one host calls it."""

    def __init__(self, external: WorldExternal, host: str) -> None:
        self._external, self._host = external, host

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return self._external.call(self._host, name, args, kwargs)

        return call


def seen_by(model: object, host: str) -> object:
    """What a host calls of a model: the part that is its own, where the model has such parts."""
    part = getattr(model, "seen_by", None)
    return model if part is None else part(host)


def _line(written: Any) -> str:
    """File and line of a class or a method."""
    plain = inspect.unwrap(getattr(written, "__func__", written))
    try:
        return f"{inspect.getsourcefile(plain)}:{inspect.getsourcelines(plain)[1]}"
    except (OSError, TypeError):
        return getattr(written, "__qualname__", repr(written))


def _methods(protocol: Any) -> list[str]:
    return [name for name, each in vars(protocol).items() if inspect.isfunction(each) and not name.startswith("_")]


def _finished(result: Any) -> Any:
    from attractor.check.world.simulation.process.host import at_once

    return at_once(result) if inspect.isawaitable(result) else result

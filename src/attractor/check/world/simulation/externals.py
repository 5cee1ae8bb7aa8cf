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
from typing import TYPE_CHECKING, Any, TypeVar

from attractor.check.errors import Disabled, SpecError
from attractor.check.world.notes import Called
from attractor.check.world.remembering import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attractor.check.world.stage import Cell, Stage

F = TypeVar("F", bound="Callable[..., Any]")
_MARK = "__attractor_happens__"


@dataclass(frozen=True)
class Happening:
    """How a step of an outside system may be taken."""

    fair: bool
    times: int | None


def happens(*, fair: bool = False, times: int | None = None) -> Callable[[F], F]:
    """Mark a method as a step of the outside system's own: owed (``fair``) or not, at most so many ``times``."""

    def mark(function: F) -> F:
        setattr(function, _MARK, Happening(fair, times))
        return function

    return mark


class NoAnswer(TimeoutError):
    """An outside system did not answer; whether it did what it was asked is not known."""


class WorldExternal:
    """One outside system: its state is a slot, its methods are what ``Performer`` calls."""

    def __init__(self, stage: Stage, protocol: Any, model: object, failure: Callable[[], Exception]) -> None:
        self._stage, self._failure = stage, failure
        self.name: str = getattr(protocol, "__name__", str(protocol))
        self.state: Cell = stage.slot("external", self.name, Kept(model))
        self.trouble: str | None = None
        self.model_class = type(model)
        self.on_change: list[Callable[[], None]] = []
        """Who is told that its state may have changed."""
        called = seen_by(model, "host")
        for name in _methods(protocol):
            if not callable(getattr(called, name, None)):
                raise SpecError(f"{type(model).__name__} models {self.name} but has no method {name!r}")

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
        return bool(self.state.get().value.runs(host))

    def _keep(self, model: object) -> None:
        self.state.set(Kept(model))
        for told in self.on_change:
            told()

    def seen_by(self, host: str) -> Seen:
        """The system, as a host calls it."""
        return Seen(self, host)

    def host_dies(self, host: str) -> None:
        """A host dies, and with it what it held of the system."""
        model = self.state.get().value
        model.host_dies(host)
        self.state.set(Kept(model))

    def call(self, host: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call of a host, or what its trouble makes of it."""
        if self.trouble == "call failed":
            self._note(name, args, None, self.trouble)
            raise self._failure()
        model = self.state.get().value
        try:
            result = _finished(getattr(seen_by(model, host), name)(*args, **kwargs))
        except Exception as error:
            self._keep(model)
            self._note(name, args, error, self.trouble)
            if self.trouble:
                raise self._failure() from None
            raise
        self._keep(model)
        self._note(name, args, result, self.trouble)
        if self.trouble:
            raise self._failure()
        return result

    def _note(self, name: str, args: tuple[Any, ...], result: Any, trouble: str | None) -> None:
        self._stage.note(Called(self.name, name, args, result, trouble))

    def happenings(self) -> list[tuple[str, Happening]]:
        """The steps that it takes by itself."""
        found = ((name, getattr(method, _MARK, None)) for name, method in inspect.getmembers(self.model_class))
        return [(name, each) for name, each in found if isinstance(each, Happening)]

    def happen(self, name: str) -> Iterable[Any]:
        """Take a step of its own; answers the keys that sources are told of."""
        before = self.state.get()
        model = before.value
        told = getattr(model, name)()
        after = Kept(model)
        if after == before and not told:
            raise Disabled
        self._keep(model)
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


def _methods(protocol: Any) -> list[str]:
    return [name for name, each in vars(protocol).items() if inspect.isfunction(each) and not name.startswith("_")]


def _finished(result: Any) -> Any:
    from attractor.check.world.host import at_once

    return at_once(result) if inspect.isawaitable(result) else result

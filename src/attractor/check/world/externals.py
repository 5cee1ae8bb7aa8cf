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
        for name in _methods(protocol):
            if not callable(getattr(model, name, None)):
                raise SpecError(f"{type(model).__name__} models {self.name} but has no method {name!r}")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return self._call(name, args, kwargs)

        return call

    def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.trouble == "call failed":
            self._note(name, args, None, self.trouble)
            raise self._failure()
        model = self.state.get().value
        try:
            result = _finished(getattr(model, name)(*args, **kwargs))
        except Exception as error:
            self.state.set(Kept(model))
            self._note(name, args, error, self.trouble)
            if self.trouble:
                raise self._failure() from None
            raise
        self.state.set(Kept(model))
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
        self.state.set(after)
        self._note(name, (), told, None)
        return told or ()


def _methods(protocol: Any) -> list[str]:
    return [name for name, each in vars(protocol).items() if inspect.isfunction(each) and not name.startswith("_")]


def _finished(result: Any) -> Any:
    from attractor.check.world.host import at_once

    return at_once(result) if inspect.isawaitable(result) else result

"""``Stage``: where a step of the world happens. Production parts run on it and see only the slots they ask for.

A step is a function of the view that the engine hands in. Production parts (API server, cache, queue) are long-lived
objects that know nothing of views, so the stage lends them the view of the step that is running: every read and write
of theirs goes through it and is tracked. Between steps there is no view, and nothing remembers anything.

Outside the engine, ``Sketch`` is a view over a plain mapping: the initial state is drawn on it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from attractor.check.errors import Disabled, Grown, SpecError
from attractor.check.world.api.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from attractor.check.engine.model import Domain, Model

T = TypeVar("T")


class View(Protocol):
    """The state as a step reads and writes it."""

    def read(self, ref: int) -> Any:
        """The value behind a reference."""
        ...

    def write(self, ref: int, value: Any) -> None:
        """Set a value in the state after the step."""
        ...

    def copy(self, ref: int, source: int) -> None:
        """Set a value to what another slot holds, without looking."""
        ...

    def update(self, ref: int, how: Callable[[Any], Any]) -> None:
        """Set a value to a function of what is there, without looking."""
        ...

    def choose(self, options: Iterable[Any]) -> Any:
        """One of the options; each is explored."""
        ...


class Stage:
    """The slots of one model, by name, and the view of the step that is running."""

    def __init__(self, model: Model, bounds: Bounds | None = None) -> None:
        self.model, self.bounds = model, bounds or Bounds()
        self._cells: dict[tuple[str, Hashable], Cell] = {}
        self._view: View | None = None
        self._outside: Cell | None = None
        self.used_indexes: set[tuple[str, str]] = set()
        """Kind and name of each index that found something."""
        self.says_time = True
        """Whether the author said what time it is; whoever asks for it otherwise is told."""
        self.told_sources = False
        """Whether an outside system named a key to the controllers' sources."""
        self._emits: str = ""
        self._reads_events: str = ""
        self.changes_blindly = True
        """Whether an ``update`` is one; otherwise it reads and writes, to compare."""
        self.on_note: Callable[[Any], None] | None = None
        """Who is told what happens inside a step; set while a trace is being told again."""

    @contextmanager
    def on(self, view: View) -> Iterator[None]:
        """Run a step on a view."""
        outer, self._view = self._view, view
        try:
            yield
        finally:
            self._view = outer

    @property
    def view(self) -> View:
        """The view of the running step."""
        if self._view is None:
            raise RuntimeError("no step is running")
        return self._view

    def bind(self, name: str, text: str) -> None:
        """Say that a bound of the world keeps this step from what it does without."""
        self.model.bind(name, text, self.bounds.raising(name))

    def add_bounds(self) -> None:
        """Have states that are left out: those after a step that called ``leave_bounds``."""
        outside = self._outside = self.slot("outside of the bounds", default=False)
        self.model.constraints += self.model.add_predicates("the bounds", lambda view: not view.read(outside.ref))

    def leave_bounds(self) -> None:
        """What follows the running step is left out; that it would go on counts, so nobody waits there for ever."""
        if self._outside is None:
            raise Grown("bounds", None)
        self._outside.set(True)

    def note(self, what: Any) -> None:
        """Say what happened inside the step, to whoever wants to know."""
        if self.on_note is not None:
            self.on_note(what)

    def emits(self, who: str) -> None:
        """Somebody tells people of an object by an Event; raises ``SpecError`` where somebody here would see it."""
        self._emits = self._emits or who
        self._check_events()

    def reads_events(self, who: str) -> None:
        """Somebody looks at Events; raises ``SpecError`` where somebody emits them."""
        self._reads_events = self._reads_events or who
        self._check_events()

    def _check_events(self) -> None:
        if self._emits and self._reads_events:
            raise SpecError(
                f"{self._reads_events} looks at Events, and {self._emits} emits them; what `ctx.emit` tells is no "
                "object of a world, so the verdict would be about a world without it: say it in an object (a condition "
                "of the status), or check the two in worlds of their own"
            )

    def slot(self, variable: str, key: Hashable = None, default: Any = None, domain: Domain | None = None) -> Cell:
        """The slot of that name; a new one holds ``default`` in every state known so far."""
        cell = self._cells.get((variable, key))
        if cell is None:
            keyed = key is not None
            ref = self.model.add_slot(variable, default, key=key, keyed=keyed, domain=domain)
            cell = self._cells[variable, key] = Cell(self, ref)
        return cell


class Cell:
    """One slot, as the running step sees it."""

    __slots__ = ("_stage", "ref")

    def __init__(self, stage: Stage, ref: int) -> None:
        self._stage = stage
        self.ref = ref

    def get(self) -> Any:
        """Its value."""
        return self._stage.view.read(self.ref)

    def set(self, value: Any) -> None:
        """Set it in the state after the step."""
        self._stage.view.write(self.ref, value)

    def copy(self, source: Cell) -> None:
        """Set it to what another slot of its domain holds, without looking."""
        self._stage.view.copy(self.ref, source.ref)

    def update(self, how: Callable[[Any], Any]) -> None:
        """Set it to a function of what it holds, without looking.

        ``how`` is a pure function that is known by equality (a frozen dataclass with ``__call__``): what it makes of a
        value is computed once, and the step need not be run for each value that might be there.
        """
        if self._stage.changes_blindly:
            self._stage.view.update(self.ref, how)
        else:
            self.set(how(self.get()))


@dataclass(frozen=True, slots=True)
class With:
    """A set with one more element, as an ``update``."""

    element: Any

    def __call__(self, elements: frozenset[Any]) -> frozenset[Any]:
        """The set after."""
        return elements | {self.element}


@dataclass(frozen=True, slots=True)
class Without:
    """A set with one element less, as an ``update``."""

    element: Any

    def __call__(self, elements: frozenset[Any]) -> frozenset[Any]:
        """The set after."""
        return elements - {self.element}


class Sketch:
    """A view over a plain mapping of values by slot, with the model's defaults behind it; choices take the first."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.values: dict[int, Any] = {}

    def read(self, ref: int) -> Any:
        """The value that was written, or the default."""
        if ref in self.values:
            return self.values[ref]
        slot = self._model.slots[ref]
        return slot.domain.values[slot.default]

    def write(self, ref: int, value: Any) -> None:
        """Keep a value."""
        self.values[ref] = value

    def copy(self, ref: int, source: int) -> None:
        """Keep the value of another slot."""
        self.values[ref] = self.read(source)

    def update(self, ref: int, how: Callable[[Any], Any]) -> None:
        """Keep what becomes of the value."""
        self.values[ref] = how(self.read(ref))

    def choose(self, options: Iterable[T]) -> T:
        """The first option."""
        for option in options:
            return option
        raise Disabled

"""Refinement: every step of a specification is a step of a more abstract one, or changes nothing that it can see.

    class Clock(Spec):
        hours: int = var(0)
        minutes: int = var(0)
        ...
        is_an_hour_hand = refines(HourHand, lambda self: {"hour": self.hours})

The *abstraction* maps a concrete state to a value for each variable of the abstract specification: a value for ``var``,
a mapping for ``each``, a set for ``subset``. Judged as a step property, so a violation is the shortest run to a step
that the abstract specification cannot take. Invariants of the abstract specification thereby hold for the concrete one;
promises about whole runs do not follow, because fairness is not carried over: state those on the concrete one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from attractor.check.declarations import SafetyProperty
from attractor.check.errors import SpecError
from attractor.check.execution import apply, steps

if TYPE_CHECKING:
    from attractor.check.model import Model, Slot, State
    from attractor.check.spec import Spec, Step

Abstraction = Callable[[Any], Mapping[str, Any]]


class Refinement(SafetyProperty[Any]):
    """The claim that a specification refines another, as a step property."""

    kind = "always_step"

    def __init__(self, abstract: Callable[[Any], Spec], abstraction: Abstraction) -> None:
        super().__init__(self.allows, {})
        self.name = ""
        self._abstract = abstract
        self._abstraction = abstraction
        self._shadows: dict[str, Shadow] = {}

    def allows(self, spec: Spec, step: Step) -> bool:
        """Whether the abstract specification can take this step, or does not see it."""
        shadow = self.shadow(spec)
        before, after = shadow.state(self._abstraction(spec)), shadow.state(self._abstraction(step.after))
        return before == after or after in shadow.successors(before)

    def shadow(self, spec: Spec) -> Shadow:
        """The abstract model for the constants of ``spec``; made once."""
        key = repr(spec)
        if key not in self._shadows:
            self._shadows[key] = Shadow(self._abstract(spec).compile())
        return self._shadows[key]

    def require_initial(self, spec: Spec) -> None:
        """Refuse an initial state (the one that ``spec`` views) whose abstraction is no initial state."""
        shadow = self.shadow(spec)
        seen = shadow.state(self._abstraction(spec))
        if seen not in shadow.model.initial:
            raise SpecError(
                f"{spec.name}.{self.name}: an initial state is seen as {shadow.model.show(seen)}, which is no initial "
                f"state of {shadow.model.name}; change the abstraction, or what {shadow.model.name} starts from"
            )


class Shadow:
    """The abstract model: states by their values, successors remembered."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._known: dict[State, frozenset[State]] = {}

    def state(self, values: Mapping[str, Any]) -> State:
        """The abstract state with those values."""
        missing = {slot.variable for slot in self.model.slots} - set(values)
        if missing:
            raise SpecError(f"the abstraction to {self.model.name} gives no value for {', '.join(sorted(missing))}")
        return tuple(slot.domain.intern(_value(slot, values[slot.variable])) for slot in self.model.slots)

    def successors(self, state: State) -> frozenset[State]:
        """Every state that one abstract step leads to."""
        if state not in self._known:
            self._known[state] = frozenset(
                apply(outcome.leaf, action.binding, state)
                for action in self.model.actions
                for outcome in steps(self.model, action, state)
                if isinstance(outcome.leaf, tuple)
            )
        return self._known[state]


def _value(slot: Slot, value: Any) -> Any:
    if not slot.keyed:
        return value
    return slot.key in value if isinstance(value, AbstractSet) else value[slot.key]


def refines(abstract: type[Spec] | Callable[[Any], Spec], abstraction: Abstraction) -> Any:
    """Declare that this specification refines ``abstract`` under ``abstraction``.

    ``abstract`` is a ``Spec`` class with its default constants, or a function that makes a ``Spec`` for this one.
    """
    return Refinement((lambda _: abstract()) if isinstance(abstract, type) else abstract, abstraction)

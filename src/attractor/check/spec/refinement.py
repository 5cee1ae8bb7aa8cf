"""Refinement: every run of a specification, seen through an abstraction function, is a run of an abstract one.

Steps are judged one by one (``Abstraction.permits``). Fairness of the abstract specification is a promise about whole
runs: no fair run may, from some point on, have an abstract group enabled all the time (weak) or again and again
(strong) without ever taking a step of it. ``unfair_run`` looks for such a run.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.engine.execution import apply, truth
from attractor.check.engine.exploration import OUTSIDE, Graph
from attractor.check.engine.liveness import FairGraph, Lasso, Query
from attractor.check.engine.trie import Memory
from attractor.check.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from attractor.check.engine.exploration import Exploration
    from attractor.check.engine.model import Fairness, State
    from attractor.check.spec.spec import Spec, Step


class Abstraction:
    """A function from concrete states to states of an abstract specification."""

    def __init__(self, abstract: Spec, function: Callable[..., Mapping[str, Any]]) -> None:
        self._name = abstract.name
        self._model = abstract.compile()
        self._memory = Memory(self._model)
        self._function = function
        self.shown: State = ()

    @property
    def fairness(self) -> list[Fairness]:
        """What the abstract specification promises to do."""
        return self._model.fairness

    def starts(self, concrete: Spec) -> bool:
        """Whether an initial state maps to an initial state."""
        return self.of(concrete) in self._model.initial

    def permits(self, before: Spec, step: Step) -> bool:
        """Whether a concrete step maps to an abstract step or to none."""
        one, other = self.of(before), self.of(step.after)
        return one == other or other in self.afters(one, range(len(self._model.actions)))

    def show(self, concrete: Spec) -> bool:
        """Keep the abstract state of a concrete one as ``shown``: always true."""
        self.shown = self.of(concrete)
        return True

    def afters(self, state: State, instances: Iterable[int]) -> set[State]:
        """The other abstract states to which steps of these actions lead."""
        actions = [self._model.actions[index] for index in instances]
        found = {
            apply(self._model, writes, action.binding, state)
            for action in actions
            for writes in self._memory.steps(action, state)
        }
        return found - {state}

    def of(self, concrete: Spec) -> State:
        """The abstract state of a concrete one."""
        values = dict(self._function(concrete))
        state = []
        for slot in self._model.slots:
            if slot.variable not in values:
                raise SpecError(f"the abstraction to {self._name} gives no value for its variable `{slot.variable}`")
            value = values[slot.variable]
            state.append(slot.domain.intern(_part(value, slot.key) if slot.keyed else value))
        return tuple(state)


def _part(whole: Any, key: Any) -> Any:
    """One key's part of a map's value, or whether a set has it."""
    return key in whole if isinstance(whole, set | frozenset) else whole[key]


class FairAbstraction(NamedTuple):
    """An abstraction to a specification with fairness, and the predicate that shows the abstract state."""

    abstraction: Abstraction
    shows: int


def unfair_run(exploration: Exploration, abstract: FairAbstraction) -> tuple[str, Lasso] | None:
    """A fair run that is not fair as the abstract specification is, and what it owes; it begins at any state."""
    graph, model = exploration.graph(), exploration.model
    seen = []
    for index in range(len(graph.offsets) - 1):
        truth(model, model.predicates[abstract.shows], exploration.state(index))
        seen.append(abstract.abstraction.shown)
    for condition in abstract.abstraction.fairness:
        afters = {state: abstract.abstraction.afters(state, condition.instances) for state in set(seen)}
        enabled = bytearray(bool(afters[state]) for state in seen)
        runs = FairGraph(_without(graph, seen, afters), list(range(len(seen))), model.fairness)
        allowed = bytearray(b"\1" * len(seen)) if condition.strong else enabled
        found = runs.find(Query(allowed, allowed, (enabled,)))
        if found is not None:
            return condition.name, found
    return None


def _without(graph: Graph, seen: list[State], afters: dict[State, set[State]]) -> Graph:
    """The graph whose steps of a fair group leave it: they count for what is enabled, and no run takes them."""
    targets = array(graph.targets.typecode, graph.targets)
    for index, state in enumerate(seen):
        for edge in range(graph.offsets[index], graph.offsets[index + 1]):
            if targets[edge] != OUTSIDE and seen[targets[edge]] in afters[state]:
                targets[edge] = OUTSIDE
    return Graph(graph.offsets, targets, graph.actions)

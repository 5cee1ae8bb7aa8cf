"""Decision tries of routines: read this slot, branch on its value, ..., then this leaf.

A trie is filled by executing the routine where it has no answer yet. A routine's first read is always the same, its
second depends on the first value only, and so on; so the paths of its executions form a trie, and a path from root to
leaf is a proof that the leaf is right for every state with those values.

Worked example: ``require(self.worker[w].idle); require(self.queue); ...`` becomes: read ``worker[own]``; 0 (busy) ->
disabled; 1 (idle) -> read ``queue``; 0 (empty) -> disabled; 7 -> write ``queue`` := 3, ``worker[own]`` := 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from attractor.check.engine.execution import Outcome, judges_steps, outcomes_of, padded
from attractor.check.engine.model import AFTER, CHOICE, DERIVED, Instance, Model, State
from attractor.check.errors import ImpureStep, line_of

Place = tuple[State, State | None]


class Read:
    """A node that branches on the value behind ``ref``."""

    __slots__ = ("children", "ref")

    def __init__(self, ref: int) -> None:
        self.ref = ref
        self.children: dict[int, Any] = {}


class Fork:
    """A node all of whose children are taken: a choice."""

    __slots__ = ("children", "count")

    def __init__(self, count: int) -> None:
        self.count = count
        self.children: dict[int, Any] = {}


class Leaf:
    """The end of a path: an action's writes, a predicate's value, None where an action is disabled."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


SAMPLES_PER_ROUTINE = 4


class Sample(NamedTuple):
    """One remembered execution: where it happened and how it went."""

    instance: Instance
    state: State
    after: State | None
    outcomes: list[Outcome]


@dataclass
class Tally:
    """Statistics of a routine's trie: executions of its Python code, and the most slots that one of them read."""

    executed: int = 0
    widest: int = 0
    slots: tuple[str, ...] = ()
    samples: list[Sample] = field(default_factory=list)
    has_effect: bool = False
    """Whether any execution wrote something, or found a predicate true."""

    def note(self, model: Model, sample: Sample) -> None:
        """Count these executions, and keep a few to be run again by the audit, rather those that do something."""
        instance, outcomes = sample.instance, sample.outcomes
        if model.record is not None and not model.is_composed:
            model.record.note_execution(model, sample)
        self.executed += len(outcomes)
        self.has_effect = self.has_effect or any(outcome.leaf for outcome in outcomes)
        if len(self.samples) < SAMPLES_PER_ROUTINE:
            self.samples.append(sample)
        elif any(outcome.leaf for outcome in outcomes):
            self.samples[self.executed % SAMPLES_PER_ROUTINE] = sample
        for outcome in outcomes:
            if len(outcome.path) <= self.widest:
                continue
            reads = [ref for ref, _ in outcome.path if ref < CHOICE]
            if len(reads) > self.widest:
                self.widest = len(reads)
                self.slots = tuple(model.name_of(instance.binding[-1 - ref] if ref < 0 else ref) for ref in reads)


class Memory:
    """The tries of all actions and predicates of one model, filled on demand."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tallies: dict[str, Tally] = {}
        self._tries: dict[Any, Any] = {}

    def leaves(self, instance: Instance, state: State, after: State | None = None) -> list[Any]:
        """The leaves that ``instance`` has in ``state``; it is executed where nothing is known."""
        found: list[Any] = []
        routine = instance.routine
        root = self._tries.get(routine if routine.shared else instance)
        if root is None or not self._walk(root, instance, (state, after), found):
            self._learn(instance, state, after)
            return self.leaves(instance, padded(self.model, state), after)
        return found

    def steps(self, action: Instance, state: State) -> list[Any]:
        """The writes of each way ``action`` can be taken in ``state``."""
        return [writes for writes in self.leaves(action, state) if writes is not None]

    def holds(self, predicate: Instance, state: State, after: State | None = None) -> bool:
        """Whether ``predicate`` is true in ``state``, or of the step from there to ``after``."""
        return any(self.leaves(predicate, state, after))

    def first_read(self, instance: Instance) -> int | None:
        """The slot that every execution of ``instance`` reads first, once known; None if it has no such slot."""
        routine = instance.routine
        root = self._tries.get(routine if routine.shared else instance)
        if not isinstance(root, Read):
            return None
        ref = instance.binding[-1 - root.ref] if root.ref < 0 else root.ref
        return ref if ref < AFTER else None

    def never_enabled(self, instance: Instance, value: int) -> bool:
        """Whether ``instance`` is known to be disabled wherever its first read gives ``value``."""
        routine = instance.routine
        root = self._tries.get(routine if routine.shared else instance)
        child = root.children.get(value) if isinstance(root, Read) else None
        return isinstance(child, Leaf) and child.value is None

    def _walk(self, node: Any, instance: Instance, at: Place, found: list[Any]) -> bool:
        while True:
            if type(node) is Read:
                node = node.children.get(self._number(node.ref, instance, at))
            elif type(node) is Leaf:
                found.append(node.value)
                return True
            elif node is None:
                return False
            else:
                return len(node.children) == node.count and all(
                    self._walk(node.children[pick], instance, at, found) for pick in range(node.count)
                )

    def _number(self, ref: int, instance: Instance, at: Place) -> int:
        state, after = at
        if ref < 0:
            ref = instance.binding[-1 - ref]
        if ref < AFTER:
            return state[ref] if ref < len(state) else self.model.slots[ref].default
        if ref & DERIVED:
            return int(self.holds(self.model.predicates[ref ^ DERIVED], state))
        if after is None:
            raise judges_steps(instance)
        slot = self.model.slots[ref ^ AFTER]
        return after[slot.index] if slot.index < len(after) else slot.default

    def _learn(self, instance: Instance, state: State, after: State | None) -> None:
        routine = instance.routine
        outcomes = outcomes_of(self.model, instance, state, after)
        if not routine.shared:
            self._tries.pop(routine, None)
        key = routine if routine.shared else instance
        self.tallies.setdefault(instance.name, Tally()).note(self.model, Sample(instance, state, after, outcomes))
        for outcome in outcomes:
            self._tries[key] = insert(self._tries.get(key), outcome, instance)


def insert(root: Any, outcome: Outcome, instance: Instance) -> Any:
    """Add one path to a trie and return its root; a path that contradicts what is there means an impure routine."""
    top: dict[int, Any] = {0: root}
    holder, at = top, 0
    for ref, number in outcome.path:
        node = holder.get(at)
        if node is None:
            node = holder[at] = Fork(ref ^ CHOICE) if ref >= CHOICE else Read(ref)
        elif not ((type(node) is Fork and ref == CHOICE | node.count) or (type(node) is Read and node.ref == ref)):
            raise impure(instance)
        holder, at = node.children, number
    present = holder.get(at)
    if present is None:
        holder[at] = Leaf(outcome.leaf)
    elif type(present) is not Leaf or present.value != outcome.leaf:
        raise impure(instance)
    return top[0]


def impure(instance: Instance) -> ImpureStep:
    """The error for a routine that behaved differently after the same reads."""
    line = line_of(instance.routine.function)
    return ImpureStep(
        f"{line}{': ' if line else ''}{instance.label} gave two different results for the same values read; a step may "
        "depend on variables, constants and its parameters only: look for hidden state, random, time, the order of a "
        "set, or a value that equals only itself (a function, a generator, an object without `__eq__`)"
    )

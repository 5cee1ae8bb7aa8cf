"""Interchangeable keys: one representative for all states that differ only in which key is which.

The representative has the columns of each symmetric set (what belongs to one key) in ascending order. That is right
only if no value names a key and no step or property looks at which key it has: ``prove_symmetry`` shows that it is so.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from attractor.check.engine.execution import apply, padded
from attractor.check.engine.trie import Memory
from attractor.check.errors import SpecError, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from attractor.check.engine.exploration import Exploration
    from attractor.check.engine.model import Model, State, Symmetry
    from attractor.check.spec.properties import Property


def canonical_form(model: Model) -> Callable[[State], State] | None:
    """The function that maps a state to its representative; None if nothing is interchangeable."""
    symmetries = [symmetry for symmetry in model.symmetries if len(symmetry.columns) > 1 and symmetry.columns[0]]
    if not symmetries:
        return None

    def canonical(state: State) -> State:
        result = list(state)
        for symmetry in symmetries:
            columns = sorted(tuple(state[slot] for slot in column) for column in symmetry.columns)
            for column, values in zip(symmetry.columns, columns, strict=True):
                for slot, value in zip(column, values, strict=True):
                    result[slot] = value
        return tuple(result)

    return canonical


PERMUTATIONS = 24
"""With more orders of the keys than this (more than four keys), exchanges of two keys are tried, and one rotation."""
WORK = 300_000
"""So many steps and predicates are looked at for the proof; where that is not enough, in some of the states."""


def prove_symmetry(exploration: Exploration) -> None:
    """Show that the keys are interchangeable, as declared: raises ``SpecError`` with the action or property if not.

    In every explored state, and in each that exchanging keys makes of it, the same steps must lead to the same states
    up to the order of keys, and every predicate that decides anything must be as true. Then all that was explored
    stands for all that is reachable, by induction over steps. Where that is too much to look at it is shown for some of
    the states, and the verdict is one within the declaration.
    """
    model, memory = exploration.model, Memory(exploration.model)
    looks = len(model.actions) + len(model.predicates)
    count = exploration.counts.distinct
    for symmetry in (each for each in model.symmetries if len(each.columns) > 1 and each.columns[0]):
        orders, is_every_order = _orders(len(symmetry.columns))
        states = max(1, WORK // (looks * (len(orders) + 1)))
        indices = range(0, count, max(1, -(-count // states)))
        for index in indices:
            state = exploration.state(index)
            before = _behaviour(exploration, memory, state)
            for order in orders:
                turned = _turned(symmetry, state, order)
                if turned != state and _behaviour(exploration, memory, turned) != before:
                    raise _different(model, symmetry, before, _behaviour(exploration, memory, turned))
        if len(indices) < count or not is_every_order:
            text = f"the interchangeability {symmetry.name}, shown for {len(indices):,} of {count:,} states"
            model.bind(symmetry.name, text, "check without symmetry")


def _orders(keys: int) -> tuple[list[tuple[int, ...]], bool]:
    """The orders of keys to try, and whether these are all."""
    plain = tuple(range(keys))
    if math.factorial(keys) <= PERMUTATIONS:
        return [each for each in itertools.permutations(plain) if each != plain], True
    swaps = []
    for one, other in itertools.combinations(plain, 2):
        order = list(plain)
        order[one], order[other] = other, one
        swaps.append(tuple(order))
    return [*swaps, (*plain[1:], 0)], False


def _turned(symmetry: Symmetry, state: State, order: tuple[int, ...]) -> State:
    result = list(state)
    for column, source in zip(symmetry.columns, order, strict=True):
        for slot, from_ in zip(column, symmetry.columns[source], strict=True):
            result[slot] = state[from_]
    return tuple(result)


def _behaviour(exploration: Exploration, memory: Memory, state: State) -> Counter[tuple[str, str, Any]]:
    """What can be observed in a state: its steps, how they are judged, and what is true; without who is who."""
    model = exploration.model
    seen: Counter[tuple[str, str, Any]] = Counter()
    judging = [(claim.name, case.steps) for claim in _wanted(exploration) for case in claim.cases if case.steps]
    for action in model.actions:
        for writes in memory.steps(action, state):
            after = apply(model, writes, action.binding, padded(model, state))
            seen["action", action.name, exploration.key(after)] += 1
            for name, judges in judging:
                if action.index in judges:
                    judge = model.predicates[judges[action.index]]
                    seen["property", name, memory.holds(judge, state, after)] += 1
    for kind, name, numbers in _deciding(exploration):
        for number in numbers:
            seen[kind, name, memory.holds(model.predicates[number], state)] += 1
    return seen


def _wanted(exploration: Exploration) -> list[Property]:
    """The properties that this exploration decides."""
    wanted = exploration.settings.properties
    return [claim for n, claim in enumerate(exploration.model.properties) if wanted is None or n in wanted]


def _deciding(exploration: Exploration) -> Iterator[tuple[str, str, Iterable[int]]]:
    model = exploration.model
    for claim in _wanted(exploration):
        if claim.kind in {"always", "sometimes"}:
            yield "property", claim.name, [case.operands[0] for case in claim.cases]
    for number in model.constraints:
        yield "constraint", model.predicates[number].name, [number]
    for number in model.terminal:
        yield "terminal", model.predicates[number].name, [number]


def _different(model: Model, symmetry: Symmetry, before: Counter[Any], after: Counter[Any]) -> SpecError:
    (kind, name, _), *_ = ((before - after) or (after - before)).elements()
    what = "does something else" if kind == "action" else "says something else"
    instances = model.actions if kind == "action" else model.predicates
    line = next((line_of(each.routine.function) for each in instances if each.name.partition(" of ")[0] == name), "")
    return SpecError(
        f"{line}{': ' if line else ''}{symmetry.name}: the elements are declared interchangeable, but {kind} {name} "
        f"{what} when they change places; a value that names one of them, or code that looks at which one it has, "
        f"rules this out"
    )

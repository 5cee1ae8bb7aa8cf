"""Checks on what was remembered: a step that is not a function of what it reads would make every verdict worthless.

``audit`` runs some remembered executions of every routine again, and every action in some of the states (in fewer
where there are many actions: about a thousand executions in all), and compares; it looks whether a value was changed
after it became part of a state, and whether a step depends on the order of a set. ``advice`` tells the author which
actions are expensive, and why.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

from attractor.check.engine.execution import apply, outcomes_of, padded, steps
from attractor.check.engine.symmetry import prove_symmetry
from attractor.check.engine.trie import impure
from attractor.check.errors import ImpureStep, MutationError
from attractor.check.sandbox.set_order import other_orders, sites, turnable, turned_round

if TYPE_CHECKING:
    from attractor.check.engine.execution import Outcome
    from attractor.check.engine.exploration import Exploration
    from attractor.check.engine.model import Model, State
    from attractor.check.engine.trie import Sample, Tally

SAMPLE = 24
FEWEST = 8
STEPS_AGAIN = 1_000
TOO_OFTEN = 2_000


def audit(exploration: Exploration, seed: int = 0) -> None:
    """Raise ``ImpureStep`` or ``MutationError`` if a sample of the explored states tells that the tables are wrong."""
    model = exploration.model
    _audit_values(model)
    for prepare in model.before_audit:
        prepare()
    for tally in exploration.tallies.values():
        for sample in tally.samples:
            repeated = outcomes_of(model, sample.instance, sample.state, sample.after)
            if _meaning(model, sample, sample.outcomes) != _meaning(model, sample, repeated):
                raise impure(sample.instance)
    _audit_order(exploration)
    count = exploration.counts.distinct
    luck = random.Random(seed)  # noqa: S311 - a sample, not a secret
    states = max(FEWEST, min(SAMPLE, STEPS_AGAIN // max(1, len(model.actions))))
    for index in luck.sample(range(count), min(states, count)):
        remembered = Counter(exploration.successors(index))  # may show slots that no state had before
        state = exploration.state(index)
        again = Counter(_again(exploration, model, state))
        differing = next(iter((remembered - again) | (again - remembered)), None)
        if differing is not None:
            raise impure(model.actions[differing[0]])
    if exploration.settings.symmetry:
        prove_symmetry(exploration)


def _audit_order(exploration: Exploration) -> None:
    """Run what was sampled again with every set of the author's code in other orders: it must do the same.

    Steps of a world are not asked here: what they do in an order of their own is ours, and reconciles are asked apart.
    """
    model = exploration.model
    samples = [sample for tally in exploration.tallies.values() for sample in tally.samples]
    if model.is_composed:
        predicates = set(map(id, model.predicates))
        samples = [sample for sample in samples if id(sample.instance) in predicates]
    functions = turnable(*{id(each.instance.routine): each.instance.routine.function for each in samples}.values())
    for sample in samples:
        for _ in other_orders(all_small=True):
            with turned_round(functions):
                turned = outcomes_of(model, sample.instance, sample.state, sample.after)
            if not sites:
                break
            if Counter(_meaning(model, sample, sample.outcomes)) != Counter(_meaning(model, sample, turned)):
                raise ImpureStep(
                    f"{sites[-1]}: what {sample.instance.label} does depends on the order of a set, which is another "
                    f"one in each process; take its elements in order, as in `sorted(...)`, or let the checker try "
                    f"each: `self.choose(...)`"
                )


def _meaning(model: Model, sample: Sample, outcomes: list[Outcome]) -> list[State | int | None]:
    """The results of an execution, whether its references were virtual or real."""
    state = padded(model, sample.state)
    return [
        apply(model, each.leaf, sample.instance.binding, state) if isinstance(each.leaf, tuple) else each.leaf
        for each in outcomes
    ]


def _again(exploration: Exploration, model: Model, state: State) -> list[tuple[int, State]]:
    return [
        (action.index, exploration.key(apply(model, outcome.leaf, action.binding, state)))
        for action in model.actions
        for outcome in steps(model, action, state)
        if isinstance(outcome.leaf, tuple)
    ]


def _audit_values(model: Model) -> None:
    for domain in {id(slot.domain): slot.domain for slot in model.slots}.values():
        for number, value in enumerate(domain.values):
            if domain.ids.get(value) != number:
                raise MutationError(
                    f"a value of `{domain.name}` was changed after it became part of a state; it is now {value!r}; "
                    f"build a new value instead (a Record's `but`, a tuple, a frozenset)"
                )


def advice(model: Model, tallies: dict[str, Tally], distinct: int) -> list[str]:
    """What the author could change to be checked faster."""
    found = []
    for name in dict.fromkeys(action.name for action in model.actions):
        tally = tallies.get(name)
        if tally is None or tally.executed < TOO_OFTEN or tally.executed * 5 < distinct:
            continue
        found.append(
            f"action {name} was executed {tally.executed:,} times for {distinct:,} states, because it reads "
            f"{tally.widest} slots ({', '.join(tally.slots[:6])}{', ...' if len(tally.slots) > 6 else ''}); "
            f"read fewer, ask a `predicate`, or split a variable with `each`, `subset` or `fields`"
        )
    return found

"""What makes a claim of a world false at the end of a run: the object, the conjunct, the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check.report.evidence import why_false
from attractor.check.world.api.properties import StepClaim, actor_of
from attractor.check.world.api.state import Moment, WorldState
from attractor.check.world.simulation.slots import Sketch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.check.engine.model import State
    from attractor.check.trace import Trace
    from attractor.check.world.api.properties import Claim
    from attractor.check.world.simulation.model import Universe


def blame(universe: Universe, trace: Trace, states: Sequence[State]) -> tuple[str, ...]:
    """Why the claim that a trace breaks is false where it is; nothing where that cannot be said."""
    claim = next((each for each in universe.world.claims if each.name == trace.claim), None)
    if claim is None or (not isinstance(claim, StepClaim) and claim.word == "settles"):
        return ()
    if isinstance(claim, StepClaim):
        return _of_step(universe, claim, trace, states)
    return _of_state(universe, claim, trace, states)


def _of_step(universe: Universe, claim: StepClaim, trace: Trace, states: Sequence[State]) -> tuple[str, ...]:
    before, after = (look_at(universe, state) for state in states[-2:])
    last = trace.steps[-1]
    actor: tuple[Any, ...] = (actor_of(last.action, last.arguments),) if claim.tells_actor else ()
    found = why_false(claim.holds, before, after, *actor)
    return (f"In step {len(trace)}:", *found) if found else ()


def _of_state(universe: Universe, claim: Claim, trace: Trace, states: Sequence[State]) -> tuple[str, ...]:
    """In the last state; for what must come true in the end, in one to which the run comes back."""
    first = len(states) - 1 if trace.loop is None else trace.loop
    for number in range(len(states) - 1, first - 1, -1):
        for predicate in claim.predicates:
            found = why_false(predicate, look_at(universe, states[number]))
            if found:
                where = f"After step {number}" if number else "In the initial state"
                return (f"{where}{_how_long(trace)}:", *found)
    return ()


def _how_long(trace: Trace) -> str:
    if trace.loop is None:
        return ""
    return ", and for ever" if trace.loop == len(trace) else ", again and again"


def look_at(universe: Universe, state: State) -> WorldState:
    """A state of a world, as its claims see it."""
    sketch = Sketch(universe.model)
    slots = universe.model.slots
    sketch.values = {slot.index: slot.domain.values[number] for slot, number in zip(slots, state, strict=False)}
    return WorldState(Moment(universe, sketch))

"""A world taken step by step, with the events of each step; for stories, tables, comparisons and tests.

``outcomes`` are all ways in which an action can be taken in a state. ``Walk`` goes one way, by names:

    walk = Walk(world)
    walk.take("list", kind="Pair")
    walk.take("edit")
    while walk.can("go on"):
        walk.take("go on")
    assert walk.look(desired)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from attractor.check.engine.execution import apply, padded, steps
from attractor.check.errors import SpecError
from attractor.check.trace import TraceStep, changed_slots, plain
from attractor.check.world.api.state import Moment, WorldState
from attractor.check.world.simulation.slots import Sketch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attractor.check.engine.model import Instance, State
    from attractor.check.events import StepEvent
    from attractor.check.world.api.world import World
    from attractor.check.world.simulation.model import Universe

T = TypeVar("T")


class Taken(NamedTuple):
    """One outcome of an action in a state."""

    action: Instance
    arguments: dict[str, Any]
    """Its parameters, as JSON."""
    chosen: tuple[Any, ...]
    """What the step chose, as JSON."""
    events: tuple[StepEvent, ...]
    before: State
    after: State

    def step(self, universe: Universe) -> TraceStep:
        """The outcome as a step of a trace."""
        changed = {slot.name: plain(new) for slot, _, new in changed_slots(universe.model, self.before, self.after)}
        return TraceStep(self.action.name, self.arguments, self.chosen, changed)


def outcomes(universe: Universe, action: Instance, state: State) -> list[Taken]:
    """All outcomes of an action in a state, each with what happened in it; none where it cannot be taken."""
    runs: list[tuple[StepEvent, ...]] = []
    listening: list[StepEvent] = []
    model, stage = universe.model, universe.stage

    def ended() -> None:
        runs.append(tuple(listening))
        listening.clear()

    stage.on_note, universe.on_step = listening.append, ended
    try:
        found = steps(model, action, padded(model, state))
    finally:
        stage.on_note = universe.on_step = None
    before = padded(model, state)
    arguments = {name: plain(value) for name, value in action.arguments}
    taken = []
    for outcome, events in zip(found, runs, strict=True):
        if isinstance(outcome.leaf, tuple):
            after = apply(model, outcome.leaf, action.binding, before)
            chosen = tuple(plain(each) for each in outcome.chosen)
            taken.append(Taken(action, arguments, chosen, events, before, after))
    return taken


def look_at(universe: Universe, state: State) -> WorldState:
    """A state of a world, as its claims see it."""
    sketch = Sketch(universe.model)
    slots = universe.model.slots
    sketch.values = {slot.index: slot.domain.values[number] for slot, number in zip(slots, state, strict=False)}
    return WorldState(Moment(universe, sketch))


class Walk:
    """One run of a world, from its initial state."""

    def __init__(self, world: World) -> None:
        self.universe = world.compose()
        self._state: State = self.universe.model.initial[0]
        self.events: tuple[StepEvent, ...] = ()
        """What happened inside the last step."""

    def can(self, action: str, **arguments: Any) -> bool:
        """Whether such a step can be taken."""
        return next(self._ways(action, arguments), None) is not None

    def enabled(self) -> list[str]:
        """The labels of the steps that can be taken."""
        return [each.label for each in self.universe.model.actions if outcomes(self.universe, each, self._state)]

    def take(self, action: str, **arguments: Any) -> None:
        """Take the first such step; raises ``SpecError`` when there is none."""
        found = next(self._ways(action, arguments), None)
        if found is None:
            said = ", ".join(f"{name}={value}" for name, value in arguments.items())
            raise SpecError(f"{action}({said}) cannot be taken; there is: {', '.join(self.enabled()) or 'nothing'}")
        self._state, self.events = found.after, found.events

    def look(self, judge: Callable[[WorldState], T]) -> T:
        """What ``judge`` says of the world now."""
        return judge(look_at(self.universe, self._state))

    def _ways(self, action: str, arguments: dict[str, Any]) -> Iterator[Taken]:
        for each in self.universe.model.actions:
            said = dict(each.arguments)
            if each.name == action and all(said.get(name) == value for name, value in arguments.items()):
                yield from outcomes(self.universe, each, self._state)

"""A world walked by hand: one step at a time, by name; for tables, comparisons and tests.

walk = Walk(world)
walk.take("list", kind="Pair")
walk.take("edit")
while walk.can("go on"):
    walk.take("go on")
assert walk.look(desired)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from attractor.check.engine.execution import apply, padded, steps
from attractor.check.errors import SpecError
from attractor.check.world.api.state import Moment, WorldState
from attractor.check.world.simulation.slots import Sketch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attractor.check.engine.model import Instance, State
    from attractor.check.world.api.world import World
    from attractor.check.world.simulation.events import Note

T = TypeVar("T")


class Walk:
    """One run of a world, from its initial state."""

    def __init__(self, world: World) -> None:
        self.universe = world.compose()
        self._model = self.universe.model
        self._state: State = self._model.initial[0]
        self.notes: list[Note] = []
        """What happened inside the last step."""

    def can(self, action: str, **arguments: Any) -> bool:
        """Whether such a step can be taken."""
        return next(self._ways(action, arguments), None) is not None

    def enabled(self) -> list[str]:
        """The labels of the steps that can be taken."""
        found = ((each, self._outcomes(each)) for each in self._model.actions)
        return [each.label for each, outcomes in found if outcomes]

    def take(self, action: str, **arguments: Any) -> None:
        """Take the first such step; raises ``SpecError`` when there is none."""
        found = next(self._ways(action, arguments), None)
        if found is None:
            said = ", ".join(f"{name}={value}" for name, value in arguments.items())
            raise SpecError(f"{action}({said}) cannot be taken; there is: {', '.join(self.enabled()) or 'nothing'}")
        self._state, self.notes = found

    def look(self, judge: Callable[[WorldState], T]) -> T:
        """What somebody who looks at the world sees now."""
        sketch = Sketch(self._model)
        sketch.values = {
            slot.index: slot.domain.values[number] for slot, number in zip(self._model.slots, self._state, strict=False)
        }
        return judge(WorldState(Moment(self.universe, sketch)))

    def _ways(self, action: str, arguments: dict[str, Any]) -> Iterator[tuple[State, list[Note]]]:
        for each in self._model.actions:
            said = dict(each.arguments)
            if each.name == action and all(said.get(name) == value for name, value in arguments.items()):
                yield from self._outcomes(each)

    def _outcomes(self, action: Instance) -> list[tuple[State, list[Note]]]:
        runs: list[list[Note]] = []
        listening: list[Note] = []

        def ended() -> None:
            runs.append(list(listening))
            listening.clear()

        self.universe.stage.on_note, self.universe.on_step = listening.append, ended
        try:
            found = steps(self._model, action, padded(self._model, self._state))
        finally:
            self.universe.stage.on_note = self.universe.on_step = None
        state = padded(self._model, self._state)
        return [
            (apply(self._model, outcome.leaf, action.binding, state), notes)
            for outcome, notes in zip(found, runs, strict=True)
            if isinstance(outcome.leaf, tuple)
        ]

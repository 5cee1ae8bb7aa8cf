"""The steps of a world from a state, each taken only once for each state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.check.engine.execution import padded
from attractor.check.trace import plain
from attractor.check.world.simulation.walk import outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.engine.model import Instance, State
    from attractor.check.world.simulation.model import Universe
    from attractor.check.world.simulation.walk import Taken


class Stepper:
    """Takes the steps of a universe."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._model = universe.model
        self._actions: dict[str, list[Instance]] = {}
        for action in self._model.actions:
            self._actions.setdefault(action.name, []).append(action)
        self._known: dict[tuple[str, int, State], tuple[Taken, ...]] = {}

    def initial(self) -> list[State]:
        """Return the initial states of the world."""
        return [padded(self._model, state) for state in self._model.initial]

    def take(self, state: State, name: str, **arguments: str) -> Iterator[Taken]:
        """Every outcome of the actions of a name with these arguments (others may be anything)."""
        for number, action in enumerate(self._actions.get(name, ())):
            given = {key: plain(value) for key, value in action.arguments}
            if all(given.get(key) == value for key, value in arguments.items()):
                yield from self._outcomes(name, number, action, state)

    def _outcomes(self, name: str, number: int, action: Instance, state: State) -> tuple[Taken, ...]:
        key = name, number, padded(self._model, state)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = tuple(outcomes(self._universe, action, key[2]))
        return known

"""The steps of a world from a state, one by one, each with what happened in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.engine.execution import apply, padded, steps
from attractor.check.trace import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.engine.model import Instance, State
    from attractor.check.world.simulation.events import Note
    from attractor.check.world.simulation.model import Universe


class Taken(NamedTuple):
    """One possible outcome of an action in a state."""

    action: str
    arguments: dict[str, Any]
    notes: tuple[Note, ...]
    after: State


class Stepper:
    """Takes the steps of a universe with somebody listening, each only once for each state."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._model = universe.model
        self._actions: dict[str, list[Instance]] = {}
        for action in self._model.actions:
            self._actions.setdefault(action.name, []).append(action)
        self._known: dict[tuple[int, State], tuple[Taken, ...]] = {}

    @property
    def names(self) -> frozenset[str]:
        """The names of all actions."""
        return frozenset(self._actions)

    def initial(self) -> list[State]:
        """Return the initial states of the world."""
        return [padded(self._model, state) for state in self._model.initial]

    def take(self, state: State, name: str, **arguments: str) -> Iterator[Taken]:
        """Every outcome of the actions of a name with these arguments (others may be anything)."""
        for number, action in enumerate(self._actions.get(name, ())):
            given = {key: plain(value) for key, value in action.arguments}
            if all(given.get(key) == value for key, value in arguments.items()):
                yield from self._outcomes(number, name, action, given, state)

    def _outcomes(
        self, number: int, name: str, action: Instance, given: dict[str, Any], state: State
    ) -> tuple[Taken, ...]:
        key = hash((name, number)), padded(self._model, state)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = tuple(self._run(name, action, given, key[1]))
        return known

    def _run(self, name: str, action: Instance, given: dict[str, Any], state: State) -> Iterator[Taken]:
        runs: list[tuple[Note, ...]] = []
        listening: list[Note] = []
        stage = self._universe.stage

        def ended() -> None:
            runs.append(tuple(listening))
            listening.clear()

        stage.on_note, self._universe.on_step = listening.append, ended
        try:
            outcomes = list(steps(self._model, action, state))
        finally:
            stage.on_note = self._universe.on_step = None
        for outcome, notes in zip(outcomes, runs, strict=True):
            if isinstance(outcome.leaf, tuple):
                after = apply(self._model, outcome.leaf, action.binding, padded(self._model, state))
                yield Taken(name, given, notes, padded(self._model, after))

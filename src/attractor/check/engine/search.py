"""The Python engine: breadth-first search over interned states. It is the oracle of the native engine's tests, and the
engine where no compiler was at hand.

Action instances are grouped by the slot that they read first, so that in a state only those are walked which that
slot's value does not already rule out.
"""

from __future__ import annotations

import time
from array import array
from typing import TYPE_CHECKING, Any

from attractor.check.engine.execution import apply, padded
from attractor.check.engine.exploration import DEADLOCK, OUTSIDE, Counts, Finding, Graph, Progress, Settings
from attractor.check.engine.symmetry import canonical_form
from attractor.check.engine.trie import Memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.check.engine.model import Instance, Model, State


LIMIT_CHECK_EVERY = 2048


class Search:
    """One exploration by the Python engine."""

    def __init__(self, model: Model, settings: Settings | None = None) -> None:
        self.model = model
        self.settings = settings or Settings()
        self.memory = Memory(model)
        self.tallies = self.memory.tallies
        self.counts = Counts(taken=[0] * len(model.actions))
        self.bound: str | None = None
        self.findings: dict[tuple[int, int], Finding] = {}
        self.reduced = self.settings.symmetry
        self._index: dict[State, int] = {}
        self._states: list[State] = []
        self._parents = array("q")
        self._level_low = 0
        self._width = len(model.slots)
        self._canonical: Callable[[State], State] | None = canonical_form(model) if self.settings.symmetry else None
        self._candidates: dict[tuple[int, int], list[Instance]] = {}
        self._groups: dict[int, list[Instance]] = {}
        self._ungrouped: list[Instance] = list(model.actions)
        wanted = self.settings.properties
        chosen = [(n, p) for n, p in enumerate(model.properties) if wanted is None or n in wanted]
        self._invariants = [
            (n, c, case.operands[0], p.kind == "always")
            for n, p in chosen
            if p.kind in {"always", "sometimes"}
            for c, case in enumerate(p.cases)
        ]
        self._judges = [(n, case.steps) for n, p in chosen if p.kind in {"always_step", "refines"} for case in p.cases]

    # What the contract promises

    def state(self, index: int) -> State:
        """The state with that index."""
        return padded(self.model, self._states[index])

    def parent(self, index: int) -> int | None:
        """The state from which it was first reached."""
        parent = self._parents[index]
        return None if parent < 0 else parent

    def initial(self) -> list[int]:
        """The indices of the initial states."""
        return [index for index, parent in enumerate(self._parents) if parent < 0]

    def successors(self, index: int) -> list[tuple[int, State]]:
        """The remembered steps out of a state: (action instance, state)."""
        return [(action.index, self.key(after)) for action, after in self._successors(self.state(index))]

    def graph(self) -> Graph:
        """Every step between explored states."""
        offsets, targets, actions = array("Q", [0]), array("L"), array("L")
        for index in range(len(self._states)):
            for action, after in self._successors(self.state(index)):
                actions.append(action.index)
                targets.append(self._index.get(self.key(after), OUTSIDE))
            offsets.append(len(targets))
        return Graph(offsets, targets, actions)

    def mask(self, predicate: int, within: bytearray | None = None) -> bytearray:
        """For each state (only those ``within``, the others get 0), whether the predicate is true there."""
        instance = self.model.predicates[predicate]
        return bytearray(
            (within is None or within[index]) and self.memory.holds(instance, self.state(index))
            for index in range(len(self._states))
        )

    # The search

    def run(self) -> Search:
        """Explore until nothing is new or a limit is reached."""
        started = time.monotonic()
        self._start()
        low = 0
        try:
            while low < len(self._states) and not self.bound:
                self.counts.depth += 1
                high = len(self._states)
                self._level_low = low
                self.counts.levels.append(high - low)
                self._level(started, low, high)
                low = high
        except KeyboardInterrupt:
            self.bound = "interrupted"
        self.counts.distinct = len(self._states)
        return self

    def _start(self) -> None:
        for state in self.model.initial:
            self.counts.generated += 1
            self._meet(state, -1, None)

    def _level(self, started: float, low: int, high: int) -> None:
        last = self.counts.depth == self.settings.max_depth
        for index in range(low, high):
            self._visit(index, expand=not last)
            if not (index + 1 - low) % LIMIT_CHECK_EVERY:
                self._check_limits(started, len(self._states) - index)
                if self.bound:
                    return
        if last and any(self._successors(self.state(index)) for index in range(low, high)):
            self.bound = f"depth {self.counts.depth}"
        self._check_limits(started, len(self._states) - high)

    def _check_limits(self, started: float, frontier: int) -> None:
        seconds = time.monotonic() - started
        counts, settings = self.counts, self.settings
        counts.distinct = len(self._states)
        if settings.on_progress:
            settings.on_progress(Progress(counts.distinct, counts.generated, counts.depth, frontier, seconds))
        if self.bound is None and frontier:
            self.bound = settings.limit_reached(counts.distinct, seconds, self.table_bytes(), violated=self._violated())

    def table_bytes(self) -> int:
        """The memory that the states take, estimated: a tuple, its place in a list and in a dictionary."""
        return len(self._states) * (8 * len(self.model.slots) + 160)

    def _violated(self) -> bool:
        kinds = [p.kind for p in self.model.properties]
        return any(prop == DEADLOCK or kinds[prop] != "sometimes" for prop, _ in self.findings)

    def _visit(
        self, index: int, *, expand: bool, count: bool = True, insert: bool = True
    ) -> list[tuple[Instance, State]]:
        """Judge a state, and its steps if they are to be taken; return the steps."""
        state = self.state(index)
        self._judge_state(state, Finding(index))
        if not expand:
            return []
        successors = self._successors(state)
        for action, after in successors:
            self.counts.generated += count
            self.counts.taken[action.index] += count
            for prop, judges in self._judges:
                judge = judges.get(action.index)
                if judge is None or (prop, 0) in self.findings:
                    continue
                if not self.memory.holds(self.model.predicates[judge], state, after):
                    self.findings[prop, 0] = Finding(index, action.index, after)
            if insert:
                self._meet(after, index, action)
        if not successors and self.settings.deadlock and not self._may_stop(state):
            self.findings.setdefault((DEADLOCK, 0), Finding(index))
        return successors

    def _may_stop(self, state: State) -> bool:
        return any(self.memory.holds(self.model.predicates[each], state) for each in self.model.terminal)

    def _judge_state(self, state: State, finding: Finding) -> None:
        for prop, case, predicate, expected_always in self._invariants:
            known = self.findings.get((prop, case))
            if known is not None and not self._is_nearer(finding, known):
                continue
            if self.memory.holds(self.model.predicates[predicate], state) is not expected_always:
                self.findings[prop, case] = finding

    def _is_nearer(self, finding: Finding, known: Finding) -> bool:
        """In one level, a state that decides something is one step nearer than a step that does."""
        return finding.after is None and known.after is not None and known.state >= self._level_low

    def _meet(self, state: State, parent: int, action: Instance | None) -> None:
        if not all(self.memory.holds(self.model.predicates[each], state) for each in self.model.constraints):
            if parent >= 0 and action is not None:
                self._judge_state(state, Finding(parent, action.index, state))
            return
        if self._width != len(self.model.slots):
            self._widen()
        key = self.key(padded(self.model, state))
        if key not in self._index:
            self._index[key] = len(self._states)
            self._states.append(key)
            self._parents.append(parent)

    def _widen(self) -> None:
        """Give every known state the slots that were added meanwhile."""
        self._width = len(self.model.slots)
        self._states = [padded(self.model, state) for state in self._states]
        self._index = {state: index for index, state in enumerate(self._states)}

    def key(self, state: State) -> State:
        """The representative under which ``state`` is known."""
        return self._canonical(state) if self._canonical else state

    def _successors(self, state: State) -> list[tuple[Instance, State]]:
        found: list[tuple[Instance, Any]] = []
        for instance in self._relevant(state):
            found += [(instance, writes) for writes in self.memory.steps(instance, state)]
        if len(self.model.slots) > len(state):
            return self._successors(padded(self.model, state))
        found.sort(key=lambda pair: pair[0].index)
        return [(instance, apply(self.model, writes, instance.binding, state)) for instance, writes in found]

    def _relevant(self, state: State) -> list[Instance]:
        """The instances that the first-read slots do not rule out in ``state``."""
        relevant = []
        for instance in list(self._ungrouped):
            self.memory.steps(instance, state)
            slot = self.memory.first_read(instance)
            if slot is None:
                relevant.append(instance)
            else:
                self._ungrouped.remove(instance)
                self._groups.setdefault(slot, []).append(instance)
                self._candidates = {key: value for key, value in self._candidates.items() if key[0] != slot}
        state = padded(self.model, state)
        for slot, group in self._groups.items():
            known = self._candidates.get((slot, state[slot]))
            if known is None:
                for instance in group:
                    self.memory.steps(instance, state)
                known = [each for each in group if not self.memory.never_enabled(each, state[slot])]
                self._candidates[slot, state[slot]] = known
            relevant += known
        return relevant

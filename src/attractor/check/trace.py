"""A counterexample (or a witness) as an artefact: steps with action, parameters and what changed; a loop for a lasso.

A trace is data: it goes to JSON and back without the specification at hand, and prints step by step with only what
changed. ``loop`` is the number of the state (0 is the initial one) that the last step returns to; where it equals the
number of steps, the run stays in its last state for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from attractor.check.engine.execution import apply, padded, steps
from attractor.check.errors import SpecError
from attractor.check.spec.values import Bag

if TYPE_CHECKING:
    from attractor.check.engine.exploration import Exploration, Finding
    from attractor.check.engine.model import Instance, Model, Slot, State

Plain = Any


def plain(value: Any) -> Plain:
    """The value as JSON can hold it: records, named tuples, maps and other objects by their parts, sets as
    sorted lists, the rest by text."""
    if value is None or (isinstance(value, bool | int | float | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return value.name
    if hasattr(value, "__plain__"):
        return value.__plain__()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return [plain(each) for each in sorted(value, key=repr)]
    if isinstance(value, tuple) and (names := getattr(type(value), "_fields", ())):
        return {name: plain(each) for name, each in zip(names, value, strict=True)}
    if isinstance(value, tuple | list | Bag):
        return [plain(each) for each in value]
    if (
        getattr(type(value), "__repr__", None) is object.__repr__
    ):  # that would say where it is in memory, and not what it is
        return {name: plain(each) for name, each in getattr(value, "__dict__", {}).items()} or type(value).__name__
    return repr(value)


@dataclass(frozen=True)
class TraceStep:
    """One step of a trace: the action, its parameters, what it chose, and what it changed."""

    action: str
    """The action's name."""
    arguments: dict[str, Plain]
    """Its parameters."""
    chosen: tuple[Plain, ...]
    """What ``choose`` picked, in order."""
    changed: dict[str, Plain]
    """The changed variables, with their new values."""

    @property
    def label(self) -> str:
        """``action(value, ...)``, followed by what was chosen."""
        arguments = f"({', '.join(short(each) for each in self.arguments.values())})" if self.arguments else ""
        chosen = f": {', '.join(short(each) for each in self.chosen)}" if self.chosen else ""
        return f"{self.action}{arguments}{chosen}"


@dataclass(frozen=True)
class Trace:
    """A counterexample or witness: a finite run, or one that ends in a loop. It goes to JSON and back."""

    spec: str
    """What was checked, by name."""
    claim: str
    """The property that it decides, by name."""
    initial: dict[str, Plain]
    """The initial state."""
    steps: tuple[TraceStep, ...]
    """The steps."""
    loop: int | None = None
    """The number of the state (0 is the initial one) that the last step returns to; the number of steps where the run
    stays in its last state for ever; ``None`` without a loop.
    """

    def __len__(self) -> int:
        """The number of steps."""
        return len(self.steps)

    def __bool__(self) -> bool:
        """A trace is there even if it has no step."""
        return True

    @property
    def actions(self) -> tuple[str, ...]:
        """The labels of the steps."""
        return tuple(step.label for step in self.steps)

    def states(self) -> Iterator[dict[str, Plain]]:
        """Every state along the run, complete."""
        state = dict(self.initial)
        yield dict(state)
        for step in self.steps:
            state.update(step.changed)
            yield dict(state)

    def to_json(self) -> dict[str, Any]:
        """The trace as a JSON object."""
        return {
            "spec": self.spec,
            "property": self.claim,
            "initial": self.initial,
            "steps": [
                {"action": s.action, "arguments": s.arguments, "chosen": list(s.chosen), "changed": s.changed}
                for s in self.steps
            ],
            "loop": self.loop,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Trace:
        """The trace that ``to_json`` wrote; raises ``SpecError`` for anything else."""
        try:
            run = tuple(TraceStep(s["action"], s["arguments"], tuple(s["chosen"]), s["changed"]) for s in data["steps"])
            return cls(data["spec"], data["property"], data["initial"], run, data["loop"])
        except KeyError as problem:
            raise SpecError(f"this is not a trace: it has no {problem}; `attractor check` writes traces") from None
        except TypeError as problem:
            raise SpecError(f"this is not a trace: {problem}; `attractor check` writes traces") from None

    def text(self) -> str:
        """The run for a terminal: each step with what it changed."""
        lines = [f"{self.claim}: {len(self.steps)} steps of {self.spec}", "  0. initially"]
        lines += [f"       {name} = {short(value)}" for name, value in self.initial.items()]
        state = dict(self.initial)
        for number, step in enumerate(self.steps, 1):
            lines.append(f"  {number}. {step.label}")
            for name, value in step.changed.items():
                lines += [f"       {line}" for line in difference(name, state.get(name), value)]
            state.update(step.changed)
        if self.loop is not None:
            lines.append(loop_text(self.loop, len(self.steps)))
        return "\n".join(lines)


def loop_text(loop: int, count: int) -> str:
    """How the run goes on after its last step."""
    if loop == count:
        return "  and then nothing more happens, for ever"
    return f"  and then again from the state after step {loop}, for ever"


def short(value: Plain) -> str:
    """A value in one line; a text without quotes, unless it could be taken for something else."""
    if isinstance(value, str) and not _looks_otherwise(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _looks_otherwise(text: str) -> bool:
    """Whether a text without quotes would read as nothing, a number, a truth, a list or a record."""
    if text != text.strip() or not text:
        return True
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def difference(name: str, before: Plain, after: Plain) -> Iterator[str]:
    """One line for each part of ``name`` that changed: ``name.part: before -> after``."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in after:
            if before[key] != after[key]:
                yield from difference(f"{name}.{key}", before[key], after[key])
        if before == after:
            yield f"{name}: {short(after)}, of another type"
    else:
        yield f"{name}: {short(before)} -> {short(after)}"


def changed_slots(model: Model, before: State, after: State) -> Iterator[tuple[Slot, Any, Any]]:
    """Each slot that differs, with its value before and after."""
    for slot, old, new in zip(model.slots, padded(model, before), padded(model, after), strict=True):
        if old != new:
            yield slot, slot.domain.values[old], slot.domain.values[new]


class Tracer:
    """Finds the steps between known states again, by running the actions in Python."""

    def __init__(self, exploration: Exploration, spec: str) -> None:
        self._exploration = exploration
        self._model: Model = exploration.model
        self._spec = spec

    def to(self, finding: Finding, name: str) -> Trace:
        """The shortest run to a finding."""
        path = self.path(finding.state)
        extra = [(finding.action, padded(self._model, finding.after))] if finding.after is not None else []
        taken = [None, *(self._taken(before, after) for before, after in pairwise(path))]
        states = [self._exploration.state(index) for index in path]
        return self.build(name, [*zip(taken, states, strict=True), *extra])

    def _taken(self, before: int, after: int) -> int | None:
        """The first action that is remembered to lead from one state to the other; None where it is not known."""
        if self._exploration.reduced:
            return None
        remembered = self._exploration.successors(before)
        target = self._exploration.state(after)
        return min((action for action, state in remembered if state == target), default=None)

    def path(self, index: int) -> list[int]:
        """The states from an initial one to ``index``, each found first by its predecessor."""
        path = [index]
        while (parent := self._exploration.parent(path[-1])) is not None:
            path.append(parent)
        return path[::-1]

    def build(self, name: str, run: Sequence[tuple[int | None, State]], loop: int | None = None) -> Trace:
        """A trace along ``run``: pairs of the action taken (None: any that fits) and the state it leads to."""
        current = self._start(run[0][1])
        initial = self._values(current)
        found = []
        for action, target in run[1:]:
            step, current = self._step(current, action, target)
            found.append(step)
        return Trace(self._spec, name, initial, tuple(found), loop)

    def _start(self, target: State) -> State:
        for state in self._model.initial:
            if self._exploration.key(state) == self._exploration.key(target):
                return state
        return target

    def _step(self, state: State, wanted: int | None, target: State) -> tuple[TraceStep, State]:
        goal = self._exploration.key(target)
        candidates: Iterable[Instance] = (
            self._model.actions if wanted is None or self._exploration.reduced else [self._model.actions[wanted]]
        )
        for action in candidates:
            for outcome in steps(self._model, action, state):
                if isinstance(outcome.leaf, tuple):
                    after = apply(self._model, outcome.leaf, action.binding, state)
                    if self._exploration.key(after) == goal:
                        return self._describe(action, outcome.chosen, state, after), after
        raise SpecError(
            f"{self._spec}: a step of the trace cannot be found again; some action is not a function of what it reads"
        )

    def _describe(self, action: Instance, chosen: tuple[Any, ...], before: State, after: State) -> TraceStep:
        changed = {slot.name: plain(new) for slot, _, new in changed_slots(self._model, before, after)}
        arguments = {name: plain(value) for name, value in action.arguments}
        return TraceStep(action.name, arguments, tuple(plain(each) for each in chosen), changed)

    def _values(self, state: State) -> dict[str, Plain]:
        return {
            slot.name: plain(slot.domain.values[number]) for slot, number in zip(self._model.slots, state, strict=True)
        }

"""The oracle's oracle: enumerate a specification with nothing remembered, interned or shared, and search lassos by force.

It uses the vocabulary's declarations but neither the engines nor the tracking: a state is a plain dictionary, a step
is the author's function run on a copy of it, once for each sequence of choices.
"""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attractor.check.errors import Disabled
from attractor.check.spec import declarations as words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from attractor.check.spec.spec import Spec

Frozen = tuple[tuple[str, Any], ...]


class Box:
    """The view of a step on a dictionary of values, addressed by (variable, key)."""

    def __init__(self, values: dict[Any, Any], script: list[int]) -> None:
        self.values = values
        self.script = script
        self.widths: list[int] = []

    def read(self, ref: Any) -> Any:
        return self.values[ref]

    def is_written(self, ref: Any) -> bool:
        return ref in self.values

    def write(self, ref: Any, value: Any) -> None:
        self.values[ref] = value

    def key_ref(self, family: str, key: Any) -> Any:
        return (family, key)

    def has_written(self) -> bool:
        return True

    def choose(self, options: Iterable[Any]) -> Any:
        ordered = tuple(sorted(options, key=repr)) if isinstance(options, set | frozenset) else tuple(options)
        if not ordered:
            raise Disabled
        place = len(self.widths)
        self.widths.append(len(ordered))
        return ordered[self.script[place] if place < len(self.script) else 0]


def next_script(script: list[int], widths: list[int]) -> list[int] | None:
    full = script + [0] * (len(widths) - len(script))
    for place in reversed(range(len(widths))):
        if full[place] + 1 < widths[place]:
            return [*full[:place], full[place] + 1]
    return None


@dataclass
class Enumeration:
    """Everything reachable, by brute force."""

    states: list[Frozen] = field(default_factory=list)
    edges: list[list[tuple[str, tuple[Any, ...], int]]] = field(default_factory=list)
    generated: int = 0
    depth: int = 0
    initial: list[int] = field(default_factory=list)


class Naive:
    """A specification, enumerated."""

    def __init__(self, spec: Spec) -> None:
        self.spec = type(spec)(**spec.constants)
        self.start: dict[Any, Any] = {}
        layout = self.spec.__dict__["layout"]
        for name, variable in self.spec.of(words.Variable):
            if isinstance(variable, words.MapVariable):
                keys = words.elements(variable.keys, self.spec)
                layout[name] = (name, keys)
                for key in keys:
                    initial = variable.initial
                    self.start[name, key] = initial(key) if callable(initial) else initial
            else:
                layout[name] = name
                initial = variable.initial
                self.start[name] = initial(self.spec) if callable(initial) else initial
        self.actions = [
            (name, tuple(arguments), declared.function)
            for name, declared in self.spec.of(words.Action)
            for arguments in itertools.product(*(words.elements(s, self.spec) for s in declared.over.values()))
        ]

    def runs(self, function: Callable[..., Any], arguments: tuple[Any, ...], state: Frozen) -> Iterator[Frozen]:
        script: list[int] | None = []
        while script is not None:
            box = Box(dict(state), script)
            self.spec.__dict__["view"] = box
            try:
                if function(self.spec, *arguments) is not False:
                    yield freeze(box.values)
            except Disabled:
                pass
            script = next_script(script, box.widths)

    def truth(self, function: Callable[..., Any], state: Frozen, *arguments: Any) -> bool:
        self.spec.__dict__["view"] = Box(dict(state), [])
        return bool(function(self.spec, *arguments))

    def constrained(self, state: Frozen) -> bool:
        return all(self.truth(c.function, state) for _, c in self.spec.of(words.Constraint))

    def enumerate(self) -> Enumeration:
        found = Enumeration()
        index: dict[Frozen, int] = {}
        starts = [freeze(self.start)]
        for _, declared in self.spec.of(words.Initial):
            starts = [after for state in starts for after in self.runs(declared.function, (), state)]
        frontier = []
        for state in dict.fromkeys(starts):
            found.generated += 1
            if self.constrained(state):
                index[state] = len(found.states)
                found.initial.append(len(found.states))
                found.states.append(state)
                frontier.append(state)
        while frontier:
            found.depth += 1
            following = []
            for state in frontier:
                out = []
                for name, arguments, function in self.actions:
                    for after in self.runs(function, arguments, state):
                        found.generated += 1
                        if not self.constrained(after):
                            out.append((name, arguments, -1))
                            continue
                        if after not in index:
                            index[after] = len(found.states)
                            found.states.append(after)
                            following.append(after)
                        out.append((name, arguments, index[after]))
                found.edges.append(out)
            frontier = following
        return found


def freeze(values: dict[Any, Any]) -> Frozen:
    return tuple(sorted(values.items(), key=lambda item: repr(item[0])))


Condition = tuple[frozenset[tuple[str, tuple[Any, ...]]], bool]


def has_fair_run(
    found: Enumeration,
    fairness: list[Condition],
    allowed: set[int],
    starts: set[int],
    visit: set[int] | None = None,
) -> bool:
    """Whether a fair run starts somewhere in ``starts`` and stays in ``allowed``: try every set of states as its loop."""
    reachable = reach(found, starts & allowed, allowed)
    moves = {s: [(n, a, t) for n, a, t in found.edges[s] if t != s] for s in range(len(found.states))}
    for size in range(1, len(reachable) + 1):
        for loop in map(set, itertools.combinations(sorted(reachable), size)):
            if visit is not None and not loop & visit:
                continue
            if strongly_connected(found, loop) and all(is_fair(moves, loop, each) for each in fairness):
                return True
    return False


def is_fair(moves: dict[int, list[tuple[str, tuple[Any, ...], int]]], loop: set[int], condition: Condition) -> bool:
    group, strong = condition
    enabled = [any((n, a) in group for n, a, _ in moves[s]) for s in loop]
    taken = any((n, a) in group and t in loop for s in loop for n, a, t in moves[s])
    return taken or (not any(enabled) if strong else not all(enabled))


def reach(found: Enumeration, sources: set[int], within: set[int]) -> set[int]:
    seen = set(sources)
    queue = deque(sources)
    while queue:
        for _, _, target in found.edges[queue.popleft()]:
            if target in within and target not in seen:
                seen.add(target)
                queue.append(target)
    return seen


def strongly_connected(found: Enumeration, loop: set[int]) -> bool:
    return all(reach(found, {state}, loop) == loop for state in loop)

"""The contract of the engines: what to explore within which limits, and what an exploration knows afterwards.

Counts are TLC's: *generated* is the number of initial states plus one for each way an enabled action instance can be
taken in a reached state, steps that change nothing included; *distinct* is the number of different states; *depth* is
the number of levels of a breadth-first search, the initial states being level 1. Every engine gives the same three.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable

    from attractor.check.engine.model import Model, State
    from attractor.check.engine.trie import Tally

DEADLOCK = -1


class Progress(NamedTuple):
    """Progress of an exploration."""

    distinct: int
    generated: int
    depth: int
    frontier: int
    seconds: float


@dataclass(frozen=True)
class Settings:
    """Settings of an exploration: its limits, and what it must look for."""

    threads: int = 1
    max_depth: int | None = None
    max_states: int | None = None
    max_seconds: float | None = None
    memory_bytes: int | None = None
    symmetry: bool = False
    deadlock: bool = True
    stop_at_first: bool = False
    edges: bool = False
    """Whether the graph will be asked for: it is then noted on the way, where that costs less."""
    properties: frozenset[int] | None = None
    logs: bool = False
    """Whether every execution of a routine is kept, for a certificate."""
    on_progress: Callable[[Progress], None] | None = None

    def limit_reached(self, distinct: int, seconds: float, used_bytes: int, *, violated: bool) -> str | None:
        """The bound that stops a search which has come so far, in the words of the verdict."""
        if self.max_states is not None and distinct >= self.max_states:
            return f"{self.max_states} states"
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return f"{self.max_seconds:g} seconds"
        if self.memory_bytes is not None and used_bytes > self.memory_bytes:
            return f"{self.memory_bytes} bytes of memory"
        return "first violation" if self.stop_at_first and violated else None


class Finding(NamedTuple):
    """A state that decides a property: a violation, or the witness of a ``sometimes``.

    ``state`` is an index of the exploration. Where ``after`` is given, the decision falls with one more step, by
    ``action`` (an instance's index), to the state ``after``, which need not be part of the model.
    """

    state: int
    action: int | None = None
    after: State | None = None


@dataclass
class Graph:
    """The edges of an explored graph: those of state ``i`` are ``offsets[i]`` to ``offsets[i + 1]``.

    Steps that leave the constraint have target ``OUTSIDE``.
    """

    offsets: array[int]
    targets: array[int]
    actions: array[int]


OUTSIDE = 0xFFFFFFFF


@dataclass
class Counts:
    """Counts of an exploration; ``taken`` and ``fresh`` (new states found) are for each action instance."""

    distinct: int = 0
    generated: int = 0
    depth: int = 0
    taken: list[int] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)


class Exploration(Protocol):
    """A finished (or stopped) exploration."""

    model: Model
    counts: Counts
    bound: str | None
    findings: dict[tuple[int, int], Finding]
    reduced: bool
    settings: Settings
    tallies: dict[str, Tally]

    def key(self, state: State) -> State:
        """The state under which ``state`` is known: itself, or its representative if keys are interchangeable."""
        ...

    def state(self, index: int) -> State:
        """The state with that index, in the order of discovery."""
        ...

    def parent(self, index: int) -> int | None:
        """The state from which it was first reached; None for an initial state."""
        ...

    def table_bytes(self) -> int:
        """The memory that the states take, with their predecessors and the index over them."""
        ...

    def initial(self) -> list[int]:
        """The indices of the initial states."""
        ...

    def successors(self, index: int) -> list[tuple[int, State]]:
        """The remembered steps out of a state: (action instance, state)."""
        ...

    def graph(self) -> Graph:
        """Every step between explored states."""
        ...

    def mask(self, predicate: int, within: bytearray | None = None) -> bytearray:
        """For each state, one byte: whether the predicate is true there; 0 outside ``within``, where nobody looks."""
        ...

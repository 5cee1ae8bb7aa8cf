"""Other orders than breadth-first, on the Python engine: depth-first search, and random walks (simulation).

Depth-first search finds a violation deep down sooner, with a longer trace; it explores the same states. A simulation
follows random runs from the initial states; with one seed it takes the same runs each time. It shows violations and
nothing else: its verdict is never *holds*.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from attractor.check.engine.search import Search

if TYPE_CHECKING:
    from attractor.check.engine.exploration import Settings
    from attractor.check.engine.model import Model


class DepthFirst(Search):
    """Depth-first search; ``depth`` counts the levels of the longest path followed."""

    _deepest: str | None = None

    def run(self) -> DepthFirst:
        """Explore until nothing is new or a limit is reached."""
        started = time.monotonic()
        self._start()
        stack = [(index, 1) for index in reversed(range(len(self._states)))]
        at: dict[int, int] = {}
        try:
            while stack and self.bound is None:
                index, depth = stack.pop()
                if index in at and (self.settings.max_depth is None or at[index] <= depth):
                    continue
                fresh = index not in at
                at[index] = depth
                self.counts.depth = max(self.counts.depth, depth)
                last = depth == self.settings.max_depth
                self._visit(index, expand=not last, count=fresh)
                after = [self._index.get(self.key(state)) for _, state in self._successors(self.state(index))]
                if last and after:
                    self._deepest = f"depth {depth}"
                elif not last:
                    stack += [(target, depth + 1) for target in reversed(after) if target is not None]
                if not len(at) % 1024:
                    self._check_limits(started, len(stack))
        except KeyboardInterrupt:
            self.bound = "interrupted"
        self.bound = self.bound or self._deepest
        self.counts.distinct = len(self._states)
        return self


class Simulation(Search):
    """Random runs of at most ``depth`` steps; ``distinct`` counts the states that they met."""

    def __init__(self, model: Model, settings: Settings, *, runs: int, depth: int, seed: int) -> None:
        super().__init__(model, settings)
        self._runs, self._depth, self._seed = runs, depth, seed

    def run(self) -> Simulation:
        """Take the runs."""
        started = time.monotonic()
        luck = random.Random(self._seed)  # noqa: S311 - reproducible by its seed, on purpose
        self._start()
        starts = len(self._states)
        self.bound = f"{self._runs} random runs of {self._depth} steps, seed {self._seed}"
        try:
            for number in range(self._runs):
                self._walk(luck, luck.randrange(starts))
                if self.settings.on_progress and not number % 64:
                    self._check_limits(started, 0)
        except KeyboardInterrupt:
            self.bound = f"interrupted; {self.bound}"
        self.counts.distinct = len(self._states)
        return self

    def _walk(self, luck: random.Random, index: int) -> None:
        for level in range(1, self._depth + 1):
            self.counts.depth = max(self.counts.depth, level)
            successors = self._visit(index, expand=True, insert=False)
            if not successors:
                return
            action, after = luck.choice(successors)
            self._meet(after, index, action)
            target = self._index.get(self.key(after))
            if target is None:
                return
            index = target

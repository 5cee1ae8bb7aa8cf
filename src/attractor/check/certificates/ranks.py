"""Ranks: why no fair run breaks a promise, as one number for each state.

A state's rank says two things: ``rank // kinds`` how far it is from where the promise is safe, ``rank % kinds`` what
will bring it nearer: the number of a fairness condition (the *helpful* one), or ``conditions`` for nothing at all.

- No step raises the rank.
- In a state with a helpful condition that condition is enabled, and its steps lower the rank (or leave the region).

So a run has one rank from some point on; if that has a helpful condition, it stays enabled and is never taken, and the
run is not fair. What is left are runs that end in ranks without a helpful condition. In a *region* (states that still
owe something: ``eventually``, ``leads_to``, ...) there are none of these. In the *end* column (``eventually_always``,
``settles``), which ranks all states, the promise is true there (or never changes from one to the next).

Strong fairness is used as if it were weak, which promises less; what needs it cannot be certified.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from attractor.check.engine.exploration import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attractor.check.engine.exploration import Graph
    from attractor.check.engine.model import Fairness


class NotCertified(Exception):
    """A verdict that holds, and of which no certificate can be written; the text says why."""


class Ranking:
    """The graph of all steps, with fairness conditions, ready to be ranked."""

    def __init__(self, graph: Graph, actions: int, fairness: Sequence[Fairness]) -> None:
        self.size = len(graph.offsets) - 1
        self._offsets, self._targets, self._actions = graph.offsets, graph.targets, graph.actions
        self._conditions: list[tuple[int, ...]] = [()] * actions
        for number, condition in enumerate(fairness):
            for instance in condition.instances:
                self._conditions[instance] = (*self._conditions[instance], number)
        self.strong = [condition.name for condition in fairness if condition.strong]
        self.conditions = len(fairness)
        self.kinds = len(fairness) + 1

    def ranks(self, region: bytearray | None = None) -> tuple[array[int], list[list[int]]]:
        """The rank of each state (0 outside the region), and the components that have no helpful condition."""
        ranks = array("I", bytes(4 * self.size))
        fair: list[list[int]] = []
        for component in self._components(region):
            rank = self._rank(component, ranks, region)
            if rank % self.kinds == self.conditions:
                fair.append(component)
            for state in component:
                ranks[state] = rank
        return ranks, fair

    def why_not(self) -> str:
        """Why there is a fair run under weak fairness alone."""
        return f"it rests on strong fairness ({', '.join(self.strong[:3])}), for which there is no rank"

    def reachable(self, starts: bytearray, within: bytearray) -> bytearray:
        """The states that runs reach from ``starts`` without leaving ``within``."""
        found = bytearray(self.size)
        waiting = [state for state in range(self.size) if starts[state] and within[state]]
        for state in waiting:
            found[state] = 1
        while waiting:
            for target in self._successors(waiting.pop()):
                if target != OUTSIDE and within[target] and not found[target]:
                    found[target] = 1
                    waiting.append(target)
        return found

    def _successors(self, state: int) -> array[int]:
        return self._targets[self._offsets[state] : self._offsets[state + 1]]

    def _rank(self, component: list[int], ranks: array[int], region: bytearray | None) -> int:
        """The lowest rank that a component can have; those of all components that it leads to are known."""
        members = set(component)
        least: dict[int, int] = {}
        lowest, taken = self.kinds, set[int]()
        always: set[int] | None = None
        for state in component:
            enabled: set[int] = set()
            for edge in range(self._offsets[state], self._offsets[state + 1]):
                target = self._targets[edge]
                if target == state:
                    continue
                conditions = self._conditions[self._actions[edge]]
                enabled.update(conditions)
                if target == OUTSIDE or (region is not None and not region[target]):
                    continue
                if target in members:
                    taken.update(conditions)
                    continue
                lowest = max(lowest, ranks[target])
                for condition in conditions:
                    least[condition] = max(least.get(condition, 0), ranks[target] + 1)
            always = enabled if always is None else always & enabled
        helpful = (always or set()) - taken
        options = [self._next(max(lowest, least.get(each, 0)), each) for each in helpful]
        return min(options) if options else self._next(lowest, self.conditions)

    def _next(self, lowest: int, kind: int) -> int:
        return lowest + (kind - lowest) % self.kinds

    def _components(self, region: bytearray | None) -> Iterator[list[int]]:
        """Tarjan's strongly connected components, those that a component leads to before it."""
        order, low = array("I", bytes(4 * self.size)), array("I", bytes(4 * self.size))
        closed, count = bytearray(self.size), 0
        stack: list[int] = []
        for root in range(self.size):
            if order[root] or (region is not None and not region[root]):
                continue
            count += 1
            order[root] = low[root] = count
            stack.append(root)
            work = [(root, iter(self._successors(root)))]
            while work:
                state, targets = work[-1]
                for target in targets:
                    if target == OUTSIDE or (region is not None and not region[target]):
                        continue
                    if not order[target]:
                        count += 1
                        order[target] = low[target] = count
                        stack.append(target)
                        work.append((target, iter(self._successors(target))))
                        break
                    if not closed[target] and order[target] < low[state]:
                        low[state] = order[target]
                else:
                    work.pop()
                    if work and low[state] < low[work[-1][0]]:
                        low[work[-1][0]] = low[state]
                    if low[state] == order[state]:
                        component = [stack.pop()]
                        while component[-1] != state:
                            component.append(stack.pop())
                        for each in component:
                            closed[each] = 1
                        yield component

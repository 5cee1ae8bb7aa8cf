"""Promises about whole runs, decided on the explored graph: is there a fair run that breaks the promise?

A run breaks a promise if, from some point on, it stays among *allowed* states (those where the promise is not kept),
passes every *visit* set again and again, and is fair. Such a run exists exactly if a fair strongly connected component
of the allowed states can be reached. Every state has an implicit step to itself (stuttering), so one state alone is a
component; it is fair if nothing that must happen can happen there.

*Weak* fairness of a group: the component has a state where the group is not enabled, or a step of the group.
*Strong* fairness: no state where it is enabled, or a step of the group; a component that has the one but not the other
is searched again without the states where the group is enabled. Only steps that change the state count.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from attractor.check.engine.exploration import OUTSIDE, Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.check.engine.model import Fairness


JUDGED_IN_THE_CORE = frozenset({"eventually_always", "settles"})
"""Promises of the end: whether they can be broken is told by the states to which fair runs come back."""


class Query(NamedTuple):
    """A broken promise, as a search: ``starts`` is where it begins to be broken; masks have one byte for each state."""

    allowed: bytearray
    starts: bytearray
    visits: tuple[bytearray, ...] = ()


class Lasso(NamedTuple):
    """A run: ``prefix`` lists states from an initial one; ``cycle`` the steps (action, state) back to its last state.

    An empty cycle means that the run stays in the last state for ever.
    """

    prefix: tuple[int, ...]
    cycle: tuple[tuple[int, int], ...]


class FairGraph:
    """A graph with fairness conditions, ready for queries."""

    def __init__(self, graph: Graph, initial: list[int], fairness: Sequence[Fairness]) -> None:
        self.offsets, self.targets, self.actions = graph.offsets, graph.targets, graph.actions
        self.size = len(graph.offsets) - 1
        self.initial = initial
        self.fairness = fairness
        self._core: bytearray | None = None
        self._conditions: dict[int, list[int]] = {}
        for number, condition in enumerate(fairness):
            for instance in condition.instances:
                self._conditions.setdefault(instance, []).append(number)

    def edges(self, state: int) -> list[tuple[int, int]]:
        """The steps (action, target) out of ``state`` that change it; the target may be OUTSIDE."""
        return [
            (self.actions[e], self.targets[e])
            for e in range(self.offsets[state], self.offsets[state + 1])
            if self.targets[e] != state
        ]

    def enabled(self, state: int) -> set[int]:
        """The fairness conditions that are enabled in ``state``."""
        return {number for action, _ in self.edges(state) for number in self._conditions.get(action, ())}

    def ever_enabled(self) -> set[int]:
        """The fairness conditions that are enabled anywhere."""
        return {number for state in range(self.size) for number in self.enabled(state)}

    def find(self, query: Query) -> Lasso | None:
        """A fair run that answers the query, with the shortest prefix; None if there is none."""
        component_of: dict[int, int] = {}
        components: list[set[int]] = []
        for component in self._fair_components(bytearray(query.allowed), query.visits):
            for state in component:
                component_of[state] = len(components)
            components.append(component)
        prefix = self._shortest(query, component_of.__contains__)
        if prefix is None:
            return None
        return Lasso(tuple(prefix), tuple(self._cycle(prefix[-1], components[component_of[prefix[-1]]], query.visits)))

    def fair_from(self, allowed: bytearray) -> bytearray:
        """The states from which some fair run stays among ``allowed``."""
        marked = bytearray(self.size)
        queue: deque[int] = deque()
        for component in self._fair_components(bytearray(allowed), ()):
            for state in component:
                marked[state] = 1
                queue.append(state)
        before: dict[int, list[int]] = {}
        for state in range(self.size):
            for _, target in self.edges(state):
                before.setdefault(target, []).append(state)
        while queue:
            for state in before.get(queue.popleft(), ()):
                if allowed[state] and not marked[state]:
                    marked[state] = 1
                    queue.append(state)
        return marked

    @property
    def core(self) -> bytearray:
        """The states to which some fair run comes back again and again."""
        if self._core is None:
            self._core = self._find_core()
        return self._core

    def _find_core(self) -> bytearray:
        marked = bytearray(self.size)
        for component in self._fair_components(bytearray(b"\1" * self.size), ()):
            for state in component:
                marked[state] = 1
        return marked

    def _fair_components(self, allowed: bytearray, visits: Sequence[bytearray]) -> list[set[int]]:
        fair = []
        pending = [(allowed, range(self.size))]
        while pending:
            mask, among = pending.pop()
            for component in self._components(mask, among):
                if not all(any(visit[state] for state in component) for visit in visits):
                    continue
                verdict = self._judge(component)
                if verdict is None:
                    fair.append(component)
                elif verdict:
                    rest = bytearray(self.size)
                    for state in component - verdict:
                        rest[state] = 1
                    pending.append((rest, range(self.size)))
        return fair

    def _judge(self, component: set[int]) -> set[int] | None:
        """None if the component is fair; the states to search without (strong fairness); empty if it is hopeless."""
        taken: set[int] = set()
        count = [0] * len(self.fairness)
        for state in component:
            for number in self.enabled(state):
                count[number] += 1
            for action, target in self.edges(state):
                if target in component:
                    taken.update(self._conditions.get(action, ()))
        remove: set[int] = set()
        for number, condition in enumerate(self.fairness):
            if number in taken or not count[number]:
                continue
            if condition.strong:
                remove.update(state for state in component if number in self.enabled(state))
            elif count[number] == len(component):
                return set()
        return remove or None

    def _components(self, mask: bytearray, among: Sequence[int]) -> list[set[int]]:
        """Tarjan's strongly connected components of the states in ``mask``, without recursion."""
        order: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        on_stack: set[int] = set()
        found = []
        for root in among:
            if not mask[root] or root in order:
                continue
            work = [(root, iter(self._within(root, mask)))]
            order[root] = low[root] = len(order)
            stack.append(root)
            on_stack.add(root)
            while work:
                state, targets = work[-1]
                for target in targets:
                    if target not in order:
                        order[target] = low[target] = len(order)
                        stack.append(target)
                        on_stack.add(target)
                        work.append((target, iter(self._within(target, mask))))
                        break
                    if target in on_stack:
                        low[state] = min(low[state], order[target])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[state])
                    if low[state] == order[state]:
                        component = set()
                        while state not in component:
                            component.add(stack.pop())
                        on_stack -= component
                        found.append(component)
        return found

    def _within(self, state: int, mask: bytearray) -> list[int]:
        return [target for _, target in self.edges(state) if target != OUTSIDE and mask[target]]

    def shortest(self, query: Query, goal: bytearray) -> tuple[int, ...] | None:
        """The shortest run that goes from a start through allowed states to ``goal``."""
        path = self._shortest(query, lambda state: bool(goal[state]))
        return None if path is None else tuple(path)

    def _shortest(self, query: Query, is_goal: Callable[[int], bool]) -> list[int] | None:
        """Breadth-first: anywhere at first, then from a start among allowed states only, to the first goal."""
        parents: dict[tuple[int, int], tuple[int, int] | None] = {}
        queue: deque[tuple[int, int]] = deque()

        def meet(node: tuple[int, int], parent: tuple[int, int] | None) -> None:
            for each in (node, (node[0], 1)) if query.starts[node[0]] else (node,):
                if each not in parents:
                    parents[each] = parent
                    queue.append(each)

        for state in self.initial:
            meet((state, 0), None)
        while queue:
            node = queue.popleft()
            state, phase = node
            if phase and is_goal(state):
                return _unwind(parents, node)
            for _, target in self.edges(state):
                if target == OUTSIDE:
                    continue
                if not phase:
                    meet((target, 0), node)
                elif query.allowed[target] and (target, 1) not in parents:
                    parents[target, 1] = node
                    queue.append((target, 1))
        return None

    def _cycle(self, entry: int, component: set[int], visits: Sequence[bytearray]) -> list[tuple[int, int]]:
        """Steps from ``entry`` back to it that pass everything a fair run must pass, nearest first."""
        enabled_somewhere = {number for state in component for number in self.enabled(state)}
        owed = {("fair", n) for n in enabled_somewhere} | {("visit", n) for n in range(len(visits))}
        owed -= self._paid_at(entry, visits)
        cycle: list[tuple[int, int]] = []
        current = entry
        while owed:
            open_debts = frozenset(owed)
            leg = self._leg(
                current,
                component,
                lambda action, state, owing=open_debts: not owing.isdisjoint(self._paid_by(action, state, visits)),  # type: ignore[misc]
            )
            for action, state in leg:
                owed -= self._paid_by(action, state, visits)
            cycle += leg
            current = leg[-1][1]
        if current != entry:
            cycle += self._leg(current, component, lambda _, state: state == entry)
        return cycle

    def _paid_at(self, state: int, visits: Sequence[bytearray]) -> set[tuple[str, int]]:
        here = self.enabled(state)
        weak = {("fair", n) for n, c in enumerate(self.fairness) if not c.strong and n not in here}
        return weak | {("visit", n) for n, visit in enumerate(visits) if visit[state]}

    def _paid_by(self, action: int, state: int, visits: Sequence[bytearray]) -> set[tuple[str, int]]:
        return self._paid_at(state, visits) | {("fair", n) for n in self._conditions.get(action, ())}

    def _leg(self, start: int, component: set[int], ends: Callable[[int, int], bool]) -> list[tuple[int, int]]:
        came: dict[int, tuple[int, int]] = {}
        queue = deque([start])
        while queue:
            state = queue.popleft()
            for action, target in self.edges(state):
                if target not in component:
                    continue
                if ends(action, target):
                    leg = [(action, target)]
                    while state != start:
                        leg.append((came[state][0], state))
                        state = came[state][1]
                    return leg[::-1]
                if target not in came and target != start:
                    came[target] = (action, state)
                    queue.append(target)
        raise AssertionError("a strongly connected component is not strongly connected")


def _unwind(parents: dict[tuple[int, int], tuple[int, int] | None], node: tuple[int, int] | None) -> list[int]:
    path: list[int] = []
    while node is not None:
        path.append(node[0])
        node = parents[node]
    return path[::-1]

"""``closure.Closure`` written again in plain Python, as slow and as simple as it can be: what ``_closure.c`` must agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor_verify.certificate import Rejected
from attractor_verify.replay import COPIED, FORK, LATER, SLOT, UPDATED, rows_of

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator

State = tuple[int, ...]
ALWAYS_EVENTUALLY, LEADS_TO, HENCEFORTH, EVENTUALLY, UNTIL, END = range(6)


class Plain:
    """States and rows; in the trees inner nodes are ``[code, {number: child}]``, leaves ``(leaf,)``."""

    deadlock = conditions = columns = judges = count = 0

    def __init__(self, labels: list[str], actions: int, fields: list[list[int]], words: int) -> None:
        self.labels, self.actions, self.fields, self.words = labels, actions, fields, words
        self.roots: dict[int, dict[int, Any]] = {}
        self.held: dict[str, Any] = {}
        self.states: list[State] = []
        self.numbers: dict[State, int] = {}

    def prepare(self, states: array[int], rows: array[int], _: list[int]) -> None:
        """Take all states and rows; what is listed twice is refused, and a row that contradicts another."""
        packed = [states[at : at + self.words] for at in range(0, len(states), self.words)]
        self.states = [
            tuple(each[word] >> shift & (1 << bits) - 1 for word, shift, bits in self.fields) for each in packed
        ]
        self.numbers = {state: number for number, state in enumerate(self.states)}
        self.count = len(self.states)
        if len(self.numbers) != self.count:
            raise Rejected("a state is listed twice")
        for instance, path, leaf, writes in rows_of(rows.tolist(), self.actions):
            holder, at = self.roots.setdefault(instance, {}), 0
            for code, number in zip(path[::2], path[1::2], strict=True):
                node = holder.setdefault(at, [code, {}])
                if not isinstance(node, list) or node[0] != code:
                    raise Rejected("two rows contradict each other")
                holder, at = node[1], number
            if at in holder:
                raise Rejected("two rows contradict each other")
            pairs = tuple(zip(writes[::2], writes[1::2], strict=True))
            holder[at] = (leaf if instance >= self.actions else pairs if leaf else None,)

    def hold(self, _: str, **arrays: Any) -> None:
        """Keep what is claimed."""
        self.held.update(arrays)

    def claim(self, **arrays: Any) -> None:
        """Keep what is claimed."""
        self.held.update(arrays)

    def leaves(self, instance: int, state: State, after: State | None = None) -> list[Any]:
        """What an instance does in a state, for every way that it can choose."""
        found: list[Any] = []
        waiting = [self.roots.get(instance, {}).get(0)]
        while waiting:
            node = waiting.pop()
            if node is None:
                raise Rejected(f"a state has no row for {self.labels[instance]}")
            if isinstance(node, tuple):
                found.append(node[0])
            elif node[0] & 3 == FORK:
                waiting += [node[1].get(pick) for pick in range(node[0] >> 2)]
            else:
                waiting.append(node[1].get(self._number(node[0] & 3, node[0] >> 2, state, after)))
        return found

    def _number(self, kind: int, ref: int, state: State, after: State | None) -> int:
        if kind == SLOT:
            return state[ref]
        if kind != LATER:
            return int(self.is_true(self.actions + ref, state))
        if after is None:
            raise Rejected("a predicate of steps is asked about a state")
        return after[ref]

    def is_true(self, instance: int, state: Any, after: State | None = None) -> bool:
        """Whether a predicate is true in a state, or of a step."""
        return any(self.leaves(instance, tuple(state), after))

    def state(self, number: int) -> list[int]:
        """A state, by its number."""
        return list(self.states[number])

    def targets(self, number: int) -> list[int | None]:
        """The numbers of the states that the steps of a state lead to."""
        return [self.numbers.get(after) for _, after in self.steps(self.states[number])]

    def steps(self, state: State) -> Iterator[tuple[int, State]]:
        """Every step out of a state: the action, and the state after it."""
        for action in range(self.actions):
            for writes in self.leaves(action, state):
                if writes is not None:
                    yield action, self._after(writes, state)

    def _after(self, writes: Any, state: State) -> State:
        changed = list(state)
        for slot, code in writes:
            kind, number = code & 3, code >> 2
            if kind == COPIED:
                number = state[number]
            elif kind == UPDATED:
                (number,) = self.leaves(len(self.labels) + number, (state[slot], *state[1:]))
            changed[slot] = number
        return tuple(changed)

    def _all_true(self, predicates: str, state: State) -> bool:
        return all(self.is_true(each, state) for each in self.held[predicates])

    def check(self, _: Any) -> None:
        """Raise ``Rejected`` at the first state or step that is not as claimed."""
        for number, state in enumerate(self.states):
            edges: list[tuple[int, int | None]] = []
            if not self._all_true("invariant", state):
                raise Rejected("an invariant is false in a state")
            for action, after in self.steps(state):
                target = self.numbers.get(after)
                if target is None and not self._all_true("invariant", after):
                    raise Rejected("an invariant is false in a state outside the constraint")
                if target is None and self._all_true("constraint", after):
                    raise Rejected(f"a step of {self.labels[action]} leads to a state that is not among the states")
                judges = self.held["judge"][action * self.judges : (action + 1) * self.judges]
                if not all(self.is_true(each, state, after) for each in judges if each):
                    raise Rejected(f"a step of {self.labels[action]} is not as a property of steps says")
                edges.append((action, target))
            if self.deadlock and not edges and not any(self.is_true(each, state) for each in self.held["terminal"]):
                raise Rejected("a state has no next step, and is no terminal one")
            for column in range(self.columns):
                self._check_rank(column, number, [edge for edge in edges if edge[1] != number])

    def _is_owed(self, column: int, number: int) -> bool:
        kind, premise, goal = self.held["column"][3 * column : 3 * column + 3]
        state = self.states[number]
        return kind == END or (not self.is_true(goal, state) and (kind != HENCEFORTH or self.is_true(premise, state)))

    def _begins(self, column: int, number: int) -> bool:
        kind, premise, _ = self.held["column"][3 * column : 3 * column + 3]
        return kind in {END, ALWAYS_EVENTUALLY, HENCEFORTH} or (
            kind == LEADS_TO and self.is_true(premise, self.states[number])
        )

    def _check_rank(self, column: int, number: int, edges: list[tuple[int, int | None]]) -> None:
        kind, premise, _ = self.held["column"][3 * column : 3 * column + 3]
        ranks = self.held["ranks"][column * self.count : (column + 1) * self.count]
        rank, state = ranks[number], self.states[number]
        helpful = rank % (self.conditions + 1)
        if not rank:
            if self._is_owed(column, number) and self._begins(column, number):
                raise Rejected("a state that owes what a promise says has no rank")
            return
        is_helpful = helpful < self.conditions
        helping = {
            action for action, _ in edges if is_helpful and self.held["helps"][action * self.conditions + helpful]
        }
        if not helping and (is_helpful or kind != END):
            raise Rejected("the condition that is to lower the rank of a state is not enabled there")
        if kind == UNTIL and not self.is_true(premise, state):
            raise Rejected("what must be true until something else is, is not")
        if not is_helpful and not self._all_true("ending", state):
            raise Rejected("a promise of the end is not kept where runs end")
        for action, target in edges:
            if target is None or (not ranks[target] and not self._is_owed(column, target)):
                continue
            after = ranks[target]
            if not after or after > rank or (after == rank and action in helping):
                raise Rejected(f"a step of {self.labels[action]} does not lower the rank as it must")
            for each in self.held["settling"] if after == rank and not is_helpful else ():
                if self.is_true(each, state) != self.is_true(each, self.states[target]):
                    raise Rejected(f"a step of {self.labels[action]} changes what is to settle")

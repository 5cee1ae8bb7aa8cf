"""``closure.Closure`` written again in plain Python, as slow and as simple as it can be: what ``_closure.c`` must agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor_verify.certificate import Rejected
from attractor_verify.replay import COPIED, FORK, LATER, SLOT, UPDATED

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator

State = tuple[int, ...]


class Plain:
    """States and rows; in the trees inner nodes are ``[code, {number: child}]``, leaves ``(leaf,)``."""

    invariants = constraints = terminals = deadlock = conditions = columns = settling = 0

    def __init__(
        self, labels: list[str], actions: int, fields: list[list[int]], words: int, packed: array[int]
    ) -> None:
        self.labels, self.actions = labels, actions
        self.count = len(packed) // words
        self.roots: list[dict[int, Any]] = [{} for _ in labels]
        self.updates: dict[tuple[int, int], int] = {}
        self.held: dict[str, Any] = {}
        rows = [packed[at : at + words] for at in range(0, len(packed), words)]
        self.states = [tuple(row[word] >> shift & (1 << bits) - 1 for word, shift, bits in fields) for row in rows]
        self.numbers = {state: number for number, state in enumerate(self.states)}

    def add(self, instance: int, path: Any, leaf: Any) -> None:
        """Add a row; a row that contradicts another is refused."""
        holder, at = self.roots[instance], 0
        for code, number in path:
            node = holder.setdefault(at, [code, {}])
            if not isinstance(node, list) or node[0] != code:
                raise Rejected(f"{self.labels[instance]}: two rows contradict each other")
            holder, at = node[1], number
        if holder.setdefault(at, (leaf,)) != (leaf,):
            raise Rejected(f"{self.labels[instance]}: two rows contradict each other")

    def add_update(self, update: int, before: int, after: int) -> None:
        """Add what an update makes of a number."""
        self.updates[update, before] = after

    def prepare(self) -> None:
        """Refuse what is listed twice."""
        if len(self.numbers) != self.count:
            raise Rejected("a state is listed twice")

    def hold(self, _: str, **arrays: Any) -> None:
        """Keep what is claimed."""
        self.held.update(arrays)

    def leaves(self, instance: int, state: State, after: State | None = None) -> list[Any]:
        """What an instance does in a state, for every way that it can choose."""
        found: list[Any] = []
        waiting = [self.roots[instance].get(0)]
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
            return int(self.is_true(ref, state))
        if after is None:
            raise Rejected("a predicate of steps is asked about a state")
        return after[ref]

    def is_true(self, predicate: int, state: State, after: State | None = None) -> bool:
        """Whether a predicate is true in a state, or of a step."""
        return any(self.leaves(self.actions + predicate, state, after))

    def mask(self, predicate: int, within: bytes) -> bytes:
        """For each state a byte: whether the predicate is true there; 0 where nobody asks."""
        pairs = zip(self.states, within, strict=True)
        return bytes(bool(wanted) and self.is_true(predicate, state) for state, wanted in pairs)

    def ranked(self, ranks: array[int]) -> tuple[bytes, bytes]:
        """For each state whether it has a rank, and whether that is one without a helpful condition."""
        ends = bytes(rank > 0 and rank % (self.conditions + 1) == self.conditions for rank in ranks)
        return bytes(map(bool, ranks)), ends

    def state(self, number: int) -> State:
        """A state, by its number."""
        return self.states[number]

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
                if (number, state[slot]) not in self.updates:
                    raise Rejected("a state has no row for what becomes of a value")
                number = self.updates[number, state[slot]]
            changed[slot] = number
        return tuple(changed)

    def _all_true(self, predicates: str, state: State) -> bool:
        return all(self.is_true(each, state) for each in self.held[predicates])

    def check(self) -> None:
        """Raise ``Rejected`` at the first state or step that is not as claimed."""
        judges, judge_at = self.held["judge"], self.held["judge_at"]
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
                if not all(
                    self.is_true(each, state, after) for each in judges[judge_at[action] : judge_at[action + 1]]
                ):
                    raise Rejected(f"a step of {self.labels[action]} is not as a property of steps says")
                edges.append((action, target))
            if self.deadlock and not edges and not any(self.is_true(each, state) for each in self.held["terminal"]):
                raise Rejected("a state has no next step, and is no terminal one")
            for column in range(self.columns):
                self._check_rank(column, number, [edge for edge in edges if edge[1] != number])

    def _check_rank(self, column: int, number: int, edges: list[tuple[int, int | None]]) -> None:
        start, ranks, owed = column * self.count, self.held["ranks"], self.held["owed"]
        rank = ranks[start + number]
        helpful = rank % (self.conditions + 1)
        if not rank:
            return
        is_helpful = helpful < self.conditions
        helping = {
            action for action, _ in edges if is_helpful and self.held["helps"][action * self.conditions + helpful]
        }
        if is_helpful and not helping:
            raise Rejected("the condition that is to lower the rank of a state is not enabled there")
        for action, target in edges:
            after = 0 if target is None else ranks[start + target]
            if target is None or not (after or owed[start + target]):
                continue
            if not after or after > rank or (after == rank and action in helping):
                raise Rejected(f"a step of {self.labels[action]} does not lower the rank as it must")
            if column + 1 < self.columns or after < rank or is_helpful:
                continue
            for start_of in range(0, self.settling * self.count, self.count):
                if self.held["settled"][start_of + number] != self.held["settled"][start_of + target]:
                    raise Rejected(f"a step of {self.labels[action]} changes what is to settle")

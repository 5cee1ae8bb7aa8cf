"""The rows as trees and the states as packed words, handed to ``_closure.c``, which looks at every state."""

from __future__ import annotations

import ctypes
from array import array
from collections import Counter
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from attractor_verify import _closure
from attractor_verify.certificate import CHUNK, Rejected, require
from attractor_verify.replay import COPIED, NUMBER, SLOT, TRUTH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor_verify.replay import Pairs

_C = ctypes.CDLL(_closure.__file__)
_C.find_steps.restype = ctypes.c_int64
FAILURES = (
    *("", "a state has no row for what a step or predicate reads there", "an invariant is false in a state"),
    *("a step of {} leads to a state that is not among the states", "a step of {} is not as a property of steps says"),
    "a state has no next step, and is no terminal one",
    "the condition that is to lower the rank of a state is not enabled there",
    *("a step of {} does not lower the rank as it must", "a step of {} changes what is to settle"),
    "states are not in ascending order, or one is listed twice",
)


class Closure(ctypes.Structure):
    """``Proof`` of ``_closure.c``: every field is a number, or the address of an array that is kept here."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (  # noqa: SIM905 - as C lists them
            "states count words field edge_key edge_child edges room cell code level predicate_level "
            "actions action keep put other others levels offset level_of_bit list length trail mark trailed last epoch "
            "seen held invariant constraint terminal invariants constraints terminals deadlock judge judge_at helps "
            "conditions columns ranks owed settled settling next target near failed_action"
        ).split()
    ]

    def __init__(
        self, labels: list[str], actions: int, fields: list[list[int]], words: int, packed: array[int]
    ) -> None:
        super().__init__(actions=actions, words=words, count=len(packed) // words, last=len(packed))
        self.labels, self.fields, self.kept = labels, fields, {"states": packed}
        self._codes, self._edges, self._updates = [0], dict[int, int](), dict[int, int]()
        """What each node of the trees reads; where each number that it reads leads from there."""
        self._steps: dict[tuple[int, Pairs], int] = {}
        self._reads: list[set[int]] = [set() for _ in labels[actions:]]
        used = [0] * words
        for word, shift, bits in fields:
            place = (1 << bits) - 1 << shift
            is_free = min(word, shift, bits) >= 0 and bits <= 32 and shift + bits <= 64 and not used[word] & place
            require(is_free, "two slots have the same place in a packed state")
            used[word] |= place

    def add(self, instance: int, path: Pairs, leaf: bool | Pairs | None) -> None:
        """Add a row; one that contradicts another is refused."""
        key, codes, edges = instance + 1, self._codes, self._edges
        for code, number in path:
            node = edges.setdefault(key, len(codes))
            if node == len(codes):
                codes.append(code)
            if node < 0 or codes[node] != code or number >> 32:
                raise Rejected(f"{self.labels[instance]}: two rows contradict each other")
            key = node << 32 | number
        if instance >= self.actions:
            self._reads[instance - self.actions].update(code for code, _ in path)
        end = -2 if leaf is True else -1
        if isinstance(leaf, tuple):
            end -= self._steps.setdefault((instance, leaf), len(self._steps)) + 1
        require(edges.setdefault(key, end) == end, f"{self.labels[instance]}: two rows contradict each other")

    def add_update(self, update: int, before: int, after: int) -> None:
        """Add what an update makes of a number."""
        key = self._node(update) << 32 | before
        require(
            not before >> 32 and self._edges.setdefault(key, after + 1) == after + 1,
            "two updates contradict each other",
        )

    def _node(self, update: int) -> int:
        node = self._updates.setdefault(update, len(self._codes))
        if node == len(self._codes):
            self._codes.append(0)
        return node

    def hold(self, kind: str, **arrays: Any) -> None:
        """Keep arrays of one type, and hand over where they are; bytes are taken as they are."""
        for name, content in arrays.items():
            self.kept[name] = kept = content if isinstance(content, array) else array(kind, content)
            setattr(self, name, kept.buffer_info()[0])

    def prepare(self) -> None:
        """Hand over all states and rows."""
        words, codes, edges = self.words, self._codes, self._edges
        wide = sorted(((field[0], field[1], slot) for slot, field in enumerate(self.fields) if field[2]), reverse=True)
        levels = {slot: level for level, (_, _, slot) in enumerate(wide)}
        predicates = range(len(self.labels) - self.actions)

        @cache
        def level_of(code: int) -> int:  # a circle of predicates is a RecursionError
            reads = self._reads[code >> 2] if code & 3 == TRUTH else ()
            return levels.get(code >> 2, 0) if code & 3 == SLOT else max(map(level_of, reads), default=0)

        self._hand_over_steps()
        self.levels = count = max(1, len(levels))
        level = [level_of(code) for code in codes]
        waiting = Counter(level)
        self.edges, self.room = len(edges), 2 << len(edges).bit_length()
        most = len(codes) + len(edges) + count
        self.hold("Q", states=self.kept["states"], edge_key=edges, cell=bytes(16 * self.room), mark=bytes(8 * count))
        self.hold("Q", next=bytes(8 * most * words), target=bytes(8 * most), near=bytes(8 * len(self._steps)))
        self.hold("i", field=[part for field in self.fields for part in field], code=codes, edge_child=edges.values())
        self.hold("i", level=level, predicate_level=[level_of(each << 2 | TRUTH) for each in predicates])
        self.hold("i", offset=[*accumulate((waiting[each] for each in range(count)), initial=0)], list=bytes(4 * most))
        self.hold("i", length=bytes(4 * most), trail=bytes(4 * most))
        self.hold("i", level_of_bit=[sum(64 * w + s > bit for w, s, _ in wide) for bit in range(64 * words)])
        self.hold("I", epoch=bytes(4 * count), seen=bytes(4 * len(predicates)))
        self.hold("b", held=bytes(len(predicates)))
        self._require(_C.prepare(ctypes.byref(self)))

    def _hand_over_steps(self) -> None:
        keep, put, other, others = array("Q"), array("Q"), array("i"), array("i")
        for _, writes in self._steps:
            kept, set_to, rest = [(1 << 64) - 1] * self.words, [0] * self.words, list[int]()
            for slot, code in writes:
                word, shift, bits = self.fields[slot]
                kept[word] &= ~((1 << bits) - 1 << shift)
                if code & 3 == NUMBER:
                    require(not code >> 2 + bits, f"{code >> 2} does not fit into its slot")
                    set_to[word] |= code >> 2 << shift
                else:
                    rest += [slot, 0, code >> 2] if code & 3 == COPIED else [slot, self._node(code >> 2), slot]
            keep.extend(kept)
            put.extend(set_to)
            other.append(len(others))
            others.extend([len(rest) // 3, *rest])
        self.hold("i", action=[action for action, _ in self._steps], other=other, others=others)
        self.hold("Q", keep=keep, put=put)

    # Questions

    def _require(self, failed: int) -> None:
        label = self.labels[self.failed_action] if FAILURES[failed].count("{") else ""
        require(not failed, f"{FAILURES[failed].format(label)} (state {self.last})")

    def is_true(self, predicate: int, state: Iterable[int]) -> bool:
        """Whether a predicate is true in a state, which need not be one of the states."""
        packed = array("Q", bytes(8 * self.words))
        for (word, shift, bits), number in zip(self.fields, state, strict=True):
            require(not number >> bits, f"{number} does not fit into its slot")
            packed[word] |= number << shift
        answer: int = _C.is_true(ctypes.byref(self), predicate, ctypes.c_void_p(packed.buffer_info()[0]), None)
        require(answer >= 0, FAILURES[1])
        return answer == 1

    def mask(self, predicate: int, within: bytes) -> bytes:
        """For each state a byte: whether the predicate is true there; 0 where nobody asks."""
        mask = ctypes.create_string_buffer(self.count)
        self._require(_C.find_true(ctypes.byref(self), predicate, within, mask))
        return mask.raw

    def ranked(self, ranks: array[int]) -> tuple[bytes, bytes]:
        """For each state whether it has a rank, and whether that is one without a helpful condition."""
        masks = ctypes.create_string_buffer(self.count), ctypes.create_string_buffer(self.count)
        _C.find_ranked(ctypes.byref(self), ctypes.c_void_p(ranks.buffer_info()[0]), *masks)
        return masks[0].raw, masks[1].raw

    def state(self, number: int) -> tuple[int, ...]:
        """A state, by its number."""
        packed = self.kept["states"][self._checked(number) * self.words :][: self.words]
        return tuple(packed[word] >> shift & (1 << bits) - 1 for word, shift, bits in self.fields)

    def _checked(self, number: int) -> int:
        require(0 <= number < self.count, f"there is no state {number}")
        return number

    def targets(self, number: int) -> array[int]:
        """The numbers of the states that the steps of a state lead to."""
        count: int = _C.find_steps(ctypes.byref(self), ctypes.c_uint64(self._checked(number)))
        require(count >= 0, FAILURES[1])
        return self.kept["target"][:count]

    def check(self) -> None:
        """Raise ``Rejected`` at the first state or step that is not as claimed."""
        for start in range(0, self.count, CHUNK):
            end = min(start + CHUNK, self.count)
            self._require(_C.check_states(ctypes.byref(self), ctypes.c_uint64(start), ctypes.c_uint64(end)))

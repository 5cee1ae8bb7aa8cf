"""The states and rows of a certificate, handed to ``_closure.c``, which looks at every state."""

from __future__ import annotations

import ctypes
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from attractor_verify import _closure
from attractor_verify.certificate import require

if TYPE_CHECKING:
    from collections.abc import Iterable

_C = ctypes.CDLL(_closure.__file__)
_C.find_steps.restype = ctypes.c_int64
FAILURES = (
    *("", "{}: two rows contradict each other", "states are not in ascending order, or one is listed twice"),
    *("a state has no row for what a step or predicate reads there", "an invariant is false in a state"),
    *("a step of {} leads to a state that is not among the states", "a step of {} is not as a property of steps says"),
    *("a state has no next step, and is no terminal one", "a state that owes what a promise says has no rank"),
    "the condition that is to lower the rank of a state is not enabled there, or there is none",
    "what is promised of a state with such a rank is not kept there",
    *("a step of {} does not lower the rank as it must", "a step of {} changes what is to settle"),
)


class Closure(ctypes.Structure):
    """``Proof`` of ``_closure.c``: every field is a number, or the address of an array that is kept here."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (  # noqa: SIM905 - as C lists them
            "states count words field rows length actions predicates cell code root room "
            "change looked enabled truth least leaf leaves first watched watching "
            "invariant constraint terminal judge ending settling column ranks helps "
            "invariants constraints terminals judges endings settlings columns deadlock conditions "
            "at taken next target near failed"
        ).split()
    ]

    def __init__(self, labels: list[str], actions: int, fields: list[list[int]], words: int) -> None:
        super().__init__(actions=actions, predicates=len(labels) - actions, words=words)
        self.labels, self.fields = labels, fields
        self.kept: dict[str, array[int]] = {}
        used = [0] * words
        for word, shift, bits in fields:
            place = (1 << bits) - 1 << shift
            is_free = (
                min(word, shift, bits) >= 0 and bits <= 30 and shift < 64 >= shift + bits and not used[word] & place
            )
            require(is_free, "two slots have the same place in a packed state")
            used[word] |= place

    def hold(self, kind: str, **arrays: Iterable[int] | int) -> None:
        """Keep arrays of one type, or so many zeros, and hand over where they are."""
        for name, content in arrays.items():
            kept = array(kind, [0]) * content if isinstance(content, int) else array(kind, content)
            self.kept[name] = content if isinstance(content, array) else kept
            setattr(self, name, self.kept[name].buffer_info()[0])

    def prepare(self, states: array[int], rows: array[int], counts: list[int]) -> None:
        """Hand over all states, and all rows, of which each instance has so many."""
        self.count, rest = divmod(len(states), self.words)
        require(not rest and len(rows) < 1 << 31, "there is half a state, or too many rows")
        instances, most, self.length, self.at = len(self.labels), sum(counts), len(rows), self.count
        self.room = 1 << len(rows).bit_length()
        self.hold("Q", states=states, cell=2 * self.room, change=self.words, enabled=instances // 64 + 1)
        self.hold("Q", looked=bytes(b"\xff" * (8 * instances * self.words)))
        self.hold("Q", next=most * self.words, target=most)
        self.hold("I", rows=rows, code=len(rows), near=len(rows), taken=most)
        self.hold("I", field=[part for field in self.fields for part in field])
        self.hold("i", root=instances)
        self.hold("I", leaf=most, leaves=instances, first=accumulate(counts, initial=0))
        self.hold("b", truth=instances)
        self._require(_C.prepare(ctypes.byref(self)))

    def claim(self, **instances: list[int]) -> None:
        """Hand over lists of predicates, as instances: ``invariant``, ``constraint``, ``terminal``, ...."""
        for name, each in instances.items():
            self.hold("I", **{name: each})
            setattr(self, name + "s", len(each))

    def _require(self, failed: int) -> None:
        label = self.labels[self.failed] if "{" in FAILURES[failed] and self.failed < len(self.labels) else "an update"
        require(not failed, f"{FAILURES[failed].format(label)} (state {self.at})")

    def is_true(self, instance: int, state: list[int]) -> bool:
        """Whether a predicate is true in a state, which need not be one of the states."""
        packed = array("Q", bytes(8 * self.words))
        for (word, shift, bits), number in zip(self.fields, state, strict=True):
            require(number >= 0 and not number >> bits, f"{number} does not fit into its slot")
            packed[word] |= number << shift
        at = ctypes.c_void_p(packed.buffer_info()[0])
        answer: int = _C.is_true(ctypes.byref(self), ctypes.c_uint64(instance), at, None)
        require(answer >= 0, FAILURES[3])
        return answer == 1

    def state(self, number: int) -> list[int]:
        """A state, by its number."""
        require(0 <= number < self.count, f"there is no state {number}")
        packed = self.kept["states"][number * self.words :][: self.words]
        return [packed[word] >> shift & (1 << bits) - 1 for word, shift, bits in self.fields]

    def targets(self, number: int) -> Any:
        """The numbers of the states that the steps of a state lead to."""
        require(0 <= number < self.count, f"there is no state {number}")
        count: int = _C.find_steps(ctypes.byref(self), ctypes.c_uint64(number))
        require(count >= 0, FAILURES[3])
        return self.kept["target"][:count]

    def check(self, watched: Iterable[int]) -> None:
        """Raise ``Rejected`` at the first state or step that is not as claimed; these predicates are looked at."""
        self.hold("I", watched=[*range(self.actions), *watched])
        self.watching = len(self.kept["watched"])
        self.hold("b", least=[each in self.kept["invariant"] for each in range(len(self.labels))])
        self._require(_C.check_states(ctypes.byref(self)))

"""Packing of states: bits for each slot, enough for its values, and spare ones for values yet to come.

When a domain outgrows its bits every state is packed anew, so spare bits go where a domain is likely to outgrow soon:
where few numbers are left, and where many were needed so far. A state never gets longer for them.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WORD = 64
MOST_SPARE = 4
"""So many spare bits are enough for a slot."""


def words(bits: Sequence[int]) -> int:
    """How many words fields of these widths take, as the kernel lays them out: the widest first, where they fit."""
    room = [WORD]
    for width in sorted(bits, reverse=True):
        for word, left in enumerate(room):
            if left >= width:
                room[word] -= width
                break
        else:
            room.append(WORD - width)
    return len(room)


def with_room(sizes: Sequence[int]) -> list[int]:
    """The bits of each slot, by the sizes of their domains, spare ones included."""
    bits = [(size - 1).bit_length() for size in sizes]
    length = words(bits)
    given: list[int] = []
    waiting = [
        (-log2(size + 1) * size / 2**width, slot) for slot, (size, width) in enumerate(zip(sizes, bits, strict=True))
    ]
    heapify(waiting)
    left = dict.fromkeys(range(len(bits)), MOST_SPARE)
    for _ in range(length * WORD - sum(bits)):
        if not waiting:
            break
        urgency, slot = heappop(waiting)
        bits[slot] += 1
        given.append(slot)
        left[slot] -= 1
        if left[slot]:
            heappush(waiting, (urgency / 2, slot))
    while words(bits) > length:
        bits[given.pop()] -= 1
    return bits

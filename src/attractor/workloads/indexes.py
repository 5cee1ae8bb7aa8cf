"""Sets of completion indexes as a Job's status has them: ``1,3-5``.

>>> sorted(numbers_of("1,3-5")), text_of({5, 1, 3, 4}), text_of(set())
([1, 3, 4, 5], '1,3-5', '')
"""

from __future__ import annotations


def numbers_of(text: str) -> set[int]:
    """The numbers that a text names, one by one or as ranges."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def text_of(numbers: set[int]) -> str:
    """The shortest text for some numbers: neighbours become a range."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)

"""Values of specifications that are equal to Python are alike only if no program can tell them apart."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from attractor.check.spec.values import Bag, FrozenMap, Record, alike

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = dt.timedelta(hours=1)


class Door(Record):
    width: Any = 1


class Wide(tuple[Any, ...]):
    """A tuple with attributes."""


class Letters(frozenset[Any]):
    """A set with attributes."""


class Loud:
    """Equal to all others."""

    def __init__(self, **held: Any) -> None:
        vars(self).update(held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loud)

    def __hash__(self) -> int:
        return 1


class Pairwise(NamedTuple):
    one: Any


def labelled(value: Any, label: str) -> Any:
    value.label = label
    return value


def summer(fold: int) -> dt.datetime:
    return dt.datetime(2026, 6, 1, 2, 30, tzinfo=BERLIN, fold=fold)


EQUAL_AND_DIFFERENT: list[tuple[Any, Any]] = [
    *((1, True), (1, 1.0), (0.0, -0.0), (complex(0.0, 0.0), complex(0.0, -0.0)), (Decimal("1.0"), Decimal("1.00"))),
    *(((1,), (True,)), (frozenset({1}), frozenset({True})), (Pairwise(1), (1,)), (range(0), range(1, 1))),
    *(
        (Bag([1]), Bag([True])),
        (FrozenMap({"a": 1}), FrozenMap({"a": True})),
        (FrozenMap({1: 1}), FrozenMap({True: 1})),
    ),
    *((Door(width=1), Door(width=True)), (Door(width=(0.0,)), Door(width=(-0.0,)))),
    *((Loud(a=1), Loud(a=1, b=2)), (Loud(a=1, b=2), Loud(a=1)), (Loud(a=1), Loud(a=2)), (Loud(a=1), Loud(b=1))),
    *(
        (labelled(Wide((1,)), "a"), labelled(Wide((1,)), "b")),
        (labelled(Letters("x"), "a"), labelled(Letters("x"), "b")),
    ),
    *((summer(0), summer(1)), (dt.timezone(HOUR, "A"), dt.timezone(HOUR, "B"))),
    (dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC), dt.datetime(2026, 1, 1, 13, tzinfo=dt.timezone(HOUR))),
    (
        dt.datetime(2026, 1, 1, tzinfo=dt.timezone(HOUR, "A")),
        dt.datetime(2026, 1, 1, tzinfo=dt.timezone(HOUR, "B")),
    ),
]
ALIKE: list[tuple[Any, Any]] = [
    *(
        (1.5, 3 / 2),
        ((1, (2,)), (1, (2,))),
        (frozenset("ab"), frozenset("ba")),
        (Door(), Door()),
        (Bag("ab"), Bag("ba")),
    ),
    *((FrozenMap({"a": (1,)}), FrozenMap({"a": (1,)})), (Decimal("1.0"), Decimal("1.0")), (range(3), range(3))),
    *((summer(0), summer(0)), (Loud(a=(1,)), Loud(a=(1,))), (Pairwise(1), Pairwise(1)), (dt.timezone(HOUR),) * 2),
]


def test_equal_values_that_a_program_can_tell_apart_are_not_alike() -> None:
    for one, other in EQUAL_AND_DIFFERENT:
        assert one == other, (one, other)
        assert not alike(one, other), (one, other)
        assert not alike((one,), (other,)), (one, other)


def test_equal_values_that_no_program_can_tell_apart_are_alike() -> None:
    for one, other in ALIKE:
        assert one == other
        assert alike(one, other), (one, other)

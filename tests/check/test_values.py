"""Values that Python takes for equal and programs tell apart, values that are not equal to themselves, orders of sets."""

from __future__ import annotations

import copy
import datetime as dt
import enum
import ipaddress
import sys
import uuid
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from attractor.check import (
    Bag,
    FrozenMap,
    ImpureStep,
    Record,
    Spec,
    SpecError,
    ValueNotHashable,
    action,
    always,
    check,
    refines,
    require,
    var,
)


class Colour(enum.StrEnum):
    """A text that is a member, too."""

    RED = "red"


class Place(NamedTuple):
    """A tuple with a name."""

    x: int
    y: int


class Note(Record):
    """A record with a part."""

    part: Any = 0


class Peer:
    """Equal to every other one, whatever it holds."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Peer)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"Peer({self.name!r})"


def marked(mark: int) -> Note:
    """A record with an attribute that is no field."""
    note = Note()
    object.__setattr__(note, "mark", mark)
    return note


NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def changing(first: Any, then: Any) -> Spec:
    """A variable that holds the one, then the other."""

    class Changing(Spec):
        x: Any = var(first)

        @action
        def change(self) -> None:
            self.x = then

    return Changing()


EQUAL: list[tuple[Any, Any]] = [
    (1, True),
    (0, 0.0),
    (0.0, -0.0),
    ("red", Colour.RED),
    ((1, 2), Place(1, 2)),
    ((1, (0, 2)), (1, (False, 2))),
    (frozenset({0, 2}), frozenset({False, 2})),
    (Note(part=1), Note(part=True)),
    (Note(part=(1,)), Note(part=(1.0,))),
    (FrozenMap({"a": 1}), FrozenMap({"a": True})),
    (FrozenMap({1: "a"}), FrozenMap({True: "a"})),
    (Bag([1, 2]), Bag([True, 2])),
    (Decimal("1.0"), Decimal("1.00")),
    (complex(0.0, 0.0), complex(0.0, -0.0)),
    (range(0, 3, 2), range(0, 4, 2)),
    (NOON, NOON.astimezone(dt.timezone(dt.timedelta(hours=1)))),
    (NOON, NOON.astimezone(dt.timezone(dt.timedelta(0), "GMT"))),
    (dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, fold=1)),
    (dt.time(1), dt.time(1, fold=1)),
    (Peer("a"), Peer("b")),
    (marked(1), marked(2)),
    (Note(part=Decimal("1.0")), Note(part=Decimal("1.00"))),
]


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize(("one", "other"), EQUAL, ids=repr)
def test_equal_values_of_different_types_are_refused_with_the_line(one: Any, other: Any, engine: Any) -> None:
    """Otherwise one state would stand for two, and what is true of the second would never be seen."""
    for spec in (changing(one, other), changing(other, one)):
        with pytest.raises(SpecError, match=r"test_values\.py:\d+: `x` was given .* to Python the two are equal"):
            check(spec, engine=engine)


SAME: list[Any] = [
    *(1, True, 0.5, "a", Colour.RED, (1, True, 1.0), Place(1, 2), Note(part=(None,)), Bag([1, 1]), frozenset({"a"})),
    *(Decimal("1.0"), NOON, dt.time(1), dt.timedelta(1), range(3), complex(0, -0.0), Peer("a"), marked(1)),
    *(uuid.UUID(int=1), ipaddress.ip_address("10.0.0.1"), FrozenMap({"a": (1,)})),
]


@pytest.mark.parametrize("value", SAME, ids=repr)
def test_a_value_that_is_made_again_is_the_same_one(value: Any) -> None:
    assert check(changing(value, copy.deepcopy(value))).distinct == 1


def test_an_abstraction_that_gives_another_type_is_refused() -> None:
    class Off(Spec):
        on: bool = var(False)

        @action
        def switch(self) -> None:
            self.on = not self.on

    class Count(Spec):
        n: int = var(0)

        @action
        def switch(self) -> None:
            self.n = 1 - self.n

        @refines(Off())
        def as_a_switch(self) -> dict[str, Any]:
            return {"on": self.n}

    with pytest.raises(SpecError, match="`on` was given 0"):
        check(Count())


NAN = float("nan")


@pytest.mark.parametrize("value", [NAN, (1, NAN), frozenset({NAN}), Note(part=NAN), FrozenMap({"a": NAN})], ids=repr)
def test_what_is_not_equal_to_itself_is_refused_with_the_line(value: Any) -> None:
    with pytest.raises(SpecError, match=r"test_values\.py:\d+: `x` was given .*not equal to itself"):
        check(changing(0, value))


def test_an_initial_value_without_a_hash_is_blamed_on_the_line_that_declares_it() -> None:
    class Listed(Spec):
        x: Any = var([])
        line = sys._getframe().f_lineno - 1

    with pytest.raises(ValueNotHashable, match=rf"test_values\.py:{Listed.line}: `x` was given \[\]"):
        check(Listed())


class Picks(Spec):
    """Takes whichever element comes first."""

    names: frozenset[str] = var(frozenset({"a", "b", "c"}))
    picked: str = var("")

    def first(self) -> str:
        return next(iter(self.names))

    @action
    def pick(self) -> None:
        self.picked = self.first()


class Sorts(Picks):
    """Takes the smallest."""

    def first(self) -> str:
        return min(self.names)


class Tries(Picks):
    """Takes any, and each is tried."""

    def pick(self) -> None:
        self.picked = self.choose(list(self.names))


class Judges(Spec):
    """Looks at whichever element comes first."""

    names: frozenset[str] = var(frozenset({"a", "b"}))

    @action
    def stay(self) -> None:
        require(self.names)

    @always
    def first_is_small(self) -> bool:
        return next(iter(self.names)) < "b"


class Waits(Spec):
    """Goes on where the right element comes first."""

    names: frozenset[str] = var(frozenset({"a", "b"}))
    gone: bool = var(False)

    @action
    def go(self) -> None:
        require(next(iter(self.names)) < "b")
        self.gone = True


@pytest.mark.parametrize("spec", [Picks(), Judges(), Waits()])
@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_step_that_depends_on_the_order_of_a_set_is_refused_with_the_line(spec: Spec, engine: Any) -> None:
    with pytest.raises(ImpureStep, match=r"test_values\.py:\d+: what .* does depends on the order of a set"):
        check(spec, engine=engine)


@pytest.mark.parametrize("spec", [Sorts(), Tries()])
def test_a_set_that_is_sorted_or_tried_out_may_have_any_order(spec: Spec) -> None:
    check(spec).assert_holds()

"""A ``fields`` variable: a record with a slot for each field, and yet a value."""

from __future__ import annotations

from typing import Any

import pytest

from attractor.check import Record, Spec, action, always, check, fields, require, terminal, var

ENGINES = ["python", "native"]


class Box(Record):
    lid: str = "closed"
    inside: int = 0


@pytest.mark.parametrize("engine", ENGINES)
def test_fields_of_a_record_are_read_and_written_one_by_one(engine: Any) -> None:
    class Boxes(Spec):
        box: Box = fields(Box())
        other: Box = var(Box(lid="open"))

        @action
        def open(self) -> None:
            require(self.box.lid == "closed")
            self.box = self.box.but(lid="open")

        @action
        def fill(self) -> None:
            require(self.box.lid == "open" and self.box.inside < 2)
            self.box = self.box.but(inside=self.box.inside + 1)

        @terminal
        def full(self) -> bool:
            return self.box == Box(lid="open", inside=2)

    verdict = check(Boxes(), engine=engine).assert_holds()
    assert verdict.distinct == 4
    assert {c.name: c.widest for c in verdict.coverage} == {"open": 1, "fill": 2}


@pytest.mark.parametrize("engine", ENGINES)
def test_methods_and_properties_of_a_record_work_on_its_fields(engine: Any) -> None:
    class Tank(Record):
        level: int = 0
        open: bool = True

        @property
        def full(self) -> bool:
            return self.level == 2

        def takes(self, amount: int) -> bool:
            return self.open and not self.full and self.level + amount <= 2

    class Filling(Spec):
        tank: Tank = fields(Tank())

        @action(amount=(1, 2))
        def fill(self, amount: int) -> None:
            require(self.tank.takes(amount))
            filled = self.tank.but(level=self.tank.level + amount)
            self.tank = filled.but(open=not filled.full)

        @always
        def full_means_closed(self) -> bool:
            return self.tank.full != self.tank.open

    assert check(Filling(), engine=engine, deadlock=False).assert_holds().distinct == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_a_record_of_fields_is_a_value_that_later_writes_do_not_change(engine: Any) -> None:
    class Halves(Record):
        left: int = 0
        right: int = 0

    class Swapping(Spec):
        one: Halves = fields(Halves(left=1, right=2))
        other: Halves = fields(Halves(left=3, right=4))
        seen: int = var(0)

        @action
        def swap(self) -> None:
            require(self.seen == 0)
            before = self.one
            self.one = self.other.but(left=9)
            self.other = before
            self.one = self.one.but(right=8)
            self.seen = before.left * 10 + self.one.right

        @always
        def all_or_nothing(self) -> bool:
            started = self.one == Halves(left=1, right=2) and self.other == Halves(left=3, right=4)
            return started or (self.one == Halves(left=9, right=8) and self.other == Halves(left=1, right=2))

        @always
        def saw_what_was(self) -> bool:
            return self.seen in (0, 18)

    assert check(Swapping(), engine=engine, deadlock=False).assert_holds().distinct == 2

"""Why a predicate is false: the conjunct, the element, the sides that differ."""

from __future__ import annotations

from typing import Any

import pytest

from attractor.check.report.evidence import why_false

STOCK = {"apples": 3, "pears": 0}


def conjunction(stock: dict[str, int]) -> bool:
    return bool(stock) and stock["apples"] > 2 and stock["pears"] > 2


def every_one(stock: dict[str, int]) -> bool:
    return all(count > 0 for name, count in stock.items() if name != "apples")


def equal(stock: dict[str, int]) -> bool:
    wanted = {"apples": 3, "pears": 1}
    return stock == wanted


def some_one(stock: dict[str, int]) -> bool:
    return any(count > 9 for count in stock.values())


def negated(stock: dict[str, int]) -> bool:
    return not stock["apples"]


def asks_another(stock: dict[str, int]) -> bool:
    return every_one(stock)


def early(stock: dict[str, int]) -> bool:
    for count in stock.values():
        if count < 1:
            return count > 5
    return True


def raises(stock: dict[str, int]) -> bool:
    return stock["plums"] > 1


@pytest.mark.parametrize(
    ("predicate", "why"),
    [
        (conjunction, ["false: stock['pears'] > 2", "  stock['pears'] = 0"]),
        (every_one, ["for count = 0, name = 'pears':", "  false: count > 0", "    count = 0"]),
        (
            equal,
            [
                "false: stock == wanted",
                "  stock = {'apples': 3, 'pears': 0}",
                "  wanted = {'apples': 3, 'pears': 1}",
                "  'pears': 0 on the left, 1 on the right",
            ],
        ),
        (some_one, ["false: any((count > 9 for count in stock.values())): true of none of 2"]),
        (negated, ["false: not stock['apples']", "  stock['apples'] = 3"]),
        (early, ["false: count > 5", "  count = 0"]),
        (raises, ["it raises KeyError: 'plums'"]),
        (lambda stock: stock["pears"] == 4, ["false: stock['pears'] == 4", "  stock['pears'] = 0"]),
    ],
)
def test_what_makes_a_predicate_false_is_shown_with_its_values(predicate: Any, why: list[str]) -> None:
    assert why_false(predicate, STOCK) == why


def test_a_predicate_that_asks_another_is_followed() -> None:
    first, *inner = why_false(asks_another, STOCK)
    assert first == "false: every_one(stock)"
    assert inner[0].strip() == "for count = 0, name = 'pears':"


def test_nothing_is_said_of_what_is_true_or_has_no_source() -> None:
    assert why_false(every_one, {"apples": 1}) == []
    assert why_false(bool, {}) == []
    made = eval("lambda stock: stock['pears'] > 3")
    assert why_false(made, STOCK) == ["it returns False"]

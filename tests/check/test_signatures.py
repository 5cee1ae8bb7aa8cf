"""Slips of the pen in a specification: each is refused in words, with the line, before anything is explored."""

from __future__ import annotations

from typing import Any

import pytest

from attractor.check import (
    Spec,
    SpecError,
    action,
    always,
    check,
    each,
    eventually,
    henceforth,
    leads_to,
    predicate,
    var,
)
from attractor.check.spec.signatures import answers_nothing


class Base(Spec):
    """A number that goes to and fro."""

    n: int = var(0)
    m: Any = each(2, 0)

    @action
    def flip(self) -> None:
        self.n = 1 - self.n


def refusal(**members: Any) -> str:
    with pytest.raises(SpecError) as raised:
        check(type("Slip", (Base,), members)())
    return str(raised.value)


def no_self() -> None: ...


def of_w(self: Any, w: int) -> bool:
    return bool(self.n < w)


def of_two(self: Any, a: int, b: int) -> None:
    self.n = a - b


def asserts(self: Any) -> None:
    assert self.n < 2


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (action(no_self), "`slip` takes no `self`"),
        (action(of_w), "`slip` takes `w`, and nothing says which values there are"),
        (action(x=(1, 2))(of_w), "`slip` is declared over `x`, which it does not take; it takes: w"),
        (action(b=(1, 2), a=(3, 4))(of_two), "`slip` takes a, b, and is declared over b, a; use one order"),
        (always(of_w), "`slip` takes `w`"),
        (always(asserts), "`slip` answers nothing; return what is to be true"),
        (predicate(asserts), "`slip` answers nothing"),
        (eventually(True), "`slip` is given True, which is no function of the state"),
        (eventually(of_w), "`slip` takes `w`"),
        (leads_to(henceforth(asserts), lambda self: self.n == 1), "`slip` answers nothing"),
    ],
)
def test_a_function_that_cannot_be_what_it_is_declared_as_is_refused(declared: Any, text: str) -> None:
    assert text in refusal(slip=declared)


def test_the_line_of_the_function_is_named() -> None:
    assert refusal(slip=action(no_self)).startswith(f"test_signatures.py:{no_self.__code__.co_firstlineno}: ")


def test_a_parameter_with_a_default_need_not_be_declared() -> None:
    check(type("Fine", (Base,), {"step": action(lambda self, w=1: None)})()).assert_holds()


def test_a_fairness_that_nobody_knows_is_refused_where_it_is_written() -> None:
    with pytest.raises(
        SpecError, match=r'test_signatures\.py:\d+: fair=\'weakly\' is unknown; an action is fair="weak"'
    ):
        action(fair="weakly")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_a_variable_has_no_value_outside_a_check() -> None:
    with pytest.raises(SpecError, match=r"test_signatures\.py:\d+: variables have values only while"):
        _ = Base().n
    with pytest.raises(SpecError, match="variables have values only while"):
        Base().n = 3


def test_a_specification_without_a_step_is_reported() -> None:
    class Still(Spec):
        n: int = var(0)

    (warning,) = check(Still(), deadlock=False).warnings
    assert warning == "Still has no action, so nothing ever happens; mark steps with `@action`"


def test_only_a_function_that_never_returns_anything_answers_nothing() -> None:
    def sometimes_nothing(n: int) -> bool | None:
        if n:
            return True
        return None

    def raises() -> bool:
        raise ValueError

    assert not any(map(answers_nothing, (sometimes_nothing, raises, of_w, len)))
    assert answers_nothing(asserts)
    assert answers_nothing(lambda: None)

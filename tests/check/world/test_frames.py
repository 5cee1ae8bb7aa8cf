"""A suspended coroutine as a value, on whatever Python runs this: what its future can depend on tells it apart."""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING, Any

import pytest

from attractor.check.world.frames import frame_of
from attractor.check.world.freezing import Unfreezable
from attractor.check.world.liveness import _is_understood, live_names
from attractor.check.world.stacknumbers import reader

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Hashable


class Asked:
    """Something to wait for."""

    def __await__(self) -> Generator[None, Any, Any]:
        return (yield)


def standing(made: Coroutine[Any, Any, Any], *answers: Any) -> Hashable:
    """Where a coroutine stands after these answers."""
    made.send(None)
    for each in answers:
        made.send(each)
    where = frame_of(made, {})
    made.close()
    return where


async def adds_two(one: int, two: int) -> int:
    await Asked()
    return one + two


async def passes_two_on(one: int, two: int) -> tuple[int, int]:
    await Asked()
    two, one = one, two
    return one, two


async def returns_what_may_be_missing(one: int, two: int) -> tuple[int, int]:
    if one:
        maybe = one, two
    await Asked()
    return maybe


async def uses_it_after_a_comprehension_with_its_name(one: int, two: int) -> tuple[list[int], int, int]:
    await Asked()
    return [-one for one in range(3)], one, two


async def waits_in_a_comprehension_with_its_name(one: int, two: int) -> tuple[list[int], int, int]:
    return [one + await Asked() for one in range(3)], one, two


async def closes_over_both(one: int, two: int) -> Callable[[], int]:
    await Asked()
    return lambda: one + two


async def reads_them_in_a_handler(one: int, two: int) -> int:
    try:
        await Asked()
    except ValueError:
        return one - two
    return 0


async def reads_them_next_time(one: int, two: int) -> int:
    while True:
        if await Asked():
            return one + two


READERS: list[Any] = [
    adds_two,
    passes_two_on,
    returns_what_may_be_missing,
    uses_it_after_a_comprehension_with_its_name,
    waits_in_a_comprehension_with_its_name,
    closes_over_both,
    reads_them_in_a_handler,
    reads_them_next_time,
]


@pytest.mark.parametrize("function", READERS, ids=lambda each: each.__name__)
def test_variables_that_are_read_later_tell_coroutines_apart(function: Any) -> None:
    places = {standing(function(one, two)) for one, two in [(1, 1), (1, 2), (2, 1)]}
    assert len(places) == 3
    assert standing(function(1, 2)) in places


async def forgets_both(one: int, two: int) -> int:
    str(one + two)
    await Asked()
    one = two = await Asked()
    return one + two


def test_variables_that_are_written_before_they_are_read_do_not() -> None:
    assert standing(forgets_both(1, 1)) == standing(forgets_both(1, 2)) == standing(forgets_both(2, 1))


async def over_a_list() -> None:
    for _ in [Asked(), Asked(), Asked()]:
        await Asked()


async def over_a_tuple() -> None:
    for _ in (1, 2, 3):
        await Asked()


async def over_a_range() -> None:
    for _ in range(3):
        await Asked()


async def over_a_dict() -> None:
    for _ in {1: 1, 2: 2, 3: 3}:
        await Asked()


async def over_a_text() -> None:
    for _ in "abc":
        await Asked()


async def over_a_list_in_a_comprehension() -> None:
    _ = [await Asked() and None for _ in [1, 2, 3]]


async def over_lists_in_a_list() -> None:
    for inner in [[None, None]]:
        for _ in inner:
            await Asked()
        await Asked()


async def over_its_own_generator() -> None:
    for _ in (each for each in [1, 2, 3]):
        await Asked()


LOOPS: list[Any] = [
    over_a_list,
    over_a_tuple,
    over_a_range,
    over_a_dict,
    over_a_text,
    over_a_list_in_a_comprehension,
    over_lists_in_a_list,
    over_its_own_generator,
]


@pytest.mark.parametrize("function", LOOPS, ids=lambda each: each.__name__)
def test_how_far_a_loop_has_come_tells_coroutines_apart(function: Any) -> None:
    places = [standing(function(), *[None] * rounds) for rounds in range(3)]
    assert len(set(places)) == 3
    assert places == [standing(function(), *[None] * rounds) for rounds in range(3)]


async def hides_what_a_function_refers_to(one: int) -> tuple[int, list[int], int]:
    inner = 0
    return one, [inner for _ in (1, 2) for inner in await Asked()], (lambda: inner)()


async def stands_where_it_hides_what_a_function_refers_to(one: int) -> tuple[list[int], int]:
    return [one for one in (1, 2) if await Asked()], (lambda: one)()


async def hides_one_that_is_unbound(one: int) -> str:
    if one == 1:
        first = "same"
    else:
        second = "same"
    str([(first, second) for first in "ab" for second in await Asked()])
    try:
        return first
    except NameError:
        return second.upper()


def are_told_apart_or_refused(one: Coroutine[Any, Any, Any], other: Coroutine[Any, Any, Any]) -> bool:
    try:
        return standing(one) != standing(other)
    except Unfreezable as refused:
        other.close()
        return "a comprehension hides" in str(refused)


HIDING: list[Any] = [
    hides_what_a_function_refers_to,
    stands_where_it_hides_what_a_function_refers_to,
    hides_one_that_is_unbound,
]


@pytest.mark.parametrize("function", HIDING, ids=lambda each: each.__name__)
def test_frames_in_a_comprehension_that_hides_variables_are_told_apart_or_not_compared(function: Any) -> None:
    assert are_told_apart_or_refused(function(1), function(2))


async def hides_variables_that_nobody_reads_later(one: int, two: int) -> tuple[list[int], int, int]:
    return [first + second for first in (1, 2) for second in (3, await Asked())], one, two


async def has_hidden_what_a_function_refers_to(one: int, two: int) -> tuple[list[bool], int, int]:
    known = [any(each == one for each in (1, 2)) for one in (1, 2)]
    await Asked()
    return known, one, two


@pytest.mark.parametrize("function", [hides_variables_that_nobody_reads_later, has_hidden_what_a_function_refers_to])
def test_frames_with_comprehensions_are_compared_where_all_can_be_read(function: Any) -> None:
    places = {standing(function(one, two)) for one, two in [(1, 1), (1, 2), (2, 1)]}
    assert len(places) == 3
    assert standing(function(1, 2)) in places


async def raises_again() -> None:
    try:
        await Asked()
    finally:
        await Asked()


def test_the_exception_that_is_being_handled_tells_coroutines_apart() -> None:
    places = set()
    for error in (ValueError("one"), ValueError("two"), KeyError("one")):
        one = raises_again()
        one.send(None)
        one.throw(error)
        places.add(frame_of(one, {}))
        one.close()
    assert len(places) == 3


async def handles(error: Exception | None) -> None:
    try:
        if error is not None:
            raise error
    except ValueError:
        pass
    await Asked()


def test_an_exception_that_was_handled_leaves_no_trace() -> None:
    assert standing(handles(ValueError("one"))) == standing(handles(None))


def test_frames_of_a_python_that_nobody_has_looked_at_are_not_compared() -> None:
    with pytest.raises(Unfreezable, match="nobody has looked"):
        reader((3, 99))(adds_two)


def test_frames_of_a_python_without_the_global_lock_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.abiflags", "t")
    with pytest.raises(Unfreezable, match="nobody has looked"):
        reader((3, 14))(adds_two)


def test_every_instruction_of_this_python_that_touches_a_variable_is_understood() -> None:
    named = [dis.opname[each] for each in dis.haslocal]
    assert len(named) >= 3
    assert [name for name in named if not _is_understood(name)] == []


def test_an_instruction_that_is_not_known_is_not_taken_for_harmless() -> None:
    assert not _is_understood("LOAD_FAST_TWICE")
    assert not _is_understood("SWAP_FAST")
    assert not _is_understood("STORE_FAST_INTO_LOAD_FAST")


def test_code_that_is_the_same_however_often_it_has_run_stands_at_the_same_place() -> None:
    assert len({standing(over_lists_in_a_list(), None) for _ in range(2000)}) == 1


def test_all_variables_are_live_where_nothing_is_known_of_an_instruction() -> None:
    assert live_names(adds_two.__code__, -1) == {"one", "two"}

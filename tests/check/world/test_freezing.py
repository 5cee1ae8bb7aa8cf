"""Values in a state: equal exactly if no program can tell them apart, copied whole, or refused."""

from __future__ import annotations

import array
import datetime as dt
import enum
import functools
import io
import itertools
import queue
import random
import re
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID, SafeUUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

from attractor import Key
from attractor.check.values.snapshot import Unfreezable, copied, freeze
from attractor.objects.errors import Conflict, NotFound
from attractor.objects.resource.scalars import Duration, MicroTime
from attractor.runtime import effects
from tests.check.world.pairs import Pair, pair

NAN = float("nan")
BERLIN, UTC = ZoneInfo("Europe/Berlin"), dt.UTC


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Number(enum.IntEnum):
    ONE = 1


@dataclass
class Counted:
    """Has an attribute that is no field."""

    name: str

    def __post_init__(self) -> None:
        self.extra = [self.name]


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: float = 0.0


class Mangled:
    """Its slots have other names than they seem to."""

    __slots__ = ("__hidden", "shown")

    def __init__(self, hidden: int, shown: int) -> None:
        self.__hidden, self.shown = hidden, shown


class Again(Mangled):
    """Has a slot of the same name as its base."""

    __slots__ = ("shown",)


class Named(list[int]):
    """A list with an attribute."""


class Labelled(dict[str, int]):
    """A dict with an attribute."""


class Text(str):
    """A text with an attribute."""

    __slots__ = ("__dict__",)


class Pairwise(NamedTuple):
    a: int
    b: list[int]


class Group(frozenset[str]):
    """A set with attributes."""


class Open(msgspec.Struct, dict=True):
    """A struct with attributes that are no fields."""


class Failed(Exception):
    """Its arguments are not those of its ``__init__``."""

    def __init__(self, code: int, *, where: str) -> None:
        super().__init__(f"{code} {where}")
        self.code, self.where = code, where


class Slotted(Exception):
    __slots__ = ("code",)


def with_attributes(made: Any, **given: Any) -> Any:
    for name, value in given.items():
        setattr(made, name, value)
    return made


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def closing_over(value: Any) -> Any:
    return lambda: value


def with_default(value: Any) -> Any:
    def function(given: Any = value) -> Any:
        return given

    return function


def with_keyword(value: Any) -> Any:
    def function(*, given: Any = value) -> Any:
        return given

    return function


def plain() -> Any:
    return a  # type: ignore[name-defined]  # noqa: F821 - a global of whoever makes the function


FIRST: list[Any] = []
SECOND: list[Any] = []
DIFFERENT: list[tuple[Any, Any]] = [
    (True, 1),
    (1, 1.0),
    (0.0, -0.0),
    (complex(0, 0.0), complex(0, -0.0)),
    (Decimal("1.0"), Decimal("1.00")),
    (dt.datetime(2026, 1, 1, 12, tzinfo=UTC), dt.datetime(2026, 1, 1, 13, tzinfo=dt.timezone(dt.timedelta(hours=1)))),
    (dt.datetime(2026, 1, 1, 13, tzinfo=BERLIN), dt.datetime(2026, 1, 1, 13, tzinfo=ZoneInfo("Europe/Paris"))),
    (dt.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN), dt.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1)),
    (dt.datetime(2026, 1, 1), dt.date(2026, 1, 1)),
    (MicroTime(2026, 1, 1, tzinfo=UTC), dt.datetime(2026, 1, 1, tzinfo=UTC)),
    (MicroTime(2026, 1, 1, tzinfo=UTC), MicroTime(2026, 1, 1, tzinfo=BERLIN)),
    (Duration(seconds=1), Duration(seconds=2)),
    (Duration(seconds=1), dt.timedelta(seconds=1)),
    (Number.ONE, 1),
    (Colour.RED, Colour.BLUE),
    (range(0), range(1, 1)),
    ([1], (1,)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({0, 8}, {8, 0}),
    ({1}, frozenset({1})),
    ([NAN, NAN], [NAN, float("nan")]),
    (Counter("a"), {"a": 1}),
    (OrderedDict(a=1), {"a": 1}),
    (defaultdict(list), defaultdict(dict)),
    (deque([1], 2), deque([1], 3)),
    (with_attributes(Counted("a"), extra=["b"]), Counted("a")),
    (with_attributes(Counted("a"), more=1), Counted("a")),
    (Mangled(1, 2), Mangled(2, 2)),
    (Again(1, 2), Mangled(1, 2)),
    (Point(1, 0.0), Point(1, -0.0)),
    (with_attributes(Named([1]), label="x"), Named([1])),
    (with_attributes(Labelled(a=1), label="x"), Labelled(a=1)),
    (with_attributes(Text("a"), label="x"), Text("a")),
    (Text("a"), "a"),
    (Pairwise(1, [2]), (1, [2])),
    (ValueError("a"), ValueError("b")),
    (ValueError("a"), RuntimeError("a")),
    (caused(ValueError("a"), KeyError("b")), ValueError("a")),
    (with_attributes(Slotted("a"), code=1), with_attributes(Slotted("a"), code=2)),
    (Failed(1, where="here"), with_attributes(Failed(1, where="here"), where="there")),
    (OSError(2, "no", "a"), OSError(2, "no", "b")),
    (closing_over(1), closing_over(2)),
    (closing_over(1), closing_over(True)),
    (with_default(1), with_default(2)),
    (with_attributes(closing_over(1), label=1), closing_over(1)),
    (functools.partial(max, 1), functools.partial(max, 2)),
    (functools.partial(max, default=1), functools.partial(max, default=2)),
    (pair("a"), pair("b")),
    (re.compile("a"), re.compile("a", re.IGNORECASE)),
    (UUID(int=1), UUID(int=2)),
    (UUID(int=1), UUID(int=1, is_safe=SafeUUID.safe)),
    ([FIRST, SECOND, FIRST], [FIRST, SECOND, SECOND]),
    ([FIRST, FIRST], [[], ("again", 2)]),
    (types.FunctionType(plain.__code__, {"a": 1}), types.FunctionType(plain.__code__, {"a": 2})),
    (with_keyword(1), with_keyword(2)),
    (with_attributes(with_keyword(1), __qualname__="other"), with_keyword(1)),
    (with_attributes(with_keyword(1), __name__="other"), with_keyword(1)),
    (with_attributes(functools.partial(max, 1), label=1), functools.partial(max, 1)),
    (Counted("a").__post_init__, Counted("b").__post_init__),
    (dt.timezone(dt.timedelta(hours=1), "A"), dt.timezone(dt.timedelta(hours=1), "B")),
    (range(0, 4, 2), range(0, 4, 3)),
    (slice(1, 2, 3), slice(1, 2, 4)),
    (with_attributes(Group("a"), label="x"), Group("a")),
    (list[int], list[str]),
    (with_attributes(ValueError("a"), __suppress_context__=True), ValueError("a")),
    (ImportError("a", path="b"), ImportError("a", path="c")),
    (OSError(2, "no", "a", None, "b"), OSError(2, "no", "a", None, "c")),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=lambda each: type(each).__name__)
def test_values_that_a_program_can_tell_apart_are_different(one: Any, other: Any) -> None:
    assert freeze(one) != freeze(other)
    assert freeze([one]) != freeze([other])
    assert freeze({"a": (one,)}) != freeze({"a": (other,)})


ALL = [each for both in DIFFERENT for each in both] + [
    *(
        None,
        "a",
        b"a",
        NAN,
        Fraction(1, 2),
        PurePosixPath("a/b"),
        types.SimpleNamespace(a=[1]),
        bytearray(b"a"),
        slice(1),
    ),
    *(
        Key("default", "a"),
        effects.Get(Pair, Key("default", "a")),
        effects.Create(pair()),
        print,
        Counted.__post_init__,
    ),
    *(
        NotFound("gone"),
        Conflict("changed"),
        ExceptionGroup("both", [ValueError(1), KeyError(2)]),
        TimeoutError("late"),
    ),
    *(Counted("a").__post_init__, dt.timedelta(1), dt.time(1, tzinfo=UTC)),
]


@pytest.mark.parametrize("value", ALL, ids=lambda each: type(each).__name__)
def test_a_copy_has_the_same_content_and_the_content_is_a_key(value: Any) -> None:
    assert freeze(copied(value)) == freeze(value)
    assert freeze(copied([value, value])) == freeze([value, value])
    assert {freeze(value): 1}[freeze(value)] == 1


@pytest.mark.parametrize(
    "value",
    [
        *(
            random.Random(1),
            re.match("a", "a"),
            array.array("i", [1]),
            queue.SimpleQueue(),
            threading.Lock(),
            queue.Queue(),
        ),
        *(
            itertools.count(),
            itertools.cycle([1]),
            itertools.chain([1]),
            iter([1]),
            iter({1: 1}),
            enumerate([1]),
            zip([1]),
        ),
        *(
            (each for each in [1]),
            map(str, [1]),
            {}.keys(),
            types.MappingProxyType({}),
            memoryview(b"a"),
            io.StringIO(),
        ),
        *([].append, functools.lru_cache(len), StopIteration(1), ZoneInfo.no_cache("UTC"), Open()),
        *(with_attributes(Counted("a"), lock=threading.Lock()), [threading.RLock()], {"a": iter([])}),
        *(closing_over(iter([])), functools.partial(max, iter([])), caused(ValueError(), StopIteration(1))),
    ],
    ids=lambda each: f"{type(each).__name__}",
)
def test_what_holds_something_that_cannot_be_seen_is_refused(value: Any) -> None:
    with pytest.raises(Unfreezable):
        freeze(value)


def test_a_refusal_names_the_part_that_cannot_be_compared() -> None:
    held = with_attributes(Counted("a"), extra={"inner": threading.Lock()})
    with pytest.raises(Unfreezable, match=r"Counted\.extra \['inner'\] is a _thread\.lock"):
        freeze(held)


def test_sharing_is_told_from_equality_and_kept_by_copies() -> None:
    one: list[int] = []
    assert freeze([one, one]) != freeze([[], []])
    assert freeze([one, []]) == freeze([[], []])
    both = copied([one, one])
    assert both[0] is both[1] is not one


def test_temporary_values_are_never_taken_for_one_another() -> None:
    class Makes(list[int]):
        """Gives out a new list for each look at it."""

        @property
        def __dict__(self) -> Any:  # type: ignore[override]
            return {"made": [1]}

    values = [Pairwise(1, [2]) for _ in range(50)]
    assert len({freeze([each.b, list(each.b)]) for each in values}) == 1
    assert freeze([list(range(3)), list(range(3))]) == freeze([[0, 1, 2], [0, 1, 2]])
    assert Makes is not None


def test_a_copied_function_has_variables_of_its_own() -> None:
    items = [1]
    function = closing_over(items)
    copied(function)().append(2)
    assert items == [1]


def test_a_function_that_names_itself_is_copied() -> None:
    def counts(number: int) -> int:
        return number and 1 + counts(number - 1)

    assert copied(counts)(3) == 3
    assert freeze(copied(counts)) == freeze(counts)


def test_a_cycle_is_frozen_and_copied() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    assert freeze(cycle) == freeze(copied(cycle))
    made = copied(cycle)
    assert made[0] is made


def test_a_copy_runs_no_code_of_its_class() -> None:
    @dataclass
    class Loud:
        made: list[int] = field(default_factory=list)

        def __post_init__(self) -> None:
            self.made.append(1)

        def __deepcopy__(self, memo: Any) -> Any:
            return self

    one = Loud()
    other = copied(one)
    assert other is not one
    assert other.made == [1]
    assert other.made is not one.made


def test_a_copied_function_has_its_names_and_a_partial_one_arguments_of_its_own() -> None:
    items = [1]
    made = copied(functools.partial(closing_over, items))
    made.args[0].append(2)
    assert items == [1]
    assert copied(closing_over(items)).__qualname__ == closing_over(items).__qualname__
    assert copied(closing_over(items)).__module__ == __name__


OBSERVERS: list[Any] = [
    *(type, repr, len, list, vars, str.upper, abs),
    lambda value: [type(each) for each in value],
    lambda value: [repr(each) for each in value.items()],
    lambda value: value.as_tuple(),
    lambda value: value.tzname(),
    lambda value: (value.utcoffset(), value.fold),
    lambda value: value[0] is value[1],
    lambda value: (value.maxlen, value.default_factory),
    lambda value: (type(value.__cause__), value.__suppress_context__, value.args),
]
"""Programs that look at a value; one that cannot answers with the type of its error."""
OBSERVED: list[Any] = [
    *(
        0,
        0.0,
        -0.0,
        False,
        None,
        "",
        b"",
        1,
        True,
        1.0,
        Decimal(1),
        Decimal("1.0"),
        Fraction(1),
        Number.ONE,
        (),
        [],
        {},
    ),
    *(
        {"a": 1},
        {"a": True},
        {"a": 1, "b": 2},
        {"b": 2, "a": 1},
        OrderedDict(a=1),
        Counter("a"),
        deque(),
        deque(maxlen=1),
    ),
    *(defaultdict(int), defaultdict(list), {0, 8}, {8, 0}, frozenset(), set(), [FIRST, FIRST], [FIRST, SECOND]),
    *(dt.time(1), dt.time(1, fold=1), dt.time(1, tzinfo=UTC), dt.timedelta(0), dt.date(2026, 1, 1)),
    *(ValueError(), ValueError(1), caused(ValueError(), KeyError()), KeyError(), Point(1), Point(1, -0.0), Point(2)),
    *(
        Named(),
        with_attributes(Named(), label=1),
        Text("a"),
        "a",
        bytearray(),
        range(0),
        range(1, 1),
        slice(1),
        slice(2),
    ),
]


def seen(value: Any) -> list[Any]:
    """All that the observers tell of a value."""
    found = []
    for look in OBSERVERS:
        try:
            found.append(repr(look(value)))
        except (TypeError, AttributeError, IndexError, ValueError, KeyError) as error:
            found.append(type(error).__name__)
    return found


def test_values_are_equal_exactly_if_no_observer_tells_them_apart() -> None:
    for one, other in itertools.product(OBSERVED, repeat=2):
        assert (freeze(one) == freeze(other)) == (seen(one) == seen(other)), (one, other)


def test_no_observer_tells_a_copy_from_the_original() -> None:
    for value in OBSERVED:
        assert seen(copied(value)) == seen(value), value

"""Ordinary code is explored as it is, however it goes about things, and is not refused."""

# mypy: disable-error-code="func-returns-value, index, comparison-overlap"
from __future__ import annotations

import asyncio
import contextlib
import contextvars
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import heapq
import itertools
import json
import locale
import logging
import operator
import random
import re
import statistics
import string
import textwrap
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec
import pytest

from attractor import Context, Key, Result, controller
from attractor.check import Edit, SpecError, World, WorldState, always, check
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta
from tests.check.world.pairs import KEY, Pair, pair

if TYPE_CHECKING:
    from collections.abc import Callable

EDIT = Edit(Pair, KEY, spec=[{"text": "y"}])


def asking(question: Callable[[], Any]) -> World:
    """A controller that asks something which is never true, and would make a ConfigMap if it were."""

    @controller(for_=Pair)
    async def asks(ctx: Context, key: Key) -> None:
        await ctx.find(Pair, key)
        if question():
            await ctx.create(ConfigMap(metadata=ObjectMeta(name="never", namespace="default")))

    def never(world: WorldState) -> bool:
        return world.find(ConfigMap, Key("default", "never")) is None

    return World(controllers=[asks], objects=[pair()], properties=[always(never, name="never")], kinds=[ConfigMap])


class Plain:
    """Has no text of its own."""


HOLDER = Plain()


# What a reconcile does with its own values is explored, however it goes about it.


async def bad(ctx: Context) -> None:
    await ctx.create(ConfigMap(metadata=ObjectMeta(name="never", namespace="default")))


async def catches_a_cancellation(ctx: Context, key: Key) -> None:
    try:
        await ctx.find(Pair, key)
        raise asyncio.CancelledError
    except asyncio.CancelledError:
        await ctx.find(Pair, key)
    await bad(ctx)


async def groups_errors(ctx: Context, key: Key) -> None:
    try:
        await ctx.find(Pair, key)
        raise ExceptionGroup("both", [ValueError(1), KeyError(2)])
    except* ValueError as group:
        found = len(group.exceptions)
    except* KeyError:
        found = 5
    if found:
        await bad(ctx)


async def yields_late(ctx: Context, key: Key) -> None:
    async def parts() -> Any:
        try:
            for number in range(3):
                await ctx.find(Pair, key)
                yield number
        finally:
            seen.append(1)

    seen: list[int] = []
    async with contextlib.aclosing(parts()) as found:
        async for number in found:
            if number == 1:
                break
    if seen:
        await bad(ctx)


async def cleans_up(ctx: Context, key: Key) -> None:
    seen = []
    try:
        with contextlib.suppress(ZeroDivisionError):
            await ctx.find(Pair, key)
            seen.append(1 // 0)
    finally:
        await ctx.find(Pair, key)
        del seen[:]
    if (size := len(seen)) == 0:
        await bad(ctx)
    assert size == 0


async def counts_in_a_generator(ctx: Context, key: Key) -> None:
    def rounds() -> Any:
        yield from range(2)

    for _ in rounds():
        await ctx.find(Pair, key)
    await bad(ctx)


async def counts_in_a_cell(ctx: Context, key: Key) -> None:
    count = 0

    async def ask() -> None:
        nonlocal count
        await ctx.find(Pair, key)
        count += 1

    while count < 2:
        await ask()
    await bad(ctx)


@dataclass(slots=True)
class Slotted:
    count: int = 0


class Post(msgspec.Struct):
    count: int = 0

    def __post_init__(self) -> None:
        self.count = abs(self.count)


class Loud(str):
    """A text that is equal to all others."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


@dataclass
class Remembered:
    value: Any = None


def remembering(first: Any, second: Any) -> Any:
    """Remembers one value, then another one that claims to be equal, and goes wrong if it can tell."""

    async def reconcile(ctx: Context, key: Key) -> Result | None:
        found = await ctx.recall(Remembered)
        if found is None:
            await ctx.remember(Remembered(first))
            return Result(requeue_after_s=1)
        if repr(found.value) == repr(second):
            await bad(ctx)
            return None
        await ctx.remember(Remembered(second))
        return Result(requeue_after_s=1)

    reconcile.__name__ = f"remembers_{type(first).__name__}"
    return reconcile


VIOLATED = [
    *(catches_a_cancellation, groups_errors, yields_late, cleans_up, counts_in_a_generator, counts_in_a_cell),
    *(remembering(Slotted(1), Slotted(2)), remembering(Post(1), Post(2)), remembering(Loud("a"), Loud("b"))),
    *(remembering(decimal.Decimal("1.0"), decimal.Decimal("1.00")), remembering([True], [1])),
    remembering({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    remembering(OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
]


def judged(reconcile: Any) -> str:
    def never(world: WorldState) -> bool:
        return world.find(ConfigMap, Key("default", "never")) is None

    one = controller(for_=Pair)(reconcile)
    return (
        check(World(controllers=[one], objects=[pair()], users=[EDIT], properties=[always(never, name="never")]))
        .properties[0]
        .verdict
    )


@pytest.mark.parametrize("reconcile", VIOLATED, ids=lambda each: each.__name__)
def test_what_follows_is_found(reconcile: Any) -> None:
    assert judged(reconcile) == "violated"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (lambda: (each for each in "ab"), "is a generator"),
        (lambda: weakref.ref(HOLDER), "weakref"),
        (contextvars.copy_context, "Context"),
        (lambda: memoryview(b"a"), "memoryview"),
        (lambda: iter([1]), "list_iterator"),
    ],
)
def test_what_cannot_be_compared_is_refused_where_it_is_remembered(value: Any, says: str) -> None:
    async def reconcile(ctx: Context, key: Key) -> None:
        await ctx.remember(Remembered(value()))

    with pytest.raises(SpecError, match=rf"test_ordinary_code\.py:\d+ hands over .*{says}"):
        judged(reconcile)


# Ordinary code is not refused.


class Settings(TypedDict, total=False):
    name: str
    size: int


@dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0
    labels: tuple[str, ...] = field(default=(), compare=False)

    @functools.cached_property
    def text(self) -> str:
        return f"{self.major}.{self.minor}"


class Phase(enum.StrEnum):
    NEW = enum.auto()
    DONE = enum.auto()


@functools.lru_cache(maxsize=8)
def fib(number: int) -> int:
    return number if number < 2 else fib(number - 1) + fib(number - 2)


@functools.cache
def table() -> dict[str, int]:
    return {"a": 1}


@functools.singledispatch
def shown(value: Any) -> str:
    return str(value)


@shown.register
def _(value: int) -> str:
    return f"{value:03d}"


LIMITS = {"small": 1, "large": 2}
PATTERN = re.compile(r"(?P<name>\w+)-(\d+)")
LOG = logging.getLogger("tests.attacks")
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
PIPELINE = functools.partial(sorted, reverse=True)


def _matched(value: object) -> str:
    match value:
        case {"name": str(name), **rest} if not rest:
            return name
        case [first, *_]:
            return str(first)
        case Version(major=1, minor=minor):
            return str(minor)
        case Phase.NEW | None:
            return "new"
        case _:
            return "other"


ORDINARY: list[Callable[[], Any]] = [
    lambda: fib(20) == 0,
    lambda: table()["a"] == 2,
    lambda: shown(1) + shown("a") == "",
    lambda: Version(1, 2).text == "" or Version(1) > Version(1, 1) or {Version(1): 1} == {},
    lambda: [_matched(each) for each in ({"name": "a"}, [1], Version(1, 2), Phase.NEW, 3.0)] == [],
    lambda: json.loads(json.dumps({"a": [1, None, "x"]}, indent=2, sort_keys=True)) == {},
    lambda: PATTERN.sub(lambda found: found["name"].upper(), "a-1 b-2") == "",
    lambda: START + dt.timedelta(days=1) < START or START.isoformat() == "",
    lambda: dt.datetime.fromisoformat("2026-01-01T00:00:00+00:00").strftime("%Y") == "1999",
    lambda: START.replace(tzinfo=dt.timezone(dt.timedelta(hours=1))).astimezone(dt.UTC).hour == 5,
    lambda: textwrap.dedent(textwrap.fill("a b c " * 20, 10)) == "",
    lambda: string.Template("$a").substitute(a=1) == "",
    lambda: list(itertools.chain.from_iterable(itertools.groupby("aab", key=str.upper))) == [],
    lambda: sorted({"b", "a"}) == [] or sorted(LIMITS, key=LIMITS.__getitem__) == [] or max({"a", "b"}) == "c",
    lambda: {"a", "b"} & {"b"} == {"c"} or "a" not in {"a", "b"} or len({"a", "b"}) == 3,
    lambda: sum(len(each) for each in {"a", "bb"}) == 0 or all(each.islower() for each in {"a", "b"}) is False,
    lambda: LOG.debug("at %s", Plain()) or (LOG.isEnabledFor(5) and False),
    lambda: PIPELINE([1, 2]) == [],
    lambda: [*map(operator.itemgetter("size"), [Settings(name="a", size=1)])] == [2],
    lambda: heapq.nlargest(1, [1, 2]) == [1] or statistics.median([1, 2, 3]) == 0,
    lambda: Counter("aab").most_common(1) == [] or deque([1, 2], 1)[0] == 1 or defaultdict(int)["a"] == 1,
    lambda: functools.reduce(operator.add, [1, 2]) == 0 or dict(zip("ab", [1, 2], strict=True)) == {},
    lambda: decimal.Decimal("1.10").quantize(decimal.Decimal("0.1")) == 0 or f"{3.14159:.2f}" == "",
    lambda: "%s-%05d" % ("a", 3) == "" or "{:>5}".format("a") == "" or 7 % 3 == 2,  # noqa: UP031
    lambda: random.Random("seed").sample(range(10), 2) == [] or msgspec.json.encode(Post()) == b"",
    lambda: dataclasses.replace(Version(1), minor=3).minor == 0 or dataclasses.asdict(Version(1)) == {},
    lambda: isinstance("a", str) is False or callable(len) is False or str is bytes,
    lambda: locale.str(1.5) == "" or bool(bytes(3).hex() == "x"),
]


@pytest.mark.parametrize("question", ORDINARY)
def test_ordinary_code_is_checked_without_a_word(question: Any) -> None:
    assert check(asking(question)).verdict == "holds"

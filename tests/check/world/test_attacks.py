"""Attacks on the boundary with arbitrary Python: what may not be asked is refused with its line, all else is explored.

Every attack asks a question that is never true in this process, so that only a look at *how* it is asked can tell.
Ordinary code, which asks nothing from outside, is checked without a word.
"""

# mypy: disable-error-code="func-returns-value, index, operator, arg-type, return-value, comparison-overlap, misc, no-any-return, unused-ignore"
from __future__ import annotations

import builtins
import contextlib
import contextvars
import decimal
import enum
import functools
import gc
import heapq
import itertools
import operator
import os
import random
import statistics
import sys
import threading
import time
import types
import warnings
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import datetime
from sys import argv
from time import time as now
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from attractor import Context, Key, controller
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


# Asked of the machine, by compiled code or without a call.


class Stamped(msgspec.Struct):
    """Knows when it was made."""

    at: float = msgspec.field(default_factory=time.time)


class Plain:
    """Has no text of its own."""


class Told(Plain):
    """Tells of itself in a list."""

    def __init__(self) -> None:
        self.parts = [Plain()]


OUTSIDE: list[tuple[Callable[[], Any], str]] = [
    (lambda: Stamped().at < 0, "asks for the time"),
    (lambda: functools.partial(now)() < 0, "asks for the time"),
    (lambda: next(iter(now, None)) < 0, "asks for the time"),
    (lambda: operator.methodcaller("now")(datetime).year < 0, "asks for the time"),
    (lambda: "a".__hash__() == 1, "asks for a hash"),
    (lambda: repr(Plain()) == "", "address of an object"),
    (lambda: "--dry-run" in sys.argv, "looks at its surroundings"),
    (lambda: len(argv) > 1000, "looks at its surroundings"),
    (lambda: "".join(set("abcd")) == "dbca", "depends on the order of a set"),
    (lambda: list(map(id, [KEY])) == [1], "asks for the id"),
    (lambda: sorted([KEY], key=id) == [], "asks for the id"),
    (lambda: min([1, 2], key=hash) == 3, "asks for a hash"),
    (lambda: defaultdict(now)["a"] < 0, "asks for the time"),
    (lambda: next(map(now.__call__, *[[]]), 0) < 0 or next(itertools.starmap(now, [()])) < 0, "asks for the time"),
    (lambda: next(itertools.repeat(now, 1))() < 0, "asks for the time"),
    (lambda: operator.call(now) < 0 if hasattr(operator, "call") else now() < 0, "asks for the time"),
    (lambda: contextvars.copy_context().run(now) < 0, "asks for the time"),
    (lambda: functools.reduce(lambda _, each: each(), [now], 0) < 0, "asks for the time"),
    (lambda: heapq.nsmallest(1, [KEY], key=id) == [], "asks for the id"),
    (lambda: statistics.fmean(map(id, [KEY, KEY])) < 0, "asks for the id"),
    (lambda: getattr(time, "ti" + "me")() < 0, "asks for the time"),
    (lambda: vars(time)["monotonic"]() < 0, "asks for the time"),
    (lambda: types.MethodType(lambda _: now(), 1)() < 0, "asks for the time"),
    (lambda: random.SystemRandom().random() < 0, "takes a random value"),
    (lambda: next(map(random.Random.random, [random._inst])) < 0, "takes a random value"),  # type: ignore[attr-defined]
    (lambda: bytes(map(ord, "a")) == b"b" or list(map(os.urandom, [1])) == [], "takes a random value"),
    (lambda: list(map(os.getenv, ["HOME"])) == [], "looks at its surroundings"),
    (lambda: list(map(os.getcwd, *[])) if False else functools.partial(os.getcwd)() == "", "looks at its surroundings"),
    (lambda: list(map(open, [])) or functools.partial(open, os.devnull)().close(), "uses files"),
    (lambda: functools.partial(gc.get_count)() == (), "looks at its surroundings"),
    (lambda: list(map(sys.getrefcount, [KEY])) == [], "looks at its surroundings"),
    (lambda: f"{Plain()}" == "", "address of an object"),
    (lambda: (f"{Plain()!r}".endswith("fff>") and False) or f"{Told().parts}" == "", "address of an object"),
    (lambda: "%s" % Plain() == "<1>", "address of an object"),  # noqa: UP031
    (lambda: "{}".format(Plain()) == "<1>", "address of an object"),  # noqa: UP032
    (lambda: sorted([Plain(), Plain()], key=repr) == [], "address of an object"),
    (lambda: str(lambda: 0) == "", "address of an object"),
    (lambda: f"{Plain().__init__}" == "", "address of an object"),
    (lambda: [*map(repr, [Plain()])] == [""], "address of an object"),
]


@pytest.mark.parametrize(("question", "says"), OUTSIDE)
def test_what_is_asked_of_the_machine_is_refused_with_its_line_whoever_makes_the_call(question: Any, says: str) -> None:
    with pytest.raises(SpecError, match=rf"test_attacks\.py:\d+:? .*{says}"):
        check(asking(question))


# Kept from one run to the next, wherever that is hidden.


class Lamp(enum.Enum):
    """Its members have state."""

    RED = 1


class Meta(type):
    """A class of classes, with a counter."""

    made = 0


class Made(metaclass=Meta):
    """Counts in its class's class."""


class Counting:
    """Counts through a descriptor, in its class, in a property, in slots."""

    count: int = 0
    __slots__ = ("__weakref__", "own")

    @classmethod
    def up(cls) -> int:
        cls.count += 1
        return cls.count

    def __getattr__(self, name: str) -> int:
        Counting.count += 1
        return Counting.count


class Descriptor:
    """Keeps a number for all who use it."""

    kept = 0

    def __get__(self, *_: Any) -> int:
        type(self).kept += 1
        return self.kept


class Described:
    """Has one."""

    number = Descriptor()


@functools.cache
def notes() -> list[int]:
    """A value that can change, computed once."""
    return []


@functools.lru_cache(maxsize=2)
def labels() -> dict[str, int]:
    """The same, in a cache with a limit."""
    return {}


@functools.cache
def started() -> float:
    """The time, asked once."""
    return time.time()


@functools.cache
def home() -> str | None:
    """The environment, asked once."""
    return os.environ.get("HOME")


class Holder:
    """Computes once."""

    @functools.cached_property
    def parts(self) -> list[int]:
        return []


HOLDER, COUNTING = Holder(), Counting()
SEEN: weakref.WeakValueDictionary[str, Holder] = weakref.WeakValueDictionary()
NAMES: set[str] = set()
STACK: deque[int] = deque(maxlen=3)
TALLY: Counter[str] = Counter()
CURRENT: contextvars.ContextVar[list[int]] = contextvars.ContextVar("CURRENT", default=[])  # noqa: B039
LOCAL = threading.local()
LOCAL.count = 0
TOTAL = 0
NESTED = {"a": {"b": [0]}}
SPACE = types.SimpleNamespace(count=0)
LETTERS = itertools.cycle("ab")
GENERATED = (each for each in range(1_000_000))
KEYED: OrderedDict[str, int] = OrderedDict(a=1, b=2)
FAILED = ValueError("kept")


def _with_a_closure() -> Callable[[], int]:
    count = 0

    def up() -> int:
        nonlocal count
        count += 1
        return count

    return up


up = _with_a_closure()


def _global() -> bool:
    global TOTAL  # noqa: PLW0603
    TOTAL += 1
    return TOTAL < 0


def _keyword(*, into: dict[str, int] = {}) -> bool:  # noqa: B006
    into["a"] = into.get("a", 0) + 1
    return into["a"] < 0


def _walrus() -> bool:
    return (NESTED["a"]["b"].append(1) or (size := len(NESTED["a"]["b"]))) and size < 0


def _deleted() -> bool:
    if KEYED:
        del KEYED[next(iter(KEYED))]
    return len(KEYED) > 2


def _patched() -> bool:
    builtins.attempts = getattr(builtins, "attempts", 0) + 1  # type: ignore[attr-defined]
    return bool(builtins.attempts < 0)  # type: ignore[attr-defined]


def _noted() -> bool:
    FAILED.add_note("once more")
    return len(FAILED.__notes__) < 0


def _recursion() -> bool:
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    return sys.getrecursionlimit() < 0


def _filtered() -> bool:
    warnings.simplefilter("ignore")
    return len(warnings.filters) < 0


def _precise() -> bool:
    decimal.getcontext().prec += 1
    return decimal.getcontext().prec < 0


def _weak() -> bool:
    SEEN[str(len(SEEN))] = HOLDER
    return len(SEEN) < 0


def _typed() -> bool:
    type(COUNTING).count = COUNTING.count + 1
    return COUNTING.count < 0


def _member() -> bool:
    Lamp.RED.lit = getattr(Lamp.RED, "lit", 0) + 1  # type: ignore[attr-defined]
    return bool(Lamp.RED.lit < 0)  # type: ignore[attr-defined]


def _metaclass() -> bool:
    Meta.made += 1
    return Meta.made < 0


def _function_itself() -> bool:
    _function_itself.__dict__["count"] = _function_itself.__dict__.get("count", 0) + 1
    return _function_itself.__dict__["count"] < 0


def _other_code() -> bool:
    _function_itself.__defaults__ = ((_function_itself.__defaults__ or (0,))[0] + 1,)
    return _function_itself.__defaults__[0] < 0


def _named_global() -> bool:
    globals()["TOTAL"] = globals()["TOTAL"] + 1
    return TOTAL < 0


def _through_setattr() -> bool:
    setattr(SPACE, "count", SPACE.count + 1)  # noqa: B010
    return SPACE.count < 0


HIDDEN: list[Callable[[], Any]] = [
    lambda: notes().append(1) or len(notes()) < 0,
    lambda: labels().update(a=len(labels())) or len(labels()) > 5,
    lambda: HOLDER.parts.append(1) or len(HOLDER.parts) < 0,
    lambda: NAMES.add(f"n{len(NAMES)}") or len(NAMES) < 0,
    lambda: STACK.append(len(STACK)) or len(STACK) > 3,
    lambda: TALLY.update("a") or TALLY["a"] < 0,
    lambda: CURRENT.get().append(1) or len(CURRENT.get()) < 0,
    lambda: vars(LOCAL).update(count=LOCAL.count + 1) or LOCAL.count < 0,
    lambda: next(LETTERS) == "c",
    lambda: next(GENERATED) < 0,
    lambda: up() < 0,
    lambda: Counting.up() < 0,
    lambda: COUNTING.anything < 0,
    lambda: Described().number < 0,
    *(_global, _keyword, _walrus, _deleted, _patched, _noted, _recursion, _filtered, _precise, _weak, _typed, _member),
    *(_metaclass, _function_itself, _other_code, _named_global, _through_setattr),
]
CACHED: list[tuple[Callable[[], Any], str]] = [
    (lambda: started() < 0, "asks for the time"),
    (lambda: home() == "nowhere", "looks at its surroundings"),
]


@pytest.mark.parametrize("question", HIDDEN)
def test_what_outlives_a_run_is_refused_wherever_it_is_hidden(question: Any) -> None:
    with (
        warnings.catch_warnings(),
        decimal.localcontext(),
        _restored_limit(),
        pytest.raises(
            SpecError,
            match=r"test_attacks\.py:\d+: .* (changes an attribute of its controller, or a global|that outlives it)",
        ),
    ):
        check(asking(question))


@contextlib.contextmanager
def _restored_limit() -> Any:
    before = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize(("question", "says"), CACHED)
def test_what_a_cached_function_asks_is_refused_although_it_asks_once(question: Any, says: str) -> None:
    with pytest.raises(SpecError, match=rf"test_attacks\.py:\d+ {says}"):
        check(asking(question))

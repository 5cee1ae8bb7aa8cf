"""Attacks from the dark: state that no name leads to, state that two coroutines share, zones, ids and sets handed over.

Each attack keeps something from one run to the next, or asks something of the machine, in a way that no look at the
names in the code finds; each is refused with its line. The ordinary code beside it, which keeps nothing, holds.
"""

# mypy: disable-error-code="func-returns-value, index, operator, arg-type, return-value, comparison-overlap, misc, no-any-return, unused-ignore, attr-defined, union-attr"
from __future__ import annotations

import collections
import csv
import ctypes
import dataclasses
import datetime as dt
import enum
import functools
import importlib
import io
import itertools
import json
import logging
import pprint
import random
import sys
import threading
import time
import types
import urllib.parse
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from attractor.check import SpecError, check
from attractor.k8s.core_v1 import ConfigMap
from tests.check.world import kept_elsewhere
from tests.check.world.pairs import KEY
from tests.check.world.test_attacks import asking

if TYPE_CHECKING:
    from collections.abc import Callable

# Functions that nothing names: they are fetched from where somebody has put them.

TOTAL = 0


def _count() -> int:
    global TOTAL  # noqa: PLW0603
    TOTAL += 1
    return TOTAL


@dataclasses.dataclass
class Settings:
    """Has a function."""

    count: Any = _count


class Strategy(enum.Enum):
    """Has one as its value."""

    COUNTING = (_count,)

    def run(self) -> int:
        return self.value[0]()


class Plugin:
    """Registers what derives from it."""

    known: list[type] = []  # noqa: RUF012

    def __init_subclass__(cls) -> None:
        Plugin.known.append(cls)


class CountingPlugin(Plugin):
    """Is found in the registry."""

    runs = 0

    def run(self) -> int:
        CountingPlugin.runs += 1
        return self.runs


@functools.singledispatch
def size_of(_: object) -> int:
    """One implementation for each type."""
    return 0


@size_of.register
def _(_: int) -> int:
    return _count()


def _by_default(count: Callable[[], int] = _count) -> bool:
    return count() < 0


HANDLERS = {"a": _count}
STEPS = [_count]
SETTINGS = Settings()
SPACE = types.SimpleNamespace(count=_count)
UNNAMED: list[Callable[[], Any]] = [
    lambda: HANDLERS["a"]() < 0,
    lambda: STEPS[0]() < 0,
    lambda: SETTINGS.count() < 0,
    lambda: SPACE.count() < 0,
    lambda: Strategy.COUNTING.run() < 0,
    lambda: Plugin.known[0]().run() < 0,
    lambda: size_of(1) < 0,
    _by_default,
    lambda: json.loads('{"a": 1}', object_hook=lambda _: _count()) < 0,
    lambda: sorted([2, 1], key=lambda _: _count()) == [],
]

# Modules that are imported where they are needed.


def _imported_module() -> bool:
    from tests.check.world import kept_elsewhere as there

    there.COUNT += 1
    return there.COUNT < 0


def _imported_function() -> bool:
    from tests.check.world.kept_elsewhere import up

    return up() < 0


def _imported_list() -> bool:
    import tests.check.world.kept_elsewhere

    tests.check.world.kept_elsewhere.SEEN.append(1)
    return len(tests.check.world.kept_elsewhere.SEEN) < 0


def _imported_object() -> bool:
    from tests.check.world.kept_elsewhere import registry

    return registry().up() < 0


def _imported_library() -> bool:
    import textwrap as library

    library.calls = getattr(library, "calls", 0) + 1
    return library.calls < 0


def _by_import_module() -> bool:
    there = importlib.import_module("tests.check.world.kept_elsewhere")
    there.COUNT += 1
    return there.COUNT < 0


def _by_sys_modules() -> bool:
    there = sys.modules[kept_elsewhere.__name__]
    there.COUNT += 1
    return there.COUNT < 0


IMPORTED = [_imported_module, _imported_function, _imported_list, _imported_object, _imported_library]
IMPORTED += [_by_import_module, _by_sys_modules]

# Objects of others, and objects of which nothing can be seen by name.


class Handler(logging.Handler):
    """Counts records."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


LOG = logging.getLogger("tests.state_in_the_dark")
LOG.addHandler(Handler())
LOG.propagate = False
QUIET = logging.getLogger("tests.quiet")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


class Node:
    """One of a long chain, each with something that cannot be compared."""

    def __init__(self, behind: Node | None) -> None:
        self.lock, self.behind, self.count = threading.Lock(), behind, 0


class Locked:
    """Its slots have a lock and a number."""

    __slots__ = ("count", "lock")

    def __init__(self) -> None:
        self.lock, self.count = threading.Lock(), 0


class Numbered:
    """Each has the next number."""

    numbers = itertools.count()

    def __init__(self) -> None:
        self.number = next(self.numbers)


@dataclasses.dataclass
class Ticket:
    """The same, by a default."""

    number: int = dataclasses.field(default_factory=itertools.count().__next__)


class Slip(msgspec.Struct):
    """The same, in a struct."""

    number: int = msgspec.field(default_factory=itertools.count().__next__)


class Watched:
    """A descriptor with a dict of its own."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def __get__(self, *_: Any) -> int:
        self.seen["looks"] = self.seen.get("looks", 0) + 1
        return self.seen["looks"]


class Seen:
    """Has one."""

    looks = Watched()


CHAIN = Node(Node(Node(Node(Node(Node(None))))))
MIXED: list[Any] = [threading.Lock(), [0]]
PAIRED: tuple[Any, list[int]] = (threading.Lock(), [])
QUEUED: collections.deque[Any] = collections.deque([threading.Lock()])
LOCKED, NUMBER, VIEW = Locked(), ctypes.c_int(0), memoryview(bytearray(2))
APPEND: Any = [].append
LUCK, NEXT = random.Random(3).random, itertools.count().__next__


def _logger() -> bool:
    there = logging.getLogger("tests.another")
    there.count = getattr(there, "count", 0) + 1
    return there.count < 0


def _level() -> bool:
    there = logging.getLogger("tests.another")
    there.setLevel(there.level + 1)
    return there.level < 0


def _handler() -> bool:
    LOG.warning("once more")
    return LOG.handlers[0].count < 0


def _class_of_library() -> bool:
    ConfigMap.attempts = getattr(ConfigMap, "attempts", 0) + 1
    return ConfigMap.attempts < 0


def _function_of_library() -> bool:
    dumps = json.dumps
    dumps.calls = getattr(dumps, "calls", 0) + 1
    return dumps.calls < 0


def _end_of_a_chain() -> bool:
    last = CHAIN.behind.behind.behind.behind.behind
    last.count += 1
    return last.count < 0


def _slots() -> bool:
    LOCKED.count += 1
    return LOCKED.count < 0


def _number() -> bool:
    NUMBER.value += 1
    return NUMBER.value < 0


def _view() -> bool:
    VIEW[0] = (VIEW[0] + 1) % 200
    return VIEW[0] > 201


def _name_in_a_text() -> bool:
    setattr(Seen, "hidden", getattr(Seen, "hidden", 0) + 1)  # noqa: B010
    return Seen.hidden < 0


OBJECTS: list[Callable[[], Any]] = [
    *(_logger, _level, _handler, _class_of_library, _function_of_library, _end_of_a_chain, _slots, _number, _view),
    *(_name_in_a_text, lambda: Numbered().number < 0, lambda: Ticket().number < 0, lambda: Slip().number < 0),
    *(lambda: LUCK() < 0, lambda: NEXT() < 0, lambda: APPEND(1) or len(APPEND.__self__) < 0, lambda: Seen().looks < 0),
    lambda: MIXED[1].append(1) or len(MIXED[1]) < 0,
    lambda: PAIRED[1].append(1) or len(PAIRED[1]) < 0,
    lambda: QUEUED.append(1) or len(QUEUED) < 0,
]


@pytest.mark.parametrize("question", [*UNNAMED, *IMPORTED, *OBJECTS])
def test_state_that_no_name_leads_to_is_refused_with_its_line(question: Any) -> None:
    with pytest.raises(
        SpecError, match=r"\w+\.py:\d+: .*(changes an attribute of its controller, or a global variable|outlives it)"
    ):
        check(asking(question))


def test_a_refusal_names_the_variable() -> None:
    with pytest.raises(SpecError, match=r"a global variable \(`TOTAL`\); memory"):
        check(asking(lambda: HANDLERS["a"]() < 0))


# Asked of the machine without a call that could be seen, or by another's hand.

ASKED: list[tuple[Callable[[], Any], str]] = [
    (lambda: dt.datetime.fromtimestamp(0).year < 0, "local time zone"),
    (lambda: dt.date.fromtimestamp(0).year < 0, "local time zone"),
    (lambda: dt.datetime(2026, 1, 1).astimezone().year < 0, "local time zone"),
    (lambda: dt.datetime(2026, 1, 1, tzinfo=dt.UTC).astimezone().year < 0, "local time zone"),
    (lambda: dt.datetime(2026, 1, 1).timestamp() < 0, "local time zone"),
    (lambda: time.mktime((2026, 1, 1, 0, 0, 0, 0, 0, 0)) < 0, "local time zone"),
    (lambda: time.timezone == 1, "local time zone"),
    (lambda: json.dumps([KEY], default=id) == "", "asks for the id"),
    (lambda: pprint.pformat(Node(None)) == "", "address of an object"),
    (lambda: sys.path[0] == "nowhere", "looks at its surroundings"),
    (lambda: threading.active_count() < 0, "looks at its surroundings"),
]


@pytest.mark.parametrize(("question", "says"), ASKED)
def test_the_machine_is_not_asked_by_anothers_hand(question: Any, says: str) -> None:
    with pytest.raises(SpecError, match=rf"test_state_in_the_dark\.py:\d+ .*{says}"):
        check(asking(question))


def _as_csv(names: set[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(names)
    return text.getvalue()


ORDERED: list[Callable[[], Any]] = [
    lambda: collections.Counter({"a", "b"}).most_common(1)[0][0] == "a",
    lambda: _as_csv({"a", "b"}).startswith("a"),
    lambda: urllib.parse.urlencode({"a": {"x", "y"}}, doseq=True) == "a=x&a=y",
    lambda: msgspec.json.encode({"a", "b"}) == b'["a","b"]',
]


@pytest.mark.parametrize("question", ORDERED)
def test_the_order_of_a_set_that_a_library_loops_over_is_refused(question: Any) -> None:
    with pytest.raises(SpecError, match=r"test_state_in_the_dark\.py:\d+: .* depends on the order of a set"):
        check(asking(question))


FINE: list[Callable[[], Any]] = [
    lambda: dt.datetime.fromtimestamp(0, dt.UTC).year < 0,
    lambda: dt.datetime.fromtimestamp(0, tz=dt.UTC).astimezone(dt.UTC).timestamp() < 0,
    lambda: json.dumps({"a": [1]}, default=str, indent=2) == "",
    lambda: len({"a", "b"}) == len(set(map(str.upper, {"a", "b"}))) + 1,
    lambda: collections.Counter({"a", "b"})["a"] == 2,
    lambda: logging.getLogger("tests.fine").isEnabledFor(60) and LOG.name == "",
    lambda: QUIET.warning("a record is made, which asks for its task") is not None,
    lambda: functools.reduce(lambda one, other: one + other, [1, 2]) < 0,
    lambda: random.Random(3).random() < 0,
    lambda: dataclasses.replace(SETTINGS, count=1).count < 0,
]


@pytest.mark.parametrize("question", FINE)
def test_ordinary_code_beside_it_is_let_through(question: Any) -> None:
    assert check(asking(question)).verdict == "holds"

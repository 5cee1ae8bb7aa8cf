"""Values under watch: whatever changes their content is seen, in whatever it is hidden."""

from __future__ import annotations

import functools
import itertools
import random
import types
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from attractor.check.sandbox.purity import Guard
from attractor.check.values.snapshot import freeze
from attractor.check.values.watched import Watch

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Open:
    held: Any = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class Slotted:
    one: Any
    other: Any = 0


class HalfFilled:
    __slots__ = ("here", "there")

    def __init__(self) -> None:
        self.here: Any = 1


class Hiding:
    """A class whose own code says that nothing has changed."""

    __slots__ = ("held", "more")

    def __init__(self) -> None:
        self.held, self.more = 1, 2

    def __getattribute__(self, name: str) -> Any:
        return 0


class Struct(msgspec.Struct):
    held: Any
    number: int = 0


class Names(list[Any]):
    extra: Any = None


class Pairs(NamedTuple):
    one: Any
    other: Any


class Marked(tuple[Any, ...]):
    mark: Any


class Text(str):
    __slots__ = ("note",)
    note: Any


def closing(value: Any) -> Callable[[], Any]:
    def closed() -> Any:
        return value

    return closed


def with_default(held: Any = None, *, named: Any = None) -> None:
    """Has defaults."""


def fresh_function() -> types.FunctionType:
    made = types.FunctionType(with_default.__code__, globals())
    made.__defaults__, made.__kwdefaults__ = ([],), {"named": []}
    return made


def fill_cell(function: Any) -> None:
    function.__closure__[0].cell_contents = 2


def swapped(value: dict[str, Any]) -> None:
    value["one"] = value.pop("one")


CHANGES: list[tuple[str, Callable[[], Any], Callable[[Any], Any]]] = [
    ("an element", lambda: [1, 2], lambda value: value.append(3)),
    ("an element of equal hash", lambda: [1], lambda value: value.__setitem__(0, True)),
    ("an entry", lambda: {"one": 1}, lambda value: value.update(one=2)),
    ("a key", lambda: {"one": 1}, lambda value: value.update(two=value.pop("one"))),
    ("the order of entries", lambda: {"one": 1, "two": 2}, swapped),
    ("the order of an ordered dict", lambda: OrderedDict(one=1, two=2), lambda value: value.move_to_end("one")),
    ("a default factory", lambda: defaultdict(list), lambda value: setattr(value, "default_factory", dict)),
    ("an entry of a default dict", lambda: defaultdict(list), lambda value: value["one"]),
    ("an element of a set", lambda: {"one"}, lambda value: value.add("two")),
    ("an element of a deque", lambda: deque([1]), lambda value: value.rotate() or value.append(2)),
    ("an attribute", Open, lambda value: setattr(value, "held", 2)),
    ("what an attribute holds", Open, lambda value: value.held.append(2)),
    ("an attribute that is not declared", Open, lambda value: setattr(value, "more", 2)),
    ("all attributes at once", Open, lambda value: setattr(value, "__dict__", {"held": 3})),
    ("the order of attributes", Open, lambda value: value.__dict__.update(x=value.__dict__.pop("held"))),
    ("a frozen slot", lambda: Slotted(1), lambda value: object.__setattr__(value, "one", 2)),
    ("what a slot holds", lambda: Slotted([]), lambda value: value.one.append(2)),
    ("a slot that was empty", HalfFilled, lambda value: setattr(value, "there", 2)),
    ("a slot that is emptied", HalfFilled, lambda value: delattr(value, "here")),
    ("a slot behind a class that hides it", Hiding, lambda value: setattr(value, "held", 9)),
    ("a field of a struct", lambda: Struct(1), lambda value: setattr(value, "held", 2)),
    ("what a struct holds", lambda: Struct([]), lambda value: value.held.append(2)),
    ("an attribute of a list", lambda: Names([1]), lambda value: setattr(value, "extra", 2)),
    ("an element of a list of a class", lambda: Names([1]), lambda value: value.append(2)),
    ("what a named tuple holds", lambda: Pairs(1, []), lambda value: value.other.append(2)),
    ("an attribute of a tuple", lambda: Marked((1,)), lambda value: setattr(value, "mark", 2)),
    ("a slot of a text", lambda: Text("one"), lambda value: setattr(value, "note", 2)),
    ("a list in a tuple in a tuple", lambda: ((1, ([],)),), lambda value: value[0][1][0].append(2)),
    ("a variable that a function closes over", lambda: closing(1), fill_cell),
    ("what that variable holds", lambda: closing([]), lambda value: value().append(1)),
    ("a default", fresh_function, lambda value: value.__defaults__[0].append(1)),
    ("a named default", fresh_function, lambda value: value.__kwdefaults__["named"].append(1)),
    ("other defaults", fresh_function, lambda value: setattr(value, "__defaults__", (1,))),
    ("an attribute of a function", fresh_function, lambda value: setattr(value, "count", 1)),
    ("an argument of a partial function", lambda: functools.partial(print, []), lambda value: value.args[0].append(1)),
    ("the owner of a method", lambda: Names.append.__get__(Names()), lambda value: value.__self__.append(1)),
    ("a namespace", lambda: types.SimpleNamespace(one=1), lambda value: setattr(value, "one", 2)),
    ("a list that holds itself", lambda: itself(), lambda value: value.append(1)),  # noqa: PLW0108 - defined below
]


def itself() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(("make", "change"), [each[1:] for each in CHANGES], ids=[each[0] for each in CHANGES])
def test_a_change_of_anything_that_a_value_holds_is_seen(make: Callable[[], Any], change: Callable[[Any], Any]) -> None:
    value = make()
    watch = Watch()
    assert watch.add({"around": [value]})
    assert watch.is_unchanged()
    change(value)
    assert not watch.is_unchanged()


@pytest.mark.parametrize(
    "value", [ValueError("no"), bytearray(b"one"), slice([], None), [iter([1])]], ids=lambda value: type(value).__name__
)
def test_what_may_change_unseen_is_not_watched(value: Any) -> None:
    assert not Watch((type(iter([])),)).add([value])


def test_random_changes_are_seen_whenever_the_content_is_another() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        holders: list[Any] = []
        value = grown(chance, holders, 4)
        before = freeze(value)
        watch = Watch()
        assert watch.add(value)
        for _ in range(chance.randrange(3)):
            mutate(chance, chance.choice(holders))
        if watch.is_unchanged():
            assert freeze(value) == before, seed


def grown(chance: random.Random, holders: list[Any], depth: int) -> Any:
    """A random value; what can be changed in it is added to the holders."""
    parts = [grown(chance, holders, depth - 1) for _ in range(chance.randrange(1, 4))] if depth else [chance.random()]
    forms: list[Callable[[list[Any]], Any]] = [
        list,
        tuple,
        deque,
        lambda found: dict(enumerate(found)),
        lambda found: Open(found[0]),
        lambda found: Struct(found[0]),
        lambda found: Slotted(*found[:2]),
    ]
    made = chance.choice(forms)(parts)
    holders.append(made)
    return made


def mutate(chance: random.Random, value: Any) -> None:
    """Change a value at random, or put an equal part in a part's place, or leave it alone."""
    new = chance.choice([0, 1, True, [], 1.0])
    if isinstance(value, list | deque) and value:
        value[0] = new if chance.random() < 0.5 else value[0]
    elif isinstance(value, dict):
        value[chance.randrange(3)] = new
    elif isinstance(value, Open | Struct):
        value.held = new


KEPT: dict[str, Any] = {"deep": ([Slotted([1])],)}


def remembering() -> None:
    """Names what is kept."""
    KEPT.get("deep")


def test_a_guard_sees_a_change_after_an_equal_object_was_exchanged() -> None:
    guard = Guard(remembering)
    assert guard.changed() is None
    KEPT["deep"][0][0] = Slotted([1])  # an equal one, which the guard has to look at from now on
    try:
        assert guard.changed() is None
        KEPT["deep"][0][0].one.append(2)
        assert guard.changed() is not None
        KEPT["deep"][0][0].one.pop()
        assert guard.changed() is None
    finally:
        KEPT["deep"] = ([Slotted([1])],)


def test_a_guard_sees_what_an_iterator_has_given_away() -> None:
    numbers = itertools.count()

    def counting() -> int:
        return next(numbers)

    guard = Guard(counting)
    assert guard.changed() is None
    assert guard.changed() is None
    counting()
    assert guard.changed() is not None

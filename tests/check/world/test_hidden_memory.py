"""What outlives a run of code under check, wherever it is hidden, and orders of sets that only some processes have."""

from __future__ import annotations

import contextvars
import itertools
import json
import platform
import queue
import random
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from attractor import Context, Key, controller
from attractor.check import ImpureStep, SpecError, World, WorldState, always, check
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta
from tests.check.world.pairs import Pair, pair

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDED = random.Random(3)
NUMBERS = itertools.count()
WAITING: queue.SimpleQueue[int] = queue.SimpleQueue()
LOCAL = threading.local()
CURRENT: contextvars.ContextVar[int] = contextvars.ContextVar("CURRENT", default=0)
NAMES = ("alpha", "beta", "gamma", "delta")


def tagged() -> None:
    """A function with an attribute."""


tagged.count = 0  # type: ignore[attr-defined]


def collected(into: list[int] = []) -> int:  # noqa: B006 - the mistake that this is about
    """Appends to its default."""
    into.append(1)
    return len(into)


def _in_another_module() -> bool:
    json.attempts = getattr(json, "attempts", 0) + 1  # type: ignore[attr-defined]
    return bool(json.attempts < 0)  # type: ignore[attr-defined]


def _in_a_function() -> bool:
    tagged.count += 1  # type: ignore[attr-defined]
    return bool(tagged.count < 0)  # type: ignore[attr-defined]


def _in_a_thread() -> bool:
    LOCAL.count = getattr(LOCAL, "count", 0) + 1
    return bool(LOCAL.count < 0)


def _in_a_variable() -> bool:
    CURRENT.set(CURRENT.get() + 1)
    return CURRENT.get() < 0


def _in_a_queue() -> bool:
    WAITING.put(1)
    return WAITING.qsize() < 0


HIDDEN: list[Callable[[], bool]] = [
    _in_another_module,
    _in_a_function,
    _in_a_thread,
    _in_a_variable,
    _in_a_queue,
    lambda: collected() < 0,
    lambda: next(NUMBERS) < 0,
    lambda: SEEDED.random() < 0,
]


def asking(question: Callable[[], bool]) -> World:
    """A controller that asks something which is never true, and would make a ConfigMap if it were."""

    @controller(for_=Pair)
    async def asks(ctx: Context, key: Key) -> None:
        if question():
            await ctx.create(ConfigMap(metadata=ObjectMeta(name="never", namespace="default")))

    return World(controllers=[asks], objects=[pair()], kinds=[ConfigMap])


@pytest.mark.parametrize("question", HIDDEN)
def test_memory_outside_the_context_is_refused_wherever_it_is_hidden(question: Callable[[], bool]) -> None:
    with pytest.raises(SpecError, match=r"changes an attribute of its controller, or a global variable"):
        check(asking(question))


@dataclass
class Stamped:
    """Knows when it was made."""

    at: float = field(default_factory=time.time)


@pytest.mark.parametrize(
    ("question", "what"),
    [
        (lambda: Stamped().at < 0, "asks for the time"),
        (lambda: time.strftime("%Y") == "1999", "asks for the time"),
        (lambda: platform.node() == "nowhere", "looks at its surroundings"),
    ],
)
def test_the_outside_is_refused_also_where_it_makes_no_difference(question: Callable[[], bool], what: str) -> None:
    with pytest.raises(SpecError, match=rf"test_hidden_memory\.py:\d+ {what}"):
        check(asking(question))


@pytest.mark.parametrize("first", NAMES)
def test_a_reconcile_that_waits_for_one_order_of_a_set_is_refused_whatever_order_this_process_has(first: str) -> None:
    with pytest.raises(SpecError, match=r"test_hidden_memory\.py:\d+: .* depends on the order of a set"):
        check(asking(lambda: next(iter(set(NAMES))) == first))


def claiming(claim: Callable[[WorldState], bool]) -> World:
    """A world of which something is claimed."""

    @controller(for_=Pair)
    async def looks(ctx: Context, key: Key) -> None:
        await ctx.find(Pair, key)

    return World(controllers=[looks], objects=[pair()], properties=[always(claim, name="claimed")])


COUNTED: list[Any] = [0]


def counts_its_calls(look: WorldState) -> bool:
    COUNTED[0] += 1
    return bool(COUNTED[0] < 1_000_000)


def test_a_claim_that_changes_something_is_refused_with_its_line() -> None:
    with pytest.raises(SpecError, match=r"test_hidden_memory\.py:\d+: the claim `claimed` changes a variable"):
        check(claiming(counts_its_calls))


@pytest.mark.parametrize("first", NAMES)
def test_a_claim_that_depends_on_the_order_of_a_set_is_refused_or_violated(first: str) -> None:
    def never_first(look: WorldState) -> bool:
        return next(iter(set(NAMES))) != first

    try:
        assert check(claiming(never_first)).verdict == "violated"
    except ImpureStep as refused:
        assert "depends on the order of a set" in str(refused)  # noqa: PT017 - either way is right

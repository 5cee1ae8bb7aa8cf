"""What coroutines share in production and not in a world, and what models and functions beside a reconcile keep.

A world gives background work copies of its own, so whoever relies on sharing is refused. Models, claims, predicates, map
and index functions may keep nothing but what is theirs.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from attractor import Context, Key, controller
from attractor.check import Edit, Faults, SpecError, World, WorldState, always, check, no_duplicates
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta
from attractor.runtime import For, Watches
from attractor.runtime.controller import Index
from tests.check.world import kept_elsewhere
from tests.check.world.pairs import KEY, Pair, pair

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTERS = {"a": kept_elsewhere.up}

# Two coroutines that share something in production; in a world each has a copy.


def configmap(name: str = "never") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


async def closes_over(ctx: Context, key: Key) -> None:
    box: list[int] = []

    async def work(ctx: Context) -> None:
        box.append(1)
        await ctx.find(Pair, key)

    await ctx.start(work)
    await ctx.list(ConfigMap)
    if box:
        await ctx.create(configmap())


async def _fills(ctx: Context, box: list[int]) -> None:
    await ctx.find(Pair, KEY)
    box.append(1)


async def gives_a_box(ctx: Context, key: Key) -> None:
    box: list[int] = []
    await ctx.start(_fills, box)
    await ctx.list(ConfigMap)
    if box:
        await ctx.create(configmap())


async def _looks_into(ctx: Context, box: list[int]) -> None:
    await ctx.find(Pair, KEY)
    if box:
        await ctx.create(configmap())


async def fills_it_later(ctx: Context, key: Key) -> None:
    box: list[int] = []
    await ctx.start(_looks_into, box)
    box.append(1)


async def defers_with_a_box(ctx: Context, key: Key) -> None:
    box: list[int] = []
    await ctx.remember([1])
    await ctx.defer(list, lambda state: state + box)
    box.append(2)
    if await ctx.recall(list) == [1, 2]:
        await ctx.create(configmap())


class Starter:
    """Its work tells it by an attribute."""

    def __init__(self) -> None:
        self.is_done = False

    async def work(self, ctx: Context) -> None:
        await ctx.find(Pair, KEY)
        self.is_done = True

    async def reconcile(self, ctx: Context, key: Key) -> None:
        await ctx.start(self.work)
        await ctx.list(ConfigMap)
        if self.is_done:
            await ctx.create(configmap())


async def gives_and_leaves_alone(ctx: Context, key: Key) -> None:
    names = ["a", "b"]
    await ctx.start(_reads, names)
    await ctx.list(ConfigMap)
    if names == []:
        await ctx.create(configmap())


async def _reads(ctx: Context, names: list[str]) -> None:
    left = list(names)
    while left:
        await ctx.find(Pair, Key("default", left.pop()))


def never(world: WorldState) -> bool:
    return world.find(ConfigMap, Key("default", "never")) is None


def of(reconcile: Any, **options: Any) -> World:
    named = {"for_": Pair, "name": "starts", **options.pop("declared", {})}
    options = {"properties": [always(never, name="never")], "objects": [pair()], "kinds": [ConfigMap], **options}
    return World(controllers=[controller(reconcile, **named)], **options)


@pytest.mark.parametrize(
    "reconcile", [closes_over, gives_a_box, fills_it_later, defers_with_a_box, Starter().reconcile]
)
def test_what_is_shared_with_background_work_may_not_be_changed(reconcile: Any) -> None:
    with pytest.raises(SpecError, match=r"test_shared_state\.py:\d+: .* in production both sides see that"):
        check(of(reconcile))


def test_what_is_given_to_background_work_may_be_read_by_both() -> None:
    assert check(of(gives_and_leaves_alone)).verdict == "holds"


# Functions beside reconciles, and models.


async def looks(ctx: Context, key: Key) -> None:
    await ctx.find(Pair, key)


async def looks_up(ctx: Context, key: Key) -> None:
    await ctx.list(Pair, index=("text", "x"))


class Outside(Protocol):
    """Answers yes or no."""

    async def ask(self) -> bool: ...


class Kept:
    """Counts on a logger."""

    def ask(self) -> bool:
        there = logging.getLogger("tests.model")
        there.count = getattr(there, "count", 0) + 1  # type: ignore[attr-defined]
        return bool(there.count < 0)  # type: ignore[attr-defined]


class Plain:
    """Keeps nothing."""

    def ask(self) -> bool:
        return False


class Called:
    """Counts in a function that it does not name."""

    def ask(self) -> bool:
        return COUNTERS["a"]() < 0


class Ordered:
    """Depends on the order of a set."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def ask(self) -> bool:
        self.names |= {"a", "b"}
        return next(iter(self.names)) == "a"


async def asks(ctx: Context, key: Key) -> None:
    await ctx.external(Outside).ask()


@pytest.mark.parametrize(
    ("model", "says"),
    [(Kept, "no part of the model"), (Called, "outside of the model"), (Ordered, "the order of a set")],
)
def test_a_model_keeps_nothing_elsewhere_and_takes_sets_in_order(model: Any, says: str) -> None:
    with pytest.raises(SpecError, match=rf"test_shared_state\.py:\d+: .*{says}"):
        check(of(asks, declared={"externals": [Outside]}, externals={Outside: model()}))


def _remembering(answer: Any) -> Any:
    seen: list[int] = []

    def asked(*_: Any) -> Any:
        seen.append(1)
        return answer

    return asked


class Judge:
    """A claim that is an object."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _: WorldState) -> bool:
        self.count += 1
        return self.count < 1_000_000


EDIT = Edit(Pair, KEY, spec=[{"text": "y"}], when=_remembering(True))
BESIDE: list[Callable[[], World]] = [
    lambda: of(looks, declared={"for_": For(Pair, when=_remembering(True))}),
    lambda: of(looks, declared={"watches": [Watches(Pair, to_keys=_remembering([KEY]))]}),
    lambda: of(looks_up, declared={"indexes": [Index(Pair, "text", _remembering(["x"]))]}),
    lambda: of(looks, users=[EDIT]),
    lambda: of(looks, properties=[always(_remembering(True), name="remembering")]),
    lambda: of(looks, properties=[always(Judge(), name="judge")]),
    lambda: of(looks, properties=[no_duplicates(Pair, _remembering(1))]),
    lambda: of(
        asks,
        declared={"externals": [Outside]},
        externals={Outside: Plain()},
        external_failure=_remembering(TimeoutError()),
        faults=Faults(external_failure=1),
    ),
]


@pytest.mark.parametrize("made", BESIDE)
def test_functions_beside_a_reconcile_keep_nothing(made: Any) -> None:
    with pytest.raises(SpecError, match=r"test_shared_state\.py:\d+: .* changes a variable outside of itself"):
        check(made())


def test_a_claim_that_raises_is_refused_with_its_line() -> None:
    def raises(world: WorldState) -> bool:
        return world.get(ConfigMap, KEY).data is None

    with pytest.raises(SpecError, match=r"test_shared_state\.py:\d+: the claim `raises` raises LookupError"):
        check(of(looks, properties=[always(raises, name="raises")]))

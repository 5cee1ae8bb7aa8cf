"""Slips of the pen in worlds and controllers: refused in words, or reported though every claim holds."""

from __future__ import annotations

from typing import Any

import pytest

from attractor import Context, Key, controller
from attractor.check import Bounds, Delete, Edit, SpecError, World, always, check, eventually_stable, quiesces
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import Conflict
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Reconciler
from tests.check.world.pairs import KEY, Pair, pair, pairs


def remarks(reconcile: Any) -> tuple[str, ...]:
    return check(World(controllers=[controller(reconcile, name="slips", for_=Pair)], objects=[pair()])).warnings


async def forgets_to_wait(ctx: Context, key: Key) -> None:
    found: Any = ctx.find(Pair, key)
    found.spec.text = "new"


async def drops(ctx: Context, key: Key) -> None:
    await ctx.find(Pair, key)
    ctx.create(ConfigMap(metadata=ObjectMeta(name="x", namespace="default")))


async def takes_none_for_an_object(ctx: Context, key: Key) -> None:
    found: Any = await ctx.find(ConfigMap, key)
    found.data = {}


async def answers_a_number(ctx: Context, key: Key) -> Any:
    await ctx.find(Pair, key)
    return 5


async def chooses_a_bad_name(ctx: Context, key: Key) -> None:
    await ctx.create(ConfigMap(metadata=ObjectMeta(name="Bad_Name", namespace="default")))


@pytest.mark.parametrize(
    ("reconcile", "line", "text"),
    [
        (forgets_to_wait, 2, "AttributeError: Get is a question that was not awaited; write `await` before it"),
        (drops, 2, "`ctx.create(...)` is not awaited, so it does nothing; write `await` before it"),
        (takes_none_for_an_object, 2, "AttributeError: 'NoneType' object has no attribute 'data'"),
        (answers_a_number, None, "the reconcile returned 5; return None, or a Result"),
        (chooses_a_bad_name, 1, "asks for what the server refuses, and ends at"),
    ],
)
def test_a_mistake_that_no_claim_notices_is_reported_with_the_line(reconcile: Any, line: int | None, text: str) -> None:
    (remark,) = remarks(reconcile)
    assert text in remark
    assert line is None or f"{__file__}:{reconcile.__code__.co_firstlineno + line}:" in remark


def test_a_method_that_drops_an_effect_is_found_too() -> None:
    class Drops(Reconciler[Pair]):
        kind = Pair
        finalizer = None

        async def sync(self, ctx: Context, obj: Pair) -> None:
            ctx.delete(obj)

    assert "`ctx.delete(...)` is not awaited" in remarks(Drops())[0]


async def meets_a_conflict(ctx: Context, key: Key) -> None:
    await ctx.find(Pair, key)
    raise Conflict("somebody was faster")


def test_an_error_that_a_right_program_may_end_with_is_not_reported() -> None:
    assert remarks(meets_a_conflict) == ()
    assert check(World(controllers=[pairs], objects=[pair()])).warnings == ()


def says_nothing(_: Any) -> Any:
    assert pair() is not None


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: World(controllers=pairs), "`controllers` of a world is a list, and this is one Controller"),  # type: ignore[arg-type]
        (lambda: World(controllers=[pairs], objects=pair()), "`objects` of a world is a list"),  # type: ignore[arg-type]
        (lambda: World(controllers=[pairs], objects=[], users=Delete(Pair, KEY)), "`users` of a world is a list"),  # type: ignore[arg-type]
        (lambda: World(controllers=[pairs], properties=quiesces()), "`properties` of a world is a list"),  # type: ignore[arg-type]
        (lambda: World(controllers=[pairs], objects=[Pair]), "Pair is no object; make one"),  # type: ignore[list-item]
        (
            lambda: World(controllers=[pairs], objects=[ConfigMap(metadata=ObjectMeta(name="a"))]),
            "ConfigMap a has no namespace",
        ),
        (lambda: World(controllers=[pairs], objects=[], users=["delete"]), "'delete' is no user"),  # type: ignore[list-item]
        (lambda: World(controllers=[pairs], faults={"crash": 1}), "write faults=Faults(crash=1)"),  # type: ignore[arg-type]
        (lambda: World(controllers=[pairs], bounds={"lag": 4}), "write bounds=Bounds(lag=4)"),  # type: ignore[arg-type]
        (lambda: World(controllers=[pairs], workers=0), "workers=0 of a world is too few"),
        (lambda: Bounds(lag=0), "the bound lag=0 of a world is too few; it is at least 1"),
        (lambda: Bounds(answers="many"), "the bound answers='many' is not a whole number"),  # type: ignore[arg-type]
        (lambda: World(controllers=[pairs]).but(lag=4), "lag is a bound: write bounds=world.bounds.but(lag=4)"),
        (lambda: World(controllers=[pairs]).but(fault=None), "a world takes no fault; it takes controllers, objects,"),
        (lambda: Bounds().but(lags=4), "a world has no bound lags; it has lag, incarnations,"),
        (lambda: Delete(Pair, "default/web"), "'default/web' is no key of an object"),  # type: ignore[arg-type]
        (lambda: Edit(Pair, KEY, spec={"text": "a"}), "a list is wanted: spec=[{'text': 'a'}]"),  # type: ignore[arg-type]
        (
            lambda: World(controllers=[pairs], properties=[always(says_nothing)]),
            "answers nothing; return what is to be true",
        ),
        (lambda: World(controllers=[pairs], properties=[eventually_stable(says_nothing)]), "answers nothing"),
    ],
)
def test_a_world_that_is_written_wrongly_is_refused_in_words(make: Any, text: str) -> None:
    with pytest.raises(SpecError) as raised:
        make()
    assert text in str(raised.value)

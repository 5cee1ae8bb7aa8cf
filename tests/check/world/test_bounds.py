"""Bounds of a world: one that cuts something off is in the verdict's word, and one that never does is not."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from attractor import Context, Key, ObjectMeta, Result, controller
from attractor.check import (
    Bounds,
    Create,
    Delete,
    Edit,
    Faults,
    HoldsWithin,
    NotShown,
    Script,
    SpecError,
    World,
    WorldState,
    always,
    check,
    widen,
)
from attractor.check.specs.twophase import TwoPhaseCommit
from attractor.k8s.core_v1 import ConfigMap
from tests.check.world.pairs import KEY, Pair, pair, pairs


@controller(for_=Pair)
async def compares(ctx: Context, key: Key) -> Result | None:
    """Writes down when its cache is four edits behind."""
    live = await ctx.find(Pair, key, cached=False)
    cached = await ctx.find(Pair, key)
    if cached is not None and live is not None and int(live.spec.text) - int(cached.spec.text) >= 4:
        meta = ObjectMeta(name="far-behind", namespace=key.namespace)
        if await ctx.find(ConfigMap, Key(key.namespace, meta.name), cached=False) is None:
            await ctx.create(ConfigMap(metadata=meta))
    return None


def never_far_behind(world: WorldState) -> bool:
    return not world.list(ConfigMap)


def edited(**bounds: Any) -> World:
    edits = [Edit(Pair, KEY, spec=[{"text": str(number)}]) for number in (1, 2, 3, 4)]
    return World(
        controllers=[compares],
        objects=[pair(text="0")],
        users=[Script(*edits)],
        properties=[always(never_far_behind)],
        kinds=[ConfigMap],
        **bounds,
    )


def names(verdict: Any) -> list[str]:
    return [each.name for each in verdict.binding]


def test_a_claim_that_is_false_at_lag_four_does_not_plainly_hold_at_lag_three() -> None:
    within = check(edited(bounds=Bounds(lag=3)))
    assert within.verdict == within["never far behind"].verdict == "holds within"
    assert within.word == "holds within a lag of 3 undelivered events of a kind"
    assert [each.raise_hint for each in within.binding] == ["bounds=Bounds(lag=4)"]
    check(edited(bounds=Bounds(lag=4))).assert_violated("never far behind")


@pytest.mark.parametrize("engine", ["native", "python"])
def test_a_bound_that_cuts_nothing_off_is_not_in_the_word(engine: Any) -> None:
    verdict = check(World(controllers=[pairs], objects=[pair()], kinds=[ConfigMap]), engine=engine)
    assert (verdict.verdict, verdict.word, verdict.binding) == ("holds", "holds", ())


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("closes", [False, True])
def test_a_watch_that_is_as_far_behind_as_it_may_be_binds(engine: Any, closes: bool) -> None:
    assert names(
        check(
            World(controllers=[pairs], objects=[pair()], bounds=Bounds(lag=1), closes_lagging_watches=closes),
            engine=engine,
        )
    ) == ["lag"]


def test_an_older_state_than_is_kept_binds() -> None:
    world = edited(bounds=Bounds(lag=5), quiesces=False).but(properties=[], faults=Faults(stale_read=1))
    assert names(check(world)) == []
    assert names(check(world.but(bounds=Bounds(lag=4)))) == ["lag"]


def test_names_taken_more_often_than_uids_are_told_apart_bind() -> None:
    users = [Script(Delete(Pair, KEY), Create(pair()))]
    world = World(controllers=[compares], objects=[pair(text="0")], users=users, bounds=Bounds(lag=6))
    assert names(check(world)) == []
    assert names(check(world.but(bounds=world.bounds.but(incarnations=1)))) == ["incarnations"]


def test_generations_bind_when_they_begin_again() -> None:
    assert names(check(edited(bounds=Bounds(lag=5, generations=4), quiesces=False).but(properties=[]))) == [
        "generations"
    ]
    assert names(check(edited(bounds=Bounds(lag=5, generations=5), quiesces=False).but(properties=[]))) == []


async def works(ctx: Context, number: int) -> None:
    await ctx.find(Pair, Key("default", str(number)), cached=False)


@controller(for_=Pair, background_limit=3)
async def starts_three(ctx: Context, key: Key) -> None:
    for number in range(3):
        await ctx.start(works, number)


@pytest.mark.parametrize(("background", "limit", "binding"), [(2, 3, ["background"]), (3, 3, []), (1, 1, [])])
def test_background_work_that_waits_for_the_world_and_not_for_its_controller_binds(
    background: int, limit: int, binding: list[str]
) -> None:
    one = controller(starts_three.reconcile, name="starts", for_=Pair, background_limit=limit)
    assert names(check(World(controllers=[one], objects=[pair()], bounds=Bounds(background=background)))) == binding


def test_assert_holds_warns_of_bounds_unless_they_are_named() -> None:
    verdict = check(edited(bounds=Bounds(lag=3)))
    with pytest.warns(HoldsWithin, match=r"holds within a lag of 3 .*bounds=Bounds\(lag=4\).*within=\['lag'\]"):
        verdict.assert_holds()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert verdict.assert_holds(within=["lag"]) is verdict
    with pytest.raises(NotShown, match="holds within a lag of 3"):
        verdict.assert_holds(within=())
    assert check(World(controllers=[pairs], objects=[pair()])).assert_holds(within=())


def test_a_verdict_in_json_names_the_bounds_that_bind() -> None:
    found = check(edited(bounds=Bounds(lag=3))).to_json()
    assert (found["verdict"], found["word"]) == ("holds within", "holds within a lag of 3 undelivered events of a kind")
    (bound,) = found["binding"]
    assert (bound["name"], bound["raise_hint"]) == ("lag", "bounds=Bounds(lag=4)")


def test_widening_raises_what_binds_until_nothing_does() -> None:
    heard: list[tuple[str, str]] = []
    verdict, wider = widen(
        World(controllers=[pairs], objects=[pair()], bounds=Bounds(lag=1)),
        on_widen=lambda said, bound: heard.append((said.word, bound.raise_hint)),
    )
    assert (verdict.verdict, wider.bounds.lag) == ("holds", 2)
    assert heard == [("holds within a lag of 1 undelivered events of a kind", "bounds=Bounds(lag=2)")]


def test_widening_finds_what_lay_beyond() -> None:
    verdict, wider = widen(edited(bounds=Bounds(lag=2)))
    verdict.assert_violated("never far behind")
    assert wider.bounds.lag == 4


def test_a_hint_says_all_that_one_writes_to_raise_a_bound() -> None:
    within = check(edited(bounds=Bounds(lag=3, incarnations=2)))
    assert [each.raise_hint for each in within.binding] == ["bounds=Bounds(lag=4, incarnations=2)"]


def test_bounds_are_raised_in_turn() -> None:
    heard: list[str] = []
    world = edited(bounds=Bounds(lag=3, generations=3), quiesces=False).but(properties=[])
    verdict, _ = widen(world, on_widen=lambda _, bound: heard.append(bound.name))
    assert verdict.verdict == "holds"
    assert sorted(heard) == ["generations", "generations", "lag"]
    assert set(heard[:2]) == {"generations", "lag"}


def test_widening_that_runs_out_of_time_answers_the_last_whole_verdict() -> None:
    verdict, wider = widen(edited(bounds=Bounds(lag=2)), max_seconds=1e-9)
    assert verdict.verdict == "inconclusive" or "time is up" in verdict.warnings[-1]
    assert wider.bounds.lag == 2


def test_a_specification_cannot_be_widened() -> None:
    with pytest.raises(SpecError, match="for worlds of controllers"):
        widen(TwoPhaseCommit())  # type: ignore[type-var]


@controller(for_=Pair)
async def counts(ctx: Context, key: Key) -> None:
    """Says that it is at work, and that it is no more; once."""
    found = await ctx.find(Pair, key, cached=False)
    if found is not None and not found.metadata.annotations:
        for text in ("busy", "idle"):
            await ctx.patch(Pair, key, {"metadata": {"annotations": {"state": text}}})


def at_most_two_are_busy(world: WorldState) -> bool:
    return sum(each.metadata.annotations.get("state") == "busy" for each in world.list(Pair)) <= 2


def test_fewer_workers_than_production_has_bind_where_nobody_says_how_many() -> None:
    claims = [always(at_most_two_are_busy)]
    world = World(
        controllers=[counts],
        objects=[pair(name) for name in "abc"],
        properties=claims,
        bounds=Bounds(lag=1),
        quiesces=False,
    )
    within = check(world)
    assert within.binding[0].text == "2 workers of a controller that does not declare how many"
    assert names(within) == ["workers", "lag"]
    verdict, wider = widen(world)
    verdict.assert_violated("at most two are busy")
    assert wider.workers == 4
    assert names(check(world.but(workers=2))) == ["lag"]
    declared = controller(counts.reconcile, name="counts", for_=Pair, workers=2)
    assert names(check(world.but(controllers=[declared]))) == ["lag"]
    assert names(check(world.but(objects=[pair("a"), pair("b")]))) == ["lag"]


def test_the_way_to_raise_a_bound_names_it_also_where_it_becomes_the_default() -> None:
    assert Bounds(lag=2).raising("lag") == "bounds=Bounds(lag=3)"
    assert Bounds(lag=2).raising("answers") == "bounds=Bounds(lag=2, answers=400)"

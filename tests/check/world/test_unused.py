"""What never did anything in a world is told, and what grows for ever is named."""

from __future__ import annotations

import math
import re
from datetime import timedelta

import pytest

from attractor import Context, Index, Key, ObjectMeta, Resource, Struct, controller
from attractor.check import (
    Edit,
    Faults,
    Spec,
    World,
    WorldProperty,
    WorldState,
    action,
    always,
    always_step,
    check,
    eventually_stable,
    var,
)
from attractor.check.world.simulation.server.api_server import EPOCH
from attractor.k8s.core_v1 import ConfigMap, Secret
from attractor.runtime.toolkit.channel import Channel
from tests.check.world.pairs import KEY, Pair, both_are_right, pair, pairs


class LampStatus(Struct):
    looks: int = 0


class Lamp(Resource, group="test.attractor.dev", version="v1"):
    status: LampStatus | None = None


@controller(for_=Lamp)
async def counts(ctx: Context, key: Key) -> None:
    """Counts how often it has looked."""
    lamp = await ctx.find(Lamp, key)
    if lamp is not None:
        lamp.status = LampStatus(looks=(lamp.status or LampStatus()).looks + 1)
        await ctx.update_status(lamp)


def test_a_fault_that_never_strikes_is_told() -> None:
    verdict = check(
        World(controllers=[pairs], objects=[pair()], faults=Faults(crash=1, external_failure=1, stale_read=1))
    )
    said = [each for each in verdict.warnings if "never strikes" in each]
    assert sorted(each.partition(":")[0] for each in said) == [
        "fault external_failure never strikes",
        "fault stale_read never strikes",
    ]


def test_faults_that_strike_are_not_told() -> None:
    faults = Faults(crash=1, lost_answer=1, conflict=1, closed_watch=1)
    assert not check(World(controllers=[pairs], objects=[pair()], faults=faults)).warnings


def no_secret(world: WorldState) -> bool:
    return world.find(Secret, KEY) is None


def secrets_stay(before: WorldState, after: WorldState) -> bool:
    return len(before.list(Secret)) == len(after.list(Secret))


def test_a_claim_about_a_kind_that_nobody_writes_is_told() -> None:
    claims: list[WorldProperty] = [always(no_secret), always_step(secrets_stay), eventually_stable(both_are_right)]
    verdict = check(World(controllers=[pairs], objects=[pair()], properties=claims, kinds=[Secret]))
    said = "looks at Secret, and there never is one: no object, user or controller here writes it"
    assert list(verdict.warnings) == [f"`no secret` {said}", f"`secrets stay` {said}"]


def by_text(one: Pair) -> list[str]:
    return [one.spec.text]


@pytest.mark.parametrize(("asked", "is_told"), [("x", False), ("nobody has this", True)])
def test_an_index_that_finds_nothing_is_told(asked: str, is_told: bool) -> None:
    async def looks(ctx: Context, key: Key) -> None:
        await ctx.list(Pair, index=("text", asked))

    one = controller(looks, name="looks", for_=Pair, indexes=[Index(Pair, "text", by_text)])
    found = [
        each for each in check(World(controllers=[one], objects=[pair()])).warnings if "never finds anything" in each
    ]
    assert bool(found) == is_told


@pytest.mark.parametrize("engine", ["native", "python"])
def test_a_counter_in_a_status_that_grows_for_ever_is_named(engine: str) -> None:
    lamp = Lamp(metadata=ObjectMeta(name="a", namespace="default"))
    verdict = check(World(controllers=[counts], objects=[lamp]), max_states=3_000, engine=engine)  # type: ignore[arg-type]
    assert verdict.verdict == "inconclusive"
    (said,) = [each for each in verdict.warnings if "grows" in each]
    assert said.startswith("status.looks of Lamp default/a grows without bound")


def test_what_a_user_counts_to_does_not_grow_without_bound() -> None:
    edits = [Edit(Pair, KEY, spec=[{"text": str(number)}]) for number in range(4)]
    verdict = check(World(controllers=[pairs], objects=[pair()], users=edits), max_states=300)
    assert verdict.verdict == "inconclusive"
    assert not [each for each in verdict.warnings if "grows" in each]


def test_a_variable_that_grows_for_ever_is_named() -> None:
    class Counter(Spec):
        n: int = var(0)

        @action
        def up(self) -> None:
            self.n += 1

    verdict = check(Counter(), max_states=50)
    assert any(each.startswith("n grows without bound") for each in verdict.warnings)


def test_there_is_a_config_map_in_what_is_looked_at() -> None:
    claim = always(lambda world: len(world.list(ConfigMap)) <= 2, name="at most two")
    assert not check(World(controllers=[pairs], objects=[pair()], properties=[claim])).warnings


@controller(for_=Pair)
async def ages(ctx: Context, key: Key) -> None:
    """Deletes what is older than a minute."""
    found = await ctx.find(Pair, key)
    made = None if found is None else found.metadata.creation_timestamp
    if found is not None and made is not None and await ctx.now() - made > timedelta(minutes=1):
        await ctx.delete(found)


def test_a_time_that_is_asked_for_and_stands_still_is_told() -> None:
    (warning,) = check(World(controllers=[ages], objects=[pair()])).warnings
    assert "asks for the time, which stands still here" in warning
    for clock in ((EPOCH, EPOCH + timedelta(hours=1)), (EPOCH,)):
        assert check(World(controllers=[ages], objects=[pair()], clock=clock)).warnings == ()


@controller(for_=Pair)
async def keeps_the_newest(ctx: Context, key: Key) -> None:
    """Takes a version for a number."""
    found = await ctx.list(Pair)
    if any(int(each.metadata.resource_version) < 0 for each in found):
        await ctx.delete(found[0])


@controller(for_=Pair)
async def keeps_the_oldest(ctx: Context, key: Key) -> None:
    """Sorts by age."""
    found = await ctx.list(Pair)
    found.sort(key=lambda each: str(each.metadata.creation_timestamp))


def test_versions_that_are_compared_by_size_are_told() -> None:
    (warning,) = check(World(controllers=[keeps_the_newest], objects=[pair()])).warnings
    assert re.search(r"test_unused\.py:\d+: versions are compared by size; they are opaque", warning)


def test_ages_in_a_world_of_one_instant_are_told() -> None:
    (warning,) = check(World(controllers=[keeps_the_oldest], objects=[pair()])).warnings
    assert re.search(r"test_unused\.py:\d+: looks at when an object was created, and here all objects are of", warning)
    assert check(World(controllers=[keeps_the_oldest], objects=[pair()], clock=(EPOCH,))).warnings == ()


def test_sources_that_name_no_key_are_told() -> None:
    one = controller(ages.reconcile, name="ages", for_=Pair, sources=[Channel()])
    clock = (EPOCH, EPOCH + timedelta(hours=1))
    (warning,) = check(World(controllers=[one], objects=[pair()], clock=clock)).warnings
    assert warning.startswith("the sources of controller ages name no key here")


@controller(for_=Pair)
async def writes(ctx: Context, key: Key) -> None:
    await ctx.patch(Pair, key, {"metadata": {"labels": {"seen": "yes"}}})


def test_a_refusal_that_was_asked_for_is_no_mistake_in_the_program() -> None:
    assert check(World(controllers=[writes], objects=[pair()], faults=Faults(refusal=1))).warnings == ()


def test_timeouts_that_can_strike_nobody_are_told() -> None:
    one = controller(writes.reconcile, name="writes", for_=Pair, timeout_s=math.inf)
    (warning,) = check(World(controllers=[one], objects=[pair()], faults=Faults(timeout=1))).warnings
    assert warning.startswith("fault timeout never strikes")

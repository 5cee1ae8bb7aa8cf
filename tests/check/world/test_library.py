"""The ready-made claims: each holds of a controller that keeps it, and is violated by one that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attractor import Context, Key, ObjectMeta, controller
from attractor.check import (
    Bounds,
    Delete,
    Edit,
    Faults,
    World,
    WorldProperty,
    always_step,
    at_most_one_worker,
    check,
    finalizer_after_clean_up,
    no_duplicates,
    no_orphans,
    no_write_after_deletion,
    sometimes,
    status_not_ahead,
    unchanged_by,
)
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime.toolkit.finalizers import finalizer_name
from tests.check.world.buckets import KEY as BUCKET
from tests.check.world.buckets import Bucket, Storage, StorageModel, bucket, careful
from tests.check.world.pairs import KEY, Pair, child, pair, pairs

if TYPE_CHECKING:
    from attractor import Controller
    from attractor.check.verdict import Verdict

DELETE = Delete(Pair, KEY)


def checked(one: Controller, claim: Any, *users: Any, **options: Any) -> Verdict:
    return check(World(controllers=[one], objects=[pair()], users=users, properties=[claim], quiesces=False, **options))


@controller(for_=Pair)
async def unowned(ctx: Context, key: Key) -> None:
    """Makes a child that nobody owns, under a generated name, when a list shows none."""
    if await ctx.find(Pair, key) and not await ctx.list(ConfigMap):
        await ctx.create(
            ConfigMap(metadata=ObjectMeta(generate_name="x-", namespace="default"), data={"for": key.name})
        )


def test_no_duplicates() -> None:
    claim = no_duplicates(ConfigMap, by=lambda found: found.data["for"])
    checked(unowned, claim).assert_holds()
    checked(unowned, claim, faults=Faults(late_request=1)).assert_violated("no duplicate ConfigMap")


def test_no_orphans() -> None:
    claim = no_orphans(Pair, [ConfigMap])
    checked(pairs, claim, DELETE, bounds=Bounds(lag=1)).assert_holds()
    checked(unowned, claim).assert_violated("no orphan of Pair")


def test_no_write_after_deletion() -> None:
    claim = no_write_after_deletion(Pair, ConfigMap)
    checked(pairs, claim).assert_holds()
    trace = checked(pairs, claim, DELETE, bounds=Bounds(lag=1)).assert_violated(
        "no ConfigMap is made for a Pair that goes"
    )
    assert "delete" in [step.action for step in trace.steps]
    assert trace.steps[-1].action == "go on"


@controller(for_=Pair)
async def meddles(ctx: Context, key: Key) -> None:
    """Changes the spec that it was given."""
    found = await ctx.find(Pair, key)
    if found is not None and found.spec.text != "mine":
        found.spec.text = "mine"
        await ctx.update(found)


def test_only_users_change_the_spec() -> None:
    claim, edit = unchanged_by(Pair, lambda found: found.spec), Edit(Pair, KEY, spec=[{"text": "y"}])
    checked(pairs, claim, edit).assert_holds()
    checked(meddles, claim).assert_violated("only users change Pair")


def test_the_finalizer_stays_until_all_is_clean() -> None:
    def verdict(finalizer: str) -> Verdict:
        claim = finalizer_after_clean_up(
            Bucket, finalizer, lambda look, obj: not look.external(Storage).find(obj.metadata.uid), name="finalizer"
        )
        externals = {Storage: StorageModel()}
        return check(
            World(
                controllers=[careful],
                objects=[bucket()],
                users=[Delete(Bucket, BUCKET)],
                properties=[claim],
                externals=externals,
            )
        )

    assert verdict(finalizer_name(Bucket))["finalizer"].verdict == "holds"
    assert verdict("another")["finalizer"].verdict == "violated"


@controller(for_=Bucket, externals=[Storage])
async def boasts(ctx: Context, key: Key) -> None:
    """Says that there is a bucket before there is one."""
    found = await ctx.find(Bucket, key)
    if found is not None and not found.status.id:
        found.status.id = "b1"
        await ctx.update_status(found)
        await ctx.external(Storage).create(found.metadata.uid)


@pytest.mark.parametrize(("one", "verdict"), [(careful, "holds"), (boasts, "violated")])
def test_a_status_is_not_ahead_of_the_world(one: Controller, verdict: str) -> None:
    claim = status_not_ahead(
        Bucket, lambda look, obj: not obj.status.id or obj.status.id in look.external(Storage).buckets
    )
    world = World(controllers=[one], objects=[bucket()], properties=[claim], externals={Storage: StorageModel()})
    assert check(world)["status of Bucket is not ahead of the world"].verdict == verdict


def test_leaders_that_overlap_work_on_one_key_at_once() -> None:
    options: dict[str, Any] = {"hosts": ("host1", "host2"), "election": True}
    checked(pairs, at_most_one_worker(), **options).assert_holds()
    broken = checked(pairs, at_most_one_worker(), faults=Faults(leader_change=1), **options)
    broken.assert_violated("at most one worker on a key")


def test_steps_and_states_can_be_claimed_in_own_words() -> None:
    def grows(before: Any, after: Any) -> bool:
        return len(after.list(ConfigMap)) >= len(before.list(ConfigMap))

    def both(world: Any) -> bool:
        return len(world.list(ConfigMap)) == len([child(each, 1) for each in world.list(Pair)]) * 2 > 0

    claims: list[WorldProperty] = [always_step(grows), sometimes(both)]
    verdict = check(World(controllers=[pairs], objects=[pair()], properties=claims))
    assert [each.verdict for each in verdict.properties] == ["holds", "holds", "holds"]
    assert (
        check(World(controllers=[pairs], objects=[pair()], users=[DELETE], properties=claims, bounds=Bounds(lag=1)))[
            "grows"
        ].verdict
        == "violated"
    )


@pytest.mark.parametrize("engine", ["native", "python"])
def test_a_step_that_breaks_a_claim_is_traced_though_the_world_turns_out_larger_afterwards(engine: Any) -> None:
    """The slots of the children are found long after the first step, which is the broken one."""
    claim = always_step(lambda before, after: len(after.list(Pair)) >= len(before.list(Pair)), name="pairs stay")
    trace = check(
        World(controllers=[pairs], objects=[pair()], users=[DELETE], properties=[claim]), engine=engine
    ).assert_violated("pairs stay")
    assert trace.actions == ("delete(pair default/a)",)

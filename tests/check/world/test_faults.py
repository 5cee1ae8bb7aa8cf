"""Each fault by itself: it happens, a controller that is right stays right, one that is not falls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attractor.check import Edit, Faults, SpecError, World, always, check, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import AlreadyExists
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, controller
from tests.check.world.pairs import KEY, Pair, both_are_right, child, pair, pairs

if TYPE_CHECKING:
    from attractor.check import WorldState
    from attractor.check.verdict import Verdict
    from attractor.runtime import Controller

EDIT = Edit(Pair, KEY, spec=[{"text": "y"}])


def checked(one: Controller, faults: Faults | None = None, **options: Any) -> Verdict:
    options.setdefault("users", ())
    options.setdefault("properties", [eventually_stable(both_are_right)])
    return check(World(controllers=[one], objects=[pair()], faults=faults, **options))


def taken(verdict: Verdict) -> dict[str, int]:
    return {each.name: each.taken for each in verdict.coverage}


@pytest.mark.parametrize(
    ("fault", "actions"),
    [
        ("crash", {"crash"}),
        ("late_request", {"crash while sending", "late request"}),
        ("repeated", {"repeated", "repeated later", "late request"}),
        ("delayed_request", {"delayed", "late request"}),
        ("lost_request", {"request lost"}),
        ("lost_answer", {"answer lost"}),
        ("conflict", {"rival"}),
        ("closed_watch", {"close watch"}),
        ("stale_list", {"stale list"}),
        ("partition", {"cut off", "heal"}),
    ],
)
def test_a_right_controller_survives_each_fault_and_the_fault_happens(fault: str, actions: set[str]) -> None:
    budgets: dict[str, Any] = {fault: 1, **({"crash": 1} if fault == "stale_list" else {})}
    verdict = checked(pairs, Faults(**budgets), users=[EDIT]).assert_holds()
    assert all(taken(verdict)[action] for action in actions)


@controller(for_=Pair, owns=[ConfigMap])
async def blind(ctx: Context, key: Key) -> None:
    """Creates what its cache lacks, and takes "already there" for a failure that it gives up on."""
    owner = await ctx.find(Pair, key)
    if owner is None:
        return
    for number in (1, 2):
        if await ctx.find(ConfigMap, child(owner, number).key) is None:
            try:
                await ctx.create(child(owner, number))
            except AlreadyExists:
                return


def test_a_repeated_create_breaks_who_takes_already_exists_for_the_end() -> None:
    checked(blind).assert_holds()
    checked(blind, Faults(lost_answer=1)).assert_holds()
    checked(blind, Faults(repeated=1)).assert_holds()


@controller(for_=Pair)
async def copies(ctx: Context, key: Key) -> None:
    """Reads past the cache, and writes what it read somewhere else: last read, last written."""
    owner = await ctx.find(Pair, key, cached=False)
    if owner is None:
        return
    body = {"data": {"text": owner.spec.text}}
    await ctx.patch(ConfigMap, Key("default", "copy"), body)


def copy_is_right(world: WorldState) -> bool:
    return world.get(ConfigMap, ("default", "copy")).data == {"text": world.get(Pair, KEY).spec.text}


def test_a_read_of_an_older_state_is_copied_and_stays() -> None:
    copy = ConfigMap(metadata=ObjectMeta(name="copy", namespace="default"), data={"text": "x"})
    claims = [eventually_stable(copy_is_right)]

    def verdict(faults: Faults | None) -> Verdict:
        return check(
            World(controllers=[copies], objects=[pair(), copy], users=[EDIT], faults=faults, properties=claims)
        )

    verdict(None).assert_holds()
    trace = verdict(Faults(stale_read=1)).assert_violated("eventually stable")
    assert any(step.action == "stale read" for step in trace.steps)


def test_two_hosts_that_both_act_come_to_the_same_end() -> None:
    checked(pairs, hosts=("host1", "host2")).assert_holds()


def test_a_standby_does_nothing_until_it_leads() -> None:
    quiet = taken(checked(pairs, hosts=("host1", "host2"), election=True).assert_holds())
    assert quiet["leadership lost"] == 0
    changed = checked(pairs, Faults(leader_change=1), hosts=("host1", "host2"), election=True).assert_holds()
    assert taken(changed)["leadership lost"]


def test_a_change_of_leader_needs_two_hosts_and_an_election() -> None:
    with pytest.raises(SpecError, match="needs two hosts that elect one"):
        checked(pairs, Faults(leader_change=1))


@controller(for_=Pair)
async def counts(ctx: Context, key: Key) -> None:
    """Adds one ConfigMap with a generated name when its cache shows none."""
    if not await ctx.list(ConfigMap, cached=False) and await ctx.find(Pair, key):
        await ctx.create(ConfigMap(metadata=ObjectMeta(generate_name="made-", namespace="default")))


def at_most_one(world: WorldState) -> bool:
    return len(world.list(ConfigMap)) <= 1


def test_leaders_that_overlap_create_twice() -> None:
    claims = [always(at_most_one)]
    one = checked(counts, hosts=("host1", "host2"), election=True, properties=claims)
    one.assert_holds()
    both = checked(counts, Faults(leader_change=1), hosts=("host1", "host2"), election=True, properties=claims)
    trace = both.assert_violated("at most one")
    assert {step.arguments.get("host") for step in trace.steps if step.action == "start"} == {"host1", "host2"}


@controller(for_=Pair, owns=[ConfigMap])
async def writes_twice(ctx: Context, key: Key) -> None:
    """Writes an object twice and reads it back; what it reads must be what it wrote last."""
    owner = await ctx.find(Pair, key)
    if owner is None or await ctx.find(ConfigMap, child(owner, 1).key) is not None:
        return
    made = await ctx.create(child(owner, 1))
    made.data = {"text": "later"}
    await ctx.update(made)
    found = await ctx.find(ConfigMap, made.key)
    if found is None or found.data != {"text": "later"}:
        await ctx.create(child(owner, 2))


def nothing_old_was_read(world: WorldState) -> bool:
    return len(world.list(ConfigMap)) <= 1


def test_a_second_own_write_is_read_back_while_the_watch_is_closed() -> None:
    checked(writes_twice, Faults(closed_watch=1), properties=[always(nothing_old_was_read)]).assert_holds()

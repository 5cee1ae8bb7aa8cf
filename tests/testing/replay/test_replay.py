"""Counterexamples of worlds on the production runtime."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import pytest

from attractor import Context, Key, Result, controller
from attractor.check import (
    Bounds,
    Create,
    Delete,
    Edit,
    Faults,
    SpecError,
    World,
    always,
    always_step,
    check,
    eventually_stable,
)
from attractor.check.report.story_builder import story_of
from attractor.check.trace import Trace
from attractor.check.world.api.state import WorldState
from attractor.k8s.core_v1 import ConfigMap
from attractor.testing.replay import Broken, CannotReplay, Turn, replay, turn_of
from attractor.testing.replay.match import difference
from attractor.testing.replay.regression import withstand_async
from tests.check.world.pairs import KEY, Pair, both_are_right, child, naive, pair, pairs

EDIT = Edit(Pair, KEY, spec=[{"text": "x"}, {"text": "y"}])


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.getLogger("attractor").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("attractor").setLevel(logging.NOTSET)


def world(*controllers: object, **options: object) -> World:
    given = {"objects": [pair()], "properties": [eventually_stable(both_are_right)], **options}
    return World(controllers=controllers or [naive], **given)  # type: ignore[arg-type]


@controller(for_=Pair, owns=[ConfigMap], name="naive")
async def restless(ctx: Context, key: Key) -> Result | None:
    """Never content with what it wrote."""
    owner = await ctx.find(Pair, key)
    if owner is None:
        return None
    found = await ctx.find(ConfigMap, child(owner, 1).key)
    if found is None:
        await ctx.create(child(owner, 1))
    else:
        found.data = {"text": "b" if found.data == {"text": "a"} else "a"}
        await ctx.update(found)
    return None


@controller(for_=Pair, owns=[ConfigMap])
async def together(ctx: Context, key: Key) -> None:
    """Creates both at once, and believes that it did."""
    owner = await ctx.find(Pair, key)
    if owner is None or await ctx.find(ConfigMap, child(owner, 1).key) is not None:
        return
    await ctx.gather(ctx.create(child(owner, 1)), ctx.create(child(owner, 2)))


@controller(for_=Pair, owns=[ConfigMap])
async def uncached(ctx: Context, key: Key) -> None:
    """Trusts that a read past the cache is the newest there is."""
    owner = await ctx.find(Pair, key, cached=False)
    if owner is None:
        return
    for number in (1, 2):
        wanted = child(owner, number)
        found = await ctx.find(ConfigMap, wanted.key)
        if found is None:
            await ctx.create(wanted)
        elif found.data != wanted.data:
            found.data = wanted.data
            await ctx.update(found)


@controller(for_=Pair)
async def patient(ctx: Context, key: Key) -> None:
    """Makes a child of whatever pair its cache shows."""
    owner = await ctx.find(Pair, key)
    if owner is not None and await ctx.find(ConfigMap, child(owner, 1).key) is None:
        await ctx.create(child(owner, 1))


def nothing_after_the_end(look: WorldState) -> bool:
    """A child is only there while its pair is."""
    return not look.list(ConfigMap) or bool(look.list(Pair))


class Bank(Protocol):
    """Lends."""

    async def lend(self, to: str) -> int: ...


class Vault:
    """A model of the bank."""

    def __init__(self) -> None:
        self.lent: list[str] = []

    def lend(self, to: str) -> int:
        self.lent.append(to)
        return len(self.lent)


@controller(for_=Pair, externals=[Bank])
async def lender(ctx: Context, key: Key) -> None:
    """Borrows for each pair that has no child; not idempotent."""
    owner = await ctx.find(Pair, key)
    if owner is not None and await ctx.find(ConfigMap, child(owner, 1).key, cached=False) is None:
        await ctx.external(Bank).lend(key.name)
        await ctx.create(child(owner, 1))


def nothing_lent_twice(look: WorldState) -> bool:
    """Nobody gets a loan twice."""
    return len(look.external(Bank).lent) < 2


def text_stays(before: WorldState, after: WorldState) -> bool:
    """The text of a ConfigMap never changes."""
    texts = {found.key: found.data for found in before.list(ConfigMap)}
    return all(texts.get(found.key, found.data) == found.data for found in after.list(ConfigMap))


def no_child_without_a_pair(look: WorldState) -> bool:
    """Children have their pair."""
    return not look.list(ConfigMap) or bool(look.list(Pair))


@pytest.mark.parametrize(
    ("broken", "claim"),
    [
        (world(faults=Faults(crash=1)), "eventually stable"),
        (world(faults=Faults(lost_answer=1)), "eventually stable"),
        (world(users=[EDIT]), "eventually stable"),
        (world(users=[EDIT], faults=Faults(closed_watch=1), bounds=Bounds(lag=1)), "eventually stable"),
        (world(faults=Faults(lost_request=1), objects=[], users=[Create(pair())]), "eventually stable"),
        (world(faults=Faults(late_request=1)), "eventually stable"),
        (world(faults=Faults(repeated=1)), "eventually stable"),
        (world(faults=Faults(leader_change=1), hosts=["host1", "host2"], election=True), "eventually stable"),
        (world(uncached, users=[EDIT], faults=Faults(stale_read=1)), "eventually stable"),
        (world(patient, objects=[], users=[Create(pair()), Delete(Pair, KEY)], faults=Faults(stale_list=1), properties=[always(nothing_after_the_end)], own_writes=False), "nothing after the end"),
        (world(together, faults=Faults(lost_request=1)), "eventually stable"),
        (world(restless, properties=[]), "quiesces"),
        (world(lender, properties=[always(nothing_lent_twice)], faults=Faults(external_silence=1), externals={Bank: Vault()}), "nothing lent twice"),
        (world(pairs, properties=[always_step(text_stays)], users=[EDIT]), "text stays"),
        (world(pairs, users=[Delete(Pair, KEY)], properties=[always(no_child_without_a_pair)]), "no child without a pair"),
    ],
    ids=lambda each: each if isinstance(each, str) else ",".join(each.faults.budgets()),
)  # fmt: skip
async def test_the_runtime_confirms_what_the_checker_found(broken: World, claim: str) -> None:
    done = await replay(broken, check(broken).assert_violated(claim))
    assert done.is_confirmed, str(done)


async def test_a_trace_that_the_runtime_does_not_follow_is_refuted_with_what_differs() -> None:
    broken = world(faults=Faults(crash=1))
    trace = check(broken).assert_violated("eventually stable")
    lying = replace(trace.steps[5], changed={**trace.steps[5].changed, "watch['host1/ConfigMap']": 3})
    steps = (*trace.steps[:5], lying, *trace.steps[6:])
    done = await replay(broken, Trace(trace.spec, trace.claim, trace.initial, steps, trace.loop))
    assert str(done) == (
        "refuted at step 6: create configmap default/a-1 -> ok: "
        "expected 3 events of ConfigMap on their way to host1, got 1"
    )


async def test_a_run_that_has_not_come_to_rest_is_no_counterexample() -> None:
    broken = world(faults=Faults(crash=1))
    trace = check(broken).assert_violated("eventually stable")
    short = Trace(trace.spec, trace.claim, trace.initial, trace.steps[:6], 6)
    done = await replay(broken, short)
    assert str(done) == "refuted at step 6: the run was to be at rest, but naive on host1 reconciles default/a"


async def test_a_trace_of_another_world_is_refused() -> None:
    trace = check(world(faults=Faults(crash=1))).assert_violated("eventually stable")
    with pytest.raises(SpecError, match="is no action of world of pairs"):
        await replay(world(pairs, faults=Faults(crash=1)), trace)
    with pytest.raises(SpecError, match="claims no `eventually stable`; it claims quiesces"):
        await replay(world(pairs, properties=[]), trace)


@pytest.mark.parametrize(
    ("faults", "users"), [(Faults(crash=1), []), (Faults(lost_answer=1), []), (Faults(), [EDIT])], ids=str
)
async def test_a_regression_fails_on_the_bug_and_passes_on_the_repair(faults: Faults, users: list[Edit]) -> None:
    broken = world(faults=faults, users=users)
    trace = check(broken).assert_violated("eventually stable")
    turns = [turn_of(step) for step in story_of(broken, trace).steps]
    with pytest.raises(Broken, match="does not come true"):
        await withstand_async(broken, "eventually stable", turns, loop=trace.loop)
    repaired = world(replace(pairs, name="naive"), faults=faults, users=users)
    await withstand_async(repaired, "eventually stable", turns, loop=trace.loop)


async def test_a_loop_that_repeats_fails_the_regression() -> None:
    broken = world(restless, properties=[])
    trace = check(broken).assert_violated("quiesces")
    turns = [turn_of(step) for step in story_of(broken, trace).steps]
    with pytest.raises(Broken, match="turns repeat for ever"):
        await withstand_async(broken, "quiesces", turns, loop=trace.loop)
    await withstand_async(world(replace(pairs, name="naive"), properties=[]), "quiesces", turns, loop=trace.loop)


async def test_a_turn_that_nobody_knows_is_refused() -> None:
    with pytest.raises(CannotReplay, match="the step `dance host1` cannot be replayed"):
        await withstand_async(world(), "eventually stable", [Turn("dance", {"host": "host1"})])
    with pytest.raises(CannotReplay, match="names the kind Ghost"):
        await withstand_async(world(), "eventually stable", [Turn("list", {"host": "host1", "kind": "Ghost"})])


def test_versions_and_managers_may_differ_and_nothing_else() -> None:
    one = {"metadata": {"resourceVersion": "1", "uid": "u"}, "data": {"a": [1, True]}}
    other = {"metadata": {"resourceVersion": "7", "uid": "u", "managedFields": [{}]}, "data": {"a": [1, True]}}
    assert difference(one, other) is None
    assert str(difference(one, {**other, "data": {"a": [1, 1]}})) == "data.a[1]: expected True, got 1"
    assert str(difference(one, {**other, "metadata": {"uid": "u"}})) == (
        "metadata.resourceVersion: expected '1', got None"
    )
    refusal = {"kind": "Status", "status": "Failure", "code": 409, "reason": "Conflict", "message": "a"}
    assert difference(refusal, {**refusal, "message": "b"}) is None
    assert str(difference(refusal, {**refusal, "code": 404})) == "code: expected 409, got 404"

"""What the environment of a controller can do, a world admits: for each thing a bug that it finds, and its mended twin."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from attractor.check import Bounds, Delete, Faults, SpecError, World, always, check, eventually_stable, owned_by, widen
from attractor.k8s.core_v1 import ConfigMap, Event, ObjectReference, Service, ServicePort, ServiceSpec
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Owns, Result, controller
from attractor.testing.replay import replay
from tests.check.world.buckets import Bucket, Progress, Storage, StorageModel, behind, bucket, one_bucket_by_key
from tests.check.world.pairs import KEY, Pair, pair, pairs

if TYPE_CHECKING:
    from attractor.check import WorldState

WEB = Key("default", "web")


def service() -> Service:
    meta = ObjectMeta(name=WEB.name, namespace=WEB.namespace)
    return Service(metadata=meta, spec=ServiceSpec(ports=[ServicePort(port=80)]))


def bounds(world: World) -> set[str]:
    """The names of the bounds that cut something off."""
    return {each.name for each in check(world).binding}


# Going quiet.


@controller(for_=Pair)
async def replaces_for_ever(ctx: Context, key: Key) -> Result | None:
    """Deletes a Service and creates it, for ever: with the Service its address comes and goes in one step."""
    if await ctx.find(Pair, key) is None:
        return None
    found = await ctx.find(Service, WEB, cached=False)
    if found is None:
        await ctx.create(service())
    else:
        await ctx.delete(found)
    return Result(requeue_after_s=1)


@controller(for_=Pair)
async def creates_once(ctx: Context, key: Key) -> None:
    """Creates the Service that is missing."""
    if await ctx.find(Pair, key) is not None and await ctx.find(Service, WEB, cached=False) is None:
        await ctx.create(service())


def test_a_service_that_comes_and_goes_for_ever_is_not_quiet() -> None:
    trace = check(World(controllers=[replaces_for_ever], objects=[pair()])).assert_violated("quiesces")
    assert trace.loop is not None
    check(World(controllers=[creates_once], objects=[pair()])).assert_holds()


# What a world begins with.


def test_a_world_begins_with_a_service_and_its_address() -> None:
    check(World(controllers=[replaces_for_ever], objects=[pair(), service()])).assert_violated("quiesces")
    check(World(controllers=[creates_once], objects=[pair(), service()])).assert_holds()


def test_a_world_begins_with_children_that_their_owner_owns() -> None:
    made = ConfigMap(metadata=ObjectMeta(name="a-1", namespace="default"), data={"text": "x"})
    owned = owned_by(pair(), made)
    world = World(
        controllers=[pairs],
        objects=[pair(), owned],
        users=[Delete(Pair, KEY)],
        properties=[eventually_stable(nothing_is_left)],
    )
    check(world).assert_violated("eventually stable")
    deleted = eventually_stable(lambda look: bool(look.list(Pair)) or not look.list(ConfigMap), name="collected")
    check(
        World(controllers=[pairs], objects=[pair(), owned], users=[Delete(Pair, KEY)], properties=[deleted])
    ).assert_holds()
    with pytest.raises(SpecError, match=r"put the owner first"):
        check(World(controllers=[pairs], objects=[owned, pair()]))


def nothing_is_left(look: WorldState) -> bool:
    return not look.list(ConfigMap)


# Workers.


@controller(for_=Pair)
async def takes_what_is_free(ctx: Context, key: Key) -> None:
    """Takes the one place that there is if nobody has it, which two at once both believe."""
    if await ctx.find(Pair, key) is not None and not await ctx.list(ConfigMap, cached=False):
        await ctx.create(ConfigMap(metadata=ObjectMeta(name=key.name, namespace=key.namespace)))


def one_has_it(look: WorldState) -> bool:
    return len(look.list(ConfigMap)) <= 1


def test_a_controllers_own_workers_count_and_not_the_worlds() -> None:
    def world(workers: int | None, of_world: int) -> World:
        one = replace(takes_what_is_free, workers=workers)
        return World(
            controllers=[one], objects=[pair("a"), pair("b")], properties=[always(one_has_it)], workers=of_world
        )

    check(world(None, 2)).assert_violated("one has it")
    check(world(2, 1)).assert_violated("one has it")
    check(world(1, 2)).assert_holds()
    check(world(None, 1)).assert_holds()


# Background work.


async def make_and_say(ctx: Context) -> None:
    """Makes a bucket, and says so; a failure is said too, and is for ever."""
    try:
        name = await ctx.external(Storage).create(str(ctx.key))
    except TimeoutError:
        name = "failed"
    await ctx.patch(Bucket, ctx.key, {"status": {"id": name}}, subresource="status")


@controller(for_=Bucket, externals=[Storage])
async def once_behind(ctx: Context, key: Key) -> None:
    """Starts the work once, and never looks after it."""
    obj = await ctx.find(Bucket, key)
    if obj is not None and not obj.status.id and await ctx.recall(Progress) is None:
        await ctx.remember(Progress())
        await ctx.start(make_and_say)


async def make_until_it_is_made(ctx: Context) -> None:
    """Finds or makes the bucket, and says so; whatever fails, the reconcile is told that the work is over."""
    try:
        storage = ctx.external(Storage)
        found = await storage.find(str(ctx.key))
        name = found[0] if found else await storage.create(str(ctx.key))
        await ctx.patch(Bucket, ctx.key, {"status": {"id": name}}, subresource="status")
    finally:
        await ctx.forget(Progress)
        await ctx.schedule()


@controller(for_=Bucket, externals=[Storage])
async def again_behind(ctx: Context, key: Key) -> None:
    """Starts the work again whenever it is over and the bucket is not named."""
    obj = await ctx.find(Bucket, key)
    if obj is not None and not obj.status.id and await ctx.recall(Progress) is None:
        await ctx.remember(Progress())
        await ctx.start(make_until_it_is_made)


def buckets(one: Any, **options: Any) -> World:
    return World(
        controllers=[one],
        objects=[bucket()],
        externals={Storage: StorageModel()},
        properties=[eventually_stable(one_bucket_by_key, name="one bucket")],
        **options,
    )


BEHIND = {
    "external_failure": "call failed",
    "external_silence": "call unanswered",
    "lost_request": "request lost",
    "delayed_request": "delayed",
    "late_request": "crash while sending",
    "refusal": "refused",
}
"""Faults, and the step by which each strikes background work that trusts in good weather."""


@pytest.mark.parametrize("fault", BEHIND)
def test_faults_strike_background_work(fault: str) -> None:
    budget: dict[str, Any] = {fault: 1}
    check(buckets(once_behind)).assert_holds()
    trace = check(buckets(once_behind, faults=Faults(**budget))).assert_violated("one bucket")
    assert any(step.action == BEHIND[fault] and "place" in step.arguments for step in trace.steps)
    check(buckets(again_behind, faults=Faults(**budget))).assert_holds()


def test_a_call_of_background_work_happens_when_nobody_waits_for_it() -> None:
    world = buckets(again_behind, faults=Faults(delayed_call=1))
    trace = check(world).assert_violated("one bucket")
    late = [
        step.action
        for step in trace.steps
        if "call" in step.action and ("place" in step.arguments) != ("late" in step.action)
    ]
    assert late == ["call delayed", "late call"]
    assert asyncio.run(replay(world, trace)).is_confirmed


@pytest.mark.parametrize("fault", ["repeated", "lost_answer", "stale_read"])
def test_other_faults_strike_background_work_that_survives_them(fault: str) -> None:
    budget: dict[str, Any] = {fault: 1}
    verdict = check(buckets(reads_behind, faults=Faults(**budget))).assert_holds()
    struck = {step.name for step in verdict.coverage if step.taken}
    assert {"repeated": "repeated later", "lost_answer": "answer lost", "stale_read": "stale read"}[fault] in struck


async def read_and_say(ctx: Context) -> None:
    """Reads past the cache, then works as ``make_until_it_is_made``."""
    await ctx.find(Bucket, ctx.key, cached=False)
    await make_until_it_is_made(ctx)


@controller(for_=Bucket, externals=[Storage])
async def reads_behind(ctx: Context, key: Key) -> None:
    """As ``again_behind``, with a read in the background."""
    obj = await ctx.find(Bucket, key)
    if obj is not None and not obj.status.id and await ctx.recall(Progress) is None:
        await ctx.remember(Progress())
        await ctx.start(read_and_say)


def test_work_that_waits_for_a_place_beyond_the_bound_is_told() -> None:
    def many(places: int) -> World:
        return World(controllers=[starts_three], objects=[pair()], bounds=Bounds(background=places), quiesces=False)

    assert "background" in bounds(many(2))
    assert "background" not in bounds(many(3))


async def look_around(ctx: Context, number: int) -> None:
    """Work that reads."""
    await ctx.find(ConfigMap, Key("default", f"c{number}"), cached=False)


@controller(for_=Pair)
async def starts_three(ctx: Context, key: Key) -> None:
    """Starts three pieces of work at once."""
    if await ctx.recall(Progress) is None:
        await ctx.remember(Progress())
        for number in range(3):
            await ctx.start(look_around, number)


# Timeouts, and an end in good order.


@controller(for_=Pair, timeout_s=30)
async def half_done(ctx: Context, key: Key) -> None:
    """Takes a failure for the end: whoever is cancelled between its two writes never comes to the second."""
    owner = await ctx.find(Pair, key)
    if owner is None or await ctx.find(ConfigMap, Key("default", "first"), cached=False) is not None:
        return
    for name in ("first", "second"):
        await ctx.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))


@controller(for_=Pair, timeout_s=30)
async def whole(ctx: Context, key: Key) -> None:
    """Looks at both, each time."""
    if await ctx.find(Pair, key) is None:
        return
    for name in ("first", "second"):
        if await ctx.find(ConfigMap, Key("default", name), cached=False) is None:
            await ctx.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))


def both_are_there(look: WorldState) -> bool:
    return len(look.list(ConfigMap)) == 2


def twice(one: Any, **options: Any) -> World:
    return World(
        controllers=[one], objects=[pair()], properties=[eventually_stable(both_are_there, name="both")], **options
    )


def test_a_declared_timeout_strikes_without_being_asked_for() -> None:
    trace = check(twice(half_done)).assert_violated("both")
    assert [step.action for step in trace.steps].count("timeout") == 1
    verdict = check(twice(whole)).assert_holds()
    assert {each.name for each in verdict.binding} == {"timeout"}
    check(twice(replace(half_done, timeout_s=None))).assert_holds()
    never = check(twice(half_done, faults=Faults(timeout=0))).assert_holds()
    assert {each.name for each in never.binding} == {"timeout"}
    verdict, wider = widen(twice(whole))
    assert verdict.verdict == "holds"
    assert wider.faults.timeout == 2


@controller(for_=Pair, timeout_s=30)
async def locks(ctx: Context, key: Key) -> None:
    """Holds a ConfigMap while it works; only where nobody is cancelled it is given back."""
    if await ctx.find(Pair, key) is None or await ctx.find(ConfigMap, WEB, cached=False) is not None:
        return
    lock = await ctx.create(ConfigMap(metadata=ObjectMeta(name=WEB.name, namespace=WEB.namespace)))
    await ctx.list(ConfigMap, cached=False)
    await ctx.delete(lock)


@controller(for_=Pair, timeout_s=30)
async def unlocks(ctx: Context, key: Key) -> None:
    """Gives it back whatever happens, and takes one that is there for its own."""
    if await ctx.find(Pair, key) is None:
        return
    try:
        await ctx.create(ConfigMap(metadata=ObjectMeta(name=WEB.name, namespace=WEB.namespace)))
        await ctx.list(ConfigMap, cached=False)
    finally:
        held = await ctx.find(ConfigMap, WEB, cached=False)
        if held is not None:
            await ctx.delete(held)


def nothing_is_held(look: WorldState) -> bool:
    return look.find(ConfigMap, WEB) is None


def test_a_cancelled_reconcile_does_what_its_finally_says() -> None:
    claims = [eventually_stable(nothing_is_held, name="given back")]
    check(World(controllers=[locks], objects=[pair()], properties=claims)).assert_violated("given back")
    inside = Faults(stop=1, timeout=0)
    check(World(controllers=[locks], objects=[pair()], properties=claims, faults=inside)).assert_violated("given back")
    verdict = check(World(controllers=[unlocks], objects=[pair()], properties=claims, faults=inside)).assert_holds()
    assert {"stop", "cancel", "stopped"} <= {each.name for each in verdict.coverage if each.taken}


def test_a_stop_in_good_order_cancels_background_work() -> None:
    check(buckets(behind)).assert_holds()
    verdict = check(buckets(behind, faults=Faults(stop=1))).assert_holds()
    assert {"stop", "stopped"} <= {each.name for each in verdict.coverage if each.taken}


# Refusals.


@controller(for_=Pair)
async def gives_up(ctx: Context, key: Key) -> None:
    """Takes every refusal for the end."""
    if await ctx.find(Pair, key) is None:
        return
    for name in ("first", "second"):
        try:
            await ctx.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
        except ApiError:
            return


def test_a_server_may_refuse() -> None:
    trace = check(twice(gives_up, faults=Faults(refusal=1))).assert_violated("both")
    assert any(step.action == "refused" and step.chosen for step in trace.steps)
    check(twice(whole, faults=Faults(refusal=1))).assert_holds()


# Generated names.


@controller(for_=Pair)
async def trusts_the_order(ctx: Context, key: Key) -> None:
    """Makes two with generated names, and takes the first by name for the one that was made first."""
    if await ctx.find(Pair, key) is None:
        return
    found = await ctx.list(ConfigMap, cached=False)
    if len(found) < 2:
        number = len(found)
        await ctx.create(ConfigMap(metadata=meta_of("made-"), data={"number": str(number)}))
    elif "first" not in found[0].metadata.labels:
        await ctx.patch(ConfigMap, found[0].key, {"metadata": {"labels": {"first": "yes"}}})


@controller(for_=Pair)
async def asks_for_the_order(ctx: Context, key: Key) -> None:
    """The same, by what was written down."""
    if await ctx.find(Pair, key) is None:
        return
    found = sorted(await ctx.list(ConfigMap, cached=False), key=lambda each: each.data["number"])
    if len(found) < 2:
        await ctx.create(ConfigMap(metadata=meta_of("made-"), data={"number": str(len(found))}))
    elif "first" not in found[0].metadata.labels:
        await ctx.patch(ConfigMap, found[0].key, {"metadata": {"labels": {"first": "yes"}}})


def meta_of(generate_name: str) -> ObjectMeta:
    return ObjectMeta(generate_name=generate_name, namespace="default")


def the_first_is_marked(look: WorldState) -> bool:
    return all(each.data["number"] == "0" for each in look.list(ConfigMap) if each.metadata.labels)


def test_generated_names_come_in_any_order() -> None:
    claims = [always(the_first_is_marked)]
    trusting = replace(trusts_the_order, owns=(Owns(ConfigMap, every_owner=True),))
    options: dict[str, Any] = {"properties": claims, "resync": True, "quiesces": False}
    check(World(controllers=[trusting], objects=[pair()], **options)).assert_violated("the first is marked")
    check(World(controllers=[asks_for_the_order], objects=[pair()], **options)).assert_holds()


def test_names_beyond_those_in_any_order_are_told() -> None:
    def four(names: int) -> World:
        return World(controllers=[makes_three], objects=[pair()], bounds=Bounds(ordered_names=names), quiesces=False)

    assert "ordered_names" in bounds(four(2))
    assert "ordered_names" not in bounds(four(3))


@controller(for_=Pair)
async def makes_three(ctx: Context, key: Key) -> None:
    """Makes three."""
    if len(await ctx.list(ConfigMap, cached=False)) == 0:
        for _ in range(3):
            await ctx.create(ConfigMap(metadata=meta_of("made-")))


def test_the_runtimes_own_time_limit_strikes_where_it_is_asked_for() -> None:
    undeclared = replace(half_done, timeout_s=None)
    check(twice(undeclared)).assert_holds(within=())
    world = twice(undeclared, faults=Faults(timeout=1))
    trace = check(world).assert_violated("both")
    assert [step.action for step in trace.steps].count("timeout") == 1
    assert asyncio.run(replay(world, trace)).is_confirmed
    check(twice(replace(half_done, timeout_s=math.inf), faults=Faults(timeout=1))).assert_holds(within=())


def test_who_is_cut_off_may_be_timed_out() -> None:
    world = twice(half_done, faults=Faults(timeout=1, partition=1))
    steps = {each.name: each.taken for each in check(world.but(properties=[], quiesces=False)).coverage}
    alone = {each.name: each.taken for each in check(twice(half_done).but(properties=[], quiesces=False)).coverage}
    assert steps["timeout"] > 2 * alone["timeout"]


@controller(for_=Bucket, externals=[Storage])
async def tells(ctx: Context, key: Key) -> None:
    found = await ctx.find(Bucket, key)
    if found is not None:
        await ctx.emit(found, "Seen", "it was seen")


@controller(for_=Event)
async def hears(ctx: Context, key: Key) -> None:
    await ctx.find(Event, key)


@controller(for_=Bucket)
async def reads_events(ctx: Context, key: Key) -> None:
    await ctx.list(Event, cached=False)


def no_events(world: WorldState) -> bool:
    return not world.list(Event)


@pytest.mark.parametrize("others", [{"hosts": {"h": [tells, hears]}}, {"hosts": {"h": [tells, reads_events]}}])
def test_who_looks_at_events_that_somebody_emits_is_refused(others: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=r"looks at Events, and controller tells emits them; .* is no object"):
        check(World(objects=[bucket()], externals={Storage: StorageModel()}, **others))


def test_a_claim_about_events_that_somebody_emits_is_refused() -> None:
    with pytest.raises(SpecError, match="a claim looks at Events, and controller tells emits them"):
        check(
            World(
                controllers=[tells],
                objects=[bucket()],
                externals={Storage: StorageModel()},
                properties=[always(no_events)],
            )
        )


def test_events_that_others_write_may_be_looked_at() -> None:
    event = Event(metadata=ObjectMeta(name="e", namespace="default"), involved_object=ObjectReference(name="x"))
    check(World(controllers=[hears], objects=[event])).assert_holds()

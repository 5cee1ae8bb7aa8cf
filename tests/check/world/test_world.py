"""Worlds: real controllers under every order of steps, stale caches and faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attractor import Context, Key, ObjectMeta, Owns, Resource, Struct, Watches, controller
from attractor.check import (
    Bounds,
    Delete,
    Edit,
    Faults,
    SpecError,
    World,
    WorldState,
    check,
    eventually_stable,
    simulate,
)
from attractor.check.events import Started
from attractor.check.report.story_builder import story_of
from attractor.check.world.simulation.walk import Walk
from attractor.k8s.core_v1 import ConfigMap, Namespace
from tests.check.world.pairs import KEY, Pair, both_are_right, child, naive, pair, pairs

if TYPE_CHECKING:
    from attractor import Controller
    from attractor.check.world.api.users import User

EDIT = Edit(Pair, KEY, spec=[{"text": "x"}, {"text": "y"}])
DELETE = Delete(Pair, KEY)


def world(controller: Controller, faults: Faults | None = None, users: tuple[User, ...] = (), **options: Any) -> World:
    return World(
        controllers=[controller],
        objects=[pair()],
        users=users,
        faults=faults,
        properties=[eventually_stable(both_are_right)],
        **options,
    )


@pytest.mark.parametrize(
    ("faults", "users", "distinct"),
    [
        (Faults(), (), 25),
        (Faults(crash=1), (), 61),
        (Faults(lost_answer=1), (), 95),
        (Faults(lost_request=1), (), 74),
        (Faults(conflict=1), (), 161),
        (Faults(closed_watch=1), (), 96),
        (Faults(), (EDIT,), 146),
        (Faults(crash=1), (EDIT,), 356),
    ],
)
def test_a_controller_that_looks_at_both_is_right_whatever_happens(
    faults: Faults, users: tuple[User, ...], distinct: int
) -> None:
    verdict = check(world(pairs, faults, users)).assert_holds()
    assert verdict.distinct == distinct


@pytest.mark.parametrize(
    ("faults", "users", "steps"),
    [(Faults(crash=1), (), 12), (Faults(lost_answer=1), (), 11), (Faults(), (EDIT,), 14)],
)
def test_a_controller_that_stops_at_the_first_child_falls_to_one_fault(
    faults: Faults, users: tuple[User, ...], steps: int
) -> None:
    assert len(check(world(naive, faults, users)).assert_violated("eventually stable")) == steps


def test_a_controller_that_stops_at_the_first_child_is_right_where_nothing_goes_wrong() -> None:
    assert check(world(naive)).assert_holds().distinct == 20


def test_the_garbage_collector_and_a_stale_controller_come_to_rest() -> None:
    check(world(pairs, users=(DELETE,), bounds=Bounds(lag=2))).assert_holds()


@controller(for_=Pair, owns=[Owns(ConfigMap, only_metadata=True)])
async def together(ctx: Context, key: Key) -> None:
    """Asks for both at once, past the cache, of which it keeps metadata only."""
    owner = await ctx.find(Pair, key)
    if owner is None or owner.metadata.is_deleting:
        return
    wanted = [child(owner, number) for number in (1, 2)]
    found = await ctx.gather(*(ctx.find(ConfigMap, each.key) for each in wanted))
    writes = [_write(ctx, each, stored) for each, stored in zip(wanted, found, strict=True)]
    for outcome in await ctx.gather(*(each for each in writes if each is not None)):
        if isinstance(outcome, Exception):
            raise outcome


def _write(ctx: Context, wanted: ConfigMap, stored: Any) -> Any:
    if isinstance(stored, Exception):
        raise stored
    if stored is None:
        return ctx.create(wanted)
    if stored.data == wanted.data:
        return None
    stored.data = wanted.data
    return ctx.update(stored)


def test_what_is_asked_together_happens_in_any_order() -> None:
    verdict = check(world(together, Faults(crash=1), (EDIT,))).assert_holds()
    assert verdict.distinct == 706


def test_a_namespace_ends_with_all_that_is_in_it() -> None:
    def gone(look: WorldState) -> bool:
        deleted = look.budget("delete namespace team") == 0
        left = look.find(Namespace, ("", "team")) is not None or bool(look.list(Pair)) or bool(look.list(ConfigMap))
        return not deleted or not left

    inside = pair()
    inside.metadata.namespace = "team"
    user = Delete(Namespace, ("", "team"))
    verdict = check(
        World(
            controllers=[pairs],
            objects=[inside],
            users=[user],
            properties=[eventually_stable(gone)],
            bounds=Bounds(lag=1, incarnations=2),
        )
    )
    verdict.assert_holds()
    assert {each.name: each.taken for each in verdict.coverage}["end namespace"]


def test_a_story_tells_who_did_what() -> None:
    broken = world(naive, Faults(crash=1))
    steps = story_of(broken, check(broken).assert_violated("eventually stable")).steps
    assert [(each.lane, each.title) for each in steps] == [
        ("cache host1", "list Pair"),
        ("cache host1", "list ConfigMap"),
        ("host1 worker 0", "start default/a"),
        ("host1 worker 0", "get pair default/a -> spec.text=x"),
        ("host1 worker 0", "get configmap default/a-1 -> nothing"),
        ("host1 worker 0", "create configmap default/a-1 -> ok"),
        ("host1", "host1 crashes and starts again"),
        ("cache host1", "list Pair"),
        ("cache host1", "list ConfigMap"),
        ("host1 worker 0", "start default/a"),
        ("host1 worker 0", "get pair default/a -> spec.text=x"),
        ("host1 worker 0", "get configmap default/a-1 -> data.text=x; ends"),
    ]
    created = steps[5]
    (sent,) = created.exchanges
    assert sent.response is not None
    assert (sent.request["method"], sent.response["code"]) == ("POST", 201)
    assert [(each.source, each.target, each.label) for each in created.messages] == [
        ("host1 worker 0", "apiserver", "POST default/configmaps"),
        ("apiserver", "host1 worker 0", "201"),
    ]
    assert ("object", "core/configmaps/default/a-1") in {
        (each.part.variable, each.part.key) for each in created.changes
    }


EVERYBODY = [Key("default", name) for name in "fabdec"]


@controller(for_=Pair, watches=[Watches(ConfigMap, to_keys=lambda _: EVERYBODY)])
async def concerned(ctx: Context, key: Key) -> None:
    """Is concerned by one object, for every key at once."""


def test_what_one_event_concerns_is_queued_in_the_same_order_in_every_process() -> None:
    objects = [ConfigMap(metadata=ObjectMeta(name="one", namespace="default")), *(pair(key.name) for key in EVERYBODY)]
    walk = Walk(World(controllers=[concerned], objects=objects))
    walk.take("list", kind="ConfigMap")
    walk.take("list", kind="Pair")
    order = []
    while walk.can("start"):
        walk.take("start")
        order += [event.key for event in walk.events if isinstance(event, Started)]
    assert order == sorted(EVERYBODY)


@controller(for_=Pair)
async def forgetful(ctx: Context, key: Key) -> None:
    """Creates a child of a kind that it does not watch, and that the world does not name."""
    owner = await ctx.find(Pair, key)
    if owner is None or owner.metadata.is_deleting:
        return
    if await ctx.find(ConfigMap, child(owner, 1).key, cached=False) is None:
        await ctx.create(child(owner, 1))


def test_garbage_of_kinds_that_nobody_named_is_collected_too() -> None:
    def nothing_is_left(look: WorldState) -> bool:
        return bool(look.list(Pair)) or not look.list(ConfigMap)

    check(
        World(
            controllers=[forgetful],
            objects=[pair()],
            users=[Delete(Pair, KEY)],
            properties=[eventually_stable(nothing_is_left)],
        )
    ).assert_holds()


class Dial(Struct):
    """A status that somebody forgot to make optional."""

    at: int = 0


class Gauge(Resource, group="test.attractor.dev", version="v1"):
    """A kind that no server would take."""

    status: Dial


def test_a_kind_that_no_server_would_take_is_refused_as_the_authors_mistake() -> None:
    with pytest.raises(SpecError, match=r"Gauge.status: it is required, but nothing is created with a status"):
        World(controllers=[pairs], objects=[pair()], kinds=[Gauge]).compile()


def test_random_runs_go_through_a_world_that_turns_out_to_have_more_kinds() -> None:
    verdict = simulate(World(controllers=[forgetful], objects=[pair()]), runs=20, depth=20)
    assert verdict.verdict == "inconclusive"

"""What makes worlds small changes no verdict: each reduction on and off, on the same worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attractor import Context, Key, Result, controller
from attractor.apiserver.core import Core
from attractor.check import Bounds, Delete, Edit, Faults, SpecError, World, always, check, eventually_stable
from attractor.check.values.snapshot import freeze
from attractor.check.world.simulation.reductions import unreduced
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta
from tests.check.world.buckets import Storage, StorageModel, behind, bucket, careful, careless, one_bucket_by_key
from tests.check.world.buckets import one_bucket_each as one_each
from tests.check.world.pairs import KEY, Pair, both_are_right, naive, pair, pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.check.engine.model import Model

EDIT = Edit(Pair, KEY, spec=[{"text": "y"}])
CRASH = Faults(crash=1)


def of_pairs(one: Any, **options: Any) -> World:
    return World(controllers=[one], objects=[pair()], properties=[eventually_stable(both_are_right)], **options)


def of_buckets(one: Any, desired: Any = one_each, **options: Any) -> World:
    claims = [eventually_stable(desired)]
    return World(
        controllers=[one], objects=[bucket()], properties=claims, externals={Storage: StorageModel()}, **options
    )


class Counted:
    """A world that tells how often its controllers' code was run."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.grow = world.grow

    def compile(self) -> Model:
        self.universe = self._world.compose()
        return self.universe.model

    @property
    def runs(self) -> int:
        return sum(worker.suspensions.resumed for host in self.universe.hosts for worker in host.workers)


WORLDS: list[Callable[[], World]] = [
    lambda: of_pairs(naive),
    lambda: of_pairs(naive, faults=CRASH),
    lambda: of_pairs(pairs, faults=CRASH, users=[EDIT]),
    lambda: of_pairs(pairs, faults=Faults(lost_answer=1, conflict=1)),
    lambda: of_pairs(pairs, users=[Delete(Pair, KEY)], bounds=Bounds(lag=1, incarnations=2)),
    lambda: of_buckets(careless, faults=CRASH),
    lambda: of_buckets(careful, faults=Faults(crash=1, external_silence=1)),
    lambda: of_buckets(behind, one_bucket_by_key, faults=CRASH),
]


@pytest.mark.parametrize("make", WORLDS)
def test_joining_local_steps_changes_no_verdict_and_adds_no_state(make: Callable[[], World]) -> None:
    small, large = check(make()), check(unreduced(make(), "joins_local_steps"))
    assert {each.name: each.verdict for each in small.properties} == {
        each.name: each.verdict for each in large.properties
    }
    assert small.distinct <= large.distinct


@pytest.mark.parametrize("make", WORLDS)
def test_recalling_where_an_answer_led_finds_the_same_states_with_fewer_runs_of_code(
    make: Callable[[], World],
) -> None:
    recalling, running = Counted(make()), Counted(unreduced(make(), "recalls_answers"))
    short, long = check(recalling), check(running)
    assert (short.distinct, short.generated, short.depth) == (long.distinct, long.generated, long.depth)
    assert [each.verdict for each in short.properties] == [each.verdict for each in long.properties]
    assert recalling.runs <= running.runs


def test_the_same_answer_at_the_same_place_runs_the_code_once() -> None:
    world = of_pairs(pairs, faults=CRASH, users=[EDIT])
    recalling, running = Counted(world), Counted(unreduced(world, "recalls_answers"))
    check(recalling)
    check(running)
    assert recalling.runs < running.runs


def test_the_same_request_on_the_same_objects_is_worked_on_once(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = {True: 0, False: 0}
    handle = Core.handle
    for recalls in worked:

        def counted(core: Core, *asked: Any, recalls: bool = recalls) -> Any:
            worked[recalls] += 1
            return handle(core, *asked)

        monkeypatch.setattr(Core, "handle", counted)
        world = of_pairs(pairs, faults=CRASH, users=[EDIT])
        check(world if recalls else unreduced(world, "recalls_answers"))
    assert 0 < worked[True] < worked[False]


def test_generated_names_are_the_same_whether_or_not_the_server_recalls() -> None:
    @controller(for_=Pair, owns=[ConfigMap])
    async def names(ctx: Context, key: Key) -> None:
        if len(await ctx.list(ConfigMap)) < 2:
            await ctx.create(ConfigMap(metadata=ObjectMeta(generate_name="a-", namespace=key.namespace)))

    world = World(controllers=[names], objects=[pair()], faults=CRASH)
    verdicts = [check(world), check(unreduced(world, "recalls_answers"))]
    counts = [(found.distinct, found.generated, found.depth) for found in verdicts]
    assert counts[0] == counts[1]


def test_code_that_ends_differently_each_time_is_found_although_answers_are_recalled() -> None:
    turns = iter(range(1_000_000))

    @controller(for_=Pair)
    async def fickle(ctx: Context, key: Key) -> Result | None:
        await ctx.get(Pair, key)
        return Result(requeue_after_s=1) if next(turns) % 2 else None

    with pytest.raises(SpecError):
        check(World(controllers=[fickle], objects=[pair()], users=[EDIT], faults=CRASH))


@pytest.mark.parametrize("make", WORLDS)
def test_changing_without_looking_finds_the_same_states_with_fewer_executions(make: Callable[[], World]) -> None:
    blind, looking = check(make()), check(unreduced(make(), "changes_blindly"))
    assert (blind.distinct, blind.generated, blind.depth) == (looking.distinct, looking.generated, looking.depth)
    assert [each.verdict for each in blind.properties] == [each.verdict for each in looking.properties]
    assert sum(each.executed for each in blind.coverage) <= sum(each.executed for each in looking.coverage)


@pytest.mark.parametrize("make", WORLDS)
def test_both_engines_explore_the_same_world(make: Callable[[], World]) -> None:
    native, python = check(make(), engine="native"), check(make(), engine="python")
    assert (native.distinct, native.generated, native.depth) == (python.distinct, python.generated, python.depth)
    assert [each.verdict for each in native.properties] == [each.verdict for each in python.properties]


def test_two_threads_explore_the_same_world() -> None:
    one, two = check(WORLDS[3]()), check(WORLDS[3](), threads=2)
    assert (one.distinct, one.generated, one.depth) == (two.distinct, two.generated, two.depth)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_add_states_only_where_keys_are_reconciled_at_once(workers: int) -> None:
    single = check(World(controllers=[pairs], objects=[pair()], workers=workers)).distinct
    double = check(World(controllers=[pairs], objects=[pair("a"), pair("b")], workers=workers)).distinct
    assert (single, double) == {1: (25, 113), 2: (25, 547)}[workers]


def test_frozen_values_tell_sharing_from_equality() -> None:
    one: list[int] = []
    assert freeze([one, one]) != freeze([[], []])
    assert freeze([one, []]) == freeze([[], []])
    assert freeze(True) != freeze(1)
    assert freeze({"a": 1, "b": 2}) != freeze({"b": 2, "a": 1})


def test_a_claim_about_every_state_is_never_called_vacuous() -> None:
    answered = check(World(controllers=[pairs], objects=[pair()], properties=[always(lambda _: True, name="anything")]))
    assert [(one.name, one.vacuous) for one in answered.properties if one.kind == "always"] == [("anything", None)]

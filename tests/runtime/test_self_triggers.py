"""Objects that reconcile themselves are told of, by whatever they write; those that are only busy are not."""

from collections.abc import Awaitable, Callable

import pytest

from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, For, Result, controller
from attractor.runtime.predicates import generation_changed
from attractor.runtime.toolkit.owners import set_controller
from attractor.runtime.worker.self_triggers import SUSPECT_RUNS, TELL_RUNS
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.runtime.things import Thing, passing, thing

A = Key("default", "a")
ENOUGH = SUSPECT_RUNS + 3 * TELL_RUNS


def told(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [vars(record) for record in caplog.records if "reconciles itself" in record.getMessage()]


async def measure(ctx: Context, found: Thing, n: int) -> None:
    found.status.seen = n
    await ctx.update_status(found)


async def annotate(ctx: Context, found: Thing, n: int) -> None:
    changed = found.deep_copy()
    changed.metadata.annotations = {"measured": str(n)}
    await ctx.patch_from(found, changed)


def child_of(found: Thing, n: int) -> ConfigMap:
    made = ConfigMap(metadata=ObjectMeta(name="child", namespace="default"), data={"n": str(n)})
    set_controller(found, made)
    return made


async def apply_child(ctx: Context, found: Thing, n: int) -> None:
    await ctx.apply(child_of(found, n))


async def replace_child(ctx: Context, found: Thing, n: int) -> None:
    known = await ctx.find(ConfigMap, Key("default", "child"))
    if known is not None:
        await ctx.delete(known)
    await ctx.create(child_of(found, n))


async def write_both_at_once(ctx: Context, found: Thing, n: int) -> None:
    status = found.deep_copy()
    status.status.seen = n
    await ctx.gather(ctx.apply(child_of(found, n)), ctx.patch_from(found, status, subresource="status"))


@pytest.mark.parametrize("write", [measure, annotate, apply_child, replace_child, write_both_at_once])
async def test_an_object_whose_every_run_writes_something_new_is_told_of_once_a_minute(
    cluster: ClusterUnderTest,
    virtual_time: VirtualTime,
    caplog: pytest.LogCaptureFixture,
    write: Callable[[Context, Thing, int], Awaitable[None]],
) -> None:
    runs = 0

    @controller(name="hot", for_=Thing, owns=[ConfigMap])
    async def hot(ctx: Context, key: Key) -> Result | None:
        nonlocal runs
        found = await ctx.find(Thing, key)
        if found is not None and runs < ENOUGH:
            runs += 1
            await write(ctx, found, runs)
        return None

    async with cluster.running(hot) as manager:
        await cluster.client.create(thing("a"))
        await eventually(lambda: runs == ENOUGH)
        [one] = told(caplog)
        assert (one["key"], one["kind"], one["controller"]) == ("default/a", "Thing", "hot")
        assert "for_=For(Thing, when=generation_changed)" in str(one["hint"])
        assert manager.metrics.self_triggered.value("hot") >= TELL_RUNS


async def test_an_object_that_others_keep_busy_is_not_told_of(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    @controller(name="copying", for_=Thing)
    async def copying(ctx: Context, key: Key) -> Result | None:
        found = await ctx.find(Thing, key)
        if found is not None and found.status.seen != found.spec.size:
            await measure(ctx, found, found.spec.size)
        return None

    async with cluster.running(copying) as manager:
        await cluster.client.create(thing("a"))
        for size in range(2, ENOUGH):
            await cluster.client.patch(Thing, A, {"spec": {"size": size}})
            await passing(0.01)
        assert manager.metrics.reconciles.value("copying", "success") >= ENOUGH
    assert told(caplog) == []


async def test_a_timer_that_measures_is_not_told_of_once_its_status_does_not_run_it(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    runs = 0

    @controller(name="measuring", for_=For(Thing, when=generation_changed))
    async def measuring(ctx: Context, key: Key) -> Result | None:
        nonlocal runs
        runs += 1
        await measure(ctx, await ctx.get(Thing, key), runs)
        return Result(requeue_after_s=0.1)

    async with cluster.running(measuring) as manager:
        await cluster.client.create(thing("a"))
        await passing(ENOUGH * 0.1)
        assert ENOUGH - 2 <= runs <= ENOUGH + 2
        assert manager.metrics.self_triggered.value("measuring") == 0
    assert told(caplog) == []

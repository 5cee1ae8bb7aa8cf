"""Everything is reconciled again now and then, behind what changes now."""

import pytest

from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, For, Result, controller
from attractor.runtime.predicates import generation_changed, labels_match
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.runtime.things import Thing, passing, thing


async def test_every_object_comes_again_after_each_period_and_costs_no_request(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    runs: list[str] = []

    @controller(name="things", for_=For(Thing, when=generation_changed))
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        await ctx.get(Thing, key)
        runs.append(key.name)
        return None

    async with cluster.running(reconcile, resync_s=60):
        for name in "abc":
            await cluster.client.create(thing(name))
        await eventually(lambda: sorted(runs) == ["a", "b", "c"])
        asked = len(cluster.requests)
        runs.clear()
        await passing(61)
        assert runs == ["a", "b", "c"]
        await passing(60)
        assert runs == ["a", "b", "c"] * 2
        assert len(cluster.requests) == asked


async def test_a_resync_waits_behind_what_changes_now(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    runs: list[str] = []

    @controller(name="things", for_=Thing, workers=1)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        runs.append(key.name)
        await passing(1)
        return None

    async with cluster.running(reconcile, resync_s=600):
        for name in "abcd":
            await cluster.client.create(thing(name))
        await passing(598)
        runs.clear()
        await eventually(lambda: runs == ["a"], within_s=5)
        await cluster.client.patch(Thing, ("default", "d"), {"spec": {"size": 2}})
        await passing(10)
        assert runs == ["a", "d", "b", "c"]


@pytest.mark.parametrize("resync_s", [None, 60.0])
async def test_a_resync_heals_what_no_event_tells_of_and_skips_what_a_predicate_leaves_out(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, resync_s: float | None
) -> None:
    outside: set[str] = set()

    @controller(name="mirror", for_=For(ConfigMap, when=labels_match(mirrored="yes")))
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        outside.add(key.name)
        return None

    async with cluster.running(reconcile, resync_s=resync_s):
        for name, mirrored in (("a", "yes"), ("b", "no")):
            meta = ObjectMeta(name=name, namespace="default", labels={"mirrored": mirrored})
            await cluster.client.create(ConfigMap(metadata=meta))
        await eventually(lambda: outside == {"a"})
        outside.clear()  # somebody cleared the outside system, and nobody told
        await passing(200)
        assert outside == (set() if resync_s is None else {"a"})

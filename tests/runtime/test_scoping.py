"""What a manager watches of the cluster: by namespace, labels and fields, as metadata only, transformed."""

import pytest

from attractor.cache import Scope
from attractor.cache.cache import drop_managed_fields
from attractor.k8s.core_v1 import ConfigMap, Namespace, Secret
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Owns, Result, Watches, controller
from attractor.runtime.toolkit.owners import set_controller
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.factories import config_map
from tests.runtime.things import Thing, passing, thing

A = Key("default", "a")


async def test_a_kind_is_watched_by_labels_and_another_by_namespace(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    seen: set[tuple[str, str]] = set()

    @controller(name="scoped", for_=ConfigMap, watches=[Watches(Secret, lambda one: [one.key])])
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        for kind in (ConfigMap, Secret):
            if await ctx.find(kind, key) is not None:
                seen.add((kind.__name__, key.name))
        return None

    await cluster.client.create(Namespace(metadata=ObjectMeta(name="other")))
    scopes = {ConfigMap: Scope(label_selector="app=web"), Secret: Scope("other", field_selector="metadata.name!=no")}
    async with cluster.running(reconcile, scopes=scopes):
        await cluster.client.create(config_map("web", {"app": "web"}))
        await cluster.client.create(config_map("db", {"app": "db"}))
        for namespace, name in (("default", "here"), ("other", "there"), ("other", "no")):
            await cluster.client.create(Secret(metadata=ObjectMeta(name=name, namespace=namespace)))
        await eventually(lambda: len(seen) == 2)
        await passing(5)
    assert seen == {("ConfigMap", "web"), ("Secret", "there")}


@pytest.mark.parametrize("only_metadata", [True, False])
async def test_children_that_are_watched_as_metadata_wake_their_owner_and_are_read_from_the_server(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, only_metadata: bool
) -> None:
    read: list[dict[str, str]] = []

    @controller(name="owner", for_=Thing, owns=[Owns(ConfigMap, only_metadata=only_metadata)])
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        found = await ctx.find(ConfigMap, key)
        read.append({} if found is None else found.data)
        if found is None:
            made = config_map(key.name)
            set_controller(await ctx.get(Thing, key), made)
            await ctx.create(made)
        return None

    async with cluster.running(reconcile) as manager:
        await cluster.client.create(thing("a"))
        await eventually(lambda: len(read) == 2)
        await cluster.client.patch(ConfigMap, A, {"data": {"x": "1"}})
        await eventually(lambda: read[-1] == {"x": "1"})
        kinds = [health.kind for health in manager.cache.health()]
    assert (kinds[1] == "metadata of v1, Kind=ConfigMap") == only_metadata
    assert bool(cluster.requests.select("get", "configmaps")) == only_metadata


async def test_a_kind_that_is_also_watched_as_a_whole_has_one_informer() -> None:
    @controller(
        name="both", for_=Thing, owns=[Owns(ConfigMap, only_metadata=True)], watches=[Watches(ConfigMap, lambda _: [])]
    )
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        return None

    assert reconcile.metadata_kinds == frozenset()


async def test_a_transform_is_applied_to_everything_that_is_kept(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    managed: list[bool] = []

    @controller(name="lean", for_=Thing)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        managed.append(bool((await ctx.get(Thing, key)).metadata.managed_fields))
        managed.append(bool((await ctx.get(Thing, key, cached=False)).metadata.managed_fields))
        return None

    async with cluster.running(reconcile, transform=drop_managed_fields):
        await cluster.client.create(thing("a"))
        await eventually(lambda: managed == [False, True])

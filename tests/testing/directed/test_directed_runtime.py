"""A directed runtime: production controllers whose every step is told when to happen."""

import pytest

from attractor import Context, Key, Result, controller
from attractor.client import AnswerLost
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import AlreadyExists
from attractor.objects.resource.metadata import OwnerReference
from attractor.runtime.effects import Create, Get
from attractor.testing.directed import Departed, DirectedRuntime
from attractor.testing.virtual_time import VirtualTime
from tests.factories import config_map

A = Key("default", "a")


@controller(for_=ConfigMap, workers=2)
async def copies(ctx: Context, key: Key) -> Result | None:
    """Copy ``a`` to ``a-copy``; try again after a minute when the answer is lost."""
    if key.name.endswith("-copy"):
        return None
    source = await ctx.find(ConfigMap, key)
    if source is None or await ctx.find(ConfigMap, Key("default", f"{key.name}-copy")) is not None:
        return None
    try:
        await ctx.create(config_map(f"{key.name}-copy", None, **source.data))
    except AnswerLost:
        return Result(requeue_after_s=60)
    except AlreadyExists:
        return None
    return None


def directed() -> DirectedRuntime:
    return DirectedRuntime([copies], objects=[config_map("a", x="1")])


async def test_nothing_happens_until_it_is_told_to() -> None:
    async with directed() as on:
        await on.start("h")
        with pytest.raises(Departed, match="no key waits"):
            await on.begin("h", "copies")
        await on.list("h", ConfigMap)
        assert await on.begin("h", "copies") == A
        assert isinstance(on.asks("h", "copies", A), Get)
        assert await on.go_on("h", "copies", A) == ()
        await on.go_on("h", "copies", A)
        assert isinstance(on.asks("h", "copies", A), Create)
        assert len(await on.objects(ConfigMap)) == 1
        (done,) = await on.go_on("h", "copies", A)
        assert done.response is not None
        assert done.response.code == 201
        assert [one["metadata"]["name"] for one in await on.objects(ConfigMap)] == ["a", "a-copy"]
        with pytest.raises(Departed, match="copies on h does not reconcile default/a"):
            on.asks("h", "copies", A)
        assert on.undelivered("h", ConfigMap) == 1
        assert (await on.deliver("h", ConfigMap))["type"] == "ADDED"
        assert await on.begin("h", "copies") == Key("default", "a-copy")


async def test_a_lost_answer_is_written_and_its_timer_fires_when_told() -> None:
    async with directed() as on:
        await on.start("h")
        await on.list("h", ConfigMap)
        await on.begin("h", "copies")
        await on.go_on("h", "copies", A)
        await on.go_on("h", "copies", A)
        await on.go_on("h", "copies", A, "answer lost")
        assert len(await on.objects(ConfigMap)) == 2
        with pytest.raises(Departed, match="no key waits"):
            await on.begin("h", "copies")
        await on.fire("h", "copies", A)
        assert await on.begin("h", "copies") == A
        await on.go_on("h", "copies", A)
        (resolved,) = await on.go_on("h", "copies", A)
        assert resolved.request.method == "GET", "what the lost answer left in doubt is asked of the server"


async def test_what_a_crashed_host_had_sent_may_arrive_after_its_successor_has_listed() -> None:
    async with directed() as on:
        await on.start("h")
        await on.list("h", ConfigMap)
        await on.begin("h", "copies")
        await on.go_on("h", "copies", A)
        await on.go_on("h", "copies", A)
        assert (await on.send_only("h", "copies", A)).method == "POST"
        await on.crash("h")
        await on.start("h")
        await on.list("h", ConfigMap)
        assert await on.begin("h", "copies") == A
        arrived = await on.arrive("h")
        assert arrived.response is not None
        assert arrived.response.code == 201
        await on.go_on("h", "copies", A)
        await on.go_on("h", "copies", A)
        (done,) = await on.go_on("h", "copies", A)
        assert done.response is not None
        assert done.response.code == 409


async def test_a_closed_watch_is_listed_again_without_what_was_on_its_way() -> None:
    async with directed() as on:
        await on.start("h")
        await on.list("h", ConfigMap)
        await on.client.create(config_map("b"))
        await on.client.create(config_map("c"))
        await on.quiet()
        assert on.undelivered("h", ConfigMap) == 2
        await on.close_watch("h", ConfigMap)
        with pytest.raises(Departed, match="h does not watch configmaps"):
            await on.deliver("h", ConfigMap)
        await on.list("h", ConfigMap)
        with pytest.raises(Departed, match="no event of ConfigMap is on its way to h"):
            await on.deliver("h", ConfigMap)
        keys = [await on.begin("h", "copies"), await on.begin("h", "copies")]
        assert keys == [Key("default", "b"), Key("default", "c")]
        with pytest.raises(Departed, match="all of them are busy"):
            await on.begin("h", "copies")


async def test_garbage_goes_when_told() -> None:
    async with DirectedRuntime([copies]) as on:
        owner = await on.client.create(config_map("owner"))
        owned = config_map("owned")
        owned.metadata.owner_references = [
            OwnerReference(api_version="v1", kind="ConfigMap", name="owner", uid=owner.metadata.uid)
        ]
        await on.client.create(owned)
        with pytest.raises(Departed, match="nothing to do to configmaps default/owned"):
            await on.collect("configmaps", owned.key)
        await on.client.delete(ConfigMap, owner.key)
        assert [op.name for op in await on.garbage()] == ["owned"]
        await on.collect("configmaps", owned.key)
        assert await on.objects(ConfigMap) == []


async def test_what_cannot_happen_is_named_with_what_happens_instead() -> None:
    async with directed() as on:
        with pytest.raises(Departed, match="h does not run; no host does"):
            await on.begin("h", "copies")
        await on.start("h")
        await on.list_all("h")
        with pytest.raises(Departed, match="no timer of copies waits for default/a"):
            await on.fire("h", "copies", A)
        with pytest.raises(Departed, match="runs no controller 'others'; it runs copies"):
            await on.begin("h", "others")


async def test_time_is_quiet_before_the_next_timer(virtual_time: VirtualTime) -> None:
    before = virtual_time.time()
    await virtual_time.quiet()
    assert virtual_time.time() == before

"""A directed runtime: production controllers whose every step is told when to happen."""

import pytest

from attractor import Context, Key, ObjectMeta, Result, controller
from attractor.client import AnswerLost
from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.objects.errors import AlreadyExists
from attractor.runtime.effects import Create, Get
from attractor.testing.directed import Departed, DirectedRuntime
from attractor.testing.virtualtime import VirtualTime

A = Key("default", "a")


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


@controller(for_=ConfigMap, workers=2)
async def copies(ctx: Context, key: Key) -> Result | None:
    """Copy ``a`` to ``a-copy``; try again after a minute when the answer is lost."""
    if key.name.endswith("-copy"):
        return None
    source = await ctx.find(ConfigMap, key)
    if source is None or await ctx.find(ConfigMap, Key("default", f"{key.name}-copy")) is not None:
        return None
    try:
        await ctx.create(config_map(f"{key.name}-copy", **source.data))
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
        assert len(await on.objects(ConfigMap)) == 1
        assert await on.begin("h", "copies", 0) == A
        assert isinstance(on.asks("h", "copies", 0), Get)
        await on.step("h", "copies", 0)
        await on.step("h", "copies", 0)
        assert isinstance(on.asks("h", "copies", 0), Create)
        assert len(await on.objects(ConfigMap)) == 1
        done = await on.perform("h", "copies", 0)
        assert done.response is not None
        assert done.response.code == 201
        assert [one["metadata"]["name"] for one in await on.objects(ConfigMap)] == ["a", "a-copy"]
        assert on.asks("h", "copies", 0) is None
        assert on.undelivered("h", ConfigMap) == 1
        await on.step("h", "copies", 0)
        assert (await on.deliver("h", ConfigMap))["type"] == "ADDED"
        assert await on.begin("h", "copies", 1) == Key("default", "a-copy")


async def test_a_lost_answer_is_written_and_its_timer_fires_when_told() -> None:
    async with directed() as on:
        await on.start("h")
        await on.begin("h", "copies", 0)
        await on.step("h", "copies", 0)
        await on.step("h", "copies", 0)
        await on.perform("h", "copies", 0, "answer lost")
        assert len(await on.objects(ConfigMap)) == 2
        await on.step("h", "copies", 0)
        with pytest.raises(Departed, match="no key waits"):
            await on.begin("h", "copies", 0)
        await on.fire("h", "copies", A)
        assert await on.begin("h", "copies", 0) == A
        await on.step("h", "copies", 0)
        await on.step("h", "copies", 0)
        resolving = on.sends("h", "copies", 0)
        assert resolving is not None, "what the lost answer left in doubt is asked of the server"
        assert resolving.method == "GET"


async def test_what_a_crashed_host_had_sent_may_arrive_after_its_successor_has_listed() -> None:
    async with directed() as on:
        await on.start("h")
        await on.begin("h", "copies", 0)
        for _ in range(3):
            await on.step("h", "copies", 0)
        assert on.sends("h", "copies", 0) is not None
        await on.crash("h")
        await on.start("h")
        assert await on.begin("h", "copies", 0) == A
        arrived = await on.arrive("h")
        assert arrived.response is not None
        assert arrived.response.code == 201
        await on.step("h", "copies", 0)
        await on.step("h", "copies", 0)
        done = await on.perform("h", "copies", 0)
        assert done.response is not None
        assert done.response.code == 409


async def test_a_watch_that_is_gone_is_listed_again_without_what_was_on_its_way() -> None:
    async with directed() as on:
        await on.start("h")
        await on.client.create(config_map("b"))
        await on.client.create(config_map("c"))
        await on.clock.quiet()
        assert on.undelivered("h", ConfigMap) == 2
        await on.relist("h", ConfigMap)
        assert on.undelivered("h", ConfigMap) == 0
        with pytest.raises(Departed, match="no event of ConfigMap is on its way to h"):
            await on.deliver("h", ConfigMap)
        keys = [await on.begin("h", "copies", 0), await on.begin("h", "copies", 1)]
        assert keys == [Key("default", "b"), Key("default", "c")]


async def test_what_cannot_happen_is_named_with_what_happens_instead() -> None:
    async with directed() as on:
        with pytest.raises(Departed, match="h does not run; no host does"):
            await on.begin("h", "copies", 0)
        await on.start("h")
        with pytest.raises(Departed, match="was to be inside a reconcile; it waits for a key"):
            on.asks("h", "copies", 1)
        with pytest.raises(Departed, match="no timer of copies waits for default/a"):
            await on.fire("h", "copies", A)
        with pytest.raises(Departed, match="runs no controller 'others'; it runs copies"):
            await on.begin("h", "others", 0)


async def test_time_is_quiet_before_the_next_timer(virtual_time: VirtualTime) -> None:
    before = virtual_time.time()
    await virtual_time.quiet()
    assert virtual_time.time() == before

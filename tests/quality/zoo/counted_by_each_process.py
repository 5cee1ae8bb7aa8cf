"""In-memory state: each of two processes remembers what it has made, and neither what the other one has.

The app gets one ConfigMap with a name of its own. Whether it has one is remembered, since the cache may lag. While two
processes overlap, each has a memory of its own, and the app gets two. A name that follows from the app is there once.
"""

from dataclasses import dataclass

from attractor.check import World, eventually_stable, no_duplicates
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import AlreadyExists
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app


@dataclass(frozen=True)
class Made:
    """The app has its ConfigMap."""


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    if await ctx.find(App, key) is None or await ctx.recall(Made) is not None:
        return
    if not await ctx.list(ConfigMap, namespace=key.namespace):
        await ctx.create(
            ConfigMap(
                metadata=ObjectMeta(generate_name=f"{key.name}-", namespace=key.namespace), data={"for": key.name}
            )
        )
    await ctx.remember(Made())


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    if await ctx.find(App, key) is None or await ctx.recall(Made) is not None:
        return
    try:
        await ctx.create(ConfigMap(metadata=ObjectMeta(name=key.name, namespace=key.namespace), data={"for": key.name}))
    except AlreadyExists:
        ctx.log.info("the other process was faster")
    await ctx.remember(Made())


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app()],
        hosts=("host1", "host2"),
        properties=[
            no_duplicates(ConfigMap, by=lambda found: found.data["for"], name="there is at most one"),
            eventually_stable(lambda look: bool(look.list(ConfigMap))),
        ],
    )

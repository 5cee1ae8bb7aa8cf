"""Lost event: the controller reads a ConfigMap that it does not watch.

The app copies a ConfigMap that its spec names. When that one changes, nothing makes the app run again, and the copy
stays old. Whatever a reconcile reads has to be able to wake it.
"""

from attractor.check import Edit, World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Index, Key, Watches, controller
from tests.quality.zoo.kinds import App, app, configmap, tell, value_of


async def copy(ctx: Context, key: Key) -> None:
    """Show the source's value in the app's status."""
    app = await ctx.find(App, key)
    if app is None:
        return
    source = await ctx.find(ConfigMap, Key(key.namespace, app.spec.source))
    await tell(ctx, app, value="" if source is None else source.data["value"])


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> None:
    await copy(ctx, key)


@controller(
    for_=App,
    watches=[Watches(ConfigMap, index="source")],
    indexes=[Index(App, "source", lambda app: [f"{app.metadata.namespace}/{app.spec.source}"])],
)
async def fixed(ctx: Context, key: Key) -> None:
    await copy(ctx, key)


SOURCE = Key("default", "source")


def status_follows_the_source(look: WorldState) -> bool:
    return all(one.status.value == value_of(look, SOURCE) for one in look.list(App))


def world(declared: Controller = buggy) -> World:
    objects = [app(source="source"), configmap("source", value="red")]
    users = [Edit(ConfigMap, SOURCE, patch=[{"data": {"value": "blue"}}])]
    return World(
        controllers=[declared], objects=objects, users=users, properties=[eventually_stable(status_follows_the_source)]
    )

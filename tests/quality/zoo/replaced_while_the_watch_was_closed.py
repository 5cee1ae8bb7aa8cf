"""Lost event: a ConfigMap that is deleted and made anew while the watch is closed looks like one that was changed.

The list after a closed watch shows another object of the same name, so nobody is told of a deletion or a creation, only
of a change. Changes are filtered out, because such ConfigMaps are immutable. The app stays bound to one that is gone.
"""

from attractor.check import Create, Delete, Faults, Script, World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, Watches, controller
from attractor.runtime.predicates import changed, created, deleted
from tests.quality.zoo.kinds import A, App, app, configmap, tell

SOURCE = Key("default", "source")
another = changed(lambda meta: meta.uid, "another object")
"""Created, deleted, or both at once."""


def _apps(_: ConfigMap) -> list[Key]:
    return [A]


async def _bind(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    source = await ctx.find(ConfigMap, SOURCE)
    if app is not None:
        await tell(ctx, app, value=source.metadata.uid if source is not None else "")


@controller(for_=App, watches=[Watches(ConfigMap, to_keys=_apps, when=created | deleted)])
async def buggy(ctx: Context, key: Key) -> None:
    await _bind(ctx, key)


@controller(for_=App, watches=[Watches(ConfigMap, to_keys=_apps, when=another)])
async def fixed(ctx: Context, key: Key) -> None:
    await _bind(ctx, key)


def each_app_is_bound_to_what_is_there(look: WorldState) -> bool:
    source = look.find(ConfigMap, SOURCE)
    return all(one.status.value == (source.metadata.uid if source is not None else "") for one in look.list(App))


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app(), configmap(SOURCE.name)],
        users=[Script(Delete(ConfigMap, SOURCE), Create(configmap(SOURCE.name)))],
        faults=Faults(closed_watch=1),
        properties=[eventually_stable(each_app_is_bound_to_what_is_there)],
    )

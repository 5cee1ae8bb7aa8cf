"""Wrong owner: the owner reference has the right name and the wrong uid.

The uid was taken from the app's source ConfigMap, one line too low. To the garbage collector the owner does not exist:
it deletes the ConfigMap, the controller creates it again, and so on for ever.
"""

from attractor.check import World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import OwnerReference
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, child_key, configmap, value_of


def reference(app: App, uid: str) -> OwnerReference:
    """What makes an app own something."""
    return OwnerReference(api_version=app.api_version, kind="App", name=app.metadata.name, uid=uid, controller=True)


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or await ctx.find(ConfigMap, child_key(key)) is not None:
        return
    source = await ctx.get(ConfigMap, Key(key.namespace, app.spec.source))
    made = configmap(child_key(key).name, **source.data)
    made.metadata.owner_references = [reference(app, source.metadata.uid)]
    await ctx.create(made)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or await ctx.find(ConfigMap, child_key(key)) is not None:
        return
    source = await ctx.get(ConfigMap, Key(key.namespace, app.spec.source))
    made = configmap(child_key(key).name, **source.data)
    made.metadata.owner_references = [reference(app, app.metadata.uid)]
    await ctx.create(made)


def copy_is_there(look: WorldState) -> bool:
    return all(value_of(look, child_key(one.key)) == "red" for one in look.list(App))


def world(declared: Controller = buggy) -> World:
    objects = [app(source="source"), configmap("source", value="red")]
    return World(controllers=[declared], objects=objects, properties=[eventually_stable(copy_is_there)])

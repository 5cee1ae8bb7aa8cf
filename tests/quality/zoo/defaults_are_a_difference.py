"""Hot loop: what the server filled in is taken for somebody's change, and put right, for ever.

The Secret is written without a type and comes back as "Opaque". The type cannot be changed, so the Secret is deleted
and made anew, and differs again. Compare only what you set.
"""

from attractor.check import World
from attractor.k8s.core_v1 import Secret
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Controller, Key, controller
from attractor.runtime.toolkit.owners import set_controller
from tests.quality.zoo.kinds import App, app


def secret_of(app: App) -> Secret:
    """The app's Secret, as it is wanted."""
    meta = ObjectMeta(namespace=app.metadata.namespace, name=f"{app.metadata.name}-secret")
    made = Secret(metadata=meta, data={"value": app.spec.value.encode()})
    set_controller(app, made)
    return made


@controller(for_=App, owns=[Secret])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    wanted = secret_of(app)
    found = await ctx.find(Secret, wanted.key)
    if found is None:
        await ctx.create(wanted)
    elif (found.type, found.data) != (wanted.type, wanted.data):
        await ctx.delete(found)


@controller(for_=App, owns=[Secret])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    wanted = secret_of(app)
    found = await ctx.find(Secret, wanted.key)
    if found is None:
        await ctx.create(wanted)
    elif found.data != wanted.data:
        await ctx.delete(found)


def world(declared: Controller = buggy) -> World:
    return World(controllers=[declared], objects=[app()])

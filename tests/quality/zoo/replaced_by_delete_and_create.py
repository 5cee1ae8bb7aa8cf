"""Gap: a changed ConfigMap is deleted and created anew, so for a while there is none.

Everything ends well, and "eventually stable" holds; but whoever reads the ConfigMap in between finds nothing. A second
promise says that what was there once is always there, and this one breaks it.
"""

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.runtime import Context, Key, controller
from tests.quality.zoo.kinds import App, child_key, child_of, ensure_child


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is not None and found.data != {"value": app.spec.value}:
        await ctx.delete(found)
        found = None
    if found is None:
        await ctx.create(child_of(app))


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await ensure_child(ctx, app)

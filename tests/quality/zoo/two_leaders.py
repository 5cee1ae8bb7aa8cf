"""Leader overlap: a process that no longer leads writes what it decided when it did.

Two processes overlap for a moment. The old one has read the small spec and writes without a precondition, after the new
one has written the large; nothing is wrong with either. The fixed one writes only if the ConfigMap is still the one
that it has read.
"""

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.runtime import Context, Key, controller
from tests.quality.zoo.kinds import App, child_key, ensure_child


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    found = await ctx.find(ConfigMap, child_key(key))
    if app is not None and found is not None and found.data != {"value": app.spec.value}:
        await ctx.patch(ConfigMap, found.key, {"data": {"value": app.spec.value}})


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await ensure_child(ctx, app)

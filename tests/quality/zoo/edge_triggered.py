"""Edge-triggered: the controller runs when an app is created, and only then.

The predicate lets creations through. An edit of the spec is an event that nobody hears, and the ConfigMap keeps the old
value. A controller is level-based: it looks at what is, whatever happened.
"""

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.runtime import Context, For, Key, controller
from attractor.runtime.predicates import created
from tests.quality.zoo.kinds import App, ensure_child


@controller(for_=For(App, when=created), owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await ensure_child(ctx, app)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await ensure_child(ctx, app)

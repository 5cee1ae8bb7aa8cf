"""Lost retry: an error that would pass is declared final.

``TerminalError`` means that trying again is of no use until the object changes. A conflict is the opposite: it says
"read again". The app whose write met a conflict stays as it was.
"""

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.objects.errors import Conflict
from attractor.runtime import Context, Key, TerminalError, controller
from tests.quality.zoo.kinds import App, ensure_child, tell


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await ensure_child(ctx, app)
    try:
        await tell(ctx, app, value=app.spec.value)
    except Conflict as error:
        raise TerminalError("somebody else changed the app") from error


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await ensure_child(ctx, app)
    await tell(ctx, app, value=app.spec.value)

"""Lost retry: an error that would pass is declared final.

``TerminalError`` means that trying again is of no use until the object changes. A server that does not answer is the
opposite: it will. The app whose request met one stays as it was.
"""

from attractor.check import Faults, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import Timeout
from attractor.runtime import Context, Controller, Key, TerminalError, controller
from tests.quality.zoo.kinds import App, app, each_app_has_its_value, ensure_child


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    try:
        await ensure_child(ctx, app)
    except Timeout as error:
        raise TerminalError("the server does not answer") from error


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await ensure_child(ctx, app)


def world(declared: Controller = buggy) -> World:
    faults = Faults(lost_request=1)
    return World(
        controllers=[declared], objects=[app()], faults=faults, properties=[eventually_stable(each_app_has_its_value)]
    )

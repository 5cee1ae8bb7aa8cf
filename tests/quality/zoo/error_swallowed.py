"""Lost retry: an error is logged and forgotten.

A request that is lost on its way is a matter of time. The reconcile that catches every error answers "done", and
nothing comes back to the object: what failed once is missing for ever.
"""

from attractor.check import Faults, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import ApiError
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, each_app_has_its_value, ensure_child


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    try:
        await ensure_child(ctx, app)
    except ApiError as error:
        ctx.log.warning("could not write the child", error=error.message)


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

"""Duplicate: children get generated names, and are counted in a list that may be old.

A create that was under way when the process died arrives after the next process has looked: now there are two, and
nothing refuses the second. Seen in argoproj/argo-rollouts#243 and scylladb/scylla-operator#2492. A name that follows
from the owner makes the server the judge.
"""

from attractor.check import Faults, World, WorldState, always
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Controller, Key, controller
from attractor.runtime.toolkit.owners import is_controlled_by, set_controller
from tests.quality.zoo.kinds import App, app, ensure_child


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    listed = await ctx.list(ConfigMap, namespace=key.namespace)
    if not any(is_controlled_by(one, app) for one in listed):
        made = ConfigMap(metadata=ObjectMeta(namespace=key.namespace, generate_name=f"{key.name}-"))
        set_controller(app, made)
        await ctx.create(made)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await ensure_child(ctx, app)


def there_is_at_most_one(look: WorldState) -> bool:
    return len(look.list(ConfigMap)) <= 1


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app()],
        faults=Faults(late_request=1),
        properties=[always(there_is_at_most_one)],
    )

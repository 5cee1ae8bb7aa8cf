"""Lost event: only changes of the spec are let through, and the controller also reads a label.

``generation_changed`` is the usual cure for hot loops. A label is not part of the spec, so its change does not move the
generation, and the ConfigMap keeps the old one.
"""

from attractor.check import Edit, World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, For, Key, controller
from attractor.runtime.predicates import generation_changed, labels_changed
from tests.quality.zoo.kinds import A, App, app, child_key, child_of, set_value, value_of


async def copy_label(ctx: Context, app: App) -> None:
    """Keep the app's label ``tier`` in its ConfigMap."""
    tier = app.metadata.labels.get("tier", "none")
    found = await ctx.find(ConfigMap, child_key(app.key))
    if found is None:
        await ctx.create(child_of(app, value=tier))
    elif found.data != {"value": tier}:
        await set_value(ctx, found, tier)


@controller(for_=For(App, when=generation_changed), owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await copy_label(ctx, app)


@controller(for_=For(App, when=generation_changed | labels_changed), owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await copy_label(ctx, app)


def tier_is_copied(look: WorldState) -> bool:
    return all(value_of(look, child_key(one.key)) == one.metadata.labels.get("tier") for one in look.list(App))


def world(declared: Controller = buggy) -> World:
    users = [Edit(App, A, patch=[{"metadata": {"labels": {"tier": "gold"}}}])]
    objects = [app(labels={"tier": "none"})]
    return World(controllers=[declared], objects=objects, users=users, properties=[eventually_stable(tier_is_copied)])

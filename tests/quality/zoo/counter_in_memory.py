"""In-memory state: a number that must only grow is counted in the process, and starts again after a crash.

The revision of an app's ConfigMap is one more than the last one that this process wrote. A new process begins at one,
and the revision that the status has announced is taken back.
"""

from dataclasses import dataclass

from attractor.check import Edit, Faults, World, WorldState, always
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import A, App, app, child_key, child_of, tell


@dataclass(frozen=True)
class Revision:
    """The last revision that was written."""

    number: int = 0


async def write(ctx: Context, app: App, found: ConfigMap | None, revision: int) -> None:
    """Store the app's value as a revision."""
    data = {"value": app.spec.value, "revision": str(revision)}
    if found is None:
        made = child_of(app)
        made.data = data
        await ctx.create(made)
    else:
        changed = found.deep_copy()
        changed.data = data
        await ctx.patch_from(found, changed)


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is None or found.data["value"] != app.spec.value:
        last = await ctx.recall(Revision) or Revision()
        await write(ctx, app, found, last.number + 1)
        await ctx.remember(Revision(last.number + 1))
        await tell(ctx, app, count=last.number + 1)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is None or found.data["value"] != app.spec.value:
        revision = int(found.data["revision"]) + 1 if found else 1
        await write(ctx, app, found, revision)
        await tell(ctx, app, count=revision)


def announced_revisions_stay(look: WorldState) -> bool:
    found = look.find(ConfigMap, child_key(A))
    return all(
        found is not None and int(found.data["revision"]) >= one.status.count
        for one in look.list(App)
        if one.status.count
    )


def world(declared: Controller = buggy) -> World:
    users = [Edit(App, A, spec=[{"value": "blue"}, {"value": "red"}], times=2)]
    return World(
        controllers=[declared],
        objects=[app()],
        users=users,
        faults=Faults(crash=1),
        properties=[always(announced_revisions_stay)],
    )

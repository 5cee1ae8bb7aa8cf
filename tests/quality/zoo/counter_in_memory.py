"""In-memory state: a number that must only grow is counted in the process, and starts again after a crash.

The revision of an app's ConfigMap is one more than the last one that this process wrote. A new process begins at one,
and whoever waits for a revision sees it go back.
"""

from dataclasses import dataclass

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.runtime import Context, Key, controller
from tests.quality.zoo.kinds import App, child_key, child_of


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
        await ctx.merge(found, changed)


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


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is None or found.data["value"] != app.spec.value:
        await write(ctx, app, found, int(found.data["revision"]) + 1 if found else 1)

"""The controller that starts Containers which wait for others: ``start`` becomes true when all dependencies are there.

It decides on what the server says, not on what a cache says, and writes only to the object that it has read. ``start``
never goes back, so a Container is started by it once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.errors import Conflict, NotFound
from attractor.operators.devplane.api.containers import Container
from attractor.operators.devplane.api.executables import Executable, ExecutableReplicaSet
from attractor.operators.devplane.controllers.dependencies import depended_keys, unmet
from attractor.operators.devplane.controllers.executables import dependencies
from attractor.runtime import Index, Result, Watches, controller

if TYPE_CHECKING:
    from attractor.runtime import Context, Key

DEPENDS = "depends"


async def reconcile(ctx: Context, key: Key) -> Result | None:
    """Start a Container whose dependencies are there."""
    waiting = await ctx.find(Container, key)
    if waiting is None or waiting.spec.start or not waiting.spec.depends_on or waiting.metadata.is_deleting:
        return None
    if unmet(waiting.spec.depends_on, await dependencies(ctx, waiting, cached=False)):
        return None
    started = waiting.deep_copy()
    started.spec.start = True
    try:
        await ctx.update(started)
    except (Conflict, NotFound):
        return Result(requeue=True)
    return None


container_starts = controller(
    reconcile,
    name="devplane-container-starts",
    for_=Container,
    watches=[
        Watches(Container, index=DEPENDS),
        Watches(Executable, index=DEPENDS),
        Watches(ExecutableReplicaSet, index=DEPENDS),
    ],
    indexes=[Index(Container, DEPENDS, depended_keys)],
    workers=2,
)

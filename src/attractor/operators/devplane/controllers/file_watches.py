"""The controller of file watches: an Executable is started again when one of its files has changed, and is at rest.

Level-based: the files have a digest, and the one that the process was last started for is an annotation of the
Executable. When they differ, and the files have stayed the same for as long as ``debounceSeconds`` says, annotation and
``spec.restart`` are written at once. So a change is heeded once, also when it is made while no control plane runs.
Who depends on the Executable with ``restart: true`` follows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attractor.objects.errors import Conflict, NotFound
from attractor.operators.devplane.api.executables import GROUP, Executable
from attractor.operators.devplane.drivers.files import Files, FileSet
from attractor.runtime import Result, controller

if TYPE_CHECKING:
    from attractor.runtime import Context, Key

WATCHED = f"{GROUP}/watched"
"""The annotation with the digest of the files for which a process was started."""


@dataclass(frozen=True)
class Unsettled:
    """Files that have changed, as they were at the last look; memory of this process."""

    digest: str


async def reconcile(ctx: Context, key: Key) -> Result | None:
    """Look at the files of an Executable, and restart it when they have changed and come to rest."""
    stored = await ctx.find(Executable, key)
    if stored is None or stored.metadata.is_deleting or stored.spec.watch is None:
        await ctx.forget(Unsettled)
        return None
    watch = stored.spec.watch
    files = FileSet(stored.spec.working_directory, tuple(watch.paths), tuple(watch.ignore))
    digest = await ctx.external(Files).digest(files)
    heeded = stored.metadata.annotations.get(WATCHED)
    seen = await ctx.recall(Unsettled)
    if digest == heeded:
        if seen is not None:
            await ctx.forget(Unsettled)
    elif heeded is None or seen == Unsettled(digest):
        await _heed(ctx, stored, digest)
    else:
        await ctx.remember(Unsettled(digest))
    return Result(requeue_after_s=watch.debounce_seconds)


async def _heed(ctx: Context, stored: Executable, digest: str) -> None:
    """Say which files the process is started for; the first time, they are those that it finds."""
    wanted = stored.deep_copy()
    if WATCHED in stored.metadata.annotations:
        wanted.spec.restart = f"files-{digest}"
    wanted.metadata.annotations[WATCHED] = digest
    try:
        await ctx.update(wanted)
    except (Conflict, NotFound):
        return  # somebody else wrote, and it is looked at again


file_watches = controller(reconcile, name="devplane-file-watches", for_=Executable, externals=[Files], workers=2)

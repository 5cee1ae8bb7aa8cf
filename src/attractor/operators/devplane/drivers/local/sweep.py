"""Ending what a plane has left behind: processes and containers outlive whoever started them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from attractor.operators.devplane.drivers.local.processes import LocalProcesses
from attractor.operators.devplane.drivers.local.records import Records
from attractor.operators.local.containers.runtime import RuntimeUnreachable

if TYPE_CHECKING:
    from pathlib import Path

    from attractor.objects.gvk import Key
    from attractor.operators.devplane.drivers.local.runtime import PlaneContainers


async def sweep(directory: Path, grace_s: float = 0.0) -> list[Key]:
    """End every process of the Executables that are written down in a directory, and forget them; answers which.

    Nobody may run a plane in this directory. Raises ``OSError`` when a process does not even heed SIGKILL.
    """
    left = Records(directory).all()
    if not left:
        return []
    async with LocalProcesses(directory) as processes, asyncio.TaskGroup() as group:
        for uid, key in left.items():
            group.create_task(_end(processes, key, uid, grace_s))
    return sorted(left.values())


async def _end(processes: LocalProcesses, key: Key, uid: str, grace_s: float) -> None:
    await processes.stop(key, uid, grace_s)
    await processes.remove(uid)


async def sweep_containers(runtime: PlaneContainers) -> int:
    """End and remove the containers of a plane's session, and answer how many; none where there is no runtime."""
    try:
        return await runtime.sweep()
    except RuntimeUnreachable:
        return 0

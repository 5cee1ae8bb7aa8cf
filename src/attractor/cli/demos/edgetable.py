"""The live table of ``attractor demo edge``: a line for each change, a column for each cloudlet."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from attractor.client import Client

LOOK_S = 0.05
WIDTH = 47


class StateTable:
    """Prints what each cloudlet, its cluster and its app are, whenever that changes, inside the ``async with``."""

    def __init__(self, client: Client, cloudlets: tuple[str, ...], started: float) -> None:
        self._client = client
        self._cloudlets = cloudlets
        self._started = started
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        print(" " * 10 + "".join(name.upper().ljust(WIDTH) for name in self._cloudlets), flush=True)
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _follow(self) -> None:
        known: list[str] = []
        while True:
            cells = await self._look()
            if cells != known:
                shown = "".join(cell.ljust(WIDTH) for cell in cells).rstrip()
                print(f"{time.perf_counter() - self._started:7.1f} s {shown}", flush=True)
                known = cells
            await asyncio.sleep(LOOK_S)

    async def _look(self) -> list[str]:
        from attractor.operators.edge.types import AppInst, Cloudlet, ClusterInst

        cloudlets = {one.metadata.namespace: one for one in await self._client.list(Cloudlet)}
        clusters = {one.metadata.namespace: one for one in await self._client.list(ClusterInst)}
        apps = {one.metadata.namespace: one for one in await self._client.list(AppInst)}
        return [
            " ".join(
                filter(
                    None, (_agent(cloudlets.get(name)), _cell("one", clusters.get(name)), _cell("shop", apps.get(name)))
                )
            )
            for name in self._cloudlets
        ]


def _agent(cloudlet: Any) -> str:
    if cloudlet is None or cloudlet.status is None or not cloudlet.status.version:
        return ""
    return f"v{cloudlet.status.version}:{cloudlet.status.state}"


def _cell(name: str, obj: Any) -> str:
    if obj is None or obj.status is None:
        return ""
    return f"{name}:{obj.status.state}"

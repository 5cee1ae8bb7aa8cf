"""``RowWriter``: writes rows into a cluster's database all the time, and knows which ones were acknowledged.

It is how a demonstration or a test tells whether anything was lost: a row counts once the database said OK, and it must
be there ever after. While the database is away the writer tries again.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from attractor.k8s.core_v1 import Pod, Secret, Service
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.operators.dbcluster.drivers.redis import PORT
from attractor.operators.dbcluster.drivers.redis_client import RedisConnection, RedisError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from attractor.client import Client

PAUSE_S = 0.005
_AWAY = (OSError, asyncio.IncompleteReadError, RedisError, ApiError)


class RowWriter:
    """Writes through the cluster's Service ``write``, as an application would."""

    def __init__(self, client: Client, cluster: Key) -> None:
        self._client = client
        self._cluster = cluster
        self._is_stopping = False
        self.acknowledged: list[str] = []
        """Rows that the database has confirmed."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write in the background inside the ``async with``."""
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(self._write())
            try:
                yield
            finally:
                self._is_stopping = True
                await writing

    async def stop(self) -> None:
        """Write no more."""
        self._is_stopping = True

    async def has_rows(self, count: int) -> bool:
        """Return whether so many rows are acknowledged."""
        return len(self.acknowledged) >= count

    async def lost(self) -> list[str]:
        """The acknowledged rows that are not there (any more)."""
        async with await self._connect() as database:
            return [row for row in self.acknowledged if await database.call("GET", row) != row]

    async def _write(self) -> None:
        while not self._is_stopping:
            try:
                async with await self._connect() as database:
                    while not self._is_stopping:
                        row = f"row-{len(self.acknowledged)}"
                        await database.call("SET", row, row)
                        self.acknowledged.append(row)
                        await asyncio.sleep(PAUSE_S)
            except _AWAY:
                await asyncio.sleep(PAUSE_S)

    async def _connect(self) -> RedisConnection:
        """A connection to the pod that the Service selects."""
        namespace = self._cluster.namespace
        service = await self._client.get(Service, Key(namespace, f"{self._cluster.name}-write"))
        chosen = ",".join(f"{name}={value}" for name, value in service.spec.selector.items())
        pods = await self._client.list(Pod, namespace, label_selector=chosen)
        secret = await self._client.get(Secret, Key(namespace, f"{self._cluster.name}-credentials"))
        if not pods or not pods[0].status.pod_ip:
            raise ConnectionError(f"no pod of Service {service.key} has an address yet")
        return RedisConnection(pods[0].status.pod_ip, PORT, secret.data["password"].decode())

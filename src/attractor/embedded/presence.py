"""Presence of a cluster's servers: each shows a sign of life every ten seconds, and any of them takes out the silent.

Where servers share a store, each keeps a key beside the API's objects that it changes every ``RENEW_S``. A server
whose key has not changed for ``LEASE_S``, by the clock of whoever looks, is taken out of the endpoints of the service
``kubernetes``; one that was only slow puts itself back. Renewals wake no watcher of API objects. On a store of its own
a server is the only one, and nothing is kept.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from attractor.embedded.endpoints import Place, advertise, advertised, withdraw
from attractor.store.contract import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from attractor.apiserver.server import Server

LEASES = "internal/servers/"
RENEW_S = 10.0
LEASE_S = 15.0
"""As with kube-apiserver's own leases."""


class Presence:
    """The places where one server listens, kept in the endpoints for as long as it lives."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._places: list[Place] = []
        self._turn = asyncio.Lock()
        """Held to change what is named, so that a renewal never names again what has left."""
        self._seen: dict[str, tuple[bytes, float]] = {}
        """What another server's key held, and since when it has held that."""

    async def join(self, place: Place) -> None:
        """Name a place from now on."""
        async with self._turn:
            self._places.append(place)
            if not self._server.store.is_exclusive:
                await self._say_so()
            await advertise(self._server, place)

    async def leave(self) -> None:
        """Name no place any more."""
        async with self._turn:
            while self._places:
                place = self._places.pop()
                await withdraw(self._server, place)
                if not self._server.store.is_exclusive:
                    await self._forget(place.address)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Renew while the block lasts; on a store of one's own there is nothing to renew."""
        async with asyncio.TaskGroup() as group:
            renewing = None if self._server.store.is_exclusive else group.create_task(self._run())
            try:
                yield
            finally:
                if renewing is not None:
                    renewing.cancel()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            with suppress(StoreError):  # the next time, then
                await self.renew()

    async def renew(self) -> None:
        """Say that this server lives, and take those out that have not said so for too long."""
        async with self._turn:
            if not self._places:
                return
            await self._say_so()
            named = await advertised(self._server, self._places[0])
            if named is None:  # a server with another port came later, and is named instead
                return
            own = {place.address for place in self._places}
            for place in self._places:
                if place.address not in named:
                    await advertise(self._server, place)
            for address in await self._silent(named - own):
                await withdraw(self._server, Place(address, self._places[0].port))
                await self._forget(address)

    async def _forget(self, address: str) -> None:
        self._seen.pop(address, None)
        await self._server.store.commit({}, puts={}, deletes=[LEASES + address])

    async def _say_so(self) -> None:
        value = self._server.source.uid().encode()  # different each time
        await self._server.store.commit({}, puts={LEASES + place.address: value for place in self._places})

    async def _silent(self, others: set[str]) -> list[str]:
        """Who has not changed its key for as long as a lease lasts."""
        snapshot, now = await self._server.store.snapshot(), asyncio.get_running_loop().time()
        self._seen = {address: seen for address, seen in self._seen.items() if address in others}
        silent = []
        for address in sorted(others):
            entry = snapshot.get(LEASES + address)
            value = entry.value if entry is not None else b""
            known = self._seen.get(address)
            if known is None or known[0] != value:
                self._seen[address] = (value, now)
            elif now - known[1] >= LEASE_S:
                silent.append(address)
        return silent

"""Expiry of old versions: they can be read for as long as kube-apiserver keeps them in etcd, five to ten minutes.

A list at an old version, and the continue token of one, are answered from history. A store keeps that for as long as
it has room, but clients should not come to rely on more than a cluster gives them, idle or not. Watches are another
matter: kube-apiserver serves them from its cache, and a store from its history, for as long as it goes back.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from attractor.store.contract import StoreError

if TYPE_CHECKING:
    from attractor.apiserver.server import Server

COMPACTION_S = 300.0
"""From one round to the next."""
MARK = "internal/compaction/mark"
"""Written where nothing else was since the last round, so that what is read from then on has a version of its own."""


async def expire_versions(server: Server) -> None:
    """In each round, let go of the versions that were there already in the round before; never returns."""
    store = server.store
    seen = store.revision
    while True:
        await asyncio.sleep(COMPACTION_S)
        with suppress(StoreError):  # the next round does it
            if store.revision == seen:
                await store.commit({}, puts={MARK: str(seen).encode()})
            server.oldest, seen = seen + 1, store.revision

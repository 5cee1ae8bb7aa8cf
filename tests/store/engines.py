"""The three engines, opened and opened again the same way."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from attractor.store.etcd import EtcdOptions, EtcdStore
from attractor.store.etcd.layout import PLACES
from attractor.store.memory import MemoryStore
from attractor.store.mvcc import HISTORY_LIMIT
from attractor.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from tests.store.etcdserver import EtcdServer

ENGINES = ("memory", "sqlite", "etcd")
AnyStore = MemoryStore | SqliteStore | EtcdStore

_prefixes = itertools.count()


def step(store: AnyStore) -> int:
    """How far apart the revisions of two transactions are, one made after the other."""
    return PLACES if isinstance(store, EtcdStore) else 1


class Engine:
    """One place for a store: a file, or a prefix of an etcd."""

    def __init__(self, name: str, directory: Path, etcd: EtcdServer) -> None:
        self.name = name
        self._path = directory / "store.db"
        self._options = EtcdOptions(endpoints=(etcd.endpoint,), prefix=f"/test{next(_prefixes)}/", timeout_s=20)
        self._opened: list[AnyStore] = []

    async def open(self, history_limit: int = HISTORY_LIMIT) -> AnyStore:
        store: AnyStore
        if self.name == "memory":
            store = MemoryStore(history_limit=history_limit)
        elif self.name == "sqlite":
            store = SqliteStore(self._path, history_limit=history_limit)
        else:
            store = await EtcdStore.open(self._options, history_limit=history_limit)
        self._opened.append(store)
        return store

    async def aclose(self) -> None:
        for store in self._opened:
            await store.aclose()

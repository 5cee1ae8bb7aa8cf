"""Revisioned key-value stores: one contract, three engines.

Guarantees (each is a test of the conformance suite): writes are atomic and durable once acknowledged; revisions
grow with each transaction; reads are of a snapshot; a watcher sees every change after its revision exactly once and
in order, can resume from any retained revision, and is told ``Compacted`` when it cannot.

Read ``contract`` first (reader, writer and watch; speculative commit is an optional capability), then ``mvcc`` (the
sans-I/O core of every engine) and ``sorted_map`` (what it stands on), then ``local`` (what the engines share),
then ``memory``, ``sqlite`` and ``etcd``. ``open_store`` makes any of them from an address. The store knows
nothing of Kubernetes: keys are text, values are bytes.
"""

from attractor.store.contract import (
    Batch,
    Compacted,
    Entry,
    Event,
    FutureRevision,
    Reader,
    Snapshot,
    SpeculativeWriter,
    Stale,
    Store,
    StoreError,
    StoreFull,
    StoreUnavailable,
    StoreUnusable,
    TooLarge,
    Watch,
    Watchable,
    Writer,
)
from attractor.store.factory import open_store
from attractor.store.memory import MemoryStore

__all__ = [
    "Batch",
    "Compacted",
    "Entry",
    "Event",
    "FutureRevision",
    "MemoryStore",
    "Reader",
    "Snapshot",
    "SpeculativeWriter",
    "Stale",
    "Store",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "StoreUnusable",
    "TooLarge",
    "Watch",
    "Watchable",
    "Writer",
    "open_store",
]

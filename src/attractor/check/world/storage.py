"""The store of a world: objects in slots, versions by content, uids by incarnation.

``WorldSnapshot`` keeps the store's contract (``store.contract.Snapshot``) over the view of the running step, so that
the production verbs read exactly the slots that they need. A commit writes slots and tells the watchers.

- A stored object's revision is the number of its content among all contents ever stored under its key: equal content,
  equal version. So states repeat when they are the same.
- Its uid tells the key and the incarnation: how often the name was taken, counted up to ``INCARNATIONS`` and round.
- ``managedFields`` are dropped unless somebody applies; ``generation`` is counted up to ``GENERATIONS`` and round.

Kinds that never change in a world (namespaces, definitions, whatever the server looks up on its own) are *fixed*: they
take no slots. The first write to one of them raises ``Grown``: the world is then composed anew with that kind in slots.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from attractor.check.errors import Grown
from attractor.store.contract import Entry, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.apiserver.transaction import Transaction
    from attractor.check.world.stage import Cell, Stage
    from attractor.objects.jsontypes import JsonObject

INCARNATIONS = 4
GENERATIONS = 8
FRESH_UID = "00000000-0000-4000-8000-000000000000"
"""The uid that the server gives a new object before the store knows its name."""
NAMES = 16
"""How many generated names there are before they come again."""


class Stored(NamedTuple):
    """What a key holds: the object, None if there is none, and the number of the incarnation that it last had."""

    incarnation: int = 0
    value: bytes | None = None

    def __plain__(self) -> Any:
        """The object as JSON."""
        return None if self.value is None else orjson.loads(self.value)


def root_of(key: str) -> str:
    """The part of a store key that names the resource: ``core/configmaps/``."""
    group, resource, _ = key.split("/", 2)
    return f"{group}/{resource}/"


def uid_of(key: str, incarnation: int) -> str:
    """The uid of an incarnation of a key, in the shape of a UUID."""
    return f"{zlib.crc32(key.encode()):08x}-0000-4000-8000-{incarnation:012d}"


class Storage:
    """Objects by key. ``fixed`` holds what never changes; everything else is in slots."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.fixed: dict[str, Entry] = {}
        """Entries of fixed kinds."""
        self._moving: frozenset[str] | None = None
        """The roots of the kinds that live in slots; None while the fixed ones are being written."""
        self.on_event: list[Callable[[Event], None]] = []
        self.keeps_managers = False
        self._versions: dict[str, dict[bytes, int]] = {}

    def begin(self, moving: frozenset[str]) -> None:
        """From here on the kinds of these roots live in slots, and all others stay as they are."""
        self._moving = moving

    def is_fixed(self, root: str) -> bool:
        """Whether a kind never changes."""
        return self._moving is None or root not in self._moving

    def object(self, key: str) -> Cell:
        """The slot of an object."""
        return self._stage.slot("object", key, Stored())

    def names(self, root: str) -> Cell:
        """The slot with the keys of a kind's objects."""
        return self._stage.slot("names", root, frozenset())

    def version(self, key: str, value: bytes) -> int:
        """The number of a content; equal contents have equal numbers."""
        known = self._versions.setdefault(key, {})
        return known.setdefault(value, len(known) + 1)

    def entry(self, key: str) -> Entry | None:
        """What a key holds now."""
        if self.is_fixed(root_of(key)):
            return self.fixed.get(key)
        stored: Stored = self.object(key).get()
        if stored.value is None:
            return None
        return Entry(key, stored.value, self.version(key, stored.value), 1)

    def keys(self, prefix: str) -> list[str]:
        """The keys under a prefix, in order."""
        inside = [root for root in self._moving or () if root.startswith(prefix) or prefix.startswith(root)]
        found = [key for key in self.fixed if key.startswith(prefix)]
        for root in inside:
            found += [key for key in self.names(root).get() if key.startswith(prefix)]
        return sorted(found)

    def commit(self, txn: Transaction) -> dict[str, bytes]:
        """Store what a transaction wrote and tell the watchers; answers what the keys hold now."""
        written = {key: self._put(key, value) for key, value in sorted(txn.puts.items())}
        for key in sorted(txn.deletes):
            self._delete(key)
        return written

    def _put(self, key: str, value: bytes) -> bytes:
        root = root_of(key)
        if self.is_fixed(root):
            self._put_fixed(key, value)
            return value
        cell = self.object(key)
        before: Stored = cell.get()
        incarnation = before.incarnation
        if before.value is None:
            incarnation = incarnation % INCARNATIONS + 1
            if incarnation <= before.incarnation:
                self._stage.bounds[f"uids: a name is told apart from its last {INCARNATIONS} incarnations only"] = None
            self.names(root).set(self.names(root).get() | {key})
        value = self.canonical(value, uid_of(key, incarnation))
        if value == before.value:
            return value
        cell.set(Stored(incarnation, value))
        self._tell(Event(self.version(key, value), key, value, self._previous(key, before)))
        return value

    def _put_fixed(self, key: str, value: bytes) -> None:
        if self._moving is not None:
            raise Grown("kinds", root_of(key))
        uid = FRESH_UID.encode()
        self.fixed[key] = Entry(key, value.replace(uid, uid_of(key, 1).encode()), 1, len(self.fixed) + 1)

    def _delete(self, key: str) -> None:
        root = root_of(key)
        if self.is_fixed(root):
            raise Grown("kinds", root)
        cell = self.object(key)
        before: Stored = cell.get()
        if before.value is None:
            return
        self.names(root).set(self.names(root).get() - {key})
        cell.set(Stored(before.incarnation))
        self._tell(Event(self.version(key, before.value), key, None, self._previous(key, before)))

    def _previous(self, key: str, before: Stored) -> Entry | None:
        return None if before.value is None else Entry(key, before.value, self.version(key, before.value), 1)

    def _tell(self, event: Event) -> None:
        for told in self.on_event:
            told(event)

    def answered(self, key: str, value: bytes) -> bytes:
        """An object as a response shows it after a write to its key."""
        if self.is_fixed(root_of(key)):
            return value.replace(FRESH_UID.encode(), uid_of(key, 1).encode())
        stored: Stored = self.object(key).get()
        return self.canonical(value, uid_of(key, stored.incarnation))

    def canonical(self, value: bytes, uid: str) -> bytes:
        """An object as it is kept; the same for what is stored and for what is answered."""
        if FRESH_UID.encode() in value:
            value = value.replace(FRESH_UID.encode(), uid.encode())
        obj: JsonObject = orjson.loads(value)
        metadata = obj["metadata"]
        if not self.keeps_managers:
            metadata.pop("managedFields", None)
        if metadata.get("generation", 0) > GENERATIONS:
            metadata["generation"] = 1
            self._stage.bounds[f"generations: counted up to {GENERATIONS}, then from 1 again"] = None
        return orjson.dumps(obj)


class WorldSnapshot:
    """The store as the running step sees it; the contract is ``store.contract.Snapshot``."""

    revision = 1

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def get(self, key: str) -> Entry | None:
        """The entry of a key."""
        return self._storage.entry(key)

    def range(self, prefix: str, *, after: str = "", limit: int = 0) -> Sequence[Entry]:
        """Entries under a prefix, in key order."""
        keys = [key for key in self._storage.keys(prefix) if key > after]
        found = [self._storage.entry(key) for key in (keys[:limit] if limit else keys)]
        return [entry for entry in found if entry is not None]

    def count(self, prefix: str, *, after: str = "") -> int:
        """How many entries there are under a prefix."""
        return sum(1 for key in self._storage.keys(prefix) if key > after)

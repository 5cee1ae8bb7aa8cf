"""Index of dependents by the uid of their owner, and which objects the garbage collector has yet to look at.

Sans-I/O: told of changes, or made of a whole snapshot. It holds nothing of objects that neither have owners nor are
being deleted, so keeping it costs little, and planning costs what there is to collect instead of what there is.

Worked example: ``take`` hears that ``core/pods/a/p`` was put with an owner of uid 7. Then ``dependents("7")`` is that
key, and the key is due. When the owner's deletion is heard, every dependent of uid 7 is due. ``rest`` is told what was
looked at and needs nothing, with the revision that was looked at: what changed after it stays due.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.store.contract import Event, Snapshot

OWNED, DELETED = b'"ownerReferences"', b'"deletionTimestamp"'


class OwnerReference(msgspec.Struct, rename="camel", omit_defaults=True):
    """An owner reference, whole: who takes one of several away writes the others again."""

    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Metadata(msgspec.Struct, rename="camel"):
    """The metadata of an object that the planner reads."""

    name: str
    uid: str
    namespace: str = ""
    deletion_timestamp: str | None = None
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []


class _Object(msgspec.Struct):
    metadata: Metadata


_decode = msgspec.json.Decoder(_Object).decode


def metadata_of(value: bytes) -> Metadata:
    """The metadata of a stored object."""
    return _decode(value).metadata


class OwnerIndex:
    """Dependents by the uids of their owners, and what is due to be looked at."""

    def __init__(self) -> None:
        self._owners: dict[str, tuple[str, ...]] = {}
        """The uids that each key names as owners; only keys that name some."""
        self._dependents: dict[str, dict[str, None]] = {}
        """The other way round, in the order in which they were heard of; no inner dict is empty."""
        self._keys: dict[str, str] = {}
        """Where an owner is that is being deleted: its dependents' ends concern it."""
        self.due: dict[str, int] = {}
        """Keys to look at, with the revision of what made them due."""

    @classmethod
    def of(cls, snapshot: Snapshot, kinds: Iterable[Kind]) -> OwnerIndex:
        """The index of a whole snapshot, with everything due."""
        index = cls()
        for kind in kinds:
            for entry in snapshot.range(kind.prefix()):
                if OWNED in entry.value or DELETED in entry.value:
                    index._put(entry.key, metadata_of(entry.value), snapshot.revision)
        return index

    def dependents(self, uid: str) -> Sequence[str]:
        """The keys of objects that name an owner of that uid."""
        return tuple(self._dependents.get(uid, ()))

    def take(self, events: Iterable[Event]) -> None:
        """Hear of changes, in order."""
        for event in events:
            value, previous = event.value, event.previous
            stored = value if value is not None else previous.value if previous is not None else b""
            if not stored.startswith(b"{"):
                continue  # not an object: servers of one store keep records of themselves beside them
            before = metadata_of(previous.value) if previous is not None and event.key in self._owners else None
            if value is None:
                gone = before or (metadata_of(previous.value) if previous is not None else None)
                if gone is not None:
                    self._remove(event.key, gone, event.revision)
            elif before is not None or OWNED in value or DELETED in value:
                self._put(event.key, metadata_of(value), event.revision)

    def _put(self, key: str, metadata: Metadata, revision: int) -> None:
        before = self._owners.get(key, ())
        now = tuple(owner.uid for owner in metadata.owner_references)
        if before != now:
            self._unlink(key, before)
            self._link(key, now)
        self.due[key] = revision
        if metadata.deletion_timestamp:
            self._keys[metadata.uid] = key
            self._are_due(self.dependents(metadata.uid), revision)
        self._are_due((self._keys[uid] for uid in {*before, *now} if uid in self._keys), revision)

    def _remove(self, key: str, metadata: Metadata, revision: int) -> None:
        owners = self._owners.get(key, ())
        self._unlink(key, owners)
        self.due.pop(key, None)
        self._keys.pop(metadata.uid, None)
        self._are_due(self.dependents(metadata.uid), revision)
        self._are_due((self._keys[uid] for uid in owners if uid in self._keys), revision)

    def _link(self, key: str, owners: Sequence[str]) -> None:
        if owners:
            self._owners[key] = tuple(owners)
        for uid in owners:
            self._dependents.setdefault(uid, {})[key] = None

    def _unlink(self, key: str, owners: Sequence[str]) -> None:
        self._owners.pop(key, None)
        for uid in owners:
            keys = self._dependents.get(uid)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del self._dependents[uid]

    def _are_due(self, keys: Iterable[str], revision: int) -> None:
        for key in keys:
            self.due[key] = revision

    def rest(self, keys: Iterable[str], revision: int) -> None:
        """These need nothing, as of a revision."""
        for key in keys:
            if self.due.get(key, revision + 1) <= revision:
                del self.due[key]

    def check_invariants(self) -> None:
        """Both directions say the same."""
        linked = {(key, uid) for key, owners in self._owners.items() for uid in owners}
        assert linked == {(key, uid) for uid, keys in self._dependents.items() for key in keys}, "directions differ"
        assert all(self._owners.values()), "a key without owners is kept"
        assert all(self._dependents.values()), "an owner without dependents is kept"

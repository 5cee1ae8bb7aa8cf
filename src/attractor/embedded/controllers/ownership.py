"""Changes of ownership: those that may give the garbage collector something to do.

The collector is not asked for nothing. Most writes of objects with owners (a
controller creates a child, and keeps it up to date) leave ownership as it should be, and that can be told from the
object and its owners alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from attractor.apiserver.controllers.owner_index import OwnerReference  # noqa: TC001 - a field of a struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.store.contract import Event, Snapshot, Store

_OWNED, _DELETED = b'"ownerReferences"', b'"deletionTimestamp"'


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    namespace: str = ""
    deletion_timestamp: str | None = None
    owner_references: list[OwnerReference] = []


class _Object(msgspec.Struct):
    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_decode = msgspec.json.Decoder(_Object).decode


class OwnershipChanges:
    """Tells changes that leave ownership at rest from those that may not.

    Guarantee: where nothing was to be done before some changes and something is after them, one of them ``concern``s.
    A change is looked at in the state of the store at that time, or a later one. At rest are an object without owners
    that had none, and one whose owners, the same as before or new, are all there and none of which is to be deleted.
    ``kinds_in`` finds the kinds that have objects, by group and resource.
    """

    def __init__(self, store: Store, kinds_in: Callable[[Snapshot], Mapping[tuple[str, str], Kind]]) -> None:
        self._store = store
        self._kinds_in = kinds_in
        self._kinds: dict[tuple[str, str], Kind] = {}
        """By group and kind, where owners were found; what is no longer so is found out by looking there."""

    def concern(self, event: Event) -> bool:
        """Whether the garbage collector must look."""
        if event.value is None or _DELETED in event.value:
            return True
        is_owned, was_owned = _OWNED in event.value, event.previous is not None and _OWNED in event.previous.value
        if not is_owned and not was_owned:
            return False
        now = _decode(event.value).metadata
        if event.previous is not None and was_owned:
            before = _decode(event.previous.value).metadata
            if before.owner_references != now.owner_references:
                return True
        snapshot = self._store.snapshot_nowait()
        return not all(self._is_there(owner, now.namespace, snapshot) for owner in now.owner_references)

    def _is_there(self, owner: OwnerReference, namespace: str, snapshot: Snapshot) -> bool:
        """Whether an owner exists, and is not to be deleted; False where that would take a longer look."""
        named = (owner.api_version.rpartition("/")[0], owner.kind)
        if named not in self._kinds:
            known = {(kind.gvk.group, kind.gvk.kind): kind for kind in self._kinds_in(snapshot).values()}
            if named not in known:
                return False
            self._kinds[named] = known[named]
        kind = self._kinds[named]
        entry = snapshot.get(kind.key(namespace, owner.name))
        if entry is None:
            del self._kinds[named]
            return False
        found = _decode(entry.value)
        return (
            found.metadata.uid == owner.uid and found.kind == owner.kind and found.metadata.deletion_timestamp is None
        )

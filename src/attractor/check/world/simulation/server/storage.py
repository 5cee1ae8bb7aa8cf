"""The store of a world: objects in slots, versions by content, uids by incarnation.

``WorldSnapshot`` keeps the store's contract (``store.contract.Snapshot``) over the view of the running step, so that
the production verbs read exactly the slots that they need. A commit writes slots and tells the watchers.

- A stored object's revision is the number of its content among all contents ever stored under its key: equal content,
  equal version. So states repeat when they are the same.
- Its uid tells the key and the incarnation: how often the name was taken, counted up to ``incarnations`` and round.
- ``managedFields`` are dropped unless somebody applies; ``generation`` is counted up to ``generations`` and round.

Kinds that never change in a world (namespaces, definitions, whatever the server looks up on its own) are *fixed*: they
take no slots. The first write to one of them raises ``Grown``: the world is then composed anew with that kind in slots.
"""

from __future__ import annotations

import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from attractor.check.errors import Grown
from attractor.check.world.simulation.slots import With, Without
from attractor.store.contract import Entry, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from attractor.check.world.simulation.slots import Cell, Stage
    from attractor.objects.json_types import JsonObject

LAG = "a lag of {} undelivered events of a kind"
"""How a verdict names the bound on what a cache, or a server that lags behind, has not seen."""
FRESH_UID = "00000000-0000-4000-8000-000000000000"
"""The uid that the server gives a new object before the store knows its name."""


class Stored(NamedTuple):
    """The value of a store key: the object or None, and the number of its last incarnation."""

    incarnation: int = 0
    value: bytes | None = None

    def __plain__(self) -> Any:
        """The object as JSON."""
        if self.value is None:
            return None
        try:
            return orjson.loads(self.value)
        except orjson.JSONDecodeError:  # no object, but a note of the server's own, such as whose port it is
            return self.value.decode(errors="replace")


NOTHING = Stored()
"""What a key holds that was never written."""


class Logged(NamedTuple):
    """One change of one key."""

    key: str
    before: Stored
    after: Stored


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
        self.incarnations, self.generations = stage.bounds.incarnations, stage.bounds.generations
        self.history = 0
        """How many changes of each kind are kept, for servers that answer from an older state."""
        self._older: dict[str, Stored] = {}
        """While an older state is shown: the keys that were different then."""
        self._versions: dict[str, dict[bytes, int]] = {}
        self._canonical: dict[tuple[bytes, str], bytes] = {}

    def begin(self, moving: frozenset[str]) -> None:
        """From here on the kinds of these roots live in slots, and all others stay as they are."""
        self._moving = moving
        for key in [key for key in self.fixed if root_of(key) in moving]:
            self.names(root_of(key)).update(With(key))
            self.object(key).set(Stored(1, self.canonical(self.fixed.pop(key).value, uid_of(key, 1))))

    @property
    def is_beginning(self) -> bool:
        """Whether the fixed kinds are still being written."""
        return self._moving is None

    def is_fixed(self, root: str) -> bool:
        """Whether a kind never changes."""
        return self._moving is None or root not in self._moving

    def object(self, key: str) -> Cell:
        """The slot of an object."""
        return self._stage.slot("object", key, NOTHING)

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
        stored: Stored = self._older[key] if key in self._older else self.object(key).get()
        if stored.value is None:
            return None
        return Entry(key, stored.value, self.version(key, stored.value), 1)

    def keys(self, prefix: str) -> list[str]:
        """The keys under a prefix, in order."""
        inside = [root for root in self._moving or () if root.startswith(prefix) or prefix.startswith(root)]
        found = [key for key in self.fixed if key.startswith(prefix)]
        for root in inside:
            found += [key for key in self._names(root) if key.startswith(prefix)]
        return sorted(found)

    def _names(self, root: str) -> Iterable[str]:
        names: frozenset[str] = self.names(root).get()
        if not self._older:
            return names
        gone = {key for key, stored in self._older.items() if stored.value is None}
        return (names - gone) | {key for key in self._older if key.startswith(root) and key not in gone}

    # Older states.

    def log(self, root: str) -> Cell:
        """The slot with the last changes of a kind, the newest last."""
        return self._stage.slot("log", root, ())

    @contextmanager
    def older(self, root: str, by: int) -> Iterator[None]:
        """Show a kind as it was before its last ``by`` changes."""
        log: tuple[Logged, ...] = self.log(root).get()
        for logged in reversed(log[len(log) - by :]):
            self._older[logged.key] = logged.before
        try:
            yield
        finally:
            self._older = {}

    def events_since(self, root: str, by: int) -> list[Event]:
        """The last ``by`` changes of a kind."""
        log: tuple[Logged, ...] = self.log(root).get()
        return [self._event(each) for each in log[len(log) - by :]]

    def _event(self, logged: Logged) -> Event:
        before, after, key = logged.before, logged.after, logged.key
        value = after.value if after.value is not None else before.value
        assert value is not None
        return Event(self.version(key, value), key, after.value, self._previous(key, before))

    def commit(self, puts: Mapping[str, bytes], deletes: Iterable[str]) -> dict[str, bytes]:
        """Store what a transaction wrote and tell the watchers; answers what the keys hold now."""
        written = {key: self._put(key, value) for key, value in sorted(puts.items())}
        for key in sorted(deletes):
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
            incarnation = incarnation % self.incarnations + 1
            if incarnation <= before.incarnation:
                text = f"{self.incarnations} incarnations of a name, told apart by uid"
                self._stage.bind("incarnations", text)
            self.names(root).update(With(key))
        value = self.canonical(value, uid_of(key, incarnation))
        if value == before.value:
            return value
        self._change(cell, Logged(key, before, Stored(incarnation, value)))
        return value

    def _change(self, cell: Cell, logged: Logged) -> None:
        cell.set(logged.after)
        if self.history:
            log = self.log(root_of(logged.key))
            changes = (*log.get(), logged)
            if len(changes) > self.history:
                self._stage.bind("lag", LAG.format(self.history))
            log.set(changes[-self.history :])
        event = self._event(logged)
        for told in self.on_event:
            told(event)

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
        self.names(root).update(Without(key))
        self._change(cell, Logged(key, before, Stored(before.incarnation)))

    def _previous(self, key: str, before: Stored) -> Entry | None:
        return None if before.value is None else Entry(key, before.value, self.version(key, before.value), 1)

    def answered(self, key: str, value: bytes) -> bytes:
        """An object as a response shows it after a write to its key."""
        if self.is_fixed(root_of(key)):
            return value.replace(FRESH_UID.encode(), uid_of(key, 1).encode())
        stored: Stored = self.object(key).get()
        return self.canonical(value, uid_of(key, stored.incarnation))

    def canonical(self, value: bytes, uid: str) -> bytes:
        """An object as it is kept; the same for what is stored and for what is answered."""
        known = self._canonical.get((value, uid))
        if known is None:
            known = self._canonical[value, uid] = self._made_canonical(value, uid)
        return known

    def _made_canonical(self, value: bytes, uid: str) -> bytes:
        if FRESH_UID.encode() in value:
            value = value.replace(FRESH_UID.encode(), uid.encode())
        if not value.startswith(b"{"):
            return value  # no object: a claim, such as that of a node port
        obj: JsonObject = orjson.loads(value)
        metadata = obj["metadata"]
        if not self.keeps_managers:
            metadata.pop("managedFields", None)
        if metadata.get("generation", 0) > self.generations:
            metadata["generation"] = 1
            self._stage.bind("generations", f"{self.generations} generations of an object")
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

    def has_any(self, prefix: str) -> bool:
        """Whether there is any key under a prefix."""
        return bool(self.range(prefix, limit=1))

    def count(self, prefix: str, *, after: str = "") -> int:
        """How many entries there are under a prefix."""
        return sum(1 for key in self._storage.keys(prefix) if key > after)

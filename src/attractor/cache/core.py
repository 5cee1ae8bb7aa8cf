"""One kind's view of the cluster, without clock or event loop: what the watch told, and what this process wrote.

Guarantee (own writes): once a write is acknowledged, no read answers with an older state of that object. Until the
watch has caught up, the written object itself is served. A write whose outcome is not known makes the object
``UNSURE``: the reader must ask the server.

Worked example. The watch told ``a`` at version 5. We update it, acknowledged at 9: reads answer version 9. The watch
tells ``a`` at 7 (somebody else's earlier write): handlers hear of 7, reads still answer 9. The watch tells ``b`` at
12: it has passed 9, so the floor under ``a`` is dropped, and reads answer what the watch told, which is 9 by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, assert_never

from attractor.cache.index import Indexer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from attractor.cache.index import IndexFunction
    from attractor.client.events import EventType
    from attractor.client.kinds import EncodedObject
    from attractor.objects.gvk import Key

UNSURE: Final = "unsure"
"""What a read answers when only the server knows."""


@dataclass(frozen=True, slots=True)
class Added:
    """An object came into view; ``is_initial`` when it was there before we looked."""

    object: EncodedObject
    is_initial: bool = False


@dataclass(frozen=True, slots=True)
class Updated:
    """An object changed, or another one took its name (``uid`` differs)."""

    old: EncodedObject
    new: EncodedObject


@dataclass(frozen=True, slots=True)
class Deleted:
    """An object is gone; ``object`` is its last known state, which may not be its last."""

    object: EncodedObject


Change: TypeAlias = Added | Updated | Deleted


class Wrote(NamedTuple):
    """This process wrote the object; None when it then no longer is in this view's scope."""

    object: EncodedObject | None
    version: str
    order: int
    """When the write was acknowledged, counted in this view's own steps."""


class Removed(NamedTuple):
    """This process deleted the object of that uid; ``before`` is the uid that the watch had told of by then."""

    uid: str
    before: str
    order: int


class Unsure(NamedTuple):
    """A write of this process may or may not have happened."""

    order: int


Floor: TypeAlias = Wrote | Removed | Unsure


class ViewState(NamedTuple):
    """All that a view knows, as a value that can be kept, compared and hashed."""

    objects: frozenset[EncodedObject]
    floors: frozenset[tuple[Key, Floor]]
    version: str
    is_synced: bool


def version_reached(have: str, want: str) -> bool:
    """Whether a version is as new as another: numbers by size, anything else only when equal.

    Kubernetes promises since 1.35 what has always been so: versions of one resource are numbers that grow.
    """
    if have.isdigit() and want.isdigit():
        return int(have) >= int(want)
    return have == want


class ViewCore:
    """The view. ``decode`` is for index functions; ``reached`` compares versions."""

    def __init__(
        self,
        decode: Callable[[EncodedObject], Any],
        *,
        indexes: Mapping[str, IndexFunction] | None = None,
        reached: Callable[[str, str], bool] = version_reached,
    ) -> None:
        self.seen = Indexer(decode, indexes or {})
        """What the watch told; handlers have heard of exactly this."""
        self._reached = reached
        self._floors: dict[Key, Floor] = {}
        """Own writes that the watch has not caught up with."""
        self._deleting: dict[Key, tuple[int, frozenset[str]]] = {}
        """How many deletes are under way, and the uids whose end was told meanwhile."""
        self._staged: dict[Key, EncodedObject] | None = None
        """The initial state while it is coming in pieces."""
        self._order = 0
        self.version = ""
        """How far the watch has told."""
        self.is_synced = False
        """Whether the whole collection was seen at least once."""

    def check_invariants(self) -> None:
        """What holds between any two calls."""
        self.seen.check_invariants()
        for key, floor in self._floors.items():
            if isinstance(floor, Wrote):
                assert not self._is_told(floor), f"{key} is kept as an own write although the watch has told it"
                assert floor.object is None or floor.object.key == key, f"{key} is filed under another key"
            assert floor.order <= self._order, f"{key} was written in the future"

    # What the server tells.

    def begin(self) -> int:
        """A list or watch with initial state is about to be asked for; ``replace`` wants this number."""
        self._staged = None
        return self._order

    def stage(self, obj: EncodedObject) -> None:
        """A piece of the initial state; it counts from ``replace`` on."""
        if self._staged is None:
            self._staged = {}
        self._staged[obj.key] = obj

    def unstage(self, key: Key) -> None:
        """An object went while the initial state was coming."""
        if self._staged is not None:
            self._staged.pop(key, None)

    def replace(self, version: str, begun: int, objects: Iterable[EncodedObject] = ()) -> list[Change]:
        """The whole collection as it is: what was staged, and the objects given; what is missing is gone."""
        now = {**(self._staged or {}), **{obj.key: obj for obj in objects}}
        self._staged = None
        changes: list[Change] = []
        for key in [key for key in self.seen if key not in now]:
            old = self.seen.get(key)
            assert old is not None
            self.seen.discard(key)
            changes.append(Deleted(old))
        for obj in now.values():
            old = self.seen.get(obj.key)
            if old is not None and old.resource_version == obj.resource_version and old.uid == obj.uid:
                continue
            self.seen.put(obj)
            changes.append(Added(obj, is_initial=not self.is_synced) if old is None else Updated(old, obj))
        self.version = version
        self.is_synced = True
        # A list that was asked for after a write was acknowledged shows it, whatever the versions say.
        self._settle(lambda key, floor: floor.order <= begun or self._is_shown_by_list(key, floor))
        return changes

    def _is_shown_by_list(self, key: Key, floor: Floor) -> bool:
        if isinstance(floor, Removed):
            listed = self.seen.get(key)
            return listed is None or listed.uid != floor.uid
        return isinstance(floor, Wrote) and self._reached(self.version, floor.version)

    def observe(self, event_type: EventType, obj: EncodedObject) -> Change | None:
        """One event of the watch; None when it says nothing new."""
        change = self._changed(event_type, obj)
        if event_type == "DELETED" and obj.key in self._deleting:
            count, ended = self._deleting[obj.key]
            self._deleting[obj.key] = (count, ended | {obj.uid})
        self.advance(obj.resource_version)
        floor = self._floors.get(obj.key)
        is_end = event_type == "DELETED" and isinstance(floor, Removed) and floor.uid == obj.uid
        if is_end or (isinstance(floor, Wrote) and floor.version == obj.resource_version):
            del self._floors[obj.key]
        return change

    def _changed(self, event_type: EventType, obj: EncodedObject) -> Change | None:
        old = self.seen.get(obj.key)
        if old is not None and old.resource_version != obj.resource_version:
            if self._reached(old.resource_version, obj.resource_version):
                return None
        elif old is not None and event_type != "DELETED":
            return None
        if event_type == "DELETED":
            if old is None:
                return None
            self.seen.discard(obj.key)
            return Deleted(obj)
        self.seen.put(obj)
        return Added(obj) if old is None else Updated(old, obj)

    def advance(self, version: str) -> None:
        """Everything up to a version has been told."""
        if version and version != self.version:
            self.version = version
            if self._floors:
                self._settle(lambda _, floor: self._is_told(floor))

    def _is_told(self, floor: Floor) -> bool:
        """Whether the watch has passed a write; one version may have several objects, so equal is not enough."""
        if not isinstance(floor, Wrote) or not self.version:
            return False
        return floor.version != self.version and self._reached(self.version, floor.version)

    def _settle(self, is_settled: Callable[[Key, Floor], bool]) -> None:
        for key in [key for key, floor in self._floors.items() if is_settled(key, floor)]:
            del self._floors[key]

    # What this process does.

    def wrote(self, obj: EncodedObject, *, in_scope: bool = True) -> None:
        """A write was acknowledged; the answer is the object as stored, and may have left this view's scope with it."""
        self._order += 1
        seen, floor = self.seen.get(obj.key), self._floors.get(obj.key)
        is_seen = (
            seen is not None and seen.uid == obj.uid and self._reached(seen.resource_version, obj.resource_version)
        )
        is_older = isinstance(floor, Wrote) and self._reached(floor.version, obj.resource_version)
        if is_older:
            return
        made = Wrote(obj if in_scope else None, obj.resource_version, self._order)
        if is_seen or self._is_told(made):
            self._floors.pop(obj.key, None)
        else:
            self._floors[obj.key] = made

    def deleting(self, key: Key) -> None:
        """A delete is about to be sent; ``delete_ended`` follows in any case."""
        count, ended = self._deleting.get(key, (0, frozenset()))
        self._deleting[key] = (count + 1, ended)

    def delete_ended(self, key: Key) -> None:
        """The delete was answered or failed; what came of it was told before."""
        count, ended = self._deleting.pop(key)
        if count > 1:
            self._deleting[key] = (count - 1, ended)

    def deleted(self, key: Key, uid: str) -> None:
        """A delete was acknowledged and the object is gone; an empty uid where the answer did not say which one."""
        _, ended = self._deleting.get(key, (0, frozenset()))
        if not uid:
            self.unsure(key)
        elif uid in ended:
            self._floors.pop(key, None)
        else:
            self._remove(key, uid)

    def _remove(self, key: Key, uid: str) -> None:
        self._order += 1
        seen = self.seen.get(key)
        self._floors[key] = Removed(uid, seen.uid if seen is not None else "", self._order)

    def unsure(self, key: Key) -> None:
        """A write may have happened, or was refused because our view is old: the server must be asked."""
        self._order += 1
        self._floors[key] = Unsure(self._order)

    def resolve(self, key: Key, found: EncodedObject | None) -> None:
        """The server was asked about an object that we were unsure of; this is what it has now."""
        if not isinstance(self._floors.get(key), Unsure):
            return
        del self._floors[key]
        seen = self.seen.get(key)
        if found is not None:
            self.wrote(found)
        elif seen is not None:
            self._remove(key, seen.uid)

    # What readers get.

    def get(self, key: Key) -> EncodedObject | Literal["unsure"] | None:
        """The object, None when there is none, ``UNSURE`` when the server must be asked."""
        floor = self._floors.get(key)
        if floor is None:
            return self.seen.get(key)
        return self._under(floor, self.seen.get(key))

    def _under(self, floor: Floor, seen: EncodedObject | None) -> EncodedObject | Literal["unsure"] | None:
        match floor:
            case Wrote(obj):
                return obj
            case Removed(uid, before):
                return seen if seen is not None and seen.uid not in {uid, before} else None
            case Unsure():
                return UNSURE
            case _:
                assert_never(floor)

    def unsure_keys(self, namespace: str = "") -> list[Key]:
        """The objects that the server must be asked about before a list is right."""
        found = (key for key, floor in self._floors.items() if isinstance(floor, Unsure))
        return sorted(key for key in found if not namespace or key.namespace == namespace)

    def select(self, namespace: str = "", index: tuple[str, str] | None = None) -> Iterator[EncodedObject]:
        """Objects in the order of their keys; those we are unsure of are left out (ask ``unsure_keys`` first)."""
        keys = set(self.seen if index is None else self.seen.keys(*index)) | set(self._floors)
        if namespace:
            keys = {key for key in keys if key.namespace == namespace}
        for key in sorted(keys):
            obj = self.get(key)
            if obj is None or isinstance(obj, str):
                continue
            if index is not None and key in self._floors and index[1] not in self.seen.values_of(index[0], obj):
                continue
            yield obj

    @property
    def pending(self) -> Mapping[Key, Floor]:
        """Own writes that the watch has not caught up with."""
        return self._floors

    def state(self) -> ViewState:
        """The view as a value."""
        floors = frozenset(self._floors.items())
        return ViewState(frozenset(self.seen.objects().values()), floors, self.version, self.is_synced)

    def restore(self, state: ViewState) -> None:
        """Become a view in that state; nothing is under way."""
        for key in list(self.seen):
            self.seen.discard(key)
        for obj in state.objects:
            self.seen.put(obj)
        self._floors = dict(state.floors)
        self._order = max((floor.order for floor in self._floors.values()), default=0)
        self._deleting, self._staged = {}, None
        self.version, self.is_synced = state.version, state.is_synced

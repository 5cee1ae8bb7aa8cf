"""One kind's view of the cluster, without clock or event loop: what the watch told, and what this process wrote.

Guarantee (own writes): once a write is acknowledged, no read answers with an older state of that object. Until the
watch has caught up, the written object itself is served. A write whose outcome is not known makes the object
``UNSURE``: the reader must ask the server (``asking``, then ``resolve``); what was acknowledged before still counts.

Worked example. The watch told ``a`` at version 5. We update it, acknowledged at 9: reads answer version 9. The watch
tells ``a`` at 7 (somebody else's earlier write): handlers hear of 7, reads still answer 9. The watch tells ``b`` at
12: it has passed 9, so the floor under ``a`` is dropped, and reads answer what the watch told, which is 9 by then.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from attractor.cache.changes import Added, Deleted, Updated
from attractor.cache.index import Indexer
from attractor.cache.own_write_expiry import Settling
from attractor.cache.own_writes import Floor, InFlight, Question, Removed, Unsure, Wrote
from attractor.objects.compiling import mypyc_attr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping

    from attractor.cache.changes import Change
    from attractor.cache.index import IndexFunction
    from attractor.client.events import EventType
    from attractor.client.kinds import EncodedObject
    from attractor.objects.gvk import Key

UNSURE: Final = "unsure"
"""What a read answers when only the server knows."""


_FIRST = InFlight()
"""The only write of its object that is under way, and nothing was told meanwhile."""


class ViewState(NamedTuple):
    """All that a view knows, as a value that can be kept, compared and hashed."""

    objects: frozenset[EncodedObject]
    floors: frozenset[tuple[Key, Floor]]
    version: str
    is_synced: bool


def version_reached(have: str, want: str) -> bool:
    """Return whether a version is as new as another: numbers by size, anything else only when equal.

    Kubernetes promises since 1.35 what has always been so: versions of one resource are numbers that grow.
    """
    if have.isdigit() and want.isdigit():
        return int(have) >= int(want)
    return have == want


def _object(own: Any) -> EncodedObject | None:
    """Return what was written; the checker's own writes work it out only when they are asked by name."""
    found: EncodedObject | None = own.object
    return found


def _uid(own: Any) -> str:
    return str(own.uid)


def _version(own: Any) -> str:
    return str(own.version)


def _number(version: str) -> int:
    """A version as a number; 0, before all others, where it is none."""
    return int(version) if version.isdigit() else 0


@mypyc_attr(allow_interpreted_subclasses=True)
class ViewCore:
    """The view. ``decode`` is for index functions; ``reached`` compares versions.

    ``sees_all`` says that no selector hides objects from this view, so that the end of each object is told.
    ``seen`` and ``floors`` are where it keeps what it knows; the checker gives ones that are part of its state.
    """

    def __init__(
        self,
        decode: Callable[[EncodedObject], Any],
        *,
        indexes: Mapping[str, IndexFunction] | None = None,
        reached: Callable[[str, str], bool] = version_reached,
        seen: Indexer | None = None,
        floors: MutableMapping[Key, Floor] | None = None,
        sees_all: bool = True,
    ) -> None:
        self._sees_all = sees_all
        self.seen = Indexer(decode, indexes or {}) if seen is None else seen
        """What the watch told; handlers have heard of exactly this."""
        self._reached = reached
        self._floors: MutableMapping[Key, Floor] = {} if floors is None else floors
        """Own writes that the watch has not caught up with."""
        self._awaited: list[tuple[int, Key]] | None = [] if floors is None and reached is version_reached else None
        """A heap of the versions of own writes, so that the watch looks only at those that it passes. What is no longer
        a floor stays in it until it is passed. None where versions cannot be put in order."""
        self._settling = None if self._awaited is None else Settling()
        """Which floors end with a later own creation; None where versions cannot be put in order."""
        self._in_flight: dict[Key, InFlight] = {}
        """Own writes that were sent and are not answered."""
        self._staged: dict[Key, EncodedObject] | None = None
        """The initial state while it is coming in pieces."""
        self._is_listing = False
        """Whether a list was asked for, and nothing has been told since."""
        self._order = 0
        self.version = ""
        """How far the watch has told."""
        self._is_synced = False

    @property
    def is_synced(self) -> bool:
        """Return whether the whole collection was seen at least once."""
        return self.has_synced()

    def has_synced(self) -> bool:
        """The same; the checker's view keeps it elsewhere, and so it does ``_note_synced``."""
        return self._is_synced

    def _note_synced(self) -> None:
        self._is_synced = True

    def check_invariants(self) -> None:
        """Assert the invariants, which hold between any two calls."""
        self.seen.check_invariants()
        for key, floor in self._floors.items():
            if isinstance(floor, Wrote):
                assert self._is_listing or not self._is_told(floor), (
                    f"{key} is kept as an own write although the watch has told it"
                )
                obj, version = _object(floor), _version(floor)
                assert obj is None or obj.key == key, f"{key} is filed under another key"
                is_awaited = self._awaited is None or (_number(version), key) in self._awaited
                assert is_awaited or not version.isdigit(), f"{key} would be kept for ever"
            assert floor.order <= self._order, f"{key} was written in the future"

    # What the server tells.

    def begin(self) -> int:
        """A list or watch with initial state is about to be asked for; ``replace`` wants this number."""
        self._staged = None
        self._is_listing = True
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
        unseen = [
            _object(floor) for key, floor in self._floors.items() if isinstance(floor, Wrote) and key not in self.seen
        ]
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
            changes.append(Added(obj, is_initial=not self.has_synced()) if old is None else Updated(old, obj))
        self.version = version
        self._note_synced()
        self._is_listing = False
        self._in_flight = {key: flight._replace(was_listed=True) for key, flight in self._in_flight.items()}
        # A list that was asked for after a write was acknowledged shows it, whatever the versions say.
        settled = self._settle(lambda floor: floor.order <= begun or self._is_shown_by_list(floor))
        self._contest()
        if self._settling is not None:
            self._settling.begin()
        # Readers were shown own writes of which the watch never told: somebody may wait for the end of such an object.
        ends = [obj for obj in unseen if obj is not None and obj.key in settled and obj.key not in now]
        return changes + [Deleted(obj) for obj in ends]

    def _is_shown_by_list(self, floor: Floor) -> bool:
        return isinstance(floor, Wrote) and self._reached(self.version, _version(floor))

    def _contest(self) -> None:
        """A list that was asked for before a write was acknowledged does not show an object that is known to have gone.

        Either it went before the list was made, and its end is not told again. Or the list was made before it came, and
        the watch will tell of its beginning and its end. The list does not say which.
        """
        for key, floor in tuple(self._floors.items()):
            listed = self.seen.get(key)
            is_shown = listed is not None and listed.uid == floor.uid
            if not isinstance(floor, Wrote) and floor.uid and not is_shown:
                self._doubt(key, is_contested=True)

    def observe(self, event_type: EventType, obj: EncodedObject) -> Change | None:
        """One event of the watch; None when it says nothing new."""
        key = obj.key
        change = self._changed(event_type, obj)
        flight = self._in_flight.get(key)
        if event_type == "DELETED" and flight is not None:
            self._in_flight[key] = flight._replace(ended=flight.ended | {obj.uid})
        self.advance(obj.resource_version)
        floor = self._floors.get(key)
        is_end = event_type == "DELETED" and isinstance(floor, Removed) and floor.uid == obj.uid
        if is_end or (isinstance(floor, Wrote) and _version(floor) == obj.resource_version):
            del self._floors[key]
        elif isinstance(floor, Unsure) and floor.uid == obj.uid:
            self._floors[key] = floor._replace(uid="")
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
        self._is_listing = False
        if version and version != self.version:
            self.version = version
            if not self._floors:
                if self._awaited:
                    self._awaited.clear()
                if self._settling:
                    self._settling.clear()
            elif self._awaited is None:
                self._settle(self._is_told)
            else:
                self._pass(self._awaited)
                self._pass_later_writes()

    def _pass(self, awaited: list[tuple[int, Key]]) -> None:
        """Drop the own writes that the watch has passed; versions that are no numbers are never passed."""
        number = _number(self.version)
        while awaited and awaited[0][0] < number:
            key = heapq.heappop(awaited)[1]
            floor = self._floors.get(key)
            if floor is not None and self._is_told(floor):
                del self._floors[key]

    def _pass_later_writes(self) -> None:
        """Drop the deletions and doubts that came before an own creation which the watch has passed."""
        if self._settling:
            for key, order in self._settling.passed(self.version):
                floor = self._floors.get(key)
                if floor is not None and floor.order == order and not isinstance(floor, Wrote):
                    del self._floors[key]

    def _is_told(self, floor: Floor) -> bool:
        """Return whether the watch has passed a write; one version may have several objects, so equal is not enough."""
        if not isinstance(floor, Wrote) or not self.version:
            return False
        version = _version(floor)
        return version != self.version and self._reached(self.version, version)

    def _settle(self, is_settled: Callable[[Floor], bool]) -> dict[Key, Floor]:
        """Drop the floors that are no longer needed; answers them."""
        settled = {key: floor for key, floor in self._floors.items() if is_settled(floor)}
        for key in settled:
            del self._floors[key]
        return settled

    # What this process does.

    def sending(self, key: Key) -> None:
        """A write is about to be sent; ``settled`` follows in any case."""
        flight = self._in_flight.get(key)
        if flight is not None:
            self._in_flight[key] = flight._replace(sent=flight.sent + 1, overlapped=True)
        else:
            self._in_flight[key] = InFlight(since=self._order) if self._settling else _FIRST

    def settled(self, key: Key) -> None:
        """The write was answered or failed; what came of it was told before."""
        flight = self._in_flight.pop(key, None)
        if flight is not None and flight.sent > 1:
            self._in_flight[key] = flight._replace(sent=flight.sent - 1)

    def wrote(self, obj: EncodedObject, *, in_scope: bool = True, is_new: bool = False) -> None:
        """A write was acknowledged; the answer is the object as stored, and may have left this view's scope with it."""
        self._file(obj, in_scope)
        if is_new and self._settling:
            self._settling.created(obj.resource_version, self._in_flight.get(obj.key, _FIRST).since)
            if not self._is_listing:
                self._pass_later_writes()

    def _file(self, obj: EncodedObject, in_scope: bool) -> None:
        key, uid, version = obj.key, obj.uid, obj.resource_version
        floor = self._floors.get(key)
        made = Wrote(obj if in_scope else None, uid, version, self._next())
        is_last = not self._in_flight.get(key, _FIRST).overlapped
        if isinstance(floor, Wrote):
            if not is_last and self._reached(_version(floor), version):
                return
        elif isinstance(floor, Removed) and floor.uid == uid:
            return
        elif not is_last:
            self._doubt(key, "" if self._is_told(made) else uid)
            return
        self._raise(key, made)

    def _raise(self, key: Key, made: Wrote) -> None:
        """From now on serve nothing older, unless the watch has told it already."""
        # During a list nothing is told, and what was told before may be another server's, which has lost its data.
        if not self._is_listing and (self._is_told(made) or self._is_seen(key, made)):
            self._floors.pop(key, None)
        else:
            self._floors[key] = made
            self._await(key, made.version)

    def _await(self, key: Key, version: str) -> None:
        if self._awaited is not None and version.isdigit():
            heapq.heappush(self._awaited, (int(version), key))

    def _is_seen(self, key: Key, made: Wrote) -> bool:
        """Return whether the watch has told this state of this very object, or a later one."""
        seen = self.seen.get(key)
        return seen is not None and seen.uid == made.uid and self._reached(seen.resource_version, made.version)

    def deleted(self, key: Key, uid: str) -> None:
        """A delete was acknowledged and the object is gone; an empty uid where the answer did not say which one."""
        floor, flight = self._floors.get(key), self._in_flight.get(key, _FIRST)
        seen = self.seen.get(key)
        is_same = isinstance(floor, Wrote | Removed) and floor.uid == uid
        is_missed = flight.was_listed and (seen is None or seen.uid != uid)
        if uid in flight.ended:
            if is_same:
                del self._floors[key]
        elif not uid or is_missed:
            self._doubt(key, is_contested=True)
        elif flight.overlapped and not is_same:
            self._doubt(key, uid)
        else:
            self._remove(key, uid)

    def _remove(self, key: Key, uid: str) -> None:
        seen = self.seen.get(key)
        self._floors[key] = Removed(uid, seen.uid if seen is not None else "", self._next())
        if self._settling is not None:
            self._settling.note(key, self._order, self._floors)

    def unsure(self, key: Key, *, may_happen: bool = False) -> None:
        """A write was refused because our view is old, or nobody knows whether it happened or will: ask the server."""
        self._doubt(key, may_happen=may_happen)

    def _doubt(self, key: Key, uid: str = "", *, is_contested: bool = False, may_happen: bool = False) -> None:
        """Only the server knows. ``uid`` is an object that was there by an answer, and of which the watch has not told.

        It is kept: should there be nothing now, then that object has gone, and the watch will say so.
        """
        floor, seen = self._floors.get(key), self.seen.get(key)
        below = "" if floor is None else _uid(floor)
        if (isinstance(floor, Wrote) and not below) or (isinstance(floor, Unsure) and floor.is_contested):
            is_contested = True
        elif below:
            is_contested = is_contested or bool(uid and uid != below)
            uid = below
        if is_contested or (seen is not None and seen.uid == uid):
            uid = ""
        was_open = isinstance(floor, Unsure) and self._settling is not None and not self._settling.has(key, floor.order)
        self._floors[key] = Unsure(uid, is_contested, self._next())
        if self._settling is not None and not may_happen and not was_open:
            self._settling.note(key, self._order, self._floors)

    def asking(self, key: Key) -> Question:
        """The server is about to be asked about an object that we are unsure of; ``resolve`` wants the answer."""
        return Question(key, self.seen.get(key), self._floors.get(key))

    def resolve(
        self, asked: Question, found: EncodedObject | None, *, in_scope: bool = True, version: str = ""
    ) -> None:
        """Take in what the server has now: an object, or none (at a version, if the question wants one).

        It is believed unless something happened since the question that it may not account for; then the doubt stays.
        """
        key, floor = asked.key, self._floors.get(asked.key)
        if not isinstance(floor, Unsure) or floor != asked.doubt:
            return
        if found is not None:
            self._raise(key, Wrote(found if in_scope else None, found.uid, found.resource_version, self._next()))
        elif version:
            self._raise(key, Wrote(None, "", version, self._next()))
        elif floor.is_contested or self.seen.get(key) != asked.seen:
            return
        elif floor.uid or asked.seen is not None:
            self._remove(key, floor.uid or (asked.seen.uid if asked.seen is not None else ""))
        else:
            del self._floors[key]
        if key in self._in_flight:  # what is under way may have happened before or after
            self._in_flight[key] = self._in_flight[key]._replace(overlapped=True)

    def _next(self) -> int:
        self._order += 1
        return self._order

    # What readers get.

    def get(self, key: Key) -> EncodedObject | Literal["unsure"] | None:
        """The object, None when there is none, ``UNSURE`` when the server must be asked."""
        floor = self._floors.get(key)
        if floor is None:
            return self.seen.get(key)
        if isinstance(floor, Wrote):
            return _object(floor)
        if isinstance(floor, Unsure):
            return UNSURE
        if self._sees_all:
            return None  # what is seen comes before the end that was not told yet, so it is gone, too
        seen = self.seen.get(key)
        return seen if seen is not None and seen.uid not in {floor.uid, floor.before} else None

    def is_unsure(self, key: Key) -> bool:
        """Return whether the server must be asked."""
        return isinstance(self._floors.get(key), Unsure)

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
        return ViewState(frozenset(self.seen.objects().values()), floors, self.version, self.has_synced())

    def restore(self, state: ViewState) -> None:
        """Become a view in that state; nothing is under way."""
        for key in list(self.seen):
            self.seen.discard(key)
        for obj in state.objects:
            self.seen.put(obj)
        self._floors = dict(state.floors)
        if self._awaited is not None:
            self._awaited.clear()
        if self._settling is not None:
            self._settling.clear()
        for key, floor in self._floors.items():
            if isinstance(floor, Wrote):
                self._await(key, floor.version)
        self._order = max((floor.order for floor in self._floors.values()), default=0)
        self._in_flight, self._staged, self._is_listing = {}, None, False
        self.version, self._is_synced = state.version, state.is_synced

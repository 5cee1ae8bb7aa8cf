"""The cache of a controller host in a world: the production informer and view, kept in slots.

Each kind has a FIFO of events that the watch has not delivered yet. What the view knows of versions is positions in
that FIFO: what was seen is at 0, the event to be delivered next is at 1, an own write is where its event waits. They
count on as events come and are counted down as they are delivered, so the production comparison of versions is exact,
and equal situations are equal states. The objects themselves carry versions by content.

A watch is one of: not listed yet (None), watching with so many undelivered events (a number), or fallen so far behind
that it was closed and must list again (the set of keys that changed meanwhile).

A step that would make a watch lag further than the world allows waits until something was delivered. Delivery is fair,
so it can go on; only in a world that never goes quiet could such a step wait for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from attractor.cache.core import ViewCore, Wrote
from attractor.cache.index import Indexer
from attractor.cache.informer import Informer
from attractor.cache.reflector import Watching
from attractor.check.errors import Disabled
from attractor.check.model import Domain
from attractor.check.world.notes import Closed, Delivered
from attractor.client.codec import encoded
from attractor.client.events import WatchEvent
from attractor.client.kinds import EncodedObject, MetadataOnly
from attractor.objects.gvk import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.apiserver.watch import Watch
    from attractor.cache.core import Floor
    from attractor.check.world.stage import Cell, Stage
    from attractor.store.contract import Event


class Lag(NamedTuple):
    """How far a watch may fall behind, and what becomes of a step that would exceed it.

    It waits until something was delivered; or (``closes``) it happens, and the watch is closed and must list again.
    """

    events: int
    closes: bool = False


class Told(NamedTuple):
    """An event on its way."""

    type: str
    key: Key
    uid: str
    json: bytes

    def __plain__(self) -> Any:
        return {"type": self.type, "object": orjson.loads(self.json)}


class Cached(NamedTuple):
    """What a cache has of an object."""

    uid: str
    json: bytes

    def __plain__(self) -> Any:
        return orjson.loads(self.json)


class WatchSlots:
    """The slots of one kind's cache on one host."""

    def __init__(self, stage: Stage, host: str, kind: str, lag: Lag) -> None:
        name = f"{host}/{kind}"
        self.lag = lag.events
        self._closes = lag.closes
        self._stage, self._name = stage, name
        self.watch: Cell = stage.slot("watch", name)
        events = Domain("undelivered")
        self.events: list[Cell] = [
            stage.slot("undelivered", f"{name}/{place}", domain=events) for place in range(1, lag.events + 1)
        ]
        self.names: Cell = stage.slot("cached names", name, frozenset())
        self.floors: Cell = stage.slot("own writes", name, frozenset())

    def entry(self, key: Key) -> Cell:
        """The slot of a cached object."""
        return self._stage.slot("cached", f"{self._name}/{key}")

    def note(self, told: Told) -> None:
        """Say that an event is delivered."""
        self._stage.note(Delivered(self._name, told))

    def tell(self, told: Told) -> None:
        """An event happened; the watch has it to deliver, unless nobody watches or it is too far behind."""
        state = self.watch.get()
        if state is None:
            return
        if isinstance(state, frozenset):
            self.watch.set(state | {told.key})
        elif state == self.lag and not self._closes:
            raise Disabled
        elif state == self.lag:
            self.watch.set(frozenset({told.key, *(cell.get().key for cell in self.events)}))
            self._clear_events()
            self._stage.note(Closed(self._name))
        else:
            self.events[state].set(told)
            self.watch.set(state + 1)

    def take(self) -> Told | None:
        """The event that comes next, taken off the FIFO."""
        state = self.watch.get()
        if not state or isinstance(state, frozenset):
            return None
        told: Told = self.events[0].get()
        for place in range(state - 1):
            self.events[place].copy(self.events[place + 1])
        self.events[state - 1].set(None)
        self.watch.set(state - 1)
        return told

    def position(self, key: Key) -> int:
        """Where the last undelivered event of an object waits; 0 when the view has seen its newest state."""
        state = self.watch.get()
        if state is None or isinstance(state, frozenset):
            return int(state is None or key in state)
        for place in range(state, 0, -1):
            if self.events[place - 1].get().key == key:
                return place
        return 0

    def count_down(self) -> None:
        """One event was delivered: everybody waits one place less."""
        floors = self.floors.get()
        if floors:
            self.floors.set(frozenset((key, _nearer(floor)) for key, floor in floors))

    def outdate(self, key: Key) -> None:
        """An object is written again: without a watch there are no places, so what was written before goes to 0."""
        floors = self.floors.get()
        if isinstance(self.watch.get(), frozenset) and any(known == key for known, _ in floors):
            self.floors.set(frozenset((known, _at_0(floor) if known == key else floor) for known, floor in floors))

    def begin_watch(self) -> None:
        """The list is complete; from here on events come."""
        self.watch.set(0)

    def close_watch(self) -> None:
        """The watch ends: what it had not delivered is missed, and found by the next list."""
        state = self.watch.get()
        if isinstance(state, int):
            self.watch.set(frozenset(self.events[place].get().key for place in range(state)))
            self._clear_events()

    def forget(self) -> None:
        """The process is gone, and all that it knew."""
        for key in self.names.get():
            self.entry(key).set(None)
        self.names.set(frozenset())
        self.floors.set(frozenset())
        self.watch.set(None)
        self._clear_events()

    def _clear_events(self) -> None:
        for cell in self.events:
            cell.set(None)


def _nearer(floor: Floor) -> Floor:
    return floor._replace(version=str(int(floor.version) - 1)) if isinstance(floor, Wrote) else floor


def _at_0(floor: Floor) -> Floor:
    return floor._replace(version="0") if isinstance(floor, Wrote) else floor


class SlotIndexer(Indexer):
    """The production index over objects in slots; index values are computed when they are asked for."""

    def __init__(self, decode: Callable[[EncodedObject], Any], slots: WatchSlots) -> None:
        super().__init__(decode, {})
        self._slots = slots

    def __len__(self) -> int:
        return len(self._slots.names.get())

    def __iter__(self) -> Iterator[Key]:
        return iter(sorted(self._slots.names.get()))

    def __contains__(self, key: Key) -> bool:
        return self.get(key) is not None

    def get(self, key: Key) -> EncodedObject | None:
        """The object, if there is one; whatever was seen is at position 0."""
        cached: Cached | None = self._slots.entry(key).get()
        return None if cached is None else EncodedObject(key, cached.uid, "0", cached.json)

    def put(self, obj: EncodedObject) -> None:
        """Take up an object."""
        names = self._slots.names.get()
        if obj.key not in names:
            self._slots.names.set(names | {obj.key})
        self._slots.entry(obj.key).set(Cached(obj.uid, obj.json))

    def discard(self, key: Key) -> None:
        """Forget an object, if it is there."""
        names = self._slots.names.get()
        if key in names:
            self._slots.names.set(names - {key})
            self._slots.entry(key).set(None)

    def keys(self, name: str, value: str) -> frozenset[Key]:
        """The keys of the objects that have a value in an index."""
        found = ((key, self.get(key)) for key in self)
        return frozenset(key for key, obj in found if obj is not None and value in self.values_of(name, obj))

    def objects(self) -> Mapping[Key, EncodedObject]:
        """Everything, to be looked at only."""
        found = ((key, self.get(key)) for key in self)
        return {key: obj for key, obj in found if obj is not None}


class SlotFloors(MutableMapping[Key, "Floor"]):
    """Own writes that the watch has not caught up with, in one slot. When they were acknowledged does not matter here:
    a list and its answer are one step, so every list shows what was acknowledged before."""

    def __init__(self, slots: WatchSlots) -> None:
        self._slots = slots

    def __getitem__(self, key: Key) -> Floor:
        for known, floor in self._slots.floors.get():
            if known == key:
                found: Floor = floor
                return found
        raise KeyError(key)

    def __setitem__(self, key: Key, floor: Floor) -> None:
        self._keep({**self, key: floor._replace(order=0)})

    def __delitem__(self, key: Key) -> None:
        self._keep({known: floor for known, floor in self.items() if known != key})

    def __iter__(self) -> Iterator[Key]:
        return iter(sorted(key for key, _ in self._slots.floors.get()))

    def __len__(self) -> int:
        return len(self._slots.floors.get())

    def _keep(self, floors: dict[Key, Floor]) -> None:
        self._slots.floors.set(frozenset(floors.items()))


class SlotView(ViewCore):
    """The production view, whose state is slots."""

    def __init__(self, decode: Callable[[EncodedObject], Any], slots: WatchSlots, unsynced: Cell, kind: str) -> None:
        self._unsynced, self._kind = unsynced, kind
        super().__init__(decode, seen=SlotIndexer(decode, slots), floors=SlotFloors(slots))

    @property
    def is_synced(self) -> bool:
        """Whether the whole collection was seen at least once."""
        return self._kind not in self._unsynced.get()

    @is_synced.setter
    def is_synced(self, synced: bool) -> None:
        if synced:
            self._unsynced.set(self._unsynced.get() - {self._kind})


class WorldInformer(Informer[Any]):
    """The production informer, driven by steps of the world instead of a task."""

    def __init__(self, *args: Any, slots: Callable[[Any], tuple[WatchSlots, Cell, Watch, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.slots, unsynced, self._translator, self.name = slots(self.kind)
        self.core = SlotView(self.decode, self.slots, unsynced, self.name)
        self.state = Watching("0")
        self.prefix = self._translator.prefix
        self._is_delivering = False
        self.is_shown_the_past = False
        """Whether a list comes from an older state: what it shows differently replaces what is newer."""

    def wrote(self, obj: EncodedObject) -> None:
        """This process wrote an object of this kind."""
        self.slots.outdate(obj.key)
        super().wrote(obj)

    def prepared(self, obj: EncodedObject) -> EncodedObject:
        """An object at its position in the FIFO."""
        place = 1 if self._is_delivering else self.slots.position(obj.key)
        told = self._told(obj.json)
        if self.is_shown_the_past:
            place = 0 if self.slots.entry(obj.key).get() == Cached(obj.uid, told) else -1
        return EncodedObject(obj.key, obj.uid, str(place), told)

    def _told(self, data: bytes) -> bytes:
        """An object's text as one and the same, whether it came by list, watch or answer; metadata if that is all."""
        if isinstance(self.kind, MetadataOnly):
            return orjson.dumps({"metadata": orjson.loads(data)["metadata"]})
        head = self._translator.kind.head
        return data if data.startswith(head) else head + data[1:]

    def hear(self, event: Event) -> None:
        """The store changed: the watch has something to deliver."""
        told = self._translator.translate(event)
        if told is not None:
            obj = encoded(told.object)
            self.slots.tell(Told(told.type, obj.key, obj.uid, self._told(obj.json)))

    def deliver(self) -> Told | None:
        """Deliver the next event to the view and to the handlers; None when there is none."""
        told = self.slots.take()
        if told is None:
            return None
        self.slots.note(told)
        self.core.version = "0"
        obj = EncodedObject(told.key, told.uid, "1", told.json)
        self._is_delivering = True
        try:
            self._take(WatchEvent(told.type, obj, told.key, told.uid, "1"))  # type: ignore[arg-type]
        finally:
            self._is_delivering = False
        self.core.version = "0"
        self.slots.count_down()
        return told

"""The cache of a controller host in a world: the production informer and view, kept in slots.

Each kind has a FIFO of events that the watch has not delivered yet. What the view knows of versions is positions in
that FIFO: what was seen is at 0, the event to be delivered next is at 1, an own write is where its event waits. They
count on as events come and are counted down as they are delivered, so the production comparison of versions is exact,
and equal situations are equal states. The objects themselves carry versions by content.

A watch is one of: not listed yet (None), watching with so many undelivered events (a number), or fallen so far behind
that it was closed and must list again (the set of keys that changed meanwhile).

A step that would make a watch lag further than the world allows waits until something was delivered. Delivery is fair,
so it can go on; only in a world that never quiesces could such a step wait for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import orjson

from attractor.cache.core import ViewCore
from attractor.cache.index import Indexer
from attractor.cache.informer import Informer
from attractor.cache.own_writes import Removed, Unsure, Wrote
from attractor.cache.reflector import Watching
from attractor.check.engine.model import Domain
from attractor.check.errors import Disabled
from attractor.check.events import Closed, Delivered
from attractor.check.world.simulation.server.storage import LAG
from attractor.check.world.simulation.slots import With, Without
from attractor.client.encoding.codec import encoded
from attractor.client.events import WatchEvent
from attractor.client.kinds import EncodedObject, MetadataOnly
from attractor.objects.gvk import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.apiserver.verbs.watch import Watch
    from attractor.cache.own_writes import Floor
    from attractor.check.world.simulation.slots import Cell, Stage
    from attractor.store.contract import Event


class Lag(NamedTuple):
    """The bound on a watch's undelivered events, and what becomes of a step that would exceed it.

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
    """A cached object."""

    uid: str
    json: bytes

    def __plain__(self) -> Any:
        return orjson.loads(self.json)


def watch_key(host: str, kind: str) -> str:
    """The key of the slots of a kind's watch by a host."""
    return f"{host}/{kind}"


class WatchSlots:
    """The slots of one kind's cache on one host."""

    def __init__(self, stage: Stage, host: str, kind: str, lag: Lag) -> None:
        name = watch_key(host, kind)
        self.lag = lag.events
        self._closes = lag.closes
        self._stage, self._host, self._kind, self._name = stage, host, kind, name
        self.watch: Cell = stage.slot("watch", name)
        events = Domain("undelivered")
        self.events: list[Cell] = [
            stage.slot("undelivered", f"{name}/{place}", domain=events) for place in range(1, lag.events + 1)
        ]
        self.names: Cell = stage.slot("cached names", name, frozenset())
        self.own: Cell = stage.slot("own writes", name, frozenset())
        """Which own writes the watch has not caught up with: keys, each with its ``Mark``."""
        self._entries: dict[Key, Cell] = {}
        self._written: dict[Key, Cell] = {}

    def entry(self, key: Key) -> Cell:
        """The slot of a cached object."""
        cell = self._entries.get(key)
        if cell is None:
            cell = self._entries[key] = self._stage.slot("cached", f"{self._name}/{key}")
        return cell

    def own_write(self, key: Key) -> Cell:
        """The slot of what was written."""
        cell = self._written.get(key)
        if cell is None:
            cell = self._written[key] = self._stage.slot("own write", f"{self._name}/{key}")
        return cell

    def note(self, told: Told) -> None:
        """Say that an event is delivered."""
        self._stage.note(Delivered(self._host, self._kind, told))

    def note_index(self, index: str) -> None:
        """Remember that an index found something."""
        self._stage.used_indexes.add((self._kind, index))

    def tell(self, told: Told) -> None:
        """An event happened; the watch has it to deliver, unless nobody watches or it is too far behind."""
        state = self.watch.get()
        if state is None:
            return
        if isinstance(state, frozenset):
            self.watch.set(state | {told.key})
        elif state == self.lag and not self._closes:
            self._stage.bind("lag", LAG.format(self.lag))
            raise Disabled
        elif state == self.lag:
            self._stage.bind("lag", LAG.format(self.lag))
            self.watch.set(frozenset({told.key, *(cell.get().key for cell in self.events)}))
            self._clear_events()
            self._stage.note(Closed(self._host, self._kind))
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
        own = self.own.get()
        if own:
            self.own.set(frozenset((key, mark - 1 if isinstance(mark, int) else mark) for key, mark in own))

    def outdate(self, key: Key) -> None:
        """An object is written again: without a watch there are no places, so what was written before goes to 0."""
        if isinstance(self.watch.get(), frozenset) and isinstance(dict(self.own.get()).get(key), int):
            self.own.update(_Marked(key, 0))

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
        for key, _ in self.own.get():
            self.own_write(key).set(None)
        self.own.set(frozenset())
        self.watch.set(None)
        self._clear_events()

    def _clear_events(self) -> None:
        for cell in self.events:
            cell.set(None)


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
        entry = self._slots.entry(obj.key)
        if entry.get() is None:
            self._slots.names.update(With(obj.key))
        entry.set(Cached(obj.uid, obj.json))

    def discard(self, key: Key) -> None:
        """Forget an object, if it is there."""
        entry = self._slots.entry(key)
        if entry.get() is not None:
            self._slots.names.update(Without(key))
            entry.set(None)

    def keys(self, name: str, value: str) -> frozenset[Key]:
        """The keys of the objects that have a value in an index."""
        objects = ((key, self.get(key)) for key in self)
        found = frozenset(key for key, obj in objects if obj is not None and value in self.values_of(name, obj))
        if found:
            self._slots.note_index(name)
        return found

    def objects(self) -> Mapping[Key, EncodedObject]:
        """Everything, to be looked at only."""
        found = ((key, self.get(key)) for key in self)
        return {key: obj for key, obj in found if obj is not None}


class Written(NamedTuple):
    """An object as this process wrote it; None when it then no longer is in the view's scope."""

    uid: str
    json: bytes | None

    def __plain__(self) -> Any:
        return None if self.json is None else orjson.loads(self.json)


Mark: TypeAlias = int | Literal["removed", "unsure"]
"""An own write: where its event waits in the FIFO, or that it was a deletion, or that its outcome is not known."""


@dataclass(frozen=True, slots=True)
class _Marked:
    """One own write more, or another mark for one, as an ``update``."""

    key: Key
    mark: Mark | None

    def __call__(self, own: frozenset[tuple[Key, Mark]]) -> frozenset[tuple[Key, Mark]]:
        others = frozenset(each for each in own if each[0] != self.key)
        if self.mark is None:
            return others
        marked: tuple[Key, Mark] = (self.key, self.mark)
        return others | {marked}


class SlotWrote(Wrote):
    """An own write; what was written, and where its event waits, is looked at only when somebody asks for it."""

    at: tuple[WatchSlots, Key]

    @property
    def uid(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whose state it is."""
        written: Written = self.at[0].own_write(self.at[1]).get()
        return written.uid

    @property
    def object(self) -> EncodedObject | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The object as written; readers of it never look at its place."""
        slots, key = self.at
        written: Written = slots.own_write(key).get()
        return None if written.json is None else EncodedObject(key, written.uid, "0", written.json)

    @property
    def version(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Where its event waits."""
        slots, key = self.at
        return next(str(mark) for known, mark in slots.own.get() if known == key)


class SlotFloors(MutableMapping[Key, "Floor"]):
    """Own writes that the watch has not caught up with: which ones in one slot, what was written in one slot for each.

    A reader looks at what was written; the watch (``by_marks``) looks at where it waits. When it was acknowledged does
    not matter here: a list and its answer are one step, so every list shows what was acknowledged before.
    """

    def __init__(self, slots: WatchSlots) -> None:
        self._slots = slots
        self.by_marks = False

    def __getitem__(self, key: Key) -> Floor:
        if self.by_marks:
            mark = dict(self._slots.own.get()).get(key)
            is_there, is_wrote = mark is not None, isinstance(mark, int)
        else:
            what = self._slots.own_write(key).get()
            is_there, is_wrote = what is not None, isinstance(what, Written)
        if not is_there:
            raise KeyError(key)
        if is_wrote:
            wrote = SlotWrote(None, "", "", 0)
            wrote.at = self._slots, key
            return wrote
        floor: Removed | Unsure = self._slots.own_write(key).get()
        return floor

    def __setitem__(self, key: Key, floor: Floor) -> None:
        match floor:
            case Wrote(obj, uid, version):
                self._keep(key, Written(uid, None if obj is None else obj.json), int(version))
            case Removed(uid, before):
                self._keep(key, Removed(uid, before, 0), "removed")
            case Unsure():
                self._keep(key, floor._replace(order=0), "unsure")

    def __delitem__(self, key: Key) -> None:
        self._keep(key, None, None)

    def _keep(self, key: Key, what: Written | Removed | Unsure | None, mark: Mark | None) -> None:
        self._slots.own_write(key).set(what)
        self._slots.own.update(_Marked(key, mark))

    def __iter__(self) -> Iterator[Key]:
        return iter(sorted(key for key, _ in self._slots.own.get()))

    def __len__(self) -> int:
        return len(self._slots.own.get())


@dataclass(frozen=True, slots=True)
class _OneLess:
    """A number that is counted down, as an ``update``."""

    def __call__(self, number: int) -> int:
        return number - 1


class SlotView(ViewCore):
    """The production view, whose state is slots."""

    def __init__(self, decode: Callable[[EncodedObject], Any], slots: WatchSlots, unsynced: Cell) -> None:
        self._unsynced, self._slots = unsynced, slots
        self.was_synced: bool | None = None
        """While a list comes in: whether the collection was seen before it."""
        self._own = SlotFloors(slots)
        super().__init__(decode, seen=SlotIndexer(decode, slots), floors=self._own)

    def has_synced(self) -> bool:
        """Whether the whole collection was seen at least once."""
        if self.was_synced is not None:
            return self.was_synced
        return not self._unsynced.get() or self._slots.watch.get() is not None

    def _note_synced(self) -> None:
        if not self.has_synced():
            self._unsynced.update(_OneLess())

    @contextmanager
    def being_told(self) -> Iterator[None]:
        """The server tells something: own writes are looked at for where they wait."""
        self._own.by_marks = True
        try:
            yield
        finally:
            self._own.by_marks = False

    def _is_seen(self, key: Key, made: Wrote) -> bool:
        """What was seen is at position 0, so what waits in the FIFO was not."""
        return made.version == "0" and super()._is_seen(key, made)


class WorldInformer(Informer[Any]):
    """The production informer, driven by steps of the world instead of a task."""

    core: SlotView

    def __init__(self, *args: Any, slots: Callable[[Any], tuple[WatchSlots, Cell, Watch, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.slots, unsynced, self._translator, self.name = slots(self.kind)
        self.core = SlotView(self.decode, self.slots, unsynced)
        self.state = Watching("0")
        self.prefix = self._translator.prefix
        self._is_delivering = False
        self.is_shown_the_past = False
        """Whether a list comes from an older state: what it shows differently replaces what is newer."""
        self._heard: dict[Event, Told | None] = {}
        """What the watch tells of a change, by the change."""

    def wrote(self, obj: EncodedObject, *, is_new: bool = False) -> None:
        """This process wrote an object of this kind."""
        self.slots.outdate(obj.key)
        super().wrote(obj, is_new=is_new)

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
        if event not in self._heard:
            self._heard[event] = self._translated(event)
        told = self._heard[event]
        if told is not None:
            self.slots.tell(told)

    def _translated(self, event: Event) -> Told | None:
        told = self._translator.translate(event)
        if told is None:
            return None
        obj = encoded(told.object)
        return Told(told.type, obj.key, obj.uid, self._told(obj.json))

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
            with self.core.being_told():
                self._take(WatchEvent(told.type, obj, told.key, told.uid, "1"))  # type: ignore[arg-type]
        finally:
            self._is_delivering = False
        self.core.version = "0"
        self.slots.count_down()
        return told

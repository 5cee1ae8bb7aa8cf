"""``Informer``: one kind's view, kept up to date from a server; the driver of ``reflector`` and ``core``.

    informer = Informer(client, Pod, Scope("default"), indexes={"node": lambda pod: [pod.spec.node_name]})
    informer.add_handler(lambda event: queue.add(event.key))
    async with asyncio.TaskGroup() as group:
        group.create_task(informer.run())
        await informer.wait_synced()
        pods = await informer.list(index=("node", "n1"))

Guarantees: objects are read as copies of the reader's own; handlers hear every change of every object, in order, with
states skipped only where the server skips them; a watch that dies, hangs, or sends garbage is noticed, ``is_ready`` is
false until the view follows the server again, and then the view is right: nothing missed, nothing resurrected.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, assert_never

import orjson

from attractor.cache import reflector
from attractor.cache.changes import Added
from attractor.cache.core import UNSURE, ViewCore
from attractor.cache.handlers import InformerEvent
from attractor.cache.reflector import (
    Ended,
    Failed,
    Heard,
    InitialEnded,
    Input,
    Listed,
    Listing,
    Opened,
    Opening,
    Policy,
    Silent,
    State,
    Syncing,
    Waited,
    Waiting,
    Watching,
)
from attractor.cache.scope import Scope, labels_of
from attractor.client.encoding.codec import collecting_later
from attractor.client.errors import AnswerLost
from attractor.client.events import Bookmark
from attractor.client.kinds import Encoded, EncodedObject, MetadataOnly, name_of
from attractor.objects.compiling import mypyc_attr
from attractor.objects.errors import ApiError, NotFound
from attractor.objects.gvk import Key
from attractor.objects.labels import LabelSelector
from attractor.objects.resource import Resource
from attractor.wire.blocks import inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from attractor.cache.changes import Change
    from attractor.cache.index import IndexFunction
    from attractor.client.encoding.codec import Codec
    from attractor.client.events import Event
    from attractor.client.kinds import UntypedKind
    from attractor.client.verbs.reads import Reading
    from attractor.client.verbs.watch import Watch

log = logging.getLogger("attractor.cache")

T = TypeVar("T")
IDLE_S = 150.0
"""A watch that says nothing for so long is taken for dead; servers send a bookmark about every minute."""
TELL_AGAIN_S = 10.0
"""How often it is told that the server cannot be followed, for the same reason."""
WATCH_S = (300, 600)
"""How long a watch is asked to last, at random between these."""


class Health(NamedTuple):
    """Health of an informer, for readiness checks and people."""

    kind: str
    is_synced: bool
    is_live: bool
    why: str
    """What went wrong last, while it is not live."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Informer(Generic[T]):
    """A view of one kind in one scope. ``kind`` is a class, a ``GroupVersionKind``, or ``MetadataOnly``."""

    def __init__(
        self,
        client: Reading,
        kind: type[Resource] | UntypedKind | MetadataOnly,
        scope: Scope | None = None,
        *,
        transform: Callable[[T], T] | None = None,
        indexes: Mapping[str, IndexFunction] | None = None,
        policy: Policy | None = None,
        idle_s: float = IDLE_S,
        jitter: Callable[[], float] = lambda: random.uniform(0.8, 1.2),  # noqa: S311 - spreads load, hides nothing
    ) -> None:
        self.client = client
        self.kind = kind
        self.scope = scope or Scope()
        self.transform = transform
        self.core = ViewCore(self.decode, indexes=indexes, sees_all=self.scope.sees_all)
        self.policy = policy or Policy()
        self.state: State = self.policy.start()
        self._idle_s = idle_s
        self._jitter = jitter
        self._codec: Codec[T] | None = None
        self._why = "not started"
        self._told_at = 0.0
        """When it was last told that the server cannot be followed."""
        self._handlers: dict[object, Callable[[InformerEvent[T]], None]] = {}
        self._watch: Watch[EncodedObject] | None = None
        self._events: deque[Event[EncodedObject]] = deque()
        self._begun = 0
        self._opened_at = 0.0
        self._heard_at = 0.0
        self._heard_any = False
        self._waiters: set[asyncio.Future[None]] = set()

    def __repr__(self) -> str:
        return f"Informer({name_of(self.kind)}, {self.scope})"

    # How it fares.

    @property
    def is_synced(self) -> bool:
        """Return whether the whole collection was seen at least once, and handlers were told of it."""
        return self.core.is_synced

    @property
    def is_live(self) -> bool:
        """Return whether the view follows the server, as far as anybody can tell."""
        return reflector.is_live(self.state)

    @property
    def is_ready(self) -> bool:
        """Return whether decisions may be based on this view."""
        return self.is_synced and self.is_live

    @property
    def health(self) -> Health:
        """Return its health, for people."""
        return Health(name_of(self.kind), self.is_synced, self.is_live, "" if self.is_ready else self._why)

    async def wait_synced(self) -> None:
        """Wait until the whole collection was seen."""
        await self.wait_for(lambda: self.is_synced)

    async def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until something is true of this informer; it is asked again after every step."""
        while not condition():
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)

    def wake(self) -> None:
        """Something changed: let those who wait look again."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    # Handlers and indexes.

    def add_handler(self, handler: Callable[[InformerEvent[T]], None]) -> Callable[[], None]:
        """Tell a handler of what is there (as initial) and of every change; answers how to take it off again.

        A handler must not block and must not raise: what it raises ends the informer.
        """
        token = object()
        self._handlers[token] = handler
        self.tell(handler)

        def remove() -> None:
            self._handlers.pop(token, None)

        return remove

    def tell(self, handler: Callable[[InformerEvent[T]], None]) -> None:
        """Tell a handler of everything that is there, as initial."""
        for key in sorted(self.core.seen):
            obj = self.core.seen.get(key)
            assert obj is not None
            handler(InformerEvent(Added(obj, is_initial=True), self.decode))

    def add_index(self, name: str, function: Callable[[T], Iterable[str]]) -> None:
        """One more index; the function answers the values that an object has in it, any number of them."""
        self.core.seen.add_index(name, function)

    # Reading.

    def decode(self, obj: EncodedObject) -> T:
        """An object of the caller's own."""
        if self._codec is None:
            mapped = self.client.mapping.find_nowait(self.kind)
            assert mapped is not None, "objects of a kind come after the kind is known"
            self._codec = mapped.codec
        return self._codec.decode(obj.json)

    async def get(self, key: Key | tuple[str, str]) -> T:
        """The object, never older than this process's own last write to it; raises ``NotFound``."""
        found = await self.find(key)
        if found is None:
            mapped = await self.client.mapping.find(self.kind)
            raise NotFound.of(mapped.info.group_resource, Key(*key).name)
        return found

    async def find(self, key: Key | tuple[str, str]) -> T | None:
        """The same, or None when there is none."""
        if not isinstance(key, Key):
            key = Key(*key)
        if not self.core.is_synced:
            await self.wait_synced()
        while self.core.get(key) == UNSURE:
            await self._resolve(key)
        return self.find_nowait(key)

    def knows(self, key: Key) -> bool:
        """Return whether ``find`` would answer without waiting; ``find_nowait`` then does."""
        return self.core.has_synced() and not self.core.is_unsure(key)

    def find_nowait(self, key: Key) -> T | None:
        """The object as far as it is known, or None."""
        found = self.core.get(key)
        return None if found is None or isinstance(found, str) else self.decode(found)

    async def list(
        self, namespace: str = "", *, label_selector: object = None, index: tuple[str, str] | None = None
    ) -> list[T]:
        """The objects in the order of their keys, chosen by namespace, labels and one index value."""
        found = await self.select(namespace, label_selector=label_selector, index=index)
        with collecting_later(len(found)):
            return [self.decode(obj) for obj in found]

    async def keys(self, namespace: str = "", *, index: tuple[str, str] | None = None) -> Sequence[Key]:
        """The same, without decoding anything."""
        return [obj.key for obj in await self.select(namespace, index=index)]

    async def select(
        self, namespace: str = "", *, label_selector: object = None, index: tuple[str, str] | None = None
    ) -> Sequence[EncodedObject]:
        """The same, undecoded."""
        await self.wait_synced()
        while unsure := self.core.unsure_keys(namespace):
            await self._resolve(unsure[0])
        found = self.core.select(namespace, index)
        text = str(label_selector or "")
        if not text:
            return list(found)
        labels = LabelSelector.parse(text)
        return [obj for obj in found if labels.matches(labels_of(obj))]

    async def _resolve(self, key: Key) -> None:
        """Ask the server about an object that a write left in doubt; raises ``ApiError`` if it cannot be asked.

        It may have to be asked again, when something happened meanwhile that the answer does not account for.
        """
        asked = self.core.asking(key)
        try:
            found: EncodedObject | None = await self.client.get(Encoded(self.kind), key)
        except NotFound:
            found = None
        if found is None and asked.wants_version:
            await self._resolve_by_list(key)
        elif found is None:
            self.core.resolve(asked, None)
        else:
            self.core.resolve(asked, self.prepared(found), in_scope=self.scope.covers(found))
        self.wake()

    async def _resolve_by_list(self, key: Key) -> None:
        """The same by a list of one name: a list has a version even if there is nothing in it."""
        asked = self.core.asking(key)
        named = f"metadata.name={key.name}"
        listed = await self.client.list(
            Encoded(self.kind),
            key.namespace,
            label_selector=self.scope.label_selector,
            field_selector=f"{self.scope.field_selector},{named}" if self.scope.field_selector else named,
        )
        found = next(iter(listed), None)
        self.core.resolve(asked, found and self.prepared(found), version=listed.resource_version)

    # Own writes; see ``cache`` for who calls these.

    def wrote(self, obj: EncodedObject, *, is_new: bool = False) -> None:
        """This process wrote an object of this kind."""
        in_scope = self.scope.covers(obj)
        self.core.wrote(self.prepared(obj) if in_scope else obj, in_scope=in_scope, is_new=is_new)
        self.wake()

    def prepared(self, obj: EncodedObject) -> EncodedObject:
        """An object as it is kept: transformed, if there is a transform; as it is, if the transform fails on it."""
        if self.transform is None:
            return obj
        try:
            made: Any = self.transform(self.decode(obj))
            if not isinstance(made, Resource | dict):
                raise TypeError(f"the transform answered {made!r}; answer the object that it was given, changed")
            data = made.to_json() if isinstance(made, Resource) else orjson.dumps(made)
        except Exception as error:  # user code on arbitrary objects must not end the view of all others
            extra = {"kind": name_of(self.kind), "key": str(obj.key)}
            log.error("cannot transform an object, so it is kept as it is", exc_info=error, extra=extra)
            return obj
        return EncodedObject(obj.key, obj.uid, obj.resource_version, data)

    # Following the server.

    async def run(self) -> None:
        """Follow the server until cancelled."""
        self._why = "its first list has not come yet"
        try:
            while True:
                self._move(await self._act())
        finally:
            self._close()

    async def _act(self) -> Input:
        """Do what the state stands for; what comes of it is the next input."""
        try:
            match self.state:
                case Listing():
                    return await self._list()
                case Opening(version):
                    return await self._open(version)
                case Syncing() | Watching():
                    return await self._hear()
                case Waiting(delay_s):
                    await asyncio.sleep(delay_s * self._jitter())
                    return Waited()
                case _:
                    assert_never(self.state)
        except ApiError as error:
            return Failed(error)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Something below has cancelled itself. Nobody would hear of a task that ends so.
            return Failed(AnswerLost("the request was cancelled, and not by who waits for it"))

    def _move(self, happened: Input) -> None:
        before = self.state
        self.state = reflector.step(before, happened, self.policy)
        if isinstance(before, Watching) and isinstance(self.state, Watching):
            self.wake()
            return
        was_ready = self.is_synced and reflector.is_live(before)
        if isinstance(self.state, Waiting):
            self._complain(self.state)
        elif self.is_ready and not was_ready:
            self._why = "it is being read anew"
            log.info("a view follows the server", extra={"kind": name_of(self.kind), "objects": len(self.core.seen)})
        self.wake()

    def _complain(self, waiting: Waiting) -> None:
        """Say why nothing comes: at once, again when the reason is another one, and now and then while it stays."""
        now_s = asyncio.get_running_loop().time()
        is_told, self._why = self._why == waiting.why, waiting.why
        if is_told and now_s - self._told_at < TELL_AGAIN_S:
            return
        self._told_at = now_s
        lost, first = "a view has lost touch with the server", "the first list of a kind fails; controllers wait for it"
        log.warning(
            lost if self.is_synced else first,
            extra={"kind": name_of(self.kind), "why": self._why, "retry_in_s": round(waiting.delay_s, 3)},
        )

    async def _list(self) -> Input:
        begun = self.core.begin()
        listed = await self.client.list(
            Encoded(self.kind),
            self.scope.namespace,
            label_selector=self.scope.label_selector,
            field_selector=self.scope.field_selector,
        )
        self._tell(self.core.replace(listed.resource_version, begun, map(self.prepared, listed)))
        return Listed(listed.resource_version)

    async def _open(self, version: str | None) -> Input:
        self._close()
        self._begun = self.core.begin()
        watch = self.client.watch(
            Encoded(self.kind),
            self.scope.namespace,
            label_selector=self.scope.label_selector,
            field_selector=self.scope.field_selector,
            resource_version=version or "",
            initial_events=version is None,
            timeout_s=random.randint(*WATCH_S),  # noqa: S311 - spreads load, hides nothing
        )
        try:
            await inside(asyncio.timeout(self._idle_s), lambda _: watch.__aenter__())
        except TimeoutError:
            return Failed(AnswerLost(f"the server did not answer a watch within {self._idle_s:g} s"))
        self._watch = watch
        self._opened_at = self._heard_at = asyncio.get_running_loop().time()
        self._heard_any = False
        return Opened()

    def _close(self) -> None:
        self._events.clear()
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    async def _hear(self) -> Input:
        """Take in what comes, until more follows from it than that something was heard.

        One timer serves for as long as things are heard: when it goes off, the silence is as long as it looks, or not.
        """
        assert self._watch is not None
        watch, loop = self._watch, asyncio.get_running_loop()
        while True:
            limit = asyncio.timeout_at(self._heard_at + self._idle_s)
            try:
                return await inside(limit, lambda _: self._hear_on(watch))
            except TimeoutError:
                if not limit.expired() or loop.time() >= self._heard_at + self._idle_s:
                    return Silent(self._idle_s)

    async def _hear_on(self, watch: Watch[EncodedObject]) -> Input:
        loop = asyncio.get_running_loop()
        while True:
            if not self._events:
                self._events.extend(await watch.receive())
                self._heard_at = loop.time()
            if not self._events:
                return Ended(was_useful=self._heard_any or self._heard_at - self._opened_at >= 1)
            self._heard_any = True
            while self._events:
                ended = self._take(self._events.popleft())
                if ended is not None:
                    return ended
            self._move(Heard(self.core.version))

    def _take(self, event: Event[EncodedObject]) -> Input | None:
        is_syncing = isinstance(self.state, Syncing)
        if isinstance(event, Bookmark):
            if is_syncing and event.ends_initial:
                self._tell(self.core.replace(event.resource_version, self._begun))
                return InitialEnded(event.resource_version)
            if not is_syncing:
                self.core.advance(event.resource_version)
        elif not is_syncing:
            change = self.core.observe(event.type, self.prepared(event.object))
            if change is not None:
                self._tell_one(change)
        elif event.type == "DELETED":
            self.core.unstage(event.key)
        else:
            self.core.stage(self.prepared(event.object))
        return None

    def _tell(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._tell_one(change)

    def _tell_one(self, change: Change) -> None:
        for handler in tuple(self._handlers.values()):
            handler(InformerEvent(change, self.decode))

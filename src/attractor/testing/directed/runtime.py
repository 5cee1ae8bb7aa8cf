"""``DirectedRuntime``: a server, hosts and users; each method makes one thing happen and waits until all is quiet."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import orjson

from attractor.apiserver.controllers.garbage import plan_garbage
from attractor.apiserver.controllers.termination import plan_namespaces
from attractor.apiserver.core import Request
from attractor.apiserver.server import FIRST_NAMESPACES
from attractor.check.world.api.state import prefix
from attractor.check.world.simulation.externals import seen_by
from attractor.check.world.simulation.process.worker import LOCAL, MEMORY
from attractor.check.world.simulation.server.generated_names import NAME_BOUNDS, NameBounds
from attractor.check.world.simulation.server.initial_owners import InitialOwners
from attractor.check.world.simulation.server.storage import uid_of
from attractor.client import ClientRequest, ClientResponse
from attractor.embedded import EmbeddedCluster
from attractor.embedded.controllers import kinds_in
from attractor.httpd.auth.authentication import ADMIN
from attractor.httpd.watch.streams import FLUSH_S
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.k8s.core_v1 import Namespace
from attractor.objects.resource import ObjectMeta
from attractor.runtime.effects import Call, Gather
from attractor.testing.directed.background import FIRST
from attractor.testing.directed.gates import Departed, Worker
from attractor.testing.directed.host import Host
from attractor.testing.directed.source import DirectedSource
from attractor.testing.directed.transport import Performed
from attractor.testing.virtual_time import START, VirtualTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from types import TracebackType
    from typing import Self

    from attractor.apiserver.request.operation import Operation
    from attractor.client import Client
    from attractor.objects.gvk import GroupResource, Key
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource
    from attractor.runtime import Controller
    from attractor.runtime.effects import Effect
    from attractor.testing.directed.transport import Outcome
    from attractor.testing.recording.recorder import Recorder
    from attractor.webhooks import Webhook

PATIENCE_S = 60.0
"""How long a part may wait for a delay of its own (a retry, a watch that opens again) before it has departed."""
TICK_S = 0.05
GONE = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}'
)


class DirectedRuntime:
    """Use it with ``async with``, on an event loop of its own: it takes over the loop's clock."""

    def __init__(
        self,
        controllers: Sequence[Controller],
        *,
        runs: Callable[[str], Sequence[Controller]] | None = None,
        objects: Sequence[Resource] = (),
        externals: Mapping[Any, object] | None = None,
        workers: int | None = None,
        own_writes: bool = True,
        kinds: Sequence[type[Resource]] = (),
        uids: Sequence[str] = (),
        namespaces: Sequence[str] = (),
        clock: Sequence[datetime] = (START,),
        names: NameBounds = NAME_BOUNDS,
        local: tuple[type, ...] = LOCAL,
        recorder: Callable[[str], Recorder] | None = None,
        webhooks: Sequence[Webhook] = (),
    ) -> None:
        """``runs`` says what a host runs, by its name, where that is not all ``controllers``.

        ``kinds`` are installed beside those that controllers and objects name; ``uids`` are the objects', and then
        those of what comes with them.

        Outside systems outlive hosts; one with a method ``seen_by`` is asked for the part of each host, and one with
        ``host_dies`` is told of crashes. Time goes through the instants of ``clock``. Effects of ``local`` types are
        performed with what comes before. ``recorder`` writes down what a host sees and does, by its name. The server
        asks ``webhooks``.
        """
        self._recorder = recorder
        self._local = local
        self._uids = tuple(uids)
        self._namespaces = tuple(namespaces)
        self._kinds = tuple(kinds)
        self._controllers = tuple(controllers)
        self._runs = runs or (lambda _: self._controllers)
        self._objects = tuple(objects)
        self._externals = dict(externals or {})
        self._workers = workers
        self._own_writes = own_writes
        self.clock = VirtualTime()
        self.source = DirectedSource(clock, names)
        self._webhooks = tuple(webhooks)
        self.cluster = EmbeddedCluster(controllers=(), source=self.source)
        self._stack = AsyncExitStack()
        self._group = asyncio.TaskGroup()
        self._hosts: dict[str, Host] = {}
        self._began = 0
        self._left_over: dict[str, list[ClientRequest]] = {}
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """The users' hand: never delayed, never disturbed."""
        assert self._client is not None, "the runtime is not set up: use `async with`"
        return self._client

    async def __aenter__(self) -> Self:
        self._stack.enter_context(self.clock.install(asyncio.get_running_loop()))
        firsts = sorted(FIRST_NAMESPACES, key=len, reverse=True)  # as the server makes them
        self.source.write_down(uid_of(f"core/namespaces/{name}", 1) for name in firsts)
        await self._stack.enter_async_context(self.cluster)
        self._client = await self._stack.enter_async_context(self.cluster.client())
        await self._install()
        self._began = self.cluster.store.revision
        self.source.write_down(())
        owners = InitialOwners()
        for number, one in enumerate(self._objects):
            if self._uids:
                self.source.write_down([self._uids[number], *self._uids[len(self._objects) :]])
            owners.made(one, await self._create(owners.completed(one)))
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in tuple(self._hosts):
            await self.crash(name)
        await self._group.__aexit__(None, None, None)
        await self._stack.aclose()

    async def quiet(self) -> None:
        """Wait until nothing moves any more, and the server has sent what it gathers for its watchers."""
        await asyncio.sleep(FLUSH_S)
        await self.clock.quiet()

    async def _install(self) -> None:
        for namespace in self._namespaces:
            if namespace not in FIRST_NAMESPACES:
                self.source.write_down([uid_of(f"core/namespaces/{namespace}", 1)])
                await self.client.create(Namespace(metadata=ObjectMeta(name=namespace)))
        named = {kind for one in self._controllers for kind in one.kinds} | {type(one) for one in self._objects}
        kinds = named | set(self._kinds)
        await self.cluster.register(*self._webhooks)
        own = [kind for kind in sorted(kinds, key=lambda kind: str(kind.gvk)) if not kind.resource_info.definition]
        for definition in self.cluster.definitions(*own):
            await self.client.create(CustomResourceDefinition.from_dict(definition))

    async def _create(self, obj: Resource) -> str:
        """Store an object with its status; answers its uid."""
        made = await self.client.create(obj)
        status = getattr(obj, "status", None)
        if "status" in type(obj).resource_info.subresources and status is not None:
            made.status = status  # type: ignore[attr-defined]  # kinds with a status subresource have the field
            await self.client.update_status(made)
        return made.metadata.uid

    # Hosts.

    async def start(self, name: str) -> None:
        """Start a host. Its caches wait for ``list``; once all of them are synced, its workers wait for ``begin``."""
        if name in self._hosts:
            raise Departed(f"{name} runs already")
        self._hosts[name] = Host(
            name,
            self.cluster.transport(),
            self._runs(name),
            group=self._group,
            now=self.source.instant,
            externals={protocol: seen_by(each, name) for protocol, each in self._externals.items()},
            workers=self._workers,
            own_writes=self._own_writes,
            recorder=None if self._recorder is None else self._recorder(name),
        )
        await self.quiet()

    async def crash(self, name: str) -> None:
        """End a host at once. What it had sent may still arrive: see ``arrive``."""
        host = self.host(name)
        del self._hosts[name]
        left = host.kill()
        await self.quiet()
        self._left_over.setdefault(name, []).extend(left)
        for each in self._externals.values():
            dies = getattr(each, "host_dies", None)
            if dies is not None:
                dies(name)

    def host(self, name: str) -> Host:
        """A host that runs; raises ``Departed`` when there is none of that name."""
        if name not in self._hosts:
            raise Departed(f"{name} does not run; {', '.join(self._hosts) or 'no host'} does")
        return self._hosts[name]

    @property
    def hosts(self) -> Mapping[str, Host]:
        """The hosts that run."""
        return self._hosts

    async def arrive(self, name: str, number: int = 0) -> Performed:
        """A request that a host had sent before it crashed reaches the server now; nobody hears the answer."""
        left = self._left_over.get(name, [])
        if number >= len(left):
            raise Departed(f"{name} left {len(left)} requests on their way, so there is none of number {number}")
        request = left.pop(number)
        return Performed(request, await self.send(request))

    @contextmanager
    def lagging(self, host: str, kind: type[Resource], by: int) -> Iterator[None]:
        """Reads of a host are answered as before the last ``by`` changes of a kind. Raises ``Departed``."""
        store, server, at = self.cluster.store, self.cluster.server, self.host(host)
        events = store.events_after(prefix(kind), self._began).events
        if not 1 <= by <= len(events):
            raise Departed(f"{kind.__name__} has changed {len(events)} times, so nobody can lag by {by}")
        revision = events[-by].revision - 1

        def answer(request: ClientRequest) -> ClientResponse:
            query: dict[str, list[str]] = {}
            for name, value in request.query:
                query.setdefault(name, []).append(value)
            asked = Request(request.method, unquote(request.path), query, request.body, request.content_type, ADMIN)
            response = server.core.handle(asked, server.transaction(store.snapshot_at(revision)))
            return ClientResponse(response.code, response.encode())

        at.transport.lagging = answer
        try:
            yield
        finally:
            at.transport.lagging = None

    # Caches.

    async def list(self, host: str, kind: type[Resource]) -> None:
        """A cache lists a kind and watches it from there. Raises ``Departed`` when it has no reason to list."""
        await self._list(self.host(host), kind.resource_info.group_resource)

    async def list_all(self, host: str) -> None:
        """Every cache of a host that has to list does so."""
        for resource in self.host(host).unlisted:
            await self._list(self.host(host), resource)

    async def _list(self, at: Host, resource: GroupResource) -> None:
        stream = at.transport.streams.get(resource)
        if stream is not None and stream.is_closed:
            stream.inject(GONE)
            await self._until(lambda: resource in at.lists.waiting, f"{at.name} was to list {resource} again")
        at.lists.open(resource, None)
        await self.quiet()

    def undelivered(self, host: str, kind: type[Resource]) -> int:
        """Return how many events of a kind are on their way to a host's cache."""
        return len(self.host(host).stream(kind).held)

    async def deliver(self, host: str, kind: type[Resource]) -> JsonObject:
        """The oldest event of a kind reaches a host's cache; answers it. Raises ``Departed`` when there is none."""
        event = self.host(host).stream(kind).deliver()
        if event is None:
            raise Departed(f"no event of {kind.__name__} is on its way to {host}")
        await self.quiet()
        return event

    async def close_watch(self, host: str, kind: type[Resource]) -> None:
        """The server forgets how far a watch was (410): the cache must list again. What was on its way is lost.

        The cache finds out when it lists, so that a list is one step: what was written before it began is shown by it.
        """
        self.host(host).stream(kind).lose()

    # Workers.

    async def begin(self, host: str, controller: str) -> Key:
        """A free worker takes the next key and runs up to what others could notice; answers the key."""
        at = self.host(host)
        queue = at.queue(controller)
        before = queue.core.processing
        worker = at.begin(controller)
        await self.quiet()
        (key,) = queue.core.processing - before
        at.hold(worker, key)
        await self._settle(at, worker)
        return key

    def asks(self, host: str, controller: str, key: Key | int) -> Effect[Any]:
        """Return the next effect of the reconcile of a key, or of background work at a place; raises ``Departed``."""
        at = self.host(host)
        worker = at.holder(controller, key)
        if worker in at.gathers:
            return at.gathers[worker]
        effect = at.effects.waiting[worker]
        assert effect is not None, "a reconcile that has ended is never left waiting"
        return effect

    def open_parts(self, host: str, controller: str, key: Key | int) -> Sequence[Effect[Any]]:
        """Return the effects that were asked for and not answered yet, in order. Raises ``Departed``."""
        at, effect = self.host(host), self.asks(host, controller, key)
        worker = at.holder(controller, key)
        if not isinstance(effect, Gather):
            return (effect,)
        if worker in at.effects.waiting:
            return effect.effects
        return [each for part, each in sorted(at.parts.waiting.items(), key=_place) if part.whole == worker]

    async def go_on(
        self, host: str, controller: str, key: Key | int, outcome: Outcome = "answered"
    ) -> Sequence[Performed]:
        """The reconcile of a key, or work at a place, gets what it asks for and runs on; answers the requests.

        ``outcome`` is what becomes of these requests. Raises ``Departed`` when there is no such reconcile.
        """
        at = self.host(host)
        worker = at.holder(controller, key)
        at.transport.performed.clear()
        at.effects.open(worker, None)
        return await self._run_on(at, worker, outcome)

    async def work_on(
        self, host: str, controller: str, place: int, outcome: Outcome = "answered"
    ) -> Sequence[Performed]:
        """Background work begins at a place, or the piece that is there goes on. Raises ``Departed``."""
        at, worker = self.host(host), Worker(controller, FIRST + place)
        at.transport.performed.clear()
        if at.background.begin(controller, place) is None:
            at.effects.open(worker, None)
        return await self._run_on(at, worker, outcome)

    async def _run_on(self, at: Host, worker: Worker, outcome: Outcome) -> Sequence[Performed]:
        """Let what is under way get to the next thing that others could notice, or to its end."""
        await self.quiet()
        while not at.has_stopped(worker):
            if worker in at.requests.waiting:
                at.requests.open(worker, outcome)
                await self.quiet()
            else:
                await self._until(
                    lambda: at.is_waiting(worker) or at.has_stopped(worker), f"{worker} on {at.name} was to go on"
                )
        await self._settle(at, worker)
        return tuple(at.transport.performed)

    async def cancel(self, host: str, controller: str, key: Key | int, *, is_late: bool) -> Sequence[ClientRequest]:
        """Cancel what is under way where it waits; answers the requests that it had sent. Raises ``Departed``.

        ``is_late`` when its time limit is over; otherwise its process stops. What becomes of the requests is not known.
        """
        at = self.host(host)
        worker = at.holder(controller, key)
        sent: Sequence[ClientRequest] = ()
        if not isinstance(self.asks(host, controller, key), Call):
            sent = await self._sent(at, worker)
        at.transport.left_over.clear()
        at.transport.performed.clear()
        at.end(worker, is_late=is_late)
        await self._run_on(at, worker, "answered")
        at.gathers.pop(worker, None)
        at.transport.left_over.clear()
        return sent

    async def _sent(self, at: Host, worker: Worker) -> Sequence[ClientRequest]:
        """Let all that a worker asks for be on its way; answers the requests, in the order of the effects."""
        if worker in at.effects.waiting:
            at.effects.open(worker, None)
            await self.quiet()
        for part, effect in sorted(at.parts.waiting.items(), key=_place):
            if part.whole != worker or isinstance(effect, Call):  # who cancels says what becomes of calls
                continue
            at.parts.open(part, None)
            await self.quiet()
        return [at.requests.waiting[each] for each in sorted(at.requests.waiting) if each.whole == worker]

    async def stop(self, host: str) -> None:
        """A host is told to stop: nothing new begins."""
        self.host(host).stop()
        await self.quiet()

    async def go_on_with(
        self,
        host: str,
        controller: str,
        key: Key | int,
        choose: Callable[[Effect[Any]], bool],
        which: int | None,
        outcome: Outcome = "answered",
    ) -> Sequence[Performed]:
        """One of several effects that were asked for together is performed: number ``which``, or the one that fits."""
        at = self.host(host)
        worker = at.holder(controller, key)
        at.transport.performed.clear()
        part = await self._part(at, worker, choose, which)
        told = len(at.answers)
        at.parts.open(part, None)
        await self.quiet()
        while len(at.answers) == told:
            if part in at.requests.waiting:
                at.requests.open(part, outcome)
                await self.quiet()
            else:
                await self._until(
                    lambda: part in at.requests.waiting or len(at.answers) > told, f"{part} on {host} was to go on"
                )
        await self._settle(at, worker)
        return tuple(at.transport.performed)

    async def send_only(self, host: str, controller: str, key: Key | int) -> ClientRequest:
        """The reconcile of a key asks for what it wants, and its request is on its way; answers the request."""
        at = self.host(host)
        worker = at.holder(controller, key)
        at.effects.open(worker, None)
        await self._until(lambda: worker in at.requests.waiting, f"{worker} on {host} was to send a request")
        return at.requests.waiting[worker]

    async def send_part(
        self, host: str, controller: str, key: Key | int, choose: Callable[[Effect[Any]], bool], which: int | None
    ) -> ClientRequest:
        """The same for one of several effects that were asked for together."""
        at = self.host(host)
        part = await self._part(at, at.holder(controller, key), choose, which)
        at.parts.open(part, None)
        await self._until(lambda: part in at.requests.waiting, f"{part} on {host} was to send a request")
        return at.requests.waiting[part]

    async def _part(self, at: Host, worker: Worker, choose: Callable[[Effect[Any]], bool], which: int | None) -> Worker:
        """The part of a worker that is meant; raises ``Departed``."""
        if worker in at.effects.waiting:
            at.effects.open(worker, None)
            await self.quiet()
        fitting = [part for part, effect in at.parts.waiting.items() if part.whole == worker and choose(effect)]
        chosen = [part for part in fitting if which is None or part.part == which or len(fitting) == 1]
        if len(chosen) != 1:
            raise Departed(f"{worker} on {at.name} was to perform one of several effects; {len(chosen)} of them fit")
        return chosen[0]

    async def resync(self, host: str, controller: str) -> None:
        """All objects of a controller are reconciled again, although nothing changed."""
        at = self.host(host)
        at.queue(controller)
        for running in at.manager.controllers:
            if running.declared.name == controller:
                running.resync_nowait()
        await self.quiet()

    async def tick(self) -> None:
        """Time goes on to the next instant; raises ``Departed`` when there is none."""
        if not self.source.tick():
            raise Departed("there is no later instant")

    async def fire(self, host: str, controller: str, key: Key, *, is_scheduled: bool | None = None) -> None:
        """The delay of a key is over: one that ``ctx.schedule`` asked for, or another one, or any."""
        self.host(host).queue(controller).fire(key, is_scheduled=is_scheduled)
        await self.quiet()

    async def _settle(self, at: Host, worker: Worker) -> None:
        """Let a reconcile have what nobody else can notice, and its end."""
        while worker in at.effects.waiting:
            effect = at.effects.waiting[worker]
            if effect is not None and not self._is_local(at, worker, effect):
                return
            at.effects.open(worker, None)
            await self.quiet()

    def _is_local(self, at: Host, worker: Worker, effect: Effect[Any]) -> bool:
        """Return whether nobody else can notice an effect; background work can notice a change of the memory."""
        is_shared = isinstance(effect, MEMORY) and not at.background.is_idle(worker.controller)
        return isinstance(effect, self._local) and not is_shared

    async def _until(self, condition: Callable[[], bool], expected: str) -> None:
        """Let only the time pass that the runtime itself wants to wait before it does what is expected."""
        waited_s = 0.0
        await self.quiet()
        while not condition():
            if waited_s >= PATIENCE_S:
                raise Departed(f"{expected}, and did not within {PATIENCE_S:g} s")
            await asyncio.sleep(TICK_S)
            waited_s += TICK_S
            await self.quiet()

    # The server's own.

    async def send(self, request: ClientRequest) -> ClientResponse:
        """A user's request."""
        response = await self.client.transport.send(request)
        await self.quiet()
        return response

    async def garbage(self) -> Sequence[Operation]:
        """Return the operations that garbage collection would do now."""
        snapshot = await self.cluster.store.snapshot()
        return list(plan_garbage(snapshot, {found.group_kind: found for found in kinds_in(snapshot).values()}))

    async def collect(self, resource: str, key: Key) -> None:
        """Garbage collection does to one object what ownership asks for. Raises ``Departed`` when that is nothing."""
        await self._perform_one(await self.garbage(), resource, key, "garbage collection")

    async def ending(self) -> Sequence[Operation]:
        """Return the operations that the deletion of namespaces asks for now."""
        snapshot = await self.cluster.store.snapshot()
        return list(plan_namespaces(snapshot, kinds_in(snapshot).values()))

    async def end_namespace(self, resource: str, key: Key) -> None:
        """One step towards the end of a namespace in deletion. Raises ``Departed`` when there is none such."""
        await self._perform_one(await self.ending(), resource, key, "the end of a namespace")

    async def _perform_one(self, planned: Sequence[Operation], resource: str, key: Key, what: str) -> None:
        for op in planned:
            if (op.resource, op.namespace, op.name) == (resource, *key):
                await self.cluster.server.perform(op)
                await self.quiet()
                return
        raise Departed(f"{what} has nothing to do to {resource} {key}")

    async def objects(self, kind: type[Resource]) -> Sequence[JsonObject]:
        """Return the server's objects of a kind, in order of keys."""
        info = kind.resource_info
        prefix = f"/apis/{info.group}/{info.version}" if info.group else f"/api/{info.version}"
        answer = await self.client.transport.send(ClientRequest("GET", f"{prefix}/{info.resource}"))
        head = {"apiVersion": f"{info.group}/{info.version}".lstrip("/"), "kind": info.kind}
        return [{**head, **item} for item in orjson.loads(answer.body)["items"]]


def _place(waiting: tuple[Worker, Effect[Any]]) -> Worker:
    return waiting[0]

"""``DirectedRuntime``: a server, hosts and users; each method makes one thing happen and waits until all is quiet."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.garbage import plan_garbage
from attractor.embedded import EmbeddedCluster
from attractor.embedded.controllers import kinds_in
from attractor.objects.builtin.apiextensions_v1 import CustomResourceDefinition
from attractor.testing.directed.gates import Departed, Worker
from attractor.testing.directed.host import Host
from attractor.testing.virtualtime import VirtualSource, VirtualTime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from attractor.client import Client, ClientRequest, ClientResponse
    from attractor.objects.gvk import Key
    from attractor.objects.jsontypes import JsonObject
    from attractor.objects.resource import Resource
    from attractor.runtime import Controller
    from attractor.runtime.effects import Effect
    from attractor.testing.directed.transport import Outcome, Performed

PATIENCE_S = 60.0
"""How long a part may wait for a delay of its own (a retry, a watch that opens again) before it has departed."""
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
        objects: Sequence[Resource] = (),
        externals: Mapping[Any, object] | None = None,
        workers: int | None = None,
        own_writes: bool = True,
    ) -> None:
        self._controllers = tuple(controllers)
        self._objects = tuple(objects)
        self._externals = dict(externals or {})
        self._workers = workers
        self._own_writes = own_writes
        self.clock = VirtualTime()
        self.cluster = EmbeddedCluster(controllers=(), source=VirtualSource(self.clock))
        self._stack = AsyncExitStack()
        self._group = asyncio.TaskGroup()
        self._hosts: dict[str, Host] = {}
        self._left_over: dict[str, list[ClientRequest]] = {}
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """The users' hand: never delayed, never disturbed."""
        assert self._client is not None, "the runtime is not set up: use `async with`"
        return self._client

    async def __aenter__(self) -> Self:
        self._stack.enter_context(self.clock.install(asyncio.get_running_loop()))
        await self._stack.enter_async_context(self.cluster)
        self._client = await self._stack.enter_async_context(self.cluster.client())
        await self._install()
        for one in self._objects:
            await self.client.create(one)
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in tuple(self._hosts):
            await self.crash(name)
        await self._group.__aexit__(None, None, None)
        await self._stack.aclose()

    async def _install(self) -> None:
        kinds = {kind for one in self._controllers for kind in one.kinds} | {type(one) for one in self._objects}
        for kind in sorted(kinds, key=lambda kind: str(kind.gvk)):
            if not kind.resource_info.definition:
                await self.client.create(CustomResourceDefinition.from_dict(kind.crd()))

    # Hosts.

    async def start(self, name: str) -> None:
        """Start a host: its caches list what is there, its controllers run, and no worker has begun."""
        if name in self._hosts:
            raise Departed(f"{name} runs already")
        self._hosts[name] = Host(
            name,
            self.cluster.transport(),
            self._controllers,
            group=self._group,
            now=self.clock.now,
            externals=self._externals,
            workers=self._workers,
            own_writes=self._own_writes,
        )
        await self.clock.quiet()
        if not self._hosts[name].is_running:
            raise Departed(f"{name} does not start: {self._hosts[name].manager.cache.health()}")

    async def crash(self, name: str) -> None:
        """End a host at once. What it had sent may still arrive: see ``arrive``."""
        host = self.host(name)
        del self._hosts[name]
        left = host.kill()
        await self.clock.quiet()
        self._left_over.setdefault(name, []).extend(left)

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
        from attractor.testing.directed.transport import Performed

        left = self._left_over.get(name, [])
        if number >= len(left):
            raise Departed(f"{name} left {len(left)} requests on their way, so there is none of number {number}")
        request = left.pop(number)
        response = await self.client.transport.send(request)
        await self.clock.quiet()
        return Performed(request, response)

    # Workers.

    async def begin(self, host: str, controller: str, worker: int) -> Key:
        """A worker takes the next key; answers it. Raises ``Departed`` when no key waits."""
        at, who = self.host(host), Worker(controller, worker)
        queue = at.queue(controller)
        if not len(queue):
            raise Departed(f"no key waits in the queue of {controller} on {host}")
        before = queue.core.processing
        at.begins.open(who, None)
        await self.clock.quiet()
        (key,) = queue.core.processing - before
        return key

    def asks(self, host: str, controller: str, worker: int) -> Effect[Any] | None:
        """The effect that a worker is about to ask for; None when it is about to finish. Raises ``Departed``."""
        at, who = self.host(host), Worker(controller, worker)
        waiting = at.effects.waiting
        if who not in waiting:
            raise Departed(f"{who} on {host} was to be inside a reconcile; it {at.state_of(who)}")
        return waiting[who]

    async def step(self, host: str, controller: str, worker: int) -> None:
        """Let a worker ask for its effect, or finish. If the effect needs the server, its request waits then."""
        self.host(host).effects.open(Worker(controller, worker), None)
        await self.clock.quiet()

    def sends(self, host: str, controller: str, worker: int) -> ClientRequest | None:
        """The request that a worker is about to send; None when it sends none."""
        return self.host(host).requests.waiting.get(Worker(controller, worker))

    async def perform(self, host: str, controller: str, worker: int, outcome: Outcome = "answered") -> Performed:
        """Let a worker's request have its turn; answers it, with what the server answered. Raises ``Departed``."""
        at, who = self.host(host), Worker(controller, worker)
        if who in at.effects.waiting:
            await self.step(host, controller, worker)
        await self._until(lambda: who in at.requests.waiting, f"{who} on {host} was to send a request")
        at.requests.open(who, outcome)
        await self.clock.quiet()
        return at.transport.performed.pop()

    async def fire(self, host: str, controller: str, key: Key) -> None:
        """The delay of a key is over."""
        self.host(host).queue(controller).fire(key)
        await self.clock.quiet()

    # Watches.

    def undelivered(self, host: str, kind: type[Resource]) -> int:
        """How many events of a kind are on their way to a host's cache."""
        return len(self.host(host).stream(kind).held)

    async def deliver(self, host: str, kind: type[Resource]) -> JsonObject:
        """The oldest event of a kind reaches a host's cache; answers it. Raises ``Departed`` when there is none."""
        event = self.host(host).stream(kind).deliver()
        if event is None:
            raise Departed(f"no event of {kind.__name__} is on its way to {host}")
        await self.clock.quiet()
        return event

    async def relist(self, host: str, kind: type[Resource]) -> None:
        """The server forgets how far a watch was (410): the cache lists again. What was on its way is lost."""
        at = self.host(host)
        old = at.stream(kind)
        old.held.clear()
        old.inject(GONE)
        await self._until(lambda: at.stream(kind) is not old, f"{host} was to list {kind.__name__} again")

    async def _until(self, condition: Any, expected: str) -> None:
        """Let only the time pass that the runtime itself wants to wait before it does what is expected."""
        waited_s = 0.0
        await self.clock.quiet()
        while not condition():
            if waited_s >= PATIENCE_S:
                raise Departed(f"{expected}, and did not within {PATIENCE_S:g} s")
            await asyncio.sleep(0.05)
            waited_s += 0.05
            await self.clock.quiet()

    # The server's own.

    async def send(self, request: ClientRequest) -> ClientResponse:
        """A user's request."""
        response = await self.client.transport.send(request)
        await self.clock.quiet()
        return response

    async def collect(self, kind: type[Resource], key: Key) -> None:
        """Garbage collection does to one object what ownership asks for. Raises ``Departed`` when that is nothing."""
        snapshot = await self.cluster.store.snapshot()
        kinds = {found.group_kind: found for found in kinds_in(snapshot).values()}
        wanted = kind.resource_info.resource, key.namespace, key.name
        for op in plan_garbage(snapshot, kinds):
            if (op.resource, op.namespace, op.name) == wanted:
                await self.cluster.server.perform(op)
                await self.clock.quiet()
                return
        raise Departed(f"garbage collection has nothing to do to {kind.__name__} {key}")

    async def objects(self, kind: type[Resource]) -> list[JsonObject]:
        """What the server has of a kind, in order of keys."""
        from attractor.client.transport import ClientRequest as Request

        info = kind.resource_info
        prefix = f"/apis/{info.group}/{info.version}" if info.group else f"/api/{info.version}"
        answer = await self.client.transport.send(Request("GET", f"{prefix}/{info.resource}"))
        head = {"apiVersion": f"{info.group}/{info.version}".lstrip("/"), "kind": info.kind}
        return [{**head, **item} for item in orjson.loads(answer.body)["items"]]

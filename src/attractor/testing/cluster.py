"""``ClusterUnderTest``: an embedded cluster with a client that logs, fails on demand, and runs controllers."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from attractor.apiserver.request.caller import User
from attractor.client import Client
from attractor.embedded import EmbeddedCluster
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.objects.errors import AlreadyExists
from attractor.runtime.manager import Manager, wall_clock
from attractor.runtime.manifests import Operator, access, custom_kinds
from attractor.testing.faults import FaultInjector, FaultyTransport
from attractor.testing.request_log import RequestLog
from attractor.testing.virtual_time import VirtualSource
from attractor.testing.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from types import TracebackType
    from typing import Self

    from attractor.objects.resource import Resource
    from attractor.runtime.controller import Controller
    from attractor.testing.virtual_time import VirtualTime
    from attractor.webhooks import Webhook
    from attractor.workloads import Behaviour


NODES = 3
"""How many simulated nodes a cluster with workloads has."""


class ClusterUnderTest:
    """An embedded cluster for tests, with a log of requests and faults on demand.

    ``client`` is the test's own and is never disturbed. Controllers get clients of their own, whose requests are logged
    in ``requests`` and which ``faults`` strike.

    Args:
        clock: Virtual time for the server's time stamps and for managers.
        webhooks: Functions declared with ``validate``, ``mutate`` and ``convert``, which the server asks.
        workloads: Run Kubernetes' workload controllers, a scheduler and simulated nodes: Deployments become ready.
        nodes: How many simulated nodes there are then.
        behaviour: How long their Pods take to start, to become ready and to stop; by default no time.
    """

    def __init__(
        self,
        clock: VirtualTime | None = None,
        *,
        webhooks: Sequence[Webhook] = (),
        workloads: bool = False,
        nodes: int = NODES,
        behaviour: Behaviour | None = None,
    ) -> None:
        self._clock = clock
        self._embedded = EmbeddedCluster(
            source=None if clock is None else VirtualSource(clock),
            webhooks=webhooks,
            nodes=nodes if workloads else 0,
            behaviour=behaviour,
        )
        self._stack = AsyncExitStack()
        self.faults = FaultInjector()
        self.requests = RequestLog()
        self._client: Client | None = None

    @property
    def embedded(self) -> EmbeddedCluster:
        """The cluster itself: its store, its server, ``listen()``."""
        return self._embedded

    @property
    def client(self) -> Client:
        """The test's own client, with every right; never logged, never struck by faults."""
        assert self._client is not None, "the cluster is not running: use `async with`"
        return self._client

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._embedded)
        self._client = await self._stack.enter_async_context(self._embedded.client(field_manager="test"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def controller_client(self, name: str = "", faults: FaultInjector | None = None) -> Client:
        """A client whose requests are logged, and which faults strike.

        Args:
            name: Under which name it is logged.
            faults: Its own faults, instead of the cluster's.
        """
        inner = self._embedded.transport()
        return Client(FaultyTransport(inner, faults or self.faults, self.requests, client=name))

    async def register(self, *webhooks: Webhook) -> None:
        """Have the server ask more functions about writes; the fixture ``attractor_cluster`` begins with none."""
        await self._embedded.register(*webhooks)

    async def install(self, *kinds: type[Resource]) -> None:
        """Create the CustomResourceDefinitions of kinds, and wait until they are served."""
        for definition in self._embedded.definitions(*kinds):
            try:
                await self.client.create(CustomResourceDefinition.from_dict(definition))
            except AlreadyExists:
                continue
        for kind in kinds:
            await eventually(lambda kind=kind: self._is_served(kind))  # type: ignore[misc]

    async def _is_served(self, kind: type[Resource]) -> bool:
        await self.client.list(kind, limit=1)
        return True

    def manager(self, *controllers: Controller, client: Client | None = None, **options: Any) -> Manager:
        """A manager of controllers on this cluster and its clock, not yet running.

        Args:
            *controllers: The controllers.
            client: By default one that is logged and that faults strike.
            **options: Options of ``Manager``.
        """
        now = wall_clock if self._clock is None else self._clock.now
        return Manager(client or self.controller_client(), controllers, **{"now": now, **options})

    @asynccontextmanager
    async def running(
        self, *controllers: Controller, only_granted: bool = False, **options: Any
    ) -> AsyncIterator[Manager]:
        """Run controllers while an ``async with`` block lasts; custom kinds that they declare are installed first.

        Args:
            *controllers: The controllers.
            only_granted: Let them do only what ``attractor manifests`` grants them.
            **options: Options of ``Manager``.
        """
        await self.install(*custom_kinds(controllers))
        if only_granted:
            options["client"] = await self.granted_client(*controllers)
        async with self.manager(*controllers, **options).running() as manager:
            yield manager

    async def granted_client(self, *controllers: Controller, name: str = "operator") -> Client:
        """A client with exactly the rights that ``attractor manifests`` prints for these controllers.

        The ServiceAccount itself is not created, so a test does not find what its controllers did not make.
        """
        operator = Operator(name)
        for document in access(operator, controllers):
            if document["kind"] != "ServiceAccount":
                await self.client.apply(document, field_manager="test", force=True)
        user = User(
            f"system:serviceaccount:{operator.namespace}:{name}",
            groups=("system:serviceaccounts", f"system:serviceaccounts:{operator.namespace}", "system:authenticated"),
        )
        return Client(FaultyTransport(self._embedded.transport(user), self.faults, self.requests, client=name))

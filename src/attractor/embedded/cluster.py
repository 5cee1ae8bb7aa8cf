"""A whole cluster in one process.

    async with EmbeddedCluster(store="memory") as cluster:
        namespaces = await cluster.client().list(Namespace)
        address = await cluster.listen()

Guarantees: inside the ``async with`` the server answers, in process and on every address it listens on; on leaving,
addresses are given up first, running requests are answered, controllers stop, and the store is flushed and closed last.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from attractor.apiserver.admission.chain import chain_with
from attractor.apiserver.admission.plugins import plugins_named
from attractor.apiserver.admission.plugins.privileged import NoPrivilegedContainers
from attractor.apiserver.admission.required_rights import required_rights
from attractor.apiserver.audit.policy import METADATA_ONLY
from attractor.apiserver.auth.authorizer import AnonymousRead
from attractor.apiserver.auth.rbac import RbacAuthorizer
from attractor.apiserver.auth.reviews import Reviewer, Verified
from attractor.apiserver.auth.service_accounts.claims import API_AUDIENCES
from attractor.apiserver.core import Core
from attractor.apiserver.server import Server
from attractor.client.client import Client
from attractor.embedded.bootstrap import (
    create_default_roles,
    create_fresh_objects,
    create_priority_classes,
    flow_control,
    publish_authentication,
)
from attractor.embedded.compaction import expire_versions
from attractor.embedded.controllers import CONTROLLERS, Controllers
from attractor.embedded.endpoints import place_of
from attractor.embedded.in_process import InProcessTransport
from attractor.embedded.presence import Presence
from attractor.embedded.source import SystemSource
from attractor.embedded.tokens import ServiceAccountTokens, ensure_token_key
from attractor.embedded.webhooks import Webhooks
from attractor.embedded.webhooks.in_process import InProcessWebhooks
from attractor.embedded.webhooks.service_addresses import ServiceAddresses
from attractor.embedded.workloads import running_workloads
from attractor.httpd.audit.trail import Auditor
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from attractor.httpd.fairness import Fairness
from attractor.httpd.limits import DEFAULT_LIMITS
from attractor.httpd.listener import Listener
from attractor.httpd.pages.fairness import metric_lines
from attractor.httpd.pages.metrics import Metrics
from attractor.httpd.pages.zpages import ServerFacts
from attractor.httpd.router import Router
from attractor.httpd.watch.streams import WatchHub
from attractor.store.contract import Claimant, StoreError
from attractor.store.factory import open_store
from attractor.wire.prometheus import process_metrics
from attractor.workloads import Behaviour

if TYPE_CHECKING:
    import ssl
    from collections.abc import Collection, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from attractor.apiserver.admission.plugin import Plugin
    from attractor.apiserver.audit.policy import Policy
    from attractor.apiserver.auth.authorizer import Authorizer
    from attractor.apiserver.request.caller import User
    from attractor.apiserver.transaction import Source
    from attractor.httpd.audit.trail import AuditSink
    from attractor.httpd.limits import Limits
    from attractor.httpd.pod_logs import PodLogs
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource, Scheme
    from attractor.store.contract import Store
    from attractor.webhooks import Webhook

GRACE_S = 4.0
WITHDRAWAL_S = 0.5
"""How long a server that stops tries to take its address out of the endpoints."""
PAUSE_S = 0.05
"""A pod waits twenty times as long, a second as in Kubernetes, for its new namespace's service account."""


class Address(NamedTuple):
    """Where a listener can be reached."""

    host: str
    port: int
    is_tls: bool

    @property
    def url(self) -> str:
        """For clients."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_tls else 'http'}://{host}:{self.port}"


class EmbeddedCluster:
    """A Kubernetes API server with its store and controllers, in this process.

        async with EmbeddedCluster("sqlite:cluster.db") as cluster:
            namespaces = await cluster.client().list(Namespace)
            address = await cluster.listen()          # for kubectl and every other client

    Guarantees: inside the ``async with`` the server answers, in process and on every address it listens on. On leaving,
    addresses are closed first, running requests are answered, controllers stop, and the store is closed last.

    Args:
        store: ``"memory"``, ``"sqlite:PATH"``, ``"etcd:HOST:PORT"``, or a store that is open.
        controllers: Which of Kubernetes' controllers run, such as ``garbage-collector``.
        source: Time and randomness; by default the system's.
        authenticator: Who callers over HTTP are.
        authorizer: What they may do; by default RBAC.
        anonymous_read: Let callers without credentials read.
        limits: Sizes, rates and times of requests.
        service_addresses: Where services of webhooks really are, by namespace and name.
        pod_logs: Where logs of pods come from.
        root_ca: The certificate that pods are given to trust the server.
        client_ca: The certificate authority of client certificates, as published to the cluster.
        admission: Plug-ins of your own, called after the built-in ones.
        webhooks: Functions declared with ``validate``, ``mutate`` and ``convert``, which the server asks in process.
        admission_plugins: Built-in plug-ins of kube-apiserver to switch on, by name; with any, a fresh cluster also
            gets the objects that a real one begins with.
        without_admission: Built-in plug-ins to switch off, by name.
        allow_privileged: Accept privileged containers.
        audit: Where audit events go; ``None`` for no audit log.
        audit_policy: Which requests are audited, and how much of them.
        flags: Command line flags to show on ``/flagz``.
        nodes: How many simulated nodes there are. With any, Kubernetes' workload controllers, a scheduler and simulated
            kubelets run, too: a Deployment that is created becomes ready.
        behaviour: How long simulated Pods take for each stage of their life; by default no time.
    """

    def __init__(
        self,
        store: str | Store = "memory",
        *,
        controllers: Collection[str] = CONTROLLERS,
        source: Source | None = None,
        authenticator: Authenticator | None = None,
        authorizer: Authorizer | None = None,
        anonymous_read: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        service_addresses: Mapping[tuple[str, str], tuple[str, int]] | None = None,
        pod_logs: PodLogs | None = None,
        root_ca: str = "",
        client_ca: str = "",
        admission: Sequence[Plugin] = (),
        webhooks: Sequence[Webhook] = (),
        admission_plugins: Collection[str] = (),
        without_admission: Collection[str] = (),
        allow_privileged: bool = True,
        audit: AuditSink | None = None,
        audit_policy: Policy = METADATA_ONLY,
        flags: Mapping[str, str] | None = None,
        nodes: int = 0,
        behaviour: Behaviour | None = None,
    ) -> None:
        self._given = store
        self._admission = tuple(admission)
        self._webhooks = tuple(webhooks)
        self._in_process: InProcessWebhooks | None = None
        self._has_priorities = "Priority" in admission_plugins
        self._is_whole = bool(admission_plugins)
        self._controllers = controllers
        self._source = source or SystemSource()
        self.authenticator = authenticator or Authenticator()
        self._authorizer = authorizer or RbacAuthorizer()
        if anonymous_read:
            self._authorizer = AnonymousRead(self._authorizer)
        capabilities = () if allow_privileged else (NoPrivilegedContainers(),)
        self._chain = chain_with(
            (*capabilities, *plugins_named(admission_plugins)), self._authorizer, without=without_admission
        )
        self._limits = limits
        self._service_addresses = service_addresses
        self._pod_logs = pod_logs
        self._root_ca = root_ca
        self._client_ca = client_ca
        self._audit = audit
        self._audit_policy = audit_policy
        self._flags = flags or {}
        self._nodes, self._behaviour = nodes, behaviour or Behaviour()
        self.metrics = Metrics()
        self._stack = AsyncExitStack()
        self._listeners: list[Listener] = []
        self._presence: Presence | None = None
        self._router: Router | None = None
        self.fairness: Fairness | None = None
        """Who waits for whom, while the cluster runs."""
        self._server: Server | None = None

    @property
    def server(self) -> Server:
        """The API server without HTTP; only while the cluster runs."""
        assert self._server is not None, "the cluster is not running: use `async with EmbeddedCluster() as cluster`"
        return self._server

    @property
    def store(self) -> Store:
        """The store that holds the cluster's state; only while the cluster runs."""
        return self.server.store

    def client(self, user: User = ADMIN, *, scheme: Scheme | None = None, field_manager: str = "") -> Client:
        """A client without a socket; closing it ends its watches.

        Args:
            user: On whose behalf; by default an administrator with every right.
            scheme: The classes that objects of mixed kinds are read as.
            field_manager: Who the server records as the owner of the fields that are written.
        """
        return Client(self.transport(user), scheme=scheme, field_manager=field_manager)

    def transport(self, user: User = ADMIN) -> InProcessTransport:
        """The transport behind ``client``, for a client that is put together by hand."""
        assert self._router is not None, "the cluster is not running: use `async with EmbeddedCluster() as cluster`"
        return InProcessTransport(self._router, user)

    def _reviewer(self, tokens: ServiceAccountTokens) -> Reviewer:
        """Reviews are answered by those who decide on requests; static tokens are good for any audience."""

        def verify(token: str, audiences: Sequence[str]) -> Verified | None:
            user = self.authenticator.static_user_of(token.encode())
            if user is None:
                return tokens.verify(token, audiences)
            good_for = tuple(one for one in audiences or API_AUDIENCES if one in API_AUDIENCES)
            return Verified(user, good_for) if good_for else None

        return Reviewer(self._authorizer, RbacAuthorizer().rules, verify)

    def _auditor(self) -> Auditor | None:
        audit = self._audit
        if audit is None:
            return None
        self.metrics.gauge("attractor_audit_lost_lines", "Audit lines not kept.", lambda: float(audit.lost))
        return Auditor(audit, self._audit_policy, self._source.now_micro)

    async def __aenter__(self) -> Self:
        if self._audit is not None:
            self._stack.push_async_callback(self._audit.aclose)
        try:
            store = await open_store(self._given) if isinstance(self._given, str) else self._given
            self._stack.push_async_callback(store.aclose)
            webhooks = Webhooks(ServiceAddresses(store.snapshot_nowait, self._service_addresses))
            self._stack.callback(webhooks.close)
            self._in_process = InProcessWebhooks(webhooks)
            tokens = ServiceAccountTokens(store, self._source)
            self.authenticator.others.append(tokens.user_of)
            self._stack.callback(self.authenticator.others.remove, tokens.user_of)
            server = Server(
                store,
                self._source,
                Core((*required_rights(self._authorizer), *self._chain, *self._admission), self._reviewer(tokens)),
                self._in_process,
            )
            if isinstance(store, Claimant):
                store.claimed, server.retries.claim = server.retries.give_way, store.claim
            if "service-accounts" in self._controllers:
                server.pause = lambda: asyncio.sleep(PAUSE_S)
            is_fresh = not (await store.snapshot()).count("")
            await server.start()
            await (create_fresh_objects(server) if self._is_whole else create_default_roles(server))
            if self._is_whole:
                await publish_authentication(server, self._client_ca)
            if self._has_priorities:
                await create_priority_classes(server)
            await ensure_token_key(store)
            await self._in_process.forget(server)
            await self._in_process.register(server, self._webhooks)
            if is_fresh:
                # What the cluster begins with is no history: a watch from before it is told to list first.
                await store.compact(store.revision)
            expiry = asyncio.create_task(expire_versions(server), name="expiry of versions")
            self._stack.callback(expiry.cancel)
            controllers = Controllers(server, self._controllers, root_ca=self._root_ca)
            await self._stack.enter_async_context(controllers)
            if self._is_whole:
                self._presence = Presence(server)
                await self._stack.enter_async_context(self._presence.kept())
            hub = WatchHub(store, self.metrics)
            self.fairness = fairness = Fairness(store, defaults=flow_control())
            self._stack.callback(fairness.close)
            self.metrics.more.append(partial(metric_lines, fairness))
            self._router = Router(
                server,
                hub,
                authenticator=self.authenticator,
                authorizer=self._authorizer,
                metrics=self.metrics,
                limits=self._limits,
                pod_logs=self._pod_logs,
                auditor=self._auditor(),
                facts=ServerFacts(self._flags),
                fairness=fairness,
            )
            if self._nodes:
                client = await self._stack.enter_async_context(self.client())
                workloads = running_workloads(client, self._source, self._nodes, self._behaviour)
                await self._stack.enter_async_context(workloads)
        except BaseException:
            await self._stack.aclose()
            raise
        self._server = server
        self.metrics.gauge("attractor_store_revision", "The store's newest revision.", lambda: float(store.revision))
        self.metrics.more += [metric.lines for metric in process_metrics()]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._router is not None:
            self._router.is_ready = False
        async with asyncio.TaskGroup() as group:
            for listener in self._listeners:
                group.create_task(listener.aclose(GRACE_S))
        if self._presence is not None:
            with suppress(StoreError, TimeoutError):  # a store that is gone is not waited for
                async with asyncio.timeout(WITHDRAWAL_S):
                    await self._presence.leave()
        await self._stack.aclose()

    async def register(self, *webhooks: Webhook) -> None:
        """Have the server ask functions of this process, besides those that it asks already.

        Of a kind with conversions, create what ``definitions`` makes.

        Args:
            *webhooks: Declared with ``validate``, ``mutate`` and ``convert``.

        Raises:
            WebhookError: One is no declaration, or two have the same name.
        """
        assert self._in_process is not None, "the cluster is not running: use `async with EmbeddedCluster() as cluster`"
        await self._in_process.register(self.server, webhooks)

    def definitions(self, *kinds: type[Resource]) -> list[JsonObject]:
        """The CustomResourceDefinitions of kinds, with the versions that registered conversions know.

        Args:
            *kinds: Their classes.
        """
        assert self._in_process is not None, "the cluster is not running: use `async with EmbeddedCluster() as cluster`"
        return self._in_process.hooks.definitions(kinds)

    async def listen(self, host: str = "127.0.0.1", port: int = 0, *, tls: ssl.SSLContext | None = None) -> Address:
        """Serve HTTP on an address until the cluster ends; returns the address.

        Args:
            host: An address of this machine.
            port: 0 for a free one.
            tls: Serve HTTPS with this context.

        Raises:
            OSError: The address cannot be used.
        """
        assert self._router is not None, "the cluster is not running: use `async with EmbeddedCluster() as cluster`"
        listener = Listener(
            self._router,
            limits=self._limits,
            observer=self.metrics,
            tls=tls,
            gate=self._router.turned_away,
        )
        await listener.start(host, port)
        self._listeners.append(listener)
        if self._presence is not None:
            await self._presence.join(await place_of(host, listener.port))
        return Address(host, listener.port, tls is not None)

"""The controllers that a control plane is expected to have, driven inside the server.

What each one does is a planner in ``attractor.apiserver``: from a snapshot to the operations that bring the cluster one
step further. Here is the loop that drives them: when a change concerns a controller (``change_notifier``), plan and
perform until nothing is left to do. Level-based: what was missed, refused or overtaken is planned again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from attractor.apiserver.admission.plugins.quota import QUOTAS
from attractor.apiserver.auth.authorizer import AUTHENTICATED, MASTERS
from attractor.apiserver.controllers.api_services import SERVICES, plan_api_services
from attractor.apiserver.controllers.disruption_budgets import BUDGETS, plan_budgets
from attractor.apiserver.controllers.expiry import plan_events, plan_leases
from attractor.apiserver.controllers.flow_schemas import plan_flow_schemas
from attractor.apiserver.controllers.garbage import Collector
from attractor.apiserver.controllers.namespace_content import ROOT_CA, plan_root_ca, plan_service_accounts
from attractor.apiserver.controllers.quota_status import gives_back, plan_quotas
from attractor.apiserver.controllers.role_aggregation import PREFIX as ROLES
from attractor.apiserver.controllers.role_aggregation import plan_aggregation
from attractor.apiserver.controllers.storage_protection import PROTECTED, plan_storage_protection
from attractor.apiserver.controllers.termination import plan_definitions, plan_namespaces
from attractor.apiserver.fairness.configuration import LEVELS, SCHEMAS
from attractor.apiserver.kinds.custom import registry as custom_registry
from attractor.apiserver.kinds.registry import builtin_kind, served_builtin
from attractor.apiserver.request.caller import User
from attractor.embedded.controllers.change_notifier import ChangeNotifier
from attractor.embedded.controllers.ownership import OwnershipChanges
from attractor.objects.errors import ApiError, Conflict, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from types import TracebackType
    from typing import Self

    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.operation import Operation
    from attractor.apiserver.server import Server
    from attractor.store.contract import Event, Snapshot, Store

    Question = Callable[[Event], bool]

log = logging.getLogger("attractor.controllers")

REST = 4
"""A planner rests so many times as long as its last plan took, so that it never has more than a fifth of the core."""
RETRY_S = 1.0
"""When nothing could be done although something should be, look again after this time."""

_LAST = "\U0010ffff"
_OWNED, _DELETED, _MANAGERS = b'"ownerReferences"', b'"deletionTimestamp"', b'"managedFields":['

EXPIRY_PERIOD_S = 60.0
"""How often what has expired is looked for."""
QUOTA_PERIOD_S = 300.0
"""How often quotas are counted although nothing was given back: a request may be charged and then refused."""


@dataclass(frozen=True, slots=True)
class Controller:
    """A planner and what wakes it."""

    name: str
    concerns: Callable[[Store], Question]
    """Whether a change of a store may give it something to do; false alarms cost time, missed ones are bugs."""
    plan: Callable[[Snapshot, Facts], Iterable[Operation]]
    period_s: float | None = None
    """How often it looks although nothing has changed: for what time alone brings about."""


class Facts(NamedTuple):
    """Facts that a planner may know beside the store."""

    now: str
    root_ca: str
    """The certificate that clients inside the cluster verify this server by, PEM; empty when there is none."""
    collector: Collector
    """Knows who owns whom, and has heard of everything that the snapshot shows."""


class UnknownController(ValueError):
    """There is no controller of that name; the text lists those there are."""


def _resources(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Group and resource of everything that has objects, found by hopping from prefix to prefix."""
    after = ""
    while found := snapshot.range("", after=after, limit=1):
        group, resource, _ = found[0].key.split("/", 2)
        yield ("" if group == "core" else group), resource
        after = f"{group}/{resource}/{_LAST}"


def kinds_in(snapshot: Snapshot) -> dict[tuple[str, str], Kind]:
    """The kinds that have objects, by group and resource, each in one served version."""
    versions: dict[tuple[str, str], list[str]] = {}
    for info in served_builtin():
        versions.setdefault((info.gvk.group, info.resource), []).append(info.gvk.version)
    found: dict[tuple[str, str], Kind] = {}
    for group, resource in _resources(snapshot):
        for version in versions.get((group, resource), ()):
            kind = builtin_kind(group, version, resource)
            if kind is not None:
                found[group, resource] = kind
                break
    for entry in snapshot.range(custom_registry.PREFIX):
        for kind in custom_registry.served_kinds(entry.value).values():
            found.setdefault((kind.gvk.group, kind.resource), kind)
    return found


def _plan_garbage(snapshot: Snapshot, facts: Facts) -> Iterable[Operation]:
    return facts.collector.plan(snapshot, {kind.group_kind: kind for kind in kinds_in(snapshot).values()})


def _plan_namespaces(snapshot: Snapshot, _facts: Facts) -> Iterable[Operation]:
    return plan_namespaces(snapshot, kinds_in(snapshot).values())


def _is_about_ownership(store: Store) -> Question:
    return OwnershipChanges(store, kinds_in).concern


def _asking(question: Question) -> Callable[[Store], Question]:
    """A question whose answer is the same whatever else is stored."""
    return lambda _store: question


def _is_deletion(event: Event) -> bool:
    return event.value is None or _DELETED in event.value


def _ends_definitions(event: Event) -> bool:
    return event.value is None or (event.key.startswith(custom_registry.PREFIX) and _DELETED in event.value)


@dataclass(frozen=True, slots=True)
class Under:
    """Concerned by every change below these prefixes, and by no other."""

    prefixes: tuple[str, ...]

    def __call__(self, _store: Store) -> Question:
        """The question for a store; the same for all."""
        return lambda event: event.key.startswith(self.prefixes)


def _is_about_root_ca(event: Event) -> bool:
    return event.key.startswith("core/namespaces/") or event.key.endswith(f"/{ROOT_CA}")


_never = _asking(lambda _event: False)


ALL_CONTROLLERS = (
    Controller("garbage-collector", _is_about_ownership, _plan_garbage),
    Controller("namespaces", _asking(_is_deletion), _plan_namespaces),
    Controller("crds", _asking(_ends_definitions), lambda snapshot, facts: plan_definitions(snapshot, facts.now)),
    Controller(
        "service-accounts",
        Under(("core/namespaces/", "core/serviceaccounts/")),
        lambda snapshot, _: plan_service_accounts(snapshot),
    ),
    Controller(
        "root-ca",
        _asking(_is_about_root_ca),
        lambda snapshot, facts: plan_root_ca(snapshot, facts.root_ca),
    ),
    Controller("role-aggregation", Under((ROLES,)), lambda snapshot, _: plan_aggregation(snapshot)),
    Controller(
        "disruption",
        Under(("core/pods/", BUDGETS, "apps/", "core/replicationcontrollers/")),
        lambda snapshot, facts: plan_budgets(snapshot, facts.now),
    ),
    Controller(
        "storage-protection",
        Under(("core/pods/", *PROTECTED)),
        lambda snapshot, _: plan_storage_protection(snapshot),
    ),
    Controller("quotas", _asking(gives_back), lambda snapshot, facts: plan_quotas(snapshot, facts.now), QUOTA_PERIOD_S),
    Controller(
        "flow-schemas", Under((SCHEMAS, LEVELS)), lambda snapshot, facts: plan_flow_schemas(snapshot, facts.now)
    ),
    Controller(
        "api-services", Under((SERVICES, custom_registry.PREFIX)), lambda snapshot, _: plan_api_services(snapshot)
    ),
    Controller("events", _never, lambda snapshot, facts: plan_events(snapshot, facts.now), EXPIRY_PERIOD_S),
    Controller("leases", _never, lambda snapshot, facts: plan_leases(snapshot, facts.now), EXPIRY_PERIOD_S),
)
ALWAYS = frozenset({"crds"})
"""Controllers that run whatever is chosen: kube-apiserver ends definitions itself, without a controller manager."""
CONTROLLERS: tuple[str, ...] = tuple(controller.name for controller in ALL_CONTROLLERS)

_OF_NOTE = (
    *("core/namespaces/", QUOTAS),
    *(each for one in ALL_CONTROLLERS if isinstance(one.concerns, Under) for each in one.concerns.prefixes),
)
"""Where every change may concern a controller."""


def is_of_note(event: Event) -> bool:
    """Whether a change may concern any controller at all; most are told by this one test to concern none.

    Stored metadata is in order, so what marks an object as owned or deleted stands before its managers.
    """
    key, value = event.key, event.value
    if value is None or key.startswith(_OF_NOTE) or key.endswith(ROOT_CA):
        return True
    end = value.find(_MANAGERS)
    end = len(value) if end < 0 else end
    if value.find(_DELETED, 0, end) >= 0 or value.find(_OWNED, 0, end) >= 0:
        return True
    return event.previous is not None and _OWNED in event.previous.value


def chosen(text: str) -> tuple[str, ...]:
    """The controllers that ``all``, ``none`` or a list of names means; raises ``UnknownController``."""
    if text == "all":
        return CONTROLLERS
    if text == "none":
        return ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in CONTROLLERS]
    if unknown or not names:
        wrong, known = ", ".join(unknown) or repr(text), ", ".join(CONTROLLERS)
        raise UnknownController(f"there is no controller {wrong}; give all, none, or some of {known}")
    return names


class Controllers:
    """Runs the chosen controllers from ``async with`` on."""

    def __init__(self, server: Server, names: Collection[str] = CONTROLLERS, *, root_ca: str = "") -> None:
        unknown = set(names) - set(CONTROLLERS)
        if unknown:
            raise UnknownController(f"there is no controller {sorted(unknown)}; there are {', '.join(CONTROLLERS)}")
        self._server = server
        self._root_ca = root_ca
        self._controllers = tuple(one for one in ALL_CONTROLLERS if one.name in names or one.name in ALWAYS)
        self._notifier: ChangeNotifier | None = None
        self._collector = Collector()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._notifier = ChangeNotifier(self._server.store, is_of_note)
        self._notifier.follow(self._collector.take)
        for controller in self._controllers:
            if controller.concerns is _never:
                work = self._run_at_intervals(controller)
            else:
                work = self._run(controller, self._notifier.bell(controller.concerns(self._server.store)))
            self._tasks.append(asyncio.create_task(work, name=f"controller {controller.name}"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._notifier is not None:
            self._notifier.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _run(self, controller: Controller, bell: asyncio.Event) -> None:
        """Drive one controller: whatever the bell rings for is in the snapshot that is planned for next."""
        while True:
            bell.clear()
            took_s = await self._settle(controller)
            with suppress(TimeoutError):
                async with asyncio.timeout(controller.period_s):
                    await bell.wait()
            await asyncio.sleep(took_s * REST)

    async def _run_at_intervals(self, controller: Controller) -> None:
        """Drive a controller that waits for time to pass, not for changes."""
        assert controller.period_s is not None
        while True:
            await self._settle(controller)
            await asyncio.sleep(controller.period_s)

    async def _settle(self, controller: Controller) -> float:
        """Plan and perform until nothing is left to do; answers how long the last plan took, in seconds."""
        while True:
            snapshot = await self._server.store.snapshot()
            assert self._notifier is not None, "controllers run from `async with` on"
            self._notifier.catch_up()
            facts = Facts(self._server.source.now(), self._root_ca, self._collector)
            started = time.perf_counter()
            operations = list(controller.plan(snapshot, facts))
            took_s = time.perf_counter() - started
            if not operations:
                return took_s
            for op in operations:
                await self._perform(controller, op)
            if self._server.store.revision == snapshot.revision:
                await asyncio.sleep(RETRY_S)

    async def _perform(self, controller: Controller, op: Operation) -> None:
        mine = op.copy()
        mine.user = User(f"system:controller:{controller.name}", groups=(MASTERS, AUTHENTICATED))
        try:
            await self._server.perform(mine)
        except (Conflict, NotFound):
            return  # somebody was faster; the next plan sees what they did
        except ApiError as error:
            log.warning(
                "a controller's operation was refused",
                extra={
                    "controller": controller.name,
                    "verb": op.verb,
                    "resource": op.resource,
                    "object": f"{op.namespace}/{op.name}",
                    "code": error.code,
                    "refusal": error.message,
                },
            )

"""``Reporter``: what an agent says of itself beside its work: all that it has, first, and then that it is alive.

The sign of life is the Lease of the agent's account, which the coordinator made; its holder is the session in which
everything was reported. While the two do not hear each other, the agent only asks; it signs again once it has reported
everything anew.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from attractor.k8s.coordination_v1 import Lease
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.resource import MicroTime
from attractor.operators.edge.api.access import account_of
from attractor.operators.edge.api.types import AppInst, ClusterInst
from attractor.operators.edge.drivers.protocols import APP, CLUSTER, DriverError, Ref
from attractor.runtime.observability.field_logger import FieldLogger
from attractor.runtime.toolkit.channel import Channel

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.client import Client
    from attractor.operators.edge.controllers.sessions import Reports, Sessions

LASTS = 4
"""A sign of life counts for so many times the interval between two of them, as for the Leases of Kubernetes nodes."""

ANSWER_S = 10.0
"""How long to wait for answers before the two are taken not to hear each other."""


@dataclass(frozen=True)
class Agent:
    """The agent that gives signs of life, and how often."""

    namespace: str
    version: str
    heartbeat_s: float = 10.0

    @property
    def lease(self) -> Key:
        """The Lease that it renews."""
        return Key(self.namespace, account_of(self.version))


class Reporter:
    """Runs beside the controllers of an agent; its ``keys`` are sources of theirs."""

    def __init__(
        self,
        client: Client,
        agent: Agent,
        driver: Any,
        sessions: Sessions,
        reports: Reports,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._agent = agent
        self._driver = driver
        self._sessions = sessions
        self._reports = reports
        self._now = now
        self._began = now()
        self._log = FieldLogger("attractor.edge.reporter")
        self.keys: dict[str, Channel[Key]] = {CLUSTER: Channel(), APP: Channel()}

    async def run(self) -> None:
        """Report in each session, and give signs of life, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(ANSWER_S):
                    await self._step()
            except TimeoutError:
                self._sessions.broke()
            except (ApiError, DriverError) as error:
                self._log.info("no sign of life", error=str(error))
            await self._sessions.wait_changed(self._agent.heartbeat_s)

    async def _step(self) -> None:
        if not self._sessions.is_up:
            await self._client.get(Lease, self._agent.lease)  # only to hear something
        if self._reports.session != self._sessions.current:
            await self._report(self._sessions.current)
        if not self._reports.owed:
            await self._sign(self._reports.session)

    async def _report(self, session: str) -> None:
        """Ask for a report of all that is there, and of all that should be; the controllers make it."""
        refs: set[Ref] = set()
        if hasattr(self._driver, "inventory"):
            refs.update(ref for ref in await self._driver.inventory() if ref.namespace == self._agent.namespace)
        for kind, name in ((ClusterInst, CLUSTER), (AppInst, APP)):
            listed: list[Any] = await self._client.list(kind, self._agent.namespace)
            refs.update(Ref(name, *obj.key) for obj in listed)
        self._began = self._now()
        self._reports.begin(session, refs)
        for ref in sorted(refs):
            self.keys[ref.kind].send(Key(ref.namespace, ref.name))

    async def _sign(self, session: str) -> None:
        spec = {
            "holderIdentity": session,
            "leaseDurationSeconds": max(1, round(LASTS * self._agent.heartbeat_s)),
            "acquireTime": str(MicroTime.of(self._began)),
            "renewTime": str(MicroTime.of(self._now())),
        }
        await self._client.patch(Lease, self._agent.lease, {"spec": spec})

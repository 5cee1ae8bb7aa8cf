"""Leader election on a Lease: at most one of several processes leads at a time.

The algorithm is client-go's. A candidate takes a Lease that is free, released, or that it has seen unchanged for the
whole lease duration by its own clock (clocks of different machines are never compared). The leader renews it, and stops
leading when it could not for ``renew_deadline_s``, which is shorter than the lease, so that its rivals wait longer than
it works. Every write of the Lease carries its resourceVersion: of two candidates, one gets ``Conflict``.

``Candidate`` is the core: a Lease and the time in, the Lease to write out. ``LeaderElector`` drives it.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from attractor.k8s.coordination_v1 import Lease, LeaseSpec
from attractor.objects.errors import AlreadyExists, ApiError, Conflict, NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import MicroTime, ObjectMeta
from attractor.runtime.observability.field_logger import FieldLogger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from attractor.client import Client


class LeadershipLost(Exception):
    """The Lease could not be renewed in time; this process must not act any more."""


@dataclass(frozen=True)
class Election:
    """Leader election on a Lease: which one, who this process is, and how fast.

    The algorithm and its defaults are client-go's. ``duration_s`` must exceed ``renew_deadline_s``, and that
    ``retry_period_s``; otherwise it raises ``ValueError``.
    """

    name: str
    """The name of the Lease."""
    namespace: str
    """The namespace of the Lease."""
    identity: str
    """Who this process is; it must differ in each process."""
    duration_s: float = 15.0
    """How long a rival waits for a leader that has stopped renewing."""
    renew_deadline_s: float = 10.0
    """After how long without a renewal a leader stops leading."""
    retry_period_s: float = 2.0
    """How often a leader renews, and how often a candidate looks."""

    @property
    def attempt_s(self) -> float:
        """Return the time for one attempt to renew: half the deadline, so that a second one is possible."""
        return self.renew_deadline_s / 2

    def __post_init__(self) -> None:
        if not self.duration_s > self.renew_deadline_s > self.retry_period_s > 0:
            raise ValueError(
                f"election {self.name!r}: duration ({self.duration_s} s) must exceed the renew deadline "
                f"({self.renew_deadline_s} s), and that the retry period ({self.retry_period_s} s)"
            )


@dataclass
class Candidate:
    """One process's view of the Lease. ``now_s`` is this process's monotonic clock throughout."""

    election: Election
    _version: str = ""
    """resourceVersion of the Lease as last seen."""
    _seen_s: float = 0.0
    """When it was first seen at that version."""
    _holder: str = field(default="")

    def observe(self, lease: Lease | None, now_s: float) -> None:
        """Look at the stored Lease (None when there is none)."""
        version = "" if lease is None else lease.metadata.resource_version
        if version != self._version or lease is None:
            self._version, self._seen_s = version, now_s
        self._holder = "" if lease is None else lease.spec.holder_identity or ""

    @property
    def holder(self) -> str:
        """Return the holder when the Lease was last seen; empty for nobody."""
        return self._holder

    def free_in_s(self, lease: Lease | None, now_s: float) -> float:
        """Return how long until this process may take the Lease; 0 for now."""
        if lease is None or not self._holder or self._holder == self.election.identity:
            return 0.0
        duration = max(float(lease.spec.lease_duration_seconds or 0), self.election.duration_s)
        return max(0.0, self._seen_s + duration - now_s)

    def claim(self, lease: Lease | None, wall: datetime) -> Lease:
        """The Lease as it must be stored for this process to lead."""
        stamp = MicroTime.of(wall)
        me = self.election.identity
        spec = LeaseSpec(
            holder_identity=me,
            lease_duration_seconds=max(1, math.ceil(self.election.duration_s)),
            acquire_time=stamp,
            renew_time=stamp,
            lease_transitions=0,
        )
        if lease is None:
            return Lease(metadata=ObjectMeta(name=self.election.name, namespace=self.election.namespace), spec=spec)
        claimed, before = lease.deep_copy(), lease.spec
        if before.holder_identity == me:
            spec.acquire_time = before.acquire_time
            spec.lease_transitions = before.lease_transitions
        else:
            spec.lease_transitions = (before.lease_transitions or 0) + 1
        claimed.spec = spec
        return claimed

    def released(self, lease: Lease, wall: datetime) -> Lease:
        """The Lease as it must be stored for others to take it at once."""
        given_up = lease.deep_copy()
        given_up.spec.holder_identity = None
        given_up.spec.lease_duration_seconds = 1
        given_up.spec.renew_time = MicroTime.of(wall)
        return given_up


class LeaderElector:
    """``async with elector.leading(stop=...)`` waits for the Lease, keeps it inside, and releases it at the end."""

    def __init__(self, client: Client, election: Election, *, now: Callable[[], datetime] | None = None) -> None:
        self._client = client
        self._now = now or _wall_clock
        self.election = election
        self._candidate = Candidate(election)
        self._lease: Lease | None = None
        self._key = Key(election.namespace, election.name)
        self._log = FieldLogger("attractor.runtime.lease", {"lease": str(self._key), "identity": election.identity})
        self._led_until_s = 0.0
        """Until when this process may act, by its own clock; 0 while it does not lead."""
        self.unreachable = ""
        """Why the Lease can neither be read nor taken at present; empty while all is well."""
        self.slow_renewals = 0
        """How often the Lease had to be read before it could be renewed."""

    @property
    def is_leader(self) -> bool:
        """Return whether this process may act now; past its deadline it may not, before any timer has run."""
        return self._led_until_s > 0 and _now_s() < self._led_until_s

    @property
    def holder(self) -> str:
        """Return the leader, as far as this process knows."""
        return self._candidate.holder

    @asynccontextmanager
    async def leading(self, lost: Callable[[], None]) -> AsyncIterator[None]:
        """Wait until this process leads; inside, keep it so. ``lost`` is called, once, the moment it no longer is."""
        self._renewed_at(await self._acquire())
        self._log.info("leading")
        try:
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(self._keep(lost))
                try:
                    yield
                finally:
                    keeping.cancel()
        finally:
            was_leader, self._led_until_s = self.is_leader, 0.0
            if was_leader:
                await self._release()

    def _renewed_at(self, began_s: float) -> None:
        self._led_until_s = began_s + self.election.renew_deadline_s

    async def _acquire(self) -> float:
        """Wait until the Lease is ours; answers when the write that made it so began."""
        while True:
            try:
                async with asyncio.timeout(self.election.attempt_s):
                    wait_s = await self._look()
                    began = await self._claim() if wait_s <= 0 else None
                self.unreachable = ""
                if began is not None:
                    return began
            except (ApiError, TimeoutError) as error:
                if self._was_overtaken(error):
                    wait_s = 0.05  # look who it was
                else:
                    self.unreachable, wait_s = _reason(error), self.election.retry_period_s
                    self._log.warning("cannot reach the lease", error=self.unreachable)
            await self._wait_for_change(wait_s)

    def _was_overtaken(self, error: ApiError | TimeoutError) -> bool:
        """Return whether somebody moved at the same moment.

        Where nothing was to be replaced, it is the namespace that is not found, which looking again does not change.
        """
        return isinstance(error, Conflict | AlreadyExists) or (isinstance(error, NotFound) and self._lease is not None)

    async def _look(self) -> float:
        try:
            self._lease = await self._client.get(Lease, self._key)
        except NotFound:
            self._lease = None
        self._candidate.observe(self._lease, _now_s())
        return self._candidate.free_in_s(self._lease, _now_s())

    async def _claim(self) -> float:
        """Make the Lease ours, or keep it so; answers when the write began."""
        began = _now_s()
        claimed = self._candidate.claim(self._lease, self._now())
        if self._lease is None:
            self._lease = await self._client.create(claimed)
        else:
            self._lease = await self._client.update(claimed)
        self._candidate.observe(self._lease, _now_s())
        return began

    async def _wait_for_change(self, at_most_s: float) -> None:
        """Until the Lease changes, or the time is over; a watch that tells nothing is not asked for again at once."""
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                if not await self._is_told_of_a_change():
                    await asyncio.sleep(self.election.retry_period_s)

    async def _is_told_of_a_change(self) -> bool:
        """Return whether a watch tells of one before it ends; False, too, where there is no watch to be had."""
        version = "" if self._lease is None else self._lease.metadata.resource_version
        watch = self._client.watch(
            Lease, self._key.namespace, resource_version=version,
            field_selector=f"metadata.name={self._key.name}", bookmarks=False,
        )  # fmt: skip
        try:
            async with watch as events:
                async for _ in events:
                    return True
        except ApiError:
            pass  # whoever waits looks at the Lease itself in any case
        return False

    async def _keep(self, lost: Callable[[], None]) -> None:
        """Renew until cancelled; when the deadline passes, leadership is over."""
        while True:
            await asyncio.sleep(self.election.retry_period_s)
            try:
                async with asyncio.timeout_at(self._led_until_s):
                    self._renewed_at(await self._renew())
            except (TimeoutError, LeadershipLost) as error:
                self._led_until_s = 0.0
                self._log.error("no longer leading", reason=str(error) or "the lease could not be renewed in time")
                lost()
                return

    async def _renew(self) -> float:
        """Try until it works; answers when the write that worked began."""
        while True:
            try:
                async with asyncio.timeout(self.election.attempt_s):
                    return await self._claim_again()
            except (ApiError, TimeoutError) as error:
                self._log.warning("cannot renew the lease", error=_reason(error))
            await asyncio.sleep(self.election.retry_period_s)

    async def _claim_again(self) -> float:
        """Keep the Lease ours, also one that others have written or deleted; raises ``LeadershipLost`` if it is not.

        Whatever the server says against the Lease as it was, only a look tells what it is: a write of a Lease that is
        gone is refused as an internal error.
        """
        has_looked = False
        while True:
            try:
                return await self._claim()
            except ApiError as error:
                if has_looked and not isinstance(error, Conflict | NotFound | AlreadyExists):
                    raise
            await self._look_again()
            has_looked = True

    async def _look_again(self) -> None:
        self.slow_renewals += 1
        await self._look()
        if self._candidate.holder not in {"", self.election.identity}:
            raise LeadershipLost(f"{self._candidate.holder} took the lease")

    async def _release(self) -> None:
        try:
            async with asyncio.timeout(self.election.retry_period_s):
                while not await self._is_given_up():
                    await self._look()  # a renewal was under way when it was asked to stop, and has been stored
            self._log.info("released")
        except (ApiError, TimeoutError) as error:
            self._log.warning("could not release the lease; it expires by itself", error=_reason(error))

    async def _is_given_up(self) -> bool:
        if self._lease is None or self._candidate.holder != self.election.identity:
            return True
        try:
            await self._client.update(self._candidate.released(self._lease, self._now()))
        except Conflict:
            return False
        return True


def _reason(error: ApiError | TimeoutError) -> str:
    return error.message if isinstance(error, ApiError) else "no answer in time"


def _wall_clock() -> datetime:
    return datetime.now(UTC)


def _now_s() -> float:
    return asyncio.get_running_loop().time()

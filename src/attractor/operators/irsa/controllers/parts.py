"""``PartReconciler``: what Policy and Role have in common. Each is one thing in IAM, held by a finalizer.

A run compares IAM with the spec, does what is missing, and stores one status. What AWS answers instead decides what
comes next:

- ``Unavailable``: again, later each time; the status stays, an Event tells.
- ``Refused``: the condition says what is refused; again only with the next resync, or when the spec changes.
- ``DeleteConflict``: the condition says what holds the deletion up; again, later each time.
- ``EntityAlreadyExists``, ``NoSuchEntity``: IAM changed under our hands, or its answers lag: look again.

Assumption: ``sync`` and ``clean_up`` find out from IAM itself what is done already, for any run may be a repetition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attractor.operators.irsa.api import Policy, Role
from attractor.operators.irsa.controllers.writes import STALE, hold, is_held, release, report
from attractor.operators.irsa.drivers.iam import (
    DeleteConflict,
    EntityAlreadyExists,
    Forbidden,
    IamError,
    NoSuchEntity,
    Unavailable,
)
from attractor.runtime import Result

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.operators.irsa.api import PolicyStatus, RoleStatus
    from attractor.operators.irsa.controllers.settings import Settings
    from attractor.runtime import Context

P = TypeVar("P", Policy, Role)


class PartReconciler(Generic[P]):
    """Keeps one thing in IAM for each object of ``kind``."""

    kind: type[P]

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    async def sync(self, ctx: Context, part: P) -> PolicyStatus | RoleStatus:
        """Make IAM as the spec says; answers the status."""
        raise NotImplementedError

    async def clean_up(self, ctx: Context, part: P) -> None:
        """Leave nothing in IAM."""
        raise NotImplementedError

    async def reconcile(self, ctx: Context, key: Key) -> Result | None:
        """One run for one object."""
        part: Any = await ctx.find(self.kind, key)
        if part is None:
            return None
        try:
            if part.metadata.is_deleting:
                return await self._delete(ctx, part) if is_held(part) else None
            part = await hold(ctx, part)
            return await self._keep(ctx, part)
        except STALE:
            return Result(requeue=True)

    async def _keep(self, ctx: Context, part: P) -> Result | None:
        trouble: IamError | None = None
        try:
            status = await self.sync(ctx, part)
        except IamError as error:
            trouble, status = error, part.deep_copy().status
        if trouble is None:
            await report(ctx, part, status)
            return self._resync()
        return await self._trouble(ctx, part, trouble)

    async def _delete(self, ctx: Context, part: P) -> Result | None:
        trouble: IamError | None = None
        try:
            await self.clean_up(ctx, part)
        except IamError as error:
            trouble = error
        if trouble is None:
            await release(ctx, part)
            return None
        return await self._trouble(ctx, part, trouble)

    async def _trouble(self, ctx: Context, part: P, trouble: IamError) -> Result | None:
        """Say what AWS answered, where that helps, and when to ask again."""
        if isinstance(trouble, Unavailable):
            await ctx.emit(part, "AwsUnavailable", str(trouble), type="Warning")
            return Result(requeue=True)
        if isinstance(trouble, NoSuchEntity):
            return Result(requeue=True)
        status = part.deep_copy().status
        status.reason, status.observed_generation = str(trouble), part.metadata.generation
        if isinstance(trouble, DeleteConflict | EntityAlreadyExists):
            status.condition = "deleting" if part.metadata.is_deleting else "progressing"
            await report(ctx, part, status)
            return Result(requeue=True)
        status.condition = "forbidden" if isinstance(trouble, Forbidden) else "error"
        await report(ctx, part, status)
        return self._resync()

    def _resync(self) -> Result | None:
        return Result(requeue_after_s=self.settings.resync_s) if self.settings.resync_s else None

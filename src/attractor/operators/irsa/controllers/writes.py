"""The writes that all three controllers share: hold an object, let it go, say how far it is.

Each is guarded by the version that was read, and writes nothing where nothing changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from attractor.objects.errors import AlreadyExists, Conflict, NotFound
from attractor.operators.irsa.api import IamRoleServiceAccount, Policy, Role
from attractor.runtime.toolkit.finalizers import add_finalizer, finalizer_name, has_finalizer, remove_finalizer

if TYPE_CHECKING:
    from attractor.operators.irsa.api import IrsaStatus, PolicyStatus, RoleStatus
    from attractor.runtime import Context

R = TypeVar("R", IamRoleServiceAccount, Policy, Role)

STALE = (Conflict, AlreadyExists, NotFound)
"""What a write answers when the cache was behind: no failure, look again."""


def is_held(obj: R) -> bool:
    """Return whether our finalizer is on an object."""
    return has_finalizer(obj, finalizer_name(type(obj)))


async def hold(ctx: Context, obj: R) -> R:
    """The object as it is once our finalizer is on it."""
    held = obj.deep_copy()
    if not add_finalizer(held, finalizer_name(type(obj))):
        return obj
    stored: R = await ctx.patch_from(obj, held)
    return stored


async def release(ctx: Context, obj: R) -> None:
    """Let an object go whose deletion was asked for."""
    released = obj.deep_copy()
    remove_finalizer(released, finalizer_name(type(obj)))
    await ctx.patch_from(obj, released)


async def report(ctx: Context, obj: R, status: IrsaStatus | PolicyStatus | RoleStatus) -> None:
    """Store a status, and tell people when the condition is another one than before."""
    if status == obj.status:
        return
    changed: Any = obj.deep_copy()
    changed.status = status
    if status.condition != obj.status.condition and status.condition in _EVENTS:
        reason, kind = _EVENTS[status.condition]
        await ctx.emit(obj, reason, status.reason, type=kind)
    await ctx.patch_from(obj, changed, subresource="status")


_EVENTS: dict[str, tuple[str, Any]] = {
    "created": ("Created", "Normal"),
    "saNameConflict": ("ServiceAccountNameConflict", "Warning"),
    "forbidden": ("Forbidden", "Warning"),
    "failed": ("Failed", "Warning"),
    "error": ("Failed", "Warning"),
    "deleting": ("DeletionHeldUp", "Warning"),
}

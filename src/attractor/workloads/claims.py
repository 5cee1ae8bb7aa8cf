"""Claims: which objects a controller's object controls, by owner reference and by selector.

As Kubernetes' controllers do it: an object without a controller that the selector chooses is adopted; a controlled one
that the selector no longer chooses is released. An owner that is being deleted adopts nothing, and before the first
adoption the owner is read from the server, for the cache may not know yet that it is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from attractor import Index, NotFound, Resource
from attractor.toolkit import selects, set_controller

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor import Context, LabelSelector

R = TypeVar("R", bound=Resource)


def claimable(kind: type[R]) -> Index[R]:
    """An index of a kind by its controller's uid; those without one are found under ``orphans of NAMESPACE``."""
    return Index(kind, "controller", _controller)


def _controller(obj: Resource) -> list[str]:
    owner = obj.metadata.controller
    return [owner.uid if owner is not None else f"orphans of {obj.metadata.namespace}"]


def chosen_labels(selector: LabelSelector | None, namespace: str) -> list[str]:
    """Index values of an object with a selector: one label that whatever it chooses must carry, if it names one."""
    if selector is None:
        return []
    first = min(selector.match_labels.items(), default=None)
    return [f"{namespace}/" if first is None else f"{namespace}/{first[0]}={first[1]}"]


def orphan_labels(obj: Resource) -> list[str]:
    """Index values to look up for a changed object: those of whoever may want to adopt it; none if it has an owner."""
    if obj.metadata.controller is not None:
        return []
    namespace = obj.metadata.namespace
    return [f"{namespace}/", *(f"{namespace}/{name}={value}" for name, value in sorted(obj.metadata.labels.items()))]


async def claim(
    ctx: Context,
    owner: Resource,
    selector: LabelSelector | None,
    kind: type[R],
    *,
    adopts: Callable[[R], bool] = lambda _: True,
) -> list[R]:
    """The objects that an owner controls and selects, after adopting and releasing what has to be.

    Args:
        ctx: The context of the reconcile; its controller declares ``claimable(kind)``.
        owner: The object that controls.
        selector: What it selects.
        kind: The kind of what it controls.
        adopts: Which orphans are worth adopting.
    """
    claimed = []
    for one in await ctx.list(kind, index=("controller", owner.metadata.uid)):
        if selects(selector, one.metadata.labels):
            claimed.append(one)
        elif not owner.metadata.is_deleting and not one.metadata.is_deleting:
            await _release(ctx, owner, one)
    if owner.metadata.is_deleting:
        return claimed
    orphans = [
        one
        for one in await ctx.list(kind, index=("controller", f"orphans of {owner.metadata.namespace}"))
        if not one.metadata.is_deleting and selects(selector, one.metadata.labels) and adopts(one)
    ]
    if orphans and await _is_alive(ctx, owner):
        for one in orphans:
            adopted = await _adopt(ctx, owner, one)
            claimed += [adopted] if adopted is not None else []
    return sorted(claimed, key=lambda one: one.key)


async def _is_alive(ctx: Context, owner: Resource) -> bool:
    fresh = await ctx.find(type(owner), owner.key, cached=False)
    return fresh is not None and fresh.metadata.uid == owner.metadata.uid and not fresh.metadata.is_deleting


async def _adopt(ctx: Context, owner: Resource, orphan: R) -> R | None:
    changed = orphan.deep_copy()
    set_controller(owner, changed)
    try:
        adopted: R = await ctx.patch_from(orphan, changed)
    except NotFound:
        return None
    return adopted


async def _release(ctx: Context, owner: Resource, released: Resource) -> None:
    changed = released.deep_copy()
    uid = owner.metadata.uid
    changed.metadata.owner_references = [one for one in released.metadata.owner_references if one.uid != uid]
    try:
        await ctx.patch_from(released, changed)
    except NotFound:
        return

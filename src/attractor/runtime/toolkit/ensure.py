"""``ensure`` and ``ensure_children``: objects as they are wanted, written only where they differ.

Contract: a field that the wanted object has is made so; one that it does not have is left alone, whoever set it, so
defaults of the server and fields of others are no difference. A list is wanted as a whole, but its items keep what the
server filled in: those with a name are compared by name, others by place. A write is refused with ``Conflict`` if the
object is no longer the one that was read; the reconcile then comes again. What is deleted is not brought back before it
is gone. Under the checker these are ordinary reads and writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from attractor.objects.json_equality import ABSENT, differences, same_json
from attractor.objects.quantity import QuantityError, canonical
from attractor.objects.resource import Resource
from attractor.patch.difference import authors_part
from attractor.runtime.toolkit.owners import is_controlled_by, set_controller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.objects.gvk import Key
    from attractor.objects.json_types import Json, JsonObject
    from attractor.runtime.context import Context

R = TypeVar("R", bound=Resource)
_QUANTITIES = frozenset({"limits", "requests", "capacity", "hard", "overhead", "allocatable"})
"""Maps of quantities, which a server writes in its own way."""


@dataclass(frozen=True)
class Ensured(Generic[R]):
    """Result of ``ensure``: the object, and what was done about it."""

    object: R
    """As it is stored."""
    outcome: Literal["created", "changed", "unchanged"]
    differences: tuple[str, ...] = ()
    """What was changed, for logs and events: ``spec.replicas: 1 -> 3``."""


@dataclass(frozen=True)
class EnsuredChildren:
    """Result of ``ensure_children``: what was done about each child."""

    children: tuple[Ensured[Any], ...]
    """In the order in which they were wanted."""
    deleted: tuple[Key, ...]
    """Children that nobody wants any more."""

    @property
    def is_changed(self) -> bool:
        """Whether anything was written."""
        return bool(self.deleted) or any(one.outcome != "unchanged" for one in self.children)


async def ensure(ctx: Context, wanted: R, *, owner: Resource | None = None) -> Ensured[R]:
    """Create an object, or change it where it differs from what is wanted; otherwise write nothing.

    Args:
        ctx: The context of this reconcile.
        wanted: The object with the fields that matter; its status does not.
        owner: The object that shall control it; an object that nobody controls is adopted.

    Raises:
        AlreadyOwned: Another object controls it.
        Conflict: It changed meanwhile; the reconcile comes again.
    """
    found = await ctx.find(type(wanted), wanted.key)
    if found is None:
        made = wanted.deep_copy()
        if owner is not None:
            set_controller(owner, made)
        return Ensured(await ctx.create(made), "created")
    if found.metadata.is_deleting:
        return Ensured(found, "unchanged")
    before = found.to_dict()
    changed = type(wanted).from_dict(_overlaid(before, _wanted(wanted)))
    if owner is not None:
        set_controller(owner, changed)
    found_out = differences(before, changed.to_dict(), in_absent=False)
    told = tuple(f"{path}: {_short(was)} -> {_short(now)}" for path, was, now in found_out)
    if not told:
        return Ensured(found, "unchanged")
    return Ensured(await ctx.patch_from(found, changed), "changed", told)


async def ensure_children(
    ctx: Context, owner: Resource, wanted: Sequence[Resource], *, kinds: Sequence[type[Resource]]
) -> EnsuredChildren:
    """Ensure the children of an object, then delete those of these kinds that it controls and nobody wants any more.

    Args:
        ctx: The context of this reconcile.
        owner: The object that controls them; the reconciled one, as a rule.
        wanted: The children.
        kinds: The kinds of which others are deleted; declare them with ``owns``.
    """
    children = tuple([await ensure(ctx, child, owner=owner) for child in wanted])
    deleted: list[Key] = []
    for kind in kinds:
        kept = {child.key for child in wanted if isinstance(child, kind)}
        for child in await ctx.list(kind, namespace=owner.metadata.namespace):
            if is_controlled_by(child, owner) and child.key not in kept and not child.metadata.is_deleting:
                await ctx.delete(child)
                deleted.append(child.key)
    return EnsuredChildren(children, tuple(deleted))


def _wanted(obj: Resource) -> JsonObject:
    """What of an object its author decides on."""
    part = authors_part(obj.to_dict())
    return {name: value for name, value in part.items() if name != "status"}


def _overlaid(found: Any, wanted: Json, name: str = "", *, holds_quantities: bool = False) -> Any:
    """What was found, with all that is wanted in its place."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        inside = name in _QUANTITIES
        return {
            **found,
            **{key: _overlaid(found.get(key), value, key, holds_quantities=inside) for key, value in wanted.items()},
        }
    if isinstance(wanted, list) and isinstance(found, list):
        if name in {"ownerReferences", "finalizers"}:
            return [*found, *(one for one in wanted if one not in found)]
        return _overlaid_items(found, wanted)
    if holds_quantities and _same_quantity(found, wanted):
        return found
    return found if same_json(found, wanted) else wanted


def _overlaid_items(found: list[Any], wanted: list[Any]) -> list[Any]:
    if _are_named(found) and _are_named(wanted):
        by_name = {one["name"]: one for one in found}
        return [_overlaid(by_name.get(one["name"]), one) for one in wanted]
    before = [*found[: len(wanted)], *([None] * (len(wanted) - len(found)))]
    return [_overlaid(was, one) for was, one in zip(before, wanted, strict=True)]


def _are_named(items: list[Any]) -> bool:
    """Whether each item has a name of its own."""
    names = [one.get("name") for one in items if isinstance(one, dict)]
    is_text = len(names) == len(items) and all(isinstance(name, str) for name in names)
    return is_text and len({*names}) == len(names)


def _same_quantity(one: Any, other: Any) -> bool:
    try:
        return canonical(one) == canonical(other)
    except (QuantityError, TypeError, AttributeError):
        return False


def _short(value: Any) -> str:
    text = "nothing" if value is ABSENT or value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"

"""Owners: which object another one belongs to.

Contract: an object has at most one controlling owner; giving it a second one is an error, never a silent change. An
owner is this very object (its uid), not whatever has its name. An owner lives in the child's namespace or in none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attractor.objects.resource import Resource


class AlreadyOwned(ValueError):
    """The object has another controlling owner; the text names both."""


def set_controller(owner: Resource, child: Resource) -> bool:
    """Make ``owner`` the controlling owner of an object in hand; returns whether that changed it.

    Raises:
        AlreadyOwned: Another object controls it.
        ValueError: The owner is in another namespace, or is not stored yet.
    """
    known = child.metadata.controller
    if known is not None:
        if known.uid == owner.metadata.uid:
            return False
        raise AlreadyOwned(
            f"{type(child).__name__} {child.key} is controlled by {known.kind} {known.name} already, "
            f"so {type(owner).__name__} {owner.key} cannot control it"
        )
    _check_namespaces(owner, child)
    others = [other for other in child.metadata.owner_references if other.uid != owner.metadata.uid]
    child.metadata.owner_references = [*others, owner.owner_reference()]
    return True


def add_owner(owner: Resource, child: Resource) -> bool:
    """Add ``owner`` to the owners of an object in hand, not as its controller; returns whether that changed it.

    Raises:
        ValueError: The owner is in another namespace, or is not stored yet.
    """
    if is_owned_by(child, owner):
        return False
    _check_namespaces(owner, child)
    reference = owner.owner_reference(controller=False, block_owner_deletion=False)
    child.metadata.owner_references = [*child.metadata.owner_references, reference]
    return True


def is_owned_by(child: Resource, owner: Resource) -> bool:
    """Return whether ``owner`` is among the owners of ``child``, by uid."""
    return any(reference.uid == owner.metadata.uid for reference in child.metadata.owner_references)


def is_controlled_by(child: Resource, owner: Resource) -> bool:
    """Return whether ``owner`` is the controlling owner of ``child``, by uid."""
    known = child.metadata.controller
    return known is not None and known.uid == owner.metadata.uid


def _check_namespaces(owner: Resource, child: Resource) -> None:
    if owner.metadata.namespace and owner.metadata.namespace != child.metadata.namespace:
        raise ValueError(
            f"{type(owner).__name__} {owner.key} cannot own {type(child).__name__} {child.key}: "
            "an owner must be in the same namespace or in none; name the owner in a label of the child instead, run it "
            f"with watches=[Watches({type(child).__name__}, to_keys)], and delete the child in `clean_up`"
        )

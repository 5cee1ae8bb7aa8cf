"""Finalizers: hold an object's deletion until what belongs to it outside the API is cleaned up.

Expected flow: the first reconcile adds the finalizer and does nothing else; while the object lives, reconciles work as
usual; once its deletion was asked for, a reconcile cleans up, and only then removes the finalizer.

A controller whose ``For`` has a predicate such as ``generation_changed`` does not hear of the finalizer that it adds,
so it would wait for ever: a ``Reconciler`` sees to that itself, others add ``| newly_held(name)`` to the predicate, or
return a ``Result``.

Assumption: the clean-up may run more than once (a crash may come between it and the removal), so it must be idempotent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attractor.objects.resource import Resource


def finalizer_name(kind: type[Resource]) -> str:
    """The usual name of a kind's finalizer: ``<group>/<kind>-reconciler``."""
    gvk = kind.gvk
    return f"{gvk.group or 'attractor.dev'}/{gvk.kind.lower()}-reconciler"


def has_finalizer(obj: Resource, name: str) -> bool:
    """Return whether an object has a finalizer."""
    return name in obj.metadata.finalizers


def add_finalizer(obj: Resource, name: str) -> bool:
    """Add a finalizer to an object in hand; returns whether it was missing.

    A controller whose ``For`` has a predicate such as ``generation_changed`` does not hear of the finalizer that it
    adds: combine the predicate with ``newly_held``. A ``Reconciler`` does all of this itself.

    Raises:
        ValueError: The object is being deleted; no finalizer can be added any more.
    """
    if has_finalizer(obj, name):
        return False
    if obj.metadata.is_deleting:
        raise ValueError(f"{type(obj).__name__} {obj.key} is being deleted; no finalizer can be added any more")
    obj.metadata.finalizers = [*obj.metadata.finalizers, name]
    return True


def remove_finalizer(obj: Resource, name: str) -> bool:
    """Remove a finalizer from an object in hand; returns whether it was there. Others keep their order."""
    if not has_finalizer(obj, name):
        return False
    obj.metadata.finalizers = [other for other in obj.metadata.finalizers if other != name]
    return True

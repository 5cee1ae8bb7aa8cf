"""Who owns a replica count: the owners of an object's field as owners of its Scale's, and back.

Kubernetes keeps them as entries of two objects in different versions. So the way there and back is not quite a circle,
and clients see it: whoever updates a Scale owns the count without a time, and an updater of the object who still owns
the count afterwards owns it in an entry of its own, without a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apply.entries import UPDATE, Managed, Owned, read, updater, written
from attractor.apply.fieldset import LEAF, difference
from attractor.objects.gvk import GroupVersionKind

if TYPE_CHECKING:
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apply.fieldset import FieldSet
    from attractor.objects.json_types import JsonObject

SCALE_V1 = GroupVersionKind("autoscaling", "v1", "Scale")
_IN_SCALE = ("spec", "replicas")


def owners_of_scale(kind: Kind, entries: list[JsonObject]) -> list[JsonObject]:
    """The managedFields of an object's Scale: those who own the object's replica count."""
    path = _count_of(kind)
    found: Managed = {}
    for name, owned in read(entries).items():
        if _is_known(kind, owned) and _has(owned.fields, path):
            shown = updater(name.manager, SCALE_V1.api_version, name.subresource) if name.operation == UPDATE else name
            found[shown] = Owned(_only(_IN_SCALE), SCALE_V1.api_version, owned.time)
    return written(found)


def owners_of_object(kind: Kind, entries: list[JsonObject], scaled: list[JsonObject]) -> list[JsonObject]:
    """The managedFields of an object, once its Scale's have become ``scaled``; those of unknown versions are lost."""
    path = _count_of(kind)
    before, after = read(entries), read(scaled)
    found: Managed = {}
    for name, owned in before.items():
        if not _is_known(kind, owned):
            continue
        if not _has(owned.fields, path):
            found[name] = owned
        elif name in after:
            found[name] = owned
            del after[name]
        elif rest := difference(owned.fields, _only(path)):
            found[name] = Owned(rest, owned.api_version, owned.time)
    for name, owned in after.items():
        if _has(owned.fields, _IN_SCALE):
            time = before[name].time if name in before else ""
            found[name] = Owned(_only(path), kind.gvk.api_version, time)
    return written(found)


def _count_of(kind: Kind) -> tuple[str, ...]:
    assert kind.scale is not None, "routed to scale of a kind without one"
    return kind.scale.spec_replicas


def _is_known(kind: Kind, owned: Owned) -> bool:
    """Whether an entry is of a version of the kind; all of them keep the count in one place."""
    return owned.api_version.rpartition("/")[0] == kind.gvk.group


def _has(fields: FieldSet, path: tuple[str, ...]) -> bool:
    here: Any = fields
    for name in path:
        here = here.get(f"f:{name}")
        if here is None:
            return False
    return True


def _only(path: tuple[str, ...]) -> FieldSet:
    fields: FieldSet = LEAF
    for name in reversed(path):
        fields = {f"f:{name}": fields}
    return fields

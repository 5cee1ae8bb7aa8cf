"""Comparison of a stored object with the desired one, and the patch between them.

The server fills in defaults, and others add labels, so "is as it should be" cannot mean "equal". It means both:

- the stored object **covers** the desired one: every field that the desired one has is there with that value; and
- the stored object was written from the same desired one, by its hash in an annotation: so that a field that is no
  longer desired (an environment variable, a selector's label) is noticed too.

Fields that the server accepts at creation only (``CREATE_ONLY``) take no part in either: they are as they were created.

What is written is the stored object with the desired one laid over it: labels and annotations are joined, each field of
``spec`` and each other top-level field that is desired is replaced whole, and everything else stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from attractor.objects.resource import Resource
from attractor.runtime.toolkit.children import data_hash

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

R = TypeVar("R", bound=Resource)

HASH = "plan.attractor.dev/desired-hash"
"""The annotation that tells from which desired object the stored one was written."""

CREATE_ONLY: dict[tuple[str, str], tuple[str, ...]] = {
    ("apps", "StatefulSet"): ("podManagementPolicy", "selector", "serviceName", "volumeClaimTemplates"),
    ("apps", "Deployment"): ("selector",),
    ("apps", "DaemonSet"): ("selector",),
    ("batch", "Job"): ("completionMode", "selector", "template"),
}
"""Fields of ``spec``, by group and kind, that cannot be changed."""

_JOINED = ("labels", "annotations")


def marked(desired: R) -> R:
    """A copy of a desired object that carries its own hash."""
    made = desired.deep_copy()
    made.metadata.annotations = {**made.metadata.annotations, HASH: desired_hash(desired)}
    return made


def desired_hash(desired: Resource) -> str:
    """Return the hash of a desired object; equal for equal ones, with and without the mark."""
    plain = _desired(desired)
    annotations = plain["metadata"].get("annotations", {})
    plain["metadata"] = {**plain["metadata"], "annotations": {k: v for k, v in annotations.items() if k != HASH}}
    return data_hash(plain)


def is_as_desired(stored: Resource, desired: Resource) -> bool:
    """Return whether nothing needs to be written."""
    if stored.metadata.annotations.get(HASH) != desired_hash(desired):
        return False
    plain = _desired(desired)
    live = stored.to_dict()
    owners = plain["metadata"].pop("ownerReferences", [])
    return covers(live, plain) and all(owner in live["metadata"].get("ownerReferences", []) for owner in owners)


def covers(stored: Any, desired: Any) -> bool:
    """Return whether each desired field is there with its value; nothing covers an empty map or list, and None."""
    if isinstance(desired, dict):
        if not desired:
            return stored is None or isinstance(stored, dict)
        return isinstance(stored, dict) and all(covers(stored.get(name), value) for name, value in desired.items())
    if isinstance(desired, list):
        if not desired:
            return not stored
        return (
            isinstance(stored, list)
            and len(stored) == len(desired)
            and all(covers(one, other) for one, other in zip(stored, desired, strict=True))
        )
    return bool(stored == desired)


def overlay(stored: R, desired: R) -> R:
    """The stored object with the desired one laid over it, marked with its hash."""
    live, plain = stored.to_dict(), _desired(marked(desired))
    metadata: JsonObject = dict(live["metadata"])
    for name in _JOINED:
        if plain["metadata"].get(name):
            metadata[name] = {**metadata.get(name, {}), **plain["metadata"][name]}
    owners = plain["metadata"].get("ownerReferences", [])
    if owners:
        others = [one for one in metadata.get("ownerReferences", []) if one not in owners]
        metadata["ownerReferences"] = [*others, *owners]
    result = {**live, **plain, "metadata": metadata}
    if isinstance(live.get("spec"), dict) and isinstance(plain.get("spec"), dict):
        result["spec"] = {**live["spec"], **plain["spec"]}
    return type(stored).from_dict(result)


def _desired(desired: Resource) -> JsonObject:
    """Return the part of an object that can be desired: neither its status nor what the server stamps on it."""
    plain = desired.to_dict()
    metadata = plain.get("metadata", {})
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences")
    fixed = CREATE_ONLY.get((desired.gvk.group, desired.gvk.kind), ())
    if fixed and "spec" in plain:
        plain["spec"] = {name: value for name, value in plain["spec"].items() if name not in fixed}
    return {
        **{name: value for name, value in plain.items() if name != "status"},
        "metadata": {name: metadata[name] for name in kept if name in metadata},
    }

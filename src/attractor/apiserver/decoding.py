"""From a request's body to an object in its kind's shape."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from attractor.apiserver.strategy import DecodeError
from attractor.objects import builtin
from attractor.objects.errors import BadRequest
from attractor.objects.gvk import GroupVersion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.apiserver.kinds import Kind
    from attractor.apiserver.operation import FieldValidation
    from attractor.objects.jsontypes import JsonObject

_SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'


def decode_object(
    kind: Kind, body: Any, duplicates: Sequence[str], validation: FieldValidation
) -> tuple[JsonObject, list[str]]:
    """The object in its kind's shape, and the warnings for what was dropped from it."""
    identity = kind.identity
    obj: JsonObject = {**identity, **body}
    if obj["kind"] != identity["kind"] or obj["apiVersion"] != identity["apiVersion"]:
        obj["kind"] = obj["kind"] or kind.gvk.kind
        obj["apiVersion"] = obj["apiVersion"] or kind.gvk.api_version
        refuse_other_kind(kind, obj)
    try:
        decoded = kind.strategy.decode(obj)
    except DecodeError as error:
        raise BadRequest(f"{_cannot(kind, obj)}: {error}") from None
    if validation == "Ignore" or not (duplicates or decoded.unknown):
        return decoded.obj, []
    complaints = strict_errors(duplicates, decoded.unknown)
    if validation == "Strict":
        raise BadRequest(f"{_cannot(kind, obj)}: {strict_error(complaints)}")
    return decoded.obj, complaints


def strict_errors(duplicates: Sequence[str], unknown: Sequence[str]) -> list[str]:
    """What a strict reader objects to."""
    return [*(f'duplicate field "{path}"' for path in duplicates), *(f'unknown field "{path}"' for path in unknown)]


def strict_error(complaints: Sequence[str]) -> str:
    """The objections of a strict reader as one text."""
    return f"strict decoding error: {', '.join(complaints)}"


def _cannot(kind: Kind, obj: JsonObject) -> str:
    version = GroupVersion.parse(obj["apiVersion"]).version
    return f'{obj["kind"]} in version "{version}" cannot be handled as a {kind.gvk.kind}'


def refuse_other_kind(kind: Kind, obj: JsonObject) -> None:
    """Refuse an object that says it is something else; custom kinds leave that to validation."""
    if obj["apiVersion"] == kind.gvk.api_version and obj["kind"] == kind.gvk.kind:
        return
    try:
        said = GroupVersion.parse(obj["apiVersion"])
    except ValueError as error:
        raise BadRequest(str(error)) from None
    if kind.is_custom:
        if obj["apiVersion"] != kind.gvk.api_version:
            raise BadRequest(
                f"the API version in the data ({said}) does not match the expected API version ({kind.gvk.api_version})"
            )
        return
    if obj["kind"] == kind.gvk.kind and said.group == kind.gvk.group and _is_known(said, kind.gvk.kind):
        raise BadRequest(
            f"the API version in the data ({said}) does not match the expected API version ({kind.gvk.api_version})"
        )
    if obj["apiVersion"] != kind.gvk.api_version or not _is_known(said, obj["kind"]):
        why = not_registered(obj)
    else:
        why = unknown_conversion(kind, obj["kind"])
    raise BadRequest(f"{_cannot(kind, obj)}: {why}")


_WORKLOADS = ("Deployment", "StatefulSet", "ControllerRevision", "ReplicaSet", "DaemonSet")
_RETIRED: dict[str, dict[str, set[str]]] = {
    "apps": {"v1beta1": {"Deployment", "StatefulSet", "ControllerRevision"}, "v1beta2": set(_WORKLOADS)},
    "autoscaling": {"v2beta1": {"HorizontalPodAutoscaler"}, "v2beta2": {"HorizontalPodAutoscaler"}},
    "batch": {"v1beta1": {"CronJob"}},
    "policy": {"v1beta1": {"PodDisruptionBudget"}},
}
"""Versions that are served no more, but that Kubernetes still reads."""


@cache
def _known_kinds() -> frozenset[tuple[str, str, str]]:
    found = {(info.group, info.version, info.kind) for info in builtin.resources()}
    found |= {(info.group, info.version, info.list_kind) for info in builtin.resources()}
    return frozenset(found)


def _is_known(version: GroupVersion, kind: str) -> bool:
    """Whether Kubernetes reads objects of that kind, served or not."""
    retired = _RETIRED.get(version.group, {}).get(version.version, ())
    return kind in retired or (version.group, version.version, kind) in _known_kinds()


def not_registered(obj: JsonObject, scheme: str = _SCHEME) -> str:
    """Go's text for a kind that a version does not have."""
    return f'no kind "{obj["kind"]}" is registered for version "{obj["apiVersion"]}" {scheme}'


def unknown_conversion(kind: Kind, other: str) -> str:
    """Go's text for an object of another kind of the same version."""
    group = kind.gvk.group.split(".", 1)[0] or "core"
    return f"converting ({kind.gvk.version}.{other}) to ({group}.{kind.gvk.kind}): unknown conversion"

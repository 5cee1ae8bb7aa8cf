"""From a request's body to an object in its kind's shape."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.retired_versions import is_retired
from attractor.apiserver.request.bodies import MAX_COMPLAINTS
from attractor.apiserver.request.decode_errors import DecodeError, Undecodable
from attractor.apiserver.request.duplicate_fields import RepeatedLine
from attractor.k8s import catalog
from attractor.objects.errors import BadRequest
from attractor.objects.gvk import GroupVersion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.operation import FieldValidation
    from attractor.objects.json_types import JsonObject

_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
_OWN_SCHEMES = {
    "apiextensions.k8s.io": "pkg/apiserver/apiserver.go:55",
    "apiregistration.k8s.io": "pkg/apiserver/scheme/scheme.go:28",
}
"""Where kube-apiserver makes the schemes of groups that know their own kinds only, and that no other knows."""


def decode_object(
    kind: Kind, body: Any, duplicates: Sequence[str], validation: FieldValidation
) -> tuple[JsonObject, list[str]]:
    """The object in its kind's shape, and the warnings for what was dropped from it."""
    obj: JsonObject = {**kind.identity, **body}
    if (obj["kind"] != kind.gvk.kind or obj["apiVersion"] != kind.api_version) and not kind.is_custom:
        _name_in_place(kind, obj)
    try:
        decoded = kind.strategy.decode(obj)
    except DecodeError as error:
        raise Undecodable(f"{_cannot(kind, obj)}: {error}", error.restored) from error
    complaints: list[str] = []
    if validation != "Ignore" and (duplicates or decoded.unknown):
        places = None if kind.is_custom else getattr(duplicates, "places", None)
        complaints = strict_errors(duplicates, decoded.unknown, places)
        if validation == "Strict":
            raise BadRequest(f"{_cannot(kind, obj)}: {strict_error(complaints)}")
    if kind.is_custom:
        refuse_other_version(kind, body.get("apiVersion") or "")
    keep_reset(kind, obj, decoded.obj)
    return decoded.obj, complaints


def keep_reset(kind: Kind, given: JsonObject, decoded: JsonObject) -> None:
    """Keep a built-in kind's empty list of managers, which decoding takes for none: it says to forget them all."""
    metadata = given.get("metadata") if not kind.is_custom else None
    if metadata and metadata.get("managedFields") == []:
        decoded["metadata"]["managedFields"] = []


def _name_in_place(kind: Kind, obj: JsonObject) -> None:
    """Have an object that does not say what it is be what the path says; refuse one that says otherwise."""
    obj["kind"] = obj["kind"] or kind.gvk.kind
    obj["apiVersion"] = obj["apiVersion"] or kind.gvk.api_version
    refuse_other_kind(kind, obj)


def strict_errors(duplicates: Sequence[str], unknown: Sequence[str], places: dict[str, int] | None = None) -> list[str]:
    """Fields that strict validation refuses, in the order of the text if it is known where fields stand.

    As many as kube-apiserver tells: the first hundred.
    """
    if places:
        first = sorted(unknown, key=lambda path: places.get(path, -1))[:MAX_COMPLAINTS]
        within = tuple(f"{path}." for path in first)  # what is unknown is not looked into
        known = set(unknown)
        said = [path for path in duplicates if path not in known and not path.startswith(within)]
        listed = [(places.get(path, -1), f'duplicate field "{path}"') for path in said]
        listed += [(places.get(path, -1), f'unknown field "{path}"') for path in first]
        return [text for _, text in sorted(listed)[:MAX_COMPLAINTS]]
    repeated = [
        path if isinstance(path, RepeatedLine) else f'duplicate field "{path}"' for path in duplicates[:MAX_COMPLAINTS]
    ]
    rest = unknown[: MAX_COMPLAINTS - len(repeated)]
    return [*repeated, *(f'unknown field "{path}"' for path in rest)]


def strict_error(complaints: Sequence[str]) -> str:
    """The objections of a strict reader as one text; those of the YAML reader stand together."""
    lines = [f"\n  {one}" for one in complaints if isinstance(one, RepeatedLine)]
    texts = [f"yaml: unmarshal errors:{''.join(lines)}"] if lines else []
    texts += [one for one in complaints if not isinstance(one, RepeatedLine)]
    return f"strict decoding error: {', '.join(texts)}"


def _cannot(kind: Kind, obj: JsonObject) -> str:
    version = GroupVersion.parse(obj["apiVersion"]).version
    return f'{obj["kind"]} in version "{version}" cannot be handled as a {kind.gvk.kind}'


def refuse_other_version(kind: Kind, said: str) -> None:
    """Refuse an object of a custom kind in another version; whether it is of another kind is for validation."""
    if said != kind.api_version:
        wanted = kind.api_version
        raise BadRequest(f"the API version in the data ({said}) does not match the expected API version ({wanted})")


_MOVED = {
    "DaemonSet": "apps",
    "Deployment": "apps",
    "Ingress": "networking.k8s.io",
    "NetworkPolicy": "networking.k8s.io",
    "ReplicaSet": "apps",
}
"""Kinds that began in the group ``extensions``, and where they are now."""


def refuse_other_kind(kind: Kind, obj: JsonObject) -> None:
    """Refuse an object that says it is something else."""
    if obj["apiVersion"] == kind.gvk.api_version and obj["kind"] == kind.gvk.kind:
        return
    try:
        said = GroupVersion.parse(obj["apiVersion"])
    except ValueError as error:
        raise BadRequest(str(error)) from None
    moved = str(said) == "extensions/v1beta1" and _MOVED.get(obj["kind"]) == kind.gvk.group
    if obj["kind"] == kind.gvk.kind and (moved or (said.group == kind.gvk.group and _is_known(said, kind.gvk.kind))):
        raise BadRequest(
            f"the API version in the data ({said}) does not match the expected API version ({kind.gvk.api_version})"
        )
    if _is_known(said, obj["kind"]) and share_scheme(kind, said.group):
        why = unknown_conversion(kind, obj["kind"], said.version)
    else:
        why = not_registered(kind, {**obj, "apiVersion": str(said)})
    raise BadRequest(f"{_cannot(kind, obj)}: {why}")


@cache
def _known_kinds() -> frozenset[tuple[str, str, str]]:
    found = {(info.group, info.version, info.kind) for info in catalog.resources()}
    found |= {(info.group, info.version, info.list_kind) for info in catalog.resources()}
    return frozenset(found)


def _is_known(version: GroupVersion, kind: str) -> bool:
    """Whether Kubernetes reads objects of that kind, served or not."""
    group, name = version
    if is_retired(str(version), kind) or kind in _OF_NO_RESOURCE.get((group, name), ()):
        return True
    return (group, name, kind) in _known_kinds() or (kind in _OF_EVERY_VERSION and _is_version(group, name))


_OF_EVERY_VERSION = frozenset(
    {"CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent"}
)
_OF_NO_RESOURCE: dict[tuple[str, str], set[str]] = {
    ("", "v1"): {"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Binding", "List", "Status"},
    ("autoscaling", "v1"): {"Scale"},
    ("authentication.k8s.io", "v1"): {"TokenRequest"},
    ("policy", "v1"): {"Eviction"},
}
"""Kinds that Kubernetes reads, but that no collection holds."""


def _is_version(group: str, version: str) -> bool:
    return any((group, version) == known[:2] for known in _known_kinds())


def share_scheme(kind: Kind, group: str) -> bool:
    """Whether who reads objects of a kind knows those of a group."""
    return group == kind.gvk.group or not {group, kind.gvk.group} & {*_OWN_SCHEMES}


def not_registered(kind: Kind, obj: JsonObject) -> str:
    """Go's text for an object of which those who read a kind know nothing."""
    scheme = _OWN_SCHEMES.get(kind.gvk.group, _SCHEME)
    return f'no kind "{obj["kind"]}" is registered for version "{obj["apiVersion"]}" in scheme "{scheme}"'


def unknown_conversion(kind: Kind, other: str, version: str = "") -> str:
    """Go's text for an object of another kind, of the same version if none is given."""
    group = kind.gvk.group.split(".", 1)[0] or "core"
    return f"converting ({version or kind.gvk.version}.{other}) to ({group}.{kind.gvk.kind}): unknown conversion"

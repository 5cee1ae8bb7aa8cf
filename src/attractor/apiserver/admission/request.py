"""An admission request as data: what webhooks are sent and what CEL knows as ``request``, ``object`` and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.apiserver.kinds.registry import find_kind
from attractor.objects.gvk import GroupVersionKind

if TYPE_CHECKING:
    from attractor.apiserver.admission.match import Target
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.caller import User
    from attractor.objects.json_types import JsonObject

_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


class Versioned(NamedTuple):
    """A request as seen through one version of its resource."""

    target: Target
    kind: Kind
    """The kind behind ``target``."""
    gvk: GroupVersionKind
    obj: JsonObject | None
    old: JsonObject | None


def versioned(attributes: Attributes, target: Target) -> Versioned:
    """The request's objects in the version of ``target``; new objects where they had to be converted."""
    kind, version = attributes.kind, attributes.version
    obj, old = _with_version(attributes.obj, version), _with_version(attributes.old, version)
    if (target.group, target.version) == (kind.gvk.group, kind.gvk.version):
        return Versioned(target, kind, _gvk(obj or old or {}), obj, old)
    other = find_kind(attributes.txn, target.group, target.version, target.resource)
    assert other is not None, "a rule matched a resource that is not served"
    if attributes.gvk != kind.gvk:
        # What is sent to the subresource is of a kind of its own (Scale, Eviction), which has no versions.
        return Versioned(target, other, _gvk(obj or old or {}), obj, old)
    obj, old = (None if one is None else _with_version(convert(one, kind, other), version) for one in (obj, old))
    return Versioned(target, other, other.gvk, obj, old)


def convert(obj: JsonObject, kind: Kind, other: Kind) -> JsonObject:
    """An object of one version in another version of the same resource."""
    return other.decode(kind.encode(obj))


def _with_version(obj: JsonObject | None, version: str) -> JsonObject | None:
    if obj is None or not version:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": version}}


def _gvk(obj: JsonObject) -> GroupVersionKind:
    return GroupVersionKind.of(obj.get("apiVersion") or "", obj.get("kind") or "")


def request_of(attributes: Attributes, seen: Versioned) -> JsonObject:
    """The AdmissionRequest, without uid and objects."""
    op, kind, target = attributes.op, attributes.kind, seen.target
    request: JsonObject = {
        "kind": _kind_json(seen.gvk),
        "resource": {"group": target.group, "version": target.version, "resource": target.resource},
        "requestKind": _kind_json(attributes.gvk),
        "requestResource": {"group": kind.gvk.group, "version": kind.gvk.version, "resource": kind.resource},
        "name": attributes.name,
        "operation": attributes.operation,
        "userInfo": user_info(op.user),
        "dryRun": attributes.is_dry_run,
        "options": _options(attributes),
    }
    if op.subresource:
        request |= {"subResource": op.subresource, "requestSubResource": op.subresource}
    namespace = attributes.name if (kind.gvk.group, kind.resource) == ("", "namespaces") else op.namespace
    if namespace:
        request["namespace"] = namespace
    return request


def _kind_json(gvk: GroupVersionKind) -> JsonObject:
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}


def user_info(user: User) -> JsonObject:
    """A user, as reviews show one."""
    info: JsonObject = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {name: list(values) for name, values in user.extra}
    return info


def _options(attributes: Attributes) -> JsonObject | None:
    op = attributes.op
    if attributes.is_connecting:
        return None
    if attributes.operation == "DELETE":
        said = op.delete
        options: dict[str, Any] = {
            "kind": "DeleteOptions",
            "apiVersion": "meta.k8s.io/v1",
            "gracePeriodSeconds": said.grace_period_s,
            "propagationPolicy": said.propagation or None,
            "dryRun": ["All"] if said.dry_run else None,
        }
        conditions = {"uid": said.preconditions.uid, "resourceVersion": said.preconditions.resource_version}
        options["preconditions"] = {name: value for name, value in conditions.items() if value is not None} or None
    else:
        options = {
            "kind": _OPTIONS.get(op.verb, "CreateOptions"),
            "apiVersion": "meta.k8s.io/v1",
            "dryRun": ["All"] if op.write.dry_run else None,
            "force": op.write.force or None,
            "fieldManager": op.write.field_manager or None,
            "fieldValidation": op.write.field_validation,
        }
    return {name: value for name, value in options.items() if value is not None}

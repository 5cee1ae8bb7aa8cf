"""Rules of what a cluster is made of: nodes, namespaces' states, runtime classes, leases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.internal_form import shown as internal
from attractor.apiserver.kinds.builtin.validation.pods.scheduling import validate_tolerations
from attractor.apiserver.kinds.builtin.validation.resources import validate_requirements
from attractor.apiserver.kinds.builtin.validation.rules import (
    amount,
    at_least_zero,
    cidr,
    each,
    named,
    one_of,
    required_name,
    unchanged,
)
from attractor.objects import names
from attractor.objects.field import FieldError, InOrder, repeated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def validate_lease(lease: JsonObject) -> list[FieldError]:
    """Duration and transitions."""
    spec = lease["spec"]
    errors: list[FieldError] = []
    duration: Any = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        errors.append(FieldError.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    return errors + at_least_zero(spec, "spec", "leaseTransitions")


def _validate_taints(node: JsonObject) -> list[FieldError]:
    """Taints; Kubernetes looks for them in the metadata, and blames that."""
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for taint, at in each(node.get("spec"), "taints", "metadata"):
        key, effect = taint.get("key", ""), taint.get("effect", "")
        errors += named(names.qualified_name, key, f"{at}.key")
        errors += named(names.label_value, taint.get("value", ""), f"{at}.value")
        errors += one_of(effect, f"{at}.effect", _TAINT_EFFECTS)
        if (key, effect) in seen:
            said = InOrder(Key=key, Value=taint.get("value", ""), Effect=effect, TimeAdded=taint.get("timeAdded"))
            duplicate = FieldError.duplicate(at, said)
            errors.append(duplicate._replace(detail="taints must be unique by key and effect pair"))
        seen.add((key, effect))
    return errors


def validate_node(node: JsonObject) -> list[FieldError]:
    """Taints and the addresses of pods."""
    errors = _validate_taints(node)
    for block, at in each(node.get("spec"), "podCIDRs", "spec"):
        errors += cidr(block, at)
    blocks = (node.get("spec") or {}).get("podCIDRs") or []
    if (
        len(blocks) > 1
        and not any(error.path.startswith("spec.podCIDRs[") for error in errors)
        and (len(blocks) > 2 or len({":" in block for block in blocks}) == 1)
    ):
        detail = "may specify no more than one CIDR for each IP family"
        errors.append(FieldError.invalid("spec.podCIDRs", blocks, detail))
    return errors


def validate_node_change(node: JsonObject, old: JsonObject) -> list[FieldError]:
    """What a node has, and what is said of it once."""
    spec, before = node.get("spec") or {}, old.get("spec") or {}
    status = node.get("status") or {}
    errors: list[FieldError] = []
    for field in ("capacity", "allocatable"):
        for name, value in (status.get(field) or {}).items():
            if amount(value).sign < 0:
                at = f"status.{field}.{name}"
                errors.append(FieldError.invalid(at, value, "must be greater than or equal to 0"))
    twice = repeated((one.get("type", ""), one.get("address", "")) for one in status.get("addresses") or ())
    for index, (address, at) in enumerate(each(status, "addresses", "status")):
        if index in twice:
            said = InOrder(Type=address.get("type", ""), Address=address.get("address", ""))
            errors.append(FieldError.duplicate(at, said))
    for field, shown in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        if before.get(field) and spec.get(field) != before[field]:
            detail = f'node updates may not change {shown} except from "" to valid'
            errors.append(FieldError.forbidden(f"spec.{field}", detail))
    return errors


def update_node(node: JsonObject, old: JsonObject) -> list[FieldError]:
    """Kubernetes checks taints a second time on updates, and says so twice."""
    return validate_node_change(node, old) + _validate_taints(node)


def validate_namespace_status(namespace: JsonObject, _old: JsonObject) -> list[FieldError]:
    """A namespace is active until it is deleted, and terminating from then on."""
    phase = (namespace.get("status") or {}).get("phase", "")
    deleted = namespace["metadata"].get("deletionTimestamp") is not None
    wanted = "Terminating" if deleted else "Active"
    if phase == wanted:
        return []
    detail = f"may only be '{wanted}' if `deletionTimestamp` is {'not ' if deleted else ''}empty"
    return [FieldError.invalid("status.Phase", phase, detail)]


def validate_runtime_class(runtime_class: JsonObject) -> list[FieldError]:
    """The handler is a name; what pods cost more, and where they may run."""
    errors = required_name(names.dns1123_label, runtime_class.get("handler"), "handler")
    overhead = (runtime_class.get("overhead") or {}).get("podFixed")
    scheduling = runtime_class.get("scheduling") or {}
    errors += validate_requirements({"limits": overhead}, "overhead")
    errors += names.validate_labels(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
    errors += validate_tolerations(scheduling, "scheduling")
    fields = ("key", "operator", "value", "effect")
    twice = repeated(tuple(one.get(field, "") for field in fields) for one in scheduling.get("tolerations") or ())
    errors += [
        FieldError.duplicate(at, internal(toleration, "core.Toleration"))
        for index, (toleration, at) in enumerate(each(scheduling, "tolerations", "scheduling"))
        if index in twice
    ]
    return errors


def update_runtime_class(runtime_class: JsonObject, old: JsonObject) -> list[FieldError]:
    """The handler never changes."""
    return unchanged(runtime_class, old, "", "handler")


VALIDATE: Mapping[tuple[str, str], Validator] = {
    ("", "Node"): validate_node,
    ("coordination.k8s.io", "Lease"): validate_lease,
    ("node.k8s.io", "RuntimeClass"): validate_runtime_class,
}
UPDATE: Mapping[tuple[str, str], UpdateValidator] = {
    ("", "Node"): update_node,
    ("node.k8s.io", "RuntimeClass"): update_runtime_class,
}
STATUS: Mapping[tuple[str, str], UpdateValidator] = {
    ("", "Namespace"): validate_namespace_status,
    ("", "Node"): validate_node_change,
}

"""Rules of changes of pods: of the pod itself, of its status, of its ephemeral containers and its resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.internal_form import difference
from attractor.apiserver.kinds.builtin.preparation import qos_class
from attractor.apiserver.kinds.builtin.validation.pods.pods import validate_pod_spec
from attractor.apiserver.kinds.builtin.validation.pods.scheduling import validate_tolerations
from attractor.apiserver.kinds.builtin.validation.rules import each, ip_address, named, required
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_INT32_MAX = 2**31 - 1
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_SYSTEM_CONDITIONS = frozenset(("PodScheduled", "Ready", "Initialized"))
_RESIZABLE = frozenset(("cpu", "memory"))


def validate_pod_update(pod: JsonObject, old: JsonObject) -> list[FieldError]:
    """A change of a pod: images, the deadline and new tolerations, nothing else."""
    spec, before = pod["spec"], old["spec"]
    errors = validate_pod_spec(spec, "spec", in_pod=True)
    for field in ("containers", "initContainers"):
        if len(spec.get(field) or ()) != len(before.get(field) or ()):
            return [*errors, FieldError.forbidden(f"spec.{field}", "pod updates may not add or remove containers")]
        for container, at in each(spec, field, "spec"):
            errors += required(container, at, "image")
    deadline, stop = _validate_deadline_change(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    errors += deadline
    if stop:
        return errors
    errors += _validate_added_tolerations(spec, before) + _validate_gate_changes(spec, before)
    frozen = _frozen(spec, before)
    if before.get("schedulingGates"):
        errors += _validate_gated(frozen, before)
    if frozen != before:
        shown = difference(before, frozen, "core.PodSpec")
        errors.append(
            FieldError.forbidden("spec", f"pod updates may not change fields other than {_UPDATABLE}\n{shown}")
        )
    return errors


def _validate_added_tolerations(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    still = [_without_seconds(toleration) for toleration in spec.get("tolerations") or ()]
    if any(_without_seconds(toleration) not in still for toleration in before.get("tolerations") or ()):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        return [FieldError.forbidden("spec.tolerations", detail)]
    return validate_tolerations(spec, "spec")


def _without_seconds(toleration: JsonObject) -> JsonObject:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _validate_gate_changes(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    had = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    return [
        FieldError.forbidden(f"{at}.name", f"only deletion is allowed, but found new scheduling gate '{gate['name']}'")
        for gate, at in each(spec, "schedulingGates", "spec")
        if gate.get("name") not in had
    ]


def _validate_gated(frozen: JsonObject, before: JsonObject) -> list[FieldError]:
    """A pod that is not scheduled yet may be given to fewer nodes; what may change is put back."""
    errors = []
    wanted, had = frozen.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if wanted != had:
        if any(wanted.get(key) != value for key, value in had.items()):
            detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            errors.append(FieldError.invalid("spec.nodeSelector", wanted, detail))
        _put_back(frozen, before, "nodeSelector")
    if (before.get("affinity") or {}).get("nodeAffinity") is None:
        others = {k: v for k, v in (frozen.get("affinity") or {}).items() if k != "nodeAffinity"}
        frozen.pop("affinity", None)
        if others or "affinity" in before:
            frozen["affinity"] = others
    return errors


def _put_back(spec: JsonObject, before: JsonObject, field: str) -> None:
    spec.pop(field, None)
    if field in before:
        spec[field] = before[field]


def _frozen(spec: JsonObject, before: JsonObject) -> JsonObject:
    """The new spec with everything that may change put back; equal to the old one when the change is allowed."""
    frozen = dict(spec)
    for field in ("containers", "initContainers"):
        if spec.get(field):
            pairs = zip(spec[field], before.get(field) or (), strict=False)
            frozen[field] = [{**new, "image": old.get("image", "")} for new, old in pairs]
    movable = ["activeDeadlineSeconds", "tolerations", "schedulingGates"]
    if spec.get("terminationGracePeriodSeconds") == 1 and (before.get("terminationGracePeriodSeconds") or 0) < 0:
        movable.append("terminationGracePeriodSeconds")
    for field in movable:
        _put_back(frozen, before, field)
    return frozen


def _validate_deadline_change(new: int | None, old: int | None) -> tuple[list[FieldError], bool]:
    """What is wrong with the new deadline, and whether nothing else is looked at then."""
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is None:
            return [], False
        return [FieldError.invalid(path, new, "must not update from a positive integer to nil value")], False
    if not 0 <= new <= _INT32_MAX:
        return [FieldError.invalid(path, new, names.range_error(0, _INT32_MAX))], True
    if old is not None and old < new:
        return [FieldError.invalid(path, new, "must be less than or equal to previous value")], True
    return [], False


def validate_pod_status(pod: JsonObject, old: JsonObject) -> list[FieldError]:
    """Conditions, the nominated node, the class of service, containers that ended, addresses."""
    status, before = pod.get("status") or {}, old.get("status") or {}
    errors: list[FieldError] = []
    for condition, at in each(status, "conditions", "status"):
        if condition.get("type") not in _SYSTEM_CONDITIONS:
            errors += named(names.qualified_name, condition.get("type", ""), f"{at}.Type")
    nominated, had = status.get("nominatedNodeName", ""), before.get("nominatedNodeName", "")
    if nominated and nominated != had:
        errors += named(names.dns1123_subdomain, nominated, "status.nominatedNodeName")
        if old["spec"].get("nodeName"):
            detail = "may not be set on pods that are already bound to a node"
            errors.append(FieldError.forbidden("status.nominatedNodeName", detail))
    if status.get("qosClass", "") != before.get("qosClass", ""):
        errors.append(FieldError.invalid("status.qosClass", status.get("qosClass", ""), "field is immutable"))
    for field, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        errors += _validate_transitions(status, before, field, old["spec"], containers)
    errors += _validate_addresses(status, before, "podIPs")
    hosts = status.get("hostIPs") or []
    if hosts and hosts[0].get("ip") != status.get("hostIP", ""):
        errors.append(FieldError.invalid("status.hostIPs[0].ip", hosts[0].get("ip", ""), "must be equal to `hostIP`"))
    return errors + _validate_addresses(status, before, "hostIPs")


def _validate_transitions(
    status: JsonObject, before: JsonObject, field: str, spec: JsonObject, containers: str
) -> list[FieldError]:
    """A container that has ended for good stays so."""
    own = {one["name"]: one.get("restartPolicy") for one in spec.get(containers) or ()}
    now = {one.get("name"): one.get("state") or {} for one in status.get(field) or ()}
    errors = []
    for one, at in each(before, field, "status"):
        ended = (one.get("state") or {}).get("terminated")
        if ended is None or one.get("name") not in now or now[one["name"]].get("terminated") is not None:
            continue
        policy = own.get(one["name"]) or spec.get("restartPolicy")
        if policy == "Always" or (policy == "OnFailure" and ended.get("exitCode", 0) != 0):
            continue
        errors.append(FieldError.forbidden(f"{at}.state", "may not be transitioned to non-terminated state"))
    return errors


def _validate_addresses(status: JsonObject, before: JsonObject, field: str) -> list[FieldError]:
    had = {one.get("ip") for one in before.get(field) or ()}
    wanted = [one.get("ip", "") for one in status.get(field) or ()]
    errors = []
    for index, address in enumerate(wanted):
        if address not in had:
            errors += ip_address(address, f"status.{field}[{index}]")
    families = [":" in address for address in wanted]
    if len(families) > len(set(families)):
        detail = "may specify no more than one IP for each IP family"
        said = [{"IP": address} for address in wanted]
        errors.append(FieldError.invalid(f"status.{field}", said, detail))
    return errors


def validate_ephemeral_containers(pod: JsonObject, old: JsonObject) -> list[FieldError]:
    """Ephemeral containers are added, and never changed or removed."""
    at = "spec.ephemeralContainers"
    errors = validate_pod_spec(pod["spec"], "spec", in_pod=True)
    has = {one.get("name"): one for one in pod["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container["name"]
        if name not in has:
            errors.append(FieldError.forbidden(at, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif has[name] != container:
            shown = difference(container, has[name], "core.EphemeralContainer")
            errors.append(
                FieldError.forbidden(at, f'existing ephemeral containers "{name}" may not be changed\n{shown}')
            )
    return errors


def validate_resize(pod: JsonObject, old: JsonObject) -> list[FieldError]:
    """Processor time and memory of containers may change, within the pod's class of service."""
    spec, before = pod["spec"], old["spec"]
    errors = validate_pod_spec(spec, "spec", in_pod=True)
    qos = (old.get("status") or {}).get("qosClass") or qos_class(before)
    if qos != qos_class(spec):
        detail = "Pod QOS Class may not change as a result of resizing"
        errors.append(FieldError.invalid("spec", (pod.get("status") or {}).get("qosClass", ""), detail))
    for field in ("initContainers", "containers"):
        pairs = zip(spec.get(field) or (), before.get(field) or (), strict=False)
        for index, (container, was) in enumerate(pairs):
            at = f"spec.{field}[{index}].resources"
            for amounts in ("requests", "limits"):
                gone = _amounts(was, amounts).keys() - _amounts(container, amounts).keys()
                if gone:
                    errors.append(FieldError.forbidden(f"{at}.{amounts}", f"resource {amounts} cannot be removed"))
    for container, was in zip(spec.get("containers") or (), before.get("containers") or (), strict=False):
        if any(_fixed(container, amounts) != _fixed(was, amounts) for amounts in ("requests", "limits")):
            errors.append(FieldError.forbidden("spec", "only cpu and memory resources are mutable"))
    return errors


def _amounts(container: JsonObject, amounts: str) -> dict[str, Any]:
    return (container.get("resources") or {}).get(amounts) or {}


def _fixed(container: JsonObject, amounts: str) -> dict[str, Any]:
    return {name: value for name, value in _amounts(container, amounts).items() if name not in _RESIZABLE}

"""``pods/binding`` and ``bindings``: a scheduler's decision that a pod runs on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.registry import builtin_kind
from attractor.apiserver.request.routing import method_not_allowed
from attractor.apiserver.response import JsonBody, Response
from attractor.apiserver.verbs.subresource_bodies import admit, read_body
from attractor.objects.errors import ApiError, BadRequest, Conflict, NotFound
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupResource, GroupVersionKind

if TYPE_CHECKING:
    from attractor.apiserver.verbs.call import Call
    from attractor.objects.json_types import JsonObject

BINDING = GroupVersionKind("", "v1", "Binding")
_PODS, _PODS_BINDING = GroupResource("", "pods"), GroupResource("", "pods/binding")
CREATED: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def bind(call: Call) -> Response:
    """Assign the pod to the node that the Binding in the body names."""
    op, txn = call.op, call.txn
    if op.verb != "create":
        raise method_not_allowed()
    binding, warnings = read_body(call, BINDING)
    name = binding["metadata"].get("name") or ""
    if op.name and name != op.name:
        raise BadRequest("name in URL does not match name in Binding object")
    admit(call, binding)
    _check_target(binding.get("target") or {})
    pods = builtin_kind("", "v1", "pods")
    assert pods is not None, "pods are built in"
    entry = txn.get(pods.key(op.namespace, name))
    if entry is None:
        raise NotFound.of(_PODS, name)
    pod = pods.decode(entry.value)
    _check_pod(pod, binding["metadata"], str(entry.revision))
    if not op.write.dry_run:
        txn.put(entry.key, pods.encode(_assigned(pod, binding, txn.now)))
    return Response(201, JsonBody(dict(CREATED)), tuple(warnings))


def _check_target(target: JsonObject) -> None:
    errors = []
    if target.get("kind") not in {None, "", "Node"}:
        errors.append(FieldError.unsupported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        errors.append(FieldError.required("target.name"))
    if errors:  # Kubernetes forgets here to say that this is the caller's fault
        shown = [str(error) for error in errors]
        raise ApiError(shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]")


def _check_pod(pod: JsonObject, said: JsonObject, version: str) -> None:
    """Refuse a pod that is not the one that was meant, is going away, or runs somewhere already."""
    metadata = pod["metadata"]
    name, node = metadata["name"], pod["spec"].get("nodeName")
    why = ""
    if said.get("uid") and said["uid"] != metadata["uid"]:
        why = f"Precondition failed: UID in precondition: {said['uid']}, UID in object meta: {metadata['uid']}"
    elif said.get("resourceVersion") and said["resourceVersion"] != version:
        why = (
            f"Precondition failed: ResourceVersion in precondition: {said['resourceVersion']}, "
            f"ResourceVersion in object meta: {version}"
        )
    elif metadata.get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif node:
        why = f'pod {name} is already assigned to node "{node}"'
    elif pod["spec"].get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise Conflict.of(_PODS_BINDING, name, why)


def _scheduled(conditions: list[JsonObject], now: str) -> list[JsonObject]:
    """The conditions, of which ``PodScheduled`` is true: since now, unless it was before."""
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    for index, one in enumerate(conditions):
        if one.get("type") == "PodScheduled":
            if one.get("status") == "True":
                scheduled["lastTransitionTime"] = one.get("lastTransitionTime")
            return [*conditions[:index], scheduled, *conditions[index + 1 :]]
    return [*conditions, scheduled]


def _assigned(pod: JsonObject, binding: JsonObject, now: str) -> JsonObject:
    """The pod on its node; labels and annotations of the binding are the pod's from now on."""
    metadata, said = {**pod["metadata"]}, binding["metadata"]
    for field in ("labels", "annotations"):
        if said.get(field):
            metadata[field] = {**(metadata.get(field) or {}), **said[field]}
    status = {**(pod.get("status") or {})}
    status.pop("nominatedNodeName", None)
    status["conditions"] = _scheduled(status.get("conditions") or [], now)
    return {
        **pod,
        "metadata": metadata,
        "spec": {**pod["spec"], "nodeName": binding["target"]["name"]},
        "status": status,
    }

"""Why nothing that runs can be reached: ``exec``, ``attach``, ``portforward`` and ``proxy``, in kube-apiserver's words.

No kubelet runs the pods of this cluster and no proxy routes to its services. kube-apiserver answers the same requests
with what is missing on the way, in this order: the object, its container, its node, the node's address. Only where it
would set out and call do we say that nothing is called from here.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from attractor.apiserver.kinds.registry import builtin_kind
from attractor.objects.errors import ApiError, BadRequest, NotFound, ServiceUnavailable
from attractor.objects.numbers import saturated

if TYPE_CHECKING:
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.routing import Target
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.json_types import JsonObject

REACHING = frozenset({"attach", "exec", "portforward", "proxy"})
"""Subresources that reach into a running container or host."""
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_PREFERRED = frozenset({"Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"})
_WORDS = {"pods": "pod", "services": "service", "nodes": "node"}
_MAX_PARTS = 3


def why_not(kind: Kind, target: Target, txn: Transaction, container: str = "") -> ApiError:
    """The refusal of a request for one of these subresources."""
    if target.subresource == "proxy":
        found = _why_no_proxy(kind, target, txn)
    else:
        pod = _get(kind, target.namespace, target.name, txn)
        if isinstance(pod, NotFound):
            return pod
        found = _why_no_stream(kind, target, txn, pod, container)
    what = f"{target.resource}/{target.subresource}"
    return found or BadRequest(f"{what} is not served: no kubelet runs the pods of this cluster")


def _why_no_stream(kind: Kind, target: Target, txn: Transaction, pod: JsonObject, container: str) -> ApiError | None:
    if target.subresource != "portforward":
        try:
            chosen_container(pod, container)
        except BadRequest as error:
            return error
    if not pod["spec"].get("nodeName"):
        return BadRequest(f"pod {target.name} does not have a host assigned")
    return unreachable_node(kind, pod["spec"]["nodeName"], txn)


def chosen_container(pod: JsonObject, wanted: str) -> str:
    """The container that is meant; raises ``BadRequest`` when that is not clear."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    every = [str(one["name"]) for field in _CONTAINERS for one in spec.get(field) or ()]
    if wanted:
        if wanted in every:
            return wanted
        raise BadRequest(f"container {wanted} is not valid for pod {name}")
    if len(spec.get("containers") or ()) == 1:
        return str(spec["containers"][0]["name"])
    raise BadRequest(f"a container name must be specified for pod {name}, choose one of: [{' '.join(every)}]")


def unreachable_node(asked: Kind, name: str, txn: Transaction) -> ApiError | None:
    """Why a node cannot be called; None if it could. A missing one is named as what was asked for, not as a node."""
    node = _get(_kind("nodes"), "", name, txn)
    if isinstance(node, NotFound):
        return NotFound.of(asked.group_resource, name)
    addresses = (node.get("status") or {}).get("addresses") or ()
    if any(one.get("type") in _PREFERRED for one in addresses):
        return None
    known = " ".join(f"{{{one.get('type', '')} {one.get('address', '')}}}" for one in addresses)
    return ApiError(f"no preferred addresses found; known addresses: [{known}]")


def _why_no_proxy(kind: Kind, target: Target, txn: Transaction) -> ApiError | None:
    parts = target.name.split(":")
    scheme, name, port = ("", *parts, "", "")[:3] if len(parts) < _MAX_PARTS else parts[:3]
    if len(parts) > _MAX_PARTS or not name or scheme not in {"", "http", "https"}:
        return BadRequest(f'invalid {_WORDS[target.resource]} request "{target.name}"')
    if target.resource == "nodes":
        return unreachable_node(kind, name, txn)
    if target.resource == "services":
        return _why_no_service(kind, target, txn, name, port)
    pod = _get(kind, target.namespace, name, txn)
    if isinstance(pod, NotFound):
        return pod
    return None if _is_global((pod.get("status") or {}).get("podIP") or "") else BadRequest("address not allowed")


def _why_no_service(kind: Kind, target: Target, txn: Transaction, name: str, port: str) -> ApiError | None:
    if port.isascii() and port.isdigit():
        number = saturated(port)
        service = _get(kind, target.namespace, name, txn)
        if isinstance(service, NotFound):
            return service
        ports = {one["port"]: one.get("name") or "" for one in service["spec"].get("ports") or ()}
        if number not in ports:
            return ServiceUnavailable(f'no service port {number} found for service "{name}"')
        port = ports[number]
    endpoints = _get(_kind("endpoints"), target.namespace, name, txn)
    if isinstance(endpoints, NotFound):
        return NotFound.of(kind.group_resource, name)
    subsets = endpoints.get("subsets") or ()
    if not subsets:
        return ServiceUnavailable(f'no endpoints available for service "{name}"')
    targets = (
        address.get("targetRef") or {}
        for subset in subsets
        for address in subset.get("addresses") or ()
        if port in {one.get("name") or "" for one in subset.get("ports") or ()}
    )
    if any(one.get("kind") == "Pod" for one in targets):
        return None
    return ServiceUnavailable(f'no endpoints available for service "{target.name}"')


def _is_global(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified)


def _kind(resource: str) -> Kind:
    kind = builtin_kind("", "v1", resource)
    assert kind is not None, f"{resource} are built in"
    return kind


def _get(kind: Kind, namespace: str, name: str, txn: Transaction) -> JsonObject | NotFound:
    entry = txn.get(kind.key(namespace, name))
    return kind.decode(entry.value) if entry else NotFound.of(kind.group_resource, name)

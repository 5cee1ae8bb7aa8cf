"""Defaults of the core group's kinds other than pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.defaults.fill import child, fill, fill_absent, items, round_up_resources
from attractor.apiserver.kinds.builtin.defaults.pod import (
    default_claim_spec,
    default_pod,
    default_pod_template,
    default_template,
    default_volume_source,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.defaults.fill import Defaulter
    from attractor.objects.json_types import JsonObject

_CLIENT_IP_TIMEOUT_S = 10800
_WITH_CLUSTER_IP = frozenset(("ClusterIP", "NodePort", "LoadBalancer"))


def default_service(service: JsonObject) -> None:
    """Type, affinity, ports and traffic policies; addresses are given when the service is stored."""
    spec = service["spec"]
    fill(spec, sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = child(spec, "sessionAffinityConfig")
        fill(child(config, "clientIP"), timeoutSeconds=_CLIENT_IP_TIMEOUT_S)
    for port in items(spec, "ports"):
        fill(port, protocol="TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    kind = spec["type"]
    if kind in {"NodePort", "LoadBalancer"} or (kind == "ClusterIP" and spec.get("externalIPs")):
        fill(spec, externalTrafficPolicy="Cluster")
    if kind in _WITH_CLUSTER_IP:
        fill_absent(spec, internalTrafficPolicy="Cluster")
    if kind == "LoadBalancer":
        fill(spec, allocateLoadBalancerNodePorts=True)
        for ingress in items(service, "status", "loadBalancer", "ingress"):
            if ingress.get("ip"):
                fill_absent(ingress, ipMode="VIP")


def default_secret(secret: JsonObject) -> None:
    """The type."""
    fill(secret, type="Opaque")


def default_namespace(namespace: JsonObject) -> None:
    """The label that carries the name, and the phase."""
    name = namespace["metadata"].get("name")
    if name:
        child(namespace["metadata"], "labels")["kubernetes.io/metadata.name"] = name
    fill(namespace["status"], phase="Active")


def default_claim(claim: JsonObject) -> None:
    """The phase, and the volume mode."""
    fill(claim["status"], phase="Pending")
    default_claim_spec(claim["spec"])
    round_up_resources(claim["status"].get("capacity"))


def default_volume(volume: JsonObject) -> None:
    """The phase, the reclaim policy, and the volume mode."""
    fill(volume["status"], phase="Pending")
    fill(volume["spec"], persistentVolumeReclaimPolicy="Retain")
    fill_absent(volume["spec"], volumeMode="Filesystem")
    round_up_resources(volume["spec"].get("capacity"))
    default_volume_source(volume["spec"])


def default_endpoints(endpoints: JsonObject) -> None:
    """The protocol of ports."""
    for subset in items(endpoints, "subsets"):
        for port in items(subset, "ports"):
            fill(port, protocol="TCP")


def default_node(node: JsonObject) -> None:
    """Addresses of pods are said in both fields; allocatable resources are the capacity when nothing else is said."""
    spec, status = node["spec"], node["status"]
    if spec.get("podCIDR") and spec["podCIDR"] not in (spec.get("podCIDRs") or ())[:1]:
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif (spec.get("podCIDRs") or ("",))[0] and not spec.get("podCIDR"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    round_up_resources(status.get("capacity"))
    if not status.get("allocatable") and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])
    round_up_resources(status.get("allocatable"))


def default_replication_controller(controller: JsonObject) -> None:
    """Replicas, the template, and the selector and labels from the template."""
    spec = controller["spec"]
    if spec.get("replicas") is None:
        spec["replicas"] = 1
    default_template(controller)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not controller["metadata"].get("labels"):
            controller["metadata"]["labels"] = dict(labels)


def default_limit_range(limit_range: JsonObject) -> None:
    """For containers: limits from the maximum, requests from the limits, then from the minimum."""
    for limit in items(limit_range, "spec", "limits"):
        for name in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            round_up_resources(limit.get(name))
        if limit.get("type") != "Container":
            continue
        default = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        request = {**(limit.get("min") or {}), **default, **(limit.get("defaultRequest") or {})}
        limit.update({name: value for name, value in (("default", default), ("defaultRequest", request)) if value})


def default_resource_quota(quota: JsonObject) -> None:
    """Amounts are rounded up to thousandths."""
    round_up_resources(quota["spec"].get("hard"))
    round_up_resources(quota["status"].get("hard"))
    round_up_resources(quota["status"].get("used"))


CORE: Mapping[str, Defaulter] = {
    "Endpoints": default_endpoints,
    "LimitRange": default_limit_range,
    "Namespace": default_namespace,
    "Node": default_node,
    "PersistentVolume": default_volume,
    "PersistentVolumeClaim": default_claim,
    "Pod": default_pod,
    "PodTemplate": default_pod_template,
    "ReplicationController": default_replication_controller,
    "ResourceQuota": default_resource_quota,
    "Secret": default_secret,
    "Service": default_service,
}
"""Kinds of the core group that have defaults."""

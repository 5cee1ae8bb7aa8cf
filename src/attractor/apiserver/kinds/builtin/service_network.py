"""How a service gets its addresses, as far as it is decided without an allocator.

Whoever stores a service asks ``service_needs`` what has to be allocated, allocates it, and writes it into the object.

>>> service = {"spec": {"type": "ClusterIP", "ports": [{"port": 80}]}}
>>> settle_families(service)
>>> service["spec"]["ipFamilies"], service_needs(service)
(['IPv4'], ServiceNeeds(cluster_ip_families=('IPv4',), node_ports=(), health_check_port=False))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

HEADLESS = "None"
_WITH_CLUSTER_IP = frozenset(("ClusterIP", "NodePort", "LoadBalancer"))
_WITH_NODE_PORTS = frozenset(("NodePort", "LoadBalancer"))
_NETWORK_FIELDS = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


class ServiceNeeds(NamedTuple):
    """Addresses and ports that a service needs from the allocator before it is stored."""

    cluster_ip_families: tuple[str, ...] = ()
    """One address of each family, for ``clusterIPs``; the first is ``clusterIP`` too."""
    node_ports: tuple[int, ...] = ()
    """Indexes of the ports that get a ``nodePort``."""
    health_check_port: bool = False
    """Whether ``healthCheckNodePort`` is missing."""


def service_needs(service: JsonObject) -> ServiceNeeds:
    """What is still missing in a service that was prepared for storage."""
    spec = service["spec"]
    kind = spec.get("type", "ClusterIP")
    families: tuple[str, ...] = ()
    if kind in _WITH_CLUSTER_IP and spec.get("clusterIP") != HEADLESS:
        families = tuple((spec.get("ipFamilies") or ["IPv4"])[len(spec.get("clusterIPs") or ()) :])
    wanted = kind in _WITH_NODE_PORTS and (kind == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is not False)
    ports = tuple(at for at, port in enumerate(spec.get("ports") or ()) if wanted and not port.get("nodePort"))
    local = kind == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
    return ServiceNeeds(families, ports, local and not spec.get("healthCheckNodePort"))


def settle_families(service: JsonObject) -> None:
    """Make ``clusterIP`` and ``clusterIPs`` agree, and choose the IP families of a cluster that has IPv4 only."""
    spec = service["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if spec.get("type") == "ExternalName":
        return
    # A headless service without a selector has its endpoints written by hand, of any family.
    by_hand = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = "RequireDualStack" if by_hand else "SingleStack"
    if not spec.get("ipFamilies") and ":" not in spec.get("clusterIP", ""):
        spec["ipFamilies"] = ["IPv4"]
    if by_hand and spec["ipFamilyPolicy"] != "SingleStack" and len(spec["ipFamilies"]) == 1:
        spec["ipFamilies"] = [*spec["ipFamilies"], "IPv6" if spec["ipFamilies"] == ["IPv4"] else "IPv4"]


def keep_allocated(service: JsonObject, old: JsonObject) -> None:
    """Keep on update what was allocated and is still needed; drop what was, unchanged, for a type no longer had."""
    spec, before = service["spec"], old["spec"]
    kind, was = spec.get("type", "ClusterIP"), before.get("type", "ClusterIP")
    if "ExternalName" not in {kind, was}:
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        _follow_address(spec, before)
        if not spec.get("ipFamilies") and before.get("ipFamilies"):
            spec["ipFamilies"] = before["ipFamilies"]
        if spec.get("ipFamilyPolicy") is None and before.get("ipFamilyPolicy"):
            spec["ipFamilyPolicy"] = before["ipFamilyPolicy"]
    elif was != "ExternalName" and spec.get("clusterIP") in (None, "", before.get("clusterIP")):
        for field in _NETWORK_FIELDS:
            spec.pop(field, None)
    _keep_node_ports(spec, before, kind in _WITH_NODE_PORTS, was in _WITH_NODE_PORTS)
    if _is_checked(spec) and _is_checked(before):
        if not spec.get("healthCheckNodePort") and before.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = before["healthCheckNodePort"]
    else:
        _drop_unchanged(spec, before, "healthCheckNodePort")
    if kind != "LoadBalancer":
        _drop_unchanged(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if kind == "ExternalName":
        _drop_unchanged(spec, before, "internalTrafficPolicy")
    if kind == "ExternalName" or (kind == "ClusterIP" and not spec.get("externalIPs")):
        _drop_unchanged(spec, before, "externalTrafficPolicy")


def _is_checked(spec: JsonObject) -> bool:
    """Whether nodes are asked for a service's health."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _follow_address(spec: JsonObject, before: JsonObject) -> None:
    """Callers that know only ``clusterIP`` mean ``clusterIPs``, too."""
    had = before.get("clusterIPs") or []
    if spec.get("clusterIP") == before.get("clusterIP"):
        if not spec.get("clusterIPs") and had:
            spec["clusterIPs"] = list(had)
    elif (spec.get("clusterIPs") or []) == had:
        spec["clusterIPs"] = [spec["clusterIP"]]


def _keep_node_ports(spec: JsonObject, before: JsonObject, needs: bool, needed: bool) -> None:
    if not needed:
        return
    had = {(port.get("protocol"), port.get("port")): port.get("nodePort") for port in before.get("ports") or ()}
    of_name = {port.get("name", ""): port.get("nodePort") for port in before.get("ports") or ()}
    used = {port.get("nodePort") for port in spec.get("ports") or ()}
    for port in spec.get("ports") or ():
        given = of_name.get(port.get("name", ""))
        if needs and given and not port.get("nodePort") and given not in used:
            port["nodePort"] = given
        elif not needs and port.get("nodePort") == had.get((port.get("protocol"), port.get("port"))):
            port.pop("nodePort", None)


def _drop_unchanged(spec: JsonObject, before: JsonObject, *fields: str) -> None:
    for field in fields:
        if field in spec and spec[field] == before.get(field):
            del spec[field]

"""Services and what leads to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Column,
    at,
    clipped,
    field,
    given,
    items,
    join,
    labels,
    name_of,
    of,
    prints,
    selector,
    wide,
)
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_CORE, _NETWORKING, _DISCOVERY = "io.k8s.api.core.v1", "io.k8s.api.networking.v1", "io.k8s.api.discovery.v1"
_GROUP = "networking.k8s.io"
_SHOWN = 3


def _balancer(obj: JsonObject) -> str:
    points = items(obj, "status", "loadBalancer", "ingress")
    return ",".join(sorted({one.get("ip") or one.get("hostname") or "" for one in points} - {""}))


def _external(service: JsonObject) -> str:
    kind, listed = at(service, "spec", "type"), items(service, "spec", "externalIPs")
    if kind == "ExternalName":
        return at(service, "spec", "externalName") or ""
    if kind == "LoadBalancer":
        known = _balancer(service)
        return ",".join([known, *listed] if known else listed) or "<pending>"
    return ",".join(listed) or NONE if kind in {"ClusterIP", "NodePort"} else "<unknown>"


def _port(port: JsonObject) -> str:
    number = f"{port['port']}:{port['nodePort']}" if port.get("nodePort") else f"{port.get('port', 0)}"
    return f"{number}/{port.get('protocol', '')}"


prints(
    "",
    "Service",
    NAME,
    Column("Type", field("spec", "type"), f"{_CORE}.ServiceSpec#type"),
    Column(
        "Cluster-IP",
        of(lambda obj: next(iter(items(obj, "spec", "clusterIPs")), NONE)),
        f"{_CORE}.ServiceSpec#clusterIP",
    ),
    Column("External-IP", of(_external), f"{_CORE}.ServiceSpec#externalIPs"),
    Column(
        "Port(s)",
        of(lambda obj: ",".join(map(_port, items(obj, "spec", "ports"))) or NONE),
        f"{_CORE}.ServiceSpec#ports",
    ),
    AGE,
    wide("Selector", of(lambda obj: labels(at(obj, "spec", "selector"))), f"{_CORE}.ServiceSpec#selector"),
)


def _host_port(address: str, port: Any) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _endpoints(obj: JsonObject) -> str:
    shown: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [one.get("ip") or "" for one in subset.get("addresses") or ()]
        if subset.get("ports"):
            shown += [_host_port(ip, port.get("port", 0)) for port in subset["ports"] for ip in addresses]
        else:
            shown += addresses
    return clipped(shown, _SHOWN, len(shown)) if obj.get("subsets") else NONE


prints("", "Endpoints", NAME, Column("Endpoints", of(_endpoints), f"{_CORE}.Endpoints#subsets"), AGE)


def _slice_port(port: JsonObject) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return str(port["name"]) if port.get("name") is not None else "*"


def _slice_ports(obj: JsonObject) -> str:
    ports = [_slice_port(port) for port in items(obj, "ports")]
    return clipped(ports, _SHOWN, len(ports), empty=UNSET)


def _slice_addresses(obj: JsonObject) -> str:
    addresses = [address for one in items(obj, "endpoints") for address in one.get("addresses") or ()]
    return clipped(addresses, _SHOWN, len(addresses), empty=UNSET)


prints(
    "discovery.k8s.io",
    "EndpointSlice",
    NAME,
    Column("AddressType", field("addressType"), f"{_DISCOVERY}.EndpointSlice#addressType"),
    Column("Ports", of(_slice_ports), f"{_DISCOVERY}.EndpointSlice#ports"),
    Column("Endpoints", of(_slice_addresses), f"{_DISCOVERY}.EndpointSlice#endpoints"),
    AGE,
)


def _hosts(rules: list[JsonObject]) -> str:
    """The first hosts; rules without a host count towards how many more there are, as in Kubernetes."""
    named = [i for i, rule in enumerate(rules) if rule.get("host")][:_SHOWN]
    shown = ",".join(rules[i]["host"] for i in named)
    if len(named) == _SHOWN and named[-1] < len(rules) - 1:
        return f"{shown} + {len(rules) - _SHOWN} more..."
    return shown or "*"


_CLASS = "The name of the IngressClass resource that should be used for additional configuration"
prints(
    _GROUP,
    "Ingress",
    NAME,
    Column("Class", given("spec", "ingressClassName", absent=NONE), _CLASS),
    Column(
        "Hosts",
        of(lambda obj: _hosts(items(obj, "spec", "rules"))),
        "Hosts that incoming requests are matched against before the ingress rule",
    ),
    Column("Address", of(_balancer), "Address is a list containing ingress points for the load-balancer"),
    Column(
        "Ports",
        of(lambda obj: "80, 443" if items(obj, "spec", "tls") else "80"),
        "Ports of TLS configurations that open",
    ),
    AGE,
)


def _class_name(obj: JsonObject) -> str:
    is_default = at(obj, "metadata", "annotations", "ingressclass.kubernetes.io/is-default-class") == "true"
    return f"{name_of(obj)} (default)" if is_default else name_of(obj)


def _parameters(obj: JsonObject) -> str:
    found = at(obj, "spec", "parameters")
    if found is None:
        return NONE
    group = f".{found['apiGroup']}" if found.get("apiGroup") is not None else ""
    return f"{found.get('kind', '')}{group}/{found.get('name', '')}"


prints(
    _GROUP,
    "IngressClass",
    NAME._replace(cell=of(_class_name)),
    Column("Controller", field("spec", "controller"), "Controller that is responsible for handling this class"),
    Column("Parameters", of(_parameters), "A reference to a resource with additional parameters"),
    AGE,
)
prints(
    _GROUP,
    "NetworkPolicy",
    NAME,
    Column(
        "Pod-Selector",
        of(lambda obj: selector(at(obj, "spec", "podSelector") or {})),
        f"{_NETWORKING}.NetworkPolicySpec#podSelector",
    ),
    AGE,
)
_CIDRS = Column("CIDRs", join("spec", "cidrs"), f"{_NETWORKING}.ServiceCIDRSpec#cidrs")
prints(_GROUP, "ServiceCIDR", NAME, _CIDRS, AGE)


def _parent(obj: JsonObject) -> str:
    parent = at(obj, "spec", "parentRef")
    if parent is None:
        return NONE
    resource = str(GroupResource(parent.get("group") or "", parent.get("resource") or "")).lower()
    return "/".join(part for part in (resource, parent.get("namespace"), parent.get("name")) if part)


# Kubernetes declares two columns of an address and fills three, and so do we.
_PARENT = Column("ParentRef", of(_parent), f"{_NETWORKING}.IPAddressSpec#parentRef")
prints(_GROUP, "IPAddress", NAME, _PARENT, undeclared=(AGE.cell,))

"""Services and what leads to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cells,
    Column,
    age_of,
    at,
    clipped,
    items,
    labels,
    name_of,
    prints,
    selector,
    wide,
)
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

_CORE, _NETWORKING, _DISCOVERY = "io.k8s.api.core.v1", "io.k8s.api.networking.v1", "io.k8s.api.discovery.v1"
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


@prints(
    "",
    "Service",
    NAME,
    Column("Type", about=f"{_CORE}.ServiceSpec#type"),
    Column("Cluster-IP", about=f"{_CORE}.ServiceSpec#clusterIP"),
    Column("External-IP", about=f"{_CORE}.ServiceSpec#externalIPs"),
    Column("Port(s)", about=f"{_CORE}.ServiceSpec#ports"),
    AGE,
    wide("Selector", f"{_CORE}.ServiceSpec#selector"),
)
def service_cells(service: JsonObject, clock: Clock) -> Cells:
    """A service."""
    addresses = items(service, "spec", "clusterIPs")
    return [
        name_of(service),
        at(service, "spec", "type") or "",
        addresses[0] if addresses else NONE,
        _external(service),
        ",".join(_port(port) for port in items(service, "spec", "ports")) or NONE,
        age_of(service, clock),
        labels(at(service, "spec", "selector")),
    ]


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


@prints("", "Endpoints", NAME, Column("Endpoints", about=f"{_CORE}.Endpoints#subsets"), AGE)
def endpoints(obj: JsonObject, clock: Clock) -> Cells:
    """Endpoints."""
    return [name_of(obj), _endpoints(obj), age_of(obj, clock)]


def _slice_port(port: JsonObject) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return str(port["name"]) if port.get("name") is not None else "*"


@prints(
    "discovery.k8s.io",
    "EndpointSlice",
    NAME,
    Column("AddressType", about=f"{_DISCOVERY}.EndpointSlice#addressType"),
    Column("Ports", about=f"{_DISCOVERY}.EndpointSlice#ports"),
    Column("Endpoints", about=f"{_DISCOVERY}.EndpointSlice#endpoints"),
    AGE,
)
def endpoint_slice(obj: JsonObject, clock: Clock) -> Cells:
    """An endpoint slice."""
    ports = [_slice_port(port) for port in items(obj, "ports")]
    addresses = [address for one in items(obj, "endpoints") for address in one.get("addresses") or ()]
    return [
        name_of(obj),
        obj.get("addressType") or "",
        clipped(ports, _SHOWN, len(ports), empty=UNSET),
        clipped(addresses, _SHOWN, len(addresses), empty=UNSET),
        age_of(obj, clock),
    ]


def _hosts(rules: list[JsonObject]) -> str:
    """The first hosts; rules without a host count towards how many more there are, as in Kubernetes."""
    named = [i for i, rule in enumerate(rules) if rule.get("host")][:_SHOWN]
    shown = ",".join(rules[i]["host"] for i in named)
    if len(named) == _SHOWN and named[-1] < len(rules) - 1:
        return f"{shown} + {len(rules) - _SHOWN} more..."
    return shown or "*"


@prints(
    "networking.k8s.io",
    "Ingress",
    NAME,
    Column("Class", about="The name of the IngressClass resource that should be used for additional configuration"),
    Column("Hosts", about="Hosts that incoming requests are matched against before the ingress rule"),
    Column("Address", about="Address is a list containing ingress points for the load-balancer"),
    Column("Ports", about="Ports of TLS configurations that open"),
    AGE,
)
def ingress(obj: JsonObject, clock: Clock) -> Cells:
    """An ingress."""
    name = at(obj, "spec", "ingressClassName")
    return [
        name_of(obj),
        NONE if name is None else name,
        _hosts(items(obj, "spec", "rules")),
        _balancer(obj),
        "80, 443" if items(obj, "spec", "tls") else "80",
        age_of(obj, clock),
    ]


@prints(
    "networking.k8s.io",
    "IngressClass",
    NAME,
    Column("Controller", about="Controller that is responsible for handling this class"),
    Column("Parameters", about="A reference to a resource with additional parameters"),
    AGE,
)
def ingress_class(obj: JsonObject, clock: Clock) -> Cells:
    """An ingress class."""
    annotations = at(obj, "metadata", "annotations") or {}
    is_default = annotations.get("ingressclass.kubernetes.io/is-default-class") == "true"
    parameters = at(obj, "spec", "parameters")
    shown = NONE
    if parameters is not None:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") is not None else ""
        shown = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    name = f"{name_of(obj)} (default)" if is_default else name_of(obj)
    return [name, at(obj, "spec", "controller") or "", shown, age_of(obj, clock)]


@prints(
    "networking.k8s.io",
    "NetworkPolicy",
    NAME,
    Column("Pod-Selector", about=f"{_NETWORKING}.NetworkPolicySpec#podSelector"),
    AGE,
)
def network_policy(obj: JsonObject, clock: Clock) -> Cells:
    """A network policy."""
    return [name_of(obj), selector(at(obj, "spec", "podSelector") or {}), age_of(obj, clock)]


@prints(
    "networking.k8s.io",
    "ServiceCIDR",
    NAME,
    Column("CIDRs", about=f"{_NETWORKING}.ServiceCIDRSpec#cidrs"),
    AGE,
)
def service_cidr(obj: JsonObject, clock: Clock) -> Cells:
    """A range of service addresses."""
    return [name_of(obj), ",".join(items(obj, "spec", "cidrs")), age_of(obj, clock)]


@prints(
    "networking.k8s.io",
    "IPAddress",
    NAME,
    Column("ParentRef", about=f"{_NETWORKING}.IPAddressSpec#parentRef"),
)
def ip_address(obj: JsonObject, clock: Clock) -> Cells:
    """An address; Kubernetes declares two columns and fills three, and so do we."""
    parent = at(obj, "spec", "parentRef")
    shown = NONE
    if parent is not None:
        resource = str(GroupResource(parent.get("group") or "", parent.get("resource") or "")).lower()
        shown = "/".join(part for part in (resource, parent.get("namespace"), parent.get("name")) if part)
    return [name_of(obj), shown, age_of(obj, clock)]

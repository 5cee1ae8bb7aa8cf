"""Rules of services and endpoint slices."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.internal_form import shown
from attractor.apiserver.kinds.builtin.validation.network.service_addresses import update_addresses, validate_addresses
from attractor.apiserver.kinds.builtin.validation.rules import (
    PROTOCOLS,
    cidr,
    each,
    ip_address,
    known,
    named,
    one_of,
    port_number,
    port_number_or_name,
    required,
    unchanged,
)
from attractor.objects import names
from attractor.objects.field import FieldError, repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_FAMILIES = ("IPv4", "IPv6")
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_MAX_ADDRESSES, _MAX_HINTS = 100, 8
_HINTS, _MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
_ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"
_DAY_S = 86400


def validate_service(service: JsonObject) -> list[FieldError]:
    """Ports, type, selector, affinity, addresses."""
    spec = service["spec"]
    kind, headless = spec.get("type"), spec.get("clusterIP") == "None"
    errors = validate_addresses(spec)
    if errors:  # addresses are looked at first, and then nothing else is
        return errors
    errors = _validate_annotations(service["metadata"].get("annotations") or {}, spec)
    if not spec.get("ports") and not headless and kind != "ExternalName":
        errors.append(FieldError.required("spec.ports"))
    errors += _validate_type(spec, kind)
    errors += _validate_ports(spec)
    errors += names.validate_labels(spec.get("selector") or {}, "spec.selector")
    errors += one_of(spec.get("sessionAffinity"), "spec.sessionAffinity", ("ClientIP", "None"))
    errors += _validate_affinity_timeout(spec)
    for address, at in each(spec, "externalIPs", "spec"):
        errors += ip_address(address, at) or _validate_ordinary_address(address, at)
    errors += _validate_source_ranges(spec, kind)
    errors += one_of(kind, "spec.type", _TYPES)
    errors += known(spec.get("internalTrafficPolicy"), "spec.internalTrafficPolicy", ("Cluster", "Local"))
    errors += known(spec.get("trafficDistribution"), "spec.trafficDistribution", _DISTRIBUTIONS)
    return errors + _validate_external_policy(spec, kind)


def _validate_source_ranges(spec: JsonObject, kind: str | None) -> list[FieldError]:
    """Kubernetes spells this path with a capital."""
    path, errors = "spec.LoadBalancerSourceRanges", []
    if spec.get("loadBalancerSourceRanges") and kind != "LoadBalancer":
        errors.append(FieldError.forbidden(path, _ONLY_BALANCED))
    for index, block in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        errors += cidr(block.strip(), f"{path}[{index}]")
    return errors


def _validate_annotations(annotations: JsonObject, spec: JsonObject) -> list[FieldError]:
    """What fields say today, and annotations said before."""
    errors: list[FieldError] = []
    mode = annotations.get(_MODE)
    if mode is not None and annotations.get(_HINTS, mode) != mode:
        detail = f"must match annotations[{_HINTS}] when both are specified"
        errors.append(FieldError.invalid(f"metadata.annotations[{_MODE}]", mode, detail))
    if _SOURCE_RANGES in annotations and not spec.get("loadBalancerSourceRanges"):
        path, blocks = f"metadata.annotations[{_SOURCE_RANGES}]", annotations[_SOURCE_RANGES].strip()
        if spec.get("type") != "LoadBalancer":
            errors.append(FieldError.forbidden(path, _ONLY_BALANCED))
        for block in blocks.split(",") if blocks else ():
            errors += cidr(block.strip(), path)
    return errors


def _validate_external_policy(spec: JsonObject, kind: str | None) -> list[FieldError]:
    policy = spec.get("externalTrafficPolicy", "")
    reachable = kind in {"NodePort", "LoadBalancer"} or (kind == "ClusterIP" and spec.get("externalIPs"))
    errors: list[FieldError] = []
    if reachable:
        errors += one_of(policy, "spec.externalTrafficPolicy", ("Cluster", "Local"))
    elif policy:
        detail = "may only be set for externally-accessible services"
        errors.append(FieldError.invalid("spec.externalTrafficPolicy", policy, detail))
    port, path = spec.get("healthCheckNodePort"), "spec.healthCheckNodePort"
    if port and _is_checked(spec):
        errors += port_number(port, path)
    elif port:
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(FieldError.invalid(path, port, detail))
    return errors


def _validate_type(spec: JsonObject, kind: str | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if kind in {"LoadBalancer", "NodePort"} and spec.get("clusterIP") == "None":
        detail = f"may not be set to 'None' for {kind} services"
        errors.append(FieldError.invalid("spec.clusterIPs[0]", "None", detail))
    if kind == "ExternalName":
        said = [field for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy") if spec.get(field)]
        detail = "may not be set for ExternalName services"
        errors += [FieldError.forbidden(f"spec.{field}", detail) for field in said]
        name = spec.get("externalName", "").removesuffix(".")
        errors += (
            named(names.dns1123_subdomain, name, "spec.externalName")
            if name
            else required(spec, "spec", "externalName")
        )
    if kind != "LoadBalancer":
        said = [name for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass") if spec.get(name) is not None]
        errors += [FieldError.forbidden(f"spec.{field}", _ONLY_BALANCED) for field in said]
    elif spec.get("loadBalancerClass") is not None:
        errors += named(names.qualified_name, spec["loadBalancerClass"], "spec.loadBalancerClass")
    return errors


def _validate_ports(spec: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    seen_names: set[str] = set()
    seen: set[tuple[str, int]] = set()
    must_have_name = len(spec.get("ports") or ()) > 1
    for port, at in each(spec, "ports", "spec"):
        name = port.get("name", "")
        if name:
            errors += named(names.dns1123_label, name, f"{at}.name")
            if name in seen_names:
                errors.append(FieldError.duplicate(f"{at}.name", name))
            seen_names.add(name)
        elif must_have_name:
            errors.append(FieldError.required(f"{at}.name"))
        number, protocol = port.get("port", 0), port.get("protocol", "")
        errors += port_number(number, f"{at}.port")
        errors += one_of(protocol, f"{at}.protocol", PROTOCOLS)
        errors += port_number_or_name(port.get("targetPort", 0), f"{at}.targetPort")
        if port.get("appProtocol") is not None:
            errors += named(names.qualified_name, port["appProtocol"], f"{at}.appProtocol")
        if spec.get("type") == "ClusterIP" and port.get("nodePort"):
            detail = "may not be used when `type` is 'ClusterIP'"
            errors.append(FieldError.forbidden(f"{at}.nodePort", detail))
        if (protocol, number) in seen:
            errors.append(FieldError.duplicate(at, shown({"protocol": protocol, "port": number}, "core.ServicePort")))
        seen.add((protocol, number))
    given = [(port.get("protocol", ""), port.get("nodePort")) for port in spec.get("ports") or ()]
    for index in sorted(repeated(given)):
        number = given[index][1]
        if number:
            errors.append(FieldError.duplicate(f"spec.ports[{index}].nodePort", number))
    return errors


def _validate_affinity_timeout(spec: JsonObject) -> list[FieldError]:
    config = spec.get("sessionAffinityConfig") or {}
    timeout = (config.get("clientIP") or {}).get("timeoutSeconds")
    if timeout is None or 0 < timeout <= _DAY_S:
        return []
    detail = f"must be greater than 0 and less than {_DAY_S}"
    return [FieldError.invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", timeout, detail)]


def _is_checked(spec: JsonObject) -> bool:
    """Whether nodes are asked for a service's health."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def update_service(service: JsonObject, old: JsonObject) -> list[FieldError]:
    """Addresses stay, once given, unless the service stops to have any."""
    spec, before = service["spec"], old["spec"]
    if validate_addresses(spec):
        return []
    errors = update_addresses(spec, before)
    checked, had_port = spec.get("healthCheckNodePort"), before.get("healthCheckNodePort")
    if _is_checked(spec) and _is_checked(before) and checked != had_port:
        errors.append(FieldError.forbidden("spec.healthCheckNodePort", "field is immutable"))
    if before.get("type") == "LoadBalancer" == spec.get("type"):
        changed = before.get("loadBalancerClass") != spec.get("loadBalancerClass")
        if changed:
            detail = "may not change once set"
            errors.append(FieldError.invalid("spec.loadBalancerClass", spec.get("loadBalancerClass"), detail))
    elif spec.get("loadBalancerClass") is not None:  # which Kubernetes judges a second time here
        errors += _validate_class(spec)
    return errors


def _validate_class(spec: JsonObject) -> list[FieldError]:
    if spec.get("type") == "LoadBalancer":
        return named(names.qualified_name, spec["loadBalancerClass"], "spec.loadBalancerClass")
    return [FieldError.forbidden("spec.loadBalancerClass", _ONLY_BALANCED)]


def validate_service_status(service: JsonObject, old: JsonObject) -> list[FieldError]:
    """Only a load balancer has addresses outside; each is an address or a name."""
    status, before = ((one.get("status") or {}).get("loadBalancer") or {} for one in (service, old))
    path = "status.loadBalancer"
    if status.get("ingress") and service["spec"].get("type") != "LoadBalancer":
        return [FieldError.forbidden(f"{path}.ingress", "may only be used when `spec.type` is 'LoadBalancer'")]
    had = {one.get("ip") for one in before.get("ingress") or ()}
    errors: list[FieldError] = []
    for one, at in each(status, "ingress", path):
        ip, mode, name = one.get("ip", ""), one.get("ipMode"), one.get("hostname", "")
        if ip and ip not in had:
            errors += ip_address(ip, f"{at}.ip")
        if mode is None:
            errors += [FieldError.required(f"{at}.ipMode", "must be specified when `ip` is set")] if ip else []
        elif not ip:
            errors.append(FieldError.forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
        else:
            errors += one_of(mode, f"{at}.ipMode", ("Proxy", "VIP"))
        if name:
            errors += named(names.dns1123_subdomain, name, f"{at}.hostname")
            if not ip_address(name, ""):
                detail = "must be a DNS name, not an IP address"
                errors.append(FieldError.invalid(f"{at}.hostname", name, detail))
    return errors


def validate_endpoint_slice(endpoint_slice: JsonObject) -> list[FieldError]:
    """The type of addresses, addresses, ports."""
    kind = endpoint_slice.get("addressType")
    errors = one_of(kind, "addressType", ("FQDN", "IPv4", "IPv6"))
    for endpoint, at in each(endpoint_slice, "endpoints", ""):
        if not endpoint.get("addresses"):
            errors.append(FieldError.required(f"{at}.addresses", "must contain at least 1 address"))
        elif len(endpoint["addresses"]) > _MAX_ADDRESSES:
            errors.append(FieldError.too_many(f"{at}.addresses", len(endpoint["addresses"]), _MAX_ADDRESSES))
        for address, where in each(endpoint, "addresses", at):
            errors += _validate_slice_address(address, kind, where, at)
        errors += _validate_endpoint(endpoint, at)
        errors += names.validate_labels(endpoint.get("deprecatedTopology") or {}, f"{at}.deprecatedTopology")
        for field, rule in (("forZones", names.label_value), ("forNodes", names.dns1123_subdomain)):
            errors += _validate_hints(endpoint.get("hints") or {}, field, f"{at}.hints", rule)
    seen: set[str] = set()
    for port, at in each(endpoint_slice, "ports", ""):
        name = port.get("name") or ""
        if name:
            errors += named(names.dns1123_label, name, f"{at}.name")
        if name in seen:
            errors.append(FieldError.duplicate(f"{at}.name", name))
        seen.add(name)
        errors += known(port.get("protocol"), f"{at}.protocol", PROTOCOLS)
        if port.get("appProtocol") is not None:
            errors += named(names.qualified_name, port["appProtocol"], f"{at}.appProtocol")
    return errors


def _validate_endpoint(endpoint: JsonObject, path: str) -> list[FieldError]:
    """What an endpoint is called, and where it runs."""
    errors: list[FieldError] = []
    if endpoint.get("nodeName") is not None:
        errors += named(names.dns1123_subdomain, endpoint["nodeName"], f"{path}.nodeName")
    if endpoint.get("hostname") is not None:
        errors += named(names.dns1123_label, endpoint["hostname"], f"{path}.hostname")
    return errors


def _validate_hints(hints: JsonObject, field: str, path: str, rule: Callable[[str], list[str]]) -> list[FieldError]:
    """Who should use an endpoint: a few, each once."""
    wanted = [one.get("name", "") for one in hints.get(field) or ()]
    if len(wanted) > _MAX_HINTS:
        return [FieldError.too_many(f"{path}.{field}", len(wanted), _MAX_HINTS)]
    errors = []
    twice = repeated(wanted)
    for index, name in enumerate(wanted):
        at = f"{path}.{field}[{index}].name"
        errors += [FieldError.duplicate(at, name)] if index in twice else []
        errors += named(rule, name, at)
    return errors


def _validate_slice_address(address: str, kind: str | None, path: str, endpoint: str) -> list[FieldError]:
    if kind == "FQDN":
        return named(names.dns1123_subdomain, address, path)
    errors = ip_address(address, path)
    if errors:
        return errors
    if (":" in address) != (kind == "IPv6"):
        article = "an" if kind in _FAMILIES else "a"
        errors.append(FieldError.invalid(f"{endpoint}.addresses", address, f"must be {article} {kind} address"))
    return errors + _validate_ordinary_address(address, path)


def update_endpoint_slice(endpoint_slice: JsonObject, old: JsonObject) -> list[FieldError]:
    """The type of addresses never changes; endpoints that stay are not judged again."""
    errors = validate_endpoint_slice(endpoint_slice)
    if endpoint_slice.get("endpoints") == old.get("endpoints"):
        errors = [error for error in errors if not error.path.startswith("endpoints[")]
    return errors + unchanged(endpoint_slice, old, "", "addressType")


def validate_endpoints(endpoints: JsonObject) -> list[FieldError]:
    """Addresses and ports of each subset."""
    errors: list[FieldError] = []
    for subset, at in each(endpoints, "subsets", ""):
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(FieldError.required(at, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for address, where in each(subset, field, at):
                errors += ip_address(address.get("ip", ""), f"{where}.ip")
                errors += _validate_endpoint({**address, "hostname": address.get("hostname") or None}, where)
                errors += _validate_ordinary_address(address.get("ip", ""), f"{where}.ip")
        must_have_name = len(subset.get("ports") or ()) > 1
        for port, where in each(subset, "ports", at):
            if port.get("name"):
                errors += named(names.dns1123_label, port["name"], f"{where}.name")
            elif must_have_name:
                errors.append(FieldError.required(f"{where}.name"))
            errors += port_number(port.get("port", 0), f"{where}.port")
            errors += one_of(port.get("protocol"), f"{where}.protocol", PROTOCOLS)
    return errors


def _validate_ordinary_address(text: str, path: str) -> list[FieldError]:
    """An address that leads to another host."""
    if ip_address(text, path):
        return [FieldError.invalid(path, text, "must be a valid IP address")]
    address = ipaddress.ip_address(text)
    local_multicast = ipaddress.ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16")
    checks = (
        (address.is_unspecified, f"may not be unspecified ({text})"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (address.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (address in local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    )
    return [FieldError.invalid(path, text, why) for is_wrong, why in checks if is_wrong]


VALIDATE: Mapping[tuple[str, str], Validator] = {
    ("", "Endpoints"): validate_endpoints,
    ("", "Service"): validate_service,
    ("discovery.k8s.io", "EndpointSlice"): validate_endpoint_slice,
}
UPDATE: Mapping[tuple[str, str], UpdateValidator] = {
    ("", "Service"): update_service,
}
UPDATE_ONLY: Mapping[tuple[str, str], UpdateValidator] = {("discovery.k8s.io", "EndpointSlice"): update_endpoint_slice}

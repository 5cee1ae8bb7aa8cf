"""Addresses and ports of services, claimed in the transaction that writes the service.

A claim is a key of its own, so two services can never hold one address: whoever commits second is run again and sees
the claim. Claims go with the service, or when it no longer needs them. The claim of an address is its IPAddress object,
as in Kubernetes; that of a port is seen by nobody.
"""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from attractor.apiserver.kinds.builtin.service_network import HEADLESS, service_needs
from attractor.apiserver.kinds.builtin.validation.network.service_addresses import validate_addresses
from attractor.objects.errors import InternalError, Invalid
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attractor.apiserver.transaction import Transaction
    from attractor.objects.json_types import JsonObject

ADDRESSES = IPv4Network("10.0.0.0/16")
PORTS = range(30000, 32768)
MAX_PROBES = 1000

_TAKEN = "provided port is already allocated"
CLUSTER_IPS, _PORT = "networking.k8s.io/ipaddresses/", "allocations/nodeports/"


def allocate_service(txn: Transaction, obj: JsonObject | None, old: JsonObject | None, *, claim: bool) -> None:
    """Give a service what it lacks, in place, claim what it has, and give up what it had; ``obj`` None: it is gone."""
    held = set(_claims(old)) if old else set()
    if obj is not None:
        _check_addresses(obj)
        _check_families(obj, is_new=old is None)
        _check_given(txn, obj, held, is_dry=not claim)
        _fill(obj, _Draws(txn) if claim else _DryDraws())
    wanted = set(_claims(obj)) if obj else set()
    if not claim:
        return
    metadata: JsonObject = ((obj or old) or {}).get("metadata", {})
    for key in wanted - held:
        is_address = key.startswith(CLUSTER_IPS)
        txn.put(key, _ip_address(txn, key, metadata) if is_address else str(metadata.get("uid", "")).encode())
    for key in held - wanted:
        txn.get(key)
        txn.delete(key)


def _ip_address(txn: Transaction, key: str, service: JsonObject) -> bytes:
    """The object that claims an address, as kube-apiserver makes it."""
    now, labels = txn.now, "ipaddress.kubernetes.io"
    fields: JsonObject = {
        "f:metadata": {"f:labels": {".": {}, f"f:{labels}/ip-family": {}, f"f:{labels}/managed-by": {}}},
        "f:spec": {"f:parentRef": {".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {}}},
    }
    version = "networking.k8s.io/v1"
    manager = {"manager": "kube-apiserver", "operation": "Update", "apiVersion": version, "time": now}
    owner = {name: service.get(name, "") for name in ("namespace", "name")}  # not validated yet
    return orjson.dumps(
        {
            "kind": "IPAddress",
            "apiVersion": version,
            "metadata": {
                "name": key.removeprefix(CLUSTER_IPS),
                "uid": txn.source.uid(),
                "creationTimestamp": now,
                "labels": {f"{labels}/ip-family": "IPv4", f"{labels}/managed-by": "ipallocator.k8s.io"},
                "managedFields": [{**manager, "fieldsType": "FieldsV1", "fieldsV1": fields}],
            },
            "spec": {"parentRef": {"resource": "services", **owner}},
        }
    )


def _check_addresses(obj: JsonObject) -> None:
    """What is wrong with addresses and families is told alone, before anything is allocated."""
    errors = validate_addresses(obj["spec"])
    if errors:
        raise Invalid.of(GroupKind("", "Service"), obj["metadata"].get("name") or "", errors)


def _check_families(obj: JsonObject, *, is_new: bool) -> None:
    """The cluster has IPv4 only; whoever writes endpoints by hand may say more.

    Families that an update keeps from before are not blamed beside the policy.
    """
    spec = obj["spec"]
    if spec.get("type") == "ExternalName" or (spec.get("clusterIP") == HEADLESS and not spec.get("selector")):
        return
    policy = spec.get("ipFamilyPolicy")
    errors = _check_counts(spec)
    if errors:
        raise Invalid.of(GroupKind("", "Service"), obj["metadata"].get("name") or "", errors)
    if policy == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        errors.append(FieldError.invalid("spec.ipFamilyPolicy", policy, detail))
    for index, family in enumerate(spec.get("ipFamilies") or () if is_new or not errors else ()):
        if family != "IPv4":
            errors.append(FieldError.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    if errors:
        raise Invalid.of(GroupKind("", "Service"), obj["metadata"].get("name") or "", errors)


def _check_counts(spec: JsonObject) -> list[FieldError]:
    """Two of anything need a policy of two; an address whose family nobody named must be of the cluster's."""
    at, policy, addresses = "spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), spec.get("clusterIPs") or []
    errors: list[FieldError] = []
    for said, what in ((addresses, "cluster IPs"), (spec.get("ipFamilies") or (), "IP families")):
        if policy == "SingleStack" and len(said) == 2:
            detail = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
            errors.append(FieldError.invalid(at, policy, detail))
    for index, address in enumerate(addresses):
        if ":" in address and index >= len(spec.get("ipFamilies") or ()):
            detail = "IPv6 is not configured on this cluster"
            errors.append(FieldError.invalid(f"spec.clusterIPs[{index}]", addresses, detail))
    return errors


def _claims(service: JsonObject) -> Iterator[str]:
    spec = service["spec"]
    yield from (f"{CLUSTER_IPS}{ip}" for ip in spec.get("clusterIPs") or () if ip != HEADLESS)
    yield from (f"{_PORT}{port['nodePort']}" for port in spec.get("ports") or () if port.get("nodePort"))
    if spec.get("healthCheckNodePort"):
        yield f"{_PORT}{spec['healthCheckNodePort']}"


def _fill(obj: JsonObject, draws: _Draws | _DryDraws) -> None:
    needs, spec = service_needs(obj), obj["spec"]
    if needs.cluster_ip_families:
        spec["clusterIPs"] = [*(spec.get("clusterIPs") or ()), draws.address()]
        spec["clusterIP"] = spec["clusterIPs"][0]
    taken: set[int] = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
    ports = spec.get("ports") or []
    of_number = {port["port"]: port["nodePort"] for port in ports if port.get("nodePort")}
    for index in needs.node_ports:  # ports of one number and two protocols share theirs
        number = ports[index]["port"]
        of_number[number] = ports[index]["nodePort"] = of_number.get(number) or draws.port(taken)
    if needs.health_check_port:
        spec["healthCheckNodePort"] = draws.port(taken)


class _Draws(NamedTuple):
    """Gives what is free."""

    txn: Transaction

    def address(self) -> str:
        usable = ADDRESSES.num_addresses - 2
        key = _probe(self.txn, CLUSTER_IPS, usable, lambda number: str(ADDRESSES[number + 1]))
        return key.removeprefix(CLUSTER_IPS)

    def port(self, taken: set[int]) -> int:
        def name(number: int) -> str:
            port = PORTS[number]
            return "" if port in taken else str(port)

        port = int(_probe(self.txn, _PORT, len(PORTS), name).removeprefix(_PORT))
        taken.add(port)
        return port


class _DryDraws:
    """Shows, as Kubernetes does, what nobody can have: nothing of it is kept."""

    def address(self) -> str:
        return str(ADDRESSES[0])

    def port(self, taken: set[int]) -> int:
        port = max(taken, default=PORTS[-1] + 1) + 1
        taken.add(port)
        return port


def _probe(txn: Transaction, prefix: str, size: int, name: Callable[[int], str]) -> str:
    """A free key, looked for from a random start onwards."""
    start = txn.source.draw(size)
    for step in range(min(size, MAX_PROBES)):
        text = name((start + step) % size)
        if text and txn.get(f"{prefix}{text}") is None:
            return f"{prefix}{text}"
    raise InternalError(f"no free entry was found under {prefix} after {MAX_PROBES} attempts; delete unused services")


def _check_given(txn: Transaction, obj: JsonObject, held: set[str], *, is_dry: bool) -> None:
    """Refuse addresses and ports that the caller chose and cannot have."""
    spec = obj["spec"]
    for ip in spec.get("clusterIPs") or ():
        why = "" if ip == HEADLESS or f"{CLUSTER_IPS}{ip}" in held else _why_not_address(txn, ip, is_dry=is_dry)
        if why:
            ips = spec["clusterIPs"]
            raise _refused(obj, FieldError.invalid("spec.clusterIPs", ips, f"failed to allocate IP {ip}: {why}"))
    seen: dict[int, int] = {}
    for index, port in enumerate(spec.get("ports") or ()):
        number, path = port.get("nodePort"), f"spec.ports[{index}].nodePort"
        if not number:
            continue
        if seen.setdefault(number, port["port"]) != port["port"]:
            raise _refused(obj, FieldError.invalid(path, number, _TAKEN))
        if f"{_PORT}{number}" not in held:
            _check_port(txn, obj, path, number, is_dry=is_dry)


def _why_not_address(txn: Transaction, ip: str, *, is_dry: bool) -> str:
    try:
        inside = ADDRESSES[0] < IPv4Address(ip) < ADDRESSES[-1]
    except AddressValueError:
        inside = False
    if not inside and is_dry:
        return f"the provided IP ({ip}) is not in the valid range. The range of valid IPs is {ADDRESSES}"
    if not inside:
        return "the provided network does not match the current range"
    return "provided IP is already allocated" if not is_dry and txn.get(f"{CLUSTER_IPS}{ip}") else ""


def _check_port(txn: Transaction, obj: JsonObject, path: str, number: Any, *, is_dry: bool) -> None:
    """A dry run does not ask whether there is such a port, for Kubernetes' does not."""
    if number not in PORTS and not is_dry:
        why = f"provided port is not in the valid range. The range of valid ports is {PORTS[0]}-{PORTS[-1]}"
        raise _refused(obj, FieldError.invalid(path, number, why))
    if txn.get(f"{_PORT}{number}") is not None:
        raise _refused(obj, FieldError.invalid(path, number, _TAKEN))


def _refused(obj: JsonObject, error: FieldError) -> Invalid:
    return Invalid.of(GroupKind("", "Service"), obj["metadata"].get("name") or "", [error])

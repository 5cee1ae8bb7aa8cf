"""Endpoints of the service ``kubernetes``: the addresses of the cluster's API servers.

A server adds the address that it listens on and takes it away when it stops. On a store of its own it is the only one,
so what an earlier server left there is replaced; on a shared one ``presence`` takes those away that were killed.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

import orjson

from attractor.store.contract import Stale

if TYPE_CHECKING:
    from attractor.apiserver.server import Server
    from attractor.objects.json_types import JsonObject

ENDPOINTS = "core/endpoints/default/kubernetes"
SLICE = "discovery.k8s.io/endpointslices/default/kubernetes"
PORT_NAME = "https"
"""What the service calls its port."""


class Place(NamedTuple):
    """Where one server listens."""

    address: str
    port: int

    @property
    def family(self) -> str:
        """The kind of its address, as EndpointSlices name it."""
        return f"IPv{ip_address(self.address).version}"


async def place_of(host: str, port: int) -> Place:
    """What clients outside call a listener on a host; one on all addresses is called by that of the default route."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    address = str(found[0][4][0])
    return Place(_own_address(found[0][0]) if ip_address(address).is_unspecified else address, port)


def _own_address(family: int) -> str:
    """The address from which this machine would call others; nothing is sent."""
    elsewhere, here = ("192.0.2.1", "127.0.0.1") if family == socket.AF_INET else ("2001:db8::1", "::1")
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((elsewhere, 9))
        except OSError:  # there is no route: nobody outside can call
            return here
        return str(probe.getsockname()[0])


async def advertise(server: Server, place: Place) -> None:
    """Add a place to the endpoints."""
    await _change(server, place, is_there=True)


async def withdraw(server: Server, place: Place) -> None:
    """Take a place away from the endpoints."""
    await _change(server, place, is_there=False)


async def advertised(server: Server, place: Place) -> set[str] | None:
    """The addresses that are named for a place's port; None where those of another port are, for all have the same."""
    entry = (await server.store.snapshot()).get(SLICE)
    found = orjson.loads(entry.value) if entry else None
    named = _addresses(found, place)
    return None if not named and (found or {}).get("endpoints") else named


async def _change(server: Server, place: Place, *, is_there: bool) -> None:
    while True:
        snapshot = await server.store.snapshot()
        entries = {key: snapshot.get(key) for key in (ENDPOINTS, SLICE)}
        old = [orjson.loads(entry.value) if entry else None for entry in entries.values()]
        addresses = set() if server.store.is_exclusive else _addresses(old[1], place)
        addresses = addresses | {place.address} if is_there else addresses - {place.address}
        made = _objects(server, place, sorted(addresses), old)
        compares = {key: entry.revision if entry else 0 for key, entry in entries.items()}
        try:
            await server.store.commit(compares, puts={key: orjson.dumps(one) for key, one in made.items()})
        except Stale:  # another server did the same
            continue
        return


def _addresses(found: JsonObject | None, place: Place) -> set[str]:
    """Who else listens on the same port, for a slice has the same ports for all."""
    ports = {one.get("port") for one in (found or {}).get("ports") or ()}
    if found is None or place.port not in ports or found.get("addressType") != place.family:
        return set()
    return {address for one in found.get("endpoints") or () for address in one.get("addresses") or ()}


def _objects(server: Server, place: Place, addresses: list[str], old: list[JsonObject | None]) -> dict[str, JsonObject]:
    now = server.source.now()
    port = {"name": PORT_NAME, "port": place.port, "protocol": "TCP"}
    subset = {"addresses": [{"ip": one} for one in addresses], "ports": [port]}
    endpoints = _metadata(server, old[0], "v1", now, "endpointslice.kubernetes.io/skip-mirror", "true", ("subsets",))
    fields = ("addressType", "endpoints", "ports")
    sliced = _metadata(server, old[1], "discovery.k8s.io/v1", now, "kubernetes.io/service-name", "kubernetes", fields)
    sliced["generation"] = ((old[1] or {}).get("metadata") or {}).get("generation", 0) + 1
    return {
        ENDPOINTS: {
            "kind": "Endpoints",
            "apiVersion": "v1",
            "metadata": endpoints,
            **({"subsets": [subset]} if addresses else {}),
        },
        SLICE: {
            "kind": "EndpointSlice",
            "apiVersion": "discovery.k8s.io/v1",
            "metadata": sliced,
            "addressType": place.family,
            "endpoints": [{"addresses": [one], "conditions": {"ready": True}} for one in addresses],
            "ports": [{"name": PORT_NAME, "protocol": "TCP", "port": place.port}],
        },
    }


def _metadata(
    server: Server, old: JsonObject | None, version: str, now: str, label: str, value: str, fields: tuple[str, ...]
) -> JsonObject:
    labels: JsonObject = {"f:metadata": {"f:labels": {".": {}, f"f:{label}": {}}}}
    manager = {"manager": "kube-apiserver", "operation": "Update", "apiVersion": version, "time": now}
    owned = {**{f"f:{name}": {} for name in fields}, **labels}
    known = (old or {}).get("metadata") or {"uid": server.source.uid(), "creationTimestamp": now}
    return {
        "name": "kubernetes",
        "namespace": "default",
        "uid": known["uid"],
        "creationTimestamp": known["creationTimestamp"],
        "labels": {label: value},
        "managedFields": [{**manager, "fieldsType": "FieldsV1", "fieldsV1": dict(sorted(owned.items()))}],
    }

"""Addresses of Services, in a cluster without a network of its own.

A ClusterIP leads nowhere here: no kube-proxy routes it. So a Service is reached, in this order, at the address that
was configured for it, at its ``externalName``, or at the first ready endpoint of its EndpointSlices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from attractor.embedded.webhooks.caller import UnknownService

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.apiserver.admission.outside_calls import Service
    from attractor.store.contract import Snapshot

SERVICE_LABEL = "kubernetes.io/service-name"


class ServiceAddresses:
    """Finds addresses of Services; ``known`` maps ``(namespace, name)`` to host and port."""

    def __init__(
        self, snapshot: Callable[[], Snapshot], known: Mapping[tuple[str, str], tuple[str, int]] | None = None
    ) -> None:
        self._snapshot = snapshot
        self.known = dict(known or {})

    def __call__(self, service: Service) -> tuple[str, int]:
        """Host and port; raises ``UnknownService``."""
        where = self.known.get((service.namespace, service.name))
        if where is not None:
            return where
        snapshot = self._snapshot()
        entry = snapshot.get(f"core/services/{service.namespace}/{service.name}")
        if entry is None:
            raise UnknownService(f'service "{service.name}" not found')
        spec: dict[str, Any] = orjson.loads(entry.value).get("spec") or {}
        if spec.get("type") == "ExternalName" and spec.get("externalName"):
            return str(spec["externalName"]), service.port
        port = next((port for port in spec.get("ports") or () if port.get("port") == service.port), None)
        found = _endpoint(snapshot, service, (port or {}).get("name") or "") if port else None
        if found is None:
            raise UnknownService(
                f'service "{service.name}" has no address that this server can reach: its cluster IP is not routed '
                "here; give the service endpoints, use clientConfig.url, or configure its address"
            )
        return found


def _endpoint(snapshot: Snapshot, service: Service, port_name: str) -> tuple[str, int] | None:
    """The first ready endpoint, as the service's slices have it."""
    for entry in snapshot.range(f"discovery.k8s.io/endpointslices/{service.namespace}/"):
        endpoint_slice = orjson.loads(entry.value)
        if (endpoint_slice["metadata"].get("labels") or {}).get(SERVICE_LABEL) != service.name:
            continue
        ports = endpoint_slice.get("ports") or ()
        number = next((port.get("port") for port in ports if (port.get("name") or "") == port_name), None)
        for endpoint in endpoint_slice.get("endpoints") or ():
            if number and (endpoint.get("conditions") or {}).get("ready") is not False and endpoint.get("addresses"):
                return str(endpoint["addresses"][0]), int(number)
    return None

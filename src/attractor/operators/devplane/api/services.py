"""The kinds ``Service`` and ``Endpoint``: a name that stays, and what is behind it just now."""

from __future__ import annotations

from typing import Annotated, Literal

from attractor.objects.resource import Condition, ListMap, Meta, PrinterColumn, Resource, Struct, field
from attractor.operators.devplane.api.executables import GROUP, VERSION, Port

LOOPBACK = "127.0.0.1"


def _fixed(what: str) -> Meta:
    """A part that is decided when the object is created, on any cluster."""
    rule = {"rule": "self == oldSelf", "message": f"{what} cannot be changed; delete the object and create another"}
    return Meta(extra_json_schema={"x-kubernetes-validations": [rule]})


class ServiceSpec(Struct):
    """Desired address of a Service."""

    protocol: Literal["TCP"] = "TCP"
    address: Annotated[str, Meta(min_length=1)] = LOOPBACK
    """The address to listen on; this machine only, unless another one is given."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """The port to listen on; 0 takes a free one, and keeps it for as long as the object lives."""
    mode: Literal["Proxy", "Proxyless"] = "Proxy"
    """Proxy listens and hands connections on to the endpoints in turn; Proxyless names an endpoint's own address."""


class ServiceStatus(Struct):
    """Observed address of a Service, and its endpoints."""

    phase: Literal["NotReady", "Ready"] = "NotReady"
    """Ready while somebody is behind it."""
    effective_address: str = ""
    effective_port: int = 0
    """Where clients reach it; with a proxy it never changes once it is here."""
    endpoints: int = 0
    """How many are behind it."""
    message: str = ""
    """Why it is not ready, for people."""
    observed_generation: int = 0
    conditions: Annotated[list[Condition], ListMap("type")] = field(default_factory=list)


class Service(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("devsvc",),
    categories=("dev",),
    printer_columns=(
        PrinterColumn("Phase", ".status.phase"),
        PrinterColumn("Address", ".status.effectiveAddress"),
        PrinterColumn("Port", ".status.effectivePort", "integer"),
        PrinterColumn("Endpoints", ".status.endpoints", "integer"),
        PrinterColumn("Message", ".status.message"),
        PrinterColumn("Age", ".metadata.creationTimestamp", "date"),
    ),
):
    """A place at which clients find whatever serves under this name."""

    spec: Annotated[ServiceSpec, _fixed("where a Service listens")] = field(default_factory=ServiceSpec)
    status: ServiceStatus = field(default_factory=ServiceStatus)


class EndpointSpec(Struct):
    """One backend of a Service."""

    service: Annotated[str, Meta(min_length=1)]
    """The Service's name, in the same namespace."""
    address: Annotated[str, Meta(min_length=1)]
    port: Port


class Endpoint(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("devep",),
    categories=("dev",),
    printer_columns=(
        PrinterColumn("Service", ".spec.service"),
        PrinterColumn("Address", ".spec.address"),
        PrinterColumn("Port", ".spec.port", "integer"),
        PrinterColumn("Age", ".metadata.creationTimestamp", "date"),
    ),
):
    """Somebody who serves a Service just now; it is never changed, only replaced."""

    spec: Annotated[EndpointSpec, _fixed("an Endpoint")]

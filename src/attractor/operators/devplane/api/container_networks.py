"""The kinds ``ContainerNetwork``, ``ContainerNetworkConnection`` and ``ContainerVolume``: what containers share."""

from __future__ import annotations

from typing import Annotated, Literal

from attractor.objects.resource import Meta, PrinterColumn, Resource, Rule, Struct, field
from attractor.operators.devplane.api.containers import AGE, MESSAGE, ObjectName, RuntimeName
from attractor.operators.devplane.api.executables import GROUP, VERSION


def _fixed(kind: str) -> list[Rule]:
    return [
        Rule(
            "self.spec == oldSelf.spec",
            f"a {kind} cannot be changed; delete it and create another",
            field_path=".spec",
        )
    ]


class ContainerNetworkSpec(Struct):
    """The network that is wanted."""

    network_name: RuntimeName = ""
    """What the runtime calls it."""
    mode: Literal["Session", "Persistent", "Existing"] = "Session"
    """Session: it goes with the object. Persistent: it stays. Existing: somebody else makes it; it is waited for."""
    ipv6: bool = False
    internal: bool = False
    """Whether containers in it reach each other only."""


class ContainerNetworkStatus(Struct):
    """Observed state of a ContainerNetwork."""

    phase: Literal["", "Pending", "RuntimeUnhealthy", "Running", "NotFound", "FailedToStart", "Removed"] = ""
    """NotFound: it is not there yet, and somebody else makes it. Removed: it was there, and somebody has removed it."""
    network_id: str = ""
    network_name: str = ""
    driver: str = ""
    subnets: list[str] = field(default_factory=list)
    gateways: list[str] = field(default_factory=list)
    observed_generation: int = 0
    message: str = ""


class ContainerNetwork(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("ctrnet",),
    categories=("dev",),
    printer_columns=(
        PrinterColumn("Phase", ".status.phase"),
        PrinterColumn("Network", ".status.networkName"),
        PrinterColumn("Subnets", ".status.subnets"),
        AGE,
        MESSAGE,
    ),
    rules=[
        *_fixed("ContainerNetwork"),
        Rule(
            "self.spec.mode == 'Session' || self.spec.networkName != ''",
            "only networks of the session get a name of their own; say networkName",
            field_path=".spec.networkName",
        ),
    ],
):
    """A network in which containers find each other by name."""

    spec: ContainerNetworkSpec = field(default_factory=ContainerNetworkSpec)
    status: ContainerNetworkStatus = field(default_factory=ContainerNetworkStatus)


class ContainerNetworkConnectionSpec(Struct):
    """Who is to be in which network."""

    network: ObjectName
    """The ContainerNetwork of the namespace."""
    container: ObjectName
    """The Container of the namespace; it is in the network from when it is there until this object goes."""
    aliases: Annotated[list[Annotated[str, Meta(min_length=1, max_length=253)]], Meta(max_length=32)] = field(
        default_factory=list
    )


class ContainerNetworkConnectionStatus(Struct):
    """Observed state of a ContainerNetworkConnection."""

    phase: Literal["", "Pending", "RuntimeUnhealthy", "Connected"] = ""
    network_id: str = ""
    container_id: str = ""
    observed_generation: int = 0
    message: str = ""


class ContainerNetworkConnection(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("ctrnetconn",),
    categories=("dev",),
    printer_columns=(
        PrinterColumn("Network", ".spec.network"),
        PrinterColumn("Container", ".spec.container"),
        PrinterColumn("Phase", ".status.phase"),
        AGE,
        MESSAGE,
    ),
    rules=_fixed("ContainerNetworkConnection"),
):
    """A Container in one network more, for as long as this object is there."""

    spec: ContainerNetworkConnectionSpec
    status: ContainerNetworkConnectionStatus = field(default_factory=ContainerNetworkConnectionStatus)


class ContainerVolumeSpec(Struct):
    """The volume that is wanted."""

    volume_name: RuntimeName = ""
    """What the runtime calls it."""
    persistent: bool = True
    """Whether it stays when the object goes; a volume has what people do not want to lose."""
    labels: Annotated[dict[str, str], Meta(max_length=32)] = field(default_factory=dict)


class ContainerVolumeStatus(Struct):
    """Observed state of a ContainerVolume."""

    phase: Literal["", "Pending", "RuntimeUnhealthy", "Ready"] = ""
    volume_name: str = ""
    observed_generation: int = 0
    message: str = ""


class ContainerVolume(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("ctrvol",),
    categories=("dev",),
    printer_columns=(
        PrinterColumn("Phase", ".status.phase"),
        PrinterColumn("Volume", ".status.volumeName"),
        PrinterColumn("Persistent", ".spec.persistent", "boolean"),
        AGE,
        MESSAGE,
    ),
    rules=_fixed("ContainerVolume"),
):
    """A directory of the runtime that outlives the containers that it is mounted in."""

    spec: ContainerVolumeSpec = field(default_factory=ContainerVolumeSpec)
    status: ContainerVolumeStatus = field(default_factory=ContainerVolumeStatus)

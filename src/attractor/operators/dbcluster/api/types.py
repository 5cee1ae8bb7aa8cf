"""The kind ``Cluster``: a database of one or more components, and what is known about it."""

from __future__ import annotations

from typing import Annotated, Literal

from attractor.objects.resource import Condition, ListMap, Meta, PrinterColumn, Resource, Struct

GROUP = "db.attractor.dev"

Name = Annotated[str, Meta(pattern="^[a-z]([-a-z0-9]*[a-z0-9])?$", max_length=20)]
TerminationPolicy = Literal["DoNotTerminate", "Halt", "Delete", "WipeOut"]
Phase = Literal["", "Creating", "Running", "Updating", "Paused", "Failed", "Deleting"]
ComponentPhase = Literal["Waiting", "Creating", "Updating", "Running", "Stopped"]


class Resources(Struct):
    """CPU and memory of one pod."""

    cpu: str = "100m"
    memory: str = "64Mi"


class Component(Struct):
    """Some equal pods of one database engine."""

    name: Name
    type: Literal["redis"] = "redis"
    version: Annotated[str, Meta(pattern=r"^[0-9]+(\.[0-9]+)*$")] = "7.0"
    replicas: Annotated[int, Meta(ge=0, le=99)] = 1
    """The first is the primary, the others copy it; 0 stops the component and keeps its data."""
    resources: Resources = Resources()
    storage: str = "1Gi"
    """What each pod keeps its data on; it can only grow."""
    config: dict[str, str] = {}  # noqa: RUF012 - each object gets its own
    """Settings of the engine, by name."""
    tls: bool = False
    depends_on: list[Name] = []  # noqa: RUF012
    """Components that have to be running, as wanted, before this one is created or changed."""


class ServiceSpec(Struct):
    """A way to reach a component."""

    name: Name
    component: Name
    role: Literal["primary", "all"] = "primary"
    type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = "ClusterIP"


class ClusterSpec(Struct):
    """Desired state of a cluster."""

    components: Annotated[list[Component], Meta(min_length=1, max_length=16), ListMap("name")]
    services: Annotated[list[ServiceSpec], Meta(max_length=16), ListMap("name")] = []  # noqa: RUF012
    termination_policy: TerminationPolicy = "Delete"
    """What becomes of the data when the Cluster is deleted.

    DoNotTerminate refuses the deletion; Halt keeps data and credentials for a successor of the same name; Delete
    deletes them; WipeOut deletes also what earlier clusters of this name have left.
    """
    paused: bool = False
    """Whether nothing is to be changed for now."""
    revision_history_limit: Annotated[int, Meta(ge=0, le=100)] = 5
    """How many earlier specs are kept to go back to."""


class ComponentStatus(Struct):
    """Observed state of a component."""

    phase: ComponentPhase = "Waiting"
    replicas: int = 0
    ready_replicas: int = 0
    version: str = ""
    """The version that all of its pods run."""


class ClusterStatus(Struct):
    """Observed state of a cluster."""

    observed_generation: int = 0
    phase: Phase = ""
    components: dict[str, ComponentStatus] = {}  # noqa: RUF012
    conditions: list[Condition] = []  # noqa: RUF012


class Cluster(
    Resource,
    group=GROUP,
    version="v1",
    short_names=["dbc"],
    printer_columns=[
        PrinterColumn("Phase", ".status.phase"),
        PrinterColumn("Policy", ".spec.terminationPolicy"),
        PrinterColumn("Age", ".metadata.creationTimestamp", "date"),
    ],
):
    """A database cluster."""

    spec: ClusterSpec
    status: ClusterStatus = ClusterStatus()

    def component(self, name: str) -> Component | None:
        """The component of a name."""
        return next((one for one in self.spec.components if one.name == name), None)

"""The kinds of the edge operator."""

from __future__ import annotations

from typing import Annotated

from attractor.objects.resource import Meta, PrinterColumn, Resource, Struct, field
from attractor.operators.edge.api.states import CloudletState, TrackedState

GROUP, VERSION = "edge.attractor.dev", "v1"
FINALIZER = f"{GROUP}/coordinator"
OVERRIDE = f"{GROUP}/override"
"""The annotation by which an administrator lets an instance go past its agent; see ``intents.Override``."""


def _fixed(name: str) -> Meta:
    """A field that is decided when the object is created, on any cluster."""
    rule = {"rule": "self == oldSelf", "message": f"{name} cannot be changed; delete it and create another"}
    return Meta(extra_json_schema={"x-kubernetes-validations": [rule]})


AgentVersion = Annotated[str, Meta(pattern="^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$")]

_STATE = PrinterColumn("State", ".status.state")
_MESSAGE = PrinterColumn("Message", ".status.message")
_AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "date")


class Target(Struct):
    """Goal of an operation: the spec of one generation, in the driver's words."""

    generation: int
    settings: dict[str, str] = field(default_factory=dict)


class Installed(Struct):
    """Observed state of an instance on the platform, as the agent found it."""

    generation: int
    settings: dict[str, str] = field(default_factory=dict)
    endpoint: str = ""


class InstanceStatus(Struct):
    """Observed state of an instance, by coordinator and agent; each field has one writer."""

    state: TrackedState = TrackedState.NOT_PRESENT
    """The committed state; its owner in the table moves it."""
    operation: int = 0
    """How many operations were begun; the coordinator counts."""
    observed_generation: int = 0
    """The generation of the last wish that was taken up."""
    target: Target | None = None
    """What the operation in progress leads to, or what the last one led to; the coordinator's."""
    current: Installed | None = None
    """What is really there, as the agent last reported; None when nothing is."""
    attempts: int = 0
    """How many agent processes have worked on the operation, one after the other; the agent counts."""
    message: str = ""
    """What goes on, for people."""
    error: str = ""
    """Why the last operation failed; empty when it did not."""
    reported: str = ""
    """The session in which the agent last said what is there; it says so of everything in each session anew."""


class ClusterInstSpec(Struct):
    """The cluster that a user wants."""

    nodes: Annotated[int, Meta(ge=1, le=100)] = 1
    """How large it is."""
    reservable: Annotated[bool, _fixed("reservable")] = False
    """Whether it takes the apps of one tenant only: whoever comes first."""


class ClusterInstStatus(InstanceStatus):
    """A cluster's state, and who lives in it."""

    apps: dict[str, int] = field(default_factory=dict)
    """The apps in it; the number is that of an app's operation in progress, 0 while it rests."""
    reserved_by: str = ""
    """The tenant whose apps it takes, while it has any."""


class ClusterInst(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("ci",),
    printer_columns=(_STATE, PrinterColumn("Nodes", ".spec.nodes", "integer"), _MESSAGE, _AGE),
):
    """A cluster on the cloudlet of its namespace."""

    spec: ClusterInstSpec = field(default_factory=ClusterInstSpec)
    status: ClusterInstStatus | None = None


class AppInstSpec(Struct):
    """The app that a user wants."""

    cluster: Annotated[str, Meta(min_length=1), _fixed("cluster")]
    """The ClusterInst that it runs in, for all its life: who claims in one cluster gives back in that one."""
    revision: str = "1"
    """The revision of the app; it says so to whoever asks."""
    replicas: Annotated[int, Meta(ge=1, le=100)] = 1
    """How many of it; the process driver runs one."""
    image: str = ""
    """What the kubernetes driver runs."""
    tenant: Annotated[str, _fixed("tenant")] = ""
    """Whose it is; a reservable cluster takes those of one tenant only."""
    auto_delete: bool = False
    """Whether it goes with its cluster, instead of holding it."""


class AppInst(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("ai",),
    printer_columns=(_STATE, PrinterColumn("Cluster", ".spec.cluster"), _MESSAGE, _AGE),
):
    """An app in a cluster of the same namespace."""

    spec: AppInstSpec
    status: InstanceStatus | None = None


class CloudletSpec(Struct):
    """The cloudlet that a user wants."""

    version: AgentVersion = "1"
    """The version of its agent. Changing it is the wish for an upgrade."""


class AgentInfo(Struct):
    """State of one agent by its own account; only that agent writes it."""

    state: CloudletState = CloudletState.INIT
    message: str = ""


class CloudletStatus(Struct):
    """Observed state of a cloudlet: the upgrade of its agent."""

    state: TrackedState = TrackedState.NOT_PRESENT
    version: str = ""
    """The version that serves; the only one that may work on instances."""
    upgrading_to: str = ""
    """The version that an upgrade in progress, or a failed one, leads to."""
    agents: dict[str, AgentInfo] = field(default_factory=dict)
    """The agents that have reported, by version."""
    cloudlet_state: CloudletState = CloudletState.UNKNOWN
    """What the agent that serves is, or Offline while nothing is heard of it; the coordinator's."""
    message: str = ""


class Cloudlet(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("cl",),
    printer_columns=(
        _STATE,
        PrinterColumn("Agent", ".status.cloudletState"),
        PrinterColumn("Version", ".status.version"),
        _MESSAGE,
        _AGE,
    ),
):
    """A place far away; its name is that of its namespace."""

    spec: CloudletSpec = field(default_factory=CloudletSpec)
    status: CloudletStatus | None = None


class Progress(
    Resource,
    group=GROUP,
    version=VERSION,
    plural="progresses",
    printer_columns=(
        PrinterColumn("Step", ".step", "integer"),
        PrinterColumn("Steps", ".steps", "integer"),
        PrinterColumn("Message", ".message"),
        _AGE,
    ),
):
    """Progress of an operation, for people; it may be behind or missing."""

    operation: int = 0
    """Which operation of the instance this is about."""
    step: int = 0
    steps: int = 0
    """How many there are."""
    message: str = ""
    """What the agent is doing in this step."""
    messages: list[str] = field(default_factory=list)
    """All that was said of the operation, oldest first."""


Instance = ClusterInst | AppInst
KINDS: tuple[type[Resource], ...] = (Cloudlet, ClusterInst, AppInst, Progress)

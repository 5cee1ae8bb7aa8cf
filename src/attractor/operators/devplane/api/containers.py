"""The kinds ``Container`` and ``ContainerExec``: a container of the machine's runtime, and a command run inside one.

A Container has at most one container, which the runtime starts again as ``restartPolicy`` says, whoever watches. What
it is made of is decided when it starts: afterwards the server refuses other images, arguments, ports and the like
(delete it and create another). ``start`` and ``stop`` may go from false to true, never back.

``mode`` says whose the container is. *Session*: this object's, and it goes with it. *Persistent*: it is known by
``containerName`` and stays when the object goes; the next object of that name takes it over if it was made of the same
(``lifecycleKey``), and else replaces it. *Existing*: somebody else's, watched and never changed. *Cleanup*: a
persistent container of this name is removed.

Arguments, values of variables and addresses of probes may hold the templates of Executables. ``portForServing`` is the
port inside the container.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from attractor.objects.resource import (
    Condition,
    ListMap,
    Meta,
    MicroTime,
    PrinterColumn,
    Resource,
    Rule,
    Struct,
    field,
)
from attractor.operators.devplane.api.executables import (
    GROUP,
    VERSION,
    Dependency,
    EnvVar,
    Health,
    Port,
    Probe,
    ServiceName,
    Text,
)

ContainerPhase: TypeAlias = Literal[
    "",
    "Pending",
    "RuntimeUnhealthy",
    "Building",
    "Starting",
    "Running",
    "Paused",
    "Stopping",
    "Exited",
    "NotFound",
    "FailedToStart",
    "Unknown",
]
"""Pending: it waits for a network, a volume or a Service. RuntimeUnhealthy: it waits for the container runtime.
Exited: it ended, by itself or because it was stopped. NotFound: there is no such container, and none is to be made.
FailedToStart: it never ran. Unknown: it was there, and somebody has removed it.
"""
ContainerMode: TypeAlias = Literal["Session", "Persistent", "Existing", "Cleanup"]
ContainerRestartPolicy: TypeAlias = Literal["Never", "OnFailure", "UnlessStopped", "Always"]
ExecPhase: TypeAlias = Literal["", "Starting", "Running", "Finished", "FailedToStart", "Unknown"]

ObjectName = Annotated[str, Meta(min_length=1, max_length=253)]
RuntimeName = Annotated[str, Meta(max_length=128, pattern="^$|^[a-zA-Z0-9][a-zA-Z0-9_.-]*$")]
"""A name that container runtimes take; empty: one is made from the object's own."""
Path = Annotated[str, Meta(min_length=1, max_length=4096)]
AbsolutePath = Annotated[str, Meta(min_length=1, max_length=4096, pattern="^/")]


class ContainerBuild(Struct):
    """An image that is built from a directory of the machine."""

    context: Path
    """The directory; what its ``.dockerignore`` names is left out."""
    dockerfile: str = ""
    """Its path within the directory; ``Dockerfile``, or else ``Containerfile``, when empty."""
    target: str = ""
    """The stage that is built; the last one when empty."""
    args: dict[str, str] = field(default_factory=dict)
    tag: str = ""
    """What the image is called; a name is made from the object's own when empty."""


class ContainerPort(Struct):
    """A port of the container that the machine publishes."""

    container_port: Port
    host_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Where the machine listens; the runtime chooses a free one when 0."""
    host_address: Annotated[str, Meta(max_length=253)] = "127.0.0.1"
    protocol: Literal["TCP", "UDP"] = "TCP"


class ContainerServes(Struct):
    """A Service of the namespace that the container serves, and where it listens inside."""

    service: ServiceName
    port: Port
    """The port inside the container; the machine publishes it, where nothing else is said in ``ports``."""


class VolumeMount(
    Struct,
    rules=[
        Rule("has(self.volume) != has(self.hostPath)", "a mount has either a volume or a hostPath, and one of them")
    ],
):
    """A directory of the container that outlives it."""

    target: AbsolutePath
    volume: ObjectName | None = None
    """A ContainerVolume of the namespace; it is waited for."""
    host_path: Path | None = None
    """A file or directory of the machine, seen from where the controller runs; a directory is made if there is none."""
    read_only: bool = False


class NetworkAttachment(Struct):
    """A network that the container is in."""

    network: ObjectName
    """A ContainerNetwork of the namespace; it is waited for."""
    aliases: Annotated[list[Annotated[str, Meta(min_length=1, max_length=253)]], Meta(max_length=32)] = field(
        default_factory=list
    )
    """Names by which others in that network find it, beside the object's own name."""


class CreatedFile(
    Struct,
    rules=[Rule("has(self.content) != has(self.source)", "a file has either content or a source, and one of them")],
):
    """A file that is put into the container before it starts."""

    path: AbsolutePath
    content: Annotated[str, Meta(max_length=262144)] | None = None
    source: Path | None = None
    """A file of the machine whose content it gets."""
    mode: Annotated[int, Meta(ge=0, le=0o7777)] = 0o644
    uid: Annotated[int, Meta(ge=0)] = 0
    gid: Annotated[int, Meta(ge=0)] = 0


class ContainerSpec(Struct):
    """The container that is wanted."""

    image: Annotated[str, Meta(max_length=1024)] = ""
    build: ContainerBuild | None = None
    container_name: RuntimeName = ""
    """What the runtime calls it."""
    mode: ContainerMode = "Session"
    lifecycle_key: Annotated[str, Meta(max_length=256)] = ""
    """A persistent container is taken over if its key is the same; a hash of what it is made of when empty."""
    pull_policy: Literal["Missing", "Always", "Never"] = "Missing"
    command: Annotated[list[Text], Meta(max_length=64)] = field(default_factory=list)
    """What runs in place of the image's entry point."""
    args: Annotated[list[Text], Meta(max_length=256)] = field(default_factory=list)
    working_directory: Annotated[str, Meta(max_length=4096)] = ""
    user: Annotated[str, Meta(max_length=255)] = ""
    hostname: Annotated[str, Meta(max_length=253)] = ""
    env: Annotated[list[EnvVar], Meta(max_length=256), ListMap("name")] = field(default_factory=list)
    env_files: Annotated[list[Path], Meta(max_length=16)] = field(default_factory=list)
    """Files of lines ``NAME=value`` on the machine; later ones win over earlier ones, and ``env`` over all."""
    ports: Annotated[list[ContainerPort], Meta(max_length=64)] = field(default_factory=list)
    serves: Annotated[list[ContainerServes], Meta(max_length=16), ListMap("service")] = field(default_factory=list)
    volume_mounts: Annotated[list[VolumeMount], Meta(max_length=64), ListMap("target")] = field(default_factory=list)
    networks: Annotated[list[NetworkAttachment], Meta(max_length=16), ListMap("network")] | None = None
    """The networks that it is in; the runtime's own when nothing is said, and none when the list is empty."""
    create_files: Annotated[list[CreatedFile], Meta(max_length=64), ListMap("path")] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    """Labels of the container, beside those by which it is found again."""
    restart_policy: ContainerRestartPolicy = "Never"
    """Whether the runtime starts it again after it ended by itself."""
    probes: Annotated[list[Probe], Meta(max_length=16), ListMap("name")] = field(default_factory=list)
    """All must succeed for it to be healthy; a command runs inside the container."""
    start: bool = True
    """Whether it is to run at all; it may be created first and started later."""
    depends_on: Annotated[list[Dependency], Meta(max_length=64), ListMap("kind", "name")] = field(default_factory=list)
    """Where ``start`` is false: it becomes true as soon as all of these are there."""
    stop: bool = False
    """Whether it is to end, for good."""
    stop_grace_seconds: Annotated[int, Meta(ge=0, le=3600)] = 10
    """How long it may take to end after its stop signal, before it is killed."""


class PublishedPort(Struct):
    """A port of the container, and where the machine publishes it."""

    container_port: Port
    host_port: Port
    host_address: str = "127.0.0.1"
    protocol: Literal["TCP", "UDP"] = "TCP"


class ContainerStatus(Struct):
    """Observed state of a Container."""

    phase: ContainerPhase = ""
    container_id: str = ""
    container_name: str = ""
    lifecycle_key: str = ""
    started_at: MicroTime | None = None
    finished_at: MicroTime | None = None
    exit_code: int | None = None
    restarts: int = 0
    """How often the runtime has started it again."""
    ports: list[PublishedPort] = field(default_factory=list)
    networks: list[str] = field(default_factory=list)
    """The runtime's networks that it is in, by name."""
    health: Health = ""
    observed_generation: int = 0
    conditions: Annotated[list[Condition], ListMap("type")] = field(default_factory=list)
    """Ready: it runs and is healthy."""
    message: str = ""
    """What goes on, or what went wrong, for people."""


_MADE_OF = (
    "image",
    "build",
    "containerName",
    "mode",
    "lifecycleKey",
    "command",
    "args",
    "workingDirectory",
    "user",
    "hostname",
    "env",
    "envFiles",
    "ports",
    "serves",
    "volumeMounts",
    "networks",
    "createFiles",
    "labels",
    "restartPolicy",
    "pullPolicy",
    "probes",
)
_OPTIONAL = {"build", "networks"}


def _same(name: str) -> str:
    here, before = f"self.spec.{name}", f"oldSelf.spec.{name}"
    if name not in _OPTIONAL:
        return f"{here} == {before}"
    return f"has({here}) == has({before}) && (!has({here}) || {here} == {before})"


_RULES = (
    Rule(
        "self.spec.mode in ['Existing', 'Cleanup'] || (self.spec.image != '') != has(self.spec.build)",
        "a container is made either from an image or by a build, and from one of them",
    ),
    Rule(
        "self.spec.mode == 'Session' || self.spec.containerName != ''",
        "only containers of the session get a name of their own; say containerName",
        field_path=".spec.containerName",
    ),
    Rule(
        "self.spec.start || !oldSelf.spec.start",
        "start cannot be taken back; set stop, or delete the Container",
        field_path=".spec.start",
    ),
    Rule(
        "self.spec.stop || !oldSelf.spec.stop",
        "stop cannot be taken back; create another Container",
        field_path=".spec.stop",
    ),
    *(
        Rule(
            f"!oldSelf.spec.start || ({_same(name)})",
            f"{name} cannot be changed once it was started; delete the Container and create another",
            field_path=f".spec.{name}",
        )
        for name in _MADE_OF
    ),
)
AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "date")
MESSAGE = PrinterColumn("Message", ".status.message", priority=1)


class Container(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("ctr",),
    categories=("dev",),
    printer_columns=(
        PrinterColumn("Phase", ".status.phase"),
        PrinterColumn("Health", ".status.health"),
        PrinterColumn("Image", ".spec.image"),
        PrinterColumn("Container", ".status.containerName"),
        PrinterColumn("Exit", ".status.exitCode", "integer"),
        PrinterColumn("Restarts", ".status.restarts", "integer"),
        AGE,
        MESSAGE,
    ),
    rules=_RULES,
):
    """A container of this machine's container runtime."""

    spec: ContainerSpec
    status: ContainerStatus = field(default_factory=ContainerStatus)


class ContainerExecSpec(Struct):
    """The command that is wanted."""

    container: ObjectName
    """The Container of the namespace inside which it runs; it is waited for."""
    command: Annotated[list[Text], Meta(min_length=1, max_length=64)]
    args: Annotated[list[Text], Meta(max_length=256)] = field(default_factory=list)
    env: Annotated[list[EnvVar], Meta(max_length=256), ListMap("name")] = field(default_factory=list)
    env_files: Annotated[list[Path], Meta(max_length=16)] = field(default_factory=list)
    working_directory: Annotated[str, Meta(max_length=4096)] = ""


class ContainerExecStatus(Struct):
    """Observed state of a ContainerExec."""

    phase: ExecPhase = ""
    exec_id: str = ""
    container_id: str = ""
    exit_code: int | None = None
    started_at: MicroTime | None = None
    finished_at: MicroTime | None = None
    output: str = ""
    """The end of what it wrote."""
    observed_generation: int = 0
    message: str = ""


class ContainerExec(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("ctrexec",),
    categories=("dev",),
    printer_columns=(
        PrinterColumn("Container", ".spec.container"),
        PrinterColumn("Phase", ".status.phase"),
        PrinterColumn("Exit", ".status.exitCode", "integer"),
        AGE,
        MESSAGE,
    ),
    rules=[
        Rule(
            "self.spec == oldSelf.spec",
            "a command cannot be changed once it was asked for; create another ContainerExec",
            field_path=".spec",
        )
    ],
):
    """A command that is run once inside a Container, at most once whoever crashes."""

    spec: ContainerExecSpec
    status: ContainerExecStatus = field(default_factory=ContainerExecStatus)

"""The kinds ``Executable`` and ``ExecutableReplicaSet``: a process of this machine, and some equal ones.

An Executable is run once, and again as its ``restartPolicy`` says. What it runs is decided when it starts: afterwards
the server refuses other commands, arguments, variables, probes and services (delete it and create another). ``start``
and ``stop`` may go from false to true, never back; ``restart``, ``restartPolicy`` and ``stopGraceSeconds`` may change
at any time.

Arguments, values of variables and addresses of probes may hold ``{{portForServing "svc"}}``, ``{{addressForServing
"svc"}}``, ``{{portFor "svc"}}`` and ``{{addressFor "svc"}}``: the first two say where this process is to listen, the
others where to reach a Service of the namespace.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from attractor.objects.resource import (
    Condition,
    ListMap,
    Meta,
    MicroTime,
    PrinterColumn,
    Resource,
    Rule,
    Scale,
    Struct,
    field,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP, VERSION = "dev.attractor.dev", "v1"
REPLICA_SET = f"{GROUP}/replica-set"
"""The label that says of which ExecutableReplicaSet an Executable is a replica."""

Phase: TypeAlias = Literal["", "Starting", "Running", "Stopping", "Finished", "Terminated", "FailedToStart", "Unknown"]
Health: TypeAlias = Literal["", "Healthy", "Unhealthy", "Caution"]
RestartPolicy: TypeAlias = Literal["Never", "OnFailure", "Always"]
DependencyCondition: TypeAlias = Literal["Started", "Healthy", "Completed"]

MOVES: Mapping[Phase, frozenset[Phase]] = MappingProxyType(
    {
        "": frozenset({"Starting", "Terminated"}),
        "Starting": frozenset({"Running", "Stopping", "Finished", "Terminated", "FailedToStart", "Unknown"}),
        "Running": frozenset({"Starting", "Stopping", "Finished", "Terminated", "Unknown"}),
        "Stopping": frozenset({"Starting", "Finished", "Terminated", "FailedToStart", "Unknown"}),
        "Finished": frozenset({"Starting"}),
        "Terminated": frozenset(),
        "FailedToStart": frozenset({"Starting"}),
        "Unknown": frozenset({"Starting"}),
    }
)
"""Where a phase may lead; to Starting when the process ended and is to run again.

Without a phase there is no process, and never was: that it is starting is stored before anything is started.
Finished: it ended by itself. Terminated: it was told to stop. FailedToStart: it never ran. Unknown: it is gone, and
nobody saw how it ended. The last four are final, unless ``restart`` asks for another run; Terminated is in any case.
"""
FINAL: frozenset[Phase] = frozenset({"Finished", "Terminated", "FailedToStart", "Unknown"})
"""The phases of an Executable that has no process, and gets none by itself."""

Port = Annotated[int, Meta(ge=1, le=65535)]
Text = Annotated[str, Meta(max_length=8192)]
ServiceName = Annotated[str, Meta(min_length=1, max_length=63)]


class EnvVar(Struct):
    """A variable of the process's environment."""

    name: Annotated[str, Meta(min_length=1, max_length=255, pattern="^[^=\x00]+$")]
    value: Text = ""


class Serves(Struct):
    """A Service of the namespace that the process serves, and where it listens."""

    service: ServiceName
    port: Port | None = None
    """Where it listens; a free port is chosen, and kept for all its life, when none is given."""
    address: Annotated[str, Meta(min_length=1, max_length=253)] = "127.0.0.1"


class HttpProbe(Struct):
    """Success is an answer with a status from 200 to 399."""

    url: Annotated[str, Meta(min_length=1, max_length=2048)]


class CommandProbe(Struct):
    """Success is exit code 0; it runs where the process runs, in the same environment."""

    command: Annotated[list[Text], Meta(min_length=1, max_length=64)]


class TcpProbe(Struct):
    """Success is a connection that is accepted."""

    address: Annotated[str, Meta(min_length=1, max_length=253)] = "127.0.0.1"
    port: Annotated[str, Meta(min_length=1, max_length=253)]
    """A number, or a template such as ``{{portForServing "db"}}``."""


class LogProbe(Struct):
    """Success is a line of this run, on stdout or stderr, in which a regular expression is found; once is enough."""

    pattern: Annotated[str, Meta(min_length=1, max_length=1024)]


_WAYS = "(has(self.http) ? 1 : 0) + (has(self.tcp) ? 1 : 0) + (has(self.command) ? 1 : 0) + (has(self.log) ? 1 : 0)"


class Probe(
    Struct, rules=[Rule(f"{_WAYS} == 1", "a probe has one of http, tcp, command and log, and not more than one")]
):
    """A question that is asked while the process runs, to find out whether it is healthy."""

    name: Annotated[str, Meta(min_length=1, max_length=63)]
    http: HttpProbe | None = None
    tcp: TcpProbe | None = None
    command: CommandProbe | None = None
    log: LogProbe | None = None
    schedule: Literal["Continuous", "UntilSuccess"] = "Continuous"
    interval_seconds: Annotated[float, Meta(ge=0.1, le=3600)] = 10.0
    """How long after one question the next is asked; one second at most until it has succeeded once."""
    timeout_seconds: Annotated[float, Meta(ge=0.1, le=600)] = 10.0
    initial_delay_seconds: Annotated[float, Meta(ge=0, le=3600)] = 0.0


class Dependency(
    Struct,
    rules=[
        Rule(
            "self.kind != 'ExecutableReplicaSet' || self.condition != 'Completed'",
            "a replica set does not complete; wait for an Executable",
        )
    ],
):
    """Another part of the application that comes first."""

    name: ServiceName
    kind: Literal["Executable", "ExecutableReplicaSet", "Container"] = "Executable"
    condition: DependencyCondition = "Healthy"
    """Started: it runs, or has run. Healthy: it runs, and its probes succeed. Completed: it ended with exit code 0."""
    restart: bool = False
    """Whether this process is started again whenever the other one was told to."""


class Watch(Struct):
    """Files whose change starts the process again."""

    paths: Annotated[list[Annotated[str, Meta(min_length=1, max_length=1024)]], Meta(min_length=1, max_length=64)]
    """Patterns such as ``src/**/*.py``, seen from the working directory; a directory stands for all in it."""
    ignore: Annotated[list[Annotated[str, Meta(max_length=1024)]], Meta(max_length=64)] = field(default_factory=list)
    debounce_seconds: Annotated[float, Meta(ge=0.1, le=60)] = 0.5
    """How long the files must have stayed the same; they are looked at as often."""


class ExecutableSpec(Struct):
    """The process that is wanted."""

    command: Annotated[list[Text], Meta(min_length=1, max_length=64)]
    """The program, by path or by a name that is looked for in PATH, and its first arguments."""
    args: Annotated[list[Text], Meta(max_length=256)] = field(default_factory=list)
    """More arguments."""
    working_directory: Annotated[str, Meta(max_length=4096)] = ""
    """Where it runs; where the controller runs when empty."""
    env: Annotated[list[EnvVar], Meta(max_length=256), ListMap("name")] = field(default_factory=list)
    env_files: Annotated[list[Annotated[str, Meta(max_length=4096)]], Meta(max_length=16)] = field(default_factory=list)
    """Files of lines ``NAME=value``; later ones win over earlier ones, and ``env`` over all."""
    inherit_env: bool = True
    """Whether it also gets the environment of the controller."""
    start: bool = True
    """Whether it is to run at all; it may be created first and started later."""
    stop: bool = False
    """Whether it is to end, for good."""
    depends_on: Annotated[list[Dependency], Meta(max_length=64), ListMap("kind", "name")] = field(default_factory=list)
    """Each run begins when all of these are there."""
    restart: Annotated[str, Meta(max_length=253)] = ""
    """Any word; when it changes, the process is ended and started again, also one that has ended by itself."""
    watch: Watch | None = None
    """Files whose change is a reason to restart."""
    serves: Annotated[list[Serves], Meta(max_length=16), ListMap("service")] = field(default_factory=list)
    probes: Annotated[list[Probe], Meta(max_length=16), ListMap("name")] = field(default_factory=list)
    """All must succeed for it to be healthy; without any, running is healthy."""
    restart_policy: RestartPolicy = "Never"
    """Whether it runs again after it ended by itself, later each time; OnFailure: after another code than 0."""
    stop_grace_seconds: Annotated[float, Meta(ge=0, le=3600)] = 6.0
    """How long it may take to end after SIGTERM, before SIGKILL ends it and all that it started."""


class ExecutableStatus(Struct):
    """Observed state of an Executable."""

    phase: Phase = ""
    pid: int | None = None
    """The process of the latest run."""
    started_at: MicroTime | None = None
    finished_at: MicroTime | None = None
    exit_code: int | None = None
    """How the latest run ended; 128 and the signal's number when a signal ended it."""
    restarts: int = 0
    restart: str = ""
    """The word of ``spec.restart`` for which the latest run was begun, with those of the dependencies it follows."""
    backoff_seconds: float = 0.0
    """How long the last restart waited, or the next one waits, after the process ended."""
    stdout_file: str = ""
    """What all runs wrote; it goes with the Executable."""
    stderr_file: str = ""
    ports: dict[str, int] = field(default_factory=dict)
    """Where it serves each of its Services: the given port, or the one that was chosen."""
    health: Health = ""
    observed_generation: int = 0
    conditions: Annotated[list[Condition], ListMap("type")] = field(default_factory=list)
    """Ready: it runs and is healthy."""
    message: str = ""
    """What goes on, or what went wrong, for people."""


_FIXED = ("command", "args", "env", "envFiles", "inheritEnv", "workingDirectory", "serves", "probes", "dependsOn")
_RULES = (
    Rule(
        "self.spec.start || !oldSelf.spec.start",
        "start cannot be taken back; set stop, or delete the Executable",
        field_path=".spec.start",
    ),
    Rule(
        "self.spec.stop || !oldSelf.spec.stop",
        "stop cannot be taken back; create another Executable",
        field_path=".spec.stop",
    ),
    *(
        Rule(
            f"!oldSelf.spec.start || self.spec.{name} == oldSelf.spec.{name}",
            f"{name} cannot be changed once it was started; delete the Executable and create another",
            field_path=f".spec.{name}",
        )
        for name in _FIXED
    ),
)
_HEALTH = PrinterColumn("Health", ".status.health")
_MESSAGE = PrinterColumn("Message", ".status.message", priority=1)
_AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "date")


class Executable(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("exe",),
    categories=("dev",),
    printer_columns=(
        PrinterColumn("Phase", ".status.phase"),
        _HEALTH,
        PrinterColumn("PID", ".status.pid", "integer"),
        PrinterColumn("Exit", ".status.exitCode", "integer"),
        PrinterColumn("Restarts", ".status.restarts", "integer"),
        _AGE,
        _MESSAGE,
    ),
    rules=_RULES,
):
    """A process of this machine."""

    spec: ExecutableSpec
    status: ExecutableStatus = field(default_factory=ExecutableStatus)


class TemplateMeta(Struct):
    """Labels and annotations of each replica."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class ExecutableTemplate(Struct):
    """Template of the replicas."""

    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: ExecutableSpec


class ExecutableReplicaSetSpec(Struct):
    """Desired number of replicas, and their template."""

    replicas: Annotated[int, Meta(ge=0, le=1000)] = 1
    template: ExecutableTemplate
    """A change of it is for replicas that are made afterwards; delete one to have it replaced."""


class ExecutableReplicaSetStatus(Struct):
    """Observed number of replicas, by state."""

    replicas: int = 0
    """All that are there and not being deleted, whatever became of their processes."""
    running_replicas: int = 0
    finished_replicas: int = 0
    """Those that ended by themselves or were told to stop."""
    failed_replicas: int = 0
    """Those that could not be started, or ended in a way that nobody saw."""
    health: Health = ""
    """Healthy when as many as wanted are; Caution when some are."""
    selector: str = ""
    observed_generation: int = 0
    message: str = ""


class ExecutableReplicaSet(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=("exers",),
    categories=("dev",),
    scale=Scale(label_selector_path=".status.selector"),
    printer_columns=(
        PrinterColumn("Desired", ".spec.replicas", "integer"),
        PrinterColumn("Current", ".status.replicas", "integer"),
        PrinterColumn("Running", ".status.runningReplicas", "integer"),
        _HEALTH,
        _AGE,
        _MESSAGE,
    ),
    rules=[
        Rule("self.metadata.name.size() <= 57", "a set's name has at most 57 letters: it is a label of its replicas")
    ],
):
    """Some equal Executables, named ``SET-0``, ``SET-1`` and so on."""

    spec: ExecutableReplicaSetSpec
    status: ExecutableReplicaSetStatus = field(default_factory=ExecutableReplicaSetStatus)

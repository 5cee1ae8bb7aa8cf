"""Objects of a developer control plane on a terminal: a line for each, and one for each change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attractor.cli.terminal import Paint
    from attractor.objects.resource import Resource
    from attractor.operators.devplane.api.container_networks import ContainerNetwork, ContainerVolume
    from attractor.operators.devplane.api.containers import Container, ContainerExec
    from attractor.operators.devplane.api.executables import Executable, ExecutableReplicaSet
    from attractor.operators.devplane.api.services import Service

HEADINGS = ("KIND", "NAME", "STATE", "WHAT")
LEAST = (8, 4, len("FailedToStart"))
"""How wide the columns are at least; as wide as the longest state, so that lines that come one by one stay in order."""
SHORT = {
    "Service": "service",
    "ExecutableReplicaSet": "replicas",
    "Executable": "process",
    "Container": "container",
    "ContainerExec": "command",
    "ContainerNetwork": "network",
    "ContainerVolume": "volume",
}
NAME_STYLES = (("bold",), ("green",), ("yellow",), ("bold", "green"), ("bold", "yellow"))
"""Styles of the names before lines that processes write, in turn."""
COLOURS = {
    "Ready": "green",
    "Running": "green",
    "Connected": "green",
    "Exited": "dim",
    "RuntimeUnhealthy": "red",
    "Finished": "dim",
    "Terminated": "dim",
    "gone": "dim",
    "FailedToStart": "red",
    "Unknown": "red",
    "Failed": "red",
    "Unhealthy": "red",
}
"""What is neither well nor over nor wrong is on its way, which is yellow."""


UNSEEN = "Waiting"
"""The state of an object that its controller has not looked at yet."""


class Line(NamedTuple):
    """One object, cell by cell."""

    kind: str
    name: str
    state: str
    what: str = ""

    @property
    def about(self) -> tuple[str, str]:
        """Return the object that it is a line about."""
        return self.kind, self.name

    @property
    def is_told(self) -> bool:
        """Return whether there is something to tell: not while nobody has looked at the object yet."""
        return self.state != UNSEEN


def _name(obj: Resource) -> str:
    metadata = obj.metadata
    return metadata.name if metadata.namespace == "default" else f"{metadata.namespace}/{metadata.name}"


def service_line(service: Service) -> Line:
    """Return the line of a Service: its address and endpoints, or why it is not ready."""
    from attractor.operators.devplane.drivers.proxies import Place

    status, parts = service.status, []
    state = status.phase if status.observed_generation else UNSEEN
    if status.effective_port:
        parts.append(str(Place(status.effective_address, status.effective_port)))
    if status.phase == "Ready":
        parts.append(f"{status.endpoints} endpoint{'' if status.endpoints == 1 else 's'}")
    if status.message:
        parts.append(status.message)
    return Line(SHORT["Service"], _name(service), state, ", ".join(parts))


def replicas_line(replicas: ExecutableReplicaSet) -> Line:
    """Return the line of a replica set: how many run of how many that are wanted."""
    status, wanted = replicas.status, replicas.spec.replicas
    is_well = status.running_replicas == wanted and status.health not in {"Unhealthy", "Caution"}
    state = "Running" if is_well else "Unhealthy" if status.health == "Unhealthy" else "Starting"
    if not status.observed_generation:
        state = UNSEEN
    said = [f"{status.running_replicas} of {wanted} run"]
    if status.failed_replicas:
        said.append(f"{status.failed_replicas} failed")
    if status.message:
        said.append(status.message)
    return Line(SHORT["ExecutableReplicaSet"], _name(replicas), state, ", ".join(said))


def process_line(executable: Executable) -> Line:
    """Return the line of an Executable: its state, pid, exit code and restarts."""
    from attractor.operators.devplane.api.executables import FINAL

    status, said = executable.status, []
    state: str = status.phase or (UNSEEN if executable.spec.start else "Created")
    if status.phase == "Running" and executable.spec.probes and status.health != "Healthy":
        state = status.health if status.health == "Unhealthy" else "Unproven"
    if status.phase == "Finished" and status.exit_code:
        state = "Failed"
    if status.phase in {"Running", "Stopping"} and status.pid is not None:
        said.append(f"pid {status.pid}")
    if status.exit_code is not None and status.phase in FINAL:
        said.append(f"exit code {status.exit_code}")
    if status.restarts:
        said.append(f"restart {status.restarts}")
    if status.message:
        said.append(status.message)
    return Line(SHORT["Executable"], _name(executable), state, ", ".join(said))


def container_line(container: Container) -> Line:
    """Return the line of a Container: its state, published ports, exit code and restarts."""
    status, said = container.status, []
    state: str = status.phase or (UNSEEN if container.spec.start else "Created")
    if status.phase == "Running":
        if container.spec.probes and status.health != "Healthy":
            state = status.health if status.health == "Unhealthy" else "Unproven"
        said += [f"{one.host_address}:{one.host_port}->{one.container_port}" for one in status.ports]
    if status.phase == "Exited" and status.exit_code is not None:
        state = "Failed" if status.exit_code and not container.spec.stop else state
        said.append(f"exit code {status.exit_code}")
    if status.restarts:
        said.append(f"restart {status.restarts}")
    if status.message:
        said.append(status.message)
    return Line(SHORT["Container"], _name(container), state, ", ".join(said))


def command_line(command: ContainerExec) -> Line:
    """Return the line of a command inside a container: its state, and its exit code."""
    status, said = command.status, [f"in {command.spec.container}"]
    if status.exit_code is not None:
        said.append(f"exit code {status.exit_code}")
    if status.message:
        said.append(status.message)
    state = "Failed" if status.phase == "Finished" and status.exit_code else status.phase or UNSEEN
    return Line(SHORT["ContainerExec"], _name(command), state, ", ".join(said))


def shared_line(shared: ContainerNetwork | ContainerVolume) -> Line:
    """Return the line of what containers share: its state, or why it is not there."""
    kind = type(shared).__name__
    said = shared.status.message or ", ".join(getattr(shared.status, "subnets", ()))
    return Line(SHORT[kind], _name(shared), shared.status.phase or UNSEEN, said)


def lines_of(found: Mapping[str, Sequence[Any]]) -> list[Line]:
    """The whole view, from the objects of each kind."""
    makers: dict[str, Callable[[Any], Line]] = {
        "Service": service_line,
        "ExecutableReplicaSet": replicas_line,
        "Executable": process_line,
        "Container": container_line,
        "ContainerExec": command_line,
        "ContainerNetwork": shared_line,
        "ContainerVolume": shared_line,
    }
    return [maker(one) for kind, maker in makers.items() for one in found.get(kind, ())]


def text_of(line: Line, widths: Sequence[int], paint: Paint) -> str:
    """One line as it is printed."""
    kind, name, state = (cell.ljust(width) for cell, width in zip(line[:3], widths, strict=False))
    state = paint(state, COLOURS.get(line.state, "yellow"))
    return f"{paint(kind, 'dim')}  {paint(name, 'bold')}  {state}  {line.what}".rstrip()


def widths_of(lines: Sequence[Line], least: Sequence[int] = LEAST) -> list[int]:
    """Return the widths of the columns."""
    return [max([least[at], *(len(line[at]) for line in lines)]) for at in range(3)]


def table(lines: Sequence[Line], paint: Paint) -> list[str]:
    """The view with its headings."""
    widths = widths_of(lines)
    head = "  ".join(heading.ljust(width) for heading, width in zip(HEADINGS, [*widths, 0], strict=True)).rstrip()
    return [paint(head, "dim"), *(text_of(line, widths, paint) for line in lines)]


def news(known: Mapping[tuple[str, str], Line], lines: Sequence[Line]) -> list[Line]:
    """The lines that are new or changed, and those that are gone."""
    there = {line.about for line in lines}
    gone = [Line(*about, "gone") for about in known if about not in there]
    return [line for line in lines if known.get(line.about) != line] + gone

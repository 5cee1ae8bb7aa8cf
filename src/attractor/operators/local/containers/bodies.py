"""Docker's JSON from orders, and what is found from Docker's JSON. Pure."""

from __future__ import annotations

import io
import re
import tarfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from attractor.objects.resource import MicroTime
from attractor.operators.local.containers.runtime import (
    FoundContainer,
    FoundExec,
    FoundNetwork,
    FoundVolume,
    PublishedPort,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attractor.operators.local.containers.runtime import (
        ContainerOrder,
        ContainerState,
        ExecOrder,
        File,
        Labels,
    )

_STATES: Mapping[str, ContainerState] = {
    "created": "created",
    "configured": "created",
    "initialized": "created",
    "running": "running",
    "restarting": "running",
    "stopping": "running",
    "paused": "paused",
}
"""What has another state has ended."""
_RESTARTS = {"Never": "no", "OnFailure": "on-failure", "UnlessStopped": "unless-stopped", "Always": "always"}
_FRACTION = re.compile(r"(\.\d{1,6})\d*")


def creation(order: ContainerOrder, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of a request to make a container; the first network is in it, the others are connected later."""
    host: dict[str, Any] = {
        "PortBindings": _bindings(order.ports),
        "RestartPolicy": {"Name": _RESTARTS[order.restart_policy]},
        "Binds": [_bind(mount.source, mount.target, is_read_only=mount.is_read_only) for mount in order.mounts],
    }
    body: dict[str, Any] = {
        "Image": order.image,
        "Env": [f"{name}={value}" for name, value in environment.items()],
        "Labels": dict(order.labels),
        "ExposedPorts": {_port_name(one): {} for one in order.ports},
        "HostConfig": host,
    }
    if order.networks is not None:
        first = order.networks[0] if order.networks else None
        host["NetworkMode"] = first.network if first is not None else "none"
        if first is not None:
            body["NetworkingConfig"] = {"EndpointsConfig": {first.network: {"Aliases": list(first.aliases)}}}
    optional = {
        "Entrypoint": list(order.command),
        "Cmd": list(order.args),
        "WorkingDir": order.working_directory,
        "User": order.user,
        "Hostname": order.hostname,
    }
    return body | {name: value for name, value in optional.items() if value}


def _port_name(port: PublishedPort) -> str:
    return f"{port.container_port}/{port.protocol.lower()}"


def _bindings(ports: Iterable[PublishedPort]) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for port in ports:
        where = {"HostIp": port.host_address, "HostPort": str(port.host_port) if port.host_port else ""}
        found.setdefault(_port_name(port), []).append(where)
    return found


def _bind(source: str, target: str, *, is_read_only: bool) -> str:
    return f"{source}:{target}:ro" if is_read_only else f"{source}:{target}"


def command(order: ExecOrder, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of a request to prepare a command."""
    body: dict[str, Any] = {
        "Cmd": list(order.command),
        "Env": [f"{name}={value}" for name, value in environment.items()],
        "AttachStdout": True,
        "AttachStderr": True,
    }
    return body | ({"WorkingDir": order.working_directory} if order.working_directory else {})


def container(said: dict[str, Any]) -> FoundContainer:
    """A container from what ``inspect`` says of it."""
    state = said["State"]
    stands = _STATES.get(state["Status"], "exited")
    settings = said.get("NetworkSettings") or {}
    return FoundContainer(
        id=said["Id"],
        name=said["Name"].lstrip("/"),
        state=stands,
        labels=labels_of((said.get("Config") or {}).get("Labels")),
        started_at=time_of(state.get("StartedAt")) if stands != "created" else None,
        finished_at=time_of(state.get("FinishedAt")) if stands == "exited" else None,
        exit_code=state.get("ExitCode") if stands == "exited" else None,
        restarts=said.get("RestartCount") or 0,
        ports=_published(settings.get("Ports") or {}),
        networks=tuple(sorted(settings.get("Networks") or {})),
    )


def _published(said: dict[str, Any]) -> tuple[PublishedPort, ...]:
    found = []
    for name, places in said.items():
        number, _, protocol = name.partition("/")
        found += [
            PublishedPort(int(number), int(place["HostPort"]), place["HostIp"] or "0.0.0.0", protocol.upper())  # noqa: S104 - told, not bound
            for place in places or ()
            if place.get("HostPort")
        ]
    return tuple(sorted(found))


def network(said: dict[str, Any]) -> FoundNetwork:
    """A network from what ``inspect`` says of it."""
    ranges = (said.get("IPAM") or {}).get("Config") or ()
    return FoundNetwork(
        id=said["Id"],
        name=said["Name"],
        labels=labels_of(said.get("Labels")),
        driver=said.get("Driver") or "",
        subnets=tuple(one["Subnet"] for one in ranges if one.get("Subnet")),
        gateways=tuple(one["Gateway"] for one in ranges if one.get("Gateway")),
    )


def volume(said: dict[str, Any]) -> FoundVolume:
    """A volume from what ``inspect`` says of it."""
    return FoundVolume(said["Name"], labels_of(said.get("Labels")))


def execution(said: dict[str, Any]) -> FoundExec:
    """A command from what ``inspect`` says of it; one that has not begun has neither a process nor a code."""
    if said.get("Running"):
        return FoundExec("running")
    code = said.get("ExitCode")
    if code is None or not (code or said.get("Pid") or said.get("CanRemove")):
        return FoundExec("created")
    return FoundExec("ended", code)


def labels_of(said: Mapping[str, str] | None) -> Labels:
    """Labels in the order of their names."""
    return tuple(sorted((said or {}).items()))


def time_of(said: str | None) -> MicroTime | None:
    """A time with up to nine digits of a second; None for the zero time, which stands for none.

    >>> print(time_of("2026-11-18T04:57:57.858467734Z"), time_of("0001-01-01T00:00:00Z"))
    2026-11-18 04:57:57.858467+00:00 None
    """
    if not said or said.startswith("0001-"):
        return None
    found = datetime.fromisoformat(_FRACTION.sub(r"\1", said))
    return MicroTime.of(found.astimezone(UTC))


def archive(files: Iterable[tuple[File, bytes]]) -> bytes:
    """A tar archive of some files with their contents, from the root on."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for file, content in files:
            entry = tarfile.TarInfo(file.path.lstrip("/"))
            entry.size, entry.mode, entry.uid, entry.gid = len(content), file.mode, file.uid, file.gid
            tar.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def written(stream: bytes) -> str:
    """What a command wrote, without the eight bytes before each piece that say which stream it was.

    >>> written(bytes([1, 0, 0, 0, 0, 0, 0, 3]) + b"one" + bytes([2, 0, 0, 0, 0, 0, 0, 4]) + b" two")
    'one two'
    """
    return b"".join(piece for _, piece in pieces_of(stream)).decode(errors="replace")


def pieces_of(stream: bytes) -> list[tuple[int, bytes]]:
    """The pieces of what was written, each with its stream (1: stdout, 2: stderr); of a terminal it is one piece."""
    pieces, at = [], 0
    while at + 8 <= len(stream) and stream[at] <= 2 and stream[at + 1 : at + 4] == b"\0\0\0":
        size = int.from_bytes(stream[at + 4 : at + 8], "big")
        pieces.append((stream[at], stream[at + 8 : at + 8 + size]))
        at += 8 + size
    return pieces or [(1, stream)]

"""``ContainerEngine``: Docker or Podman, by Docker's HTTP API on a unix socket.

    async with ContainerEngine("/run/podman/podman.sock", watched=("some.label", "value")) as engine: ...

Whatever it makes has the label that it was opened with, by which a later one finds it again; of what others have made
it sees what is asked for by name. It tells of changes by itself: of each container with that label, by the value of
another label, and of all of them whenever it has come back to a runtime that was away. One machine, Linux only.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from attractor.operators.local.containers import bodies
from attractor.operators.local.containers.build_context import build_context
from attractor.operators.local.containers.http import Socket
from attractor.operators.local.containers.runtime import (
    InUse,
    NameTaken,
    NotThere,
    Refused,
    RuntimeProblem,
    RuntimeUnreachable,
)
from attractor.operators.local.env_files import variables
from attractor.runtime.toolkit.channel import Channel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from types import TracebackType
    from typing import Self

    from attractor.operators.local.containers.http import Answer
    from attractor.operators.local.containers.runtime import (
        ContainerOrder,
        ExecOrder,
        FoundContainer,
        FoundExec,
        FoundNetwork,
        FoundVolume,
        Labels,
    )

RETRY_S = 1.0
"""When to come back to a runtime that is away."""
PULL_S = 3600.0
OUTPUT_LETTERS = 4096
"""How much of what a command wrote is kept."""
SOCKETS = ("/run/podman/podman.sock", "/var/run/docker.sock")


def default_socket(environment: Mapping[str, str]) -> str:
    """Return where the runtime listens: as CONTAINER_HOST or DOCKER_HOST say, or else in the usual places."""
    for name in ("CONTAINER_HOST", "DOCKER_HOST"):
        said = environment.get(name, "")
        if said.startswith("unix://"):
            return said.removeprefix("unix://")
    own = Path(environment.get("XDG_RUNTIME_DIR", "/nowhere"), "podman", "podman.sock")
    return next((path for path in (*SOCKETS, str(own)) if Path(path).exists()), SOCKETS[0])


class ContainerEngine:
    """A container runtime behind its socket."""

    def __init__(self, socket: str, *, watched: tuple[str, str] = ("", ""), told: str = "") -> None:
        self._socket = Socket(socket)
        self._watched = watched
        self._told = told
        self._own = ["=".join(watched)] if watched[0] else []
        self.changes: Channel[str] = Channel()
        """Values of the label ``told`` of the containers that there is news of."""
        self._group = asyncio.TaskGroup()
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._group = await asyncio.TaskGroup().__aenter__()
        if self._told:
            self._watching = self._group.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watching is not None:
            self._watching.cancel()
        await self._group.__aexit__(None, None, None)

    # Containers.

    async def find(self, name: str) -> FoundContainer | None:
        """The container of a name, or of an id."""
        answer = await self._ask("GET", f"/containers/{_safe(name)}/json", missing=True)
        return None if answer.status == 404 else bodies.container(answer.json)

    async def labelled(self, label: str, value: str) -> tuple[FoundContainer, ...]:
        """All containers of its own with a label of this value, in the order of their names."""
        filters = {"label": [f"{label}={value}", *self._own]}
        answer = await self._ask("GET", "/containers/json", {"all": True, "filters": filters})
        found = [await self.find(one["Id"]) for one in answer.json]
        return tuple(sorted((one for one in found if one is not None), key=lambda one: one.name))

    async def provide_image(self, order: ContainerOrder) -> None:
        """Build the image, or pull it as the policy says."""
        if order.build is not None:
            await self._build(order)
            return
        is_here = (await self._ask("GET", f"/images/{_safe(order.image)}/json", missing=True)).status != 404
        if is_here and order.pull_policy != "Always":
            return
        if order.pull_policy == "Never":
            raise Refused(f"image {order.image} is not on this machine, and pullPolicy is Never; build or pull it")
        name, _, tag = order.image.rpartition(":")
        if not name or "/" in tag or "@" in order.image:
            name, tag = order.image, "" if "@" in order.image else "latest"
        query = {"fromImage": name, "tag": tag}
        answer = await self._ask("POST", "/images/create", query, timeout_s=PULL_S)
        _require_streamed(answer, f"image {order.image} cannot be pulled")

    async def _build(self, order: ContainerOrder) -> None:
        assert order.build is not None
        build = order.build
        content = await asyncio.to_thread(build_context, Path(build.context), build.dockerfile)
        query: dict[str, Any] = {"t": order.image, "dockerfile": content.dockerfile, "rm": True, "forcerm": True}
        query |= {"buildargs": dict(build.args)} if build.args else {}
        query |= {"target": build.target} if build.target else {}
        answer = await self._ask("POST", "/build", query, content.archive, timeout_s=PULL_S)
        _require_streamed(answer, f"image {order.image} cannot be built")

    async def create(self, order: ContainerOrder) -> str:
        """Make a container with its files in all its networks; it does not run yet."""
        environment = await asyncio.to_thread(_environment, order)
        body = bodies.creation(replace(order, labels=self._marked(order.labels)), environment)
        for mount in order.mounts:
            if not mount.is_volume:
                await asyncio.to_thread(_make_directory, mount.source)
        answer = await self._ask("POST", "/containers/create", {"name": order.name}, body)
        identity = str(answer.json["Id"])
        for attachment in (order.networks or ())[1:]:
            await self.connect(attachment.network, identity, attachment.aliases)
        if order.files:
            content = await asyncio.to_thread(_archive, order)
            await self._ask("PUT", f"/containers/{identity}/archive", {"path": "/"}, content)
        return identity

    async def start(self, identity: str) -> None:
        """Start a container that does not run."""
        await self._ask("POST", f"/containers/{identity}/start")

    async def stop(self, identity: str, grace_s: int) -> None:
        """End a container, and wait until it has ended."""
        path = f"/containers/{identity}/stop"
        await self._ask("POST", path, {"t": grace_s}, missing=True, timeout_s=grace_s + 60.0)

    async def remove(self, identity: str) -> None:
        """Remove a container that does not run."""
        try:
            await self._ask("DELETE", f"/containers/{identity}", {"v": True}, missing=True)
        except (Refused, InUse):
            found = await self.find(identity)
            if found is not None and found.state in {"running", "paused"}:
                raise InUse(f"container {found.name} runs") from None
            if found is not None:
                raise

    async def create_exec(self, identity: str, order: ExecOrder) -> str:
        """Prepare a command inside a running container."""
        environment = await asyncio.to_thread(_environment, order)
        answer = await self._ask("POST", f"/containers/{identity}/exec", None, bodies.command(order, environment))
        return str(answer.json["Id"])

    async def run_exec(self, identity: str) -> str:
        """Run a prepared command, and answer the end of what it wrote when it has ended."""
        body: dict[str, Any] = {"Detach": False, "Tty": False}
        answer = await self._ask("POST", f"/exec/{identity}/start", None, body, timeout_s=PULL_S)
        return bodies.written(answer.body)[-OUTPUT_LETTERS:]

    async def find_exec(self, identity: str) -> FoundExec | None:
        """Return what became of a command."""
        answer = await self._ask("GET", f"/exec/{identity}/json", missing=True)
        return None if answer.status == 404 else bodies.execution(answer.json)

    async def logs(self, identity: str, *, follow: bool = False, timestamps: bool = False) -> AsyncIterator[bytes]:
        """What a container wrote, in Docker's pieces, and, if followed, what it goes on to write until it ends."""
        query = {"stdout": True, "stderr": True, "follow": follow, "timestamps": timestamps}
        async with aclosing(self._socket.stream("GET", f"/containers/{identity}/logs", query)) as pieces:  # type: ignore[type-var]
            if int(await anext(pieces)) != 200:
                return
            async for piece in pieces:
                yield piece

    # Networks and volumes.

    async def find_network(self, name: str) -> FoundNetwork | None:
        """The network of a name."""
        answer = await self._ask("GET", f"/networks/{_safe(name)}", missing=True)
        return None if answer.status == 404 else bodies.network(answer.json)

    async def networks(self) -> tuple[FoundNetwork, ...]:
        """All networks of its own."""
        answer = await self._ask("GET", "/networks", {"filters": {"label": self._own}})
        return tuple(bodies.network(one) for one in answer.json)

    async def create_network(self, name: str, labels: Labels, *, ipv6: bool, internal: bool) -> None:
        """Make a network."""
        labels = self._marked(labels)
        body = {"Name": name, "CheckDuplicate": True, "Labels": dict(labels), "Internal": internal, "EnableIPv6": ipv6}
        await self._ask("POST", "/networks/create", None, body)

    async def remove_network(self, name: str) -> None:
        """Remove a network in which no container is."""
        await self._ask("DELETE", f"/networks/{_safe(name)}", missing=True, busy=(403, 409, 500))

    async def connect(self, network: str, identity: str, aliases: tuple[str, ...]) -> None:
        """See to it that a container is in a network."""
        body = {"Container": identity, "EndpointConfig": {"Aliases": list(aliases)}}
        try:
            await self._ask("POST", f"/networks/{_safe(network)}/connect", None, body)
        except (Refused, NameTaken):
            found = await self.find(identity)
            if found is None or network not in found.networks:
                raise

    async def disconnect(self, network: str, identity: str) -> None:
        """See to it that a container is not in a network."""
        body = {"Container": identity, "Force": True}
        try:
            await self._ask("POST", f"/networks/{_safe(network)}/disconnect", None, body, missing=True)
        except Refused:
            found = await self.find(identity)
            if found is not None and network in found.networks:
                raise

    async def find_volume(self, name: str) -> FoundVolume | None:
        """The volume of a name."""
        answer = await self._ask("GET", f"/volumes/{_safe(name)}", missing=True)
        return None if answer.status == 404 else bodies.volume(answer.json)

    async def volumes(self) -> tuple[FoundVolume, ...]:
        """All volumes of its own."""
        answer = await self._ask("GET", "/volumes", {"filters": {"label": self._own}})
        return tuple(bodies.volume(one) for one in answer.json["Volumes"] or ())

    async def create_volume(self, name: str, labels: Labels) -> None:
        """See to it that a volume is there."""
        await self._ask("POST", "/volumes/create", None, {"Name": name, "Labels": dict(self._marked(labels))})

    async def remove_volume(self, name: str) -> None:
        """Remove a volume with all that is in it."""
        await self._ask("DELETE", f"/volumes/{_safe(name)}", missing=True)

    # Changes.

    async def _watch(self) -> None:
        """Tell of all containers, then of each event; again from the beginning when the stream ends."""
        while True:
            with suppress(RuntimeProblem):  # those who ask hear of it themselves
                await self._follow()
            await asyncio.sleep(RETRY_S)

    async def _follow(self) -> None:
        filters = {"label": self._own, "type": ["container"]}
        async with aclosing(self._socket.stream("GET", "/events", {"filters": filters})) as pieces:  # type: ignore[type-var]
            for one in await self.labelled(*self._watched):
                self.changes.send(one.label(self._told))
            left = b""
            await anext(pieces)
            async for piece in pieces:
                *lines, left = (left + piece).split(b"\n")
                for line in filter(None, map(bytes.strip, lines)):
                    said = (orjson.loads(line).get("Actor") or {}).get("Attributes") or {}
                    if self._told in said:
                        self.changes.send(said[self._told])

    def _marked(self, labels: Labels) -> Labels:
        return bodies.labels_of({**dict(labels), **dict([self._watched] if self._own else [])})

    async def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: bytes | dict[str, Any] | None = None,
        *,
        missing: bool = False,
        busy: tuple[int, ...] = (409,),
        timeout_s: float | None = None,
    ) -> Answer:
        answer = await self._socket.ask(method, path, query, body, timeout_s=timeout_s)
        if answer.status < 400 or (missing and answer.status == 404):
            return answer
        raise _problem(method, path, answer, busy)


_NO_NETWORK = ("network not found", "unable to find network", "no such network")


def _problem(method: str, path: str, answer: Answer, busy: tuple[int, ...]) -> RuntimeProblem:
    """What an answer that says no means."""
    said = answer.problem
    if answer.status == 404 or any(words in said for words in _NO_NETWORK):
        return NotThere(said)
    if path.endswith("/create") and (answer.status == 409 or "already in use" in said or "already used" in said):
        return NameTaken(said)
    if method == "DELETE" and answer.status in busy:
        return InUse(said)
    return RuntimeUnreachable(said) if answer.status == 503 else Refused(said)


def _require_streamed(answer: Answer, what: str) -> None:
    """Raise ``Refused`` if the last word of a stream of JSON lines is an error; such an answer begins with success."""
    for line in reversed(answer.body.splitlines()):
        try:
            said = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(said, dict) and (why := said.get("error")):
            raise Refused(f"{what}: {why}")


def _safe(name: str) -> str:
    return quote(name, safe=":/@")


def _environment(order: ContainerOrder | ExecOrder) -> dict[str, str]:
    made: dict[str, str] = {}
    for name in order.env_files:
        try:
            made |= variables(Path(name).read_text())
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise Refused(f"environment file {name} cannot be read: {why}") from error
    return made | dict(order.environment)


def _archive(order: ContainerOrder) -> bytes:
    found = []
    for file in order.files:
        try:
            content = Path(file.source).read_bytes() if file.content is None else file.content.encode()
        except OSError as error:
            raise Refused(f"file {file.source} cannot be read: {error.strerror}") from error
        found.append((file, content))
    return bodies.archive(found)


def _make_directory(path: str) -> None:
    try:
        if not Path(path).exists():
            os.makedirs(path)
    except OSError as error:
        raise Refused(f"directory {path} cannot be made: {error.strerror}") from error

"""``ContainerRuntime``: what controllers need of Docker, Podman or whatever else runs containers.

The contract. A name belongs to one container at a time: ``create`` under a name that is taken raises ``NameTaken``, and
nothing is made. Containers are started, stopped and removed by their id, which is never given twice, so that a request
that comes late reaches nothing instead of a successor of the same name. ``remove`` leaves alone what runs (``InUse``).
Asking for what is so already is no error: stopping what has ended, removing what is gone, connecting what is connected.

    RuntimeProblem
    ├── RuntimeUnreachable   it does not answer; what was asked may have been done, or be done later
    ├── NameTaken            another container, network or volume has the name
    ├── NotThere             the container, network or image that it was about is not there
    ├── InUse                what is to be removed runs, or is used by others
    └── Refused              it answered no, and says why; asking again is of no use before something changes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from attractor.objects.resource import MicroTime

ContainerState: TypeAlias = Literal["created", "running", "paused", "exited"]
Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Labels in the order of their names."""


class RuntimeProblem(Exception):
    """What was asked of the container runtime did not come about; the text says why."""


class RuntimeUnreachable(RuntimeProblem):
    """The runtime does not answer."""


class NameTaken(RuntimeProblem):
    """Another one has the name."""


class NotThere(RuntimeProblem):
    """What it was about is not there."""


class InUse(RuntimeProblem):
    """What is to be removed runs, or is used by others."""


class Refused(RuntimeProblem):
    """The runtime says no."""


@dataclass(frozen=True)
class Build:
    """An image to be built from a directory."""

    context: str
    dockerfile: str = ""
    target: str = ""
    args: tuple[tuple[str, str], ...] = ()


class PublishedPort(NamedTuple):
    """A port of a container, and where the machine publishes it; host port 0: any free one."""

    container_port: int
    host_port: int
    host_address: str
    protocol: str = "TCP"


class Mount(NamedTuple):
    """A volume, by its name, or a path of the machine, in a container."""

    source: str
    target: str
    is_volume: bool
    is_read_only: bool


class Attachment(NamedTuple):
    """A network, by its name, and the names by which others in it find the container."""

    network: str
    aliases: tuple[str, ...] = ()


class File(NamedTuple):
    """A file that is put into a container."""

    path: str
    content: str | None
    source: str
    """The file of the machine that it is a copy of, without content of its own."""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0


@dataclass(frozen=True)
class ContainerOrder:
    """A container to be."""

    name: str
    image: str
    build: Build | None = None
    pull_policy: Literal["Missing", "Always", "Never"] = "Missing"
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    env_files: tuple[str, ...] = ()
    working_directory: str = ""
    user: str = ""
    hostname: str = ""
    ports: tuple[PublishedPort, ...] = ()
    mounts: tuple[Mount, ...] = ()
    networks: tuple[Attachment, ...] | None = None
    """None: the runtime's own; empty: no network."""
    files: tuple[File, ...] = ()
    labels: Labels = ()
    restart_policy: Literal["Never", "OnFailure", "UnlessStopped", "Always"] = "Never"


@dataclass(frozen=True)
class FoundContainer:
    """A container as the runtime tells of it."""

    id: str
    name: str
    state: ContainerState
    labels: Labels = ()
    started_at: MicroTime | None = None
    finished_at: MicroTime | None = None
    exit_code: int | None = None
    """How it ended, if it has."""
    restarts: int = 0
    ports: tuple[PublishedPort, ...] = ()
    networks: tuple[str, ...] = ()
    """The names of the networks that it is in."""

    def label(self, name: str) -> str:
        """Return the value of a label; empty when it has none."""
        return dict(self.labels).get(name, "")


@dataclass(frozen=True)
class FoundNetwork:
    """A network as the runtime tells of it."""

    id: str
    name: str
    labels: Labels = ()
    driver: str = ""
    subnets: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()

    def label(self, name: str) -> str:
        """Return the value of a label; empty when it has none."""
        return dict(self.labels).get(name, "")


@dataclass(frozen=True)
class FoundVolume:
    """A volume as the runtime tells of it."""

    name: str
    labels: Labels = ()

    def label(self, name: str) -> str:
        """Return the value of a label; empty when it has none."""
        return dict(self.labels).get(name, "")


@dataclass(frozen=True)
class ExecOrder:
    """A command to be run inside a container."""

    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    env_files: tuple[str, ...] = ()
    working_directory: str = ""


@dataclass(frozen=True)
class FoundExec:
    """A command inside a container, as the runtime tells of it."""

    state: Literal["created", "running", "ended"]
    exit_code: int | None = None


class ContainerRuntime(Protocol):
    """A container runtime; every call may raise ``RuntimeUnreachable`` and ``Refused``."""

    async def find(self, name: str) -> FoundContainer | None:
        """The container of a name, or of an id."""
        raise NotImplementedError

    async def labelled(self, label: str, value: str) -> tuple[FoundContainer, ...]:
        """All containers that were made through it, also ended ones, with a label of this value, by name."""
        raise NotImplementedError

    async def provide_image(self, order: ContainerOrder) -> None:
        """See to it that the image is there: build it, or pull it as the policy says; may take minutes."""
        raise NotImplementedError

    async def create(self, order: ContainerOrder) -> str:
        """Make a container with its files in all its networks, and answer its id; it does not run yet.

        Raises ``NameTaken``, and ``NotThere`` when the image or a network is not there.
        """
        raise NotImplementedError

    async def start(self, identity: str) -> None:
        """Start a container that does not run; raises ``NotThere``."""
        raise NotImplementedError

    async def stop(self, identity: str, grace_s: int) -> None:
        """End a container: its stop signal, after the grace SIGKILL. Answers when it has ended, or is gone."""
        raise NotImplementedError

    async def remove(self, identity: str) -> None:
        """Remove a container that does not run; raises ``InUse`` when it does."""
        raise NotImplementedError

    async def create_exec(self, identity: str, order: ExecOrder) -> str:
        """Prepare a command inside a running container, and answer its id; raises ``NotThere``."""
        raise NotImplementedError

    async def run_exec(self, identity: str) -> str:
        """Run a prepared command, once for all time, and answer the end of what it wrote when it has ended."""
        raise NotImplementedError

    async def find_exec(self, identity: str) -> FoundExec | None:
        """What became of a command; None when nobody knows any more."""
        raise NotImplementedError

    async def find_network(self, name: str) -> FoundNetwork | None:
        """The network of a name."""
        raise NotImplementedError

    async def create_network(self, name: str, labels: Labels, *, ipv6: bool, internal: bool) -> None:
        """Make a network; raises ``NameTaken``."""
        raise NotImplementedError

    async def remove_network(self, name: str) -> None:
        """Remove a network; raises ``InUse`` while containers are in it."""
        raise NotImplementedError

    async def connect(self, network: str, identity: str, aliases: tuple[str, ...]) -> None:
        """See to it that a container is in a network; raises ``NotThere``."""
        raise NotImplementedError

    async def disconnect(self, network: str, identity: str) -> None:
        """See to it that a container is not in a network."""
        raise NotImplementedError

    async def find_volume(self, name: str) -> FoundVolume | None:
        """The volume of a name."""
        raise NotImplementedError

    async def create_volume(self, name: str, labels: Labels) -> None:
        """See to it that a volume is there."""
        raise NotImplementedError

    async def remove_volume(self, name: str) -> None:
        """Remove a volume with all that is in it; raises ``InUse`` while a container has it."""
        raise NotImplementedError

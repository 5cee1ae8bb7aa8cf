"""``ContainerRuntimeModel``: a container runtime as worlds of the checker see it.

It does what ``runtime`` promises, no more. What changes is told some time later, and a host that begins anew is told of
all that is there, as the engine does. Containers may end, and be removed by somebody, at any moment, as often as a
world allows. Ids are numbers in the order in which containers were made.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from attractor.check import happens
from attractor.objects.gvk import Key
from attractor.objects.resource import MicroTime
from attractor.operators.local.containers.runtime import (
    FoundContainer,
    FoundExec,
    FoundNetwork,
    FoundVolume,
    InUse,
    NameTaken,
    NotThere,
    Refused,
)

if TYPE_CHECKING:
    from attractor.operators.local.containers.runtime import (
        ContainerOrder,
        ContainerState,
        ExecOrder,
        Labels,
    )

LONG_AGO = MicroTime.of(datetime(2020, 1, 1, tzinfo=UTC))
FAILURE = 3
"""The code with which containers end by themselves."""
KILLED = 137


class ModelContainer(NamedTuple):
    """A container, and how far it is."""

    id: str
    name: str
    state: ContainerState
    labels: Labels
    networks: tuple[str, ...] = ()
    exit_code: int | None = None
    starts: int = 0
    """How often it was started."""

    @property
    def seen(self) -> FoundContainer:
        """Return the container as a controller finds it."""
        return FoundContainer(
            id=self.id,
            name=self.name,
            state=self.state,
            labels=self.labels,
            started_at=LONG_AGO if self.state != "created" else None,
            finished_at=LONG_AGO if self.state == "exited" else None,
            exit_code=self.exit_code,
            networks=self.networks,
        )

    def label(self, name: str) -> str:
        """Return the value of a label; empty when it has none."""
        return dict(self.labels).get(name, "")


class ModelExec(NamedTuple):
    """A command inside a container."""

    id: str
    container: str
    runs: int = 0
    """How often it was run."""


class ContainerRuntimeModel:
    """A runtime, as its controllers may find it; ``told`` is the label that says whom a container is news for."""

    def __init__(self, told: str, *, exits: int = 0, removals: int = 0) -> None:
        self.containers: tuple[ModelContainer, ...] = ()
        self.networks: dict[str, Labels] = {}
        self.volumes: dict[str, Labels] = {}
        self.execs: tuple[ModelExec, ...] = ()
        self.given = 0
        """How many ids were given."""
        self.untold: tuple[str, ...] = ()
        self.exits = exits
        self.removals = removals
        self._told = told

    # Containers.

    def find(self, name: str) -> FoundContainer | None:
        """The container of a name, or of an id."""
        return next((one.seen for one in self.containers if name in {one.name, one.id}), None)

    def labelled(self, label: str, value: str) -> tuple[FoundContainer, ...]:
        """All with a label of this value."""
        return tuple(one.seen for one in self.containers if one.label(label) == value)

    def provide_image(self, order: ContainerOrder) -> None:
        """Every image is there."""

    def create(self, order: ContainerOrder) -> str:
        """Make a container, unless its name is taken."""
        if self.find(order.name) is not None:
            raise NameTaken(f"container {order.name} is there")
        attached = tuple(sorted(one.network for one in order.networks or ()))
        if any(network not in self.networks for network in attached):
            raise NotThere("a network is not there")
        self.given += 1
        made = ModelContainer(f"c{self.given}", order.name, "created", order.labels, attached)
        self.containers = tuple(sorted((*self.containers, made)))
        self._tell(made)
        return made.id

    def start(self, identity: str) -> None:
        """Start what does not run."""
        one = self._of(identity)
        if one.state != "running":
            self._replace(one, one._replace(state="running", exit_code=None, starts=min(one.starts + 1, 2)))

    def stop(self, identity: str, grace_s: int) -> None:
        """End what runs."""
        for one in self.containers:
            if one.id == identity and one.state == "running":
                self._replace(one, one._replace(state="exited", exit_code=KILLED))

    def remove(self, identity: str) -> None:
        """Remove what does not run."""
        for one in self.containers:
            if one.id == identity:
                if one.state == "running":
                    raise InUse(f"container {one.name} runs")
                self._drop(one)

    def create_exec(self, identity: str, order: ExecOrder) -> str:
        """Prepare a command inside a container that runs."""
        if self._of(identity).state != "running":
            raise Refused("the container does not run")
        self.given += 1
        self.execs = (*self.execs, ModelExec(f"e{self.given}", identity))
        return self.execs[-1].id

    def run_exec(self, identity: str) -> str:
        """Run a command, once."""
        for one in self.execs:
            if one.id == identity:
                if one.runs:
                    raise Refused("it was run before")
                self.execs = tuple(each._replace(runs=1) if each is one else each for each in self.execs)
                return "done"
        raise NotThere("there is no such command")

    def find_exec(self, identity: str) -> FoundExec | None:
        """Return what became of a command."""
        found = next((one for one in self.execs if one.id == identity), None)
        return None if found is None else FoundExec("ended", 0) if found.runs else FoundExec("created")

    # Networks and volumes.

    def find_network(self, name: str) -> FoundNetwork | None:
        """The network of a name."""
        return FoundNetwork(f"id-{name}", name, self.networks[name], "bridge") if name in self.networks else None

    def create_network(self, name: str, labels: Labels, *, ipv6: bool, internal: bool) -> None:
        """Make a network, unless its name is taken."""
        if name in self.networks:
            raise NameTaken(f"network {name} is there")
        self.networks = {**self.networks, name: labels}

    def remove_network(self, name: str) -> None:
        """Remove a network that nobody is in."""
        if any(name in one.networks for one in self.containers):
            raise InUse(f"network {name} is used")
        self.networks = {one: labels for one, labels in self.networks.items() if one != name}

    def connect(self, network: str, identity: str, aliases: tuple[str, ...]) -> None:
        """See to it that a container is in a network."""
        one = self._of(identity)
        if network not in self.networks:
            raise NotThere(f"there is no network {network}")
        self._replace(one, one._replace(networks=tuple(sorted({*one.networks, network}))))

    def disconnect(self, network: str, identity: str) -> None:
        """See to it that a container is not in a network."""
        for one in self.containers:
            if one.id == identity:
                self._replace(one, one._replace(networks=tuple(name for name in one.networks if name != network)))

    def find_volume(self, name: str) -> FoundVolume | None:
        """The volume of a name."""
        return FoundVolume(name, self.volumes[name]) if name in self.volumes else None

    def create_volume(self, name: str, labels: Labels) -> None:
        """See to it that a volume is there."""
        self.volumes = {name: labels, **self.volumes}

    def remove_volume(self, name: str) -> None:
        """Remove a volume."""
        self.volumes = {one: labels for one, labels in self.volumes.items() if one != name}

    # What happens by itself.

    @happens(fair=True)
    def runtime_tells(self) -> list[Key]:
        """Of what has changed."""
        told, self.untold = self.untold, ()
        return [Key(*text.split("/")) for text in told]

    @happens()
    def container_ends_by_itself(self) -> list[Key]:
        """With a code that means failure."""
        running = [one for one in self.containers if one.state == "running"][:1]
        for one in running if self.exits else ():
            self.exits -= 1
            self._replace(one, one._replace(state="exited", exit_code=FAILURE))
        return []

    @happens()
    def somebody_removes_a_container(self) -> list[Key]:
        """Whether it runs or not."""
        for one in self.containers[:1] if self.removals else ():
            self.removals -= 1
            self._drop(one)
        return []

    def host_dies(self, host: str) -> None:
        """Whoever comes next is told of all that is there."""
        for one in self.containers:
            self._tell(one)

    def _of(self, identity: str) -> ModelContainer:
        for one in self.containers:
            if one.id == identity:
                return one
        raise NotThere(f"there is no container {identity}")

    def _replace(self, old: ModelContainer, new: ModelContainer) -> None:
        self.containers = tuple(new if one == old else one for one in self.containers)
        if new != old:
            self._tell(new)

    def _drop(self, gone: ModelContainer) -> None:
        self.containers = tuple(one for one in self.containers if one != gone)
        self._tell(gone)

    def _tell(self, one: ModelContainer) -> None:
        if about := one.label(self._told):
            self.untold = tuple(sorted({*self.untold, about}))

"""Worlds of containers: ``attractor check attractor.operators.devplane.proofs.container_worlds:made``.

The controllers are those of production, unchanged; a model stands for the container runtime, which a conformance test
compares with the real one. Each world is explored completely for its faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check import (
    Bounds,
    Create,
    Delete,
    Edit,
    Faults,
    Script,
    World,
    WorldState,
    always,
    eventually_stable,
    sometimes,
)
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.container_networks import ContainerNetwork
from attractor.operators.devplane.api.containers import (
    Container,
    ContainerExec,
    ContainerExecSpec,
    ContainerSpec,
    NetworkAttachment,
)
from attractor.operators.devplane.controllers.container_execs import execs
from attractor.operators.devplane.controllers.container_networks import networks
from attractor.operators.devplane.controllers.container_orders import KEY, MODE, UID
from attractor.operators.devplane.controllers.containers import containers
from attractor.operators.devplane.controllers.health import Prober
from attractor.operators.devplane.proofs.properties import ProberModel
from attractor.operators.local.containers.model import ContainerRuntimeModel, ModelContainer
from attractor.operators.local.containers.runtime import ContainerRuntime, RuntimeUnreachable
from attractor.runtime.toolkit.channel import Channel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.check import WorldProperty
    from attractor.check.world.api.users import User
    from attractor.runtime import Controller

WEB = Key("default", "web")
INNER = Key("default", "inner")
LAG = 2
NEWS: Channel[Key] = Channel()
"""Stands for what the runtime tells; in a world its model does."""
SETTLED = "eventually as wanted, and nothing left behind"


# What is promised.


def runtime(look: WorldState) -> ContainerRuntimeModel:
    """The runtime of a world."""
    found: ContainerRuntimeModel = look.external(ContainerRuntime)
    return found


def never_two_containers(look: WorldState) -> bool:
    """No Container has two containers at once, whatever state they are in."""
    found = [one.label(UID) for one in runtime(look).containers if one.label(MODE) == "Session"]
    return len(found) == len(set(found))


def what_runs_has_its_container(look: WorldState) -> bool:
    """A container of the session runs only while its very Container is there, and says that it is there."""
    phases = {one.metadata.uid: one.status.phase for one in look.list(Container)}
    running = [one for one in runtime(look).containers if one.state == "running" and one.label(MODE) == "Session"]
    return all(phases.get(one.label(UID), "") != "" for one in running)


def never_started_twice(look: WorldState) -> bool:
    """No container of the session is started again once it ran."""
    return all(one.starts <= 1 for one in runtime(look).containers if one.label(MODE) == "Session")


def is_as_wanted(look: WorldState) -> bool:
    """Each Container's container runs, or has ended, and its phase says so; nothing is left of those that are gone."""
    stored = look.list(Container)
    uids = {one.metadata.uid for one in stored}
    for one in runtime(look).containers:
        if one.label(MODE) == "Session" and one.label(UID) not in uids:
            return False
    return all(_is_settled(one, _container(look, one)) for one in stored)


def _container(look: WorldState, obj: Container) -> ModelContainer | None:
    name = obj.status.container_name
    return next((one for one in runtime(look).containers if one.name == name), None)


def _is_settled(obj: Container, found: ModelContainer | None) -> bool:
    status = obj.status
    if obj.metadata.is_deleting or status.observed_generation != obj.metadata.generation:
        return False
    if status.phase == "Pending":
        return status.message.startswith("waits for") and found is None
    if status.phase == "Unknown":
        return found is None
    if status.phase == "Running":
        return found is not None and found.state == "running" and found.id == status.container_id and not obj.spec.stop
    if status.phase == "Exited":
        is_stopped = obj.spec.stop and not status.container_id
        return is_stopped if found is None else found.state == "exited" or (found.state == "created" and obj.spec.stop)
    return False


def promises(*, once: bool = True) -> list[WorldProperty]:
    """Return the properties of every world of Containers."""
    return [
        always(never_two_containers),
        always(what_runs_has_its_container),
        *([always(never_started_twice)] if once else []),
        eventually_stable(is_as_wanted, name=SETTLED),
    ]


# Things and worlds.


def container(**fields: Any) -> Container:
    """The Container web."""
    spec = ContainerSpec(**{"image": "busybox", **fields})
    return Container(metadata=ObjectMeta(name=WEB.name, namespace=WEB.namespace), spec=spec)


def world(
    name: str,
    objects: Sequence[Any],
    users: Sequence[User] = (),
    faults: Faults | None = None,
    more: Sequence[WorldProperty] = (),
    *,
    model: ContainerRuntimeModel | None = None,
    declared: Controller | None = None,
) -> World:
    """A world in which Containers keep their promises, and ``more`` claims hold."""
    return World(
        controllers=[declared or containers(NEWS)],
        objects=objects,
        users=users,
        faults=faults,
        properties=[*promises(), *more],
        externals={ContainerRuntime: model or ContainerRuntimeModel(KEY), Prober: ProberModel()},
        external_failure=lambda: RuntimeUnreachable("no answer"),
        name=f"containers {name}",
        workers=1,
        bounds=Bounds(lag=LAG),
    )


def phase(look: WorldState) -> str:
    """The phase of the Container; empty when there is none."""
    found = look.find(Container, WEB)
    return "" if found is None else found.status.phase


def _in_phase(wanted: str) -> WorldProperty:
    return sometimes(lambda look: phase(look) == wanted, name=f"it is {wanted}")


_GONE = sometimes(lambda look: look.find(Container, WEB) is None, name="it is gone")


def made(declared: Controller | None = None) -> World:
    """From the bare object, with a crash and calls of the runtime that fail before or after they took effect."""
    faults = Faults(crash=1, external_failure=1, external_silence=1)
    more = [_in_phase("Running"), _in_phase("RuntimeUnhealthy")]
    return world("made", [container()], (), faults, more, declared=declared)


def late(declared: Controller | None = None) -> World:
    """A call of the runtime takes effect some time after everybody gave it up; a crash, and an end at any moment."""
    model = ContainerRuntimeModel(KEY, exits=1)
    faults = Faults(crash=1, delayed_call=1)
    return world("late", [container()], (), faults, [_in_phase("Running")], model=model, declared=declared)


def ended(declared: Controller | None = None) -> World:
    """The container ends by itself at any moment, also at once, with a crash and a lost answer of the runtime."""
    model = ContainerRuntimeModel(KEY, exits=1)
    faults = Faults(crash=1, external_silence=1)
    return world("ended", [container()], (), faults, [_in_phase("Exited")], model=model, declared=declared)


def removed(declared: Controller | None = None) -> World:
    """Somebody removes the container at any moment, with a crash."""
    model = ContainerRuntimeModel(KEY, removals=1)
    return world("removed", [container()], (), Faults(crash=1), [_in_phase("Unknown")], model=model, declared=declared)


def stopped(declared: Controller | None = None) -> World:
    """The user stops it at any moment of its life, with a crash."""
    users = [Edit(Container, WEB, spec=[{"stop": True}])]
    return world("stopped", [container()], users, Faults(crash=1), [_in_phase("Exited")], declared=declared)


def deleted(declared: Controller | None = None) -> World:
    """The user deletes it at any moment of its life; a crash, and a cache that was filled by a server that lags."""
    faults = Faults(crash=1, stale_list=1)
    more = [_GONE, _in_phase("Running")]
    return world("deleted", [container()], [Delete(Container, WEB)], faults, more, declared=declared)


def deleted_late(declared: Controller | None = None) -> World:
    """The user deletes it, and a call of the runtime takes effect some time after everybody gave it up."""
    return world(
        "deleted late", [container()], [Delete(Container, WEB)], Faults(delayed_call=1), [_GONE], declared=declared
    )


def recreated(declared: Controller | None = None) -> World:
    """The user deletes it and creates another of the same name, with a crash."""
    users = [Script(Delete(Container, WEB), Create(container()))]
    return world("recreated", [container()], users, Faults(crash=1), [_in_phase("Running")], declared=declared)


def forced(declared: Controller | None = None) -> World:
    """The user deletes it, removes its finalizer by hand, and creates another with the same name for its container."""
    by_hand = Edit(Container, WEB, patch=[{"metadata": {"finalizers": None}}])
    users = [Script(Delete(Container, WEB), by_hand, Create(container(container_name="fixed")))]
    claims = [always(never_two_containers), always(never_started_twice), eventually_stable(is_as_wanted, name=SETTLED)]
    return world("forced", [container(container_name="fixed")], users, declared=declared).but(properties=claims)


def persistent(declared: Controller | None = None) -> World:
    """A persistent container whose object is deleted and made again, with a crash: it is kept, and taken over."""
    lasting = container(mode="Persistent", container_name="lasting")
    users = [Script(Delete(Container, WEB), Create(lasting))]
    survives = always(_one_container_for_ever, name="the container is never replaced")
    more = [survives, _in_phase("Running"), _GONE]
    return world("persistent", [lasting], users, Faults(crash=1), more, declared=declared)


def _one_container_for_ever(look: WorldState) -> bool:
    """Once it was started, it stays; nothing else is ever started."""
    return all(one.state != "exited" for one in runtime(look).containers)


def networked() -> World:
    """A Container waits for its network, which comes later; both are deleted in the wrong order."""
    waiting = container(networks=[NetworkAttachment(network=INNER.name)])
    network = ContainerNetwork(metadata=ObjectMeta(name=INNER.name, namespace=INNER.namespace))
    users = [Script(Create(network), Delete(ContainerNetwork, INNER), Delete(Container, WEB))]
    in_order = always(_networks_stay_while_used, name="a network stays while containers are in it")
    gone = eventually_stable(lambda look: not runtime(look).networks or bool(look.list(ContainerNetwork)), name="gone")
    plain = world("networked", [waiting], users, None, [in_order, gone])
    return plain.but(controllers=[*plain.controllers, networks], bounds=Bounds(lag=1))


def _networks_stay_while_used(look: WorldState) -> bool:
    known = runtime(look).networks
    return all(name in known for one in runtime(look).containers for name in one.networks)


def commanded(declared: Controller = execs) -> World:
    """A command in a container, with a crash and calls of the runtime that fail before or after they took effect."""
    running = container()
    running.status.phase, running.status.container_id, running.status.container_name = "Running", "c1", "web"
    spec = ContainerExecSpec(container=WEB.name, command=["true"])
    command = ContainerExec(metadata=ObjectMeta(name="once", namespace="default"), spec=spec)
    model = ContainerRuntimeModel(KEY)
    model.containers, model.given = (ModelContainer("c1", "web", "running", ()),), 1
    return World(
        controllers=[declared],
        objects=[running, command],
        faults=Faults(crash=1, external_failure=1, external_silence=1),
        properties=[
            always(_never_run_twice, name="a command is run at most once"),
            eventually_stable(_is_told, name="how it ended is told"),
        ],
        externals={ContainerRuntime: model},
        external_failure=lambda: RuntimeUnreachable("no answer"),
        name="containers commanded",
        workers=1,
        bounds=Bounds(lag=LAG),
    )


def _never_run_twice(look: WorldState) -> bool:
    return sum(one.runs for one in runtime(look).execs) <= 1


def _is_told(look: WorldState) -> bool:
    return all(one.status.phase == "Finished" for one in look.list(ContainerExec))


WORLDS = (
    made,
    late,
    ended,
    removed,
    stopped,
    deleted,
    deleted_late,
    recreated,
    forced,
    persistent,
    networked,
    commanded,
)

"""A Container that waits for others is started when they are there, and not before: world ``starting``."""

from __future__ import annotations

from attractor.check import Bounds, Edit, Faults, Script, World, WorldState, always, eventually_stable, sometimes
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.containers import Container, ContainerSpec
from attractor.operators.devplane.api.executables import Dependency
from attractor.operators.devplane.controllers.container_starts import container_starts

WEB, DB = Key("default", "web"), Key("default", "db")


def container(key: Key, *needs: str) -> Container:
    """A Container, and the Containers that it waits for."""
    wanted = [Dependency(name=name, kind="Container") for name in needs]
    spec = ContainerSpec(image="i", start=not needs, depends_on=wanted)
    return Container(metadata=ObjectMeta(name=key.name, namespace=key.namespace), spec=spec)


def says(**status: object) -> Edit:
    """Return a user who writes the status of the dependency, as its controller does."""
    return Edit(Container, DB, patch=[{"status": status}], subresource="status")


def _is_healthy(look: WorldState) -> bool:
    found = look.find(Container, DB)
    return found is not None and (found.status.phase, found.status.health) == ("Running", "Healthy")


def _is_started(look: WorldState) -> bool:
    found = look.find(Container, WEB)
    return found is not None and found.spec.start


def no_start_before_its_dependency_is_ready(look: WorldState) -> bool:
    """It is not started while the other one has never been healthy."""
    return not _is_started(look) or _is_healthy(look)


def started_in_the_end(look: WorldState) -> bool:
    """Started, if the other one is healthy."""
    return _is_started(look) == _is_healthy(look)


def starting() -> World:
    """The dependency starts, and is healthy later; with a crash, a lost answer, and a stale list."""
    return World(
        controllers=[container_starts],
        objects=[container(WEB, DB.name), container(DB)],
        users=[Script(says(phase="Running", health="Caution"), says(phase="Running", health="Healthy"))],
        faults=Faults(crash=1, lost_answer=1, stale_list=1),
        properties=[
            always(no_start_before_its_dependency_is_ready),
            eventually_stable(started_in_the_end),
            sometimes(_is_started, name="it is started"),
        ],
        name="devplane container starts",
        workers=1,
        bounds=Bounds(lag=2),
    )


WORLDS = (starting,)

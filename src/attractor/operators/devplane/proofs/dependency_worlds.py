"""Worlds of dependencies and restarts, such as ``attractor.operators.devplane.proofs.dependency_worlds:waiting``.

The Executable waits for a replica set, whose status users write here, as its own controller would; so a world has one
process only, and is explored completely with its faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check import Bounds, Create, Delete, Edit, Faults, Script, World, WorldState, always, sometimes
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.executables import (
    Dependency,
    Executable,
    ExecutableReplicaSet,
    ExecutableReplicaSetSpec,
    ExecutableSpec,
    ExecutableTemplate,
)
from attractor.operators.devplane.proofs.properties import live, machine
from attractor.operators.devplane.proofs.worlds import KEY, executable, world

if TYPE_CHECKING:
    from attractor.check import WorldProperty
    from attractor.check.world.api.users import User
    from attractor.runtime import Controller

DB = Key(KEY.namespace, "db")
DEPENDS = [Dependency(name=DB.name, kind="ExecutableReplicaSet")]


def database() -> ExecutableReplicaSet:
    """What the Executable waits for."""
    template = ExecutableTemplate(spec=ExecutableSpec(command=["serve"]))
    return ExecutableReplicaSet(
        metadata=ObjectMeta(name=DB.name, namespace=DB.namespace), spec=ExecutableReplicaSetSpec(template=template)
    )


def says(**status: Any) -> Edit:
    """Return a user who writes the status of the dependency, as its controller does."""
    return Edit(ExecutableReplicaSet, DB, patch=[{"status": status}], subresource="status")


HEALTHY = says(observedGeneration=1, replicas=1, runningReplicas=1, health="Healthy")
AGAIN = Edit(Executable, KEY, spec=[{"restart": "again"}])


def no_start_before_its_dependency_is_ready(look: WorldState) -> bool:
    """There is no process, and none was asked for, before the dependency is healthy."""
    is_ready = any(one.status.health == "Healthy" for one in look.list(ExecutableReplicaSet))
    return is_ready or not machine(look).runs


def _waits(look: WorldState) -> bool:
    found = look.find(Executable, KEY)
    return found is not None and found.status.message.startswith("waits for ExecutableReplicaSet db")


def _claims() -> list[WorldProperty]:
    return [
        always(no_start_before_its_dependency_is_ready),
        sometimes(_waits, name="it waits for its dependency"),
        sometimes(lambda look: bool(live(look)), name="it is started"),
    ]


def waiting(declared: Controller | None = None) -> World:
    """The dependency becomes healthy at some time; with a crash, and a cache filled by a server that lags."""
    faults = Faults(crash=1, stale_list=1)
    needing = executable(depends_on=DEPENDS)
    return world("waiting", [needing, database()], [HEALTHY], faults, _claims(), declared=declared)


def late(declared: Controller | None = None) -> World:
    """The dependency is created after who waits for it, which is deleted at any moment."""
    needing = executable(depends_on=DEPENDS)
    users: list[User] = [Script(Create(database()), HEALTHY, name="database"), Delete(Executable, KEY)]
    return world("late", [needing], users, None, _claims(), declared=declared)


def restarted_while_waiting(declared: Controller | None = None) -> World:
    """A restart is asked for at any moment: while it waits, while it is being started, while it runs; with a crash."""
    needing = executable(depends_on=DEPENDS)
    asked = sometimes(lambda look: _waits(look) and _is_told(look), name="it is told again while it waits")
    claims = [*_claims(), asked, sometimes(_has_two_runs, name="it ran twice")]
    made = world(
        "restarted while waiting",
        [needing, database()],
        [HEALTHY, AGAIN],
        Faults(crash=1),
        claims,
        declared=declared,
    )
    return made.but(bounds=Bounds(lag=1))


def _is_told(look: WorldState) -> bool:
    found = look.find(Executable, KEY)
    return found is not None and found.spec.restart != ""


def _has_two_runs(look: WorldState) -> bool:
    return len(machine(look).runs) == 2


def told(declared: Controller | None = None) -> World:
    """Told to restart at any moment, while its process may end by itself; with a crash."""
    ended = sometimes(lambda look: _has_two_runs(look) and not machine(look).exits, name="it ran again after its end")
    claims = [sometimes(_has_two_runs, name="it ran twice"), ended]
    made = world("told", [executable()], [AGAIN], Faults(crash=1), claims, exits=1, declared=declared)
    return made.but(bounds=Bounds(lag=1))


def told_and_stopped(declared: Controller | None = None) -> World:
    """Told to restart, and told to stop, at any moments: it stops."""
    users = [AGAIN, Edit(Executable, KEY, spec=[{"stop": True}])]
    claims = [sometimes(lambda look: _has_two_runs(look) and not live(look), name="it ran twice, and is stopped")]
    made = world("told and stopped", [executable()], users, None, claims, declared=declared)
    return made.but(bounds=Bounds(lag=1))


WORLDS = (waiting, late, restarted_while_waiting, told, told_and_stopped)

"""Worlds of the developer control plane: ``attractor check attractor.operators.devplane.proofs.worlds:started``.

The controllers are those of production, unchanged; models stand for the machine. Each world is explored completely for
its faults.
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
from attractor.operators.devplane.api.executables import (
    Executable,
    ExecutableReplicaSet,
    ExecutableReplicaSetSpec,
    ExecutableSpec,
    ExecutableTemplate,
)
from attractor.operators.devplane.api.services import Service
from attractor.operators.devplane.controllers.executables import executables
from attractor.operators.devplane.controllers.health import Prober
from attractor.operators.devplane.controllers.replica_sets import replicasets
from attractor.operators.devplane.drivers.processes import Processes
from attractor.operators.devplane.proofs.properties import (
    ProberModel,
    ProcessesModel,
    live,
    never_too_many_replicas,
    promises,
    ready_services,
    sets_are_complete,
)
from attractor.runtime.toolkit.channel import Channel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.check import WorldProperty
    from attractor.check.world.api.users import User
    from attractor.runtime import Controller

KEY = Key("default", "web")
LAG = 2
NEWS: Channel[Key] = Channel()
"""Stands for what the machine tells; in a world its model does."""


def executable(**fields: Any) -> Executable:
    """An Executable."""
    spec = ExecutableSpec(**{"command": ["serve"], **fields})
    return Executable(metadata=ObjectMeta(name=KEY.name, namespace=KEY.namespace), spec=spec)


def world(
    name: str,
    objects: Sequence[Any],
    users: Sequence[User] = (),
    faults: Faults | None = None,
    more: Sequence[WorldProperty] = (),
    *,
    exits: int = 0,
    prober: ProberModel | None = None,
    declared: Controller | None = None,
) -> World:
    """A world in which Executables keep their promises, and ``more`` claims hold."""
    return World(
        controllers=[declared or executables(NEWS)],
        objects=objects,
        users=users,
        faults=faults,
        properties=[*promises(), *more],
        externals={Processes: ProcessesModel(exits), Prober: prober or ProberModel()},
        name=f"devplane {name}",
        workers=1,
        bounds=Bounds(lag=LAG),
    )


def phase(look: WorldState) -> str:
    """The phase of the Executable; empty when there is none."""
    found = look.find(Executable, KEY)
    return "" if found is None else found.status.phase


def _in_phase(wanted: str) -> WorldProperty:
    return sometimes(lambda look: phase(look) == wanted, name=f"it is {wanted}")


_GONE = sometimes(lambda look: look.find(Executable, KEY) is None, name="it is gone")


def started(declared: Controller | None = None) -> World:
    """From the bare object, with a crash and calls of the machine that fail before or after they took effect."""
    faults = Faults(crash=1, external_failure=1, external_silence=1)
    return world("started", [executable()], faults=faults, more=[_in_phase("Running")], declared=declared)


def ended(declared: Controller | None = None) -> World:
    """The process ends by itself at any moment, also at once, with a crash."""
    more = [_in_phase("Finished")]
    return world("ended", [executable()], faults=Faults(crash=1), more=more, exits=1, declared=declared)


def restarted(declared: Controller | None = None) -> World:
    """The process ends twice, and is to run always, with a crash and a lost answer of the machine."""
    restarts = sometimes(
        lambda look: [one.status.restarts for one in look.list(Executable)] == [2], name="it ran thrice"
    )
    faults = Faults(crash=1)
    return world("restarted", [executable(restart_policy="Always")], (), faults, [restarts], exits=2, declared=declared)


def stopped(declared: Controller | None = None) -> World:
    """The user stops it at any moment of its life, with a crash."""
    users = [Edit(Executable, KEY, spec=[{"stop": True}])]
    return world("stopped", [executable()], users, Faults(crash=1), [_in_phase("Terminated")], declared=declared)


def deleted(declared: Controller | None = None) -> World:
    """The user deletes it at any moment of its life, and a cache may have been filled by a server that lags."""
    users, faults = [Delete(Executable, KEY)], Faults(crash=1, stale_list=1)
    more = [_GONE, _in_phase("Running")]
    return world("deleted", [executable()], users, faults, more, declared=declared).but(bounds=Bounds(lag=LAG + 1))


def recreated(declared: Controller | None = None) -> World:
    """The user deletes it and creates another of the same name."""
    both = sometimes(lambda look: len(live(look)) == 1 and look.budget("script") == 0, name="the other one runs")
    users = [Script(Delete(Executable, KEY), Create(executable()))]
    return world("recreated", [executable()], users, Faults(crash=1), [both], declared=declared)


def forced(declared: Controller | None = None) -> World:
    """The user deletes it, removes its finalizer by hand, and creates another of the same name."""
    by_hand = Edit(Executable, KEY, patch=[{"metadata": {"finalizers": None}}])
    users = [Script(Delete(Executable, KEY), by_hand, Create(executable()))]
    left = sometimes(lambda look: len(live(look)) == 2, name="what was left behind still runs")
    claims = [*promises(housed=False), left]
    return world("forced", [executable()], users, declared=declared).but(properties=claims)


def waiting(declared: Controller | None = None) -> World:
    """It needs to know where a Service is, which comes, or does not; and the user deletes it at any moment."""
    needing = executable(args=['{{portFor "db"}}'])
    database = Service(metadata=ObjectMeta(name="db", namespace=KEY.namespace))
    users: list[User] = [Create(database), Delete(Executable, KEY)]
    waits = sometimes(_waits, name="it waits for the Service")
    made = world("waiting", [needing], users, None, [waits, _in_phase("Running"), _GONE], declared=declared)
    return made.but(controllers=[*made.controllers, ready_services])


def _waits(look: WorldState) -> bool:
    found = look.find(Executable, KEY)
    return found is not None and found.status.message.startswith("waits for Service db")


# Sets


def replica_set(replicas: int) -> ExecutableReplicaSet:
    """A set."""
    template = ExecutableTemplate(spec=executable().spec)
    spec = ExecutableReplicaSetSpec(replicas=replicas, template=template)
    return ExecutableReplicaSet(metadata=ObjectMeta(name=KEY.name, namespace=KEY.namespace), spec=spec)


def _set_world(
    name: str,
    users: Sequence[User],
    faults: Faults,
    more: Sequence[WorldProperty],
    declared: Sequence[Controller],
    wanted: int,
) -> World:
    return World(
        controllers=declared,
        objects=[replica_set(wanted)],
        users=users,
        faults=faults,
        properties=[always(never_too_many_replicas), eventually_stable(sets_are_complete), *more],
        name=f"devplane {name}",
        workers=1,
        bounds=Bounds(lag=LAG),
    )


def _has(count: int) -> WorldProperty:
    return sometimes(lambda look: len(look.list(Executable)) == count, name=f"there are {count} replicas")


def scaled(declared: Controller = replicasets) -> World:
    """The user scales a set up and down, with a crash, a lost answer, and a cache filled by a server that lags."""
    users = [Edit(ExecutableReplicaSet, KEY, patch=[{"spec": {"replicas": 1}}])]
    faults = Faults(crash=1, lost_answer=1, stale_list=1)
    return _set_world("scaled", users, faults, [_has(2)], [declared], 2)


def replaced(declared: Controller = replicasets) -> World:
    """The user deletes a replica, with a crash and a lost answer: it is replaced."""
    users = [Delete(Executable, Key(KEY.namespace, f"{KEY.name}-0"))]
    return _set_world("replaced", users, Faults(crash=1, lost_answer=1, stale_list=1), [_has(2)], [declared], 2)


def disbanded(declared: Controller = replicasets) -> World:
    """The user deletes a set, with a crash: its replicas go too."""
    users = [Delete(ExecutableReplicaSet, KEY)]
    return _set_world(
        "disbanded", users, Faults(crash=1, lost_answer=1, stale_list=1), [_has(2), _has(0)], [declared], 2
    )


WORLDS = (started, ended, restarted, stopped, deleted, recreated, forced, waiting, scaled, replaced, disbanded)

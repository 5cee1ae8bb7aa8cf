"""The whole plane as one world: a process that serves, its Endpoint, its Service, and the listener in front of it.

``attractor check attractor.operators.devplane.proofs.plane_worlds:whole``. The controllers of Executables, Endpoints
and Services run together, unchanged; models stand for processes, probes and listeners. What one controller promises the
next one builds on; here the promise is about both ends at once: whom the listener leads to, and what really runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.check import Bounds, Delete, Edit, Faults, World, WorldState, eventually_stable, sometimes
from attractor.operators.devplane.api.executables import Executable
from attractor.operators.devplane.api.services import Service
from attractor.operators.devplane.controllers.endpoints import endpoints
from attractor.operators.devplane.controllers.executables import executables
from attractor.operators.devplane.controllers.health import Prober
from attractor.operators.devplane.controllers.services import services
from attractor.operators.devplane.drivers.processes import Processes
from attractor.operators.devplane.drivers.proxies import Proxies
from attractor.operators.devplane.proofs.properties import ProberModel, ProcessesModel, machine
from attractor.operators.devplane.proofs.service_worlds import API, ProxiesModel, executable, service, service_promises
from attractor.operators.devplane.proofs.worlds import NEWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.check.world.api.users import User
    from attractor.runtime import Controller

LEADS = "eventually a listener leads to what runs, and to nothing else"


def leads_to_what_runs(look: WorldState) -> bool:
    """Each listener has as many backends as there are processes that run; a Service is Ready when there is one."""
    running = [run for run in machine(look).runs if run.state == "running"]
    behind = [len(backends) for _, backends in look.external(Proxies).listeners.values()]
    ready = [one.status.phase == "Ready" for one in look.list(Service)]
    return behind == [len(running)] and ready == [bool(running)]


def world(users: Sequence[User], exits: int, faults: Faults, declared: Sequence[Controller] = ()) -> World:
    """One Executable that serves one Service."""
    reached = [
        sometimes(lambda look: any(one.status.phase == "Ready" for one in look.list(Service)), name="it is Ready"),
    ]
    return World(
        controllers=declared or [services, endpoints, executables(NEWS)],
        objects=[service(), executable()],
        users=users,
        faults=faults,
        properties=[*service_promises(), eventually_stable(leads_to_what_runs, name=LEADS), *reached],
        externals={Proxies: ProxiesModel(), Processes: ProcessesModel(exits), Prober: ProberModel()},
        workers=1,
        bounds=Bounds(lag=1),
    )


def whole(declared: Sequence[Controller] = ()) -> World:
    """The process may end by itself at any moment, and the control plane crash once."""
    return world((), 1, Faults(crash=1), declared)


def stopped() -> World:
    """The user stops the process at any moment; the control plane may crash once."""
    return world([Edit(Executable, API, spec=[{"stop": True}])], 0, Faults(crash=1))


def deleted() -> World:
    """The user deletes the Executable at any moment; the control plane may crash once."""
    return world([Delete(Executable, API)], 0, Faults(crash=1))


WORLDS = (whole, stopped, deleted)

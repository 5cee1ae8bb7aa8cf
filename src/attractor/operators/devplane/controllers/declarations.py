"""All controllers of the developer control plane.

    attractor run attractor.operators.devplane.controllers.declarations

What is known of processes is kept in the directory that ``ATTRACTOR_DEV_STATE`` names, or else in the user's own state
directory; a controller that is started again with the same directory finds its processes there. One controller process
for one directory: a second one would start nothing twice, but both would write.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.operators.devplane.controllers.container_execs import execs
from attractor.operators.devplane.controllers.container_networks import connections, networks, volumes
from attractor.operators.devplane.controllers.container_starts import container_starts
from attractor.operators.devplane.controllers.containers import containers as containers_on
from attractor.operators.devplane.controllers.endpoints import container_endpoints, endpoints
from attractor.operators.devplane.controllers.executables import executables as executables_of
from attractor.operators.devplane.controllers.file_watches import file_watches
from attractor.operators.devplane.controllers.health import Prober
from attractor.operators.devplane.controllers.replica_sets import replicasets
from attractor.operators.devplane.controllers.services import services
from attractor.operators.devplane.drivers.files import Files
from attractor.operators.devplane.drivers.local.files import LocalFiles
from attractor.operators.devplane.drivers.local.prober import LocalProber
from attractor.operators.devplane.drivers.local.processes import LocalProcesses
from attractor.operators.devplane.drivers.local.proxy import LocalProxies
from attractor.operators.devplane.drivers.local.runtime import PlaneContainers, plane_name
from attractor.operators.devplane.drivers.processes import Processes
from attractor.operators.devplane.drivers.proxies import Proxies
from attractor.operators.local.containers.engine import default_socket
from attractor.operators.local.containers.runtime import ContainerRuntime

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.runtime import Controller

STATE = "ATTRACTOR_DEV_STATE"


def state_directory(environment: Mapping[str, str]) -> Path:
    """Return the default directory of the process records."""
    if STATE in environment:
        return Path(environment[STATE])
    home = environment.get("XDG_STATE_HOME") or Path(environment.get("HOME", "/var/lib"), ".local", "state")
    return Path(home, "attractor", "dev")


def containers_of(directory: Path, environment: Mapping[str, str]) -> PlaneContainers:
    """The container runtime of this machine, for the plane whose records are in a directory."""
    return PlaneContainers(default_socket(environment), plane_name(directory))


def controllers_of(machine: LocalProcesses, runtime: PlaneContainers) -> tuple[Controller, ...]:
    """All controllers of the developer control plane, with processes and containers on this machine."""
    processes = (executables_of(machine.changes), replicasets, services, endpoints, file_watches)
    return (*processes, *container_controllers(runtime))


def container_controllers(runtime: PlaneContainers) -> tuple[Controller, ...]:
    """The controllers of containers and of what they share."""
    return containers_on(runtime.keys), container_starts, execs, networks, volumes, connections, container_endpoints


def externals_of(machine: LocalProcesses, runtime: PlaneContainers) -> dict[type, object]:
    """The outside systems that they need; some are async context managers, and are entered by whoever runs them."""
    return {
        Processes: machine,
        Prober: LocalProber(),
        Proxies: LocalProxies(),
        Files: LocalFiles(),
        ContainerRuntime: runtime,
    }


_directory = state_directory(os.environ)
_machine, _runtime = LocalProcesses(_directory), containers_of(_directory, os.environ)
controllers = controllers_of(_machine, _runtime)
executables, containers = (
    next(one for one in controllers if one.name == name) for name in ("executables", "containers")
)
externals = externals_of(_machine, _runtime)

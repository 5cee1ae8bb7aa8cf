"""All controllers of the developer control plane, on this machine.

    attractor run attractor.operators.devplane.controller

What they must find again is in the directory that ``ATTRACTOR_DEV_DIR`` names, or else in ``.attractor`` where the
program runs. ``attractor dev up`` runs the same controllers for one application.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.operators.devplane.endpoints import endpoints
from attractor.operators.devplane.executables import executables
from attractor.operators.devplane.health import Prober
from attractor.operators.devplane.local.probing import LocalProber
from attractor.operators.devplane.local.processes import LocalProcesses
from attractor.operators.devplane.local.proxy import LocalProxies
from attractor.operators.devplane.processes import Processes
from attractor.operators.devplane.proxies import Proxies
from attractor.operators.devplane.replicasets import replicasets
from attractor.operators.devplane.services import services

if TYPE_CHECKING:
    from attractor.runtime import Controller

DIRECTORY = Path(os.environ.get("ATTRACTOR_DEV_DIR", ".attractor"))


class Plane(NamedTuple):
    """Controllers, and the outside systems that they need."""

    controllers: tuple[Controller, ...]
    externals: dict[Any, object]


def plane(directory: Path) -> Plane:
    """The controllers of one plane, which keeps what it must find again in a directory."""
    processes = LocalProcesses(directory / "processes")
    outside = {Processes: processes, Prober: LocalProber(), Proxies: LocalProxies()}
    return Plane((services, endpoints, executables(processes.changes), replicasets), outside)


controllers, externals = plane(DIRECTORY)
_, _, processes, _ = controllers
"""The controller of Executables, under a name of its own, so that this module offers all four."""

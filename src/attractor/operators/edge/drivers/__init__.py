"""Drivers: what an agent works with. ``process`` runs instances as processes, ``kubernetes`` in another cluster.

A driver of your own is any class with the methods of ``protocols.Driver``; ``attractor edge agent
--driver my.module:make`` calls ``make(settings)`` for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from attractor.operators.edge.drivers.protocols import Ref, Step, Tell


def tell_nobody(ref: Ref, step: Step) -> None:
    """Say nothing to anybody."""


class UnknownDriver(ValueError):
    """There is no such driver; the text names those there are."""


@dataclass(frozen=True)
class DriverSettings:
    """Settings of a driver."""

    state_dir: Path
    """Where it may keep files; the same after a restart and after an upgrade of the agent."""
    capacity: int = 100
    """How many nodes all clusters of the cloudlet may have together."""
    kubeconfig: Path | None = None
    """With ``kubernetes``: the cluster to work in."""
    wait_available: bool = True
    """With ``kubernetes``: whether an app is Ready only once its Deployment is available."""
    tell: Tell = tell_nobody
    """To whom it says what it is doing."""


def make_driver(name: str, settings: DriverSettings) -> Any:
    """The driver of a name, or what ``MODULE:FACTORY`` makes; raises ``UnknownDriver``."""
    if name == "process":
        from attractor.operators.edge.drivers.process import ProcessDriver

        return ProcessDriver(settings)
    if name == "kubernetes":
        from attractor.operators.edge.drivers.kubernetes import KubernetesDriver

        return KubernetesDriver.of(settings)
    module, colon, factory = name.partition(":")
    if not colon:
        raise UnknownDriver(f"there is no driver {name!r}; give process, kubernetes, or MODULE:FACTORY")
    try:
        return getattr(import_module(module), factory)(settings)
    except (ImportError, AttributeError) as error:
        raise UnknownDriver(f"driver {name!r} cannot be loaded: {error}") from error

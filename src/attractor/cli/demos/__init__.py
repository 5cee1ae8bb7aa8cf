"""The demonstrations beside the main one: ``attractor demo NAME``, one module each.

A module has ``register(names)``, which adds its name to the command line; it imports what it shows only when it runs.
To add one, write the module and name it in ``DEMOS``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.cli.commands import demo_server as server
from attractor.operators.dbcluster.cli import demo as dbcluster
from attractor.operators.devplane.cli import demo as devplane
from attractor.operators.edge.cli import demo as edge
from attractor.operators.irsa.cli import demo as irsa

if TYPE_CHECKING:
    from types import ModuleType

DEMOS: tuple[ModuleType, ...] = (server, irsa, dbcluster, edge, devplane)
"""In the order in which ``attractor demo --help`` lists them."""


def register(parser: Any) -> None:
    """Add each demonstration to the parser of ``attractor demo``, which without a name runs its own."""
    names = parser.add_subparsers(metavar="[NAME]", title="more demonstrations")
    for demo in DEMOS:
        demo.register(names)

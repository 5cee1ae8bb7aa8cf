"""The runtime: controllers as typed, level-based ``async`` functions, and the manager that runs them.

    @controller(for_=ConfigPair, owns=[ConfigMap])
    async def pairs(ctx: Context, key: Key) -> Result | None: ...

    await Manager(client, [pairs]).run()

Guarantees: one object is never reconciled twice at once; a change is never missed, only joined with others; reads see
this process's own writes; a reconcile that fails hurts nobody else; without leadership nothing is written.

A reconcile talks only to its ``Context``. Read ``effects`` first (everything it can ask), then ``context``, ``steps``
(the checker's way to answer), ``controller`` (the declaration), ``manager`` and ``lease``. ``worker`` runs controllers,
``observability`` tells of it; ``reconciler`` and ``toolkit`` are for controllers that manage things outside the API.
"""

from attractor.objects.gvk import Key
from attractor.runtime.context import Context
from attractor.runtime.controller import (
    BuilderError,
    Controller,
    For,
    Index,
    Owns,
    Permission,
    Watches,
    controller,
)
from attractor.runtime.lease import Election, LeadershipLost
from attractor.runtime.manager import Manager
from attractor.runtime.reconciler import Reconciler
from attractor.runtime.result import Result, TerminalError

__all__ = [
    "BuilderError",
    "Context",
    "Controller",
    "Election",
    "For",
    "Index",
    "Key",
    "LeadershipLost",
    "Manager",
    "Owns",
    "Permission",
    "Reconciler",
    "Result",
    "TerminalError",
    "Watches",
    "controller",
]

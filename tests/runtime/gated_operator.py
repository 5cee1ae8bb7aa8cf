"""An operator for tests that stop it in the middle: it creates the steps of a task, and waits at a gate after each."""

import asyncio
import os
from pathlib import Path
from typing import Protocol

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, For, Result, controller
from attractor.runtime.predicates import labels_match

STEPS = 3
LOOK_S = 0.01


class Gate(Protocol):
    """Holds up a reconcile for as long as the test likes."""

    async def passed(self) -> None:
        """Wait until the gate is open."""


class FileGate:
    """Open while a file of the operator's name is there."""

    async def passed(self) -> None:
        """Wait until the file is there."""
        path = Path(os.environ["GATES"]) / os.environ["OPERATOR"]
        while not path.exists():  # noqa: ASYNC110 - another process opens it
            await asyncio.sleep(LOOK_S)


externals = {Gate: FileGate()}


@controller(for_=For(ConfigMap, when=labels_match(role="task")), externals=[Gate])
async def gated(ctx: Context, key: Key) -> Result | None:
    """Create what is missing of ``<task>-0`` to ``<task>-2``, one after the other."""
    for number in range(STEPS):
        name = Key(key.namespace, f"{key.name}-{number}")
        if await ctx.find(ConfigMap, name) is None:
            await ctx.create(ConfigMap(metadata=ObjectMeta(namespace=name.namespace, name=name.name)))
            await ctx.external(Gate).passed()
    return None

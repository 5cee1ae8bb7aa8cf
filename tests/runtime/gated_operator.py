"""An operator for tests that stop it in the middle: it creates the steps of a task, and waits at a gate after each."""

import asyncio
import os
from pathlib import Path
from typing import Protocol

from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, For, Result, controller
from attractor.runtime.predicates import labels_match

STEPS = 3


class Gate(Protocol):
    """Holds up a reconcile for as long as the test likes."""

    async def passed(self) -> None:
        """Wait until the gate is open."""


class PipeGate:
    """Open once there is something in the named pipe of the operator; nobody takes it out."""

    async def passed(self) -> None:
        """Wait until the pipe has something to read."""
        pipe = os.open(Path(os.environ["GATES"]) / os.environ["OPERATOR"], os.O_RDONLY | os.O_NONBLOCK)
        loop, opened = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(pipe, opened.set)
        try:
            await opened.wait()
        finally:
            loop.remove_reader(pipe)
            os.close(pipe)


externals = {Gate: PipeGate()}


@controller(for_=For(ConfigMap, when=labels_match(role="task")), externals=[Gate])
async def gated(ctx: Context, key: Key) -> Result | None:
    """Create what is missing of ``<task>-0`` to ``<task>-2``, one after the other."""
    for number in range(STEPS):
        name = Key(key.namespace, f"{key.name}-{number}")
        if await ctx.find(ConfigMap, name) is None:
            await ctx.create(ConfigMap(metadata=ObjectMeta(namespace=name.namespace, name=name.name)))
            await ctx.external(Gate).passed()
    return None

"""Running a directed runtime fairly: everything that can happen happens, round after round, without any fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.runtime.effects import Gather
from attractor.testing.replay.ending import unfinished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from attractor.objects.gvk import Key
    from attractor.testing.directed import DirectedRuntime, Host

ROUNDS = 60
"""After so many rounds a run is taken for one that goes on for ever."""
STEPS = 200
"""So many effects of one reconcile are taken in a round."""


async def run_on(
    runtime: DirectedRuntime, acting: Sequence[str], observe: Callable[[], Awaitable[bool]], *, enough: int = 4
) -> bool:
    """Run until all is at rest or ``observe`` was true after ``enough`` rounds in a row; answers what it
    says in the end."""
    in_a_row = 0
    for _ in range(ROUNDS):
        for host in tuple(runtime.hosts):
            await _round(runtime, host, begins=host in acting)
        for op in await runtime.garbage():
            await runtime.cluster.server.perform(op)
            await runtime.quiet()
        in_a_row = in_a_row + 1 if await observe() else 0
        if in_a_row >= enough:
            return True
        if not await unfinished(runtime, acting):
            return await observe()
    return False


async def _round(runtime: DirectedRuntime, name: str, *, begins: bool) -> None:
    """Caches catch up, reconciles run to their end, keys are taken, timers fire."""
    host = runtime.host(name)
    await runtime.list_all(name)
    for resource, stream in tuple(host.transport.streams.items()):
        while resource not in host.unlisted and stream.deliver() is not None:
            await runtime.quiet()
    for controller, queue in host.queues.items():
        for key in tuple(queue.delayed):
            await runtime.fire(name, controller, key)
        await _finish(runtime, host, controller)
        while begins and len(queue) and not host.lists.waiting:
            await runtime.begin(name, controller)
            await _finish(runtime, host, controller)


async def _finish(runtime: DirectedRuntime, host: Host, controller: str) -> None:
    """Let what is under way come to its end: background work, then reconciles."""
    for _ in range(STEPS):
        if host.background.is_idle(controller):
            break
        await runtime.work_on(host.name, controller, 0)
    for key in sorted(host.queue(controller).core.processing):
        for _ in range(STEPS):
            if (controller, key) not in host.busy():
                break
            if isinstance(runtime.asks(host.name, controller, key), Gather):
                await runtime.go_on_with(host.name, controller, key, lambda _: True, _first_part(host, controller, key))
            else:
                await runtime.go_on(host.name, controller, key)


def _first_part(host: Host, controller: str, key: Key) -> int:
    """The first of several effects that still waits."""
    worker = host.holder(controller, key)
    return min((part.part for part in host.parts.waiting if part.whole == worker), default=0)

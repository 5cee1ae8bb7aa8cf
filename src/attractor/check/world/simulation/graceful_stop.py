"""A host that is stopped in good order: nothing new begins, what runs may finish or is cancelled, and then it ends.

So does a manager that is told to stop: reconciles finish, or are cancelled when the grace time is over; background work
is cancelled; what was cancelled may still do what its ``finally`` says. Then the process is gone, and is started again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attractor.check.errors import Disabled
from attractor.check.world.simulation.in_flight_faults import add_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.check.world.simulation.activity import Activity
    from attractor.check.world.simulation.host import Host
    from attractor.check.world.simulation.model import Universe
    from attractor.check.world.simulation.slots import Cell


def add_stop(universe: Universe, host: Host, budget: Cell) -> None:
    """Add the steps by which a host stops."""
    stopping = universe.stage.slot("stopping", host.name, default=False)
    host.is_stopping = stopping.get
    for worker in host.workers:
        worker.queue.is_shut = stopping.get
    at = (("host", host.name),)
    host.on_crash.append(lambda _: stopping.set(False))
    add_fault(universe, "stop", at, budget, partial(_stop, host, stopping))
    for worker in host.workers:
        for each in worker.reconciles.values():
            universe.add("cancel", each.arguments, _cancelling(host, each), fair=False)
        for place in worker.background.places:
            universe.add("cancel", place.arguments, _cancelling(host, place), fair=True)
    universe.add("stopped", at, partial(_end, host), fair=True)


def _stop(host: Host, stopping: Cell) -> None:
    if stopping.get() or not host.is_up():
        raise Disabled
    stopping.set(True)
    for worker in host.workers:
        worker.queue.forget_waiting()
        worker.background.waiting.set(())


def _cancelling(host: Host, activity: Activity) -> Callable[[], None]:
    def cancel() -> None:
        if not host.is_stopping():
            raise Disabled
        activity.cancel()

    return cancel


def _end(host: Host) -> None:
    """Nothing runs any more: the process ends."""
    if not host.is_stopping() or any(each.cell.get() for worker in host.workers for each in worker.activities):
        raise Disabled
    host.crash()

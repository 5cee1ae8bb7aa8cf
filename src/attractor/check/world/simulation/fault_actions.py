"""Fault actions: each uses up one of its budget, its host's own or that of all hosts. None is fair."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attractor.check.errors import Disabled
from attractor.check.world.simulation.in_flight_faults import add_fault, add_strikes
from attractor.check.world.simulation.process.host import at_once
from attractor.check.world.simulation.user_actions import client
from attractor.objects.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.check.world.api.faults import Faults
    from attractor.check.world.simulation.model import Universe
    from attractor.check.world.simulation.process.activity import Activity
    from attractor.check.world.simulation.process.host import Host
    from attractor.check.world.simulation.slots import Cell
    from attractor.client import Client
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource

RIVAL = "example.org/rival"


def add_faults(universe: Universe, faults: Faults) -> None:
    """Add the steps that faults are."""
    for host in universe.hosts:
        cells = _cells(universe, host.name)
        if "crash" in cells:
            add_fault(universe, "crash", (("host", host.name),), cells["crash"], _crashing(host))
        if "closed_watch" in cells:
            for kind in host.kinds:
                at = (("host", host.name), ("kind", kind.gvk.kind))
                close = lambda host=host, kind=kind: host.close_watch(kind)  # noqa: E731
                add_fault(universe, "close watch", at, cells["closed_watch"], close)
        add_strikes(universe, host, cells)
        if "stale_list" in cells:
            for kind in host.kinds:
                at = (("host", host.name), ("kind", kind.gvk.kind))
                read = lambda host=host, kind=kind: host.list_older(kind)  # noqa: E731
                add_fault(universe, "stale list", at, cells["stale_list"], read)
        if "partition" in cells:
            _add_partition(universe, host, cells["partition"])
        if "stop" in cells:
            _add_stop(universe, host, cells["stop"])
    if universe.world.election:
        for group in universe.world.electing:
            _add_election(universe, group)
    if faults.conflict:
        rival, budget = client(universe, "rival"), universe.stage.slot("fault", "conflict", faults.conflict)
        for kind in faults.conflict_kinds or universe.watched:
            add_fault(universe, "rival", (("kind", kind.gvk.kind),), budget, _rivalling(universe, rival, kind))


def _cells(universe: Universe, host: str) -> dict[str, Cell]:
    """The budgets of the faults that may strike a host: one for all hosts, or its own."""
    found: dict[str, Cell] = {}
    for name, budget in universe.world.budgets_of(host).items():
        if isinstance(budget, int):
            found[name] = universe.stage.slot("fault", name, budget)
        elif budget.get(host):
            found[name] = universe.stage.slot("fault", f"{name} of {host}", budget[host])
    return found


def _crashing(host: Host) -> Callable[[], None]:
    def crash() -> None:
        if not host.is_up():
            raise Disabled
        host.crash()

    return crash


def _add_partition(universe: Universe, host: Host, budget: Cell) -> None:
    cut = universe.stage.slot("cut off", host.name, default=False)
    host.transport.is_cut_off = cut.get

    def part() -> None:
        if cut.get():
            raise Disabled
        cut.set(True)

    def heal() -> None:
        if not cut.get():
            raise Disabled
        cut.set(False)

    add_fault(universe, "cut off", (("host", host.name),), budget, part)
    universe.add("heal", (("host", host.name),), heal, fair=True)


def _add_stop(universe: Universe, host: Host, budget: Cell) -> None:
    """Add the steps by which a host is stopped in good order, as a manager that is told to stop.

    Nothing new begins; reconciles finish, or are cancelled when the grace time is over; background work is cancelled;
    what was cancelled may still do what its ``finally`` says. Then the process is gone, and is started again.
    """
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


def _add_election(universe: Universe, group: tuple[str, ...]) -> None:
    """Hosts that run the same controllers elect one of them; the first one leads at the start."""
    among = None if len(universe.world.electing) == 1 else group[0]
    leaders = universe.stage.slot("leaders", among, group[:1])
    for host in (each for each in universe.hosts if each.name in group):
        host.leaders = leaders
        budget = _cells(universe, host.name).get("leader_change")
        if budget is not None:
            add_fault(universe, "new leader", (("host", host.name),), budget, _leading(leaders, host))
        universe.add("leadership lost", (("host", host.name),), _losing_lead(leaders, host), fair=True)


def _leading(leaders: Cell, host: Host) -> Callable[[], None]:
    def lead() -> None:
        if host.name in leaders.get():
            raise Disabled
        leaders.set((*leaders.get(), host.name))

    return lead


def _losing_lead(leaders: Cell, host: Host) -> Callable[[], None]:
    """A host that led notices that another one does: everything it does ends at once, and it stands by."""

    def lose() -> None:
        now: tuple[str, ...] = leaders.get()
        if host.name not in now[:-1]:
            raise Disabled
        leaders.set(tuple(name for name in now if name != host.name))
        host.crash()

    return lose


def _rivalling(universe: Universe, rival: Client, kind: type[Resource]) -> Callable[[], None]:
    def write() -> None:
        found = at_once(rival.list(kind))
        if not found:
            raise Disabled
        chosen = found[universe.stage.view.choose(range(len(found)))]
        count = int(chosen.metadata.annotations.get(RIVAL, "0")) + 1
        body: JsonObject = {"metadata": {"annotations": {RIVAL: str(count)}}}
        try:
            at_once(rival.patch(kind, chosen.key, body))
        except ApiError:
            raise Disabled from None

    return write

"""Faults as steps: each uses up one of its budget, its host's own or that of all hosts, and none is ever owed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attractor.check.errors import Disabled
from attractor.check.world.acting import client, spend
from attractor.check.world.host import Captured, at_once
from attractor.check.world.looking import prefix
from attractor.check.world.notes import Requested
from attractor.check.world.worker import is_write
from attractor.objects.errors import ApiError
from attractor.runtime import effects

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.check.world.faults import Faults
    from attractor.check.world.host import Host, WorldTransport
    from attractor.check.world.stage import Cell
    from attractor.check.world.universe import Universe
    from attractor.check.world.worker import Worker
    from attractor.client import Client
    from attractor.objects.gvk import Key
    from attractor.objects.jsontypes import JsonObject
    from attractor.objects.resource import Resource

RIVAL = "example.org/rival"


def add_faults(universe: Universe, faults: Faults) -> None:
    """Add the steps that faults are."""
    for host in universe.hosts:
        cells = _cells(universe, faults, host.name)
        if "crash" in cells:
            _add_fault(universe, "crash", (("host", host.name),), cells["crash"], _crashing(host))
        if "closed_watch" in cells:
            for kind in host.kinds:
                at = (("host", host.name), ("kind", kind.gvk.kind))
                close = lambda host=host, kind=kind: host.close_watch(kind)  # noqa: E731
                _add_fault(universe, "close watch", at, cells["closed_watch"], close)
        for worker in host.workers:
            _add_losses(universe, worker, cells)
        if "stale_list" in cells:
            for kind in host.kinds:
                at = (("host", host.name), ("kind", kind.gvk.kind))
                read = lambda host=host, kind=kind: host.list_older(kind)  # noqa: E731
                _add_fault(universe, "stale list", at, cells["stale_list"], read)
        if "partition" in cells:
            _add_partition(universe, host, cells["partition"])
        if {"late_request", "repeated", "delayed_request"} & set(cells):
            arrive = lambda host=host: _arrive(universe, host)  # noqa: E731
            universe.add("late request", (("host", host.name),), arrive, fair=False)
    if universe.world.election:
        for group in universe.world.electing:
            _add_election(universe, group, faults)
    if faults.conflict:
        rival, budget = client(universe, "rival"), universe.stage.slot("fault", "conflict", faults.conflict)
        for kind in faults.conflict_kinds or universe.watched:
            _add_fault(universe, "rival", (("kind", kind.gvk.kind),), budget, _rivalling(universe, rival, kind))


def _cells(universe: Universe, faults: Faults, host: str) -> dict[str, Cell]:
    """The budgets of the faults that may strike a host: one for all hosts, or its own."""
    found: dict[str, Cell] = {}
    for name, budget in faults.budgets().items():
        if isinstance(budget, int):
            found[name] = universe.stage.slot("fault", name, budget)
        elif budget.get(host):
            found[name] = universe.stage.slot("fault", f"{name} of {host}", budget[host])
    return found


def _add_fault(
    universe: Universe, name: str, arguments: tuple[tuple[str, Any], ...], budget: Cell, step: Callable[[], None]
) -> None:
    def fail() -> None:
        spend(budget)
        step()

    universe.add(name, arguments, fail, fair=False)


def _crashing(host: Host) -> Callable[[], None]:
    def crash() -> None:
        if not host.is_up():
            raise Disabled
        host.crash()

    return crash


def _add_losses(universe: Universe, worker: Worker, cells: dict[str, Cell]) -> None:
    for key in worker.keys:
        who = (("host", worker.host.name), ("controller", worker.declared.name), ("key", str(key)))
        if "late_request" in cells:
            _add_fault(universe, "crash while sending", who, cells["late_request"], _dying(universe, worker, key))
        if "repeated" in cells:
            _add_fault(universe, "repeated", who, cells["repeated"], _losing(worker, key, "repeated"))
            _add_fault(universe, "repeated later", who, cells["repeated"], _repeating(universe, worker, key))
        if "delayed_request" in cells:
            _add_fault(universe, "delayed", who, cells["delayed_request"], _delaying(universe, worker, key))
        if "stale_read" in cells:
            _add_fault(universe, "stale read", who, cells["stale_read"], _reading_older(universe, worker, key))
        for fault, trouble in (("external_failure", "call failed"), ("external_silence", "call unanswered")):
            if fault in cells:
                _add_fault(universe, trouble, who, cells[fault], _failing(universe, worker, key, trouble))
        for fault, trouble in (("lost_request", "request lost"), ("lost_answer", "answer lost")):
            if fault in cells:
                _add_fault(universe, trouble, who, cells[fault], _losing(worker, key, trouble))


def _losing(worker: Worker, key: Key, trouble: Any) -> Callable[[], None]:
    def lose() -> None:
        transport = _connected(worker)
        transport.trouble = trouble
        try:
            worker.go_on(key, is_write)
        finally:
            transport.trouble = None

    return lose


def _connected(worker: Worker) -> WorldTransport:
    """The way to the server; there is no step while it is cut off, for nothing is sent then that could go astray."""
    transport = worker.host.transport
    if transport.is_cut_off():
        raise Disabled
    return transport


def _late(universe: Universe, host: Host) -> Cell:
    """The slot of requests of a host that arrive some time."""
    return universe.stage.slot("late requests", host.name, ())


def _keep_late(universe: Universe, worker: Worker) -> None:
    """Let the request that a host sent last arrive (again) some time."""
    late, sent = _late(universe, worker.host), worker.host.transport.last
    late.set((*late.get(), sent))


def _dying(universe: Universe, worker: Worker, key: Key) -> Callable[[], None]:
    """The host dies just after it has sent what the reconcile of a key wants to write."""

    def die() -> None:
        transport = _connected(worker)
        _, effect = worker.asked(key, is_write)
        transport.trouble = "captured"
        try:
            worker.answer(key, effect)
        except Captured:
            transport.trouble = None
        _keep_late(universe, worker)
        worker.host.crash()

    return die


def _repeating(universe: Universe, worker: Worker, key: Key) -> Callable[[], None]:
    def repeat() -> None:
        _connected(worker)
        worker.go_on(key, is_write)
        _keep_late(universe, worker)

    return repeat


def _delaying(universe: Universe, worker: Worker, key: Key) -> Callable[[], None]:
    lose = _losing(worker, key, "request lost")

    def delay() -> None:
        lose()
        _keep_late(universe, worker)

    return delay


def _arrive(universe: Universe, host: Host) -> None:
    late = _late(universe, host)
    waiting = late.get()
    which = universe.stage.view.choose(range(len(waiting)))
    late.set(waiting[:which] + waiting[which + 1 :])
    response = universe.server.send(waiting[which])
    universe.stage.note(Requested("network", waiting[which], response))


def _reading_older(universe: Universe, worker: Worker, key: Key) -> Callable[[], None]:
    """A read of the server is answered from an older state of the kind."""

    def read() -> None:
        _, effect = worker.asked(key, worker.reads_server)
        assert isinstance(effect, effects.Get | effects.List)
        where = prefix(cast("type[Resource]", effect.kind))
        log = universe.storage.log(where).get()
        by = universe.stage.view.choose(range(1, len(log) + 1))
        with universe.storage.older(where, by):
            worker.go_on(key, lambda each: each is effect)

    return read


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

    _add_fault(universe, "cut off", (("host", host.name),), budget, part)
    universe.add("heal", (("host", host.name),), heal, fair=True)


def _add_election(universe: Universe, group: tuple[str, ...], faults: Faults) -> None:
    """Hosts that run the same controllers elect one of them; the first one leads at the start."""
    among = None if len(universe.world.electing) == 1 else group[0]
    leaders = universe.stage.slot("leaders", among, group[:1])
    for host in (each for each in universe.hosts if each.name in group):
        host.leaders = leaders
        budget = _cells(universe, faults, host.name).get("leader_change")
        if budget is not None:
            _add_fault(universe, "new leader", (("host", host.name),), budget, _leading(leaders, host))
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


def _failing(universe: Universe, worker: Worker, key: Key, trouble: str) -> Callable[[], None]:
    def fail() -> None:
        _, effect = worker.asked(key, lambda each: isinstance(each, effects.Call))
        assert isinstance(effect, effects.Call)
        external = universe.external(effect.protocol)
        external.trouble = trouble
        try:
            worker.go_on(key, lambda each: each is effect)
        finally:
            external.trouble = None

    return fail


def _rivalling(universe: Universe, rival: Client, kind: type[Resource]) -> Callable[[], None]:
    def write() -> None:
        found = at_once(rival.list(kind))
        if not found:
            raise Disabled
        chosen = found[universe.stage.view.choose(range(len(found)))]
        count = int(chosen.metadata.annotations.get(RIVAL, "0")) + 1
        body: JsonObject = {"metadata": {"annotations": {RIVAL: str(count)}}}
        try:
            at_once(rival.merge_patch(kind, chosen.key, body))
        except ApiError:
            raise Disabled from None

    return write

"""Faults that strike what is under way: a reconcile, or background work, which makes no difference to them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from attractor.check.errors import Disabled
from attractor.check.events import Requested
from attractor.check.world.api.state import prefix
from attractor.check.world.simulation.externals import LateCall
from attractor.check.world.simulation.process.activity import is_write
from attractor.check.world.simulation.process.controller_memory import Kept
from attractor.check.world.simulation.process.host import REFUSALS, Captured
from attractor.check.world.simulation.user_actions import spend
from attractor.runtime import effects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.check.events import CallTrouble
    from attractor.check.world.simulation.model import Universe
    from attractor.check.world.simulation.process.activity import Activity
    from attractor.check.world.simulation.process.host import Host, WorldTransport
    from attractor.check.world.simulation.slots import Cell
    from attractor.client.transport import ClientRequest
    from attractor.objects.resource import Resource

    Strike = Callable[[Universe, Activity], None]


def add_fault(
    universe: Universe, name: str, arguments: tuple[tuple[str, Any], ...], budget: Cell, step: Callable[[], None]
) -> None:
    """Add a step that uses up one of a budget, and is never owed."""

    def fail() -> None:
        spend(budget)
        step()

    universe.expect_strike(budget, universe.add(name, arguments, fail, fair=False))


def add_strikes(universe: Universe, host: Host, cells: dict[str, Cell]) -> None:
    """Add the faults that strike what is under way on a host."""
    for worker in host.workers:
        for activity in worker.activities:
            for fault, names in STRIKES.items():
                for name, strike in names.items() if fault in cells else ():
                    add_fault(universe, name, activity.arguments, cells[fault], partial(strike, universe, activity))
        if universe.world.times_out(worker.declared):
            _add_timeouts(universe, list(worker.reconciles.values()), cells.get("timeout"))
    if "delayed_call" in cells:
        universe.add("late call", (("host", host.name),), lambda: _take_effect(universe, host), fair=False)
    if universe.world.faults.timeout and "timeout" in cells:
        universe.expect_strike(cells["timeout"])
    is_timed = any(universe.world.times_out(worker.declared) for worker in host.workers)
    if {"late_request", "repeated", "delayed_request"} & set(cells) or (is_timed and "timeout" in cells):
        universe.add("late request", (("host", host.name),), lambda: _arrive(universe, host), fair=False)


def _lose(trouble: Any, only: Callable[[Activity, Any], bool], _: Universe, activity: Activity) -> None:
    transport = _connected(activity)
    transport.trouble = trouble
    try:
        activity.go_on(lambda effect: only(activity, effect))
    finally:
        transport.trouble = None


def _is_write(_: Activity, effect: Any) -> bool:
    return is_write(effect)


def _asks_server(activity: Activity, effect: Any) -> bool:
    return activity.asks_server(effect)


def _connected(activity: Activity) -> WorldTransport:
    """The way to the server; there is no step while it is cut off, for nothing is sent then that could go astray."""
    transport = activity.host.transport
    if transport.is_cut_off():
        raise Disabled
    return transport


def _late(universe: Universe, host: Host) -> Cell:
    """The slot of requests of a host that arrive some time."""
    return universe.stage.slot("late requests", host.name, ())


def _keep_late(universe: Universe, host: Host, request: ClientRequest | None) -> None:
    """Let a request of a host arrive (again) some time."""
    late = _late(universe, host)
    late.set((*late.get(), request))


def _die(universe: Universe, activity: Activity) -> None:
    """The host dies just after it has sent what is to be written."""
    transport = _connected(activity)
    _, effect = activity.asked(is_write)
    transport.trouble = "captured"
    try:
        activity.answer(effect)
    except Captured:
        transport.trouble = None
    _keep_late(universe, activity.host, transport.last)
    activity.host.crash()


def _repeat(universe: Universe, activity: Activity) -> None:
    """A write is answered, and arrives once more some time."""
    transport = _connected(activity)
    activity.go_on(is_write)
    _keep_late(universe, activity.host, transport.last)


def _delay(universe: Universe, activity: Activity) -> None:
    """No answer comes to a write, which arrives some time."""
    _lose("request lost", _is_write, universe, activity)
    _keep_late(universe, activity.host, activity.host.transport.last)


def _arrive(universe: Universe, host: Host) -> None:
    late = _late(universe, host)
    waiting = late.get()
    which = universe.stage.view.choose(range(len(waiting)))
    late.set(waiting[:which] + waiting[which + 1 :])
    response = universe.server.send(waiting[which])
    universe.stage.note(Requested("network", waiting[which], response))


def _read_older(universe: Universe, activity: Activity) -> None:
    """A read of the server is answered from an older state of the kind."""
    _, effect = activity.asked(activity.reads_server)
    assert isinstance(effect, effects.Get | effects.List)
    where = prefix(cast("type[Resource]", effect.kind))
    log = universe.storage.log(where).get()
    by = universe.stage.view.choose(range(1, len(log) + 1))
    with universe.storage.older(where, by):
        activity.go_on(lambda each: each is effect)


def _refuse(universe: Universe, activity: Activity) -> None:
    """The server refuses what is asked of it."""
    transport = _connected(activity)
    _, effect = activity.asked(activity.asks_server)
    codes = [code for code in REFUSALS if is_write(effect) or code != 422]
    transport.trouble, transport.refusal = "refused", universe.stage.view.choose(codes)
    try:
        activity.go_on(lambda each: each is effect)
    finally:
        transport.trouble = None


def _fail(trouble: CallTrouble, universe: Universe, activity: Activity) -> None:
    """An outside system is in trouble while it is called."""
    _, effect = activity.asked(lambda each: isinstance(each, effects.Call))
    assert isinstance(effect, effects.Call)
    external = universe.external(effect.protocol)
    external.trouble = trouble
    try:
        activity.go_on(lambda each: each is effect)
    finally:
        external.trouble = None


def _delay_call(universe: Universe, activity: Activity) -> None:
    """No answer comes to a call, which takes effect some time."""
    _, effect = activity.asked(lambda each: isinstance(each, effects.Call))
    assert isinstance(effect, effects.Call)
    external, late = universe.external(effect.protocol), _late_calls(universe, activity.host)
    given = Kept((effect.args, dict(effect.keywords)))
    late.set((*late.get(), LateCall(external.name, activity.host.name, effect.method, given)))
    external.trouble = "call delayed"
    try:
        activity.go_on(lambda each: each is effect)
    finally:
        external.trouble = None


def _late_calls(universe: Universe, host: Host) -> Cell:
    """The slot of calls of a host that take effect some time."""
    return universe.stage.slot("late calls", host.name, ())


def _take_effect(universe: Universe, host: Host) -> None:
    late = _late_calls(universe, host)
    waiting: tuple[LateCall, ...] = late.get()
    which = universe.stage.view.choose(range(len(waiting)))
    late.set(waiting[:which] + waiting[which + 1 :])
    next(each for each in universe.externals.values() if each.name == waiting[which].external).arrive(waiting[which])


STRIKES: dict[str, dict[str, Strike]] = {
    "late_request": {"crash while sending": _die},
    "repeated": {"repeated": partial(_lose, "repeated", _is_write), "repeated later": _repeat},
    "delayed_request": {"delayed": _delay},
    "stale_read": {"stale read": _read_older},
    "external_failure": {"call failed": partial(_fail, "call failed")},
    "external_silence": {"call unanswered": partial(_fail, "call unanswered")},
    "delayed_call": {"call delayed": _delay_call},
    "lost_request": {"request lost": partial(_lose, "request lost", _asks_server)},
    "lost_answer": {"answer lost": partial(_lose, "answer lost", _is_write)},
    "refusal": {"refused": _refuse},
}
"""For each fault the steps by which it strikes."""


def _add_timeouts(universe: Universe, reconciles: Sequence[Activity], budget: Cell | None) -> None:
    """Reconciles that take longer than their controller allows: any may, for any answer may be slow.

    Where the author did not say how often, or says never, it is a bound like others.
    """
    said = universe.world.faults.timeout
    is_bound = said is None or said == 0

    def time_out(activity: Activity) -> None:
        left: int = budget.get() if budget is not None else 0
        if left <= 0:
            if is_bound and activity.can_be_cancelled():
                most = 1 if said is None else 0
                text = f"{most} {'timeout' if most else 'timeouts'} of reconciles"
                universe.model.bind("timeout", text, f"Faults(timeout={most + 1})")
            raise Disabled
        if budget is not None:
            budget.set(left - 1)
        activity.cancel(partial(_keep_late, universe, activity.host))

    for each in reconciles:
        step = universe.add("timeout", each.arguments, partial(time_out, each), fair=False)
        if budget is not None:
            mark = universe.count_fault if is_bound else universe.expect_strike
            mark(budget, step)

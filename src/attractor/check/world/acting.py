"""Those who act on a world from outside: the initial objects, users, faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attractor.check.errors import Disabled, SpecError
from attractor.check.world.host import WorldTransport, at_once
from attractor.check.world.users import Create, Delete, Edit, User, described
from attractor.check.world.worker import WRITES
from attractor.client import Client
from attractor.client.retry import NO_RETRY
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.resource import Scheme
from attractor.runtime import effects

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from attractor.check.world.externals import WorldExternal
    from attractor.check.world.faults import Faults
    from attractor.check.world.stage import Cell
    from attractor.check.world.universe import Universe
    from attractor.check.world.worker import Worker
    from attractor.objects.jsontypes import JsonObject
    from attractor.objects.resource import Resource

RIVAL = "example.org/rival"


def client(universe: Universe, name: str) -> Client:
    """A client of the world's server."""
    transport = WorldTransport(universe.server, universe.stage, name)
    return Client(transport, scheme=Scheme(*universe.kinds), retry=NO_RETRY, field_manager=name)


def write_objects(universe: Universe, objects: Iterable[Resource]) -> None:
    """Create the initial objects, with their statuses."""
    user = client(universe, "user")
    for obj in objects:
        try:
            made = at_once(user.create(obj))
            status = getattr(obj, "status", None)
            if "status" in type(obj).resource_info.subresources and status is not None:
                made.status = status
                at_once(user.update_status(made))
        except ApiError as error:
            what = described(type(obj), obj.key)
            raise SpecError(f"the world cannot begin with {what}: {error.message}") from None


def spend(budget: Cell) -> None:
    """Use up one of a budget; there is no step when nothing is left."""
    left: int = budget.get()
    if left <= 0:
        raise Disabled
    budget.set(left - 1)


def add_users(universe: Universe, users: Iterable[User]) -> None:
    """Add the steps that users may take."""
    for user in users:
        budget = universe.stage.slot("user", user.label, user.times)
        acts = client(universe, "user")
        match user:
            case Create(obj):
                what = (("object", described(type(obj), obj.key)),)
                _add_act(universe, "create", what, budget, lambda acts=acts, obj=obj: acts.create(obj))  # type: ignore[misc]
            case Edit(kind, key):
                for patch in user.patches:
                    where = (("object", described(kind, Key(*key))), ("set", _said(patch)))
                    send = _patching(acts, user, patch)
                    _add_act(universe, "edit", where, budget, send)
            case Delete(kind, key):
                which = (("object", described(kind, Key(*key))),)
                _add_act(universe, "delete", which, budget, _deleting(acts, user))


def _patching(acts: Client, user: Edit, patch: JsonObject) -> Callable[[], Awaitable[Any]]:
    return lambda: acts.merge_patch(user.kind, user.key, patch, subresource=user.subresource)


def _deleting(acts: Client, user: Delete) -> Callable[[], Awaitable[Any]]:
    return lambda: acts.delete(user.kind, user.key, propagation=cast("Any", user.propagation))


def _add_act(
    universe: Universe,
    name: str,
    arguments: tuple[tuple[str, Any], ...],
    budget: Cell,
    send: Callable[[], Awaitable[Any]],
) -> None:
    def act() -> None:
        spend(budget)
        changes = universe.changes
        try:
            at_once(send())
        except ApiError:
            raise Disabled from None  # the user sees the refusal and leaves it at that
        if universe.changes == changes:
            raise Disabled

    universe.add(name, arguments, act, fair=False)


def _said(patch: JsonObject) -> str:
    """A patch in few words: ``spec.size=2``."""
    found: list[str] = []

    def walk(path: str, value: Any) -> None:
        if isinstance(value, dict) and value:
            for name, each in value.items():
                walk(f"{path}.{name}" if path else name, each)
        else:
            found.append(f"{path}={value}")

    walk("", patch)
    return ", ".join(found)


def add_happenings(universe: Universe) -> None:
    """Add the steps that outside systems take by themselves."""
    for external in universe.externals.values():
        for name, how in external.happenings():
            budget = None
            if how.times is not None:
                budget = universe.stage.slot("external budget", f"{external.name}.{name}", how.times)
            which = (("external", external.name), ("event", name))
            universe.add("outside", which, _happening(universe, external, name, budget), fair=how.fair)


def _happening(universe: Universe, external: WorldExternal, name: str, budget: Cell | None) -> Callable[[], None]:
    def happen() -> None:
        if budget is not None:
            spend(budget)
        keys = list(external.happen(name))
        for worker in (worker for host in universe.hosts for worker in host.workers if worker.declared.sources):
            for key in keys:
                worker.queue.add(Key(*key))

    return happen


def add_faults(universe: Universe, faults: Faults) -> None:
    """Add the steps that faults are."""
    budgets = faults.budgets()
    cells = {name: universe.stage.slot("fault", name, left) for name, left in budgets.items()}
    for host in universe.hosts:
        if "crash" in cells:
            _add_fault(universe, "crash", (("host", host.name),), cells["crash"], host.crash)
        if "closed_watch" in cells:
            for kind in host.kinds:
                at = (("host", host.name), ("kind", kind.gvk.kind))
                close = lambda host=host, kind=kind: host.close_watch(kind)  # noqa: E731
                _add_fault(universe, "close watch", at, cells["closed_watch"], close)
        for worker in host.workers:
            _add_losses(universe, worker, cells)
    if "conflict" in cells:
        rival = client(universe, "rival")
        for kind in faults.conflict_kinds or universe.watched:
            _add_fault(
                universe, "rival", (("kind", kind.gvk.kind),), cells["conflict"], _rivalling(universe, rival, kind)
            )


def _add_fault(
    universe: Universe, name: str, arguments: tuple[tuple[str, Any], ...], budget: Cell, step: Callable[[], None]
) -> None:
    def fail() -> None:
        spend(budget)
        step()

    universe.add(name, arguments, fail, fair=False)


def _add_losses(universe: Universe, worker: Worker, cells: dict[str, Cell]) -> None:
    for key in worker.keys:
        who = (("host", worker.host.name), ("controller", worker.declared.name), ("key", str(key)))
        for fault, trouble in (("external_failure", "call failed"), ("external_silence", "call unanswered")):
            if fault in cells:
                _add_fault(universe, trouble, who, cells[fault], _failing(universe, worker, key, trouble))
        for fault, trouble in (("lost_request", "request lost"), ("lost_answer", "answer lost")):
            if fault in cells:
                _add_fault(universe, trouble, who, cells[fault], _losing(worker, key, trouble))


def _losing(worker: Worker, key: Key, trouble: Any) -> Callable[[], None]:
    def lose() -> None:
        suspended, _ = worker.pending(key)
        if not isinstance(suspended.effect, WRITES):
            raise Disabled
        transport = worker.host.transport
        transport.trouble = trouble
        try:
            worker.go_on(key)
        finally:
            transport.trouble = None

    return lose


def _failing(universe: Universe, worker: Worker, key: Key, trouble: str) -> Callable[[], None]:
    def fail() -> None:
        suspended, _ = worker.pending(key)
        if not isinstance(suspended.effect, effects.Call):
            raise Disabled
        external = universe.external(suspended.effect.protocol)
        external.trouble = trouble
        try:
            worker.go_on(key)
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

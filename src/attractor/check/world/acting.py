"""Those who act on a world from outside: the initial objects, users, outside systems by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check.errors import Disabled, SpecError
from attractor.check.world.host import WorldTransport, at_once
from attractor.check.world.users import Create, Delete, Edit, User, described
from attractor.client import Client
from attractor.client.retry import NO_RETRY
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.resource import Scheme

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from attractor.check.world.externals import WorldExternal
    from attractor.check.world.stage import Cell
    from attractor.check.world.universe import Universe
    from attractor.objects.jsontypes import JsonObject
    from attractor.objects.resource import Resource


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
    return lambda: acts.delete(user.kind, user.key, uid=user.uid, propagation=user.propagation)


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

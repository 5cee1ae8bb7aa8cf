"""Those who act on a world from outside: the initial objects, users, outside systems by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attractor.check.engine.model import Expected
from attractor.check.errors import Disabled, SpecError
from attractor.check.sandbox.outside import barring
from attractor.check.world.api.state import Moment, WorldState
from attractor.check.world.api.users import Create, Delete, Edit, Script, act_name, all_acts, described, steps_of
from attractor.check.world.simulation.process.host import WorldTransport, at_once
from attractor.check.world.simulation.server.initial_owners import InitialOwners
from attractor.client import Client
from attractor.client.verbs.retry import NO_RETRY
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.resource import Scheme

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from attractor.check.world.api.users import Act, User
    from attractor.check.world.simulation.externals import WorldExternal
    from attractor.check.world.simulation.model import Universe
    from attractor.check.world.simulation.slots import Cell
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource


def client(universe: Universe, name: str) -> Client:
    """A client of the world's server."""
    transport = WorldTransport(universe.server, universe.stage, name)
    return Client(transport, scheme=Scheme(*universe.kinds), retry=NO_RETRY, field_manager=name)


def write_objects(universe: Universe, objects: Iterable[Resource]) -> None:
    """Create the initial objects, with their statuses, in the given order.

    An owner reference without a uid means the initial object of that kind and name, which comes before.
    """
    user, owners = client(universe, "user"), InitialOwners()
    for obj in objects:
        try:
            made = at_once(user.create(owners.completed(obj)))
            owners.made(obj, made.metadata.uid)
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
    acts = client(universe, "user")
    for user in users:
        total = len(user.steps) if isinstance(user, Script) else user.times
        left = universe.stage.slot("user", user.label, total)
        acting = [
            Expected(f"the user never does `{act.label}`", why="what the script does before it never happens")
            for act in all_acts([user])
        ]
        for place, act, arguments, patch in steps_of(user):
            sender = Sender(universe, act, sending(acts, act, patch), acting[place])
            if isinstance(user, Script):
                step = _following(sender, left, total - place)
            else:
                step = _acting(sender, left)
            acting[place].instances.append(universe.add(act_name(act), arguments, step, fair=False))
        universe.model.expected += acting


def sending(acts: Client, act: Act, patch: JsonObject | None) -> Callable[[], Awaitable[Any]]:
    """The request by which a user acts."""
    match act:
        case Create(obj):
            return lambda: acts.create(obj)
        case Edit(kind, key):
            return lambda: acts.patch(kind, key, patch or {}, subresource=act.subresource)
        case Delete(kind, key):
            return lambda: acts.delete(kind, key, uid=act.uid, propagation=act.propagation)


def _acting(sender: Sender, budget: Cell) -> Callable[[], None]:
    def step() -> None:
        spend(budget)
        if not sender.send():
            sender.expected.why = "it would change nothing"
            raise Disabled

    return step


def _following(sender: Sender, left: Cell, turn: int) -> Callable[[], None]:
    """A step of a script, taken when ``turn`` steps are left."""

    def step() -> None:
        if left.get() != turn:
            raise Disabled
        left.set(turn - 1)
        sender.send()

    return step


@dataclass(eq=False)
class Sender:
    """One request of a user; ``expected`` is told why it was not made."""

    universe: Universe
    act: Act
    request: Callable[[], Awaitable[Any]]
    expected: Expected

    def send(self) -> bool:
        """Whether it changed anything; there is no step when it is not the time for it, or when it is refused."""
        universe, changes = self.universe, self.universe.changes
        if self.act.when is not None and not barring(self.act.when)(WorldState(Moment(universe, universe.stage.view))):
            self.expected.why = "its `when` is true in no reached state"
            raise Disabled
        try:
            at_once(self.request())
        except ApiError as refused:
            self.expected.why = f"the server refuses it: {refused.message}"
            raise Disabled from None  # the user sees the refusal and leaves it at that
        return universe.changes != changes


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
        universe.stage.told_sources |= bool(keys)
        for worker in (worker for host in universe.hosts for worker in host.workers if worker.declared.sources):
            for key in keys:
                worker.queue.add(Key(*key))

    return happen

"""``Universe``: a world put together, as one model for the engine.

Slots hold all state; actions are the steps of hosts, users, faults and the garbage collector; steps of hosts and of the
server are weakly fair, those of users and faults are not.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from attractor.apiserver.controllers.garbage import plan_garbage
from attractor.apiserver.controllers.termination import plan_namespaces
from attractor.apiserver.kinds.registry import builtin_kind, find_kind, served_builtin
from attractor.check.engine.model import Expected, Fairness, Model
from attractor.check.errors import Disabled, Grown, SpecError, line_of, raising_line
from attractor.check.events import Operated
from attractor.check.sandbox.lint import remarks
from attractor.check.sandbox.outside import barring
from attractor.check.sandbox.purity import Guard
from attractor.check.sandbox.set_order import is_filled
from attractor.check.spec.properties import Case, Property, require_judged
from attractor.check.world.api.properties import Claim, StepClaim, actor_of
from attractor.check.world.api.state import After, Moment, WorldState, root
from attractor.check.world.api.users import all_acts
from attractor.check.world.simulation import fault_actions, user_actions
from attractor.check.world.simulation.clock import OscillatingClock
from attractor.check.world.simulation.externals import WorldExternal
from attractor.check.world.simulation.process.host import Host
from attractor.check.world.simulation.process.informer import Lag
from attractor.check.world.simulation.server.api_server import ApiServer
from attractor.check.world.simulation.server.generated_names import NameBounds
from attractor.check.world.simulation.server.storage import Storage
from attractor.check.world.simulation.slots import Sketch, Stage
from attractor.check.world.simulation.unused_parts import never_strikes, unused

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.apiserver.request.operation import Operation
    from attractor.apiserver.transaction import Transaction
    from attractor.check.world.api.world import World
    from attractor.check.world.simulation.discovered import Parts
    from attractor.check.world.simulation.slots import Cell
    from attractor.objects.resource import Resource
    from attractor.runtime.controller import Controller


NAMESPACES = "core/namespaces/"


class Universe:
    """The parts of a world on one stage."""

    def __init__(self, world: World, parts: Parts) -> None:
        self.world = world
        self.model = Model(world.name, is_composed=True)
        self.stage = Stage(self.model, world.bounds)
        self.stage.changes_blindly, self.stage.says_time = world.reductions.changes_blindly, world.says_time
        if parts.leaves_bounds:
            self.stage.add_bounds()
        self.storage = Storage(self.stage)
        self.storage.keeps_managers = parts.keeps_managers
        self.storage.history = world.bounds.lag if world.faults.stale_list or world.faults.stale_read else 0
        names = NameBounds.of(world.bounds)
        recalls = world.reductions.recalls_answers
        self.server = ApiServer(
            self.stage, self.storage, world.clock, names=names, recalls=recalls, webhooks=world.webhooks
        )
        self.kinds = world.kinds
        self._grown_kinds = _builtin_kinds(parts.roots - {root(kind) for kind in self.kinds})
        self.externals = {
            protocol: WorldExternal(self.stage, protocol, model, world.external_failure)
            for protocol, model in world.externals.items()
        }
        self.looked_at: dict[str, set[str]] = {}
        """The roots of the kinds that each claim looks at."""
        self._strikes: dict[int, Expected] = {}
        """What is expected of each fault, by the slot of its budget."""
        self.on_step: Callable[[], None] | None = None
        """Called at the end of each run of a step, while a trace is being told."""
        initial = Sketch(self.model)
        with self.stage.on(initial):
            self.server.found(self.kinds, world.namespaces)
            self.roots = tuple(sorted({root(kind) for kind in self.kinds} | parts.roots))
            self.storage.begin(frozenset(self.roots))
            keys = world.known_keys(parts)
            self.hosts = [
                Host(
                    name,
                    world.controllers_on(name),
                    self.server,
                    self.stage,
                    keys=keys,
                    workers={one.name: world.workers_of(one) for one in world.controllers},
                    lacks_workers=world.lacks_workers,
                    lag=Lag(world.bounds.lag, world.closes_lagging_watches),
                    own_writes=world.own_writes,
                    externals={protocol: each.seen_by(name) for protocol, each in self.externals.items()},
                    reductions=world.reductions,
                )
                for name in world.hosts
            ]
            user_actions.write_objects(self, world.objects)
        self._may_end_hosts = False
        """Whether the running step may have ended a host."""
        self._join_lives()
        self.changes = 0
        """How many objects were changed so far, in whatever step: steps compare it before and after."""
        self.storage.on_event += [self._changed, *(host.hear for host in self.hosts)]
        self.model.add_initial(initial.values)
        self._add_hosts()
        self._add_server()
        user_actions.add_happenings(self)
        user_actions.add_users(self, world.users)
        fault_actions.add_faults(self, world.faults)
        self._add_claims()
        self.model.afterwards.append(partial(unused, self))

    def _add_server(self) -> None:
        """Add what the server does by itself, and time."""
        if self.world.garbage_collection:
            self.add("collect garbage", (), self._collect_garbage, fair=True)
        if NAMESPACES in self.roots:
            self.add("end namespace", (), self._end_namespaces, fair=True)
        if len(self.world.clock) > 1:
            self.add("tick", (), self.server.tick, fair=True)
        if isinstance(self.world.clock, OscillatingClock):
            self.model.within["the clock oscillates for ever between its last two instants"] = None

    def _changed(self, _event: Any) -> None:
        self.changes += 1

    def _join_lives(self) -> None:
        """Tell outside systems of crashes, and let them start and end hosts."""
        for external in self.externals.values():
            for host in self.hosts:
                if external.is_told_of_crashes:
                    host.on_crash.append(external.host_dies)
                if external.decides_lives:
                    host.conditions.append(partial(external.runs, host.name))
            if external.decides_lives:
                external.on_change.append(self._look_for_ends)

    def _look_for_ends(self) -> None:
        self._may_end_hosts = True

    def _end_hosts(self) -> None:
        """Hosts that the outside has ended are gone, also the one that takes this very step."""
        for host in self.hosts:
            if not host.is_up():
                host.crash()

    @property
    def watched(self) -> tuple[type[Resource], ...]:
        """The kinds that some controller watches."""
        return tuple(dict.fromkeys(kind for host in self.hosts for kind in host.kinds))

    def external(self, protocol: Any) -> WorldExternal:
        """An outside system."""
        if protocol not in self.externals:
            raise SpecError(f"the world has no outside system {protocol!r}; give it `externals={{...}}`")
        return self.externals[protocol]

    def add(self, name: str, arguments: tuple[tuple[str, Any], ...], step: Callable[[], None], *, fair: bool) -> int:
        """Add an action whose step runs on the stage."""

        def run(view: Any, *_: Any) -> None:
            try:
                with self.stage.on(view):
                    step()
                    if self._may_end_hosts:
                        self._end_hosts()
            finally:
                self._may_end_hosts = False
                if self.on_step is not None:
                    self.on_step()

        (index,) = self.model.add_actions(name, run, [arguments])
        if fair:
            self.model.fairness.append(Fairness(self.model.actions[index].label, (index,)))
        return index

    def expect_strike(self, budget: Cell, *actions: int) -> None:
        """Expect a fault with that budget to strike, by one of its actions."""
        for action in actions:
            self.count_fault(budget, action)
        if budget.ref not in self._strikes:
            self._strikes[budget.ref] = never_strikes(str(self.model.slots[budget.ref].key))
            self.model.expected.append(self._strikes[budget.ref])
        self._strikes[budget.ref].instances += actions

    def count_fault(self, budget: Cell, action: int) -> None:
        """Count an action among the faults of that budget, so that runs with fewer faults are shown first."""
        self.model.budgets.setdefault(budget.ref, []).append(action)

    def _add_hosts(self) -> None:
        world_resyncs = self.world.resync
        expected = {one.name: _expected(one) for one in self.world.controllers}
        self.model.expected += expected.values()
        for one in self.world.controllers:
            self.model.remarks |= dict.fromkeys(remarks(one.reconcile, has_clock=self.world.says_time))
        for host in self.hosts:
            for kind in host.kinds:
                at = (("host", host.name), ("kind", kind.gvk.kind))
                self.add("list", at, lambda host=host, kind=kind: host.list(kind), fair=True)  # type: ignore[misc]
                self.add("deliver", at, lambda host=host, kind=kind: host.deliver(kind), fair=True)  # type: ignore[misc]
            for worker in host.workers:
                runs = expected[worker.declared.name]
                if world_resyncs:
                    of = (("host", host.name), ("controller", worker.declared.name))
                    self.add("resync", of, worker.resync, fair=False)
                for place in worker.background.places:
                    self.add("background", place.arguments, place.take, fair=True)
                for key, reconcile in worker.reconciles.items():
                    who = reconcile.arguments
                    runs.instances.append(self.add("start", who, partial(worker.start, key), fair=True))
                    self.add("go on", who, reconcile.go_on, fair=True)
                    self.add("timer", who, partial(worker.queue.fire, key), fair=True)

    def served(self, kind: type[Resource]) -> Any:
        """A kind as the server serves it."""
        info = kind.resource_info
        return find_kind(self.server.transaction(), info.group, info.version, info.resource)

    def _served_kinds(self) -> list[Any]:
        """Every kind that has objects here: those that the world names, and built-in ones that somebody writes."""
        return [*map(self.served, self.kinds), *self._grown_kinds]

    def _collect_garbage(self) -> None:
        self._perform_one("garbage collector", self.server.recollection.of("garbage", self._plan_garbage))

    def _plan_garbage(self, txn: Transaction) -> list[Operation]:
        return list(plan_garbage(txn.snapshot, {served.group_kind: served for served in self._served_kinds()}))

    def _end_namespaces(self) -> None:
        kinds = self._served_kinds()
        self._perform_one("namespaces", list(plan_namespaces(self.server.transaction().snapshot, kinds)))

    def _perform_one(self, actor: str, planned: list[Operation]) -> None:
        """One of the operations that a controller inside the server plans; the others are planned again."""
        if not planned:
            raise Disabled
        op = planned[self.stage.view.choose(range(len(planned)))]
        response = self.server.perform(op)
        self.stage.note(Operated(actor, op.verb, op.resource, op.namespace, op.name, response.code))

    def _add_claims(self) -> None:
        for claim in self.world.claims:
            if isinstance(claim, StepClaim):
                self._claim_steps(claim)
            else:
                self._claim(claim)
            for judge in (claim.holds,) if isinstance(claim, StepClaim) else claim.predicates:
                self._guard(f"the claim `{claim.name}`", judge)
        for act in all_acts(self.world.users):
            if act.when is not None:
                self._guard(f"`when` of `{act.label}`", act.when)
        self._guard("`external_failure`", self.world.external_failure)
        for one in self.world.controllers:
            for when in (one.for_.when, *(each.when for each in one.owns), *(each.when for each in one.watches)):
                self._guard(f"a predicate of controller {one.name}", when)
            for watched in one.watches:
                self._guard(f"`to_keys` of controller {one.name}", watched.to_keys)
            for index in one.indexes:
                self._guard(f"index `{index.name}` of controller {one.name}", index.values)

    def _guard(self, name: str, asked: Callable[..., Any] | None) -> None:
        """Have it looked at, at the end, whether a function of the author's has changed what outlives it."""
        cells = [cell.cell_contents for cell in getattr(asked, "__closure__", None) or () if is_filled(cell)]
        beside: list[Callable[..., Any]] = [each for each in cells if callable(each)]
        for each in [asked] if asked is not None and line_of(asked) else beside:
            if line_of(each):
                self.model.before_audit.append(_unchanging(name, each))

    def _claim_steps(self, claim: StepClaim) -> None:
        judges: dict[str, int] = {}
        judged: dict[int, int] = {}
        for action in self.model.actions:
            if claim.judges(action.name):
                actor = actor_of(action.name, dict(action.arguments)) if claim.tells_actor else ""
                if actor not in judges:
                    judges[actor] = self._add_judge(claim, actor)
                judged[action.index] = judges[actor]
        require_judged(claim.name, self.model.actions, judged)
        self.model.properties.append(
            Property(claim.name, "always_step", (Case((), tuple(judges.values()), steps=judged),))
        )
        self.model.applied.add(claim.name)

    def _add_judge(self, claim: StepClaim, actor: str) -> int:
        seen, judge = self.looked_at.setdefault(claim.name, set()), barring(claim.judge)

        def holds(view: Any, *_: Any) -> bool:
            before, after = WorldState(Moment(self, view, seen)), WorldState(Moment(self, After(view), seen))
            return bool(_judged(claim.name, judge, before, after, actor))

        (index,) = self.model.add_predicates(claim.name, holds)
        return index

    def _claim(self, claim: Claim) -> None:
        cases = []
        seen = None if claim.word == "settles" else self.looked_at.setdefault(claim.name, set())
        for predicate in map(barring, claim.predicates):

            def holds(view: Any, *_: Any, predicate: Any = predicate) -> bool:
                return bool(_judged(claim.name, predicate, WorldState(Moment(self, view, seen))))

            (index,) = self.model.add_predicates(claim.name, holds)
            cases.append(Case((), (index,)))
        self.model.properties.append(Property(claim.name, claim.word, tuple(cases)))
        self.model.applied.add(claim.name)  # a claim of a world says something in every state


def _judged(name: str, judge: Callable[..., Any], *seen: Any) -> Any:
    """What a claim says; an error in it is its author's."""
    try:
        return judge(*seen)
    except (SpecError, Grown):
        raise
    except Exception as error:
        raise SpecError(
            f"{raising_line(error)}: the claim `{name}` raises {type(error).__name__}: {error}; a claim answers True "
            "or False in every state, also while nothing is there yet"
        ) from error


def _expected(one: Controller) -> Expected:
    kind = one.for_.kind.__name__
    why = (
        f"nothing asks it to; is there a {kind} among the objects or created by a user, and do its predicates pass it?"
    )
    return Expected(f"controller {one.name} never runs", why=why)


def _builtin_kinds(roots: set[str]) -> list[Any]:
    """The built-in kinds that the store keeps under these roots, each in one served version."""
    found: dict[str, Any] = {}
    for info in served_builtin() if roots else ():
        at = f"{info.gvk.group or 'core'}/{info.resource}/"
        if at in roots:
            found.setdefault(at, builtin_kind(info.gvk.group, info.gvk.version, info.resource))
    return list(found.values())


def _unchanging(name: str, asked: Callable[..., Any]) -> Callable[[], None]:
    """A look, at the end, at whether a function has changed what outlives it: then it answers by when it is asked."""
    guard = Guard(asked)

    def look() -> None:
        changed = guard.changed()
        if changed is not None:
            told = f" (`{changed}`)" if changed else ""
            raise SpecError(
                f"{line_of(asked)}: {name} changes a variable outside of itself{told}, so what it says would depend on "
                "how often it was asked; let it only look"
            )

    return look

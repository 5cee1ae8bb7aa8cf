"""``World``: controllers, objects, users and faults, composed as one specification for the checker.

world = World(
    controllers=[pairs],
    objects=[ConfigPair(metadata=ObjectMeta(name="a", namespace="default"), spec=...)],
    users=[Edit(ConfigPair, ("default", "a"), spec=[{"text": "x"}, {"text": "y"}])],
    faults=Faults(crash=1),
    properties=[eventually_stable(desired)],
)
check(world).assert_holds()
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attractor.check.errors import SpecError
from attractor.check.growth import fitted
from attractor.check.spec.declarations import WorldProperty
from attractor.check.spec.signatures import require_answer
from attractor.check.world.api.bounds import Bounds
from attractor.check.world.api.faults import Budget, Faults
from attractor.check.world.api.placement import distinct, has_limit, placement
from attractor.check.world.api.properties import Claim, StepClaim, claim_of
from attractor.check.world.api.properties import quiesces as quiesces_claim
from attractor.check.world.api.users import Create, Delete, Edit, Script, all_acts
from attractor.check.world.simulation.clock import checked
from attractor.check.world.simulation.discovered import Parts
from attractor.check.world.simulation.externals import NoAnswer
from attractor.check.world.simulation.model import Universe
from attractor.check.world.simulation.reductions import Reductions
from attractor.check.world.simulation.server.api_server import EPOCH
from attractor.objects.gvk import Key
from attractor.objects.resource import Resource
from attractor.runtime.controller import Controller
from attractor.runtime.worker.overdue import WORKERS
from attractor.webhooks import AdmissionWebhook, Conversion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from attractor.check.engine.model import Model
    from attractor.check.errors import Grown
    from attractor.check.world.api.users import User
    from attractor.webhooks import Webhook


FEW_WORKERS = 2
"""Workers of a controller where nobody says how many; production then has more, so this is a bound, too."""


class World:
    """Real controllers with everything around them, as one specification for ``check``.

        world = World(
            controllers=[pairs],
            objects=[pair("red")],
            users=[Edit(ConfigPair, WEB, spec=[{"value": "blue"}])],
            faults=Faults(crash=1),
            properties=[eventually_stable(desired)],
        )
        check(world).assert_holds()

    The API server's verbs, the caches, the queues, the client and the reconcile functions are the production ones, run
    step by step; modelled are the network, time, failures, users and outside systems. A world is a value: exploring it
    changes nothing that can be noticed.

    Args:
        controllers: The controllers under check; every host runs all of them.
        objects: What is stored at the beginning.
        users: What people may do, and how often.
        faults: What may go wrong, and how often; by default nothing but declared timeouts.
        properties: What must be true.
        externals: Models of the outside systems that controllers declare, by protocol class.
        bounds: The limits that keep the world finite.
        name: For verdicts and files; by default the controllers' names.
        workers: Workers of controllers that declare none, as in ``Manager(workers=...)``. Where nobody says, there are
            two; if production's four could do more, the verdict is *holds within* two.
        closes_lagging_watches: A write that would exceed the lag closes the watch, instead of waiting for it.
        hosts: Names of processes that each run all ``controllers``; or instead of those, what each process runs. Each
            has caches, queues and memory of its own.
        election: The first of the hosts that run the same leads; without it all of them act at once.
        own_writes: ``False`` shows what breaks when reads may miss own writes.
        garbage_collection: Whether dependents of deleted objects are deleted.
        quiesces: Whether the world also claims that it quiesces.
        resync: Everything may be reconciled again at any time; that is not fair, so nothing can rely on it.
        kinds: Kinds that nothing else here mentions.
        clock: The instants that time passes through; it stands still at the last one, unless it is an
            ``OscillatingClock``.
        external_failure: Makes the error of a call of an outside system that gets no answer.
        webhooks: Functions declared with ``validate``, ``mutate`` and ``convert``, which the server asks, also about
            the initial objects.

    Raises:
        SpecError: The world cannot be checked as it is put together; the text names the fix.
    """

    def __init__(
        self,
        *,
        controllers: Sequence[Controller] = (),
        objects: Sequence[Resource] = (),
        users: Sequence[User] = (),
        faults: Faults | None = None,
        properties: Sequence[WorldProperty] = (),
        externals: Mapping[Any, object] | None = None,
        bounds: Bounds | None = None,
        name: str = "",
        workers: int | None = None,
        closes_lagging_watches: bool = False,
        hosts: Sequence[str] | Mapping[str, Sequence[Controller]] = ("host1",),
        election: bool = False,
        own_writes: bool = True,
        garbage_collection: bool = True,
        quiesces: bool = True,
        resync: bool = False,
        kinds: Sequence[type[Resource]] = (),
        clock: Sequence[datetime] | None = None,
        external_failure: Callable[[], Exception] = NoAnswer,
        webhooks: Sequence[Webhook] = (),
    ) -> None:
        self._given = {name: value for name, value in locals().items() if name != "self"}
        _require_lists(controllers=controllers, objects=objects, users=users, properties=properties, webhooks=webhooks)
        self.placement = placement(controllers, hosts)
        """What each host runs, where they do not all run the same."""
        self.workers = FEW_WORKERS if workers is None else workers
        if self.workers < 1:
            raise SpecError(f"workers={self.workers} of a world is too few; it is at least 1")
        self.controllers = tuple(controllers) or distinct(self.placement)
        self.objects, self.users = tuple(objects), tuple(users)
        self.faults = faults or Faults()
        self.bounds = Bounds() if bounds is None else bounds
        self.closes_lagging_watches = closes_lagging_watches
        self.hosts, self.election = tuple(hosts), election
        self._check_declared()
        claims = _claims(properties)
        self._check_faults()
        if not isinstance(self.bounds, Bounds):
            raise SpecError(f"bounds={self.bounds!r} are no bounds; write bounds=Bounds(lag=4)")
        self.externals = dict(externals or {})
        self.external_failure, self.clock = external_failure, checked((EPOCH,) if clock is None else clock)
        self.resync, self.webhooks = resync, tuple(webhooks)
        self._check_externals()
        self.own_writes, self.garbage_collection = own_writes, garbage_collection
        self.reductions = Reductions()
        """What keeps it small and fast; never a matter of the verdict, so no argument."""
        self.name = name or "world of " + ", ".join(one.name for one in self.controllers)
        self.claims = (*claims, *((quiesces_claim(),) if quiesces else ()))
        self.kinds = self._all_kinds(kinds)
        self._parts = Parts()

    def __repr__(self) -> str:
        return self.name

    def but(self, **changes: Any) -> World:
        """The same world, except for some of its arguments.

            world.but(users=[], bounds=world.bounds.but(lag=4))

        Raises:
            SpecError: A world takes no such argument.
        """
        unknown = sorted(changes.keys() - self._given.keys())
        if bounds := {name: value for name, value in changes.items() if name in self.bounds.as_dict()}:
            said = ", ".join(f"{name}={value}" for name, value in bounds.items())
            raise SpecError(f"{', '.join(bounds)} is a bound: write bounds=world.bounds.but({said})")
        if unknown:
            raise SpecError(f"a world takes no {', '.join(unknown)}; it takes {', '.join(self._given)}")
        made = World(**{**self._given, **changes})
        made.reductions = self.reductions
        return made

    def wider(self, bound: str) -> World | None:
        """The same world with one bound raised: by one, or doubled for ``answers``; ``None`` for what is no bound of a
        world.
        """
        if bound == "timeout":
            return self.but(faults=replace(self.faults, timeout=2 if self.faults.timeout is None else 1))
        if bound == "workers":
            return self.but(workers=WORKERS)
        return self.but(bounds=self.bounds.raised(bound)) if bound in self.bounds.as_dict() else None

    @property
    def says_time(self) -> bool:
        """Whether the author said what time it is."""
        return self._given["clock"] is not None

    def controllers_on(self, host: str) -> tuple[Controller, ...]:
        """The controllers that a host runs: its own, or all of them."""
        return self.controllers if self.placement is None else self.placement[host]

    def workers_of(self, one: Controller) -> int:
        """How many objects a controller reconciles at once: as many as it declares, or else as the world says."""
        return one.workers or self.workers

    def lacks_workers(self, one: Controller) -> bool:
        """Whether production has more workers for a controller, as far as anybody said."""
        return one.workers is None and self._given["workers"] is None

    def budgets_of(self, host: str) -> dict[str, Budget]:
        """What may go wrong on a host: as the faults say, and a timeout where a controller there declares one."""
        found = self.faults.budgets()
        if self.faults.timeout is None and any(has_limit(one) for one in self.controllers_on(host)):
            found["timeout"] = 1
        return found

    def times_out(self, one: Controller) -> bool:
        """Whether reconciles of a controller may take too long: it says how long, or production does and you ask."""
        return has_limit(one) or (one.timeout_s is None and bool(self.faults.timeout))

    @property
    def electing(self) -> tuple[tuple[str, ...], ...]:
        """The hosts, grouped by what they run: with an election each group has a leader."""
        groups: dict[tuple[int, ...], list[str]] = {}
        for host in self.hosts:
            groups.setdefault(tuple(map(id, self.controllers_on(host))), []).append(host)
        return tuple(map(tuple, groups.values()))

    def _check_declared(self) -> None:
        """Raise ``SpecError`` for a bare function where a declaration of it is meant, and for scripts without names."""
        for one in self.controllers:
            if not isinstance(one, Controller):
                raise SpecError(f"{_called(one)} is no controller; declare it with @controller(for_=...)")
        for obj in self.objects:
            if not isinstance(obj, Resource):
                raise SpecError(
                    f"{_called(obj)} is no object; make one, as in Lamp(metadata=ObjectMeta(...), spec=...)"
                )
            if obj.resource_info.namespaced and not obj.metadata.namespace:
                raise SpecError(f"{obj.gvk.kind} {obj.metadata.name} has no namespace; write ObjectMeta(namespace=...)")
        for user in self.users:
            if not isinstance(user, Create | Edit | Delete | Script):
                raise SpecError(f"{_called(user)} is no user; a user is a Create, an Edit, a Delete or a Script")
        names = [user.name for user in self.users if isinstance(user, Script)]
        if len(set(names)) < len(names):
            raise SpecError('several scripts need names to tell them apart, as in Script(..., name="admin")')

    def _check_faults(self) -> None:
        if not isinstance(self.faults, Faults):
            raise SpecError(f"faults={self.faults!r} are no faults; write faults=Faults(crash=1)")
        self.faults.check_hosts(self.hosts)
        if self.faults.leader_change and not (self.election and any(len(group) > 1 for group in self.electing)):
            raise SpecError(
                "a change of leader needs two hosts that elect one: hosts=('host1', 'host2'), election=True"
            )

    def _check_externals(self) -> None:
        for one in self.controllers:
            for protocol in one.externals:
                if protocol not in self.externals:
                    name = protocol.__name__
                    raise SpecError(
                        f"controller {one.name!r} needs the outside system {name}; give the world a model of it, "
                        f"as in World(..., externals={{{name}: {name}Model()}})"
                    )

    def _all_kinds(self, more: Iterable[type[Resource]]) -> tuple[type[Resource], ...]:
        named = [kind for one in self.controllers for kind in one.kinds]
        named += [type(obj) for obj in self.objects]
        named += [type(act.object) if isinstance(act, Create) else act.kind for act in all_acts(self.users)]
        for hook in self.webhooks:
            named += [hook.source, hook.target] if isinstance(hook, Conversion) else []
            named += [hook.kind] if isinstance(hook, AdmissionWebhook) else []
        return tuple(dict.fromkeys([*named, *more]))

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that must exist."""
        found = [obj.key.namespace for obj in self.objects]
        found += [act.object.key.namespace for act in all_acts(self.users) if isinstance(act, Create)]
        return tuple(dict.fromkeys(name for name in found if name))

    def known_keys(self, parts: Parts) -> dict[str, tuple[Key, ...]]:
        """For each controller the keys that it may be asked to reconcile, as far as they are known."""
        found: dict[str, tuple[Key, ...]] = {}
        for one in self.controllers:
            keys = [obj.key for obj in self.objects if isinstance(obj, one.for_.kind)]
            for act in all_acts(self.users):
                if isinstance(act, Create):
                    keys += [act.object.key] if isinstance(act.object, one.for_.kind) else []
                elif act.kind is one.for_.kind:
                    keys.append(Key(*act.key))
            keys += [key for name, key in parts.keys if name == one.name]
            found[one.name] = tuple(sorted({*keys, *found.get(one.name, ())}))
        return found

    def grow(self, grown: Grown) -> None:
        """Take up a part that exploring has shown to be there."""
        self._parts.take(grown)

    def found_parts(self) -> list[list[Any]]:
        """The parts that exploring has shown to be there, as JSON."""
        return self._parts.told()

    def compose(self) -> Universe:
        """The parts of the world, put together afresh; also those that the initial objects show to be there."""
        return fitted(self, lambda: Universe(self, self._parts))

    def compile(self) -> Model:
        """The model to explore."""
        return self.compose().model


def _claims(properties: Iterable[WorldProperty]) -> tuple[Claim | StepClaim, ...]:
    """What the properties claim; raises ``SpecError`` for a bare function, and for one that answers nothing."""
    claims = tuple(map(claim_of, properties))
    for claim in claims:
        for predicate in claim.predicates if isinstance(claim, Claim) else ():
            require_answer(claim.name, predicate)
    return claims


def _require_lists(**given: object) -> None:
    """Raise ``SpecError`` for one where several are meant."""
    for name, value in given.items():
        if isinstance(
            value, Controller | Resource | Create | Edit | Delete | Script | WorldProperty | AdmissionWebhook
        ):
            raise SpecError(f"`{name}` of a world is a list, and this is one {type(value).__name__}: {name}=[...]")


def _called(given: object) -> str:
    return getattr(given, "__name__", repr(given))

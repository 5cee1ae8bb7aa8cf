"""The API server of a world: the production core, on the store of the running step.

A request is answered within one step: the core reads slots, writes slots, and its answer is the response. Time, uids
and name suffixes come from the world, so the same state gives the same answer.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import msgspec

from attractor.apiserver.core import Core, Request
from attractor.apiserver.kinds.custom.status import plan_names
from attractor.apiserver.request.caller import User
from attractor.apiserver.request.operation import APPLY_PATCH, Operation
from attractor.apiserver.response import ObjectBody, Response, refusal
from attractor.apiserver.server import FIRST_NAMESPACES
from attractor.apiserver.transaction import Transaction
from attractor.check.engine.model import Model
from attractor.check.errors import Disabled, Grown, SpecError
from attractor.check.events import Named
from attractor.check.world.simulation.clock import next_instant
from attractor.check.world.simulation.server.generated_names import NAME_BOUNDS, Generated, NameBounds
from attractor.check.world.simulation.server.memo import Recollection
from attractor.check.world.simulation.server.storage import FRESH_UID, Storage, WorldSnapshot
from attractor.check.world.simulation.server.webhooks import WorldWebhooks
from attractor.check.world.simulation.slots import Sketch, Stage
from attractor.client.transport import ClientResponse
from attractor.objects.errors import ApiError
from attractor.objects.resource.structural import SchemaError
from attractor.webhooks import WebhookSet, registration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from attractor.apiserver.transaction import Piece
    from attractor.check.world.simulation.slots import Cell
    from attractor.client.transport import ClientRequest
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource
    from attractor.store.contract import Entry
    from attractor.webhooks import Webhook

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_DEFINITIONS: dict[str, Any] = {
    "group": "apiextensions.k8s.io",
    "version": "v1",
    "resource": "customresourcedefinitions",
}


class WorldSource:
    """Source of time, uids and names for transactions: the state of the world."""

    def __init__(self, stage: Stage, clock: Sequence[datetime], names: NameBounds) -> None:
        self._stage, self._names = stage, names
        self.clock = clock
        self._texts = [at.strftime("%Y-%m-%dT%H:%M:%SZ") for at in clock]
        self.tick: Cell = stage.slot("clock", None, 0)

    def now(self) -> str:
        """The time of the world's clock; it stands still unless the world says otherwise."""
        return self._texts[self._at()]

    def now_micro(self) -> str:
        """The same, as micro time."""
        return self.clock[self._at()].strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def _at(self) -> int:
        if len(self.clock) == 1:
            return 0
        at: int = self.tick.get()
        return at

    def uid(self) -> str:
        """A mark that the store replaces when it knows whose uid it is."""
        return FRESH_UID

    def suffix(self) -> str:
        """The ending of the next generated name, in any order among the first few."""
        cell = self._stage.slot("generated names", None, Generated())
        made: Generated = cell.get()
        most, ordered = self._names
        ways = made.after(self._names)
        which = self._stage.view.choose(range(len(ways))) if len(ways) > 1 else 0
        if made.others + len(made.ordered) + 1 == most:
            self._stage.bind("generated_names", f"{most} generated names")
        if len(made.ordered) >= ordered:
            self._stage.bind("ordered_names", f"any order among the first {ordered} generated names")
        ending, after = ways[which]
        cell.set(after)
        self._stage.note(Named(ending))
        return ending

    def draw(self, below: int) -> int:
        """The first of what may be drawn."""
        return 0


class Done(NamedTuple):
    """Result of a request to the core: its answer, and what is to be stored."""

    response: Response
    puts: Mapping[str, bytes]
    deletes: frozenset[str]
    pieces: Sequence[Piece] | None = None
    """The same in parts, where each has a version, and an event, of its own."""


class ApiServer:
    """Answers requests in the running step."""

    def __init__(
        self,
        stage: Stage,
        storage: Storage,
        clock: Sequence[datetime] = (EPOCH,),
        *,
        names: NameBounds = NAME_BOUNDS,
        recalls: bool = True,
        webhooks: Sequence[Webhook] = (),
    ) -> None:
        """Without ``recalls`` the core is run for every request; ``names`` bounds the generated ones."""
        self.storage = storage
        self._core = Core()
        self._source = WorldSource(stage, clock, names)
        self._webhooks = WorldWebhooks(webhooks)
        stage.model.before_audit.append(self._webhooks.forget)
        self.recollection = Recollection(storage, self._source, self._webhooks)
        if recalls:
            stage.model.before_audit.append(self.recollection.work_always)
        else:
            self.recollection.work_always()

    def now(self) -> datetime:
        """The time of the world's clock."""
        source = self._source
        return source.clock[0 if self.clock_stands else source.tick.get()]

    @property
    def clock_stands(self) -> bool:
        """Whether the time is always the same."""
        return len(self._source.clock) == 1

    def tick(self) -> None:
        """Time goes on to the next instant that matters."""
        at = next_instant(self._source.clock, self._source.tick.get())
        if at is None:
            raise Disabled
        self._source.tick.set(at)

    def transaction(self) -> Transaction:
        """A fresh transaction on the state of the running step."""
        return Transaction(WorldSnapshot(self.storage), self._source, answers=self._webhooks)

    def send(self, request: ClientRequest) -> ClientResponse:
        """The answer to a client's request."""
        query: dict[str, list[str]] = {}
        for name, value in request.query:
            query.setdefault(name, []).append(value)
        if request.content_type == APPLY_PATCH and not self.storage.keeps_managers:
            raise Grown("managers", "managedFields")
        path = unquote(request.path)
        asked = Request(request.method, path, query, request.body, request.content_type, User("world"))
        response = self._committed(self.recollection.of(request, lambda txn: _done(self._core.handle(asked, txn), txn)))
        return ClientResponse(response.code, response.encode())

    def perform(self, op: Operation) -> Response:
        """Carry out an operation of a controller inside the server; a refusal is an answer too."""
        return self._committed(
            self.recollection.of(msgspec.msgpack.encode(op.said()), lambda txn: self._attempt(op, txn))
        )

    def _attempt(self, op: Operation, txn: Transaction) -> Done:
        try:
            return _done(self._core.execute(op, txn), txn)
        except ApiError as error:
            return Done(refusal(error), {}, frozenset())

    def _committed(self, done: Done) -> Response:
        """The answer once what goes with it is stored."""
        response = done.response
        if not (done.puts or done.deletes):
            return response
        if done.pieces is not None:
            for puts, deletes in done.pieces:
                self.storage.commit(puts, deletes)
            return response.committed(1)
        kept = self.storage.commit(done.puts, done.deletes)
        body = response.body
        if kept and isinstance(body, ObjectBody) and body.revision is None:
            key = _key_of(done.puts, body.value, kept)
            value = self.storage.answered(key, body.value)
            return Response(response.code, ObjectBody(value, self.storage.version(key, kept[key])), response.warnings)
        return response.committed(1)  # what was deleted is shown at a version that nothing else has or needs

    # Before the world begins.

    def found(self, kinds: Iterable[type[Resource]], namespaces: Iterable[str] = ()) -> None:
        """Put what every cluster has into the store, the definitions of these kinds, and registrations of webhooks."""
        own = tuple(kind for kind in kinds if not kind.resource_info.definition)
        hooks = self._webhooks.hooks.declared()
        try:
            self.storage.fixed.update(_beginning(own, tuple(namespaces), self._source.clock[0], hooks))
        except SchemaError as problem:
            raise SpecError(str(problem)) from None

    def write_beginning(
        self, definitions: Iterable[JsonObject], namespaces: Iterable[str], registrations: Iterable[JsonObject] = ()
    ) -> None:
        """Write namespaces, CustomResourceDefinitions and webhook configurations into an empty store."""
        for name in dict.fromkeys((*FIRST_NAMESPACES, *namespaces)):
            self._create({"group": "", "version": "v1", "resource": "namespaces"}, {"metadata": {"name": name}})
        for definition in definitions:
            self._create(_DEFINITIONS, definition)
        for name, status in list(plan_names(WorldSnapshot(self.storage), self._source.now())):
            body = {"status": status}
            self._must(Operation(verb="patch", name=name, subresource="status", body=body, **_DEFINITIONS))
        for each in registrations:
            where = {"group": registration.GROUP, "version": "v1", "resource": f"{each['kind'].lower()}s"}
            self._create(where, each)

    def _create(self, where: dict[str, Any], body: JsonObject) -> None:
        self._must(Operation(verb="create", body=body, **where))

    def _must(self, op: Operation) -> None:
        txn = self.transaction()
        self._committed(_done(self._core.execute(op, txn), txn))


@lru_cache(maxsize=64)
def _beginning(
    kinds: tuple[type[Resource], ...],
    namespaces: tuple[str, ...],
    now: datetime,
    hooks: tuple[Webhook, ...],
) -> Mapping[str, Entry]:
    """What the store of a world with these kinds begins with; worlds are composed more often than it changes."""
    stage = Stage(Model("the beginning"))
    storage = Storage(stage)
    with stage.on(Sketch(stage.model)):
        declared = WebhookSet(hooks)
        registrations = declared.configurations(registration.IN_PROCESS[1], registration.in_process)
        ApiServer(stage, storage, (now,)).write_beginning(declared.definitions(kinds), namespaces, registrations)
    return storage.fixed


def _done(response: Response, txn: Transaction) -> Done:
    return Done(response, txn.puts, frozenset(txn.deletes), txn.pieces)


def _key_of(puts: Mapping[str, bytes], value: bytes, kept: dict[str, bytes]) -> str:
    """The key of the object that a response shows; beside it a transaction may have written allocations."""
    if len(kept) == 1:
        return next(iter(kept))
    return next(key for key, put in puts.items() if put == value)

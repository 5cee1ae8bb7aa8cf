"""The driver of the core: run it on a snapshot, commit, and run it again if somebody was faster.

When the core needs a webhook's answer (``outside`` tells how it says so), the driver awaits it and runs the core again,
on a snapshot taken afterwards: a webhook that reads from this server reads nothing older than what it is asked about.

Reads are answered from what is durable. A write rests on the store's draft, so that writers of one object queue up
behind each other instead of losing to each other; whatever it answers, it answers once what it saw is durable.

Nothing here decides what a request means. A driver (sockets, in-process clients) awaits ``Server``; a caller without
an event loop runs ``Core`` on a transaction itself.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from attractor.apiserver.core import Core
from attractor.apiserver.custom import registry as custom_registry
from attractor.apiserver.custom.naming import MANAGER, plan_names
from attractor.apiserver.operation import Operation, WriteOptions
from attractor.apiserver.outside import Answers, NeedsAnswers, NobodyOutside, RecordedSource
from attractor.apiserver.response import Response, refusal
from attractor.apiserver.transaction import Beforehand, NotYet, Transaction
from attractor.objects.errors import ApiError, Conflict, InsufficientStorage, NotFound, ServiceUnavailable
from attractor.store.contract import Stale, StoreFull, StoreUnavailable, Unsure
from attractor.store.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence

    from attractor.apiserver.core import Request
    from attractor.apiserver.outside import Outside
    from attractor.apiserver.transaction import Source
    from attractor.store.contract import Pending, Snapshot, Store

T = TypeVar("T")

MAX_ATTEMPTS = 100
"""How often a request is run again when others keep being faster; each loss means that another one won."""

MAX_PAUSES = 20
"""How often a request pauses for what a controller is about to create."""

_READS = frozenset({"GET", "HEAD", "get", "list", "watch"})
"""Methods and verbs that are answered from what is durable; all others may rest on writes that are on their way."""

FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class Server:
    """An API server on a store."""

    def __init__(self, store: Store, source: Source, core: Core | None = None, outside: Outside | None = None) -> None:
        self.store = store
        self.source = source
        self.core = core or Core()
        self.outside = outside or NobodyOutside()
        self.pause: Callable[[], Awaitable[None]] | None = None
        """How to wait a little for a controller; None when none runs, for then waiting is in vain."""
        self._turns = Turns()

    async def start(self) -> None:
        """Make sure that what every cluster has is there; older history is then out of reach."""
        made_by = WriteOptions(field_manager="kube-apiserver")
        for name in sorted(FIRST_NAMESPACES, key=len, reverse=True):
            body = {"metadata": {"name": name}}
            op = Operation(verb="create", group="", version="v1", resource="namespaces", body=body, write=made_by)
            if self.store.snapshot_nowait().get(f"core/namespaces/{name}") is None:
                await self.perform(op)
        await self.settle_names()

    async def handle(self, request: Request) -> Response:
        """Answer a request; every refusal is an answer with its Status."""
        is_read = request.method in _READS
        begun = self.read_now(request) if is_read else self.write_now(request)
        if begun is not None:
            return begun if isinstance(begun, Response) else await begun
        return await self.handle_in_full(request)

    async def handle_in_full(self, request: Request) -> Response:
        """``handle`` for a request of which ``read_now`` or ``write_now`` could not tell the answer."""
        try:
            return await self._run(partial(self.core.handle, request), is_read=request.method in _READS)
        except ApiError as error:
            return refusal(error)

    def read_now(self, request: Request) -> Response | None:
        """The answer to a read, if it need not wait for the store and nobody outside has to be asked."""
        if not self.store.is_exclusive:
            return None
        try:
            return self.core.handle(request, self.transaction(self.store.snapshot_nowait()))
        except NeedsAnswers:
            return None

    def write_now(self, request: Request) -> Response | OnItsWay | None:
        """The answer to a write, or what it waits for, if that is only the store; None when ``handle`` must find out.

        Then nothing was written: somebody outside has to be asked, a controller is awaited, names have to be settled,
        or the answer rests on writes that are still on their way.
        """
        store = self.store
        draft = store.draft_nowait()
        if draft is None:
            return self._tried(request)
        txn = Transaction(draft, self.source, store.snapshot_at, may_wait=self.pause is not None)
        try:
            response = self.core.handle(request, txn)
        except (NeedsAnswers, NotYet, Beforehand):
            return None
        if not (txn.puts or txn.deletes):
            return response if draft.revision == store.revision else None
        if txn.pieces is not None or _touches_definitions(txn.puts):
            return None
        try:
            revision = store.commit_on(draft, txn.compares, puts=txn.puts, deletes=txn.deletes)
        except (StoreFull, StoreUnavailable) as error:
            return refusal(_unwritten(error))
        return response.committed(revision) if isinstance(revision, int) else OnItsWay(response, revision)

    def _tried(self, request: Request) -> OnItsWay | None:
        """``write_now`` where others write, too: tried on what this server knows, in full if that was not so."""
        store = self.store
        guess = store.guess()
        if guess is None:
            return None
        txn = Transaction(guess, self.source, None, may_wait=self.pause is not None)
        try:
            response = self.core.handle(request, txn)
        except (NeedsAnswers, NotYet, Beforehand, Unsure):
            return None
        if not txn.is_dirty or response.shows_a_stand_in or txn.pieces is not None or _touches_definitions(txn.puts):
            return None
        begun = OnItsWay(response)
        with suppress(Stale):
            again = partial(self._again, request, begun)
            begun.durable = store.commit_guess(guess, puts=txn.puts, deletes=txn.deletes, again=again)
        return begun if begun.durable is not None else None

    async def _again(self, request: Request, begun: OnItsWay, lost: Stale) -> int:
        """Run in turn what was tried in vain; the answer tells its revision itself."""
        run = _Run(self, partial(self.core.handle, request), is_read=False)
        try:
            async with self._turns.at(min(lost.keys)):
                begun.response = await run.whatever_it_takes()
        except ApiError as error:
            begun.response = refusal(error)
        return 0

    async def perform(self, op: Operation) -> Response:
        """Carry out an operation; raises ``ApiError``."""
        return await self._run(lambda txn: self.core.execute(op, txn), is_read=op.verb in _READS)

    def transaction(self, snapshot: Snapshot) -> Transaction:
        """A fresh transaction on a snapshot of this server's store."""
        return Transaction(snapshot, self.source, self.store.snapshot_at)

    async def read(self, snapshot: Snapshot, look: Callable[[Transaction], T]) -> T:
        """What a look at a snapshot shows, with the outside's answers where it needs them; raises ``ApiError``."""
        consultation = _Consultation(self)
        while True:
            try:
                return look(consultation.transaction(snapshot))
            except NeedsAnswers as needs:
                await consultation.answer(needs)

    async def _run(self, attempt: Callable[[Transaction], Response], *, is_read: bool) -> Response:
        run = _Run(self, attempt, is_read=is_read)
        try:
            try:
                return await run.until_done()
            except Stale as lost:
                async with self._turns.at(min(lost.keys)):
                    return await run.whatever_it_takes()
        except (StoreFull, StoreUnavailable) as error:
            raise _unwritten(error) from error

    async def settle_names(self) -> None:
        """Bring the status of every CustomResourceDefinition up to date, which is what makes its kind served."""
        snapshot = await self.store.snapshot()
        plan: Sequence[tuple[str, dict[str, object]]] = list(plan_names(snapshot, self.source.now()))
        for name, status in plan:
            op = Operation(
                verb="patch",
                group="apiextensions.k8s.io",
                version="v1",
                resource="customresourcedefinitions",
                name=name,
                subresource="status",
                body={"status": status},
                write=WriteOptions(field_manager=MANAGER),
            )
            try:
                await self.perform(op)
            except ApiError as error:
                if error.code != 404:
                    raise


class OnItsWay:
    """An answer that only waits for its write to be durable."""

    __slots__ = ("durable", "response")

    def __init__(self, response: Response, durable: Pending | None = None) -> None:
        self.response = response
        self.durable = durable

    def result(self) -> Response:
        """The answer, once ``durable`` is done; a store that failed is an answer, too."""
        assert self.durable is not None, "nothing is on its way"
        try:
            return self.response.committed(self.durable.result())
        except (StoreFull, StoreUnavailable) as error:
            return refusal(_unwritten(error))

    def __await__(self) -> Generator[Any, None, Response]:
        assert self.durable is not None, "nothing is on its way"
        with suppress(StoreFull, StoreUnavailable):
            yield from self.durable.__await__()
        return self.result()


def _unwritten(error: StoreFull | StoreUnavailable) -> ApiError:
    """What a client is told of a store that does not write."""
    if isinstance(error, StoreFull):
        return InsufficientStorage(f"nothing was written: {error}")
    return ServiceUnavailable(f"the store cannot be reached: {error}")


class _Run:
    """One request, run as often as it takes: until nobody outside has to be asked and nobody else was faster."""

    def __init__(self, server: Server, attempt: Callable[[Transaction], Response], *, is_read: bool) -> None:
        self._server = server
        self._attempt = attempt
        self._is_read = is_read
        self._consultation: _Consultation | None = None
        self._pauses_left = MAX_PAUSES if server.pause else 0
        self._done: set[str] = set()

    async def until_done(self) -> Response:
        """The answer; raises ``Stale`` when another writer was faster, ``ApiError`` for a refusal."""
        server, store = self._server, self._server.store
        rests_on_durable = self._is_read
        for _ in range(MAX_ATTEMPTS):
            if self._consultation is not None:
                txn = self._consultation.transaction(await store.snapshot())
            else:
                txn = server.transaction(await (store.snapshot() if rests_on_durable else store.draft()))
            txn.may_wait = self._pauses_left > 0
            txn.done = self._done
            try:
                response = self._attempt(txn)
            except Beforehand as first:
                await self._perform(first)
                continue
            except NotYet:
                assert server.pause is not None, "nobody waits without a way to"
                self._pauses_left -= 1
                await server.pause()
                continue
            except NeedsAnswers as needs:
                if self._consultation is None:
                    self._consultation = _Consultation(server)
                else:
                    await self._consultation.answer(needs)
                continue
            except ApiError:
                if rests_on_durable or await store.settled(txn.snapshot):
                    raise
                rests_on_durable = True
                continue
            if not txn.is_dirty or response.shows_a_stand_in:  # then it is not settled
                if rests_on_durable or await store.settled(txn.snapshot):
                    return response
                rests_on_durable = True
                continue
            revision = await self._commit(txn)
            if _touches_definitions(txn.puts):
                await server.settle_names()
            return response.committed(revision)
        raise _gave_up()

    async def _commit(self, txn: Transaction) -> int:
        """Write, all at once or piece by piece; the last revision. Raises ``Stale``, then with some pieces written."""
        store, revision = self._server.store, 0
        if txn.pieces is None:
            return await store.commit(txn.compares, puts=txn.puts, deletes=txn.deletes)
        written = {key for piece in txn.pieces for key in (*piece.puts, *piece.deletes)}
        read = {key: version for key, version in txn.compares.items() if key not in written}
        seen: dict[str, int] = {}
        for puts, deletes in txn.pieces:
            known = {key: seen.get(key, txn.compares.get(key, 0)) for key in (*puts, *deletes)}
            revision = await store.commit(read | known, puts=puts, deletes=deletes)
            seen |= dict.fromkeys(puts, revision)
        return revision

    async def _perform(self, first: Beforehand) -> None:
        """Write what comes first; what somebody else was faster with is worked out again by the next run."""
        for name, op in first.operations.items():
            with suppress(Conflict, NotFound):
                await self._server.perform(op)
                self._done.add(name)

    async def whatever_it_takes(self) -> Response:
        """The answer, however often others are faster; raises ``Conflict`` when that never ends."""
        for _ in range(MAX_ATTEMPTS):
            try:
                return await self.until_done()
            except Stale:
                continue
        raise _gave_up()


def _gave_up() -> Conflict:
    return Conflict(f"gave up after {MAX_ATTEMPTS} attempts: other writers keep changing the same objects")


class _Consultation:
    """What the runs of one request share once the outside has a say in it.

    The run that finds out that there are questions is run again on a recorded source before anything is asked: only
    from then on do all runs draw the same uids and times, so that a question, once answered, is not asked again.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._answers = Answers()
        self._source = RecordedSource(server.source)

    def transaction(self, snapshot: Snapshot) -> Transaction:
        """A transaction that knows the answers so far."""
        self._source.rewind()
        return Transaction(snapshot, self._source, self._server.store.snapshot_at, self._answers)

    async def answer(self, needs: NeedsAnswers) -> None:
        """Have the open questions answered."""
        answers = await self._server.outside.answer(needs.questions)
        for question, answer in zip(needs.questions, answers, strict=True):
            self._answers.file(question, answer)


def _touches_definitions(keys: dict[str, bytes]) -> bool:
    for key in keys:  # noqa: SIM110 - in every write's way: twice as fast as any()
        if key.startswith(custom_registry.PREFIX):
            return True
    return False

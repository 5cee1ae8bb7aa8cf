"""The driver of the core: run it on a snapshot, commit, and run it again if somebody was faster.

When the core needs a webhook's answer (``admission.outside_calls`` tells how it says so), the driver awaits it and runs
the core again, on a snapshot taken afterwards: a webhook that reads from this server reads nothing older than what it
is asked about.

Reads are answered from what is durable. A write rests on the store's draft, so that writers of one object queue up
behind each other instead of losing to each other; whatever it answers, it answers once what it saw is durable.

Nothing here decides what a request means. A driver (sockets, in-process clients) awaits ``Server``; a caller without
an event loop runs ``Core`` on a transaction itself.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from attractor.apiserver.admission.outside_calls import Answers, NeedsAnswers, NobodyOutside, RecordedSource
from attractor.apiserver.core import Core
from attractor.apiserver.kinds.custom import registry as custom_registry
from attractor.apiserver.kinds.custom.status import MANAGER, plan_names
from attractor.apiserver.request.operation import Operation, WriteOptions
from attractor.apiserver.response import Response, refusal
from attractor.apiserver.transaction import Beforehand, NotYet, Transaction
from attractor.objects.errors import ApiError, Conflict, InsufficientStorage, NotFound, ServiceUnavailable
from attractor.store.contract import Compacted, Stale, StoreFull, StoreUnavailable, Unsure
from attractor.store.retry_queue import Turns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence

    from attractor.apiserver.admission.outside_calls import Outside
    from attractor.apiserver.core import Request
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
        self.oldest = 0
        """Versions below this one are no longer read, whether the store still has them or not."""
        self.turns = Turns()

    def snapshot_at(self, revision: int) -> Snapshot:
        """Exactly that revision; raises ``Compacted`` or ``FutureRevision``."""
        if revision < self.oldest:
            raise Compacted(revision, self.oldest)
        return self.store.snapshot_at(revision)

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
        txn = Transaction(draft, self.source, self.snapshot_at, may_wait=self.pause is not None)
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
        wanted = self.turns.is_wanted(txn.puts)
        if wanted is not None:
            begun.durable = self.turns.beside(self._queued(request, begun, Stale([wanted])))
            return begun
        with suppress(Stale):
            again = partial(self._again, request, begun)
            begun.durable = store.commit_guess(guess, puts=txn.puts, deletes=txn.deletes, again=again)
        return begun if begun.durable is not None else None

    async def _again(self, request: Request, begun: OnItsWay, lost: Stale) -> int:
        """Run in turn what was tried in vain; the answer tells its revision itself."""
        self.turns.lost(min(lost.keys))
        return await self._queued(request, begun, lost)

    async def _queued(self, request: Request, begun: OnItsWay, lost: Stale) -> int:
        """Run in turn what would disturb those who wait for theirs."""
        run = _Run(self, partial(self.core.handle, request), is_read=False)
        try:
            begun.response = await run.in_turn(lost)
        except ApiError as error:
            begun.response = refusal(error)
        return 0

    async def perform(self, op: Operation) -> Response:
        """Carry out an operation; raises ``ApiError``."""
        return await self._run(lambda txn: self.core.execute(op, txn), is_read=op.verb in _READS)

    def transaction(self, snapshot: Snapshot) -> Transaction:
        """A fresh transaction on a snapshot of this server's store."""
        return Transaction(snapshot, self.source, self.snapshot_at)

    async def read(self, snapshot: Snapshot, look: Callable[[Transaction], T]) -> T:
        """What a look at a snapshot shows, with the outside's answers where it needs them; raises ``ApiError``."""
        consultation = _Consultation(self)
        while True:
            try:
                return look(consultation.transaction(snapshot))
            except NeedsAnswers as needs:
                unanswered = needs
            await consultation.answer(unanswered)

    async def _run(self, attempt: Callable[[Transaction], Response], *, is_read: bool) -> Response:
        run = _Run(self, attempt, is_read=is_read)
        try:
            try:
                return await run.until_done()
            except Stale as stale:
                lost = stale
            self.turns.lost(min(lost.keys))
            return await run.in_turn(lost)
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


Wait: TypeAlias = "Callable[[], Awaitable[Response | None]]"
"""What comes before the next attempt, and may take as long as others take; it may turn out to be the answer."""


class _Run:
    """One request, run as often as it takes: until nobody outside has to be asked and nobody else was faster.

    Whoever has lost goes on in turn. A turn is held for nothing but the store: whatever may need another request to go
    on (a write whose own request may want this turn, a webhook or a controller that writes here, writes that come
    first) is waited for without it. ``attractor.check.specs.sharedwrites`` proves that nobody then waits for ever.
    """

    def __init__(self, server: Server, attempt: Callable[[Transaction], Response], *, is_read: bool) -> None:
        self._server = server
        self._attempt = attempt
        self._rests_on_durable = is_read
        self._may_guess = False
        self._consultation: _Consultation | None = None
        self._pauses_left = MAX_PAUSES if server.pause else 0
        self._done: set[str] = set()

    async def until_done(self) -> Response:
        """The answer; raises ``Stale`` when another writer was faster, ``ApiError`` for a refusal."""
        for _ in range(MAX_ATTEMPTS):
            found = await self._attempted()
            if isinstance(found, Response):
                return found
            assert found is not None, "it may write"
            answer = await found()
            if answer is not None:
                return answer
        raise _gave_up()

    async def in_turn(self, lost: Stale) -> Response:
        """The answer of who has lost, however often others are faster; raises ``Conflict`` when that never ends."""
        self._may_guess = True  # the mirror shows by now what was faster
        for _ in range(MAX_ATTEMPTS):
            found = await self._taken_turn(min(lost.keys))
            if isinstance(found, Response):
                return found
            answer = await found()
            if answer is None and self._rests_on_durable:
                # An answer without a write disturbs nobody, so it need not wait for the turn a second time.
                try:
                    answer = await self.until_done()
                except Stale as again:
                    lost = again
            if answer is not None:
                return answer
        raise _gave_up()

    async def _taken_turn(self, key: str) -> Response | Wait:
        """What comes of a turn: attempts until one neither loses nor waits for the key to have rested."""
        turns, losses = self._server.turns, 0
        async with turns.at(key):
            while losses < MAX_ATTEMPTS:
                begun_s, may_write = turns.now(), turns.is_rested(key)
                try:
                    found = await self._attempted(may_write=may_write)
                except Stale:
                    losses += 1
                    turns.lost(key)
                    continue
                if found is not None:
                    turns.won(begun_s)
                    return found
                await turns.rested(key)
        raise _gave_up()

    async def _attempted(self, *, may_write: bool = True) -> Response | Wait | None:
        """One attempt: the answer, or what to wait for; raises as ``until_done`` does. Waits for the store alone.

        None when there is something to write which may not be written now.
        """
        txn = await self._begun()
        txn.may_wait = self._pauses_left > 0
        txn.done = self._done
        refused: ApiError | None = None
        response: Response | None = None
        try:
            response = self._attempt(txn)
        except Unsure:
            self._may_guess = False
            return _at_once
        except Beforehand as first:
            return partial(self._perform, first)
        except NotYet:
            self._pauses_left -= 1
            return self._pause
        except NeedsAnswers as needs:
            if self._consultation is not None:
                return partial(self._consultation.answer, needs)
            self._consultation = _Consultation(self._server)
            return _at_once
        except ApiError as error:
            refused = error
        if response is None or not txn.is_dirty or response.shows_a_stand_in:  # then it is not settled
            if not self._rests_on_durable:
                return partial(self._settled, txn.snapshot, response, refused)
            if refused is not None:
                raise refused
            assert response is not None, "neither an answer nor a refusal"
            return response
        if not may_write:
            return None
        if self._is_guess and txn.pieces is not None:
            self._may_guess = False
            return _at_once
        response = response.committed(await self._committed(txn))
        return partial(self._name, response) if _touches_definitions(txn.puts) else response

    @property
    def _is_guess(self) -> bool:
        """Whether the last transaction rests on a guess."""
        return self._may_guess and not self._rests_on_durable

    async def _begun(self) -> Transaction:
        """A transaction on what this attempt may rest on."""
        server, store = self._server, self._server.store
        if self._consultation is not None:
            self._rests_on_durable = True
            return self._consultation.transaction(await store.snapshot())
        if self._rests_on_durable:
            return server.transaction(await store.snapshot())
        guess = store.guess() if self._may_guess else None
        if guess is not None:
            return Transaction(guess, server.source)
        self._may_guess = False
        return server.transaction(await store.draft())

    async def _committed(self, txn: Transaction) -> int:
        """Write, all at once or piece by piece; the last revision. Raises ``Stale``, then with some pieces written."""
        store, revision = self._server.store, 0
        if txn.pieces is None:
            if self._is_guess:
                try:
                    durable = store.commit_guess(txn.snapshot, puts=txn.puts, deletes=txn.deletes)
                except Stale:
                    self._may_guess = False
                    raise
                return await durable
            return await store.commit(txn.compares, puts=txn.puts, deletes=txn.deletes)
        written = {key for piece in txn.pieces for key in (*piece.puts, *piece.deletes)}
        read = {key: version for key, version in txn.compares.items() if key not in written}
        seen: dict[str, int] = {}
        for puts, deletes in txn.pieces:
            known = {key: seen.get(key, txn.compares.get(key, 0)) for key in (*puts, *deletes)}
            revision = await store.commit(read | known, puts=puts, deletes=deletes)
            seen |= dict.fromkeys(puts, revision)
        return revision

    async def _settled(self, draft: Snapshot, response: Response | None, refused: ApiError | None) -> Response | None:
        """The answer that rests on a draft, once that is durable; None when it must be found out from what is."""
        if await self._server.store.settled(draft) and not self._is_guess:
            if refused is not None:
                raise refused
            return response
        self._rests_on_durable = True
        return None

    async def _name(self, response: Response) -> Response:
        """The answer, once the kinds are served whose definitions were written."""
        await self._server.settle_names()
        return response

    async def _pause(self) -> None:
        """Give a controller time."""
        assert self._server.pause is not None, "nobody waits without a way to"
        await self._server.pause()

    async def _perform(self, first: Beforehand) -> None:
        """Write what comes first; what somebody else was faster with is worked out again by the next run."""
        for name, op in first.operations.items():
            with suppress(Conflict, NotFound):
                await self._server.perform(op)
                self._done.add(name)


async def _at_once() -> None:
    """Wait for nothing before the next attempt."""


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
        return Transaction(snapshot, self._source, self._server.snapshot_at, self._answers)

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

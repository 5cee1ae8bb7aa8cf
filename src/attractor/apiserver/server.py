"""The API server on a store: ``begin(request)`` answers ``Response | Deferred[Response]``.

Where nothing but the store has to be waited for, a request takes one attempt, and no task:

    a read     is answered from what is durable
    a write    is committed speculatively (``store.contract.SpeculativeWriter``): it is run on the engine's draft, so
               that writers of one object queue up behind each other instead of losing to each other, and its answer is
               deferred until the write is durable

Everything else is run in full, in ``attempts``: what asks a webhook, waits for a controller, makes other writes first,
defines kinds, or has nothing to write but would answer from writes that are not durable yet. Both run the same pure
``Core``; nothing here decides what a request means. A caller without an event loop runs ``Core`` on a transaction.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from attractor.apiserver.admission.outside_calls import NeedsAnswers, NobodyOutside
from attractor.apiserver.attempts import Attempts, Consultation
from attractor.apiserver.core import Core
from attractor.apiserver.kinds.custom.registry import PREFIX as DEFINITIONS
from attractor.apiserver.kinds.custom.status import MANAGER, plan_names
from attractor.apiserver.request.operation import Operation, WriteOptions
from attractor.apiserver.response import Response, refusal
from attractor.apiserver.transaction import Beforehand, NotYet, Transaction
from attractor.objects.errors import ApiError, InsufficientStorage, ServiceUnavailable
from attractor.store.contract import (
    Compacted,
    SpeculativeWriter,
    Stale,
    StoreFull,
    StoreUnavailable,
    Unverifiable,
)
from attractor.store.retry_queue import RetryQueue
from attractor.wire.deferred import Deferred

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from attractor.apiserver.admission.outside_calls import Outside
    from attractor.apiserver.core import Request
    from attractor.apiserver.transaction import Source
    from attractor.store.contract import Snapshot, Store

T = TypeVar("T")

_READS = frozenset({"GET", "HEAD", "get", "list", "watch"})
"""Methods and verbs that are answered from what is durable; all others may rest on writes that are on their way."""

FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class Server:
    """An API server on a store."""

    def __init__(self, store: Store, source: Source, core: Core | None = None, outside: Outside | None = None) -> None:
        self.store = store
        self.speculative: SpeculativeWriter | None = store if isinstance(store, SpeculativeWriter) else None
        """The store, if its engine commits speculatively."""
        self.source = source
        self.core = core or Core()
        self.outside = outside or NobodyOutside()
        self.pause: Callable[[], Awaitable[None]] | None = None
        """Waits a little for a controller; None when no controllers run, for then waiting is in vain."""
        self.oldest = 0
        """Versions below this one are no longer read, whether the store still has them or not."""
        self.retries = RetryQueue()

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

    # Requests

    def begin(self, request: Request) -> Response | Deferred[Response]:
        """Answer a request, at once where that is possible; every refusal is an answer with its Status."""
        answer = self._attempted_once(request)
        return answer if answer is not None else Deferred.of(self._in_full(request))

    async def handle(self, request: Request) -> Response:
        """``begin`` for whoever waits in a task; cancelling that ends the request, though not a write on its way."""
        answer = self._attempted_once(request)
        if answer is None:
            return await self._in_full(request)
        return answer if isinstance(answer, Response) else await answer

    async def perform(self, op: Operation) -> Response:
        """Carry out an operation; raises ``ApiError``."""
        return await self._answered(lambda txn: self.core.execute(op, txn), is_read=op.verb in _READS)

    def transaction(self, snapshot: Snapshot) -> Transaction:
        """A fresh transaction on a snapshot of this server's store."""
        return Transaction(snapshot, self.source, self.snapshot_at)

    async def read(self, snapshot: Snapshot, look: Callable[[Transaction], T]) -> T:
        """Evaluate ``look`` on a snapshot, calling webhooks where it needs their answers; raises ``ApiError``."""
        consultation = Consultation(self)
        while True:
            try:
                return look(consultation.transaction(snapshot))
            except NeedsAnswers as needs:
                unanswered = needs
            await consultation.answer(unanswered)

    # One attempt

    def _attempted_once(self, request: Request) -> Response | Deferred[Response] | None:
        """The answer, if one attempt that waits for nothing but the store brings it; else None: nothing was written."""
        if request.method not in _READS:
            return self._commit_speculatively(request)
        if not self.store.is_exclusive:
            return None
        try:
            return self.core.handle(request, self.transaction(self.store.snapshot_nowait()))
        except NeedsAnswers:
            return None

    def _commit_speculatively(self, request: Request) -> Response | Deferred[Response] | None:
        engine, store = self.speculative, self.store
        draft = engine.draft_nowait() if engine is not None else None
        if engine is None or draft is None:
            return None
        is_exact = store.is_exclusive
        history = self.snapshot_at if is_exact else None
        txn = Transaction(draft, self.source, history, may_wait=self.pause is not None)
        try:
            response = self.core.handle(request, txn)
        except (NeedsAnswers, NotYet, Beforehand, Unverifiable):
            return None
        if not (txn.puts or txn.deletes):
            return response if is_exact and draft.revision == store.revision else None
        if txn.pieces is not None or self.defines_kinds(txn):
            return None
        again: Callable[[Stale], Awaitable[Response]] | None = None
        if not is_exact:
            if response.shows_placeholder:
                return None
            contended = self.retries.contended(txn.puts)
            if contended is not None:  # do not take the key from those who wait for their turn at it
                retry = self.retries.spawn(self._in_turn(request, Stale([contended])))
                return Deferred(retry, partial(_written, response, retry))
            again = partial(self._again, request)
        try:
            written = engine.commit_draft(draft, puts=txn.puts, deletes=txn.deletes, again=again)
        except Stale:
            return None
        except (StoreFull, StoreUnavailable) as error:
            return refusal(_unwritten(error))
        if isinstance(written, int):
            return response.committed(written)
        return Deferred(written, partial(_written, response, written))

    # In full

    async def _in_full(self, request: Request) -> Response:
        try:
            return await self._answered(partial(self.core.handle, request), is_read=request.method in _READS)
        except ApiError as error:
            return refusal(error)

    async def _answered(self, run: Callable[[Transaction], Response], *, is_read: bool) -> Response:
        """Run as often as it takes, the second time in turn; raises ``ApiError``."""
        attempts = Attempts(self, run, is_read=is_read)
        try:
            try:
                return await attempts.answer()
            except Stale as stale:
                lost = stale
            self.retries.lost(min(lost.keys))
            return await attempts.answer_in_turn(lost)
        except (StoreFull, StoreUnavailable) as error:
            raise _unwritten(error) from error

    async def _again(self, request: Request, lost: Stale) -> Response:
        """The answer to a request whose speculative commit has lost."""
        self.retries.lost(min(lost.keys))
        return await self._in_turn(request, lost)

    async def _in_turn(self, request: Request, lost: Stale) -> Response:
        """The answer to a request that has lost, or would make others lose: run in turn."""
        try:
            return await Attempts(self, partial(self.core.handle, request), is_read=False).answer_in_turn(lost)
        except ApiError as error:
            return refusal(error)

    def defines_kinds(self, txn: Transaction) -> bool:
        """Whether a transaction writes a CustomResourceDefinition: names are then settled before it is answered."""
        for key in txn.puts:  # noqa: SIM110 - in every write's way: twice as fast as any()
            if key.startswith(DEFINITIONS):
                return True
        return False

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


def _written(response: Response, write: Any) -> Response:
    """The answer to a write whose future is done: ``response`` with its revision, or what a retry brought instead."""
    try:
        outcome = write.result()
    except (StoreFull, StoreUnavailable) as error:
        return refusal(_unwritten(error))
    return outcome if isinstance(outcome, Response) else response.committed(outcome)


def _unwritten(error: StoreFull | StoreUnavailable) -> ApiError:
    """The API error for a store that does not write."""
    if isinstance(error, StoreFull):
        return InsufficientStorage(f"nothing was written: {error}")
    return ServiceUnavailable(f"the store cannot be reached: {error}")

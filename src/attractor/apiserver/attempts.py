"""The retry loop of a request: run it, commit, and run it again until nothing has to come first and nobody was faster.

One attempt ends in a ``Response``, or in a ``Retry``: what to wait for before the next one. The loops over attempts are
here, and nowhere else; a request that can be answered in one attempt without waiting never comes here (``server``).
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from attractor.apiserver.admission.outside_calls import Answers, NeedsAnswers, RecordedSource
from attractor.apiserver.response import Response
from attractor.apiserver.transaction import Beforehand, NotYet, Transaction
from attractor.objects.errors import ApiError, Conflict, NotFound
from attractor.store.contract import Stale, Unverifiable
from attractor.wire.blocks import inside

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from attractor.apiserver.server import Server
    from attractor.store.contract import Snapshot

MAX_ATTEMPTS = 100
"""How often a request is run again when others keep being faster; each loss means that another one won."""

MAX_PAUSES = 20
"""How often a request pauses for what a controller is about to create."""


class Retry:
    """Not answered yet: run the request again after ``wait``, unless that turns out to bring the answer."""

    __slots__ = ("keeps_turn", "wait")

    def __init__(self, wait: Callable[[], Awaitable[Response | None]], *, keeps_turn: bool = False) -> None:
        self.wait = wait
        self.keeps_turn = keeps_turn
        """Whether who has the turn at a key keeps it meanwhile; else it may take as long as other requests take."""


class Attempts:
    """One request, run as often as it takes: until nobody outside has to be asked and nobody else was faster.

    Whoever has lost goes on in turn (``store.retry_queue``). A turn is held for nothing but the store: whatever may
    need another request to go on (a write whose own request may want this turn, a webhook or a controller that writes
    here, writes that come first) is waited for without it. ``attractor.check.specs.sharedwrites`` proves that nobody
    then waits for ever.
    """

    def __init__(self, server: Server, run: Callable[[Transaction], Response], *, is_read: bool) -> None:
        self._server = server
        self._run = run
        self._rests_on_durable = is_read
        """Whether it is run on a snapshot; else on a draft, which shows writes that are still on their way."""
        self._speculates = False
        """Whether it is run on ``draft_nowait`` and committed speculatively."""
        self._consultation: Consultation | None = None
        self._pauses_left = MAX_PAUSES if server.pause else 0
        self._done: set[str] = set()

    async def answer(self) -> Response:
        """The answer; raises ``Stale`` when another writer was faster, ``ApiError`` for a refusal."""
        for _ in range(MAX_ATTEMPTS):
            found = await self._attempt()
            answer = found if isinstance(found, Response) else await found.wait()
            if answer is not None:
                return answer
        raise _gave_up()

    async def answer_in_turn(self, lost: Stale) -> Response:
        """The answer of who has lost, however often others are faster; raises ``Conflict`` when that never ends."""
        self._speculates = not self._server.store.is_exclusive  # the mirror shows by now what was faster
        for _ in range(MAX_ATTEMPTS):
            found = await self._in_turn(min(lost.keys))
            answer = found if isinstance(found, Response) else await found.wait()
            if answer is None and self._rests_on_durable:
                # An answer without a write disturbs nobody, so it need not wait for the turn a second time.
                try:
                    answer = await self.answer()
                except Stale as again:
                    lost = again
            if answer is not None:
                return answer
        raise _gave_up()

    async def _in_turn(self, key: str) -> Response | Retry:
        """Attempts with the turn at a key, until one neither loses nor waits for the key to cool down."""
        return await inside(self._server.retries.turn(key), lambda _: self._with_turn(key))

    async def _with_turn(self, key: str) -> Response | Retry:
        retries, losses = self._server.retries, 0
        while losses < MAX_ATTEMPTS:
            begun_s = retries.now()
            try:
                found = await self._attempt(key)
            except Stale:
                losses += 1
                retries.lost(key)
                continue
            if isinstance(found, Response) or not found.keeps_turn:
                retries.won(begun_s)
                return found
            await found.wait()
        raise _gave_up()

    async def _attempt(self, key: str = "") -> Response | Retry:
        """Run the request once; raises as ``answer`` does. Waits for the store alone; ``key`` is that of the turn."""
        txn = await self._begin()
        txn.may_wait = self._pauses_left > 0
        txn.done = self._done
        refused: ApiError | None = None
        response: Response | None = None
        try:
            response = self._run(txn)
        except (Unverifiable, Beforehand, NotYet, NeedsAnswers) as needs:
            return self._after(needs)
        except ApiError as error:
            refused = error
        if response is None or not txn.is_dirty or response.shows_placeholder:  # then it is not settled
            if not self._rests_on_durable:
                return Retry(partial(self._settled, txn.snapshot, response, refused))
            if refused is not None:
                raise refused
            assert response is not None, "neither an answer nor a refusal"
            return response
        if key and not self._server.retries.is_cool(key):
            return Retry(partial(self._server.retries.cooled, key), keeps_turn=True)
        if self._is_speculative and txn.pieces is not None:
            self._speculates = False
            return _AT_ONCE
        response = response.committed(await self._commit(txn))
        return Retry(partial(self._name, response)) if self._server.defines_kinds(txn) else response

    def _after(self, needs: Unverifiable | Beforehand | NotYet | NeedsAnswers) -> Retry:
        """The retry that an exception of the core asks for."""
        if isinstance(needs, Unverifiable):
            self._speculates = False
            return _AT_ONCE
        if isinstance(needs, Beforehand):
            return Retry(partial(self._perform, needs))
        if isinstance(needs, NotYet):
            self._pauses_left -= 1
            return Retry(self._pause)
        if self._consultation is None:
            self._consultation = Consultation(self._server)
            return _AT_ONCE
        return Retry(partial(self._consultation.answer, needs))

    @property
    def _is_speculative(self) -> bool:
        """Whether the last transaction is to be committed speculatively."""
        return self._speculates and not self._rests_on_durable

    async def _begin(self) -> Transaction:
        """A transaction on what this attempt may rest on."""
        server, store, engine = self._server, self._server.store, self._server.speculative
        if self._consultation is not None:
            self._rests_on_durable = True
            return self._consultation.transaction(await store.snapshot())
        if self._rests_on_durable or engine is None:
            return server.transaction(await store.snapshot())
        draft = engine.draft_nowait() if self._speculates else None
        if draft is not None:
            return Transaction(draft, server.source)
        self._speculates = False
        return server.transaction(await engine.draft())

    async def _commit(self, txn: Transaction) -> int:
        """Write, all at once or piece by piece; the last revision. Raises ``Stale``, then with some pieces written."""
        store, engine, revision = self._server.store, self._server.speculative, 0
        if txn.pieces is None:
            if not self._is_speculative or engine is None:
                return await store.commit(txn.compares, puts=txn.puts, deletes=txn.deletes)
            try:
                written = engine.commit_draft(txn.snapshot, puts=txn.puts, deletes=txn.deletes)
            except Stale:
                self._speculates = False
                raise
            return written if isinstance(written, int) else await written
        keys = {key for piece in txn.pieces for key in (*piece.puts, *piece.deletes)}
        read = {key: version for key, version in txn.compares.items() if key not in keys}
        seen: dict[str, int] = {}
        for puts, deletes in txn.pieces:
            known = {key: seen.get(key, txn.compares.get(key, 0)) for key in (*puts, *deletes)}
            revision = await store.commit(read | known, puts=puts, deletes=deletes)
            seen |= dict.fromkeys(puts, revision)
        return revision

    async def _settled(self, draft: Snapshot, response: Response | None, refused: ApiError | None) -> Response | None:
        """The answer that rests on a draft, once that is durable; None when it must be found out from what is."""
        engine = self._server.speculative
        if (engine is None or await engine.settled(draft)) and not self._is_speculative:
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
        """Write what comes first; what somebody else was faster with is worked out again by the next attempt."""
        for name, op in first.operations.items():
            with suppress(Conflict, NotFound):
                await self._server.perform(op)
                self._done.add(name)


async def _nothing() -> None:
    """Wait for nothing."""


_AT_ONCE = Retry(_nothing)


def _gave_up() -> Conflict:
    return Conflict(f"gave up after {MAX_ATTEMPTS} attempts: other writers keep changing the same objects")


class Consultation:
    """The webhooks' answers that all attempts of one request share, and the times and uids that they draw.

    The attempt that finds out that there are questions is run again on a recorded source before anything is asked: only
    from then on do all attempts draw the same uids and times, so that a question, once answered, is not asked again.
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

"""A turn is held for nothing but the store: whatever else a request waits for, others may take the turn meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from attractor.apiserver.admission.outside_calls import NeedsAnswers
from attractor.apiserver.request.operation import Operation
from attractor.apiserver.response import JsonBody, Response
from attractor.apiserver.server import Server
from attractor.apiserver.transaction import Beforehand, NotYet
from attractor.store import MemoryStore, Stale
from tests.deterministic import CountingSource

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from attractor.apiserver.admission.outside_calls import Answer, Question
    from attractor.apiserver.transaction import Transaction
    from attractor.store import Snapshot

KEY = "contended"
HUNG_S = 10


class Contended(MemoryStore):
    """A store that others write to: so many commits lose at one key."""

    is_exclusive = False

    def __init__(self) -> None:
        super().__init__()
        self.losses = 0
        self.settling: Callable[[], Awaitable[None]] | None = None

    def draft_nowait(self) -> None:  # type: ignore[override]
        return None

    async def commit(
        self, compares: Mapping[str, int], *, puts: Mapping[str, bytes], deletes: Collection[str] = ()
    ) -> int:
        if self.losses:
            self.losses -= 1
            raise Stale([KEY])
        return await super().commit(compares, puts=puts, deletes=deletes)

    async def settled(self, draft: Snapshot) -> bool:
        if self.settling is not None:
            await self.settling()
        return True


class Webhooks:
    """The outside, which comes back with a write of its own before it answers."""

    def __init__(self, come_back: Callable[[], Awaitable[None]]) -> None:
        self.come_back = come_back
        self.is_answered = False

    async def answer(self, questions: Sequence[Question]) -> list[Answer]:
        await self.come_back()
        self.is_answered = True
        return []


@pytest.mark.parametrize("what", ["a controller", "a webhook", "settlement", "writes that come first"])
async def test_another_request_may_take_the_turn_while_one_that_lost_waits_for(what: str) -> None:
    store, tried = Contended(), 0
    server = Server(store, CountingSource())
    await server.start()
    came_back = asyncio.Event()

    async def come_back() -> None:
        """Another writer of the same key loses, too, and goes on in turn."""
        store.losses = 1
        await server._answered(write, is_read=False)
        came_back.set()

    def write(txn: Transaction) -> Response:
        txn.put(KEY, b"")
        return Response(200, JsonBody({}))

    def attempt(txn: Transaction) -> Response:
        nonlocal tried
        tried += 1
        if tried == 1 or came_back.is_set():
            return write(txn)
        match what:
            case "a controller":
                raise NotYet(KEY)
            case "a webhook":
                raise NeedsAnswers(())
            case "settlement":
                return Response(200, JsonBody({}))  # nothing to write, which a draft alone does not show
            case _:
                store.losses = 1
                came_back.set()
                body = {"metadata": {"name": "n"}}
                raise Beforehand({"n": Operation("create", "", "v1", "configmaps", "default", body=body)})

    server.pause = come_back
    server.outside = Webhooks(come_back)
    store.settling = come_back if what == "settlement" else None
    store.losses = 1
    async with asyncio.timeout(HUNG_S):
        answer = await server._answered(attempt, is_read=False)
    assert answer.code == 200
    assert came_back.is_set()
    server.retries.check_invariants()

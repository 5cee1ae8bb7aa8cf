"""Answers that wait for a future without a task: in order, within the time limit, and only to whoever is still there."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from attractor.httpd.limits import DEFAULT_LIMITS
from attractor.httpd.reply import Reply
from attractor.wire.deferred import Deferred
from tests.httpd.wire import connected, eventually, listening

if TYPE_CHECKING:
    from attractor.httpd.connection import Peer
    from attractor.httpd.parser import HttpRequest


class Slow:
    """A handler whose answers the test decides on."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[bytes]] = []

    def __call__(self, request: HttpRequest, peer: Peer) -> Deferred[Reply]:
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.waiting.append(future)
        return Deferred(future, lambda: Reply(200, future.result()))


async def test_an_answer_is_made_of_the_futures_result_and_the_next_request_follows() -> None:
    slow = Slow()
    async with listening(slow) as listener, connected(listener.port) as wire:
        wire.send(b"GET /1 HTTP/1.1\r\nHost: t\r\n\r\nGET /2 HTTP/1.1\r\nHost: t\r\n\r\n")
        for number in (1, 2):
            await eventually(lambda: len(slow.waiting) == number)  # noqa: B023 - called before the next round
            slow.waiting[-1].set_result(b"%d" % number)
            assert (await wire.answer()).body == b"%d" % number


async def test_a_future_that_fails_is_an_internal_error_of_that_request_alone() -> None:
    slow = Slow()
    async with listening(slow) as listener, connected(listener.port) as wire:
        wire.request("GET", "/")
        await eventually(lambda: len(slow.waiting) == 1)
        slow.waiting[0].set_exception(ZeroDivisionError("sums"))
        assert (await wire.answer()).code == 500
        wire.request("GET", "/")
        await eventually(lambda: len(slow.waiting) == 2)
        slow.waiting[1].set_result(b"well")
        assert (await wire.answer()).body == b"well"


async def test_what_is_not_answered_in_time_is_given_up() -> None:
    slow = Slow()
    limits = replace(DEFAULT_LIMITS, handling_s=0.0)
    async with listening(slow, limits) as listener, connected(listener.port) as wire:
        wire.request("GET", "/")
        assert (await wire.answer()).code == 504
        assert slow.waiting[0].cancelled()


async def test_a_client_that_goes_away_while_it_waits_takes_its_connection_with_it_and_harms_nobody_else() -> None:
    slow = Slow()
    async with listening(slow) as listener:
        async with connected(listener.port) as wire:
            wire.request("GET", "/")
            await eventually(lambda: len(slow.waiting) == 1)
        slow.waiting[0].set_result(b"nobody hears it")
        await eventually(lambda: not listener._shared.connections)
        async with connected(listener.port) as wire:
            wire.request("GET", "/")
            await eventually(lambda: len(slow.waiting) == 2)
            slow.waiting[1].set_result(b"somebody does")
            assert (await wire.answer()).body == b"somebody does"


async def test_whoever_waits_in_a_task_may_await_it() -> None:
    future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, b"done")
    assert (await Deferred(future, lambda: Reply(200, future.result()))).body == b"done"

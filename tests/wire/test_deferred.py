"""Deferred answers: made of what one future brings, changed on the way, given up together with it."""

from __future__ import annotations

import asyncio

import pytest

from attractor.wire.deferred import Deferred


def future() -> asyncio.Future[int]:
    return asyncio.get_running_loop().create_future()


async def test_an_answer_is_changed_once_it_is_there() -> None:
    ready = future()
    text = Deferred(ready, ready.result).then(lambda number: number + 1).then(str)
    ready.set_result(41)
    assert text.ready is ready, "a change waits for nothing more"
    assert text.result() == "42"
    assert await text == "42"


async def test_what_the_future_failed_with_is_for_the_answer_to_tell() -> None:
    ready = future()

    def told() -> str:
        return f"refused: {ready.exception()}"

    ready.set_exception(OSError("the disk is full"))
    assert await Deferred(ready, told) == "refused: the disk is full"
    with pytest.raises(OSError, match="the disk is full"):
        await Deferred(ready, ready.result)


async def test_whoever_stops_waiting_gives_the_answer_up() -> None:
    ready = future()

    async def wait() -> int:
        return await Deferred(ready, ready.result)

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ready.cancelled()


async def test_a_coroutine_runs_in_a_task_of_its_own_and_is_cancelled_with_who_waits() -> None:
    ended: list[str] = []

    async def work() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append("cancelled")
        return "never"

    async def wait() -> str:
        return await Deferred.of(work())

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended == ["cancelled"]


async def test_a_coroutine_answers() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    assert await Deferred.of(work()) == "done"

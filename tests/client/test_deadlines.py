"""Deadlines of requests: each is kept, and one timer is enough for all of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from attractor.client.http.deadlines import Deadlines

if TYPE_CHECKING:
    from attractor.testing import VirtualTime


class Waiting:
    """A connection of which only its end is of interest."""

    def __init__(self) -> None:
        self.expired_at: float | None = None

    def expire(self) -> None:
        self.expired_at = asyncio.get_running_loop().time()


def begun(deadlines: Deadlines, timeout_s: float) -> Any:
    connection: Any = Waiting()
    deadlines.add(connection, timeout_s)
    deadlines.check_invariants()
    return connection


async def test_each_request_ends_at_its_own_deadline(virtual_time: VirtualTime) -> None:
    deadlines, start = Deadlines(), virtual_time.time()
    late, early, between = begun(deadlines, 60), begun(deadlines, 1), begun(deadlines, 5)
    await asyncio.sleep(100)
    assert [round(one.expired_at - start) for one in (early, between, late)] == [1, 5, 60]


async def test_an_answer_in_time_is_left_alone_and_those_after_it_are_still_watched(virtual_time: VirtualTime) -> None:
    deadlines, start = Deadlines(), virtual_time.time()
    answered = begun(deadlines, 10)
    deadlines.remove(answered)
    await asyncio.sleep(5)
    lost = begun(deadlines, 10)
    await asyncio.sleep(100)
    assert answered.expired_at is None
    assert round(lost.expired_at - start) == 15


async def test_a_connection_that_is_used_again_has_the_deadline_of_its_last_request(virtual_time: VirtualTime) -> None:
    deadlines, start = Deadlines(), virtual_time.time()
    connection = begun(deadlines, 10)
    await asyncio.sleep(8)
    deadlines.remove(connection)
    deadlines.add(connection, 10)
    await asyncio.sleep(100)
    assert round(connection.expired_at - start) == 18


async def test_nothing_ends_after_close(virtual_time: VirtualTime) -> None:
    deadlines = Deadlines()
    connection = begun(deadlines, 10)
    deadlines.close()
    deadlines.check_invariants()
    await asyncio.sleep(100)
    assert connection.expired_at is None

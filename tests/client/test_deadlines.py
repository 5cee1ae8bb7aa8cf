"""Deadlines of requests: each is kept, and one timer is enough for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.client.http.deadlines import Deadlines

if TYPE_CHECKING:
    from attractor.testing import VirtualTime


class Waiting:
    """A connection of which only its end is of interest."""

    is_expired = False

    def expire(self) -> None:
        self.is_expired = True


def begun(deadlines: Deadlines, timeout_s: float) -> Any:
    connection: Any = Waiting()
    deadlines.add(connection, timeout_s)
    deadlines.check_invariants()
    return connection


async def later(deadlines: Deadlines, clock: VirtualTime, seconds: float) -> None:
    clock.jump(seconds)
    await clock.quiet()
    deadlines.check_invariants()


async def test_each_request_ends_at_its_own_deadline(virtual_time: VirtualTime) -> None:
    deadlines = Deadlines()
    requests = [begun(deadlines, timeout_s) for timeout_s in (60, 1, 5)]
    ended = []
    for seconds in (0.9, 0.2, 3.8, 0.2, 54.8, 0.2):
        await later(deadlines, virtual_time, seconds)
        ended.append([one.is_expired for one in requests])
    none, first, second, all_ = [False] * 3, [False, True, False], [False, True, True], [True] * 3
    assert ended == [none, first, first, second, second, all_]


async def test_an_answer_in_time_is_left_alone_and_those_after_it_are_still_watched(virtual_time: VirtualTime) -> None:
    deadlines = Deadlines()
    answered = begun(deadlines, 10)
    deadlines.remove(answered)
    await later(deadlines, virtual_time, 5)
    lost = begun(deadlines, 10)
    await later(deadlines, virtual_time, 9)
    assert not lost.is_expired
    await later(deadlines, virtual_time, 2)
    assert (answered.is_expired, lost.is_expired) == (False, True)


async def test_a_connection_that_is_used_again_has_the_deadline_of_its_last_request(virtual_time: VirtualTime) -> None:
    deadlines = Deadlines()
    connection = begun(deadlines, 10)
    await later(deadlines, virtual_time, 8)
    deadlines.remove(connection)
    deadlines.add(connection, 10)
    await later(deadlines, virtual_time, 9)
    assert not connection.is_expired
    await later(deadlines, virtual_time, 2)
    assert connection.is_expired


async def test_nothing_ends_after_close(virtual_time: VirtualTime) -> None:
    deadlines = Deadlines()
    connection = begun(deadlines, 10)
    deadlines.close()
    await later(deadlines, virtual_time, 100)
    assert not connection.is_expired

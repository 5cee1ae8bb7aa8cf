"""Retry queue: the losers of a race retry in order, and leave nothing behind."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from attractor.store.retry_queue import MAX_COOLDOWN_S, PATIENCE, RetryQueue


async def test_turns_at_one_key_come_one_after_the_other_in_order() -> None:
    queue, order = RetryQueue(), []

    async def take(number: int) -> None:
        async with queue.turn("k"):
            order.append(number)
            await asyncio.sleep(0)
            order.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(take(number))
    assert order == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    queue.check_invariants()
    assert not queue._turns


async def test_other_keys_do_not_wait() -> None:
    queue = RetryQueue()
    async with queue.turn("a"), queue.turn("b"):
        queue.check_invariants()
    assert not queue._turns


async def test_a_turn_ends_with_an_error_and_with_those_who_stop_waiting() -> None:
    queue = RetryQueue()

    async def fail() -> None:
        async with queue.turn("k"):
            waiting = asyncio.create_task(queue.turn("k").__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            queue.check_invariants()
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await fail()
    queue.check_invariants()
    assert not queue._turns


async def test_a_key_cools_down_after_a_loss_for_some_writes_time_and_no_longer() -> None:
    queue = RetryQueue(Random(1))
    async with queue.turn("k"):
        assert queue.is_cool("k")
        queue.lost("k")
        assert not queue.is_cool("k")
        until = queue._turns["k"].cools_until
        assert 0 < until - queue.now() <= MAX_COOLDOWN_S
        queue.lost("k")
        assert queue._turns["k"].cools_until == until, "many who lose together cool down once"
        await queue.cooled("k")
        assert queue.is_cool("k")
    queue.check_invariants()
    assert not queue._turns


async def test_keys_that_somebody_waits_for_are_known() -> None:
    queue = RetryQueue()
    assert queue.contended(["a", "b"]) is None
    async with queue.turn("b"):
        assert queue.contended(["a", "b"]) == "b"
    assert queue.contended(["a", "b"]) is None


async def test_a_cooldown_is_bounded_however_long_writes_take() -> None:
    queue = RetryQueue(Random(2))
    for _ in range(50):
        queue.won(queue.now() - 60)
    async with queue.turn("k"):
        queue.lost("k")
        assert queue._turns["k"].cools_until - queue.now() <= MAX_COOLDOWN_S


async def test_a_key_that_is_lost_again_and_again_is_claimed() -> None:
    queue, claims = RetryQueue(Random(3)), list[str]()
    queue.claim = claims.append
    async with queue.turn("k"), queue.turn("other"):
        queue.lost("other")
        for _ in range(PATIENCE - 1):
            queue.lost("k")
        assert not claims
        queue.lost("k")
        assert claims == ["k"]
        for _ in range(PATIENCE):
            queue.lost("k")
        assert claims == ["k", "k"], "who goes on losing claims again"


async def test_whoever_gives_way_lets_the_key_cool_down_and_leaves_nothing_behind() -> None:
    queue = RetryQueue(Random(4))
    queue.give_way("k")
    await asyncio.sleep(0)
    assert queue.contended(["k"]) == "k", "writers of this server wait for their turn"
    begun = queue.now()
    async with queue.turn("k"):
        assert queue.is_cool("k")
        assert queue.now() > begun
    queue.check_invariants()
    assert not queue._turns

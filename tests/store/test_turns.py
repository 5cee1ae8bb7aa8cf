"""Turns: the losers of a race try again in order, and leave nothing behind."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from attractor.store.retry_queue import MAX_REST_S, Turns


async def test_turns_at_one_key_come_one_after_the_other_in_order() -> None:
    turns, order = Turns(), []

    async def take(number: int) -> None:
        async with turns.at("k"):
            order.append(number)
            await asyncio.sleep(0)
            order.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(take(number))
    assert order == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    turns.check_invariants()
    assert not turns._turns


async def test_other_keys_do_not_wait() -> None:
    turns = Turns()
    async with turns.at("a"), turns.at("b"):
        turns.check_invariants()
    assert not turns._turns


async def test_a_turn_ends_with_an_error_and_with_those_who_stop_waiting() -> None:
    turns = Turns()

    async def fail() -> None:
        async with turns.at("k"):
            waiting = asyncio.create_task(turns.at("k").__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            turns.check_invariants()
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await fail()
    turns.check_invariants()
    assert not turns._turns


async def test_a_key_rests_after_a_loss_for_some_writes_time_and_no_longer() -> None:
    turns = Turns(Random(1))
    async with turns.at("k"):
        assert turns.is_rested("k")
        turns.lost("k")
        assert not turns.is_rested("k")
        until = turns._turns["k"].rests_until
        assert 0 < until - turns.now() <= MAX_REST_S
        turns.lost("k")
        assert turns._turns["k"].rests_until == until, "many who lose together rest once"
        await turns.rested("k")
        assert turns.is_rested("k")
    turns.check_invariants()
    assert not turns._turns


async def test_keys_that_somebody_waits_for_are_known() -> None:
    turns = Turns()
    assert turns.is_wanted(["a", "b"]) is None
    async with turns.at("b"):
        assert turns.is_wanted(["a", "b"]) == "b"
    assert turns.is_wanted(["a", "b"]) is None


async def test_a_rest_is_bounded_however_long_writes_take() -> None:
    turns = Turns(Random(2))
    for _ in range(50):
        turns.won(turns.now() - 60)
    async with turns.at("k"):
        turns.lost("k")
        assert turns._turns["k"].rests_until - turns.now() <= MAX_REST_S

"""Turns: the losers of a race try again in order, and leave nothing behind."""

from __future__ import annotations

import asyncio

import pytest

from attractor.store.turns import Turns


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
    assert not turns._locks


async def test_other_keys_do_not_wait() -> None:
    turns = Turns()
    async with turns.at("a"), turns.at("b"):
        turns.check_invariants()
    assert not turns._locks


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
    assert not turns._locks

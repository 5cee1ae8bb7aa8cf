"""Code that cannot be checked is refused, with the place and the way out."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
import uuid
from typing import Any

import pytest

from attractor import Context, Key, Reconciler, Result, controller
from attractor.check import SpecError, check
from attractor.check.world import Faults, World
from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta
from tests.check.world.pairs import Pair, pair

SEEN: list[str] = []


def refused(one: Any, **options: Any) -> str:
    with pytest.raises(SpecError) as raised:
        check(World([one], [pair()], **options))
    return str(raised.value)


@controller(for_=Pair)
async def sleeps(ctx: Context, key: Key) -> None:
    """Waits for something that is no effect."""
    await ctx.find(Pair, key)
    await asyncio.get_running_loop().create_future()


def test_awaiting_anything_but_the_context_is_refused_with_the_line() -> None:
    text = refused(sleeps)
    assert "test_checked_code.py:" in text
    assert "ask the context instead" in text


async def test_it_is_refused_inside_an_event_loop_too() -> None:
    assert "ask the context instead" in refused(sleeps)


async def _named(ctx: Context, name: str) -> None:
    await ctx.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))


@controller(for_=Pair)
async def by_random(ctx: Context, key: Key) -> None:
    """Chooses a name at random."""
    await _named(ctx, f"{key.name}-{random.randrange(10**9)}")


@controller(for_=Pair)
async def by_uuid(ctx: Context, key: Key) -> None:
    """Makes a name up."""
    await _named(ctx, f"{key.name}-{uuid.uuid4()}")


@controller(for_=Pair)
async def by_time(ctx: Context, key: Key) -> None:
    """Asks the machine for the time."""
    await _named(ctx, f"{key.name}-{time.time_ns()}")


@controller(for_=Pair)
async def by_address(ctx: Context, key: Key) -> None:
    """Depends on where an object lies in memory."""
    await _named(ctx, f"{key.name}-{id(object())}-{id(ctx)}")


@pytest.mark.parametrize("one", [by_random, by_uuid, by_time, by_address])
def test_what_does_not_depend_on_answers_only_is_refused_with_the_line(one: Any) -> None:
    text = refused(one)
    assert "test_checked_code.py:" in text
    assert "it must depend on its answers only" in text


class Counts(Reconciler[Pair]):
    """Counts in an attribute."""

    kind = Pair
    finalizer = None

    def __init__(self) -> None:
        self.runs = 0

    async def sync(self, ctx: Context, obj: Pair) -> Result | None:
        self.runs += 1
        return None


@controller(for_=Pair)
async def remembers(ctx: Context, key: Key) -> None:
    """Keeps what it saw in a global variable."""
    SEEN.append(key.name)
    await ctx.find(Pair, key)


@pytest.mark.parametrize("one", [controller(Counts(), for_=Pair), remembers])
def test_memory_outside_the_context_is_refused(one: Any) -> None:
    text = refused(one)
    assert "changes an attribute of its controller, or a global variable" in text
    assert "ctx.remember" in text


@controller(for_=Pair)
async def never_ends(ctx: Context, key: Key) -> None:
    """Counts for ever."""
    for number in itertools.count():
        await ctx.find(ConfigMap, Key(key.namespace, f"{key.name}-{number}"))


def test_a_reconcile_that_does_not_end_is_refused_with_the_line() -> None:
    text = refused(never_ends)
    assert "test_checked_code.py:" in text
    assert "does not end; return a Result(requeue_after_s=...)" in text


@controller(for_=Pair)
async def polls(ctx: Context, key: Key) -> None:
    """Waits inside the reconcile until something is there."""
    while await ctx.find(ConfigMap, key, cached=False) is None:
        pass


def test_a_reconcile_that_waits_in_a_loop_is_no_progress() -> None:
    """It comes back to the same state, so it is explored; nothing is written, so it is quiet, and never done."""
    assert check(World([polls], [pair()], faults=Faults(crash=1))).verdict == "holds"


@controller(for_=Pair)
async def talks(ctx: Context, key: Key) -> None:
    """Tells people what it does."""
    ctx.log.warning("looking", at=str(key))
    await ctx.find(Pair, key)
    ctx.log.bind(after="looking").error("looked")


def test_the_log_of_a_checked_reconcile_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    check(World([talks], [pair()], faults=Faults(crash=1))).assert_holds()
    assert caplog.messages == []

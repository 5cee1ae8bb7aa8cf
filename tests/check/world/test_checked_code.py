"""Code that cannot be checked is refused, with the place and the way out."""

from __future__ import annotations

import asyncio
import cmd
import contextlib
import io
import itertools
import os
import random
import re
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from attractor import Context, Key, Reconciler, Result, controller
from attractor.check import (
    Bounds,
    Edit,
    Faults,
    SpecError,
    Verdict,
    World,
    WorldState,
    always,
    always_step,
    check,
    eventually_stable,
    sometimes,
)
from attractor.check.report.story_builder import story_of
from attractor.check.sandbox import watchdog
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta
from tests.check.world.pairs import KEY, Pair, pair

SEEN: list[str] = []


def refused(one: Any, **options: Any) -> str:
    with pytest.raises(SpecError) as raised:
        check(World(controllers=[one], objects=[pair()], **options))
    return str(raised.value)


@controller(for_=Pair)
async def sleeps(ctx: Context, key: Key) -> None:
    """Waits for something that is no effect."""
    await ctx.find(Pair, key)
    await asyncio.get_running_loop().create_future()


def test_awaiting_anything_but_the_context_is_refused_with_the_line() -> None:
    text = refused(sleeps)
    assert "test_checked_code.py:" in text
    assert "uses `loop.create_future`; under check a reconcile runs alone" in text


async def test_it_is_refused_inside_an_event_loop_too() -> None:
    assert "uses `loop.create_future`" in refused(sleeps)


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


@pytest.mark.parametrize(
    ("one", "instead"),
    [(by_random, "derive it"), (by_uuid, "derive it"), (by_time, "`await ctx.now()`"), (by_address, "compare names")],
)
def test_what_does_not_depend_on_answers_only_is_refused_with_the_line(one: Any, instead: str) -> None:
    text = refused(one)
    assert re.search(r"test_checked_code\.py:\d+ ", text)
    assert instead in text


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


def within(verdict: Verdict) -> str:
    """The bounds that the verdict names, each with the way out."""
    return "; ".join(f"{each.text}: {each.raise_hint}" for each in verdict.binding)


def test_a_reconcile_that_asks_for_ever_is_followed_up_to_a_bound_that_the_verdict_names_with_the_line() -> None:
    verdict = check(World(controllers=[never_ends], objects=[pair()]))
    assert (verdict.verdict, verdict.distinct) == ("holds within", 203)
    assert re.search(r"200 answers of one reconcile of never-ends, .* at .*test_checked_code\.py:\d+", within(verdict))
    assert "return Result(requeue_after_s=...) there" in within(verdict)
    assert check(World(controllers=[never_ends], objects=[pair()], bounds=Bounds(answers=20))).distinct == 23


@controller(for_=Pair)
async def tells_the_time(ctx: Context, key: Key) -> None:
    """Asks for ever for what nobody else can notice."""
    while True:
        await ctx.now()


def test_a_reconcile_that_asks_for_ever_within_one_step_is_followed_up_to_the_bound_too() -> None:
    assert "200 answers of one reconcile of tells-the-time" in within(
        check(World(controllers=[tells_the_time], objects=[pair()]))
    )


@controller(for_=Pair)
async def polls(ctx: Context, key: Key) -> None:
    """Waits inside the reconcile until something is there."""
    while await ctx.find(ConfigMap, key, cached=False) is None:
        pass


def test_a_reconcile_that_waits_in_a_loop_is_followed_up_to_the_bound() -> None:
    verdict = check(World(controllers=[polls], objects=[pair()], faults=Faults(crash=1)))
    assert (verdict.verdict, verdict["quiesces"].vacuous is not None) == ("holds within", True)
    assert "200 answers of one reconcile of polls" in within(verdict)


@controller(for_=Pair)
async def waits_for_news(ctx: Context, key: Key) -> None:
    """Waits inside the reconcile until somebody has acted."""
    while (found := await ctx.find(Pair, key, cached=False)) is not None and found.spec.text != "news":
        pass


def test_a_wait_that_is_cut_off_at_the_bound_is_no_run_that_breaks_a_promise() -> None:
    news = Edit(Pair, KEY, spec=[{"text": "news"}])
    verdict = check(World(controllers=[waits_for_news], objects=[pair()], users=[news], bounds=Bounds(answers=5)))
    assert verdict["quiesces"].verdict == "holds within"
    assert "5 answers of one reconcile of waits-for-news" in within(verdict)


@controller(for_=Pair)
async def talks(ctx: Context, key: Key) -> None:
    """Tells people what it does."""
    ctx.log.warning("looking", at=str(key))
    await ctx.find(Pair, key)
    ctx.log.bind(after="looking").error("looked")


def test_the_log_of_a_checked_reconcile_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    check(World(controllers=[talks], objects=[pair()], faults=Faults(crash=1))).assert_holds()
    assert caplog.messages == []


def _spin(step: int) -> int:
    number = 1
    while number:
        number += step
    return number


@controller(for_=Pair)
async def computes(ctx: Context, key: Key) -> None:
    """Never comes back from a computation, and catches what it can."""
    await ctx.find(Pair, key)
    with contextlib.suppress(Exception):
        _spin(1)


def test_a_reconcile_that_computes_for_ever_is_refused_with_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LIMIT_S", 0.2)
    text = refused(computes)
    first = _spin.__code__.co_firstlineno
    assert text.startswith(tuple(f"{__file__}:{first + line}:" for line in (2, 3)))
    assert "computes for ever here, or at least for 0.2 s of processor time" in text


def test_what_is_checked_after_a_loop_was_stopped_is_left_in_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LIMIT_S", 0.05)
    refused(computes)
    began = time.process_time()
    while time.process_time() - began < 0.3:
        check(World(controllers=[talks], objects=[pair()])).assert_holds()


TRACED = """
import sys
from attractor.check.sandbox import watchdog as endless

def spin():
    while True:
        pass

def goes_on():
    return "on"

endless.LIMIT_S = 0.05
sys.settrace(lambda frame, event, arg: None)
try:
    endless.with_watch(spin)
except endless.Endless:
    print(goes_on())
"""


def test_what_runs_after_a_loop_was_stopped_goes_on_where_a_tracer_looks() -> None:
    done = subprocess.run([sys.executable, "-c", TRACED], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "on\n"


def names(owner: str) -> set[str]:
    return {f"{owner}-{letter}" for letter in "abc"}


def _joined(names: Any) -> str:
    return ",".join(names)


async def _note(ctx: Context, text: str) -> None:
    await ctx.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"text": text}))


@controller(for_=Pair)
async def loops(ctx: Context, key: Key) -> None:
    for name in names(key.name):
        await _named(ctx, name)


@controller(for_=Pair)
async def asks_together(ctx: Context, key: Key) -> None:
    await ctx.gather(*(ctx.find(ConfigMap, Key("default", name)) for name in names(key.name)))


@controller(for_=Pair)
async def takes_the_first(ctx: Context, key: Key) -> None:
    await _note(ctx, next(iter(names(key.name))))


@controller(for_=Pair)
async def takes_any(ctx: Context, key: Key) -> None:
    await _note(ctx, names(key.name).pop())


@controller(for_=Pair)
async def unpacks(ctx: Context, key: Key) -> None:
    first, *_ = names(key.name)
    await _note(ctx, first)


@controller(for_=Pair)
async def joins_elsewhere(ctx: Context, key: Key) -> None:
    await _note(ctx, _joined(names(key.name)))


@controller(for_=Pair)
async def writes_it_down(ctx: Context, key: Key) -> None:
    await _note(ctx, f"these: {names(key.name)}")


@controller(for_=Pair)
async def sorts_by_length(ctx: Context, key: Key) -> None:
    await _note(ctx, ",".join(sorted(names(key.name), key=len)))


@controller(for_=Pair)
async def comes_again_by_chance(ctx: Context, key: Key) -> Result | None:
    await ctx.find(Pair, key)
    either = min(names(key.name) - {f"{key.name}-c"}, key=len)
    return Result(requeue_after_s=1) if either.endswith("a") else None


class Looks(Reconciler[Pair]):
    """Loops over the keys that one dict has and another has not."""

    kind = Pair
    finalizer = None

    async def sync(self, ctx: Context, obj: Pair) -> Result | None:
        for name in {"a": 1, "b": 2, "c": 3}.keys() - {"d"}:
            await ctx.find(ConfigMap, Key("default", name))
        return None


async def _work(ctx: Context) -> None:
    for name in names("a"):
        await ctx.find(ConfigMap, Key("default", name))


@controller(for_=Pair)
async def in_the_background(ctx: Context, key: Key) -> None:
    await ctx.start(_work)


@pytest.mark.parametrize(
    "one",
    [
        *(loops, asks_together, takes_the_first, takes_any, unpacks, joins_elsewhere, writes_it_down, sorts_by_length),
        *(comes_again_by_chance, controller(Looks(), for_=Pair), in_the_background),
    ],
    ids=lambda one: one.name,
)
def test_what_depends_on_the_order_of_a_set_is_refused_with_the_line_and_the_way_out(one: Any) -> None:
    text = refused(one)
    line = int(text.removeprefix(f"{__file__}:").partition(":")[0])
    source = Path(__file__).read_text().splitlines()[line - 1]
    assert "names(" in source or "join(names)" in source or "keys()" in source
    assert "depends on the order of a set, which is another one in each process" in text
    assert "as in `sorted(...)`" in text


@controller(for_=Pair)
async def in_order(ctx: Context, key: Key) -> None:
    """Uses sets in all the ways that do not matter."""
    wanted = names(key.name)
    found = {number: str(number) for number in {3, 1, 2}}
    count = sum(len(name) for name in wanted) + len({*wanted, *found.values()})
    for name in sorted(wanted):
        if name in wanted and await ctx.find(ConfigMap, Key("default", name)) is None:
            await _named(ctx, name)
    if await ctx.find(ConfigMap, Key("default", "sum")) is None:
        await _named(ctx, "sum" if count and not wanted - set(names(key.name)) else "none")
    wanted.pop()


def test_sets_whose_order_does_not_matter_are_fine() -> None:
    check(World(controllers=[in_order], objects=[pair()])).assert_holds()


def test_a_set_is_refused_in_every_process_alike() -> None:
    """Whatever the order of a set is here, another one is tried, so the answer does not depend on luck."""
    code = (
        "from attractor.check import SpecError, check\n"
        "from attractor.check import World\n"
        "from tests.check.world.pairs import pair\n"
        "from tests.check.world.test_checked_code import loops\n"
        "try:\n    check(World(controllers=[loops], objects=[pair()]))\n"
        "except SpecError as refused:\n    print(str(refused).partition(' (here')[0])\n"
    )
    root = Path(__file__).parents[3]
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=root,
            text=True,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert "depends on the order of a set" in said.pop()


@controller(for_=Pair)
async def mistypes(ctx: Context, key: Key) -> None:
    """Puts a number where a text belongs."""
    found = await ctx.get(Pair, key)
    found.metadata.labels["n"] = 5  # type: ignore[assignment]
    await ctx.update(found)


def test_an_object_that_does_not_fit_its_type_is_refused_with_the_line() -> None:
    text = refused(mistypes)
    assert "test_checked_code.py:" in text
    assert "hands over what does not fit its type: Pair default/a: expected `str`, got `int`" in text


async def bare(ctx: Context, key: Key) -> None:
    """Is not declared."""


def test_a_bare_function_is_no_controller_and_no_property() -> None:
    assert "bare is no controller; declare it with @controller(for_=...)" in refused(bare)
    assert "bare is no property; say what it claims, as in eventually_stable(bare)" in refused(
        sleeps, properties=[bare]
    )


def test_a_budget_below_zero_is_refused() -> None:
    assert "crash=-1 is no budget" in refused(sleeps, faults=Faults(crash=-1))
    assert "crash={'host1': -1} is no budget" in refused(sleeps, faults=Faults(crash={"host1": -1}))


@controller(for_=Pair)
async def mistaken(ctx: Context, key: Key) -> None:
    """Calls what is not there."""
    await ctx.findd(Pair, key)  # type: ignore[attr-defined]


async def returning(ctx: Context, key: Key) -> Any:
    """Answers nonsense."""
    return 5


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (mistaken, "raises AttributeError: 'CheckedContext' object has no attribute 'findd', again after a while"),
        (
            controller(returning, for_=Pair),
            "raises TypeError: the reconcile returned 5; return None, or a Result, again",
        ),
    ],
)
def test_a_trace_says_which_mistake_a_reconcile_made(one: Any, text: str) -> None:
    world = World(controllers=[one], objects=[pair()], properties=[eventually_stable(lambda look: not look.list(Pair))])
    trace = check(world).assert_violated("eventually stable")
    assert any(text in step.title for step in story_of(world, trace).steps)


async def claimed(look: WorldState) -> bool:
    """Would always count as true."""
    return False


@pytest.mark.parametrize("claim", [eventually_stable, always, sometimes, always_step])
def test_a_claim_that_would_always_count_as_true_is_refused(claim: Any) -> None:
    with pytest.raises(
        SpecError, match=r"`claimed` cannot be (a claim|part of a specification): it is `async` or yields"
    ):
        claim(claimed)


def _asks() -> None:
    input("Shall I? ")


def _starts() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


def _connects() -> None:
    urllib.request.urlopen("http://127.0.0.1:9/")


@pytest.mark.parametrize(
    ("waits", "what"),
    [
        (lambda: time.sleep(0), "sleeps; no time passes under check"),
        (lambda: sleep(0), "sleeps; no time passes under check"),
        (_asks, "waits for input"),
        (_starts, "starts a process"),
        (_connects, "uses the network"),
    ],
)
def test_a_reconcile_that_waits_outside_its_context_is_refused_with_the_line(waits: Any, what: str) -> None:
    async def reconcile(ctx: Context, key: Key) -> None:
        await ctx.find(Pair, key)
        with contextlib.suppress(Exception):
            waits()

    text = refused(controller(reconcile, name="waits", for_=Pair))
    first = waits.__code__.co_firstlineno
    assert text.startswith(tuple(f"{__file__}:{first + line} {what}" for line in (0, 1)))


def test_a_claim_that_waits_is_refused_too() -> None:
    def slept(_: WorldState) -> bool:
        time.sleep(0)
        return True

    assert "sleeps" in refused(talks, properties=[always(slept)])


class Shell(cmd.Cmd):
    """What debuggers are built on: it asks for a command with `input`, from the library's own code."""

    def do_end(self, _: str) -> bool:
        return True


def test_a_debugger_may_ask_in_the_middle_of_a_reconcile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("end\n" * 1000))

    @controller(for_=Pair)
    async def debugged(ctx: Context, key: Key) -> None:
        await ctx.find(Pair, key)
        Shell(stdout=io.StringIO()).cmdloop()

    check(World(controllers=[debugged], objects=[pair()])).assert_holds()


def test_whoever_checks_may_sleep_before_and_after() -> None:
    check(World(controllers=[talks], objects=[pair()])).assert_holds()
    sleep(0)
    time.sleep(0)

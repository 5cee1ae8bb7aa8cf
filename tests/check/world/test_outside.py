"""Nothing from outside: whatever code under check asks of the machine is refused at its line, in every run."""

from __future__ import annotations

import copy
import cProfile
import datetime as dt
import hashlib
import logging
import os
import pstats
import random
import secrets
import socket
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from attractor import Context, Index, Key, Watches, controller
from attractor.check import Edit, Faults, SpecError, World, always, always_step, check
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta
from tests.check.world.pairs import KEY, Pair, pair, pairs

if TYPE_CHECKING:
    from collections.abc import Callable

EDIT = Edit(Pair, KEY, spec=[{"text": "y"}])
TIME, LUCK, PLACE, FILES = "asks for the time", "takes a random value", "looks at its surroundings", "uses files"

ASKING: list[tuple[Callable[[], Any], str]] = [
    (time.time, TIME),
    (lambda: time.time() and None, TIME),
    (lambda: time.monotonic_ns() and None, TIME),
    (lambda: dt.datetime.now() and None, TIME),
    (lambda: dt.datetime.now(dt.UTC), TIME),
    (lambda: dt.datetime.utcnow() and None, TIME),
    (lambda: dt.date.today() and None, TIME),
    (lambda: random.random() < 0, LUCK),
    (lambda: random.choice([1]), LUCK),
    (lambda: random.shuffle([1]), LUCK),
    (lambda: random.Random().random() < 0, LUCK),
    (lambda: random.SystemRandom().choice([1]), LUCK),
    (lambda: secrets.token_hex(0), LUCK),
    (lambda: secrets.choice([1]), LUCK),
    (lambda: uuid.uuid4().version, LUCK),
    (lambda: os.urandom(0), LUCK),
    (lambda: os.environ.get("HOME"), PLACE),
    (lambda: os.environ["PATH"], PLACE),
    (lambda: "PATH" in os.environ, PLACE),
    (lambda: os.getenv("NOWHERE"), PLACE),
    (lambda: dict(os.environ) and None, PLACE),
    (lambda: os.getpid() and None, PLACE),
    (lambda: socket.gethostname() and None, PLACE),
    (lambda: threading.get_ident() and None, PLACE),
    (lambda: threading.current_thread().name, PLACE),
    (lambda: hash("text") and None, "asks for a hash"),
    (lambda: id(KEY) and None, "asks for the id"),
    (lambda: open(__file__).close(), FILES),
    (lambda: Path(__file__).exists(), FILES),
    (lambda: Path(__file__).read_text()[:0], FILES),
    (lambda: os.listdir("/")[:0], FILES),
    (lambda: os.path.exists("/"), FILES),
]


def refused(world: World) -> str:
    with pytest.raises(SpecError) as raised:
        check(world)
    return str(raised.value)


@pytest.mark.parametrize(("ask", "says"), ASKING)
def test_a_reconcile_that_asks_the_outside_is_refused_although_nothing_comes_of_it(ask: Any, says: str) -> None:
    async def reconcile(ctx: Context, key: Key) -> None:
        await ctx.find(Pair, key)
        ask()

    said = refused(World(controllers=[controller(for_=Pair)(reconcile)], objects=[pair()]))
    assert says in said
    assert "test_outside.py:" in said


async def works(ctx: Context) -> None:
    await ctx.find(Pair, ctx.key)
    time.time()


async def starts(ctx: Context, key: Key) -> None:
    await ctx.start(works)


async def looks(ctx: Context, key: Key) -> None:
    await ctx.find(Pair, key)
    await ctx.list(Pair, index=("text", "x"))


def late(_: Any) -> bool:
    return time.time() > 0


class Bank(Protocol):
    async def pay(self) -> int: ...


class Lucky:
    """Answers by luck, now and then."""

    def pay(self) -> int:
        return 1 if random.random() < 1e-9 else 0


async def pays(ctx: Context, key: Key) -> None:
    await ctx.external(Bank).pay()


pays_by_luck = controller(for_=Pair, externals=[Bank])(pays)


def _world(reconcile: Any, properties: Any = (), externals: Any = None, **options: Any) -> World:
    return World(
        controllers=[controller(for_=Pair, **options)(reconcile)],
        objects=[pair()],
        users=[EDIT],
        faults=None,
        properties=properties,
        externals=externals,
    )


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: _world(starts), TIME),
        (lambda: World(controllers=[pays_by_luck], objects=[pair()], externals={Bank: Lucky()}), LUCK),
        (lambda: _world(looks_plainly, [always(late)]), TIME),
        (lambda: _world(looks_plainly, [always_step(lambda before, after: late(before), name="late")]), TIME),
        (
            lambda: _world(looks, indexes=[Index(Pair, "text", lambda found: [found.spec.text[: int(time.time())]])]),
            TIME,
        ),
        (lambda: _world(looks_plainly, watches=[Watches(ConfigMap, lambda _: [KEY] if late(_) else [])]), TIME),
    ],
    ids=["background work", "model", "property", "property of steps", "index", "map function"],
)
def test_all_code_of_the_author_is_watched(made: Any, says: str) -> None:
    said = refused(made())
    assert says in said
    assert "test_outside.py:" in said


async def looks_plainly(ctx: Context, key: Key) -> None:
    if await ctx.find(ConfigMap, key) is None:
        await ctx.create(ConfigMap(metadata=ObjectMeta(name=key.name, namespace=key.namespace)))


@dataclass(frozen=True)
class Held:
    name: str
    parts: list[str] = field(default_factory=list, compare=False)

    def __hash__(self) -> int:
        return hash(self.name)


async def uses_what_asks_for_nobody(ctx: Context, key: Key) -> None:
    """Logging, copies, hashes in sets, seeded numbers and digests."""
    logging.getLogger("tests").debug("at %s", key)
    held = {Held("a"): 1, Held("b"): 2}
    copy.deepcopy(held)
    repr(Held("a"))
    luck = random.Random(str(key))
    luck.choice([1, 2, 3])
    luck.random()
    hashlib.sha256(key.name.encode()).hexdigest()
    dt.datetime(2026, 1, 1, tzinfo=dt.UTC).astimezone(dt.UTC).isoformat()
    uuid.uuid5(uuid.NAMESPACE_DNS, key.name)
    await ctx.find(Pair, key)


def test_what_asks_on_nobodys_behalf_is_let_through() -> None:
    check(
        World(
            controllers=[controller(for_=Pair)(uses_what_asks_for_nobody)],
            objects=[pair()],
            users=[EDIT],
            faults=Faults(crash=1),
        )
    ).assert_holds()


def test_a_check_may_be_profiled_and_the_profiler_goes_on_after_it() -> None:
    profile = cProfile.Profile()
    with profile:
        verdict = check(World(controllers=[pairs], objects=[pair()]))
        marked_for_the_profiler()
    assert verdict.verdict in {"holds", "holds within"}
    called = {name for _, _, name in pstats.Stats(profile).stats}  # type: ignore[attr-defined]
    assert "marked_for_the_profiler" in called


def marked_for_the_profiler() -> None:
    """Is called after the check."""

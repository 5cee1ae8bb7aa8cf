"""``kill -9`` under a write load: nothing acknowledged is lost, nothing half-written shows, watches go on without a gap."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random

import pytest

from attractor.testing import eventually
from tests.faults.load import OBJECTS, TOKENS, Counter, Ledger, Watcher, Writer, ask, found, state_of
from tests.serving import Serving
from tests.store.etcdserver import EtcdServer

pytestmark = pytest.mark.slow
WRITERS = 6


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Addresses of durable stores; etcd is started only for those who ask."""
    with ExitStack() as stack:

        class Lazy(dict[str, str]):
            def __missing__(self, engine: str) -> str:
                if engine == "sqlite":
                    return f"sqlite:{tmp_path / 'cluster.db'}"
                etcd = EtcdServer(tmp_path / "etcd").start()
                stack.callback(etcd.kill)
                return f"etcd:{etcd.endpoint}"

        yield Lazy()


def server_on(store: str, directory: Path) -> Serving:
    tokens = directory.parent / "tokens.csv"
    tokens.write_text(TOKENS)
    return Serving(directory, "--store", store, "--token-file", str(tokens))


async def load_until_killed(
    server: Serving, writers: list[Writer], ledger: Ledger, watcher: Watcher, rng: Random
) -> None:
    """Writers at work, a watcher beside them, and a kill at a random moment after the first answers."""
    before = len(ledger.versions)
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(watcher.run(server))
        for writer in writers:
            group.create_task(writer.run(server))
        await eventually(lambda: len(ledger.versions) > before, within_s=60)
        await asyncio.wait([watching], timeout=rng.uniform(0.02, 0.5))
        server.kill()


@pytest.mark.parametrize(
    ("engine", "kills"),
    [("sqlite", 20), ("etcd", 3), pytest.param("sqlite", 1000, marks=[pytest.mark.nightly, pytest.mark.timeout(7200)])],
)
async def test_nothing_acknowledged_is_lost_and_watches_resume_without_a_gap(
    stores: dict[str, str], tmp_path: Path, engine: str, kills: int
) -> None:
    rng = Random(f"kill {engine} {kills}")
    ledger, watcher = Ledger(), Watcher()
    writers = [Writer(number, ledger, rng) for number in range(WRITERS)]
    server = server_on(stores[engine], tmp_path / "server").start()
    try:
        await watcher.list(server)  # whatever is written from here on must be told
        for _ in range(kills):
            await load_until_killed(server, writers, ledger, watcher, rng)
            server.start()
            ledger.check(await found(server))
        marker = {"metadata": {"name": "marker", "labels": {"load": ""}}, "data": {"first": "0", "last": "0"}}
        assert (await ask(server, "POST", OBJECTS, marker)).code == 201
        await watcher.run(server, until="marker")
        assert watcher.state == await found(server)
        if watcher.lists == 1:
            missed = ledger.versions - watcher.seen
            assert not missed, f"the watcher was never told of {sorted(missed)[:10]}"
        assert await asyncio.to_thread(server.stop) == 0
        assert "Traceback" not in server.log, server.log
    finally:
        server.kill()


async def test_two_servers_on_one_etcd_are_one_cluster_and_killing_one_loses_nothing(
    stores: dict[str, str], tmp_path: Path
) -> None:
    rng = Random("two servers")
    ledger, watcher = Ledger(), Watcher()
    store = stores["etcd"]
    first, second = server_on(store, tmp_path / "first"), server_on(store, tmp_path / "second")
    try:
        first.start()
        second.start()
        await watcher.list(second)
        await watcher.run(second, until=await written(first, "hello"))
        writers = [Writer(number, ledger, rng) for number in range(WRITERS)]
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watcher.run(second, until="goodbye"))
            load = [group.create_task(writer.run(first)) for writer in writers]
            await asyncio.wait([watching], timeout=0.8)
            first.kill()
            await asyncio.wait(load)
            ledger.known |= {name: state for name, state in (await found(second)).items() if name == "hello"}
            ledger.check(await found(second))
            await written(second, "goodbye")
        assert watcher.lists == 1
        assert watcher.state == await found(second)
        assert not ledger.versions - watcher.seen
        assert len(ledger.versions) > WRITERS
    finally:
        first.kill()
        second.kill()


@pytest.mark.parametrize(
    "kills", [5, pytest.param(200, marks=[pytest.mark.nightly, pytest.mark.timeout(3600)])], ids=str
)
async def test_two_servers_on_one_etcd_lose_nothing_and_never_hang_while_one_after_the_other_is_killed(
    stores: dict[str, str], tmp_path: Path, kills: int
) -> None:
    rng = Random(f"two servers, {kills} kills")
    ledger, watcher, counter = Ledger(), Watcher(), Counter()
    store = stores["etcd"]
    servers = [server_on(store, tmp_path / name) for name in ("first", "second")]
    writers = [Writer(number, ledger, rng) for number in range(WRITERS)]
    try:
        for server in servers:
            server.start()
        await counter.create(servers[0])
        await watcher.list(servers[0])
        for kill in range(kills):
            victim, survivor = rng.sample(servers, 2)
            stop = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                for number, writer in enumerate(writers):
                    group.create_task(writer.run(servers[number % 2], stop))
                    group.create_task(counter.run(servers[number % 2], stop))
                await eventually(partial(counter.is_beyond, counter.acknowledged), within_s=60)
                await asyncio.wait([group.create_task(stop.wait())], timeout=rng.uniform(0.02, 0.5))
                victim.kill()
                await eventually(partial(counter.is_beyond, counter.acknowledged + 3), within_s=60)
                stop.set()
            victim.start()
            marker = await written(survivor, f"marker{kill}", ledger)
            await watcher.run(survivor, until=marker)
            assert watcher.state == await found(victim)
            ledger.check(await found(victim))
            await counter.check(rng.choice(servers))
        assert watcher.lists == 1
        assert not ledger.versions - watcher.seen
        for server in servers:
            assert "Traceback" not in server.log, server.log
    finally:
        for server in servers:
            server.kill()


async def written(server: Serving, name: str, ledger: Ledger | None = None) -> str:
    made = {"metadata": {"name": name, "labels": {"load": ""}}, "data": {"first": "0", "last": "0"}}
    answer = await ask(server, "POST", OBJECTS, made)
    assert answer.code == 201
    if ledger is not None:
        ledger.known[name] = state_of(answer.json)
    return name

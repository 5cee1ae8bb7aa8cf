"""What only etcd can get wrong: lost connections, lost history, other processes, credentials."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import urllib.request
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from attractor.store.contract import (
    Compacted,
    Event,
    FutureRevision,
    Stale,
    StoreFull,
    StoreUnavailable,
    StoreUnusable,
    TooLarge,
)
from attractor.store.etcd import EtcdOptions, EtcdStore
from attractor.store.etcd.layout import PLACES
from tests.store.etcdserver import EtcdServer, free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Proxy:
    """A way to an etcd that can be cut."""

    def __init__(self, target: str) -> None:
        self._target = target.split(":")
        self._port = free_port()
        self.endpoint = f"127.0.0.1:{self._port}"
        self._server: asyncio.Server | None = None
        self._pipes: set[asyncio.Task[None]] = set()
        self.accepted = asyncio.Event()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)

    async def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        for pipe in tuple(self._pipes):
            pipe.cancel()
        if self._pipes:
            await asyncio.wait(self._pipes)
        await self._server.wait_closed()
        self.accepted.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted.set()
        far_reader, far_writer = await asyncio.open_connection(self._target[0], int(self._target[1]))
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            pipe = asyncio.create_task(self._copy(source, sink))
            self._pipes.add(pipe)
            pipe.add_done_callback(self._pipes.discard)

    @staticmethod
    async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        except ConnectionError:
            pass
        finally:
            sink.transport.abort()


class Stores:
    """Stores of one test, closed at its end."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._opened: list[EtcdStore] = []

    async def open(self, *endpoints: str, prefix: str, timeout_s: float = 20, **limits: int) -> EtcdStore:
        options = EtcdOptions(endpoints=endpoints or (self.endpoint,), prefix=prefix, timeout_s=timeout_s)
        store = await EtcdStore.open(options, **limits)
        self._opened.append(store)
        return store

    async def aclose(self) -> None:
        for store in self._opened:
            await store.aclose()
            store.check_invariants()


@pytest_asyncio.fixture(loop_scope="session")
async def stores(etcd_server: EtcdServer) -> AsyncIterator[Stores]:
    stores = Stores(etcd_server.endpoint)
    yield stores
    await stores.aclose()


@pytest_asyncio.fixture(loop_scope="session")
async def proxy(etcd_server: EtcdServer) -> AsyncIterator[Proxy]:
    proxy = Proxy(etcd_server.endpoint)
    await proxy.start()
    yield proxy
    await proxy.cut()


async def test_a_snapshot_shows_what_another_server_has_acknowledged(stores: Stores) -> None:
    one = await stores.open(prefix="/two-servers/")
    two = await stores.open(prefix="/two-servers/")
    for number in range(50):
        await one.commit({}, puts={"a": b"%d" % number})
        entry = (await two.snapshot()).get("a")
        assert entry is not None
        assert entry.value == b"%d" % number
        assert one.revision == two.revision


async def test_a_snapshot_is_linearizable_while_others_write_outside_our_prefix(stores: Stores) -> None:
    one = await stores.open(prefix="/inside/")
    other = await stores.open(prefix="/outside/")
    await one.commit({}, puts={"a": b"1"})
    revision = one.revision
    for number in range(20):
        await other.commit({}, puts={"b": b"%d" % number})
        assert (await one.snapshot()).revision == revision
    late = await stores.open(prefix="/inside/")
    assert late.revision == revision, "servers that start later count alike"
    assert await one.commit({}, puts={"a": b"2"}) > revision + 20


async def test_concurrent_snapshots_share_one_read_of_etcd(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await stores.open(prefix="/shared/")
    connection = store._connected.result()
    reads = 0
    read = connection.range

    async def counted(request: object) -> object:
        nonlocal reads
        reads += 1
        return await read(request)  # type: ignore[arg-type]

    monkeypatch.setattr(type(connection), "range", lambda _, request: counted(request))
    async with asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(store.snapshot())
    assert reads <= 2


async def test_two_servers_increment_one_counter_without_losing_any(stores: Stores) -> None:
    servers = [await stores.open(prefix="/counter/") for _ in range(2)]

    async def increment(store: EtcdStore) -> None:
        done = 0
        while done < 10:
            entry = store.snapshot_nowait().get("n")
            try:
                await store.commit(
                    {"n": entry.revision if entry else 0}, puts={"n": b"%d" % (int(entry.value) + 1 if entry else 1)}
                )
                done += 1
            except Stale:
                continue

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(increment(servers[number % 2]))
    entry = (await servers[0].snapshot()).get("n")
    assert entry is not None
    assert entry.value == b"80"


async def test_a_delete_is_decided_by_etcd_and_not_by_a_mirror_that_lags(stores: Stores) -> None:
    one = await stores.open(prefix="/lag/")
    two = await stores.open(prefix="/lag/")
    for _ in range(20):
        created = await one.commit({}, puts={"a": b""})
        assert await two.commit({}, puts={}, deletes={"a"}) == created + PLACES
        assert (await one.snapshot()).get("a") is None


async def test_a_write_with_another_tool_is_seen_by_watch(stores: Stores, etcd_server: EtcdServer) -> None:
    store = await stores.open(prefix="/tool/")
    async with store.watch("", after=store.revision) as batches:
        command = ["etcdctl", "--endpoints", etcd_server.url, "put", "/tool/a", "by hand"]
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL)
        assert await process.wait() == 0
        event = (await anext(batches)).events[0]
        assert (event.key, event.value, event.previous) == ("a", b"by hand", None)
    await store.commit({"a": event.revision}, puts={}, deletes={"a"})


async def test_a_watch_resumes_without_gap_or_duplicate_after_the_connection_was_cut(
    stores: Stores, proxy: Proxy
) -> None:
    watcher = await stores.open(proxy.endpoint, prefix="/cut/")
    direct = await stores.open(prefix="/cut/")
    written = [await direct.commit({}, puts={"a": b""})]
    seen: list[Event] = []
    async with watcher.watch("", after=0) as batches:
        for _ in range(3):
            await proxy.cut()
            written += [await direct.commit({}, puts={"a": b"%d" % n}) for n in range(20)]
            await proxy.start()
            written.append(await direct.commit({}, puts={"a": b"end"}))
            while not seen or seen[-1].revision < written[-1]:
                seen += (await anext(batches)).events
    assert [event.revision for event in seen] == written


async def test_a_watch_that_missed_compacted_history_is_told(stores: Stores, proxy: Proxy) -> None:
    watcher = await stores.open(proxy.endpoint, prefix="/missed/")
    direct = await stores.open(prefix="/missed/")
    before = await direct.commit({}, puts={"a": b"1", "b": b"1"})
    await watcher.snapshot()
    async with watcher.watch("", after=before) as batches:
        waiting = asyncio.create_task(anext(batches))
        await asyncio.sleep(0)
        await proxy.cut()
        await direct.commit({}, puts={"a": b"2"}, deletes={"b"})
        last = await direct.commit({}, puts={"a": b"3"})
        await direct.compact(last)
        await proxy.start()
        with pytest.raises(Compacted) as gone:
            await waiting
    assert gone.value.oldest == last
    assert watcher.snapshot_nowait().range("") == direct.snapshot_nowait().range("")


async def test_a_watch_goes_on_when_only_the_history_of_others_was_compacted(stores: Stores, proxy: Proxy) -> None:
    watcher = await stores.open(proxy.endpoint, prefix="/calm/")
    direct = await stores.open(prefix="/calm/")
    other = await stores.open(prefix="/busy/")
    before = await direct.commit({}, puts={"a": b"1"})
    await watcher.snapshot()
    async with watcher.watch("", after=before) as batches:
        waiting = asyncio.create_task(anext(batches))
        await asyncio.sleep(0)
        await proxy.cut()
        for number in range(10):
            await other.commit({}, puts={"b": b"%d" % number})
        await other.compact(other.revision)
        await proxy.start()
        await proxy.accepted.wait()
        after = await direct.commit({}, puts={"a": b"2"})
        batch = await waiting
    assert [event.revision for event in batch.events] == [after]


async def test_history_reaches_back_to_the_compaction_of_etcd_after_a_restart(stores: Stores) -> None:
    store = await stores.open(prefix="/past/")
    revisions = [await store.commit({}, puts={"a": b"%d" % n}) for n in range(50)]
    await store.compact(revisions[20])
    again = await stores.open(prefix="/past/")
    assert again.compacted == revisions[20]
    assert [event.revision for event in again.events_after("", revisions[20]).events] == revisions[21:]
    assert again.snapshot_at(revisions[30]).range("")[0].value == b"30"


async def test_a_revision_that_another_server_wrote_can_be_watched_from_at_once(stores: Stores, proxy: Proxy) -> None:
    lagging = await stores.open(proxy.endpoint, prefix="/ahead/")
    direct = await stores.open(prefix="/ahead/")
    await proxy.cut()
    revision = await direct.commit({}, puts={"a": b""})
    await proxy.start()
    async with lagging.watch("", after=revision):
        assert lagging.revision == revision
    with pytest.raises(FutureRevision):
        async with lagging.watch("", after=revision + 1000):
            pass


async def test_listing_takes_as_many_pages_as_it_needs(stores: Stores) -> None:
    store = await stores.open(prefix="/pages/")
    for start in range(0, 1200, 100):
        await store.commit({}, puts={f"k{n:04}": b"%d" % n for n in range(start, start + 100)})
    again = await stores.open(prefix="/pages/", history_limit=1)
    assert again.snapshot_nowait().range("") == store.snapshot_nowait().range("")
    assert again.snapshot_nowait().count("") == 1200


async def test_a_transaction_that_etcd_finds_too_large_is_refused_as_such(stores: Stores) -> None:
    store = await stores.open(prefix="/large/")
    with pytest.raises(TooLarge, match="nothing was written"):
        await store.commit({}, puts={f"k{n}": b"" for n in range(200)})
    for size in (1_600_000, 5_000_000):
        with pytest.raises(TooLarge, match="nothing was written"):
            await store.commit({}, puts={"a": bytes(size)})
    assert store.snapshot_nowait().count("") == 0


async def test_a_mirror_that_dies_is_told_to_every_caller(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await stores.open(prefix="/died/", timeout_s=1)
    rival = await stores.open(prefix="/died/")
    monkeypatch.setattr(store, "_publish", lambda _: 1 / 0)
    async with store.watch("", after=store.revision):
        await rival.commit({}, puts={"a": b""})
        assert store._mirror is not None
        await asyncio.wait([store._mirror])
        for call in (store.snapshot(), store.commit({}, puts={"a": b""})):
            with pytest.raises(StoreUnavailable, match="mirror has died"):
                await call


# Servers of their own


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[EtcdServer]:
    server = EtcdServer(tmp_path / "own").start()
    yield server
    server.kill()


@pytest.mark.slow
async def test_nothing_acknowledged_is_lost_and_watches_go_on_after_etcd_is_killed(
    own_server: EtcdServer, stores: Stores
) -> None:
    store = await stores.open(own_server.endpoint, prefix="/p/", timeout_s=10)
    acknowledged: dict[str, int] = {}
    seen: list[Event] = []

    async def write(writer: int, stop: asyncio.Event) -> None:
        number = 0
        while not stop.is_set():
            key = f"{writer}-{number}"
            number += 1
            try:
                acknowledged[key] = await store.commit({}, puts={f"left/{key}": b"", f"right/{key}": b""})
            except StoreUnavailable:
                continue  # unknown: it may be there

    async with store.watch("", after=store.revision) as batches:
        for _ in range(3):
            goal = len(acknowledged) + 100
            stop = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                for writer in range(4):
                    group.create_task(write(len(acknowledged) + writer, stop))
                while len(acknowledged) < goal:
                    seen += (await anext(batches)).events
                own_server.kill()
                stop.set()
                await asyncio.to_thread(own_server.start)
            last = await store.commit({}, puts={"round": b""})
            while seen[-1].revision < last:
                seen += (await anext(batches)).events
    snapshot = await store.snapshot()
    for key, revision in acknowledged.items():
        for side in ("left", "right"):
            entry = snapshot.get(f"{side}/{key}")
            assert entry is not None
            assert entry.revision == revision
    assert snapshot.count("left/") == snapshot.count("right/")
    revisions = sorted({event.revision for event in seen})
    rounds = sorted({revision // PLACES for revision in revisions})
    assert rounds == list(range(rounds[0], rounds[-1] + 1)), "a gap or a foreign event"
    keys = [(event.revision, event.key) for event in seen]
    assert len(keys) == len(set(keys)), "an event came twice"
    assert {f"left/{key}" for key in acknowledged} <= {event.key for event in seen}


@pytest.mark.slow
async def test_reads_go_on_and_writes_fail_clearly_while_etcd_is_away(own_server: EtcdServer, stores: Stores) -> None:
    store = await stores.open(own_server.endpoint, prefix="/p/", timeout_s=1)
    revision = await store.commit({}, puts={"a": b"1"})
    own_server.kill()
    with pytest.raises(StoreUnavailable, match=f"{own_server.endpoint} .*check that it runs"):
        await store.commit({}, puts={"a": b"2"})
    with pytest.raises(StoreUnavailable):
        await store.snapshot()
    assert store.snapshot_nowait().range("")[0].value == b"1"
    assert store.snapshot_at(revision).count("") == 1
    store.check_invariants()


async def test_a_store_that_cannot_be_reached_says_where_it_looked() -> None:
    options = EtcdOptions(endpoints=(f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"), timeout_s=0.3)
    with pytest.raises(StoreUnavailable, match=", ".join(options.endpoints)):
        await EtcdStore.open(options)


async def test_the_next_endpoint_takes_over_when_one_is_lost(etcd_server: EtcdServer, stores: Stores) -> None:
    proxies = [Proxy(etcd_server.endpoint) for _ in range(2)]
    for proxy in proxies:
        await proxy.start()
    store = await stores.open(*(proxy.endpoint for proxy in proxies), prefix="/failover/")
    first = await store.commit({}, puts={"a": b"1"})
    async with store.watch("", after=first) as batches:
        await proxies[0].cut()
        await proxies[1].accepted.wait()
        second = await store.commit({}, puts={"a": b"2"})
        assert [event.revision for event in (await anext(batches)).events] == [second]
    await store.aclose()
    await proxies[1].cut()


@pytest.mark.slow
async def test_an_etcd_without_space_refuses_writes_and_reads_go_on(tmp_path: Path, stores: Stores) -> None:
    server = EtcdServer(tmp_path / "small", "--quota-backend-bytes", "200000").start()
    try:
        store = await stores.open(server.endpoint, prefix="/p/")

        async def fill() -> None:
            for _ in range(2_000):  # etcd looks at its size only every now and then
                await store.commit({}, puts={"a": bytes(50_000)})

        with pytest.raises(StoreFull, match="no space left"):
            await fill()
        assert store.snapshot_nowait().count("") == 1
        assert (await store.snapshot()).count("") == 1
    finally:
        await stores.aclose()
        server.kill()


@pytest.mark.slow
async def test_an_etcd_that_was_restored_to_an_older_state_is_read_anew(tmp_path: Path, stores: Stores) -> None:
    server = EtcdServer(tmp_path / "data").start()
    store = await stores.open(server.endpoint, prefix="/p/")
    await store.commit({}, puts={"a": b"1"})
    server.kill()
    shutil.copytree(tmp_path / "data", tmp_path / "backup")
    server.start()
    await store.snapshot()
    for number in range(5):
        last = await store.commit({}, puts={"a": b"%d" % number})
    server.kill()
    shutil.rmtree(tmp_path / "data")
    shutil.copytree(tmp_path / "backup", tmp_path / "data")
    async with store.watch("", after=last) as batches:
        waiting = asyncio.create_task(anext(batches))
        server.start()
        with pytest.raises(FutureRevision):
            await waiting
    assert [entry.value for entry in (await store.snapshot()).range("")] == [b"1"]
    await stores.aclose()
    server.kill()


# Credentials


def openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    for name in ("ca", "rogue"):
        new = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        openssl(directory, "req", *new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    (directory / "extensions").write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
    for name in ("server", "client"):
        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}"]
        openssl(directory, "req", *new, "-keyout", f"{name}.key", "-out", f"{name}.csr")
        sign = ["-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"]
        openssl(directory, "x509", *sign, "-extfile", "extensions", "-out", f"{name}.pem")
    return directory


@pytest.fixture(scope="module")
def tls_server(certificates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    flags = ["--cert-file", "server.pem", "--key-file", "server.key", "--trusted-ca-file", "ca.pem"]
    flags = [str(certificates / flag) if "." in flag else flag for flag in flags]
    server = EtcdServer(tmp_path_factory.mktemp("tls"), *flags, "--client-cert-auth", scheme="https").start()
    yield server
    server.kill()


async def test_tls_with_a_client_certificate(tls_server: EtcdServer, certificates: Path) -> None:
    options = EtcdOptions(
        endpoints=(tls_server.endpoint,),
        ca=certificates / "ca.pem",
        cert=certificates / "client.pem",
        key=certificates / "client.key",
        timeout_s=20,
    )
    store = await EtcdStore.open(options)
    revision = await store.commit({}, puts={"a": b"secret"})
    assert (await store.snapshot()).revision == revision
    await store.aclose()


@pytest.mark.parametrize(("ca", "client"), [("rogue.pem", "client"), ("ca.pem", None), (None, None)])
async def test_tls_without_the_right_certificates_is_refused(
    tls_server: EtcdServer, certificates: Path, ca: str | None, client: str | None
) -> None:
    options = EtcdOptions(
        endpoints=(tls_server.endpoint,),
        ca=certificates / ca if ca else None,
        cert=certificates / f"{client}.pem" if client else None,
        key=certificates / f"{client}.key" if client else None,
        timeout_s=0.5,
    )
    with pytest.raises(StoreUnavailable, match=tls_server.endpoint):
        await EtcdStore.open(options)


def post(server: EtcdServer, path: str, **body: object) -> None:
    request = urllib.request.Request(f"{server.url}/v3/auth/{path}", json.dumps(body).encode())
    urllib.request.urlopen(request).close()


@pytest.fixture
def server_with_users(tmp_path: Path) -> Iterator[EtcdServer]:
    server = EtcdServer(tmp_path / "users").start()
    post(server, "user/add", name="root", password="root")
    post(server, "role/add", name="root")
    post(server, "user/grant", user="root", role="root")
    for name, first, last in (("ours", "L3Av", "L3Aw"), ("others", "L3Ev", "L3Ew")):  # /p/ to /p0, /q/ to /q0
        post(server, "user/add", name=name, password="sesame")
        post(server, "role/add", name=name)
        post(server, "user/grant", user=name, role=name)
        post(server, "role/grant", name=name, perm={"permType": "READWRITE", "key": first, "range_end": last})
    post(server, "enable")
    yield server
    server.kill()


@pytest.mark.slow
async def test_user_and_password_open_the_store_and_expired_tokens_are_renewed(server_with_users: EtcdServer) -> None:
    endpoints = (server_with_users.endpoint,)
    options = EtcdOptions(endpoints=endpoints, prefix="/p/", user="ours", password="sesame", timeout_s=10)
    store = await EtcdStore.open(options)
    await store.commit({}, puts={"a": b"1"})
    server_with_users.kill()  # and with it every token
    server_with_users.start()
    await store.snapshot()
    await store.commit({}, puts={"a": b"2"})
    assert (await store.snapshot()).range("")[0].value == b"2"
    store._connected.result()._metadata = (("token", "expired.1"),)
    await store.commit({}, puts={"a": b"3"})
    await store.aclose()
    for user, password, text in (
        ("ours", "wrong", "authentication failed"),
        ("nobody", "x", "authentication failed"),
        ("others", "sesame", "permission denied"),
        ("", "", "user name is empty"),
    ):
        options = EtcdOptions(endpoints=endpoints, prefix="/p/", user=user, password=password, timeout_s=10)
        with pytest.raises(StoreUnusable, match=text):
            await EtcdStore.open(options)

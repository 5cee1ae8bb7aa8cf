"""Writes on an engine that others write to: tried on what this server knows, and right whatever others do."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import orjson
import pytest

from attractor.apiserver.admission.chain import DEFAULT_CHAIN
from attractor.apiserver.core import Core, Request
from attractor.apiserver.server import Server
from attractor.store.contract import Claimant
from attractor.store.etcd import EtcdOptions, EtcdStore
from attractor.store.etcd.connection import Connection
from tests.apiserver.conftest import CONFIGMAPS
from tests.apiserver.test_durable_writes import MERGE, WRITERS, Counting, creation
from tests.deterministic import CountingSource
from tests.store.etcdserver import EtcdServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from attractor.objects.json_types import JsonObject

OBJECT = f"{CONFIGMAPS}/c"


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    server = EtcdServer(tmp_path_factory.mktemp("etcd")).start()
    yield server
    server.kill()


@asynccontextmanager
async def serving(etcd: EtcdServer, prefix: str) -> AsyncIterator[tuple[Server, Counting]]:
    counting = Counting()
    store = await EtcdStore.open(EtcdOptions(endpoints=(etcd.endpoint,), prefix=prefix, timeout_s=20))
    server = Server(store, CountingSource(), Core((*DEFAULT_CHAIN, counting)))
    await server.start()
    yield server, counting
    await store.aclose()
    store.check_invariants()


def patch(data: JsonObject) -> Request:
    return Request("PATCH", OBJECT, {}, orjson.dumps({"data": data}), MERGE)


async def found(server: Server) -> JsonObject:
    return (await server.handle(Request("GET", OBJECT))).json()


async def test_writers_of_one_object_are_run_once_and_sent_once(
    etcd: EtcdServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(etcd, "/once/") as (server, counting):
        await server.handle(creation())
        calls: list[str] = []
        send = Connection._block

        def counted(connection: Connection, path: str, timeout_s: float | None) -> bytes:
            calls.append(path)
            return send(connection, path, timeout_s)

        monkeypatch.setattr(Connection, "_block", counted)
        counting.runs = 0
        answers = await asyncio.gather(*(server.handle(patch({f"k{n}": "v"})) for n in range(WRITERS)))
        assert {answer.code for answer in answers} == {200}
        assert len({answer.json()["metadata"]["resourceVersion"] for answer in answers}) == WRITERS
        assert counting.runs == WRITERS
        assert calls == ["KV/Txn"] * WRITERS
        assert (await found(server))["data"] == {f"k{n}": "v" for n in range(WRITERS)}


async def test_answers_without_a_write_tell_durable_versions_while_others_write(etcd: EtcdServer) -> None:
    async with serving(etcd, "/answers/") as (server, _):
        created = (await server.handle(creation())).json()
        outdated = Request("PUT", OBJECT, {}, orjson.dumps({**created, "data": {"lost": "x"}}), "application/json")
        copied = b'[{"op":"copy","from":"/metadata/resourceVersion","path":"/data/version"}]'
        requests = [patch({"n": "0"})]
        for number in range(10):
            requests += [
                patch({"n": str(number)}),
                patch({}),
                outdated,
                Request("PATCH", OBJECT, {}, copied, "application/json-patch+json"),
                Request("PATCH", f"{CONFIGMAPS}/missing", {}, b"{}", MERGE),
            ]
        answers = [answer.json() for answer in await asyncio.gather(*map(server.handle, requests))]
        objects = [answer for answer in answers if answer["kind"] == "ConfigMap"]
        assert len(objects) == 31
        versions = [int(one["metadata"]["resourceVersion"]) for one in objects]
        versions += [int(one["data"]["version"]) for one in objects if "version" in one["data"]]
        assert min(versions) >= int(created["metadata"]["resourceVersion"])
        assert sorted(answer["code"] for answer in answers if answer["kind"] == "Status") == [404] * 10 + [409] * 10


async def test_the_last_finalizer_of_an_object_that_is_being_written_is_answered_with_its_version(
    etcd: EtcdServer,
) -> None:
    async with serving(etcd, "/finalizer/") as (server, _):
        body = orjson.dumps({"metadata": {"name": "c", "finalizers": ["example.org/f"]}})
        created = (await server.handle(Request("POST", CONFIGMAPS, {}, body, "application/json"))).json()
        await server.handle(Request("DELETE", OBJECT))
        last = Request("PATCH", OBJECT, {}, b'{"metadata":{"finalizers":null}}', MERGE)
        patched, removed = await asyncio.gather(server.handle(patch({"k": "v"})), server.handle(last))
        assert (patched.code, removed.code) == (200, 200)
        assert int(removed.json()["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])
        assert (await server.handle(Request("GET", OBJECT))).code == 404


async def test_patches_through_two_servers_are_all_there(etcd: EtcdServer) -> None:
    async with serving(etcd, "/both/") as (one, _), serving(etcd, "/both/") as (other, _):
        await one.handle(creation())
        patches = [(server, f"{name}{n}") for n in range(WRITERS) for name, server in (("a", one), ("b", other))]
        answers = await asyncio.gather(*(server.handle(patch({key: "v"})) for server, key in patches))
        assert {answer.code for answer in answers} == {200}
        assert len({answer.json()["metadata"]["resourceVersion"] for answer in answers}) == 2 * WRITERS
        assert (await found(one))["data"] == {key: "v" for _, key in patches}


async def test_what_another_server_was_told_holds_for_the_next_write_here(etcd: EtcdServer) -> None:
    async with serving(etcd, "/told/") as (one, _), serving(etcd, "/told/") as (other, _):
        for number in range(10):
            created = await one.handle(creation(n=str(number)))
            assert created.code == 201
            assert (await other.handle(patch({"m": "1"}))).json()["data"] == {"n": str(number), "m": "1"}
            assert (await one.handle(Request("DELETE", OBJECT))).code == 200
            assert (await other.handle(patch({"m": "2"}))).code == 404
            assert (await other.handle(creation())).code == 201
            assert (await one.handle(creation())).code == 409
            assert (await one.handle(Request("DELETE", OBJECT))).code == 200


async def test_increments_through_two_servers_neither_hang_nor_get_lost(etcd: EtcdServer) -> None:
    each = 15

    async def increment(server: Server) -> None:
        done = 0
        while done < each:
            shown = await found(server)
            shown["data"]["n"] = str(int(shown["data"]["n"]) + 1)
            answer = await server.handle(Request("PUT", OBJECT, {}, orjson.dumps(shown), "application/json"))
            assert answer.code in {200, 409}, answer.json()
            done += answer.code == 200

    async with serving(etcd, "/increments/") as (one, _), serving(etcd, "/increments/") as (other, _):
        await one.handle(creation(n="0"))
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for server in (one, one, other, other):
                group.create_task(increment(server))
        assert (await found(one))["data"] == {"n": str(4 * each)}
        one.retries.check_invariants()
        assert not one.retries._turns


async def test_a_server_that_would_always_lose_is_given_way(etcd: EtcdServer) -> None:
    """One server's writes follow each other without a pause; the other writes now and then, and is never refused."""
    async with serving(etcd, "/way/") as (busy, _), serving(etcd, "/way/") as (quiet, _):
        for server in (busy, quiet):
            assert isinstance(server.store, Claimant)
            server.store.claimed, server.retries.claim = server.retries.give_way, server.store.claim
        await busy.handle(creation())
        stop = asyncio.Event()

        async def write(number: int) -> None:
            while not stop.is_set():
                assert (await busy.handle(patch({f"busy{number}": "v"}))).code == 200

        async with asyncio.TaskGroup() as group:
            for number in range(WRITERS):
                group.create_task(write(number))
            for number in range(10):
                assert (await quiet.handle(patch({"quiet": str(number)}))).code == 200
            stop.set()
        assert (await found(busy))["data"]["quiet"] == "9"
        for server in (busy, quiet):
            server.retries.check_invariants()


async def test_the_runs_of_a_contended_key_grow_with_its_writers_not_with_their_square(etcd: EtcdServer) -> None:
    async with serving(etcd, "/runs/") as (one, counted), serving(etcd, "/runs/") as (other, also):
        await one.handle(creation())
        counted.runs = also.runs = 0
        patches = [(server, f"{name}{n}") for n in range(WRITERS) for name, server in (("a", one), ("b", other))]
        answers = await asyncio.gather(*(server.handle(patch({key: "v"})) for server, key in patches))
        assert {answer.code for answer in answers} == {200}
        assert counted.runs + also.runs < 8 * len(patches)

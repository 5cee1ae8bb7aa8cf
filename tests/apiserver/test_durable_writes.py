"""Writes on a durable store: they rest on those before them, and answer once what they saw is durable."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import orjson

from attractor.apiserver.admission.chain import DEFAULT_CHAIN
from attractor.apiserver.admission.plugin import Attributes, Plugin
from attractor.apiserver.core import Core, Request
from attractor.apiserver.server import Server
from attractor.store.sqlite import SqliteStore
from tests.apiserver.conftest import CONFIGMAPS
from tests.deterministic import CountingSource

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = 50
MERGE = "application/merge-patch+json"


class Counting(Plugin):
    """Counts how often a write is run."""

    def __init__(self) -> None:
        self.runs = 0

    def admit(self, attributes: Attributes) -> None:
        self.runs += 1


async def serving(path: Path) -> tuple[Server, Counting]:
    counting = Counting()
    server = Server(SqliteStore(path / "store.db"), CountingSource(), Core((*DEFAULT_CHAIN, counting)))
    await server.start()
    return server, counting


def creation(**data: str) -> Request:
    body = orjson.dumps({"metadata": {"name": "c"}, "data": data})
    return Request("POST", CONFIGMAPS, {}, body, "application/json")


async def test_writers_of_one_object_follow_each_other_without_a_second_attempt(tmp_path: Path) -> None:
    server, counting = await serving(tmp_path)
    await server.handle(creation())
    counting.runs = 0
    patches = [
        Request("PATCH", f"{CONFIGMAPS}/c", {}, b'{"data":{"k%d":"v"}}' % number, MERGE) for number in range(WRITERS)
    ]
    answers = await asyncio.gather(*map(server.handle, patches))
    assert {answer.code for answer in answers} == {200}
    assert counting.runs == WRITERS
    found = (await server.handle(Request("GET", f"{CONFIGMAPS}/c"))).json()
    assert found["data"] == {f"k{number}": "v" for number in range(WRITERS)}
    await server.store.aclose()


async def test_a_refusal_is_answered_once_what_it_rests_on_is_durable(tmp_path: Path) -> None:
    server, _ = await serving(tmp_path)
    order: list[int] = []

    async def write() -> None:
        order.append((await server.handle(creation())).code)

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        group.create_task(write())
    assert order == [201, 409]
    await server.store.aclose()


async def test_a_refusal_that_rests_on_a_failed_write_is_never_told(tmp_path: Path) -> None:
    server, counting = await serving(tmp_path)
    store = server.store
    assert isinstance(store, SqliteStore)
    store._file._db.pragma("max_page_count", store._file._db.pragma("page_count"))
    counting.runs = 0
    first = asyncio.create_task(server.handle(creation(big="x" * 500_000)))
    await asyncio.sleep(0)
    second = asyncio.create_task(server.handle(creation()))
    await asyncio.wait([first, second])
    assert first.result().code == 507
    assert second.result().code in {201, 507}
    assert counting.runs == 4, "one for the first; for the second one without waiting, one that waits, one afterwards"
    await store.aclose()


async def test_reads_show_nothing_that_is_not_durable(tmp_path: Path) -> None:
    server, _ = await serving(tmp_path)
    writing = asyncio.create_task(server.handle(creation()))
    await asyncio.sleep(0)
    assert (await server.handle(Request("GET", f"{CONFIGMAPS}/c"))).code == 404
    assert (await writing).code == 201
    assert (await server.handle(Request("GET", f"{CONFIGMAPS}/c"))).code == 200
    await server.store.aclose()

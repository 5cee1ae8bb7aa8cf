"""Reading from a version that does not exist yet: watches wait for it, though not for ever."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import pytest

from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from attractor.httpd.limits import DEFAULT_LIMITS
from tests.httpd.api import CONFIGMAPS, HttpApi
from tests.httpd.conftest import TOKENS
from tests.httpd.wire import connected, eventually

Patient = Callable[[float], AbstractAsyncContextManager[tuple[EmbeddedCluster, HttpApi]]]


@pytest.fixture
def patient() -> Patient:
    @asynccontextmanager
    async def served(future_s: float) -> AsyncIterator[tuple[EmbeddedCluster, HttpApi]]:
        limits = replace(DEFAULT_LIMITS, future_s=future_s)
        async with EmbeddedCluster(controllers=(), authenticator=Authenticator(TOKENS), limits=limits) as cluster:
            yield cluster, HttpApi((await cluster.listen()).port)

    return served


async def test_a_watch_from_the_future_is_told_what_comes_after_its_version_and_nothing_before(
    patient: Patient,
) -> None:
    async with patient(3600) as (cluster, api), api.watch(f"resourceVersion={cluster.store.revision + 2}") as watch:
        for name in "abcd":
            await api.create(name)
        assert [(await watch.event())["object"]["metadata"]["name"] for _ in range(2)] == ["c", "d"]


async def test_a_version_that_is_reached_elsewhere_ends_the_wait_too(patient: Patient) -> None:
    async with patient(3600) as (cluster, api), api.watch(f"resourceVersion={cluster.store.revision + 1}") as watch:
        await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
        router = cluster._router
        assert router is not None
        await eventually(lambda: router._hub.streams == 1)
        await api.create("a")
        assert (await watch.event())["object"]["metadata"]["name"] == "a"


async def test_a_version_that_does_not_come_is_too_large_and_the_connection_stays(patient: Patient) -> None:
    async with patient(0.01) as (cluster, api), connected(api.port) as wire:
        ahead = cluster.store.revision + 1000
        wire.request("GET", f"{CONFIGMAPS}?watch=1&resourceVersion={ahead}", **api.headers())
        assert (await wire.head())[0] == 200
        told = await wire.event()
        assert (told["type"], told["object"]["code"], told["object"]["reason"]) == ("ERROR", 504, "Timeout")
        assert told["object"]["message"] == f"Timeout: Too large resource version: {ahead}, current: {ahead - 1000}"
        assert [cause["reason"] for cause in told["object"]["details"]["causes"]] == ["ResourceVersionTooLarge"]
        assert await wire.event() is None
        wire.request("GET", "/livez", **api.headers())
        assert (await wire.answer()).code == 200


async def test_a_watch_whose_time_is_over_while_it_waits_ends_without_a_word(patient: Patient) -> None:
    async with patient(3600) as (_, api), api.watch("resourceVersion=1000000&timeoutSeconds=1") as watch:
        assert await watch.event() is None


async def test_initial_events_from_the_future_are_those_of_a_state_that_has_it(patient: Patient) -> None:
    async with patient(3600) as (cluster, api):
        query = f"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion={cluster.store.revision + 1}"
        async with api.watch(f"{query}&allowWatchBookmarks=true") as watch:
            await api.create("a")
            assert [(await watch.event())["type"] for _ in range(2)] == ["ADDED", "BOOKMARK"]


async def test_who_goes_while_waiting_leaves_nothing_behind(patient: Patient) -> None:
    async with patient(3600) as (cluster, api):
        by_length = cluster.store._subscriptions._by_length  # type: ignore[attr-defined]
        before = len(by_length[0][""])
        async with api.watch("resourceVersion=1000000"):
            await eventually(lambda: len(by_length[0][""]) == before + 1)
        await eventually(lambda: len(by_length[0][""]) == before)


async def test_stopping_ends_waiting_watches_with_a_clean_last_chunk(patient: Patient) -> None:
    async with patient(3600) as (cluster, api), api.watch("resourceVersion=1000000") as watch:
        await cluster.__aexit__(None, None, None)
        assert await watch.event() is None
        assert await watch.rest() == b""


@pytest.mark.parametrize(
    ("query", "retry_after"),
    [
        ("", "1"),
        ("&resourceVersionMatch=NotOlderThan&limit=2", "1"),
        ("&resourceVersionMatch=Exact", None),
        ("&limit=2", None),
    ],
)
async def test_a_list_from_the_future_asks_to_come_back_unless_it_is_of_exactly_that_version(
    api: HttpApi, query: str, retry_after: str | None
) -> None:
    answer = await api.get(f"{CONFIGMAPS}?resourceVersion=1000000{query}")
    assert (answer.code, answer.headers.get("retry-after")) == (504, retry_after)
    assert answer.json["details"].get("retryAfterSeconds") == (int(retry_after) if retry_after else None)

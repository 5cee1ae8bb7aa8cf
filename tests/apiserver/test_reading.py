"""Get, list and watch: snapshots, pages, selectors, events."""

import base64
import json

import pytest

from attractor.apiserver.core import Request
from attractor.apiserver.verbs.watch import Watch, WatchEvent
from attractor.store.memory import MemoryStore
from tests.apiserver.conftest import CONFIGMAPS, WIDGETS, Api


async def test_pages_come_from_one_snapshot_whatever_happens_meanwhile(api: Api) -> None:
    for name in "abcde":
        await api.create(CONFIGMAPS, name)
    first = await api.get(f"{CONFIGMAPS}?limit=2")
    assert first.names == ["a", "b"]
    assert first.metadata["remainingItemCount"] == 3
    await api.delete(f"{CONFIGMAPS}/d")
    await api.create(CONFIGMAPS, "bb")
    second = await api.get(f"{CONFIGMAPS}?limit=2&continue={first.metadata['continue']}")
    third = await api.get(f"{CONFIGMAPS}?limit=2&continue={second.metadata['continue']}")
    assert second.names + third.names == ["c", "d", "e"]
    assert "continue" not in third.metadata
    assert first.version == second.version == third.version


async def test_pages_with_a_selector_hold_only_what_matches(api: Api) -> None:
    for number in range(6):
        await api.create(CONFIGMAPS, f"c{number}", metadata={"labels": {"odd": str(number % 2)}})
    first = await api.get(f"{CONFIGMAPS}?limit=2&labelSelector=odd%3D1")
    assert first.names == ["c1", "c3"]
    rest = await api.get(f"{CONFIGMAPS}?limit=2&labelSelector=odd%3D1&continue={first.metadata['continue']}")
    assert rest.names == ["c5"]


async def test_page_of_a_compacted_snapshot_is_expired(api: Api) -> None:
    for name in "abc":
        await api.create(CONFIGMAPS, name)
    first = await api.get(f"{CONFIGMAPS}?limit=1")
    await api.create(CONFIGMAPS, "d")
    await api.server.store.compact(api.server.store.revision)
    late = await api.get(f"{CONFIGMAPS}?limit=1&continue={first.metadata['continue']}")
    assert (late.code, late.body["reason"]) == (410, "Expired")


@pytest.mark.parametrize("token", ["x", base64.b64encode(b'{"rv":1,"start":"core/secrets/default/a"}').decode()])
async def test_token_of_another_collection_is_refused(api: Api, token: str) -> None:
    assert (await api.get(f"{CONFIGMAPS}?continue={token}")).code == 400


async def test_version_from_the_future_asks_to_wait(api: Api) -> None:
    answer = await api.get(f"{CONFIGMAPS}?resourceVersion=999999")
    assert answer.code == 504
    assert answer.body["details"]["retryAfterSeconds"] == 1


async def test_exact_version_shows_the_past(api: Api) -> None:
    made = await api.create(CONFIGMAPS, "a")
    await api.delete(f"{CONFIGMAPS}/a")
    past = await api.get(f"{CONFIGMAPS}?resourceVersion={made.version}&resourceVersionMatch=Exact")
    assert past.names == ["a"]
    assert (await api.get(CONFIGMAPS)).names == []


async def test_items_of_custom_kinds_say_what_they_are_and_built_in_ones_do_not(api: Api) -> None:
    await api.define_widgets()
    await api.create(WIDGETS, "w")
    await api.create(CONFIGMAPS, "c")
    assert (await api.get(WIDGETS)).body["items"][0]["kind"] == "Widget"
    assert "kind" not in (await api.get(CONFIGMAPS)).body["items"][0]


async def watched(api: Api, path: str, after: int) -> list[tuple[str, str]]:
    """What a watcher that started after a revision has been told by now: types and names."""
    path, _, query = path.partition("?")
    parameters = {"watch": ["true"], "resourceVersion": [str(after)]}
    parameters |= {name: [value] for name, value in (pair.split("=", 1) for pair in query.split("&") if pair)}
    store = api.server.store
    assert isinstance(store, MemoryStore)
    snapshot = await store.snapshot()
    op, kind = api.server.core.understand(Request("GET", path, parameters), api.server.transaction(snapshot))
    watch = Watch.open(op, kind, snapshot)
    told = list(watch.initial_events(snapshot))
    told += [event for event in map(watch.translate, store.events_after(watch.prefix, watch.after).events) if event]
    return [(event.type, name_of(event)) for event in told]


def name_of(event: WatchEvent) -> str:
    return str(json.loads(event.object)["metadata"].get("name", ""))


async def test_watcher_sees_every_change_after_its_version_in_order(api: Api) -> None:
    start = int((await api.create(CONFIGMAPS, "a")).version)
    await api.create(CONFIGMAPS, "b")
    await api.merge(f"{CONFIGMAPS}/a", {"data": {"k": "v"}})
    await api.delete(f"{CONFIGMAPS}/b")
    assert await watched(api, CONFIGMAPS, start) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


async def test_object_that_stops_matching_is_deleted_for_the_watcher(api: Api) -> None:
    start = int((await api.create(CONFIGMAPS, "a", metadata={"labels": {"l": "0"}})).version)
    for value in "1110":
        await api.merge(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"l": value}}, "data": {"n": str(api.source.uid())}})
    told = await watched(api, f"{CONFIGMAPS}?labelSelector=l=1", start)
    assert told == [("ADDED", "a"), ("MODIFIED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_watch_from_zero_starts_with_what_is_there(api: Api) -> None:
    await api.create(CONFIGMAPS, "a")
    assert await watched(api, CONFIGMAPS, 0) == [("ADDED", "a")]


async def test_initial_events_end_with_a_marked_bookmark(api: Api) -> None:
    await api.create(CONFIGMAPS, "a")
    query = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    assert await watched(api, f"{CONFIGMAPS}?{query}", 0) == [("ADDED", "a"), ("BOOKMARK", "")]


async def test_watcher_of_one_namespace_is_not_told_of_another(api: Api) -> None:
    start = api.server.store.revision
    await api.create("/api/v1/namespaces/kube-system/configmaps", "elsewhere")
    await api.create(CONFIGMAPS, "here")
    assert await watched(api, CONFIGMAPS, start) == [("ADDED", "here")]
    assert await watched(api, "/api/v1/configmaps", start) == [("ADDED", "elsewhere"), ("ADDED", "here")]

"""Watch streams on real sockets: nothing lost, nothing twice, and nobody waits for a slow neighbour."""

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from attractor.apiserver.kinds.registry import builtin_kind
from attractor.apiserver.request.operation import Operation
from attractor.apiserver.verbs.watch import Watch, WatchEvent
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from attractor.httpd.limits import DEFAULT_LIMITS
from attractor.httpd.pages.metrics import Metrics
from attractor.httpd.watch import streams as watchstreams
from attractor.httpd.watch.streams import WatchHub
from attractor.store.contract import Event
from attractor.store.memory import MemoryStore
from tests.httpd.api import CONFIGMAPS, HttpApi, config_map
from tests.httpd.conftest import TOKENS
from tests.httpd.wire import connected, eventually


def hub_of(cluster: EmbeddedCluster) -> WatchHub:
    router = cluster._router
    assert router is not None
    return router._hub


async def test_a_watch_shows_what_is_there_and_then_what_happens(api: HttpApi) -> None:
    await api.create("a")
    async with api.watch() as watch:
        assert (await watch.event())["object"]["metadata"]["name"] == "a"
        await api.create("b")
        await api.patch("a", {"data": {"x": "1"}})
        await api.call("DELETE", f"{CONFIGMAPS}/b")
        seen = [await watch.event() for _ in range(3)]
        assert [(one["type"], one["object"]["metadata"]["name"]) for one in seen] == [
            ("ADDED", "b"),
            ("MODIFIED", "a"),
            ("DELETED", "b"),
        ]


async def test_a_watch_resumes_after_the_version_it_names(api: HttpApi) -> None:
    version = (await api.create("a")).json["metadata"]["resourceVersion"]
    await api.create("b")
    async with api.watch(f"resourceVersion={version}") as watch:
        assert (await watch.event())["object"]["metadata"]["name"] == "b"


async def test_a_watch_from_a_compacted_version_is_told_410_and_ends(api: HttpApi, cluster: EmbeddedCluster) -> None:
    version = (await api.create("a")).json["metadata"]["resourceVersion"]
    await api.create("b")
    await cluster.store.compact(cluster.store.revision)
    async with api.watch(f"resourceVersion={version}") as watch:
        event = await watch.event()
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert event["object"]["message"] == f"too old resource version: {version} ({cluster.store.revision})"
        assert await watch.event() is None


async def test_initial_events_end_with_an_annotated_bookmark_when_asked_for(api: HttpApi) -> None:
    await api.create("a")
    query = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    async with api.watch(query) as watch:
        assert (await watch.event())["type"] == "ADDED"
        end = await watch.event()
        assert end["type"] == "BOOKMARK"
        assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        await api.create("b")
        assert (await watch.event())["object"]["metadata"]["name"] == "b"


async def test_selectors_decide_what_a_watcher_sees(api: HttpApi) -> None:
    async with api.watch("labelSelector=l%3D1") as watch:
        await api.call("POST", CONFIGMAPS, config_map("without"))
        await api.call("POST", CONFIGMAPS, config_map("with", {"l": "1"}))
        assert (await watch.event())["object"]["metadata"]["name"] == "with"
        await api.patch("with", {"metadata": {"labels": {"l": "2"}}})
        assert (await watch.event())["type"] == "DELETED"


async def test_a_watch_for_one_name_is_not_even_woken_for_others(api: HttpApi, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    translate = Watch.translate

    def counted(self: Watch, event: Event) -> WatchEvent | None:
        looked_at.append(event.key.rpartition("/")[2])
        return translate(self, event)

    monkeypatch.setattr(Watch, "translate", counted)
    async with api.watch("fieldSelector=metadata.name%3Dab") as watch:
        for name in ("a", "b", "abc", "ab"):
            await api.create(name)
        assert (await watch.event())["object"]["metadata"]["name"] == "ab"
        await api.call("DELETE", f"{CONFIGMAPS}/ab")
        assert (await watch.event())["type"] == "DELETED"
    assert looked_at == ["abc", "ab", "ab"]


async def test_a_watch_ends_cleanly_at_its_timeout_with_a_bookmark_and_the_connection_stays(
    api: HttpApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchstreams, "LAST_BOOKMARK_S", 1)
    async with connected(api.port) as wire:
        path = f"{CONFIGMAPS}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true"
        wire.request("GET", path, **api.headers())
        await wire.head()
        assert (await wire.event())["type"] == "BOOKMARK"
        assert await wire.event() is None
        wire.request("GET", "/healthz", **api.headers())
        assert (await wire.answer()).body == b"ok"


async def test_a_short_watch_ends_without_a_bookmark(api: HttpApi) -> None:
    async with connected(api.port) as wire:
        wire.request("GET", f"{CONFIGMAPS}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true", **api.headers())
        await wire.head()
        assert await wire.event() is None


async def test_bookmarks_come_regularly_and_name_the_newest_version(
    api: HttpApi, cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchstreams, "BOOKMARK_S", 0.02)
    async with api.watch("allowWatchBookmarks=true") as watch:
        await api.call("POST", "/api/v1/namespaces/kube-system/configmaps", config_map("elsewhere"))
        newest = str(cluster.store.revision)
        async with asyncio.timeout(10):
            while (event := await watch.event())["object"]["metadata"]["resourceVersion"] != newest:
                assert event["type"] == "BOOKMARK"


async def test_an_http_1_0_client_gets_plain_lines(api: HttpApi) -> None:
    await api.create("a")
    async with connected(api.port) as wire:
        request = f"GET {CONFIGMAPS}?watch=1&timeoutSeconds=1 HTTP/1.0\r\nAuthorization: Bearer admin-token\r\n\r\n"
        wire.send(request.encode())
        _, headers = await wire.head()
        assert "transfer-encoding" not in headers
        lines = (await wire.rest()).splitlines()
        assert [json.loads(line)["type"] for line in lines] == ["ADDED"]


async def test_watchers_of_the_same_share_one_channel_and_the_last_one_closes_it(
    api: HttpApi, cluster: EmbeddedCluster
) -> None:
    hub = hub_of(cluster)
    async with api.watch() as one, api.watch() as two, api.watch("labelSelector=a") as other:
        assert (hub.streams, len(hub._channels)) == (3, 2)
        await api.create("x")
        first, second = await one.chunk(), await two.chunk()
        assert first == second
        hub.check_invariants()
        assert other is not None
    await eventually(lambda: hub.streams == 0)
    assert not hub._channels


async def test_an_event_is_encoded_once_for_a_hundred_watchers(
    api: HttpApi, cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[Event] = []
    translate = Watch.translate

    def counted(self: Watch, event: Event) -> WatchEvent | None:
        encoded.append(event)
        return translate(self, event)

    monkeypatch.setattr(Watch, "translate", counted)
    async with AsyncExitStack() as stack:
        watchers = [await stack.enter_async_context(api.watch()) for _ in range(100)]
        await eventually(lambda: all(len(channel.members) == 100 for channel in hub_of(cluster)._channels.values()))
        await api.create("x")
        for watcher in watchers:
            assert (await watcher.event())["object"]["metadata"]["name"] == "x"
    assert len(encoded) == 1


async def test_one_slow_watcher_among_a_hundred_delays_no_other_and_misses_nothing_when_it_reads_again(
    api: HttpApi, cluster: EmbeddedCluster
) -> None:
    filling = "x" * 100_000
    async with AsyncExitStack() as stack:
        slow = await stack.enter_async_context(api.watch(limit=500))
        others = [await stack.enter_async_context(api.watch()) for _ in range(99)]
        (channel,) = hub_of(cluster)._channels.values()
        await eventually(lambda: len(channel.members) == 100)
        written = 0
        while len(channel.members) == 100:  # until the slow one's buffers are full
            await api.create(f"c{written}", filling=filling)
            written += 1
            for other in others:
                assert (await other.event())["object"]["metadata"]["name"] == f"c{written - 1}"
        for number in range(written, written + 3):
            await api.create(f"c{number}", filling=filling)
            for other in others:
                assert (await other.event())["object"]["metadata"]["name"] == f"c{number}"
        hub_of(cluster).check_invariants()
        names = [(await slow.event())["object"]["metadata"]["name"] for _ in range(written + 3)]
        assert names == [f"c{number}" for number in range(written + 3)]
        await eventually(lambda: len(channel.members) == 100)


async def test_a_watcher_that_never_reads_is_disconnected_alone() -> None:
    limits = replace(DEFAULT_LIMITS, stall_s=0.2, write_buffer_bytes=1024)
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator(TOKENS), limits=limits) as cluster:
        api = HttpApi((await cluster.listen()).port)
        hub = hub_of(cluster)
        async with api.watch(limit=500) as slow, api.watch() as good:
            await eventually(lambda: hub.streams == 2)
            number = 0
            while hub.streams == 2:
                await api.create(f"c{number}", filling="x" * 500_000)
                assert (await good.event())["object"]["metadata"]["name"] == f"c{number}"
                number += 1
            assert slow.writer is not None


async def test_a_large_initial_state_arrives_whole_through_a_small_buffer() -> None:
    limits = replace(DEFAULT_LIMITS, write_buffer_bytes=1024)
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator(TOKENS), limits=limits) as cluster:
        api = HttpApi((await cluster.listen()).port)
        for number in range(60):
            await api.create(f"c{number:02}", filling="x" * 50_000)
        async with api.watch(limit=1000) as watch:
            names = [(await watch.event())["object"]["metadata"]["name"] for _ in range(60)]
            assert names == sorted(names)
            await api.create("last")
            assert (await watch.event())["object"]["metadata"]["name"] == "last"


async def test_changes_made_while_the_initial_state_is_sent_follow_it_in_order(api: HttpApi) -> None:
    for number in range(50):
        await api.create(f"c{number:02}", filling="x" * 50_000)
    async with api.watch(limit=500) as watch:
        await api.create("later")
        names = [(await watch.event())["object"]["metadata"]["name"] for _ in range(51)]
        assert names[-1] == "later"
        assert len(set(names)) == 51


async def test_a_laggard_behind_compaction_is_told_410(api: HttpApi, cluster: EmbeddedCluster) -> None:
    async with api.watch(limit=500) as slow:
        (channel,) = hub_of(cluster)._channels.values()
        await eventually(lambda: len(channel.members) == 1)
        number = 0
        while channel.members:
            await api.create(f"c{number}", filling="x" * 500_000)
            await asyncio.sleep(0)
            number += 1
        await api.create("missed")
        await cluster.store.compact(cluster.store.revision)
        while (event := await slow.event())["type"] == "ADDED":
            assert event["object"]["metadata"]["name"] != "missed"
        assert event["object"]["reason"] == "Expired"
        assert await slow.event() is None


async def test_stopping_ends_watches_with_a_clean_last_chunk() -> None:
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator(TOKENS)) as cluster:
        api = HttpApi((await cluster.listen()).port)
        async with api.watch() as watch:
            await cluster.__aexit__(None, None, None)
            assert await watch.event() is None
            assert await watch.rest() == b""


async def test_an_error_while_telling_ends_the_watch_with_a_500_and_a_reference(
    api: HttpApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: Watch, event: object) -> None:
        raise ZeroDivisionError

    async with api.watch() as watch:
        monkeypatch.setattr(Watch, "translate", broken)
        await api.create("a")
        event = await watch.event()
        assert (event["type"], event["object"]["code"]) == ("ERROR", 500)
        assert caplog.records[-1].__dict__["reference"] == event["object"]["message"].split()[-1]
        assert await watch.event() is None


async def test_table_watchers_get_tables_and_the_columns_once(api: HttpApi) -> None:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    async with connected(api.port) as wire:
        wire.request("GET", f"{CONFIGMAPS}?watch=1", **api.headers(Accept=accept))
        await wire.head()
        await api.create("a")
        await api.create("b")
        first, second = await wire.event(), await wire.event()
        assert first["object"]["kind"] == second["object"]["kind"] == "Table"
        assert first["object"]["columnDefinitions"]
        assert not second["object"].get("columnDefinitions")


METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


async def test_watchers_of_metadata_share_one_channel_and_get_no_data(api: HttpApi, cluster: EmbeddedCluster) -> None:
    async with connected(api.port) as one, connected(api.port) as two, api.watch() as whole:
        for wire in (one, two):
            wire.request("GET", f"{CONFIGMAPS}?watch=1", **api.headers(Accept=METADATA))
            await wire.head()
        assert (hub_of(cluster).streams, len(hub_of(cluster)._channels)) == (3, 2)
        await api.create("a", key="value")
        first, second = await one.event(), await two.event()
        assert first == second
        assert (first["object"]["kind"], "data" in first["object"]) == ("PartialObjectMetadata", False)
        assert (await whole.event())["object"]["data"] == {"key": "value"}


async def test_a_watch_in_yaml_is_refused_in_yaml_with_the_formats_of_streams(api: HttpApi) -> None:
    answer = await api.get(f"{CONFIGMAPS}?watch=1", Accept="application/yaml")
    assert (answer.code, answer.headers["content-type"]) == (406, "application/yaml")
    assert b"\ncode: 406\nkind: Status\n" in answer.body
    assert b"application/json;stream=watch,\n  application/vnd.kubernetes.protobuf;stream=watch" in answer.body


async def test_watchers_that_begin_take_turns_and_leave_time_for_others() -> None:
    """However many begin at once, a step of the loop tells one of them one piece when a piece takes all the time."""
    store = MemoryStore()
    for n in range(300):
        value = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"o%d"},"data":{"x":"%b"}}' % (n, b"v" * 900)
        store.commit_nowait({}, puts={f"core/configmaps/default/o{n}": value})
    hub = WatchHub(store, Metrics())
    hub.turn_s = 0.0
    kind = builtin_kind("", "v1", "configmaps")
    assert kind is not None
    writers = [CountingWriter() for _ in range(5)]
    op = Operation(verb="watch", group="", version="v1", resource="configmaps", namespace="default")
    for writer in writers:
        snapshot = store.snapshot_nowait()
        hub.open(Watch.open(op, kind, snapshot), "all", snapshot).start(writer)
    steps = []
    while not all(writer.lines >= 300 for writer in writers):
        before = sum(writer.pieces for writer in writers)
        await asyncio.sleep(0)
        steps.append(sum(writer.pieces for writer in writers) - before)
        assert len(steps) < 1000
        assert max(writer.pieces for writer in writers) - min(writer.pieces for writer in writers) <= 1
    assert max(steps) == 1
    hub.check_invariants()


class CountingWriter:
    """Takes everything, and counts."""

    is_paused = False

    def __init__(self) -> None:
        self.pieces = self.lines = 0

    def write(self, data: bytes, framed: bytes) -> None:
        self.pieces += 1
        self.lines += data.count(b"\n")

    def end(self) -> None:
        """Nothing is held."""

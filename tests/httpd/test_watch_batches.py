"""What watchers are told in batches is what they would have been told one event at a time.

Random writes, watchers that come, stall, read again and ask for bookmarks at random moments, and turns of the event loop
in between. The oracle reads the store's history event by event.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.apiserver.request.caller import User
from attractor.apiserver.verbs.watch import Watch
from attractor.embedded import EmbeddedCluster
from attractor.httpd.heads import Head
from attractor.httpd.parser import HttpRequest
from attractor.httpd.router import Router
from attractor.httpd.watch import streams
from attractor.httpd.watch.streams import WatchStream
from attractor.objects.json_types import JsonObject
from attractor.store.contract import Snapshot
from tests.httpd.api import CONFIGMAPS, config_map
from tests.httpd.wire import eventually

NEVER_LATE, ALWAYS_LATE = 3600.0, -3600.0
PREFIX = "core/configmaps/default/"
ADMIN = User("admin", groups=("system:masters",))
QUERIES: dict[str, Callable[[JsonObject], bool]] = {
    "": lambda metadata: True,
    "labelSelector=a%3D1": lambda metadata: bool(metadata["labels"]["a"] == "1"),
    "labelSelector=a%21%3D1": lambda metadata: bool(metadata["labels"]["a"] != "1"),
    "fieldSelector=metadata.name%3Dx": lambda metadata: bool(metadata["name"] == "x"),
    "fieldSelector=metadata.name%21%3Dx": lambda metadata: bool(metadata["name"] != "x"),
}
"""What may be asked for, and what that means."""

names = st.sampled_from(["x", "xy", "z"])
writes = st.tuples(st.just("create"), names, st.sampled_from("12")) | st.tuples(
    st.sampled_from(["patch", "delete"]), names, st.sampled_from("12")
)
others = st.tuples(st.sampled_from(["pause", "miss", "resume", "bookmark"]), st.integers(0, 5), st.just(""))
opens = st.tuples(st.just("open"), st.sampled_from(list(QUERIES)), st.sampled_from(["", "now"]))
turns = st.tuples(st.sampled_from(["turn", "settle"]), st.just(""), st.just(""))
steps = st.lists(st.one_of(writes, writes, opens, others, others, turns), max_size=60)


def told(kind: str, value: bytes, revision: int) -> tuple[str, str, JsonObject]:
    """An event in short: its type, its version, and the object's data and labels."""
    obj = orjson.loads(value)
    return kind, str(revision), {**obj["metadata"]["labels"], **obj.get("data", {}), "name": obj["metadata"]["name"]}


class Client:
    """The writer's end of a watch, which may stall."""

    def __init__(self, wanted: Callable[[JsonObject], bool], snapshot: Snapshot, *, is_new: bool) -> None:
        self.wanted, self.after = wanted, snapshot.revision
        self.initial = [
            told("ADDED", entry.value, entry.revision)
            for entry in (snapshot.range(PREFIX) if is_new else ())
            if wanted(orjson.loads(entry.value)["metadata"])
        ]
        self.is_paused = False
        self.data = b""

    def write(self, data: bytes, framed: bytes) -> None:
        assert framed == b"%x\r\n%b\r\n" % (len(data), data)
        self.data += data

    def end(self) -> None:
        raise AssertionError("no watch ends here")


class Opened(NamedTuple):
    stream: WatchStream
    client: Client


class Run:
    """One random history."""

    def __init__(self, cluster: EmbeddedCluster, router: Router) -> None:
        self.cluster, self.router = cluster, router
        self.opened: list[Opened] = []
        self.numbers = count()

    async def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        request = HttpRequest(method, path, Head({b"content-type": content_type.encode()}), data)
        return await self.router.answer(request, ADMIN)

    async def take(self, step: tuple[str, Any, str]) -> None:
        match step:
            case "create", name, label:
                await self.ask("POST", CONFIGMAPS, config_map(name, {"a": label}))
            case "patch", name, label:
                change = {"metadata": {"labels": {"a": label}}, "data": {"n": str(next(self.numbers))}}
                await self.ask("PATCH", f"{CONFIGMAPS}/{name}", change, "application/merge-patch+json")
            case "delete", name, _:
                await self.ask("DELETE", f"{CONFIGMAPS}/{name}")
            case "open", query, since:
                await self.open(query, since)
            case "turn", _, _:
                await asyncio.sleep(0)
            case "settle", _, _:
                await eventually(self.is_settled)
            case what, number, _ if self.opened:
                stream, client = self.opened[number % len(self.opened)]
                if what == "bookmark":
                    stream._send_bookmark()
                    return
                client.is_paused = what != "resume"
                stream.resumed()
                if what == "miss":
                    await self.ask("POST", CONFIGMAPS, config_map(f"m{next(self.numbers)}", {"a": "1"}))
                    await eventually(self.is_settled)

    async def open(self, query: str, since: str) -> None:
        version = f"&resourceVersion={self.cluster.store.revision}" if since else ""
        snapshot = await self.cluster.store.snapshot()
        reply = await self.ask("GET", f"{CONFIGMAPS}?watch=true&allowWatchBookmarks=true&{query}{version}")
        stream = reply.stream
        client = Client(QUERIES[query], snapshot, is_new=not since)
        stream.start(client)
        self.opened.append(Opened(stream, client))

    def is_settled(self) -> bool:
        """Whether nothing is left to hand out, and everybody who reads has it."""
        for stream, client in self.opened:
            channel = stream._channel
            if channel._flush is not None or not (client.is_paused or stream in channel.members):
                return False
        return True

    def check(self, client: Client) -> None:
        """Compare with the oracle: the store's events, one by one, from the moment of the watch."""
        expected = list(client.initial)
        for event in self.cluster.store.events_after(PREFIX, client.after).events:
            now, before = (
                value if value is not None and client.wanted(orjson.loads(value)["metadata"]) else None
                for value in (event.value, event.previous.value if event.previous else None)
            )
            if now is not None:
                expected.append(told("ADDED" if before is None else "MODIFIED", now, event.revision))
            elif before is not None:
                expected.append(told("DELETED", before, event.revision))
        got = [json.loads(line) for line in client.data.splitlines()]
        versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in got[len(client.initial) :]]
        assert versions == sorted(versions), "a bookmark says more than was told before it"
        assert [
            told(event["type"], orjson.dumps(event["object"]), event["object"]["metadata"]["resourceVersion"])
            for event in got
            if event["type"] != "BOOKMARK"
        ] == expected


@contextmanager
def resting(rest: int, late_s: float) -> Iterator[None]:
    """Channels that rest so long between hand-outs, and wait so long for a turn of the event loop to end."""
    before = streams.REST, streams.LATE_S
    streams.REST, streams.LATE_S = rest, late_s
    try:
        yield
    finally:
        streams.REST, streams.LATE_S = before


async def run(taken: list[tuple[str, Any, str]]) -> None:
    async with EmbeddedCluster(controllers=()) as cluster:
        router = cluster._router
        assert router is not None
        history = Run(cluster, router)
        for step in taken:
            await history.take(step)
            router._hub.check_invariants()
        for number in range(len(history.opened)):
            await history.take(("resume", number, ""))
        await eventually(history.is_settled)
        for opened in history.opened:
            history.check(opened.client)
            opened.stream.lost()
        assert router._hub.streams == 0


@settings(max_examples=60, deadline=None)
@given(steps, st.sampled_from([0, 7, 70]), st.sampled_from([NEVER_LATE, ALWAYS_LATE]))
def test_what_is_delivered_in_batches_equals_what_is_delivered_one_by_one(
    taken: list[tuple[str, Any, str]], rest: int, late_s: float
) -> None:
    with resting(rest, late_s):
        asyncio.run(run(taken))


async def opened(history: Run) -> Client:
    """A watcher who is told what is new from now on."""
    await history.open("", "now")
    await eventually(lambda: history.opened[0].stream in history.opened[0].stream._channel.members)
    return history.opened[0].client


async def test_a_change_is_handed_out_within_a_turn_of_the_event_loop_that_takes_long() -> None:
    async with EmbeddedCluster(controllers=()) as cluster:
        assert cluster._router is not None
        history = Run(cluster, cluster._router)
        client = await opened(history)
        with resting(0, ALWAYS_LATE):
            for name in "xy":  # in memory a write has nothing to wait for, so these are one turn
                await history.take(("create", name, "1"))
            assert [json.loads(line)["object"]["metadata"]["name"] for line in client.data.splitlines()] == ["x", "y"]
        assert history.is_settled()


async def test_a_stream_that_has_to_end_does_so_after_the_write_that_it_could_not_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Watch, event: object) -> None:
        raise ZeroDivisionError

    async with EmbeddedCluster(controllers=()) as cluster:
        assert cluster._router is not None
        history = Run(cluster, cluster._router)
        client = await opened(history)
        ends: list[bytes] = []
        monkeypatch.setattr(client, "end", lambda: ends.append(client.data))
        monkeypatch.setattr(Watch, "translate", broken)
        with resting(0, ALWAYS_LATE):
            await history.take(("create", "x", "1"))
            await history.take(("create", "y", "1"))
            assert not ends
            await eventually(lambda: bool(ends))
        assert [json.loads(line)["type"] for line in ends[0].splitlines()] == ["ERROR"]


def test_rests_keep_ages_low_while_that_is_cheap_and_leave_the_core_to_others_when_it_is_not() -> None:
    took_s = [0.0, 0.0001, 0.0005, 0.001, 0.002, 0.003, 1.0]
    rests_s = [streams.rest_s(took, size_bytes=0) for took in took_s]
    assert rests_s == pytest.approx([0.002, 0.002, 0.0035, 0.006, 0.004, 0.021, 0.1])


def test_a_large_hand_out_earns_no_longer_rest_than_a_small_one_because_waiting_saves_no_bytes() -> None:
    small_s = streams.rest_s(0.0005, size_bytes=0)
    assert streams.rest_s(0.001, size_bytes=streams.SAVED_BYTES) == pytest.approx(small_s)

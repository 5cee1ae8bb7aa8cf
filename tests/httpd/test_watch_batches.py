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
from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.apiserver.operation import User
from attractor.embedded import EmbeddedCluster
from attractor.httpd import watchstreams
from attractor.httpd.heads import Head
from attractor.httpd.parser import HttpRequest
from attractor.httpd.router import Router
from attractor.httpd.watchstreams import WatchStream
from attractor.objects.jsontypes import JsonObject
from attractor.store.contract import Snapshot
from tests.httpd.api import CONFIGMAPS, config_map
from tests.httpd.wire import eventually

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
def resting(rest: int) -> Iterator[None]:
    """Channels that rest so long between hand-outs."""
    before, watchstreams.REST = watchstreams.REST, rest
    try:
        yield
    finally:
        watchstreams.REST = before


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
@given(steps, st.sampled_from([0, 5, 50]))
def test_what_is_delivered_in_batches_equals_what_is_delivered_one_by_one(
    taken: list[tuple[str, Any, str]], rest: int
) -> None:
    with resting(rest):
        asyncio.run(run(taken))

"""A write load with a ledger, and a watcher that resumes: what was acknowledged can be compared with what is there.

Each writer has objects of its own, so that after every answer it knows what they must look like. A write whose answer
never came is doubtful: it may have happened whole, or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.httpd.wire import Answer, Wire, connected

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from random import Random

    from tests.serving import Serving

TOKEN = "admin-token"
TOKENS = f'{TOKEN},admin,admin,"system:masters"\n'
OBJECTS = "/api/v1/namespaces/default/configmaps"


class Lost(Exception):
    """The server is gone: an answer did not come, or not whole."""


@asynccontextmanager
async def conversation(server: Serving) -> AsyncIterator[Wire]:
    """A connection that tells the end of the server from every other trouble."""
    trust = server.trust
    try:
        async with connected(server.port, trust, server_hostname="127.0.0.1", limit=1 << 22) as wire:
            try:
                yield wire
            except (AssertionError, ValueError) as error:
                if wire.reader.at_eof():
                    raise Lost from error
                raise
    except TimeoutError:
        raise  # a server that hangs is not gone
    except (OSError, asyncio.IncompleteReadError) as error:
        raise Lost from error


class State(NamedTuple):
    """An object as its writer knows it; ``number`` is in two places of it, so that half a write would show."""

    version: str
    number: int


@dataclass
class Ledger:
    """What was acknowledged of each object, and what is doubtful."""

    known: dict[str, State | None] = field(default_factory=dict)
    doubtful: dict[str, int | None] = field(default_factory=dict)
    versions: set[int] = field(default_factory=set)
    """The resourceVersion of every acknowledged create and update."""

    def check(self, found: dict[str, State]) -> None:
        """Compare with what is there; then what is there is known."""
        for name, known in self.known.items():
            actual = found.get(name)
            if name in self.doubtful and (actual.number if actual else None) == self.doubtful[name]:
                continue
            assert actual == known, f"{name} was acknowledged as {known} but is {actual}"
        unknown = {name for name in found if name not in self.known and name not in self.doubtful}
        assert not unknown, f"nobody wrote {unknown}"
        self.known = {name: found.get(name) for name in self.known | self.doubtful}
        self.doubtful.clear()


def request(wire: Wire, method: str, path: str, body: Any = None) -> None:
    data = b"" if body is None else json.dumps(body).encode()
    wire.request(method, path, data, Authorization=f"Bearer {TOKEN}", Content_Type="application/json")


async def ask(server: Serving, method: str, path: str, body: Any = None) -> Answer:
    async with conversation(server) as wire:
        request(wire, method, path, body)
        return await wire.answer()


def state_of(obj: dict[str, Any]) -> State:
    data = obj["data"]
    assert data["first"] == data["last"], f"half of a write is visible: {data['first']} and {data['last']}"
    return State(obj["metadata"]["resourceVersion"], int(data["first"]))


async def found(server: Serving) -> dict[str, State]:
    listed = (await ask(server, "GET", f"{OBJECTS}?labelSelector=load")).json
    return {one["metadata"]["name"]: state_of(one) for one in listed["items"]}


class Writer:
    """Creates, updates and deletes its own objects over one connection, as fast as it gets answers."""

    def __init__(self, number: int, ledger: Ledger, rng: Random) -> None:
        self._names = [f"w{number}-{index}" for index in range(6)]
        self._ledger = ledger
        self._rng = rng
        self._count = 0

    async def run(self, server: Serving, stop: asyncio.Event | None = None) -> None:
        """Write until the server is gone, or until told to stop."""
        with contextlib.suppress(Lost):
            async with conversation(server) as wire:
                while stop is None or not stop.is_set():
                    await self._write(wire)

    async def _write(self, wire: Wire) -> None:
        name = self._rng.choice(self._names)
        known = self._ledger.known.get(name)
        if known is not None and self._rng.random() < 0.2:
            self._ledger.doubtful[name] = None
            request(wire, "DELETE", f"{OBJECTS}/{name}")
        else:
            self._count += 1
            self._ledger.doubtful[name] = self._count
            self._send(wire, name, known)
        answer = await wire.answer()
        said = answer.json
        if answer.code in {200, 201}:
            del self._ledger.doubtful[name]
            self._ledger.known[name] = None if said["kind"] == "Status" else state_of(said)
            if said["kind"] != "Status":
                self._ledger.versions.add(int(said["metadata"]["resourceVersion"]))
        elif answer.code < 500:
            raise RuntimeError(f"{name}, last known as {known}, was refused: {said}")

    def _send(self, wire: Wire, name: str, known: State | None) -> None:
        text = str(self._count)
        data = {"first": text, "filling": "x" * self._rng.randrange(20_000), "last": text}
        metadata = {"name": name, "labels": {"load": ""}}
        if known is None:
            request(wire, "POST", OBJECTS, {"metadata": metadata, "data": data})
        else:
            metadata["resourceVersion"] = known.version
            request(wire, "PUT", f"{OBJECTS}/{name}", {"metadata": metadata, "data": data})


class Counter:
    """One object that clients of all servers count up: read, add one, replace the version that was read."""

    NAME = "counter"
    HUNG_S = 30

    def __init__(self) -> None:
        self.acknowledged = 0
        self.doubtful = 0

    def is_beyond(self, count: int) -> bool:
        """Whether more increments than that were acknowledged."""
        return self.acknowledged > count

    async def create(self, server: Serving) -> None:
        made = {"metadata": {"name": self.NAME}, "data": {"n": "0"}}
        assert (await ask(server, "POST", OBJECTS, made)).code == 201

    async def run(self, server: Serving, stop: asyncio.Event) -> None:
        """Count until the server is gone, or until told to stop; a request without an answer for long has hung."""
        with contextlib.suppress(Lost):
            async with conversation(server) as wire:
                while not stop.is_set():
                    async with asyncio.timeout(self.HUNG_S):
                        await self._increment(wire)

    async def _increment(self, wire: Wire) -> None:
        request(wire, "GET", f"{OBJECTS}/{self.NAME}")
        shown = (await wire.answer()).json
        shown["data"]["n"] = str(int(shown["data"]["n"]) + 1)
        self.doubtful += 1
        request(wire, "PUT", f"{OBJECTS}/{self.NAME}", shown)
        answer = await wire.answer()
        if answer.code < 500:
            self.doubtful -= 1
        if answer.code == 200:
            self.acknowledged += 1
        else:
            assert answer.code in {409, 503, 504}, answer.json

    async def check(self, server: Serving) -> None:
        """Every increment that was acknowledged is there, once; those without an answer may be."""
        shown = (await ask(server, "GET", f"{OBJECTS}/{self.NAME}")).json
        count = int(shown["data"]["n"])
        told = f"{self.acknowledged} increments were acknowledged, {self.doubtful} are doubtful, and {count} are there"
        assert self.acknowledged <= count <= self.acknowledged + self.doubtful, told


class Watcher:
    """Follows the load from one resourceVersion to the next, over as many servers' lives as it takes."""

    def __init__(self) -> None:
        self.cursor = 0
        self.seen: set[int] = set()
        self.state: dict[str, State] = {}
        self.lists = 0

    async def run(self, server: Serving, until: str = "") -> None:
        """Follow until the server is gone, or until an object of that name is seen, which must come."""
        try:
            if not self.cursor:
                await self.list(server)
            async with conversation(server) as wire:
                query = f"watch=true&labelSelector=load&allowWatchBookmarks=true&resourceVersion={self.cursor}"
                request(wire, "GET", f"{OBJECTS}?{query}")
                await wire.head()
                while (event := await wire.event()) is not None:
                    if event["type"] == "ERROR":
                        assert event["object"]["code"] == 410, event
                        self.cursor = 0
                        break
                    if self._take(event) == until:
                        return
            await self.run(server, until)
        except Lost:
            if until:
                raise

    async def list(self, server: Serving) -> None:
        """Begin, or begin anew, with all that is there."""
        listed = (await ask(server, "GET", f"{OBJECTS}?labelSelector=load")).json
        self.state = {one["metadata"]["name"]: state_of(one) for one in listed["items"]}
        self.cursor = int(listed["metadata"]["resourceVersion"])
        self.lists += 1

    def _take(self, event: dict[str, Any]) -> str:
        metadata = event["object"]["metadata"]
        version = int(metadata["resourceVersion"])
        if event["type"] == "BOOKMARK":
            assert version >= self.cursor
            self.cursor = version
            return "bookmark"
        name = str(metadata["name"])
        assert version > self.cursor, f"{event['type']} {name} of {version} came after {self.cursor}"
        self.cursor = version
        self.seen.add(version)
        if event["type"] == "DELETED":
            del self.state[name]
        else:
            assert (event["type"] == "ADDED") == (name not in self.state), f"{event['type']} {name} after a gap"
            self.state[name] = state_of(event["object"])
        return name

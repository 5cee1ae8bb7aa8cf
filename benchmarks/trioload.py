"""The load of ``runtime.py``: writes Trios, and watches their children until they are as they should be.

It shares a core with the operator that is measured, so it is bare sockets and as little Python as will do, the same for
every peer; times are those of the next look at what has come, at most ``NAP_S`` late. An object is converged when each
of its children has the value that was written; what came by the watch is compared with what the server has in the end
(``check``). Not a benchmark of its own.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Self

import httptools
import msgspec
import orjson

from attractor.client.verbs.writes import MERGE_PATCH
from loadclient import Target
from peers.triokind import Trio
from watchload import CHECK_S, Crowd, Writer, connected, is_good

CHILDREN = 3
WRITERS = 16
PATIENCE_S = 900
NAP_S = 0.001
"""How long the load rests between two looks at what has come, so that it seldom takes the core from the operator."""


class Meta(msgspec.Struct):
    name: str = ""


class Child(msgspec.Struct):
    metadata: Meta
    data: dict[str, str] | None = None


class Line(msgspec.Struct):
    """One line of a watch of ConfigMaps."""

    type: str
    object: Child


class ListMeta(msgspec.Struct):
    resource_version: str = msgspec.field(name="resourceVersion")


class Children(msgspec.Struct):
    metadata: ListMeta
    items: list[Child]


read_line = msgspec.json.Decoder(Line).decode
read_children = msgspec.json.Decoder(Children).decode


class Convergence:
    """Which objects have all of their children at one value, and since when; children are named ``PARENT-NUMBER``."""

    def __init__(self, value: str) -> None:
        self._wanted = {"value": value}
        self._right: dict[str, set[str]] = defaultdict(set)
        self.done: dict[str, float] = {}

    def take(self, lines: Iterable[bytes], now: float) -> None:
        """Look at events of the children, which came just now."""
        for line in lines:
            event = read_line(line)
            name = event.object.metadata.name
            parent = name.rpartition("-")[0]
            right = self._right[parent]
            if event.object.data != self._wanted or event.type not in {"ADDED", "MODIFIED"}:
                right.discard(name)
                continue
            right.add(name)
            if len(right) == CHILDREN:
                self.done.setdefault(parent, now)


class Watcher:
    """A watch over one connection; lines may come in any pieces."""

    def __init__(self, target: Target, path: str, take: Callable[[list[bytes], float], None]) -> None:
        self._take = take
        self._parser = httptools.HttpResponseParser(self)
        self._rest = b""
        self._now = 0.0
        self.is_open = False
        self.socket = connected(target)
        self.socket.sendall(target.request("GET", path))

    def take(self, received: bytearray, size: int, now: float) -> None:
        self._now = now
        self._parser.feed_data(memoryview(received)[:size])

    def on_headers_complete(self) -> None:
        if self._parser.get_status_code() != 200:
            raise RuntimeError(f"the server answers {self._parser.get_status_code()} to a watch")
        self.is_open = True

    def on_body(self, body: bytes) -> None:
        *lines, self._rest = (self._rest + body).split(b"\n")
        self._take(lines, self._now)


class Load:
    """Writes Trios in one namespace over connections that it keeps; ``requests`` is how many it has sent."""

    def __init__(self, target: Target, namespace: str, objects: int) -> None:
        self._target, self.objects = target, objects
        self._trios = f"/apis/{Trio.gvk.group}/v1/namespaces/{namespace}/trios"
        self._children = f"/api/v1/namespaces/{namespace}/configmaps"
        self.requests = 0
        self._crowd = Crowd()
        self._answer = b""
        self._unanswered = 0
        self._next: Callable[[Writer], None] = lambda _: None
        self._writers = [Writer(target, self._answered) for _ in range(WRITERS)]
        for writer in self._writers:
            self._crowd.add(writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._crowd.close()

    def phase(self, value: str) -> dict[str, float]:
        """Write every Trio with this value; the time until all children have it, and how long each took."""
        seen = Convergence(value)
        watcher = Watcher(self._target, f"{self._children}?watch=true&resourceVersion={self._version()}", seen.take)
        self.requests += 1
        self._crowd.add(watcher)
        self._read_until(lambda: watcher.is_open)
        began = time.monotonic()
        written = self._write_all(value)
        self._read_until(lambda: not self._unanswered and len(seen.done) >= self.objects)
        self._crowd.remove(watcher)
        waits = sorted(seen.done[name] - at for name, at in written.items())
        return {
            "objects_per_s": round(self.objects / (max(seen.done.values()) - began), 1),
            "p50_ms": round(1000 * waits[len(waits) // 2], 1),
            "p99_ms": round(1000 * waits[int(len(waits) * 0.99)], 1),
        }

    def alone(self, value: str) -> None:
        """Write every Trio, watched by nobody who would do anything about it."""
        self._write_all(value)
        self._read_until(lambda: not self._unanswered)

    def check(self, value: str) -> None:
        """Raise ``RuntimeError`` unless the server has every child with this value, and nothing else."""
        wanted = {f"t{number}-{child}": {"value": value} for number in range(self.objects) for child in range(CHILDREN)}
        listed = read_children(self._ask(self._children)).items
        # The server's own controllers put a ConfigMap with its certificate into every namespace.
        found = {child.metadata.name: child.data for child in listed if child.metadata.name != "kube-root-ca.crt"}
        if found != wanted:
            wrong = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
            raise RuntimeError(f"{len(wrong)} children are not as they were seen to be: {', '.join(wrong[:5])} …")

    def _write_all(self, value: str) -> dict[str, float]:
        """Begin to write every Trio, the next whenever an answer comes; when each was sent is known in the end."""
        requests, written = self._requests(value), dict[str, float]()

        def send_next(writer: Writer) -> None:
            for name, request in requests:
                written[name] = time.monotonic()
                self._send(writer, request)
                return

        self._next = send_next
        for writer in self._writers:
            send_next(writer)
        return written

    def _requests(self, value: str) -> Iterator[tuple[str, bytes]]:
        """Names of Trios, and the requests that create or change them."""
        for name in map("t{}".format, range(self.objects)):
            if value == "one":
                body: dict[str, Any] = {"apiVersion": Trio.gvk.api_version, "kind": "Trio", "metadata": {"name": name}}
                data = orjson.dumps({**body, "spec": {"value": value}})
                yield name, self._target.request("POST", self._trios, data)
            else:
                data = orjson.dumps({"spec": {"value": value}})
                yield name, self._target.request("PATCH", f"{self._trios}/{name}", data, MERGE_PATCH)

    def _send(self, writer: Writer, request: bytes) -> None:
        self.requests += 1
        self._unanswered += 1
        writer.socket.sendall(request)

    def _answered(self, writer: Writer, answer: bytes) -> None:
        if not is_good(answer):
            raise RuntimeError(f"the server refused a request of the load: {answer.decode()}")
        self._unanswered -= 1
        self._answer = answer
        self._next(writer)

    def _version(self) -> str:
        """Where a watch begins that is to miss nothing."""
        return read_children(self._ask(f"{self._children}?limit=1")).metadata.resource_version

    def _ask(self, path: str) -> bytes:
        """The body of one answer, while nothing is being written."""
        self._next = lambda _: None
        self._send(self._writers[0], self._target.request("GET", path))
        self._read_until(lambda: not self._unanswered)
        return self._answer.partition(b"\r\n\r\n")[2]

    def _read_until(self, is_enough: Callable[[], bool]) -> None:
        given_up_at = time.monotonic() + PATIENCE_S
        while not is_enough():
            if time.monotonic() > given_up_at:
                raise TimeoutError(f"the operator has not come to an end within {PATIENCE_S} s")
            time.sleep(NAP_S)
            self._crowd.read(CHECK_S)

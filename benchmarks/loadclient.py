"""A load generator for HTTP servers: connections that each send the next request as soon as the last is answered.

Not a benchmark of its own; ``apiserver.py`` uses it.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httptools


@dataclass
class Target:
    """Where to send requests, and as whom."""

    host: str
    port: int
    token: str
    tls: ssl.SSLContext | None = None

    def request(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.token}\r\n"
        head += "Accept: application/json\r\nUser-Agent: load/1\r\n"
        if body:
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body


@dataclass
class Result:
    """What a run took."""

    seconds: float = 0.0
    latencies_s: list[float] = field(default_factory=list)
    codes: dict[int, int] = field(default_factory=dict)

    @property
    def per_s(self) -> float:
        return len(self.latencies_s) / self.seconds

    def quantile_ms(self, share: float) -> float:
        ordered = sorted(self.latencies_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


class _Client(asyncio.Protocol):
    def __init__(self, requests: Iterator[bytes], result: Result, done: Callable[[], None]) -> None:
        self.requests, self.result, self.done = requests, result, done
        self.parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.send_next()

    def send_next(self) -> None:
        request = next(self.requests, None)
        if request is None:
            self.transport.close()
            self.done()
            return
        self.sent = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        self.result.latencies_s.append(time.perf_counter() - self.sent)
        code = self.parser.get_status_code()
        self.result.codes[code] = self.result.codes.get(code, 0) + 1
        self.parser = httptools.HttpResponseParser(self)
        self.send_next()


async def load(target: Target, requests: Iterator[bytes], clients: int) -> Result:
    """Send all requests over so many connections; ``requests`` is shared between them."""
    loop = asyncio.get_running_loop()
    result, ended, left = Result(), loop.create_future(), [clients]

    def done() -> None:
        left[0] -= 1
        if not left[0]:
            ended.set_result(None)

    started = time.perf_counter()
    for _ in range(clients):
        await loop.create_connection(lambda: _Client(requests, result, done), target.host, target.port, ssl=target.tls)
    await ended
    result.seconds = time.perf_counter() - started
    return result


_RECEIVED = bytearray(1 << 18)
"""What a watcher has just received; shared, because each looks at it before the next one receives."""


class _Watcher(asyncio.BufferedProtocol):
    """Counts events where they arrive, so that the load generator is not what is measured."""

    MARK = b'"sent":"'

    def __init__(self, request: bytes, *, is_sampled: bool) -> None:
        self.request, self.is_sampled = request, is_sampled
        self.events = 0
        self.latencies_s: list[float] = []
        self._tail = b""
        self._wanted = 0
        self._enough: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self.request)

    async def heard(self, events: int) -> None:
        """Wait until so many events have come."""
        self._wanted = events
        self._enough = asyncio.get_running_loop().create_future()
        if self.events < events:
            await self._enough

    def get_buffer(self, sizehint: int) -> bytearray:
        return _RECEIVED

    def buffer_updated(self, nbytes: int) -> None:
        now = time.perf_counter()
        self.events += _RECEIVED.count(b'{"type":"', 0, nbytes)
        if self._enough and self.events >= self._wanted and not self._enough.done():
            self._enough.set_result(None)
        if self.is_sampled:
            self._sample(self._tail + bytes(memoryview(_RECEIVED)[:nbytes]), now)

    def _sample(self, data: bytes, now: float) -> None:
        at = data.find(self.MARK)
        while at >= 0:
            end = data.find(b'"', at + len(self.MARK))
            if end < 0:
                break
            self.latencies_s.append(now - float(data[at + len(self.MARK) : end]))
            data = data[end:]
            at = data.find(self.MARK)
        self._tail = data[max(0, len(data) - 64) :] if at < 0 else data[at:]


async def watch(target: Target, path: str, watchers: int, sampled: int) -> list[_Watcher]:
    """Open watches; some of them measure how old each event is, by the ``sent`` field that the writer put in."""
    loop = asyncio.get_running_loop()
    request = target.request("GET", path)
    found = []
    for number in range(watchers):
        watcher = _Watcher(request, is_sampled=number < sampled)
        await loop.create_connection(lambda watcher=watcher: watcher, target.host, target.port, ssl=target.tls)  # type: ignore[misc]
        found.append(watcher)
    return found


async def at_rate(target: Target, make: Callable[[], bytes], per_s: int, seconds: float, connections: int) -> Result:
    """Send requests at a steady rate, over some connections, without waiting for answers in between."""
    loop = asyncio.get_running_loop()
    result, queue = Result(), []
    total = int(per_s * seconds)
    ended = loop.create_future()

    class Paced(_Client):
        def send_next(self) -> None:
            queue.append(self)
            if len(result.latencies_s) >= total and not ended.done():
                ended.set_result(None)

        def go(self, request: bytes) -> None:
            self.sent = time.perf_counter()
            self.transport.write(request)

    for _ in range(connections):
        await loop.create_connection(
            lambda: Paced(iter(()), result, lambda: None), target.host, target.port, ssl=target.tls
        )
    started = time.perf_counter()
    number = 0
    while number < total:
        due = min(total, int((time.perf_counter() - started) * per_s) + 1)
        while number < due and queue:
            queue.pop().go(make())
            number += 1
        await asyncio.sleep(0.0005)
    await ended
    result.seconds = time.perf_counter() - started
    return result

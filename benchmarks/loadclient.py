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

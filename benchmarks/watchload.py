"""Watch delivery as seen from outside: writers at a steady rate, and watchers that tell how old each event was.

Both are processes of their own, so that what each of them costs is known, and neither can be mistaken for the server.
Not a benchmark of its own; ``apiserver.py`` uses it.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from loadclient import Target

MARK = b'"sent":"'
PATIENCE_S = 10
_RECEIVED = bytearray(1 << 18)
"""What a watcher has just received; shared, because each looks at it before the next one receives."""


@dataclass
class Wrote:
    """How the writing went."""

    count: int
    refused: int
    seconds: float
    cpu_s: float


@dataclass
class Heard:
    """What the watchers got; ``events`` for each of them, ages of the events of those who look at each."""

    events: list[int]
    ages_s: list[float]
    cpu_s: float


class Apart:
    """A function that runs in another process, with a pipe to it."""

    def __init__(self, work: Callable[..., Any], *arguments: Any) -> None:
        fork = multiprocessing.get_context("fork")  # a TLS context cannot be sent, only inherited
        self.pipe, other = fork.Pipe()
        self.process = fork.Process(target=_apart, args=(work, other, *arguments), daemon=True)
        self.process.start()

    async def said(self) -> Any:
        """What it says next."""
        return await asyncio.get_running_loop().run_in_executor(None, self.pipe.recv)


def _apart(work: Callable[..., Any], pipe: Connection, *arguments: Any) -> None:
    pipe.send(asyncio.run(work(pipe, *arguments)))


class _Watcher(asyncio.BufferedProtocol):
    """Counts lines where they arrive; only a sampled one looks at them."""

    def __init__(self, request: bytes, *, is_sampled: bool) -> None:
        self.request, self.is_sampled = request, is_sampled
        self.lines = 0
        """Line breaks of the body; those of the HTTP around it have a carriage return."""
        self.ages_s: list[float] = []
        self._tail = b""
        self.changed: Callable[[], None] = lambda: None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self.request)

    def get_buffer(self, sizehint: int) -> bytearray:
        return _RECEIVED

    def buffer_updated(self, nbytes: int) -> None:
        now = time.monotonic()
        self.lines += _RECEIVED.count(b"\n", 0, nbytes) - _RECEIVED.count(b"\r", 0, nbytes)
        if self.is_sampled:
            self._sample(self._tail + bytes(memoryview(_RECEIVED)[:nbytes]), now)
        self.changed()

    def _sample(self, data: bytes, now: float) -> None:
        begin = at = 0
        while (at := data.find(MARK, begin)) >= 0:
            end = data.find(b'"', at + len(MARK))
            if end < 0:
                break
            self.ages_s.append(now - float(data[at + len(MARK) : end]))
            begin = end
        self._tail = data[max(begin, len(data) - 64) :] if at < 0 else data[at:]


async def receive(pipe: Connection, target: Target, path: str, watchers: int, sampled: int) -> Heard:
    """Watch; say when all have heard of what is there, then wait for as many more events as the pipe says."""
    loop = asyncio.get_running_loop()
    found = []
    for number in range(watchers):
        watcher = _Watcher(target.request("GET", path), is_sampled=number < sampled)
        await loop.create_connection(lambda watcher=watcher: watcher, target.host, target.port, ssl=target.tls)  # type: ignore[misc]
        found.append(watcher)
    await _until_all_have(found, 1)
    began_s = time.process_time()
    pipe.send("watching")
    written = await loop.run_in_executor(None, pipe.recv)
    await _until_all_have(found, 1 + written)
    events = [watcher.lines - 1 for watcher in found]
    return Heard(events, [age for watcher in found for age in watcher.ages_s], time.process_time() - began_s)


async def _until_all_have(watchers: list[_Watcher], lines: int) -> None:
    """Wait for so many lines at each, though not for ever."""
    async with asyncio.TaskGroup() as group:
        for watcher in watchers:
            group.create_task(_until_has(watcher, lines))


async def _until_has(watcher: _Watcher, lines: int) -> None:
    enough = asyncio.Event()
    watcher.changed = lambda: enough.set() if watcher.lines >= lines else None
    watcher.changed()
    try:
        async with asyncio.timeout(PATIENCE_S):
            await enough.wait()
    except TimeoutError:
        return
    finally:
        watcher.changed = lambda: None


class _Writer(asyncio.Protocol):
    """One connection: idle, or waiting for the answer to one request."""

    def __init__(self, idle: list[_Writer], answered: Callable[[bool], None]) -> None:
        self._idle, self._answered = idle, answered
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._idle.append(self)

    def send(self, request: bytes) -> None:
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        data = self._data + data if self._data else data
        head = data.find(b"\r\n\r\n")
        at = data.find(b"Content-Length: ", 0, max(head, 0))
        if head < 0 or len(data) < head + 4 + int(data[at + 16 : data.index(b"\r", at)]):
            self._data = data
            return
        self._data = b""
        self._idle.append(self)
        self._answered(data.startswith(b"HTTP/1.1 200"))


async def write(
    _pipe: Connection, target: Target, path: str, content_type: str, per_s: int, seconds: float, connections: int
) -> Wrote:
    """Patch one object at a steady rate, each time with the time; a connection without an answer sends nothing."""
    loop = asyncio.get_running_loop()
    idle: list[_Writer] = []
    answers = {True: 0, False: 0}
    total = int(per_s * seconds)
    ended = loop.create_future()

    def answered(is_good: bool) -> None:
        answers[is_good] += 1
        if sum(answers.values()) == total:
            ended.set_result(None)

    for _ in range(connections):
        await loop.create_connection(lambda: _Writer(idle, answered), target.host, target.port, ssl=target.tls)
    cpu_s, started = time.process_time(), time.monotonic()
    sent = 0
    while sent < total:
        due = min(total, int((time.monotonic() - started) * per_s) + 1)
        while sent < due and idle:
            body = b'{"data":{"sent":"%.6f"}}' % time.monotonic()
            idle.pop().send(target.request("PATCH", path, body, content_type))
            sent += 1
        await asyncio.sleep(0.0005)
    await ended
    return Wrote(answers[True], answers[False], time.monotonic() - started, time.process_time() - cpu_s)

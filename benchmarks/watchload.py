"""Watch delivery as seen from outside: writers at a steady rate, and watchers that tell how old each event was.

Both are processes of their own, so that what each of them costs is known, and neither can be mistaken for the server.
They share a core with each other, so they are bare sockets and as little Python as will do: every watcher counts the
events it gets, a few of them also read when each was sent. Not a benchmark of its own; ``apiserver.py`` uses it, and
``trioload.py`` its sockets.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import select
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

from loadclient import Target

MARK = b'"sent":"'
STAMP = b'{"data":{"sent":"%017.6f"}}'
"""A patch that says when it was sent; always as long, so that a request's head is the same each time."""
PATIENCE_S = 10
NAP_S = 0.0005
"""How long writers rest between two looks at the clock: so many requests a second leave in small groups."""
CHECK_S = 0.05
"""How long watchers wait for an event before they look whether something else is asked of them."""
LINE_FEED, CARRIAGE_RETURN = b"\n\r"
ROOM = 1024
"""Sockets that may have something to say at once."""


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
    reads: int
    """How often any of them was given something: so many deliveries there were, or a few less."""
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
    pipe.send(work(pipe, *arguments))


def connected(target: Target) -> socket.socket:
    plain = socket.create_connection((target.host, target.port))
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return plain if target.tls is None else target.tls.wrap_socket(plain, server_hostname=target.host)


class Peer(Protocol):
    """One connection of a crowd."""

    socket: socket.socket

    def take(self, received: bytearray, size: int, now: float) -> None:
        """Look at what came; the next one receives in the same place."""
        ...


class Crowd:
    """Connections that are read together."""

    def __init__(self) -> None:
        self._peers: dict[int, Peer] = {}
        self._epoll = select.epoll()
        self._received = bytearray(1 << 18)
        self.reads = 0

    def add(self, peer: Peer) -> None:
        peer.socket.setblocking(False)
        self._peers[peer.socket.fileno()] = peer
        self._epoll.register(peer.socket, select.EPOLLIN)

    def remove(self, peer: Peer) -> None:
        """Close a connection."""
        del self._peers[peer.socket.fileno()]
        self._epoll.unregister(peer.socket)
        peer.socket.close()

    def close(self) -> None:
        """Close all of them."""
        for peer in tuple(self._peers.values()):
            self.remove(peer)
        self._epoll.close()

    def read(self, timeout_s: float) -> None:
        """Take what has come; wait for the first of it up to a time."""
        for number, _ in self._epoll.poll(timeout_s, ROOM):
            peer = self._peers[number]
            self.reads += self._receive(peer)
            while isinstance(peer.socket, ssl.SSLSocket) and peer.socket.pending():
                self._receive(peer)  # TLS has read ahead, of which epoll knows nothing

    def _receive(self, peer: Peer) -> bool:
        """Let a connection look at what has come; over TLS that may be less than can be read, or nothing for it."""
        try:
            size = peer.socket.recv_into(self._received)
        except ssl.SSLWantReadError:
            return False
        if not size:
            raise ConnectionError("the server has closed a connection")
        peer.take(self._received, size, time.monotonic())
        return True


def occurrences(received: bytearray, byte: int, size: int) -> int:
    """How often a byte occurs; ``count`` looks at each byte on its own, ``find`` at many together."""
    found, at = 0, received.find(byte, 0, size)
    while at >= 0:
        found += 1
        at = received.find(byte, at + 1, size)
    return found


class _Watcher:
    """Counts lines where they arrive; only a sampled one looks at them."""

    def __init__(self, target: Target, path: str, *, is_sampled: bool) -> None:
        self.socket = connected(target)
        self.socket.sendall(target.request("GET", path))
        self.lines = 0
        """Line breaks of the body; those of the HTTP around it have a carriage return."""
        self.ages_s: list[float] = []
        self._is_sampled = is_sampled
        self._tail = b""

    def take(self, received: bytearray, size: int, now: float) -> None:
        self.lines += occurrences(received, LINE_FEED, size) - occurrences(received, CARRIAGE_RETURN, size)
        if self._is_sampled:
            self._sample(self._tail + received[:size], now)

    def _sample(self, data: bytes, now: float) -> None:
        begin = at = 0
        while (at := data.find(MARK, begin)) >= 0:
            end = data.find(b'"', at + len(MARK))
            if end < 0:
                break
            self.ages_s.append(now - float(data[at + len(MARK) : end]))
            begin = end
        self._tail = data[max(begin, len(data) - 64) :] if at < 0 else data[at:]


def receive(pipe: Connection, target: Target, path: str, watchers: int, sampled: int) -> Heard:
    """Watch; say when all have heard of what is there, then wait for as many more events as the pipe says."""
    crowd = Crowd()
    found = [_Watcher(target, path, is_sampled=number < sampled) for number in range(watchers)]
    for watcher in found:
        crowd.add(watcher)
    _read_until(crowd, found, 1)
    began_s, crowd.reads = time.process_time(), 0
    pipe.send("watching")
    while not pipe.poll():
        crowd.read(CHECK_S)
    _read_until(crowd, found, 1 + pipe.recv())
    ages_s = [age for watcher in found for age in watcher.ages_s]
    return Heard([watcher.lines - 1 for watcher in found], ages_s, crowd.reads, time.process_time() - began_s)


def _read_until(crowd: Crowd, watchers: list[_Watcher], lines: int) -> None:
    """Read until each has so many lines, though not for ever."""
    given_up_at = time.monotonic() + PATIENCE_S
    while any(watcher.lines < lines for watcher in watchers) and time.monotonic() < given_up_at:
        crowd.read(CHECK_S)


class Writer:
    """One connection: idle, or waiting for the answer to one request."""

    def __init__(self, target: Target, answered: Callable[[Writer, bytes], None]) -> None:
        self.socket = connected(target)
        self._answered = answered
        self._data = b""

    def take(self, received: bytearray, size: int, now: float) -> None:
        data = self._data + received[:size]
        head = data.find(b"\r\n\r\n")
        at = data.find(b"Content-Length: ", 0, max(head, 0))
        if head < 0 or len(data) < head + 4 + int(data[at + 16 : data.index(b"\r", at)]):
            self._data = data
            return
        self._data = b""
        self._answered(self, data)


def is_good(answer: bytes) -> bool:
    """Whether the server did what it was asked to."""
    return answer.startswith(b"HTTP/1.1 2")


def write(
    _pipe: Connection, target: Target, path: str, content_type: str, per_s: int, seconds: float, connections: int
) -> Wrote:
    """Patch one object at a steady rate, each time with the time; a connection without an answer sends nothing."""
    crowd, idle, answers = Crowd(), list[Writer](), {True: 0, False: 0}

    def answered(writer: Writer, answer: bytes) -> None:
        answers[is_good(answer)] += 1
        idle.append(writer)

    for _ in range(connections):
        idle.append(Writer(target, answered))
        crowd.add(idle[-1])
    head = target.request("PATCH", path, STAMP % 0, content_type).removesuffix(STAMP % 0)
    cpu_s, started = time.process_time(), time.monotonic()
    sent, total = 0, int(per_s * seconds)
    while sum(answers.values()) < total:
        due = min(total, int((time.monotonic() - started) * per_s) + 1)
        while sent < due and idle:
            idle.pop().socket.sendall(head + STAMP % time.monotonic())
            sent += 1
        time.sleep(NAP_S)
        crowd.read(0 if sent < total else CHECK_S)
    return Wrote(answers[True], answers[False], time.monotonic() - started, time.process_time() - cpu_s)

"""``LocalProxies``: TCP listeners of this process that hand each connection on to one of some backends.

    async with LocalProxies() as proxies: ...

Guarantees: connections go to the backends in turn; one that refuses is passed over, and while none accepts a client
waits for ``patience_s``, for a server that was just started may not listen yet. Bytes go both ways in order, each way
ends by itself, and a side that does not read holds back the other: no more than some hundred kilobytes are under way.
Beyond ``limit`` connections of a Service clients wait in the system's queue. Nothing here blocks the event loop.

A connection belongs to the backend that it was handed to: one whose backend ends is reset, so that nobody takes half an
answer for a whole one; one whose backend is no longer named goes on until either side ends it.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from attractor.operators.devplane.drivers.proxies import CannotListen, Place
from attractor.wire.addresses import BACKLOG, connected, listening
from attractor.wire.link import RECEIVE_BYTES, Link, Party
from attractor.wire.poller import poller

if TYPE_CHECKING:
    from types import TracebackType

    from attractor.wire.poller import Poller

LIMIT = 512
PATIENCE_S = 3.0
DIAL_S = 2.0
"""How long one backend may take to accept."""
AGAIN_S = 0.05
"""How long to wait before all backends are asked once more."""
GRACE_S = 1.0
"""How long a listener that is closed lets what was already said go out."""
BREATH_S = 1.0
NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
RESET = struct.pack("ii", 1, 0)

log = logging.getLogger("attractor.devplane.proxy")


class LocalProxies:
    """The listeners of this process by the uid of their Service; see the module."""

    def __init__(self, *, limit: int = LIMIT, patience_s: float = PATIENCE_S) -> None:
        self._limit = limit
        self._patience_s = patience_s
        self._listeners: dict[str, _Listener] = {}
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for uid in list(self._listeners):
            self._listeners.pop(uid).abort()
        await self._group.__aexit__(None, None, None)  # what ends the block is nothing of these tasks'

    async def serve(self, uid: str, at: Place, backends: tuple[Place, ...]) -> Place:
        """Listen for a Service; see ``Proxies``."""
        known = self._listeners.get(uid)
        if known is not None and at.port not in {0, known.place.port}:
            await self.close(uid)
            known = None
        if known is None:
            known = self._listeners[uid] = await self._open(at)
        known.backends = backends
        return known.place

    async def close(self, uid: str) -> None:
        """Stop listening, let go out what was said, and end the connections; see ``Proxies``."""
        known = self._listeners.pop(uid, None)
        if known is not None:
            await known.aclose()

    def connections(self, uid: str) -> int:
        """Return how many clients of a Service are connected."""
        return len(self._listeners[uid].relays) if uid in self._listeners else 0

    async def _open(self, at: Place) -> _Listener:
        try:
            entrances = await listening(at.address, at.port)
        except OSError as error:
            raise CannotListen(_why(at, error)) from error
        if at.port == 0:  # a name may have several addresses; a free port of one need not be free at another
            for each in entrances[1:]:
                each.close()
            del entrances[1:]
        listener = _Listener(entrances, at.address, self._group, limit=self._limit, patience_s=self._patience_s)
        listener.resume()
        return listener


def _why(at: Place, error: OSError) -> str:
    """Return the problem with an address, for people."""
    if error.errno == errno.EADDRINUSE:
        return f"{at} is in use by another program; end that one, or give the Service another port (0: a free one)"
    if error.errno == errno.EACCES:
        return f"{at} may not be listened on by this user; give the Service a port above 1023"
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return f"{at.address} is no address of this machine; give the Service one that is, such as 127.0.0.1"
    return f"{at} cannot be listened on: {error.strerror or error}"


class _Listener:
    """One Service: who may come in, and where they are sent."""

    def __init__(
        self, entrances: list[socket.socket], address: str, group: asyncio.TaskGroup, *, limit: int, patience_s: float
    ) -> None:
        self.place = Place(address, entrances[0].getsockname()[1])
        self.backends: tuple[Place, ...] = ()
        self.relays: set[_Relay] = set()
        """Clients who have come in and not gone yet, those included who wait for a backend."""
        self._entrances = entrances
        self._is_accepting = False
        self._group = group
        self._limit = limit
        self._patience_s = patience_s
        self._turn = 0
        self._loop = asyncio.get_running_loop()
        self._poller = poller(self._loop)
        self._received = memoryview(bytearray(RECEIVE_BYTES))
        self._is_empty = asyncio.Event()

    # Coming in.

    def resume(self) -> None:
        """Let clients in, unless there are too many."""
        if not self._is_accepting and len(self.relays) < self._limit:
            for entrance in self._entrances:
                self._loop.add_reader(entrance, self._accept, entrance)
                self._is_accepting = True

    def _pause(self) -> None:
        if self._is_accepting:
            for entrance in self._entrances:
                self._loop.remove_reader(entrance)
            self._is_accepting = False

    def _accept(self, entrance: socket.socket) -> None:
        for _ in range(BACKLOG):
            if len(self.relays) >= self._limit:
                self._pause()
                return
            try:
                client, _ = entrance.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in NO_ROOM:
                    raise
                log.error("no client is let in for a while", extra={"place": str(self.place), "why": str(error)})
                self._pause()
                self._loop.call_later(BREATH_S, self.resume)
                return
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            relay = _Relay(self, client)
            self.relays.add(relay)
            relay.dialing = self._group.create_task(self._hand_on(relay))

    # Handing on.

    async def _hand_on(self, relay: _Relay) -> None:
        """Find a backend for a client, or send the client away."""
        backend: socket.socket | None = None
        try:
            backend = await self._dial()
        finally:
            relay.dialing = None
            if backend is None:
                relay.reset()
        relay.start(self._poller, self._received, backend)

    async def _dial(self) -> socket.socket | None:
        """A connection to the backend whose turn it is, or to the next one that accepts; None when none does."""
        deadline = self._loop.time() + self._patience_s
        while True:
            self._turn += 1
            turn, backends = self._turn, self.backends
            for each in range(len(backends)):
                backend = backends[(turn + each) % len(backends)]
                with suppress(OSError):  # a time-out is one of them
                    async with asyncio.timeout(DIAL_S):
                        found = await connected(*backend)
                    if found.getsockname() != found.getpeername():
                        return found
                    found.close()  # nobody listens: the system has led it to itself, as it may on loopback
            if self._loop.time() >= deadline:
                return None
            await asyncio.sleep(AGAIN_S)

    # Ends.

    def forget(self, relay: _Relay) -> None:
        """A client is gone; another one may come in."""
        self.relays.discard(relay)
        if not self.relays:
            self._is_empty.set()
        self.resume()

    def _shut(self) -> None:
        self._pause()
        while self._entrances:
            self._entrances.pop().close()

    async def aclose(self) -> None:
        """Let nobody in, let what was said go out, and end every connection."""
        self._shut()
        self._is_empty.clear()
        for relay in tuple(self.relays):
            relay.finish()
        if self.relays:
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await self._is_empty.wait()
        self.abort()

    def abort(self) -> None:
        """End everything at once."""
        self._shut()
        for relay in tuple(self.relays):
            relay.reset()


class _End(Party):
    """One side of a relay: what it receives goes to the other side."""

    def __init__(self, relay: _Relay, link: Link) -> None:
        self.relay = relay
        self.link = link
        self.other: _End = self
        self.has_ended = False

    def received(self, data: bytes) -> None:
        self.other.link.write(data)

    def ended(self) -> bool:
        """This side says no more; the other may go on. When both have said all, that is the end."""
        if not self.has_ended:
            self.has_ended = True
            self.other.link.write_eof()
            if self.other.has_ended:
                self.relay.finish()
        return True

    def pause_writing(self) -> None:
        self.other.link.pause_reading()

    def resume_writing(self) -> None:
        if not self.other.has_ended:
            self.other.link.resume_reading()

    def lost(self, error: Exception | None) -> None:
        self.relay.on_lost(error)


class _Relay:
    """One client, and the backend that it was handed to."""

    def __init__(self, listener: _Listener, client: socket.socket) -> None:
        self.dialing: asyncio.Task[None] | None = None
        """While there is no backend."""
        self._listener = listener
        self._sockets = [client]
        self._ends: list[_End] = []
        self._lost = 0

    def start(self, polling: Poller, received: memoryview, backend: socket.socket | None) -> None:
        """Let both sides talk."""
        if backend is None:
            return
        self._sockets.append(backend)
        first, second = (_End(self, Link(polling, sock, received)) for sock in self._sockets)
        first.other, second.other = second, first
        self._ends = [first, second]
        for end in self._ends:
            end.link.start(end)

    def on_lost(self, error: Exception | None) -> None:
        """One of both links is gone: so is the other, with a reset where this one did not end in good order."""
        self._lost += 1
        if self._lost == len(self._ends):
            self._listener.forget(self)
        elif error is None:
            self.finish()
        else:
            self.reset()

    def finish(self) -> None:
        """Send what was received, then end; a client without a backend is sent away."""
        if not self._ends:
            self.reset()
        for end in self._ends:
            end.link.close()

    def reset(self) -> None:
        """End at once, and let both sides know that this was no end in good order."""
        if self.dialing is not None:
            self.dialing.cancel()
        for sock in self._sockets:
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        for end in self._ends:
            end.link.abort()
        if not self._ends:
            for sock in self._sockets:
                sock.close()
            self._listener.forget(self)

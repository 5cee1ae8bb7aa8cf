"""``Watch``: a stream of events, from lines of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
import orjson

from attractor.client.encoding.codec import encoded
from attractor.client.encoding.heads import decode_line, decode_mark
from attractor.client.encoding.paths import resource_path
from attractor.client.errors import GarbledAnswer
from attractor.client.events import Bookmark, Event, WatchEvent
from attractor.client.transport import ClientRequest
from attractor.objects.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from attractor.client.encoding.codec import Codec
    from attractor.client.events import EventType
    from attractor.client.kinds import AnyKind
    from attractor.client.transport import ByteStream
    from attractor.client.verbs.requests import Requester

T = TypeVar("T")

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
MAX_LINE_BYTES = 64 << 20


_PLAIN: dict[bytes, EventType] = {
    b'{"type":"ADDED","object":': "ADDED",
    b'{"type":"MODIFIED","object":': "MODIFIED",
    b'{"type":"DELETED","object":': "DELETED",
}
"""How lines begin as servers write them; any other order or spacing is as good, only slower to read."""
_LONGEST = max(map(len, _PLAIN)) + 1


class LineSplitter:
    """From pieces of a stream to whole lines."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._rest_bytes = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that are complete now, without their ends and without empty ones; raises ``GarbledAnswer``."""
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest.clear()
            self._rest_bytes = 0
        if rest:
            self._rest.append(rest)
            self._rest_bytes += len(rest)
            if self._rest_bytes > MAX_LINE_BYTES:
                raise GarbledAnswer(f"a watch event is longer than {MAX_LINE_BYTES} bytes")
        return [line for line in lines if line.strip()]

    @property
    def is_between_lines(self) -> bool:
        """Return whether nothing is left over."""
        return not self._rest


def read_event(line: bytes, codec: Codec[T]) -> Event[T]:
    """One line of a watch; raises the ``ApiError`` that an ERROR event stands for, or ``GarbledAnswer``."""
    start = line.find(b"{", 1, _LONGEST)
    plain = _PLAIN.get(line[:start])
    if plain is not None and line.endswith(b"}"):
        data = line[start:-1]
        try:
            head = encoded(data)
        except GarbledAnswer:
            return _read_any(line, codec)  # something follows the object, or it is none
        obj: Any = head if codec.reads_encoded else codec.decode(data)
        return WatchEvent(plain, obj, head.key, head.uid, head.resource_version)
    return _read_any(line, codec)


def _read_any(line: bytes, codec: Codec[T]) -> Event[T]:
    try:
        told = decode_line(line)
        match told.type:
            case "BOOKMARK":
                meta = decode_mark(told.object).metadata
                return Bookmark(meta.resource_version, (meta.annotations or {}).get(INITIAL_EVENTS_END) == "true")
            case "ERROR":
                raise _error(orjson.loads(memoryview(told.object)))
            case "ADDED" | "MODIFIED" | "DELETED":
                head = encoded(told.object)
            case _:
                raise GarbledAnswer(f"the watch sent an event of unknown type {told.type!r}")
    except (msgspec.DecodeError, orjson.JSONDecodeError, RecursionError) as error:
        shown = line[:120].decode("utf-8", "replace")
        raise GarbledAnswer(f"the watch sent what is no event: {error}: {shown!r}") from error
    obj: Any = head if codec.reads_encoded else codec.decode(told.object)
    return WatchEvent(told.type, obj, head.key, head.uid, head.resource_version)


def _error(status: Any) -> ApiError:
    return ApiError.from_status(status) if isinstance(status, dict) else GarbledAnswer("an ERROR event has no Status")


class Watch(Generic[T]):
    """One watch; see ``Client.watch``. Leaving the ``async with`` ends it."""

    def __init__(self, requester: Requester, kind: AnyKind, namespace: str, query: tuple[tuple[str, str], ...]) -> None:
        self._requester = requester
        self._kind = kind
        self._namespace = namespace
        self._query = query
        self._stream: ByteStream | None = None
        self._codec: Codec[T] | None = None
        self._splitter = LineSplitter()
        self._lines: Iterator[bytes] = iter(())

    async def __aenter__(self) -> Self:
        mapped = await self._requester.mapping.find(self._kind)
        info = mapped.info
        path = resource_path(info.group, info.version, info.resource, self._namespace)
        request = ClientRequest("GET", path, self._query, accept=mapped.codec.accept)
        self._codec = mapped.codec
        self._stream = await self._requester.open_stream(request)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening; safe to call at any time and more than once."""
        if self._stream is not None:
            self._stream.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event[T]:
        assert self._codec is not None, "a watch begins with `async with`"
        while True:
            for line in self._lines:
                return read_event(line, self._codec)
            if not await self._read_on():
                raise StopAsyncIteration

    async def receive(self) -> list[Event[T]]:
        """The events that have come, at least one; empty when the watch is over. Raises as the iteration does."""
        assert self._codec is not None, "a watch begins with `async with`"
        while True:
            events = [read_event(line, self._codec) for line in self._lines]
            if events or not await self._read_on():
                return events

    async def _read_on(self) -> bool:
        assert self._stream is not None
        piece = await self._stream.receive()
        if not piece and not self._splitter.is_between_lines:
            raise GarbledAnswer("the watch ended in the middle of an event")
        self._lines = iter(self._splitter.feed(piece))
        return bool(piece)

"""HTTP/2 as bytes, as much of it as gRPC needs: frames and header blocks; pure.

We tell the peer to keep no table of headers (``SETTINGS_HEADER_TABLE_SIZE`` 0), so that a header block means the same
whenever it comes. All answers of a kind have the same headers, so each block is decoded once and then remembered.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING

from hpack import Decoder
from hpack.exceptions import HPACKError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
_PADDED, _PRIORITY = 0x8, 0x20

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 1, 2, 3, 4, 5

DEFAULT_WINDOW = 65_535
MAX_WINDOW = 2**31 - 1
CANCEL = 8

_FRAME_HEAD = Struct(">HBBBI")
_SETTING = Struct(">HI")


class ProtocolError(Exception):
    """The peer does not speak HTTP/2 as we understand it."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    length = len(payload)
    return _FRAME_HEAD.pack(length >> 8, length & 0xFF, kind, flags, stream) + payload


def settings(values: Mapping[int, int]) -> bytes:
    """A frame of settings."""
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(*item) for item in values.items()))


def read_settings(payload: bytes) -> Iterator[tuple[int, int]]:
    """What a frame of settings says."""
    return _SETTING.iter_unpack(payload)


def window_update(stream: int, grown: int) -> bytes:
    """Allow the peer to send that much more."""
    return frame(WINDOW_UPDATE, 0, stream, grown.to_bytes(4, "big"))


def header_block(headers: Iterable[tuple[str, str]]) -> bytes:
    """Headers that neither side keeps in a table: literals without indexing."""
    block = bytearray()
    for name, value in headers:
        block.append(0)
        for text in (name.encode(), value.encode()):
            block += _length(len(text)) + text
    return bytes(block)


def _length(length: int) -> bytes:
    """A length as seven bits of a byte, and more bytes if they are not enough."""
    if length < 0x7F:
        return bytes([length])
    out, rest = bytearray([0x7F]), length - 0x7F
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


@lru_cache(maxsize=256)
def headers_of(block: bytes) -> Mapping[str, str]:
    """The headers of a block; raises ``ProtocolError``."""
    try:
        return {
            bytes(name).decode(): bytes(value).decode(errors="replace")
            for name, value in Decoder().decode(block, raw=True)
        }
    except (HPACKError, UnicodeDecodeError) as error:
        raise ProtocolError(f"headers that cannot be read: {error}") from error


class Splitter:
    """Cuts what comes into frames: kind, flags, stream and payload, without padding and priorities."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[tuple[int, int, int, bytes]]:
        """The frames that are whole now; raises ``ProtocolError``."""
        if self._rest:
            data = self._rest + data
        found = []
        at, end = 0, len(data)
        while end - at >= _FRAME_HEAD.size:
            high, low, kind, flags, stream = _FRAME_HEAD.unpack_from(data, at)
            start = at + _FRAME_HEAD.size
            stop = start + (high << 8 | low)
            if stop > end:
                break
            payload = data[start:stop]
            if flags & (_PADDED | _PRIORITY) and kind in (DATA, HEADERS):
                payload = _bare(kind, flags, payload)
            found.append((kind, flags, stream & MAX_WINDOW, payload))
            at = stop
        self._rest = data[at:]
        return found


def _bare(kind: int, flags: int, payload: bytes) -> bytes:
    """A payload without padding and priorities."""
    start, stop = 0, len(payload)
    if flags & _PADDED:
        if not payload or payload[0] >= stop:
            raise ProtocolError("a frame is all padding")
        start, stop = 1, stop - payload[0]
    if flags & _PRIORITY and kind == HEADERS:
        start += 5
    return payload[start:stop]

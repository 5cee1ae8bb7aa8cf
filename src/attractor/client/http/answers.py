"""From bytes to answers: HTTP/1.1 as servers send it, with no I/O.

Most answers come whole, in one piece, with a ``Content-Length``: those are recognised by their ends (``whole``), and
their headers are read only if somebody asks. Everything else goes through httptools' parser, piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attractor.client.transport import ClientResponse

_PLAIN = b"HTTP/1.1 2"
_LENGTH = b"\r\ncontent-length: "
_UNUSUAL = (b"\r\ntransfer-enc", b"\r\ncontent-enc", b"\r\nconnection", b"\r\nupgrade", b"\r\n ", b"\r\n\t")
"""What says that an answer is encoded, or where it ends, in another way than by its length."""


class AnswerHeaders(Mapping[str, str]):
    """The headers of an answer by lower-case name, read when first looked at."""

    __slots__ = ("_fields", "_text")

    def __init__(self, text: bytes) -> None:
        self._text = text
        """All lines of the head but the first."""
        self._fields: dict[str, str] | None = None

    def _read(self) -> dict[str, str]:
        if self._fields is None:
            lines = self._text.decode("latin-1").split("\r\n")
            pairs = (line.partition(":") for line in lines if line)
            self._fields = {name.lower(): value.strip(" \t") for name, _, value in pairs}
        return self._fields

    def __getitem__(self, name: str) -> str:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return f"AnswerHeaders({self._read()})"


def whole(data: bytes) -> ClientResponse | None:
    """The answer that these bytes are, if they are just one and it needs no further reading."""
    end = data.find(b"\r\n\r\n")
    if end < 0 or not data.startswith(_PLAIN):
        return None
    head = data[:end].lower()
    at = head.find(_LENGTH)
    if at < 0 or _is_unusual(head) or head.find(_LENGTH[:-2], at + 1) >= 0:
        return None
    length, code = _digits(head, at + len(_LENGTH)), data[9:12]
    body = data[end + 4 :]
    if not code.isdigit() or data[12:13] != b" " or length != b"%d" % len(body):
        return None
    return ClientResponse(int(code), body, AnswerHeaders(data[data.find(b"\r\n") + 2 : end]))


def _is_unusual(head: bytes) -> bool:
    for sign in _UNUSUAL:  # noqa: SIM110 - a generator would cost as much as all of the search
        if sign in head:
            return True
    return False


def _digits(head: bytes, start: int) -> bytes:
    """Return a header's value, from where it starts."""
    end = head.find(b"\r\n", start)
    return head[start:] if end < 0 else head[start:end]

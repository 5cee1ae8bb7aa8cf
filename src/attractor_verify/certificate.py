"""The file: a line that says what it is, a digest, a line of JSON, and compressed columns of numbers."""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

MARK = b"attractor certificate 2\n"
CHUNK = 1 << 16


class Rejected(Exception):
    """The certificate does not show what it claims; the text says where it fails."""


def require(is_so: object, problem: str) -> None:
    """Raise ``Rejected`` where something is not so."""
    if not is_so:
        raise Rejected(problem)


class Certificate:
    """A certificate: header and columns, whose digests are right; everything else in it is still only claimed."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            mark, seal, text = file.readline(len(MARK)), file.readline().strip(), file.readline()
            is_one = mark.startswith(MARK[:22])
            require(is_one, f"{path} is no certificate; `attractor check --certificate FILE` writes one")
            is_known = mark == MARK
            require(is_known, f"{path} is a certificate of another format; verify it with the version that wrote it")
            is_whole = hashlib.sha256(text).hexdigest().encode() == seal
            require(is_whole, f"{path} is damaged: its header does not have the digest that it says")
            self.header: dict[str, Any] = json.loads(text)
            self.columns: dict[str, array[int]] = {}
            for name, kind, size, digest in self.header["sections"]:
                data = file.read(size)
                is_whole = hashlib.sha256(data).hexdigest() == digest
                require(is_whole, f"{path} is damaged: section `{name}` does not have its digest")
                self.columns[name] = _unpacked(data, kind)
            require(not file.read(1), f"{path} is damaged: there is more in it than its header says")


def _unpacked(data: bytes, kind: str) -> array[int]:
    """The numbers that are compressed in these bytes, the lowest byte of each first."""
    column, unpacking, rest = array(kind), zlib.decompressobj(), b""
    for at in range(0, len(data), CHUNK):
        rest += unpacking.decompress(data[at : at + CHUNK])
        whole = len(rest) - len(rest) % column.itemsize
        column.frombytes(rest[:whole])
        rest = rest[whole:]
    require(unpacking.eof and not rest, "a section ends in the middle")
    if sys.byteorder == "big":
        column.byteswap()
    return column

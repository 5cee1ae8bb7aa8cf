"""The file: a line that says what it is, a digest, a line of JSON, and sections with digests of their own."""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

MARK = b"attractor certificate 1\n"
CHUNK = 1 << 16


class Rejected(Exception):
    """The certificate does not show what it claims; the text says where it fails."""


def require(is_so: object, problem: str) -> None:
    """Raise ``Rejected`` where something is not so."""
    if not is_so:
        raise Rejected(problem)


class Certificate:
    """A certificate whose digests are right; everything else in it is still only claimed."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            mark = file.readline(len(MARK))
            require(
                mark.startswith(MARK[:22]), f"{path} is no certificate; `attractor check --certificate FILE` writes one"
            )
            require(
                mark == MARK, f"{path} is a certificate of another format; verify it with the version that wrote it"
            )
            seal, text = file.readline().strip(), file.readline()
            is_whole = hashlib.sha256(text).hexdigest().encode() == seal
            require(is_whole, f"{path} is damaged: its header does not have the digest that it says")
            self.header: dict[str, Any] = json.loads(text)
            self._sections: dict[str, bytes] = {}
            for section in self.header["sections"]:
                self._sections[section["name"]] = data = file.read(section["bytes"])
                is_whole = hashlib.sha256(data).hexdigest() == section["sha256"]
                require(is_whole, f"{path} is damaged: section `{section['name']}` does not have its digest")
            require(not file.read(1), f"{path} is damaged: there is more in it than its header says")

    def numbers(self) -> list[int]:
        """The numbers of the rows, seven bits to a byte, the lowest first."""
        found, value, shift = [], 0, 0
        for byte in zlib.decompress(self._sections["rows"]):
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                found.append(value)
                value = shift = 0
        return found

    def columns(self, section: str, kind: str, width: int, columns: int = 1) -> array[int]:
        """Columns of a record of so many bytes for each state, in blocks: all first bytes, then all second ones, ..."""
        column, data, at = array(kind), self._sections[section], 0
        for start in [*range(0, self.header["states"], CHUNK)] * columns:
            count, size = min(CHUNK, self.header["states"] - start), int.from_bytes(data[at : at + 4], "little")
            planes, records = zlib.decompress(data[at + 4 : at + 4 + size]), bytearray(width * count)
            require(len(planes) == width * count, f"a block of {section} has another length than the header says")
            for each in range(width):
                records[each::width] = planes[each * count : (each + 1) * count]
            column.frombytes(records)
            at += 4 + size
        if sys.byteorder == "big":
            column.byteswap()
        return column

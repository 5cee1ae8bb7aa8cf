"""The format of the SQLite engine's file, with its checksums; pure but for the header.

Tables: ``log`` has one row for each group of transactions that were made durable together; ``entry`` has the state at
the revision ``meta.folded``, and the log goes on from there. Every row has a checksum of all its columns. ``meta``
knows how many entries there are and the sum of their checksums, so that one that is missing is missed, and has a seal
of its own. That the end of the log is missing only the high-water mark can tell (``mark``).

Format 1 had no checksums and no mark; ``SqliteLog.open`` brings such a file up to date.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, TypeAlias

import apsw
import msgspec

from attractor.store.contract import Entry, StoreError, StoreFull, StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from attractor.store.mvcc import Commit, Mvcc

APPLICATION_ID = 0x41545452
"""``ATTR``: how we know our own files."""
FORMAT = 2

HEADER = struct.Struct(">16s44xi4xi28x")
"""Of an SQLite file: the magic text, ``user_version`` at byte 60, ``application_id`` at byte 68."""

Record: TypeAlias = list[tuple[int, list[tuple[str, bytes | None, int]]]]
"""A row of the log: of each transaction its revision and, for each key, the value (None: deleted) and ``created``."""

encode_record = msgspec.msgpack.Encoder().encode
decode_record = msgspec.msgpack.Decoder(Record).decode

SCHEMA = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE entry (
         key TEXT PRIMARY KEY, value BLOB NOT NULL, revision INTEGER NOT NULL, created INTEGER NOT NULL,
         checksum INTEGER NOT NULL)""",
    "CREATE TABLE log (last INTEGER PRIMARY KEY, record BLOB NOT NULL, checksum INTEGER NOT NULL)",
)

MIGRATION = (
    "ALTER TABLE entry ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE log ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    f"PRAGMA user_version = {FORMAT}",
)
"""From format 1; the checksums are for ``SqliteLog`` to fill in."""

SUM_MODULUS = 1 << 62
"""Sums of checksums stay within what SQLite holds as an integer."""

_NUMBERS = struct.Struct(">qq")


class Damaged(Exception):
    """Something in the file is not as it was written."""


def log_checksum(last: int, record: bytes) -> int:
    """The checksum of a row of the log."""
    return zlib.crc32(record, zlib.crc32(_NUMBERS.pack(last, len(record))))


def entry_checksum(entry: Entry) -> int:
    """The checksum of an entry."""
    key = entry.key.encode()
    numbers = _NUMBERS.pack(entry.revision, entry.created) + _NUMBERS.pack(len(key), len(entry.value))
    return zlib.crc32(entry.value, zlib.crc32(key, zlib.crc32(numbers)))


def sealed(meta: Mapping[str, int]) -> dict[str, int]:
    """What is written into ``meta``: the numbers and their seal."""
    numbers = {name: value for name, value in meta.items() if name != "seal"}
    return {**numbers, "seal": zlib.crc32(repr(sorted(numbers.items())).encode())}


def read_entry(row: Sequence[object]) -> Entry:
    """An entry and its checksum as the file has them; raises ``Damaged``."""
    key, value, revision, created, checksum = row
    whole = type(key) is str and type(value) is bytes and type(revision) is int and type(created) is int
    if not whole:
        raise Damaged(f"the entry {key!r} is not one")
    entry = Entry(key, value, revision, created)  # type: ignore[arg-type]
    try:
        same = entry_checksum(entry) == checksum
    except (UnicodeEncodeError, struct.error):
        same = False
    if not same:
        raise Damaged(f"the entry {key!r} is not as it was written")
    return entry


def read_record(last: object, record: object, checksum: object) -> Record:
    """A row of the log; raises ``Damaged``."""
    if type(last) is not int or type(record) is not bytes or log_checksum(last, record) != checksum:
        raise Damaged(f"the row {last!r} of the log is not as it was written")
    return decode_record(record)


def record_of(commits: Sequence[Commit]) -> Record:
    """What a row of the log says of a group."""
    return [
        (
            commit.view.revision,
            [
                (event.key, event.value, event.previous.created if event.previous else event.revision)
                for event in commit.events
            ],
        )
        for commit in commits
    ]


def replay(mvcc: Mvcc, record: Record) -> None:
    """Do again what a row of the log says; raises ``Damaged`` unless it follows."""
    for revision, changes in record:
        entries = {
            key: None if value is None else Entry(key, value, revision, created) for key, value, created in changes
        }
        if revision != mvcc.head.revision + 1:
            raise Damaged(f"the log jumps from {mvcc.head.revision} to {revision}")
        mvcc.append(mvcc.head.applied(revision, entries))


def check_header(path: Path) -> bool:
    """Whether there is anything; raises for a file that is not ours, without touching it."""
    try:
        with path.open("rb") as file:
            start = file.read(HEADER.size)
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise StoreUnusable(f"{path}: the directory {path.parent} does not exist; create it first") from None
        return False
    except OSError as error:
        raise StoreUnusable(f"{path}: cannot be read: {error.strerror}; give a file that this user owns") from error
    if not start:
        return False
    if len(start) < HEADER.size or not start.startswith(b"SQLite format 3\0"):
        raise StoreUnusable(f"{path}: not a database; give another path, or move the file away")
    _, version, application = HEADER.unpack(start)
    if application != APPLICATION_ID:
        raise StoreUnusable(f"{path}: a database of another program; give another path, or move the file away")
    if version > FORMAT:
        raise StoreUnusable(
            f"{path}: written by a newer version (format {version}, this one knows up to {FORMAT}); upgrade to open it"
        )
    return True


def unusable(path: Path, error: Exception) -> StoreError:
    """Why a store cannot be opened, and what to do."""
    if isinstance(error, apsw.BusyError):
        return in_use(path)
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError | PermissionError):
        return StoreUnusable(f"{path}: cannot be written; make the file and its directory writable for this user")
    if isinstance(error, apsw.FullError):
        return StoreFull(f"{path}: no space left; free some, then open again")
    if isinstance(error, apsw.IOError | apsw.NoMemError):
        return StoreUnusable(f"{path}: cannot be opened: {error}")
    # Whatever else happens while a file is read is the file's fault: damage makes SQLite and the decoder say anything.
    return StoreUnusable(
        f"{path}: damaged ({error or type(error).__name__}); restore it from a backup with `attractor store restore`, "
        f"or keep what can be saved with `attractor store repair {path}`"
    )


def in_use(path: Path) -> StoreUnusable:
    """Somebody else has it."""
    return StoreUnusable(f"{path}: in use by another process; stop that one, or give another path")

"""The file of the SQLite engine: an append-only log of transactions, and the state at the log's beginning.

Tables: ``log`` has one row for each group of transactions that were made durable together; ``entry`` has the state at
the revision ``meta.folded``, and the log goes on from there. Folding moves the oldest rows of the log into ``entry``, a
few at a time and each time in one transaction, so that there is no moment at which the file is not whole.

Everything here blocks and belongs to one thread at a time.
"""

from __future__ import annotations

import contextlib
import os
import struct
from typing import TYPE_CHECKING, Any, TypeAlias

import apsw
import msgspec

from attractor.store.contract import Entry, StoreError, StoreFull, StoreUnavailable, StoreUnusable
from attractor.store.mvcc import Mvcc, View
from attractor.store.sortedmap import SortedMap

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self

    from attractor.store.mvcc import Commit

APPLICATION_ID = 0x41545452
"""``ATTR``: how we know our own files."""
FORMAT = 1

FOLD_BYTES = 1 << 18
"""How much of the log one step of folding moves: a few milliseconds in which no writer is served."""

_HEADER = struct.Struct(">16s44xi4xi28x")
"""Of an SQLite file: the magic text, ``user_version`` at byte 60, ``application_id`` at byte 68."""

_Record: TypeAlias = list[tuple[int, list[tuple[str, bytes | None, int]]]]
"""A row of the log: of each transaction its revision and, for each key, the value (None: deleted) and ``created``."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Record).decode

_PRAGMAS = (
    # One process, for good: a second one gets an error at once instead of stale reads, and the index of the
    # write-ahead log lives in our memory instead of a shared file. Must come before the first read.
    "PRAGMA locking_mode = EXCLUSIVE",
    # A commit appends to one file and syncs it once. In a rollback journal it would be two files and three syncs.
    "PRAGMA journal_mode = WAL",
    # Sync at each commit. NORMAL would sync at checkpoints only, so that a power cut takes acknowledged writes.
    "PRAGMA synchronous = FULL",
    # Copy into the main file every 16 MB, not every 4 MB: fewer pauses, still a quick recovery after a crash.
    "PRAGMA wal_autocheckpoint = 4000",
    # Give the space of an unusually long write-ahead log back at the next checkpoint.
    "PRAGMA journal_size_limit = 67108864",
)

_SCHEMA = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO meta VALUES ('folded', 0), ('compacted', 0)",
    """CREATE TABLE entry (
         key TEXT PRIMARY KEY, value BLOB NOT NULL, revision INTEGER NOT NULL, created INTEGER NOT NULL)""",
    "CREATE TABLE log (last INTEGER PRIMARY KEY, record BLOB NOT NULL)",
)


class SqliteLog:
    """An open file, locked for this process."""

    def __init__(self, path: Path, db: apsw.Connection) -> None:
        self._path = path
        self._db = db
        self.folded = 0
        """``entry`` is the state at this revision, and every row of ``log`` is later."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open or create the file, for its owner's eyes only; raises ``StoreUnusable`` for what cannot be."""
        _check_header(path)
        _create_private(path)
        db = None
        try:
            db = apsw.Connection(str(path))
            log = cls(path, db)
            log._prepare()
        except apsw.Error as error:
            if db is not None:
                db.close(True)
            raise _unusable(path, error) from error
        return log

    def load(self, *, history_limit: int) -> Mvcc:
        """All that the file holds."""
        try:
            meta = dict(self._db.execute("SELECT name, value FROM meta"))
            rows: list[Any] = self._db.execute(
                "SELECT key, value, revision, created FROM entry ORDER BY key"
            ).fetchall()
            entries = [Entry(*row) for row in rows]
            self.folded = meta["folded"]
            head = View(self.folded, SortedMap.of([entry.key for entry in entries], entries))
            mvcc = Mvcc(head, history_limit=history_limit)
            for last, record in self._db.execute("SELECT last, record FROM log ORDER BY last"):
                _replay(mvcc, record)
                if mvcc.head.revision != last:
                    raise msgspec.DecodeError(f"the log jumps from {mvcc.head.revision} to {last}")
            mvcc.compact(max(meta["compacted"], mvcc.compacted))
        except (msgspec.DecodeError, apsw.Error) as error:
            raise _unusable(self._path, error) from error
        return mvcc

    def append(self, commits: Sequence[Commit], compacted: int | None = None) -> None:
        """Make some transactions durable, and the floor of the history if it was raised: all or nothing."""
        try:
            if compacted is None:
                self._append(commits)  # one statement is a transaction by itself
                return
            with _Transaction(self._db):
                self._append(commits)
                self._db.execute("UPDATE meta SET value = max(value, ?) WHERE name = 'compacted'", (compacted,))
        except apsw.Error as error:
            raise self._failed(error) from error

    def _append(self, commits: Sequence[Commit]) -> None:
        if commits:
            self._db.execute("INSERT INTO log VALUES (?, ?)", (commits[-1].revision, _encode(_record(commits))))

    def fold(self, floor: int) -> bool:
        """Move one piece of the log, up to a revision at most, into the state; answers whether there is more."""
        changed: dict[str, tuple[str, bytes, int, int] | None] = {}
        last, size = self.folded, 0
        try:
            for row_last, record in self._db.execute(
                "SELECT last, record FROM log WHERE last <= ? ORDER BY last", (floor,)
            ):
                for revision, changes in _decode(record):
                    for key, value, created in changes:
                        changed[key] = None if value is None else (key, value, revision, created)
                last, size = row_last, size + len(record)
                if size >= FOLD_BYTES:
                    break
            if last > self.folded:
                with _Transaction(self._db):
                    self._fold_in(last, changed)
                self.folded = last
        except apsw.Error as error:
            raise self._failed(error) from error
        return size >= FOLD_BYTES

    def _fold_in(self, last: int, changed: dict[str, tuple[str, bytes, int, int] | None]) -> None:
        self._db.executemany("DELETE FROM entry WHERE key = ?", [(key,) for key, row in changed.items() if row is None])
        # In key order: neighbours share a page.
        rows = [row for _, row in sorted(changed.items()) if row is not None]
        self._db.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?)", rows)
        self._db.execute("DELETE FROM log WHERE last <= ?", (last,))
        self._db.execute("UPDATE meta SET value = ? WHERE name = 'folded'", (last,))

    def close(self) -> None:
        """Give the file back, checkpointed."""
        self._db.close(True)

    def _prepare(self) -> None:
        locking, *others = _PRAGMAS
        self._db.execute(locking)
        if self._db.pragma("application_id") != APPLICATION_ID:
            # Before the switch to the write-ahead log, so that the main file says whose it is from its first byte on.
            with _Transaction(self._db):
                for statement in _SCHEMA:
                    self._db.execute(statement)
        for pragma in others:
            self._db.execute(pragma)

    def _failed(self, error: apsw.Error) -> StoreError:
        if isinstance(error, apsw.FullError):
            return StoreFull(f"{self._path}: no space left, nothing was written; free some, then write again ({error})")
        return StoreUnavailable(f"{self._path}: cannot write: {error}; reads go on")


class _Transaction:
    """BEGIN, then COMMIT or ROLLBACK. Unlike the connection's own context manager it makes no savepoint."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if error is None:
                self._db.execute("COMMIT")
        finally:
            # After a failed COMMIT too. Some errors have rolled back by themselves.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")


def _record(commits: Sequence[Commit]) -> _Record:
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


def _replay(mvcc: Mvcc, record: bytes) -> None:
    for revision, changes in _decode(record):
        entries = {
            key: None if value is None else Entry(key, value, revision, created) for key, value, created in changes
        }
        if revision != mvcc.head.revision + 1:
            raise msgspec.DecodeError(f"the log jumps from {mvcc.head.revision} to {revision}")
        mvcc.append(mvcc.head.applied(revision, entries))


def _create_private(path: Path) -> None:
    """Make a file that nobody else may read, for it will hold Secrets; SQLite gives its journals the same mode."""
    with contextlib.suppress(OSError):  # it is there already, or cannot be made, which SQLite tells better
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _check_header(path: Path) -> None:
    """Raise for a file that is not ours, without touching it; a missing or an empty one is still to be made."""
    try:
        with path.open("rb") as file:
            start = file.read(_HEADER.size)
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise StoreUnusable(f"{path}: the directory {path.parent} does not exist; create it first") from None
        return
    except OSError as error:
        raise StoreUnusable(f"{path}: cannot be read: {error.strerror}; give a file that this user owns") from error
    if not start:
        return
    if len(start) < _HEADER.size or not start.startswith(b"SQLite format 3\0"):
        raise StoreUnusable(f"{path}: not a database; give another path, or move the file away")
    _, version, application = _HEADER.unpack(start)
    if application != APPLICATION_ID:
        raise StoreUnusable(f"{path}: a database of another program; give another path, or move the file away")
    if version > FORMAT:
        raise StoreUnusable(
            f"{path}: written by a newer version (format {version}, this one knows up to {FORMAT}); upgrade to open it"
        )


def _unusable(path: Path, error: Exception) -> StoreError:
    if isinstance(error, apsw.BusyError):
        return StoreUnusable(f"{path}: in use by another process; stop that one, or give another path")
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError):
        return StoreUnusable(f"{path}: cannot be written; make the file and its directory writable for this user")
    if isinstance(error, apsw.FullError):
        return StoreFull(f"{path}: no space left; free some, then open again")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | msgspec.DecodeError):
        return StoreUnusable(f"{path}: damaged ({error}); restore it from a backup")
    return StoreUnusable(f"{path}: cannot be opened: {error}")

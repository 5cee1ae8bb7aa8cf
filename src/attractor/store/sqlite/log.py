"""The file of the SQLite engine: an append-only log of transactions, and the state at the log's beginning.

``format`` says what lies in it and ``mark`` what lies beside it. Folding moves the oldest rows of the log
into ``entry``, a few at a time and each time in one transaction, so that there is no moment at which the file is not
whole. Nothing is served from a file that is not as it was written, and refusing to open it leaves it as it was found.

Everything here blocks and belongs to one thread at a time.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import time
from typing import TYPE_CHECKING, Any

import apsw
import msgspec

from attractor.store.contract import Entry, StoreError, StoreFull, StoreUnavailable, StoreUnusable
from attractor.store.mvcc import Mvcc, View
from attractor.store.sorted_map import SortedMap
from attractor.store.sqlite.format import (
    APPLICATION_ID,
    FORMAT,
    MIGRATION,
    SCHEMA,
    SUM_MODULUS,
    Damaged,
    check_header,
    decode_record,
    encode_record,
    entry_checksum,
    in_use,
    log_checksum,
    read_entry,
    read_record,
    record_of,
    replay,
    sealed,
    unusable,
)
from attractor.store.sqlite.mark import InUse, Mark

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path
    from typing import Self

    from attractor.store.mvcc import Commit
    from attractor.store.sqlite.format import Record

log = logging.getLogger(__name__)

FOLD_BYTES = 1 << 18
"""How much of the log one step of folding moves: a few milliseconds in which no writer is served."""
VACUUM_STEPS, VACUUM_PAGES = 64, 64
"""In so many steps of so many pages free room is given back to the disk at a time."""
LOOK_S = 1.0
"""How often we look whether another program has written into the file."""
SPARE_PAGES = 256
"""By how much a bound on the number of pages is lifted for those who make room."""

_PRAGMAS = (
    # A commit appends to one file and syncs it once. In a rollback journal it would be two files and three syncs.
    # Others may read beside us, which is how a backup is made of a store that is open; the mark's lock sees to it that
    # nobody writes.
    "PRAGMA journal_mode = WAL",
    # Sync at each commit. NORMAL would sync at checkpoints only, so that a power cut takes acknowledged writes.
    "PRAGMA synchronous = FULL",
    # Copy into the main file every 16 MB, not every 4 MB: fewer pauses, still a quick recovery after a crash.
    "PRAGMA wal_autocheckpoint = 4000",
    # Give the space of an unusually long write-ahead log back at the next checkpoint.
    "PRAGMA journal_size_limit = 67108864",
)


class SqliteLog:
    """An open file, locked for this process."""

    def __init__(self, path: Path, db: apsw.Connection, mark: Mark) -> None:
        self._path = path
        self._db = db
        self._mark = mark
        self._meta: dict[str, int] = {}
        self._version = 0
        """SQLite's count of what others have written; it never moves while nobody does."""
        self._look_s = 0.0

    @property
    def folded(self) -> int:
        """``entry`` is the state at this revision, and every row of ``log`` is later."""
        return self._meta.get("folded", 0)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open or create the file, for its owner's eyes only; raises ``StoreUnusable`` for what cannot be."""
        is_there = check_header(path)
        mark: Mark | None = None
        try:
            mark = Mark.open(path)
            if not is_there:
                mark = _begun(path, mark)
            return cls._opened(path, mark)
        except InUse as error:
            raise in_use(path) from error
        except StoreError:
            if mark is not None:
                mark.close()
            raise
        except (apsw.Error, OSError) as error:
            if mark is not None:
                mark.close()
            raise unusable(path, error) from error

    @classmethod
    def _opened(cls, path: Path, mark: Mark | None) -> Self:
        db = apsw.Connection(str(path))
        try:
            # Until all is known to be well: closing would fold the write-ahead log in and delete it, damaged or not.
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            if mark is None:
                mark = _missing_mark(path, db)
            opened = cls(path, db, mark)
            opened._prepare()
        except BaseException:
            db.close(True)
            if mark is not None:
                mark.close()
            raise
        return opened

    def _prepare(self) -> None:
        if self._db.pragma("application_id") != APPLICATION_ID:
            reached = self._mark.reached
            assert reached is not None, "a new file has a new mark"
            self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # so that room can be given back to a full disk
            # Before the switch to the write-ahead log, so that the main file says whose it is from its first byte on.
            with _Transaction(self._db):
                for statement in SCHEMA:
                    self._db.execute(statement)
                nothing = {"folded": 0, "compacted": 0, "entries": 0, "entries_sum": 0, "store": reached.store}
                self._write_meta(nothing)
        for pragma in _PRAGMAS:
            self._db.execute(pragma)

    def load(self, *, history_limit: int) -> Mvcc:
        """All that the file holds; raises ``StoreUnusable`` unless that is what was written and acknowledged."""
        try:
            problem = self._db.execute("PRAGMA integrity_check(1)").get
            if problem != "ok":
                raise Damaged(problem)
            if self._db.pragma("user_version") < FORMAT:
                self._migrate()
            self._meta = self._read_meta()
            mvcc = self._read(history_limit)
            self._check_mark(mvcc.head.revision)
            self._version = self._db.pragma("data_version")
            self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        except StoreError:
            raise
        except Exception as error:
            raise unusable(self._path, error) from error
        return mvcc

    def _read(self, history_limit: int) -> Mvcc:
        rows: Iterator[Any] = self._db.execute("SELECT key, value, revision, created, checksum FROM entry ORDER BY key")
        entries, total = [], 0
        for row in rows:
            entries.append(read_entry(row))
            total += row[4]
        meta = self._meta
        if (len(entries), total % SUM_MODULUS) != (meta["entries"], meta["entries_sum"]):
            raise Damaged(f"there are {len(entries)} entries, and {meta['entries']} were written")
        head = View(meta["folded"], SortedMap.of([entry.key for entry in entries], entries))
        mvcc = Mvcc(head, history_limit=history_limit)
        for last, record, checksum in self._db.execute("SELECT last, record, checksum FROM log ORDER BY last"):
            replay(mvcc, read_record(last, record, checksum))
            if mvcc.head.revision != last:
                raise Damaged(f"the log jumps from {mvcc.head.revision} to {last}")
        mvcc.compact(max(meta["compacted"], mvcc.compacted))
        return mvcc

    def _read_meta(self) -> dict[str, int]:
        rows: list[Any] = self._db.execute("SELECT name, value FROM meta").fetchall()
        meta: dict[str, int] = dict(rows)
        if sealed(meta) != meta or not meta.keys() >= {"folded", "compacted", "entries", "entries_sum", "store"}:
            raise Damaged("the numbers that describe the file are not as they were written")
        return meta

    def _check_mark(self, head: int) -> None:
        mark, reached = self._mark, self._mark.reached
        repair = f"`attractor store repair {self._path}`"
        if reached is None:
            raise StoreUnusable(
                f"{self._path}: its high-water mark {mark.path} cannot be read, so nobody knows whether the newest "
                f"writes are there (the newest is revision {head}); restore a backup, or take it as it is with {repair}"
            )
        if reached.store != self._meta["store"]:
            raise StoreUnusable(
                f"{self._path}: {mark.path} is the high-water mark of another store; put the right one there, or take "
                f"the file as it is with {repair}"
            )
        if head < reached.revision:
            raise StoreUnusable(
                f"{self._path}: writes up to revision {reached.revision} were acknowledged, and only those up to "
                f"{head} are there: the write-ahead log {self._path.name}-wal is damaged or gone, or an older copy was "
                f"put here; restore a backup with `attractor store restore`, or go on without them with {repair}"
            )
        if mark.is_torn:
            log.warning("one of the two places of %s was damaged, and is written anew; nothing is missing", mark.path)
            mark.begin(reached.store, head)

    def _migrate(self) -> None:
        """Give a file of the first format its checksums and its mark."""
        columns = {row[1] for row in self._db.execute("PRAGMA table_info(log)")}
        if columns != {"last", "record"}:
            raise Damaged("it says that it is of an older format, and is not")
        old: list[Any] = self._db.execute("SELECT name, value FROM meta").fetchall()
        meta = dict(old)
        store = secrets.randbits(60)
        with _Transaction(self._db):
            for statement in MIGRATION:
                self._db.execute(statement)
            total = count = 0
            entries: list[Any] = self._db.execute("SELECT key, value, revision, created FROM entry").fetchall()
            for row in entries:
                checksum = entry_checksum(Entry(*row))
                self._db.execute("UPDATE entry SET checksum = ? WHERE key = ?", (checksum, row[0]))
                total, count = total + checksum, count + 1
            head = meta["folded"]
            rows: list[Any] = self._db.execute("SELECT last, record FROM log ORDER BY last").fetchall()
            for last, record in rows:
                decode_record(record)
                self._db.execute("UPDATE log SET checksum = ? WHERE last = ?", (log_checksum(last, record), last))
                head = last
            self._write_meta(
                {
                    "folded": meta["folded"],
                    "compacted": meta["compacted"],
                    "entries": count,
                    "entries_sum": total % SUM_MODULUS,
                    "store": store,
                }
            )
            self._mark.begin(store, head)
        log.info("%s has been brought up to format %d: its rows have checksums now", self._path, FORMAT)

    def append(self, commits: Sequence[Commit], compacted: int | None = None) -> None:
        """Make some transactions durable, and the floor of the history if it was raised: all or nothing."""
        meta = self._meta
        try:
            if time.monotonic() >= self._look_s:
                self._look_for_others()
            if compacted is None:
                self._append(commits)  # one statement is a transaction by itself
            else:
                with _Transaction(self._db):
                    self._append(commits)
                    self._write_meta({**meta, "compacted": max(meta["compacted"], compacted)})
        except apsw.Error as error:
            self._meta = meta
            raise self._failed(error) from error
        if commits:
            self._note(commits[-1].revision)

    def _look_for_others(self) -> None:
        """Raise when another program has written into the file, which our lock only keeps our own from."""
        if self._db.pragma("data_version") != self._version:
            raise StoreUnavailable(
                f"{self._path}: another program has written into it; stop that one, then open the store anew"
            )
        self._look_s = time.monotonic() + LOOK_S

    def _append(self, commits: Sequence[Commit]) -> None:
        if commits:
            last, record = commits[-1].revision, encode_record(record_of(commits))
            self._db.execute("INSERT INTO log VALUES (?, ?, ?)", (last, record, log_checksum(last, record)))

    def _note(self, revision: int) -> None:
        try:
            self._mark.write(revision)
        except OSError as error:
            log.warning(
                "%s could not be written, so a loss of the newest writes might go unnoticed: %s", self._mark.path, error
            )

    @property
    def is_noted(self) -> bool:
        """Whether the mark is on the disk."""
        return self._mark.is_synced

    def sync_mark(self) -> None:
        """Have the mark on the disk."""
        with contextlib.suppress(OSError):
            self._mark.sync()

    def fold(self, floor: int) -> bool:
        """Move one piece of the log, up to a revision at most, into the state; answers whether there is more."""
        changed: dict[str, Entry | None] = {}
        last, size, meta = self.folded, 0, self._meta
        try:
            for row in self._db.execute(
                "SELECT last, record, checksum FROM log WHERE last <= ? ORDER BY last", (floor,)
            ):
                for revision, changes in self._checked(row):
                    for key, value, created in changes:
                        changed[key] = None if value is None else Entry(key, value, revision, created)
                last, size = row[0], size + len(row[1])
                if size >= FOLD_BYTES:
                    break
            if last > self.folded:
                with _Transaction(self._db):
                    self._fold_in(last, changed)
        except apsw.Error as error:
            self._meta = meta
            raise self._failed(error) from error
        return size >= FOLD_BYTES

    def _checked(self, row: Any) -> Record:
        try:
            return read_record(*row)
        except Exception as error:
            raise StoreUnavailable(
                f"{self._path}: damaged on the disk ({error}); make a backup of what is served"
            ) from error

    def _fold_in(self, last: int, changed: dict[str, Entry | None]) -> None:
        count, total = self._sums_of(changed)
        # In key order: neighbours share a page.
        put = [entry for _, entry in sorted(changed.items()) if entry is not None]
        self._db.executemany(
            "DELETE FROM entry WHERE key = ?", [(key,) for key, entry in changed.items() if entry is None]
        )
        added = self._put(put)
        self._db.execute("DELETE FROM log WHERE last <= ?", (last,))
        self._write_meta(
            {
                **self._meta,
                "folded": last,
                "entries": self._meta["entries"] - count + len(put),
                "entries_sum": (self._meta["entries_sum"] - total + added) % SUM_MODULUS,
            }
        )

    def _sums_of(self, keys: Collection[str]) -> tuple[int, int]:
        """How many of some keys have an entry, and the sum of its checksums."""
        counted: Any = self._db.execute(
            "SELECT count(*), coalesce(sum(checksum), 0) FROM entry WHERE key IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode([key for key in keys if "\0" not in key]).decode(),),
        ).fetchone()
        count, total = counted
        for key in keys:
            if "\0" in key:  # which SQLite's JSON does not know
                before: Any = self._db.execute("SELECT checksum FROM entry WHERE key = ?", (key,)).get
                if before is not None:
                    count, total = count + 1, total + before
        return count, total

    def _put(self, entries: Collection[Entry]) -> int:
        rows = [(one.key, one.value, one.revision, one.created, entry_checksum(one)) for one in entries]
        self._db.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", rows)
        return sum(row[4] for row in rows)

    def fill(self, entries: Collection[Entry], revision: int) -> None:
        """Make a new file the state at a revision, with no history before it."""
        with _Transaction(self._db):
            total = self._put(entries) % SUM_MODULUS
            store = self._meta["store"]
            numbers = {"folded": revision, "compacted": revision, "entries": len(entries), "entries_sum": total}
            self._write_meta({**numbers, "store": store})
        self._mark.begin(store, revision)

    def make_room(self) -> None:
        """Forget in place what is deleted or replaced, and give back to the disk what is free then.

        It is the history that goes, so the floor is raised to the newest revision first: from then on only the newest
        state is ever read, and that stays the same with every step. Folding would need more room than it makes.
        """
        try:
            self._checkpoint()
            rows: list[Any] = self._db.execute("SELECT last, length(record) FROM log ORDER BY last DESC").fetchall()
            if rows:
                with _Transaction(self._db):
                    self._write_meta({**self._meta, "compacted": max(self._meta["compacted"], rows[0][0])})
            later: set[str] = set()
            for last, _ in rows:
                self._thin(last, later)
            for _ in range(VACUUM_STEPS):
                if not self._db.pragma("freelist_count"):
                    break
                self._db.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()
                self._checkpoint()
        except apsw.Error as error:
            self._meta = self._read_meta()
            raise self._failed(error) from error

    def _thin(self, last: int, later: set[str]) -> None:
        """Drop from a row of the log, and from the state before it, the keys that are written ``later`` again."""
        row = self._db.execute("SELECT last, record, checksum FROM log WHERE last = ?", (last,)).fetchone()
        kept: Record = []
        dropped: set[str] = set()
        for revision, changes in reversed(self._checked(row)):
            kept.append((revision, [change for change in changes if change[0] not in later]))
            dropped |= {change[0] for change in changes} & later
            later |= {change[0] for change in changes}
            dropped |= {change[0] for change in changes if change[1] is None}
        if not dropped:
            return
        record = encode_record(kept[::-1])
        with _Transaction(self._db):
            self._db.execute(
                "UPDATE log SET record = ?, checksum = ? WHERE last = ?", (record, log_checksum(last, record), last)
            )
            count, total = self._sums_of(dropped)
            self._db.executemany("DELETE FROM entry WHERE key = ?", [(key,) for key in dropped])
            numbers = {"entries": self._meta["entries"] - count, "entries_sum": self._meta["entries_sum"] - total}
            self._write_meta({**self._meta, **numbers, "entries_sum": numbers["entries_sum"] % SUM_MODULUS})

    def _checkpoint(self) -> None:
        """Copy the write-ahead log into the database, and give back the room that it took."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def bound_wal(self, size_bytes: int) -> None:
        """Copy the write-ahead log into the database before it takes more than that; 16 MB at most."""
        self._db.wal_autocheckpoint(min(max(size_bytes // self._db.pragma("page_size"), 8), 4000))

    def lift_bound(self) -> None:
        """Allow some pages more, where their number is bounded."""
        self._db.pragma("max_page_count", self._db.pragma("page_count") + SPARE_PAGES)

    def _write_meta(self, meta: dict[str, int]) -> None:
        self._meta = sealed(meta)
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(self._meta.items()))

    def close(self) -> None:
        """Give the file back; checkpointed, if it was well."""
        try:
            self._db.close(True)
        finally:
            self._mark.close()

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


def _begun(path: Path, mark: Mark | None) -> Mark:
    """The mark of a store that is still to be made; raises when there are signs that there was one already."""
    wal = path.with_name(path.name + "-wal")
    wrote = mark is not None and (mark.reached is None or mark.reached.revision > 0)
    if wrote or (wal.exists() and wal.stat().st_size):
        told = (
            "" if mark is None or mark.reached is None else f", and revision {mark.reached.revision} was acknowledged"
        )
        raise StoreUnusable(
            f"{path}: the database is empty or gone{told}; restore a backup with `attractor store restore`, or, to "
            f"begin with nothing, delete {path.name}-mark and {path.name}-wal, too"
        )
    if mark is None:
        mark = Mark.create(path, secrets.randbits(60), 0)
    elif mark.is_torn:
        mark.begin(mark.reached.store if mark.reached else secrets.randbits(60), 0)
    _create_private(path)
    return mark


def _missing_mark(path: Path, db: apsw.Connection) -> Mark:
    """A mark for a file of the first format, which had none; every other file has lost it."""
    if db.pragma("user_version") >= FORMAT:
        raise StoreUnusable(
            f"{path}: its high-water mark {path.name}-mark is missing, so nobody knows whether the newest writes are "
            f"there; copy it together with the database, restore a backup, or take the file as it is with "
            f"`attractor store repair {path}`"
        )
    return Mark.create(path, 0, 0)


def _create_private(path: Path) -> None:
    """Make a file that nobody else may read, for it will hold Secrets; SQLite gives its journals the same mode."""
    with contextlib.suppress(OSError):  # it is there already, or cannot be made, which SQLite tells better
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

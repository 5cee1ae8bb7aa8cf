"""Care of SQLite stores: look whether one is whole, save what can be saved, copy one while it is served, put one back.

``verify`` and ``backup`` leave the store as it is. ``repair`` and ``restore`` put a new file in place of the old one,
and move what was there into a directory beside it. Both count revisions on from the highest that anybody may have seen,
and keep no history: a client that knows a later state than the new one is told ``Compacted``, and lists again.

Everything here blocks.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from attractor.store.contract import Compacted, Entry, FutureRevision, StoreError, StoreUnusable
from attractor.store.mvcc import Mvcc, View
from attractor.store.sorted_map import SortedMap
from attractor.store.sqlite.format import check_header, in_use, read_entry, read_record, replay, unusable
from attractor.store.sqlite.log import SqliteLog
from attractor.store.sqlite.mark import InUse, Mark, mark_path

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL_HISTORY = 1 << 60
SKIPPED_REVISIONS = 1_000_000
"""How many revisions are left out where nobody knows how far the lost store had come."""
_FROM_BOTH_ENDS = tuple(
    f"SELECT key, value, revision, created, checksum FROM entry NOT INDEXED ORDER BY rowid {direction}"  # noqa: S608
    for direction in ("ASC", "DESC")
)
_SUFFIXES = ("", "-wal", "-shm", "-mark", "-reserve")


@dataclass(frozen=True)
class Whole:
    """The undamaged content of a store."""

    revision: int
    compacted: int
    entries: int


@dataclass
class Repaired:
    """The result of a repair."""

    revision: int = 0
    """The state is that of this revision."""
    acknowledged: int | None = None
    """How far it had acknowledged, if the mark could be read."""
    begins_at: int = 0
    """The revision from which the new file counts on."""
    entries: int = 0
    damaged: list[str] = field(default_factory=list)
    """What was not as it was written, and is not in the new file."""
    kept: Path | None = None
    """Where the old files are now."""


def verify(path: Path) -> Whole:
    """What a store holds; raises ``StoreUnusable`` with what is wrong. Looks at a copy, so that nothing is changed."""
    if not path.exists() and not mark_path(path).exists():
        raise StoreUnusable(f"{path}: there is no store; give the path of one")
    with _alone(path), tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / path.name
        for suffix in ("", "-wal", "-mark"):
            part = path.with_name(path.name + suffix)
            if part.exists():
                shutil.copyfile(part, copy.with_name(copy.name + suffix))
        try:
            return _whole(copy)
        except StoreError as error:
            raise type(error)(str(error).replace(str(copy), str(path)).replace(directory, str(path.parent))) from error


def backup(path: Path, target: Path) -> Whole:
    """A copy of a store, served or not, at one revision; it is verified before it is put in place."""
    if not check_header(path):
        raise StoreUnusable(f"{path}: there is no store; give the path of one")
    _check_free(target)
    with tempfile.TemporaryDirectory(dir=target.parent) as directory:
        copy = Path(directory) / target.name
        try:
            with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
                db.set_busy_timeout(10_000)
                # Whoever writes goes on: this reads one state of the write-ahead log.
                db.execute("VACUUM INTO ?", (str(copy),))
        except apsw.Error as error:
            raise unusable(path, error) from error
        copy.chmod(0o600)
        _mark_as_it_is(copy)
        found = _whole(copy)
        for suffix in ("-mark", ""):
            os.replace(copy.with_name(copy.name + suffix), target.with_name(target.name + suffix))
    return found


def restore(source: Path, path: Path, *, revision: int | None = None) -> Repaired:
    """Put a backup in place of a store, as it was at a revision that the backup still has, or at its newest."""
    with _alone(path) as known, tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / source.name
        for suffix in ("", "-wal", "-mark"):
            part = source.with_name(source.name + suffix)
            if part.exists() or not suffix:
                shutil.copyfile(part, copy.with_name(copy.name + suffix))
        mvcc = _read(copy)
        try:
            view = mvcc.head if revision is None else mvcc.view_at(revision)
        except (Compacted, FutureRevision) as error:
            raise StoreUnusable(
                f"{source}: it has revisions {mvcc.compacted} to {mvcc.head.revision}, and {revision} is none of them"
            ) from error
        done = Repaired(view.revision, known, entries=len(view.entries))
        newest = max(mvcc.head.revision, known or 0)
        _replace(path, view, newest + (1 if known is not None else SKIPPED_REVISIONS), done)
        return done


def repair(path: Path) -> Repaired:
    """Put what is whole in place of a damaged store; the damaged files are kept."""
    with _alone(path) as known, tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / path.name
        done = Repaired(acknowledged=known)
        for suffix in ("", "-wal"):
            part = path.with_name(path.name + suffix)
            if part.exists():
                shutil.copyfile(part, copy.with_name(copy.name + suffix))
        try:
            view = _salvaged(copy, done)
        except (apsw.Error, StoreError) as error:
            raise StoreUnusable(f"{path}: nothing can be read of it ({error}); restore a backup") from error
        done.revision, done.entries = view.revision, len(view.entries)
        newest = max(view.revision, known or 0)
        _replace(path, view, newest + (1 if known is not None else SKIPPED_REVISIONS), done)
        return done


def _salvaged(copy: Path, done: Repaired) -> View:
    """The entries that are as they were written, and the log on top of them as far as it is, too."""
    if not check_header(copy):
        raise StoreUnusable("it is empty")
    with closing(apsw.Connection(str(copy))) as db:
        folded = db.execute("SELECT value FROM meta WHERE name = 'folded'").get
        if type(folded) is not int or folded < 0:
            raise StoreUnusable("the numbers that describe the file are gone")
        entries: dict[str, Entry] = {}
        for query in _FROM_BOTH_ENDS:  # up to a page that cannot be read
            try:
                for row in db.execute(query):
                    _save(row, entries, done)
                break
            except (apsw.Error, UnicodeDecodeError) as error:
                done.damaged.append(f"a part of the entries: {error}")
        ordered = sorted(entries)
        mvcc = Mvcc(View(folded, SortedMap.of(ordered, [entries[key] for key in ordered])), history_limit=ALL_HISTORY)
        try:
            for row in db.execute("SELECT last, record, checksum FROM log ORDER BY last"):
                replay(mvcc, read_record(*row))
        except Exception as error:
            done.damaged.append(f"the log after revision {mvcc.head.revision}: {error}")
        return mvcc.head


def _save(row: Any, entries: dict[str, Entry], done: Repaired) -> None:
    try:
        entry = read_entry(row)
    except Exception as error:
        if (said := str(error)) not in done.damaged:
            done.damaged.append(said)
    else:
        entries[entry.key] = entry


def _replace(path: Path, view: View, revision: int, done: Repaired) -> None:
    """Put a new store in place, counting on from a revision, and keep what was there."""
    done.begins_at = revision
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        fresh = Path(directory) / path.name
        log = SqliteLog.open(fresh)
        log.load(history_limit=0)
        log.fill(view.range(""), revision)
        log.close()
        _whole(fresh)
        there = [part for suffix in _SUFFIXES if (part := path.with_name(path.name + suffix)).exists()]
        if there:
            done.kept = Path(tempfile.mkdtemp(prefix=f"{path.name}.replaced-", dir=path.parent))
            for part in there:
                os.replace(part, done.kept / part.name)
        for suffix in ("-mark", ""):
            os.replace(fresh.with_name(fresh.name + suffix), path.with_name(path.name + suffix))


def _mark_as_it_is(copy: Path) -> None:
    """Give a copy that SQLite itself has made a mark of its own."""
    with closing(apsw.Connection(str(copy))) as db:
        store = db.execute("SELECT value FROM meta WHERE name = 'store'").get
        last = db.execute("SELECT max(last) FROM log").get
        folded = db.execute("SELECT value FROM meta WHERE name = 'folded'").get
    if type(store) is not int:
        raise StoreUnusable(f"{copy}: of an older format; open it once with this version, then make a backup")
    Mark.create(copy, store, last if last is not None else folded).close()


def _whole(path: Path) -> Whole:
    mvcc = _read(path)
    return Whole(mvcc.head.revision, mvcc.compacted, len(mvcc.head.entries))


def _read(path: Path) -> Mvcc:
    """All that a store holds; raises ``StoreUnusable``."""
    if not check_header(path) and not mark_path(path).exists():
        raise StoreUnusable(f"{path}: there is no store; give the path of one")
    log = SqliteLog.open(path)
    try:
        return log.load(history_limit=ALL_HISTORY)
    finally:
        log.close()


def _check_free(target: Path) -> None:
    if target.exists() or mark_path(target).exists():
        raise StoreUnusable(f"{target}: there is something already; give another path")
    if not target.parent.is_dir():
        raise StoreUnusable(f"{target}: the directory {target.parent} does not exist; create it first")


@contextmanager
def _alone(path: Path) -> Iterator[int | None]:
    """Make sure that nobody has a store open meanwhile; tells how far it had acknowledged, if that can be known."""
    if not path.parent.is_dir():
        raise StoreUnusable(f"{path}: the directory {path.parent} does not exist; create it first")
    try:
        mark = Mark.open(path)
    except InUse as error:
        raise in_use(path) from error
    try:
        yield None if mark is None or mark.reached is None else mark.reached.revision
    finally:
        if mark is not None:
            mark.close()

"""``attractor store``: verify, repair, backup of a store that is served, restore to a revision."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from attractor.store.sqlite import SqliteStore
from attractor.store.sqlite.format import APPLICATION_ID, encode_record

if TYPE_CHECKING:
    from tests.cli.conftest import Run


async def filled(path: Path, count: int = 30) -> SqliteStore:
    store = SqliteStore(path)
    for number in range(count):
        await store.commit({}, puts={f"k{number}": b"%d" % number})
    return store


def files(directory: Path, pattern: str = "s.db*") -> dict[str, bytes]:
    return {one.name: one.read_bytes() if one.is_file() else b"" for one in directory.glob(pattern)}


async def test_a_whole_store_is_verified_and_not_changed(run: Run, tmp_path: Path) -> None:
    await (await filled(tmp_path / "s.db")).aclose()
    before = files(tmp_path)
    found = run("store", "verify", "sqlite:s.db")
    assert (found.code, found.out) == (0, "s.db: whole; 30 entries at revision 30, history from revision 0\n")
    assert files(tmp_path) == before


async def test_a_damaged_store_is_told_and_repaired_and_the_old_files_are_kept(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = SqliteStore(path, history_limit=0)
    for number in range(30):
        await store.commit({}, puts={f"k{number}": b"value-%d" % number})
    await store.compact(store.revision)
    await store.aclose()
    text = path.read_bytes()
    path.write_bytes(text.replace(b"value-17", b"value-71"))
    found = run("store", "verify", "s.db")
    assert found.code == 1
    assert "error: s.db: damaged (the entry 'k17' is not as it was written); restore it from a backup" in found.err
    found = run("store", "repair", "s.db")
    assert found.code == 0
    assert found.err == "lost: the entry 'k17' is not as it was written\n"
    assert found.out.startswith("s.db: 29 entries as of revision 30; revisions go on after 31\n")
    (kept,) = files(tmp_path, "s.db.replaced-*")
    assert b"value-71" in files(tmp_path / kept)["s.db"]
    assert run("store", "verify", "s.db").code == 0


async def test_a_store_is_backed_up_while_it_is_served_and_restored_to_a_revision(run: Run, tmp_path: Path) -> None:
    store = await filled(tmp_path / "s.db")
    found = run("store", "verify", "s.db")
    assert found.code == 1
    assert "s.db: in use by another process; stop that one" in found.err
    found = run("store", "backup", "s.db", "b.db")
    assert found.code == 0, found.err
    assert "b.db: a verified copy of s.db; 30 entries at revision 30" in found.out
    await store.commit({}, puts={"later": b""})
    assert "in use" in run("store", "restore", "b.db", "s.db").err
    await store.aclose()
    found = run("store", "restore", "b.db", "s.db", "--revision", "12")
    assert found.code == 0, found.err
    assert "s.db: 12 entries as of revision 12; revisions go on after 32\n" in found.out
    store = SqliteStore(tmp_path / "s.db")
    assert {one.key for one in store.snapshot_nowait().range("")} == {f"k{number}" for number in range(12)}
    assert store.revision == store.compacted == 32, "what clients have seen is not used again"
    assert await store.commit({}, puts={"new": b""}) == 33
    await store.aclose()


async def test_a_backup_is_restored_where_nothing_is(run: Run, tmp_path: Path) -> None:
    await (await filled(tmp_path / "s.db")).aclose()
    run("store", "backup", "s.db", "b.db")
    assert "there is something already" in run("store", "backup", "s.db", "b.db").err
    assert run("store", "restore", "b.db", "new.db").code == 0
    store = SqliteStore(tmp_path / "new.db")
    assert store.revision > 1_000_000, "nobody knows how far the lost store had come"
    assert store.snapshot_nowait().count("") == 30
    await store.aclose()
    found = run("store", "restore", "b.db", "new.db", "--revision", "31")
    assert (found.code, "it has revisions 0 to 30, and 31 is none of them" in found.err) == (1, True)


@pytest.mark.parametrize("action", ["verify", "backup"])
def test_what_is_not_there_or_not_ours_is_told(run: Run, tmp_path: Path, action: str) -> None:
    more = ["b.db"] if action == "backup" else []
    assert "there is no store" in run("store", action, "nowhere.db", *more).err
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    db.close()
    assert "a database of another program" in run("store", action, "other.db", *more).err
    found = run("store", action, "etcd:localhost:2379", *more)
    assert (found.code, "etcdctl snapshot save" in found.err) == (2, True)


async def test_a_store_of_the_first_format_is_brought_up_to_date(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with apsw.Connection(str(path)) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1; PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID")
        db.execute("INSERT INTO meta VALUES ('folded', 2), ('compacted', 2)")
        columns = "key TEXT PRIMARY KEY, value BLOB NOT NULL, revision INTEGER NOT NULL, created INTEGER NOT NULL"
        db.execute(f"CREATE TABLE entry ({columns}); CREATE TABLE log (last INTEGER PRIMARY KEY, record BLOB NOT NULL)")
        db.execute("INSERT INTO entry VALUES ('a', x'01', 1, 1), ('b', x'02', 2, 2)")
        db.execute("INSERT INTO log VALUES (4, ?)", (encode_record([(3, [("a", None, 1)]), (4, [("c", b"3", 4)])]),))
    db.close()
    store = SqliteStore(path)
    assert store.revision == 4
    assert {one.key: one.value for one in store.snapshot_nowait().range("")} == {"b": b"\x02", "c": b"3"}
    await store.commit({}, puts={"d": b"4"})
    await store.aclose()
    assert run("store", "verify", "old.db").out == "old.db: whole; 3 entries at revision 5, history from revision 2\n"

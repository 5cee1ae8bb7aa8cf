"""What only SQLite can get wrong: files, crashes, full disks."""

# ruff: noqa: ASYNC221, ASYNC240 (these tests have nothing else to do while they block)

from __future__ import annotations

import asyncio
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from attractor.store.contract import Stale, StoreError, StoreFull, StoreUnavailable, StoreUnusable
from attractor.store.sqlite import SqliteStore
from attractor.store.sqlite.care import repair

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent


def writer(path: Path, writers: int, rounds: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, str(HERE / "paired_writer.py"), str(path), str(writers), str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def pairs(store: SqliteStore, revision: int) -> tuple[set[str], set[str]]:
    snapshot = store.snapshot_at(revision)
    return tuple({entry.key.split("/")[2] for entry in snapshot.range(side)} for side in ("/left/", "/right/"))  # type: ignore[return-value]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.mark.slow
async def test_nothing_acknowledged_is_lost_and_nothing_is_half_applied_after_kill_9(path: Path) -> None:
    rng = random.Random(7)
    revision = 0
    for round_ in range(8):
        process = writer(path, writers=1 if round_ % 2 else 16)
        assert process.stdout is not None
        acknowledged = {process.stdout.readline().strip() for _ in range(rng.randrange(1, 400))}
        process.kill()
        acknowledged |= set(process.stdout.read().split())
        process.wait()
        process.stdout.close()
        store = SqliteStore(path, history_limit=200)
        store.check_invariants()
        left, right = pairs(store, store.revision)
        assert left == right
        for writer_ in {name.rsplit("-", 1)[0] for name in acknowledged}:
            numbers = [int(name.rsplit("-", 1)[1]) for name in acknowledged if name.rsplit("-", 1)[0] == writer_]
            # The writer deletes what is twenty writes old, and may be one ahead of what it could report.
            kept = {f"{writer_}-{number}" for number in range(max(max(numbers) - 18, 0), max(numbers) + 1)}
            assert kept <= left
        assert store.revision > revision
        revision = store.revision
        for older in range(store.compacted, store.revision):
            left, right = pairs(store, older)
            assert left == right
        await store.aclose()


@pytest.mark.slow
async def test_a_torn_tail_of_the_write_ahead_log_is_noticed_and_costs_whole_transactions_only(
    path: Path, tmp_path: Path
) -> None:
    process = writer(path, writers=4, rounds=15)
    acknowledged = set(process.communicate()[0].split())
    wal, mark = path.with_name("store.db-wal"), path.with_name("store.db-mark")
    whole = wal.read_bytes()
    assert len(acknowledged) == 60
    rng = random.Random(11)
    counts = set()
    for attempt in range(30):
        torn = tmp_path / f"torn{attempt}"
        torn.mkdir()
        shutil.copy(path, torn / path.name)
        shutil.copy(mark, torn / mark.name)
        cut = rng.randrange(len(whole))
        tail = b"" if attempt % 2 else rng.randbytes(len(whole) - cut)
        (torn / wal.name).write_bytes(whole[:cut] + tail)
        with pytest.raises(StoreUnusable, match="were acknowledged, and only those up to"):
            SqliteStore(torn / path.name)
        assert (torn / wal.name).read_bytes() == whole[:cut] + tail, "it is left as it was found"
        done = repair(torn / path.name)
        assert done.acknowledged is not None
        store = SqliteStore(torn / path.name, history_limit=200)
        assert store.revision == done.begins_at > done.acknowledged > done.revision
        left, right = pairs(store, store.revision)
        assert left == right
        counts.add(len(left))
        assert await store.commit({}, puts={"after": b""}) == store.revision
        await store.aclose()
    assert len(counts) > 5, "the cuts did not reach different transactions"


async def test_garbage_after_the_end_of_the_write_ahead_log_takes_nothing(path: Path) -> None:
    process = writer(path, writers=2, rounds=10)
    acknowledged = set(process.communicate()[0].split())
    with path.with_name("store.db-wal").open("ab") as wal:
        wal.write(random.Random(3).randbytes(9000))
    store = SqliteStore(path, history_limit=200)
    assert pairs(store, store.revision) == (acknowledged, acknowledged)
    await store.aclose()


async def test_a_full_disk_refuses_writes_whole_and_reads_go_on(tmp_path: Path) -> None:
    script = [sys.executable, str(HERE / "filled_disk.py"), str(tmp_path)]
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    done = subprocess.run([*namespace, *script], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


async def test_all_waiting_writers_are_told_when_the_file_is_full_and_later_ones_succeed(path: Path) -> None:
    store = SqliteStore(path)
    first = await store.commit({}, puts={"a": b"1"})
    pages = store._file._db.pragma("page_count")
    store._file._db.pragma("max_page_count", pages)
    tasks = [asyncio.create_task(store.commit({}, puts={f"k{n}": bytes(9000), "a": b"2"})) for n in range(20)]
    await asyncio.wait(tasks)
    assert all(isinstance(task.exception(), StoreFull) for task in tasks)
    assert store.revision == first
    assert [entry.value for entry in store.snapshot_nowait().range("")] == [b"1"]
    store.check_invariants()
    store._file._db.pragma("max_page_count", 1 << 30)
    assert await store.commit({"a": first}, puts={"a": b"3"}) == first + 1
    await store.aclose()
    store = SqliteStore(path)
    assert [(entry.key, entry.value) for entry in store.snapshot_nowait().range("")] == [("a", b"3")]
    await store.aclose()


async def test_a_transaction_that_conflicts_with_a_failed_one_is_judged_by_what_is_durable(path: Path) -> None:
    store = SqliteStore(path)
    first = await store.commit({}, puts={"a": b"1"})
    store._file._db.pragma("max_page_count", store._file._db.pragma("page_count"))
    doomed = asyncio.create_task(store.commit({"a": first}, puts={"a": bytes(90_000)}))
    await asyncio.sleep(0)
    rival = asyncio.create_task(store.commit({"a": first}, puts={}, deletes={"b"}))
    refused = asyncio.create_task(store.commit({"a": first + 7}, puts={"a": b"2"}))
    await asyncio.wait([doomed, rival, refused])
    assert isinstance(doomed.exception(), StoreFull)
    assert rival.result() == first
    assert isinstance(refused.exception(), Stale)
    await store.aclose()


async def test_a_draft_shows_writes_on_their_way_and_settles_when_they_are_durable(path: Path) -> None:
    store = SqliteStore(path)
    first = asyncio.create_task(store.commit({"a": 0}, puts={"a": b"1"}))
    await asyncio.sleep(0)
    draft = await store.draft()
    assert [entry.value for entry in draft.range("")] == [b"1"]
    assert not store.snapshot_nowait().range("")
    assert await store.settled(draft)
    assert store.revision == draft.revision == first.result()
    await store.aclose()


async def test_a_draft_that_shows_a_write_that_failed_never_was(path: Path) -> None:
    store = SqliteStore(path)
    first = await store.commit({}, puts={"a": b"1"})
    store._file._db.pragma("max_page_count", store._file._db.pragma("page_count"))
    doomed = asyncio.create_task(store.commit({"a": first}, puts={"a": bytes(90_000)}))
    await asyncio.sleep(0)
    assert not await store.settled(await store.draft())
    assert isinstance(doomed.exception(), StoreFull)
    assert await store.draft() is store.snapshot_nowait()
    await store.aclose()


async def test_an_input_output_error_refuses_writes_until_it_is_over(path: Path) -> None:
    store = SqliteStore(path)
    first = await store.commit({}, puts={"a": b"1"})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name("store.db-wal").stat().st_size + 100, hard))
    try:
        with pytest.raises(StoreUnavailable, match=r"store\.db.*reads go on"):
            await store.commit({}, puts={"a": bytes(5000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.snapshot_nowait().range("")[0].value == b"1"
    assert await store.commit({"a": first}, puts={"a": b"2"}) == first + 1
    await store.aclose()


async def test_the_log_is_folded_into_the_state_and_nothing_changes(path: Path) -> None:
    store = SqliteStore(path, history_limit=100)
    for number in range(1500):
        await store.commit({}, puts={f"k{number % 50}": b"%d" % number}, deletes={f"k{(number + 7) % 50}"})
    await store.commit({}, puts={"last": b""})
    assert store._file.folded > 0
    assert store._file.folded <= store.compacted
    entries, compacted = store.snapshot_nowait().range(""), store.compacted
    events = store.events_after("", compacted).events
    await store.aclose()
    store = SqliteStore(path, history_limit=1000)
    assert store.snapshot_nowait().range("") == entries
    assert store.events_after("", compacted).events == events
    await store.aclose()


async def test_compaction_gives_the_space_of_the_log_back(path: Path) -> None:
    store = SqliteStore(path)
    for _ in range(300):
        await store.commit({}, puts={"a": bytes(10_000)})
    await store.compact(store.revision)
    assert store._file.folded == store.revision
    await store.aclose()
    store = SqliteStore(path)
    assert store.compacted == store.revision == 300
    for _ in range(200):
        await store.commit({}, puts={"a": bytes(10_000)})
    await store.aclose()
    assert path.stat().st_size < 4_500_000


async def test_a_group_shares_one_transaction_of_the_file(path: Path) -> None:
    store = SqliteStore(path)
    async with asyncio.TaskGroup() as group:
        for number in range(200):
            group.create_task(store.commit({}, puts={f"k{number}": b""}))
    rows = store._file._db.execute("SELECT count(*) FROM log").get
    assert store.revision == 200
    assert rows == 1
    await store.aclose()


# Files that are not as they should be


def not_a_database(path: Path) -> None:
    path.write_text(
        "just some notes of mine, long enough to be a header of a database, but they are not one at all ...."
    )


def short(path: Path) -> None:
    path.write_bytes(b"SQLite")


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    db.close()


def newer(path: Path) -> None:
    with apsw.Connection(str(path)) as db:
        db.pragma("application_id", 0x41545452)
        db.pragma("user_version", 99)
    db.close()


def damaged(path: Path) -> None:
    with apsw.Connection(str(path)) as db:
        db.pragma("application_id", 0x41545452)
        db.pragma("user_version", 1)
        db.execute("CREATE TABLE log (last INTEGER PRIMARY KEY, record BLOB)")
        db.execute("CREATE TABLE meta (name, value); INSERT INTO meta VALUES ('folded', 0), ('compacted', 0)")
        db.execute("CREATE TABLE entry (key, value, revision, created); INSERT INTO log VALUES (1, x'ff')")
    db.close()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (not_a_database, "not a database"),
        (short, "not a database"),
        (foreign, "another program"),
        (newer, "newer version .*99.*upgrade"),
        (damaged, "damaged.*backup"),
        (Path.mkdir, "cannot be read"),
    ],
)
async def test_a_file_that_is_not_ours_is_refused_and_left_alone(path: Path, make: object, text: str) -> None:
    assert callable(make)
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(StoreUnusable, match=rf"store\.db.*{text}"):
        SqliteStore(path)
    assert (path.read_bytes() if path.is_file() else b"") == before or make is damaged


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="nowhere does not exist; create it"):
        SqliteStore(tmp_path / "nowhere" / "store.db")


@pytest.fixture
def locked_up_directory() -> Iterator[Path]:
    """A directory that this user may read and not write; root lays down its powers for it."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    yield directory
    if is_root:
        os.seteuid(0)
    directory.chmod(0o755)
    shutil.rmtree(directory)


async def test_an_unwritable_directory_is_refused_with_what_to_do(locked_up_directory: Path) -> None:
    with pytest.raises(StoreUnusable, match="make the file and its directory writable"):
        SqliteStore(locked_up_directory / "store.db")


async def test_a_second_process_is_refused_and_told_who_to_stop(path: Path) -> None:
    store = SqliteStore(path)
    program = "import sys; from attractor.store.sqlite import SqliteStore; SqliteStore(sys.argv[1])"
    second = subprocess.run([sys.executable, "-c", program, str(path)], check=False, capture_output=True, text=True)
    assert second.returncode == 1
    assert "store.db: in use by another process; stop that one" in second.stderr
    with pytest.raises(StoreError, match="in use"):
        SqliteStore(path)
    await store.commit({}, puts={"a": b""})
    await store.aclose()
    again = SqliteStore(path)
    await again.aclose()


async def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    store = SqliteStore(path)
    await store.commit({}, puts={"a": b""})
    await store.aclose()
    assert path.read_bytes()[68:72] == b"ATTR"


async def test_what_a_store_keeps_is_for_its_owners_eyes_only(path: Path) -> None:
    store = SqliteStore(path)
    await store.commit({}, puts={"a": b"secret"})
    assert {one.stat().st_mode & 0o777 for one in path.parent.glob(f"{path.name}*")} == {0o600}
    await store.aclose()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_an_unforeseen_error_of_the_writer_thread_is_told_to_all_and_stops_the_store(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(path)
    await store.commit({}, puts={"a": b"1"})
    monkeypatch.setattr(store._file, "append", lambda *_: 1 / 0)
    writers = [asyncio.create_task(store.commit({}, puts={"a": b"2"})) for _ in range(3)]
    await asyncio.wait(writers)
    for task in writers:
        with pytest.raises(StoreUnavailable, match="writer thread has died"):
            task.result()
    with pytest.raises(StoreUnavailable, match="open the store anew"):
        await store.commit({}, puts={"a": b"3"})
    await store.aclose()
    again = SqliteStore(path)
    assert [entry.value for entry in again.snapshot_nowait().range("")] == [b"1"]
    await again.aclose()

"""The audit log's file: complete in the end, private, bounded, set aside when full, and never in the way."""

import asyncio
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.httpd.audit.file import AuditFile, RotatingFile
from tests.httpd.wire import eventually


def lines(count: int) -> list[bytes]:
    return [f'{{"n":{n}}}\n'.encode() for n in range(count)]


class SlowDisk:
    """Keeps nothing before it is told to; fails when it is full."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self.asked = threading.Event()
        self.may_go_on = threading.Event()
        self.is_full = False

    def append(self, lines: list[bytes]) -> None:
        self.asked.set()
        assert self.may_go_on.wait(10)
        if self.is_full:
            raise OSError(28, "No space left on device")
        self.kept += lines

    def close(self) -> None:
        pass


async def test_all_that_was_taken_is_in_the_file_in_order_after_closing(tmp_path: Path) -> None:
    sink = AuditFile.at(tmp_path / "audit.log")
    for number, line in enumerate(lines(500)):
        sink.write(line)
        if number % 100 == 0:
            await asyncio.sleep(0)
    await sink.aclose()
    assert (tmp_path / "audit.log").read_bytes() == b"".join(lines(500))
    assert sink.lost == 0


async def test_a_line_is_soon_in_the_file_without_closing(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    sink = AuditFile.at(path)
    sink.write(lines(2)[0])
    await eventually(lambda: path.read_bytes() == lines(2)[0])
    sink.write(lines(2)[1])
    await eventually(lambda: path.read_bytes() == b"".join(lines(2)))
    await sink.aclose()


async def test_an_older_log_is_continued_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    for line in lines(2):
        sink = AuditFile.at(tmp_path / "audit.log")
        sink.write(line)
        await sink.aclose()
    assert (tmp_path / "audit.log").read_bytes() == b"".join(lines(2))
    assert (tmp_path / "audit.log").stat().st_mode & 0o777 == 0o600


async def test_a_slow_disk_keeps_nobody_waiting_and_what_is_beyond_the_bound_is_counted() -> None:
    disk = SlowDisk()
    sink = AuditFile(disk, pending_bytes=100)
    first, *more = [b"x" * 40 + b"\n"] * 5
    sink.write(first)
    await eventually(disk.asked.is_set)
    for line in more:
        sink.write(line)
    assert sink.lost == 3
    disk.may_go_on.set()
    await sink.aclose()
    assert len(disk.kept) == 2


async def test_a_full_disk_loses_lines_says_so_once_and_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    disk = SlowDisk()
    disk.may_go_on.set()
    disk.is_full = True
    sink = AuditFile(disk)
    for line in lines(2):
        sink.write(line)
        await eventually(lambda: sink.lost > 0)
    await eventually(lambda: sink.lost == 2)
    disk.is_full = False
    sink.write(b"{}\n")
    await sink.aclose()
    assert (disk.kept, sink.lost) == ([b"{}\n"], 2)
    assert [record.message for record in caplog.records] == ["audit lines are lost"]


@settings(max_examples=60, deadline=None)
@given(
    batches=st.lists(st.lists(st.integers(1, 60), max_size=6), max_size=8),
    max_bytes=st.sampled_from([0, 50, 100]),
    backups=st.sampled_from([0, 1, 3]),
)
def test_full_files_are_set_aside_whole_and_only_so_many_are_kept(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], max_bytes: int, backups: int
) -> None:
    path = tmp_path_factory.mktemp("logs") / "audit.log"
    file = RotatingFile(path, max_bytes, backups)
    written = b""
    for batch in batches:
        made = [b"x" * (size - 1) + b"\n" for size in batch]
        written += b"".join(made)
        file.append(made)
    aside = file.set_aside()
    file.close()
    contents = [each.read_bytes() for each in (*aside, path)]
    assert written.endswith(b"".join(contents)), "lines are missing between files"
    if not backups or not max_bytes:
        assert b"".join(contents) == written
    if backups:
        assert len(aside) <= backups
    if max_bytes:
        assert all(len(content) <= max(max_bytes, 60) for content in contents)
        assert all(content.endswith(b"\n") for content in contents if content)


def test_a_file_that_somebody_else_took_away_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    file = RotatingFile(path, 10)
    file.append([b"12345678\n"])
    path.unlink()
    file.append([b"abc\n"])
    file.close()
    assert path.read_bytes() == b"abc\n"


def test_other_files_beside_the_log_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    (tmp_path / "audit-old.log").write_text("mine")
    file = RotatingFile(path, 10, 1)
    for _ in range(4):
        file.append([b"12345678\n"])
    file.close()
    assert (tmp_path / "audit-old.log").read_text() == "mine"
    assert len(os.listdir(tmp_path)) == 3

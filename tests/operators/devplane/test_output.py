"""What processes write has a time, is read again in its order, and does not grow for ever."""

from pathlib import Path

from attractor.operators.devplane.drivers.local.output import BLOCK_BYTES, OutputClock, written


def write(home: Path, stream: str, text: str) -> None:
    """Append to a file, as a process does."""
    with (home / stream).open("a") as file:
        file.write(text)


def test_lines_of_both_streams_are_in_order_of_time(tmp_path: Path) -> None:
    clock = OutputClock()
    for at, stream in ((100, "stdout"), (101, "stderr"), (102, "stdout")):
        write(tmp_path, stream, f"line at {at}\nanother\n")
        clock.look([tmp_path], at)
    assert [(line.at, line.text) for line in written(tmp_path)] == [
        (at, text) for at in (100, 101, 102) for text in (f"line at {at}", "another")
    ]
    assert [line.text for line in written(tmp_path, since=101)] == ["line at 101", "another", "line at 102", "another"]
    assert [line.at for line in written(tmp_path, ["stderr"])] == [101, 101]


def test_a_part_of_a_file_is_read_by_its_place(tmp_path: Path) -> None:
    write(tmp_path, "stdout", "one\ntwo\nthree")
    found = written(tmp_path, ["stdout"], spans={"stdout": (4, 8)})
    assert [(line.text, line.end) for line in found] == [("two", 8)]
    assert [(line.text, line.end) for line in written(tmp_path)] == [("one", 4), ("two", 8), ("three", 8)]


def test_the_oldest_part_of_a_long_file_is_given_back_and_the_rest_keeps_its_place(tmp_path: Path) -> None:
    clock, line = OutputClock(limit_bytes=4 * BLOCK_BYTES), "x" * 99 + "\n"
    write(tmp_path, "stdout", line * (8 * BLOCK_BYTES // len(line) + 1))
    size = (tmp_path / "stdout").stat().st_size
    clock.look([tmp_path], 100)
    after = (tmp_path / "stdout").stat()
    assert after.st_size == size
    assert after.st_blocks * 512 <= 5 * BLOCK_BYTES
    kept = written(tmp_path)
    assert {one.text for one in kept} == {"x" * 99}
    assert kept[-1].end == size

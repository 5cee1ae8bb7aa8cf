"""ARCHITECTURE.md as a map: whoever follows it finds what it names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "src" / "attractor"
MAP = (ROOT / "ARCHITECTURE.md").read_text()
ROW = re.compile(r"^\| (?P<first>[^|]+) \| (?P<second>[^|]+) \| (?P<third>[^|]+) \|$", re.MULTILINE)


def rows(heading: str) -> list[tuple[str, str, str]]:
    """The rows of the first table after a heading, without its head."""
    table = MAP.split(heading, 1)[1].strip().split("\n\n")[0]
    return [(row["first"], row["second"], row["third"]) for row in ROW.finditer(table)][1:]


@pytest.mark.parametrize(("room", "entry"), [(first, third) for first, _, third in rows("## Rooms\n")])
def test_a_room_has_the_files_that_one_begins_with(room: str, entry: str) -> None:
    folder = PRODUCT / room.strip("`").replace("/NAME", "")
    assert folder.is_dir()
    missing = [name for name in re.findall(r"`([^`]+)`", entry) if not (folder / name).exists()]
    assert missing == []


@pytest.mark.parametrize(("what", "file", "name"), rows("Where is ...?\n"))
def test_what_people_look_for_is_where_the_map_says(what: str, file: str, name: str) -> None:
    text = (PRODUCT / file.strip("`")).read_text()
    assert re.search(rf"^ *(async )?(def|class) {name.strip('`')}\b", text, re.MULTILINE), what

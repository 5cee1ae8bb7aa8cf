"""Decision records: numbered without gaps, one plan, a status, an index, and no reference to one that is not there."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "adr"
RECORDS = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
NUMBERS = {path.name[:4] for path in RECORDS}
HEADINGS = ["Context", "Decision", "Alternatives", "Consequences"]
STATUS = re.compile(r"^Status: (?P<status>accepted|superseded by (?P<by>\d{4}))$", re.MULTILINE)
ROW = re.compile(
    r"^\| \[(?P<number>\d{4})\]\((?P<file>[^)]+)\) \| (?P<title>[^|]+) \| (?P<status>[^|]+) \| (?P<line>[^|]+) \|$",
    re.MULTILINE,
)
REFERENCE = re.compile(r"\b(?:ADR |adr/|decision )(?P<number>\d{2,4})\b(?:, (?P<second>\d{4})\b)?")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def status_of(record: Path) -> str:
    """The status that a record gives itself, or nothing."""
    found = STATUS.search(record.read_text())
    return found["status"] if found else ""


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_record_has_a_number_a_status_and_the_four_headings(record: Path) -> None:
    text = record.read_text()
    assert text.startswith(f"# {record.name[:4]}. ")
    found = STATUS.search(text)
    assert found is not None, "no line `Status: accepted` or `Status: superseded by NNNN`"
    assert found["by"] in {None, *NUMBERS}
    assert re.findall(r"^## (.+)$", FENCED.sub("", text), re.MULTILINE) == HEADINGS
    assert "We would know that this was wrong if" in " ".join(text.split())


def test_numbers_have_no_gap() -> None:
    assert [path.name[:4] for path in RECORDS] == [f"{number:04d}" for number in range(1, len(RECORDS) + 1)]


def test_the_index_has_each_record_with_its_title_and_status() -> None:
    rows = [(row["file"], row["title"], row["status"]) for row in ROW.finditer((FOLDER / "README.md").read_text())]
    titles = [path.read_text().partition("\n")[0].partition(". ")[2] for path in RECORDS]
    assert rows == [(path.name, title, status_of(path)) for path, title in zip(RECORDS, titles, strict=True)]


def texts() -> list[Path]:
    """Every file of the repository in which somebody may refer to a decision."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    suffixes = {".py", ".pyi", ".c", ".h", ".md", ".toml", ".go"}
    return [path for path in map(ROOT.joinpath, listed.stdout.split("\n")) if path.suffix in suffixes and path.exists()]


def test_decisions_that_are_referred_to_exist() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in texts()
        if path != Path(__file__)
        for found in REFERENCE.finditer(path.read_text())
        if not {number for number in (found["number"], found["second"]) if number} <= NUMBERS
    ]
    assert not missing, "no such decision:\n" + "\n".join(missing)

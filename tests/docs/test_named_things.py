"""Files and modules that the pages and decision records name exist, so that a reader finds them."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|pyi|c|zip|jsonl|go))`")
NAME = re.compile(r"`(attractor(?:_verify)?(?:\.[A-Za-z_]\w*)+)(?::\w+)?[`(]")
NO_NAMES = {"attractor.cdx.json", "attractor.commands", "attractor.demos"}
"""A file and groups of entry points that look like modules."""


def resolves(dotted: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page: Path) -> None:
    roots = (ROOT, ROOT / "src" / "attractor")
    missing = [name for name in FILE.findall(page.read_text()) if not any((root / name).exists() for root in roots)]
    assert not missing


def test_modules_and_names_that_pages_name_exist() -> None:
    missing = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in PAGES
        for name in sorted(set(NAME.findall(page.read_text())) - NO_NAMES)
        if not resolves(name)
    ]
    assert not missing, "no such module or name:\n" + "\n".join(missing)


def test_a_name_that_is_gone_is_noticed() -> None:
    assert resolves("attractor.check.check")
    assert not resolves("attractor.check.no_such_name")
    assert not resolves("attractor.no_such_module.name")

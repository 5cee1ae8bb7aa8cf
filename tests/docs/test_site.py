"""The site: it builds strictly, needs nothing from outside, and none of its links is dead."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.test_fences import ROOT
from tools.docsite import api, kinds, navigation

LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
}


class Reader(HTMLParser):
    """A page's anchors, where it leads, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.leads_to: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}
        if tag == "a" and (where := found.get("href")):
            self.leads_to.add(where)
        loaded = (
            found.get("href") if tag == "link" and found.get("rel") != "canonical" else found.get(LOADED.get(tag, ""))
        )
        self.loads |= {loaded} if loaded else set()


def built(folder: Path) -> dict[Path, Reader]:
    """Build the site as ``make docs`` does; answer its pages."""
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "src", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return {page: Reader(page.read_text()) for page in sorted(folder.rglob("*.html"))}


def missing(site: Path, pages: dict[Path, Reader]) -> Iterator[str]:
    """Checked-in pages, public names and built-in kinds that the site lacks."""
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html")
        if site / name.with_name(name.name.replace("README", "index")) not in pages:
            yield str(name)
    for described in api.pages():
        named = {f"{described.module}.{name}" for name in described.members}
        yield from named - pages[site / f"reference/api/{described.name}.html"].anchors
    for module in kinds.modules():
        yield from set(kinds.stub_classes(module)) - pages[site / f"reference/kinds/{module}.html"].anchors


def from_outside(site: Path, pages: dict[Path, Reader]) -> Iterator[str]:
    """What pages and style sheets would load from elsewhere."""
    yield from (where for page in pages.values() for where in page.loads if urlsplit(where).netloc)
    for sheet in site.rglob("*.css"):
        yield from re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']*", sheet.read_text())


def dead(site: Path, pages: dict[Path, Reader]) -> Iterator[str]:
    """Links that lead to no file, or to no anchor of a page."""
    for page, read in pages.items():
        for where in read.leads_to | read.loads:
            parts = urlsplit(where)
            if parts.scheme or parts.netloc or page == site / "404.html":
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            is_lost = parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors
            if not target.is_file() or is_lost:
                yield f"{page.relative_to(site)}: {where}"


@pytest.mark.slow
def test_the_site_is_whole_needs_nothing_from_outside_and_has_no_dead_link(tmp_path: Path) -> None:
    site = tmp_path.resolve()
    pages = built(site)
    assert tuple(navigation.rooms((ROOT / "docs/README.md").read_text())) == navigation.ROOMS
    assert sorted(missing(site, pages)) == []
    assert sorted(from_outside(site, pages)) == []
    assert sorted(dead(site, pages)) == []
    assert "eventually_stable" in (site / "search/search_index.json").read_text()

"""The site: it builds strictly, needs nothing from outside, and none of its links is dead."""

import os
import subprocess
import sys
from collections import defaultdict
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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``make docs`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "PYTHONPATH": "src", "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Reader]:
    return {page: Reader(page.read_text()) for page in sorted(site.rglob("*.html"))}


@pytest.mark.slow
def test_it_has_every_room_and_a_reference_of_every_name(site: Path, pages: dict[Path, Reader]) -> None:
    index = navigation.rooms((ROOT / "docs/README.md").read_text())
    assert tuple(index) == navigation.ROOMS
    for folder in ("tutorial", "how-to", "explanation", "reference", "adr"):
        written = {page.stem for page in (ROOT / "docs" / folder).glob("*.md")} - {"README"}
        assert written <= {page.stem for page in (site / folder).glob("*.html")}
    for page in api.pages():
        named = {f"{page.module}.{name}" for name in page.members}
        assert named <= pages[site / f"reference/api/{page.name}.html"].anchors
    for module in kinds.modules():
        assert set(kinds.stub_classes(module)) <= pages[site / f"reference/kinds/{module}.html"].anchors
    assert (site / "search/search_index.json").stat().st_size > 100_000


@pytest.mark.slow
def test_it_needs_nothing_from_outside(site: Path, pages: dict[Path, Reader]) -> None:
    outside = {where for page in pages.values() for where in page.loads if urlsplit(where).netloc}
    assert outside == set()
    styles = [sheet for sheet in site.rglob("*.css") if "://" in sheet.read_text().replace("http://www.w3.org/", "")]
    assert styles == []


@pytest.mark.slow
def test_none_of_its_links_is_dead(site: Path, pages: dict[Path, Reader]) -> None:
    dead = defaultdict(list)
    for page, read in pages.items():
        for where in read.leads_to | read.loads:
            parts = urlsplit(where)
            if parts.scheme or parts.netloc or page == site / "404.html":
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            missing = parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors
            if not target.is_file() or missing:
                dead[str(page.relative_to(site))].append(where)
    assert not dead, dict(dead)

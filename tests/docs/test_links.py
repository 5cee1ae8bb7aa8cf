"""Links lead somewhere: between the checked-in pages, as a plain file host shows them, with their anchors."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.test_fences import PAGES, ROOT
from tools.docsite.links import LINK, is_relative, prose

DOCUMENTS = [*PAGES, *(page for page in sorted(ROOT.glob("*.md")) if page.name != "README.md")]
HEADING = re.compile(r"^#{1,6} (.+?)#*$", re.MULTILINE)
OWN = re.compile(r"\]\((#[^)\s]+)\)")


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings as file hosts name them: lower case, spaces to hyphens, no punctuation."""
    texts = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found) for found in HEADING.findall(prose(page.read_text()))]
    names: list[str] = []
    for text in texts:
        name = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        names.append(f"{name}-{names.count(name)}" if name in names else name)
    return frozenset(names)


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    text = prose(page.read_text())
    dead = [found[1] for found in OWN.finditer(text) if found[1][1:] not in anchors(page)]
    for found in LINK.finditer(text):
        if not is_relative(found["path"]):
            continue
        target = (page.parent / found["path"]).resolve()
        anchor = found["anchor"]
        if not target.exists() or (anchor and target.suffix == ".md" and anchor[1:] not in anchors(target)):
            dead.append(found["path"] + (anchor or ""))
    assert not dead, f"{page.relative_to(ROOT)} links to what is not there: {dead}"

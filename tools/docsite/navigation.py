"""The site's navigation, read from the index in ``docs/README.md`` and from the folder of decisions.

The index is the one place that orders pages and groups them: a room is a heading of the second level, a group within it
one of the third level, a page a list item that is nothing but a link.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Nav: TypeAlias = list[dict[str, Any]]

_LINE = re.compile(
    r"^(?P<marks>#{2,3}) (?P<heading>.+)$|^- \[(?P<title>[^\]]+)\]\((?P<path>[^)#]+\.md)\)", re.MULTILINE
)
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
ROOMS = ("Tutorial", "How-to", "Explanation", "Reference")


def plain(title: str) -> str:
    """A title without Markdown: navigation shows text only."""
    return re.sub(r"[`*]", "", title).strip()


def rooms(index: str) -> dict[str, Nav]:
    """Each room's pages, in the index's order and groups.

    >>> rooms("## How-to\\n### Run\\n- [Serve](how-to/serve.md)\\n")
    {'How-to': [{'Run': [{'Serve': 'how-to/serve.md'}]}]}
    """
    found: dict[str, Nav] = {}
    place: Nav | None = None
    for line in _LINE.finditer(index):
        heading = line["heading"]
        if heading is None:
            if place is not None:
                place.append({plain(line["title"]): line["path"]})
        elif line["marks"] == "##":
            room = heading.partition(":")[0]
            place = found.setdefault(room, []) if room in ROOMS else None
        elif place is not None:
            group: Nav = []
            found[room].append({heading: group})
            place = group
    return found


def title_of(page: Path) -> str:
    """A page's own title."""
    found = _TITLE.search(page.read_text())
    return plain(found[1]) if found else page.stem


def decisions(folder: Path) -> Nav:
    """The index of decisions, and each of them, whatever they are called."""
    pages = sorted(page for page in folder.glob("*.md") if page.name != "README.md")
    return [{"Index": "adr/README.md"}, *({title_of(page): f"adr/{page.name}"} for page in pages)]

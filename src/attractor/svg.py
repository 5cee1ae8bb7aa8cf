"""SVG documents: the frame around what is drawn, with a title and a marker for the tips of arrows."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

TIP = "url(#tip)"
"""The ``marker-end`` of an arrow."""


def document(
    width: float, height: float, parts: Iterable[str], attributes: str, *, title: str = "", tip: str = ""
) -> str:
    """A drawing that stands by itself; with a title it is drawn on white, ``tip`` is the colour of the arrows' tips."""
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" {attributes}>'
    ]
    if title:
        head += [f"<title>{escape(title)}</title>", f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>']
    if tip:
        head.append(
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0,0 L8,4 L0,8 z" fill="{tip}"/></marker></defs>'
        )
    return "\n".join([*head, *parts, "</svg>", ""])

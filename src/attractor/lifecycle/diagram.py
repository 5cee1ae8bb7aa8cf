"""A lifecycle, drawn: an SVG with a box for each state, coloured by its owner, and an arrow for each row.

States stand in columns by their distance from the initial one, so that life goes from left to right; what goes back is
drawn below. Dashed arrows are shortcuts past a lost message, dotted ones are undone work. The same table is always
drawn the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape

from attractor.svg import TIP, document

if TYPE_CHECKING:
    from attractor.lifecycle.table import Lifecycle, Row

BOX_W, BOX_H = 132, 34
GAP_X, GAP_Y = 96, 46
MARGIN = 28
COLOURS = ("#cfe3ff", "#d8f3d2", "#ffe3bf", "#f6d5ec", "#e3dcff")
STROKES = {"move": "", "missed": "6 4", "undo": "2 4", "override": "1 6"}


class Place(NamedTuple):
    """Position of a state's box: its upper left corner."""

    x: int
    y: int


def places(table: Lifecycle[Any, Any]) -> dict[str, Place]:
    """A place for each state: the column is its distance from the initial state, the line its turn in the column."""
    column = {str(table.initial): 0}
    frontier = [table.initial]
    while frontier:
        found = [row.next for row in table.steps if row.state in frontier and str(row.next) not in column]
        for state in found:
            column.setdefault(str(state), max(column.values()) + 1 if state == found[0] else max(column.values()))
        frontier = list(dict.fromkeys(found))
    lines: dict[int, int] = {}
    placed = {}
    for state in table.states:
        at = column[str(state)]
        placed[str(state)] = Place(MARGIN + at * (BOX_W + GAP_X), MARGIN + 30 + lines.get(at, 0) * (BOX_H + GAP_Y))
        lines[at] = lines.get(at, 0) + 1
    return placed


def svg(table: Lifecycle[Any, Any]) -> str:
    """The drawing, as a whole SVG document."""
    placed = places(table)
    colour = {actor: COLOURS[number % len(COLOURS)] for number, actor in enumerate(table.actors)}
    width = max(place.x for place in placed.values()) + BOX_W + MARGIN
    low = max(place.y for place in placed.values()) + BOX_H
    backward = [row for row in table.steps if placed[row.next].x < placed[row.state].x]
    height = low + MARGIN + 18 * (len(backward) + 1)
    drawn = [_arrow(row, placed, low + MARGIN + 18 * number) for number, row in _numbered(table, backward)]
    drawn += [_box(str(state), placed[state], colour.get(table.owner(state), "#eee")) for state in table.states]
    drawn += [
        f'<g><rect x="{MARGIN + 130 * number}" y="8" width="14" height="14" fill="{fill}" stroke="#444"/>'
        f'<text x="{MARGIN + 130 * number + 20}" y="20">{escape(str(actor))}</text></g>'
        for number, (actor, fill) in enumerate(colour.items())
        if any(row.actor == actor for row in table.steps)
    ]
    return document(width, height, drawn, 'font-family="sans-serif" font-size="12"', title=table.name, tip="#444")


def _numbered(table: Lifecycle[Any, Any], backward: list[Row[Any, Any]]) -> list[tuple[int, Row[Any, Any]]]:
    """Each row, with the lane below the boxes that it takes when it goes back."""
    lanes = {id(row): number for number, row in enumerate(backward)}
    return [(lanes.get(id(row), 0), row) for row in table.steps]


def _box(state: str, place: Place, fill: str) -> str:
    return (
        f'<g class="state"><rect x="{place.x}" y="{place.y}" width="{BOX_W}" height="{BOX_H}" rx="8" fill="{fill}" '
        f'stroke="#444"/><text x="{place.x + BOX_W // 2}" y="{place.y + 21}" text-anchor="middle">{escape(state)}'
        "</text></g>"
    )


def _arrow(row: Row[Any, Any], placed: dict[str, Place], lane: int) -> str:
    """One row: straight to the right, bent within a column, and through a lane below when it goes back."""
    begin, end = placed[row.state], placed[row.next]
    if end.x > begin.x:
        x1, y1, x2, y2 = begin.x + BOX_W, begin.y + BOX_H // 2, end.x, end.y + BOX_H // 2
        bend = (x2 - x1) // 2
        path, label = f"M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}", (x1 + 6, y1 - 5)
    elif end.x == begin.x:
        x1, y1, y2 = begin.x + BOX_W, begin.y + BOX_H // 2, end.y + BOX_H // 2
        path, label = f"M{x1},{y1} C{x1 + 40},{y1} {x1 + 40},{y2} {x1},{y2}", (x1 + 34, (y1 + y2) // 2)
    else:
        x1, x2 = begin.x + BOX_W // 2, end.x + BOX_W // 2
        path = f"M{x1},{begin.y + BOX_H} L{x1},{lane} L{x2},{lane} L{x2},{end.y + BOX_H}"
        label = ((x1 + x2) // 2, lane - 4)
    dash = f' stroke-dasharray="{STROKES[row.kind]}"' if STROKES[row.kind] else ""
    said = escape(f"{row.state}: {row.actor} {row.event} → {row.next}" + (f" ({row.remark})" if row.remark else ""))
    return (
        f'<g class="row {row.kind}"><title>{said}</title><path d="{path}" fill="none" stroke="#444"{dash} '
        f'marker-end="{TIP}"/><text x="{label[0]}" y="{label[1]}" font-size="10" fill="#444">'
        f"{escape(row.event)}</text></g>"
    )

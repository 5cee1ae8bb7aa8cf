"""The drawing: SVG text from a layout. Colours are the page's, by class."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from attractor.check.report.diagram.layout import ROW
from attractor.svg import document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.report.diagram.layout import Arrow, Layout

LETTER = 6.4
"""How wide a letter of a message's label is."""
SHORTEST = 9
"""So many letters of a label are shown however near its ends are."""


def svg(layout: Layout) -> str:
    """The whole drawing, to stand in a page."""
    parts = [
        *_rows(layout),
        *_lanes(layout),
        *_bars(layout),
        *(part for arrow in layout.arrows for part in _arrow(arrow)),
        *_dots(layout),
    ]
    return document(layout.width, layout.height, parts, 'role="img" aria-label="space-time diagram"').rstrip()


def _rows(layout: Layout) -> Iterator[str]:
    story = layout.story
    for number in range(len(story) + 1):
        fault = number > 0 and bool(story.steps[number - 1].fault)
        loop = story.loop is not None and number > story.loop
        names = f"row{' fault' if fault else ''}{' loop' if loop else ''}"
        yield (
            f'<rect class="{names}" data-step="{number}" x="0" y="{layout.top(number):g}" '
            f'width="{layout.width}" height="{ROW}"/>'
        )


def _lanes(layout: Layout) -> Iterator[str]:
    bottom = layout.height
    for lane in layout.story.lanes:
        x = layout.x(lane.id)
        yield f'<line class="lane {lane.kind}" x1="{x:g}" y1="0" x2="{x:g}" y2="{bottom:g}"/>'


def _bars(layout: Layout) -> Iterator[str]:
    for bar in layout.bars:
        x, kind = layout.x(bar.lane.id), "down" if bar.is_down else "busy"
        height = max(2.0, bar.bottom - bar.top)
        yield f'<rect class="bar {kind}" x="{x - 6:g}" y="{bar.top:g}" width="12" height="{height:g}" rx="5"/>'


def _arrow(arrow: Arrow) -> Iterator[str]:
    message = arrow.message
    names = f"message {message.kind}{' lost' if message.is_lost else ''}"
    label = escape(message.label)
    yield f'<g class="{names}" data-step="{arrow.number}"><title>{label}</title>'
    if message.source == message.target:
        x, y = arrow.x1, arrow.y1
        yield f'<path d="M{x:g} {y:g} q30 6 0 14" class="shaft"/>'
    else:
        yield f'<line class="shaft" x1="{arrow.x1:g}" y1="{arrow.y1:g}" x2="{arrow.x2:g}" y2="{arrow.y2:g}"/>'
    yield _cross(arrow) if message.is_lost else _head(arrow)
    x, y = arrow.middle
    room = max(SHORTEST, int(abs(arrow.x2 - arrow.x1) / LETTER))
    yield f'<text x="{x:g}" y="{y - 4:g}">{escape(_cut(message.label, room))}</text></g>'


def _head(arrow: Arrow) -> str:
    """A filled triangle whose tip is the arrow's end."""
    dx, dy = arrow.x2 - arrow.x1, arrow.y2 - arrow.y1
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    ux, uy = dx / length, dy / length
    bx, by = arrow.x2 - 9 * ux, arrow.y2 - 9 * uy
    corners = (arrow.x2, arrow.y2), (bx - 4 * uy, by + 4 * ux), (bx + 4 * uy, by - 4 * ux)
    return f'<polygon class="head" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}"/>'


def _cross(arrow: Arrow) -> str:
    x, y = arrow.x2, arrow.y2
    return f'<path class="cross" d="M{x - 6:g} {y - 6:g} l12 12 m0 -12 l-12 12"/>'


def _dots(layout: Layout) -> Iterator[str]:
    story = layout.story
    for number, step in enumerate(story.steps, 1):
        x, y = layout.x(step.lane), layout.y(number)
        if step.phase == "crash":
            for lane in story.lanes:
                if lane.host == step.host:
                    at = layout.x(lane.id)
                    yield f'<path class="crash" d="M{at - 8:g} {y - 8:g} l16 16 m0 -16 l-16 16"/>'
        names = f"dot {story.lane_of[step.lane].kind}{' fault' if step.fault else ''}"
        yield f'<circle class="{names}" data-step="{number}" cx="{x:g}" cy="{y:g}" r="6"/>'


def _cut(label: str, room: int) -> str:
    return label if len(label) <= room else f"{label[: room - 1]}…"


def lane_heads(layout: Layout) -> str:
    """The titles over the lanes, as HTML."""
    return "\n".join(
        f'<div class="head {lane.kind}" title="{escape(lane.title)}" '
        f'style="left:{layout.x(lane.id) - layout.lane / 2:g}px;width:{layout.lane}px">'
        f"<b>{escape(lane.title)}</b><small>{escape(lane.kind)}</small></div>"
        for lane in layout.story.lanes
    )

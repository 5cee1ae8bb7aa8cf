"""Pictures of a ``Dag``: text for a terminal, DOT for Graphviz, SVG for a page. What runs first is at the bottom."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

from attractor.svg import document

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from attractor.plan.dag import Dag

V = TypeVar("V", bound="Hashable")

_CHARACTER, _HEIGHT, _GAP = 8, 28, 36


def to_text(dag: Dag[V], label: Callable[[V], str] = str, order: Callable[[V], Any] | None = None) -> str:
    """A tree below the root; what was drawn already is named again, followed by ``...`` if more is below it."""
    lines: list[str] = []
    drawn: set[V] = set()

    def draw(vertex: V, lead: str, tail: str) -> None:
        below = dag.dependencies(vertex)
        ordered = list(below) if order is None else sorted(below, key=order)
        again = vertex in drawn and bool(ordered)
        lines.append(f"{lead}{label(vertex)}{' ...' if again else ''}")
        if again:
            return
        drawn.add(vertex)
        for inner in ordered:
            is_last = inner == ordered[-1]
            draw(inner, tail + ("└─ " if is_last else "├─ "), tail + ("   " if is_last else "│  "))

    for top in dag.levels(order)[:1]:
        for vertex in top:
            draw(vertex, "", "")
    return "\n".join(lines)


def to_dot(dag: Dag[V], label: Callable[[V], str] = str) -> str:
    """The graph in Graphviz' language; an arrow points to what must be done first."""
    names = {vertex: f"v{number}" for number, vertex in enumerate(dag)}
    quoted = {vertex: label(vertex).replace("\\", "\\\\").replace('"', '\\"') for vertex in dag}
    lines = [f'  {names[vertex]} [label="{quoted[vertex]}"];' for vertex in dag]
    lines += [f"  {names[dependent]} -> {names[dependency]};" for dependent, dependency in dag.edges]
    return "\n".join(["digraph plan {", "  node [shape=box];", *lines, "}"])


def to_svg(dag: Dag[V], label: Callable[[V], str] = str, order: Callable[[V], Any] | None = None) -> str:
    """The graph as a picture by itself: one row for each wave, the root at the top."""
    rows = dag.waves(order)[::-1]
    widths = {vertex: _CHARACTER * len(label(vertex)) + 16 for vertex in dag}
    width = max((sum(widths[v] + _GAP for v in row) for row in rows), default=0) + _GAP
    places: dict[V, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        x = (width - sum(widths[vertex] + _GAP for vertex in row) + _GAP) / 2
        for vertex in row:
            places[vertex] = (x + widths[vertex] / 2, _GAP + number * (_HEIGHT + _GAP))
            x += widths[vertex] + _GAP
    height = _GAP + len(rows) * (_HEIGHT + _GAP)
    lines = [
        f'<line x1="{places[a][0]:.0f}" y1="{places[a][1] + _HEIGHT:.0f}" x2="{places[b][0]:.0f}" '
        f'y2="{places[b][1]:.0f}" stroke="#888"/>'
        for a, b in dag.edges
    ]
    for vertex, (x, y) in places.items():
        lines.append(
            f'<rect x="{x - widths[vertex] / 2:.0f}" y="{y:.0f}" width="{widths[vertex]}" height="{_HEIGHT}" '
            'rx="4" fill="#fff" stroke="#444"/>'
        )
        lines.append(f'<text x="{x:.0f}" y="{y + 18:.0f}" text-anchor="middle">{escape(label(vertex))}</text>')
    return document(width, height, lines, 'font-family="monospace"').rstrip()

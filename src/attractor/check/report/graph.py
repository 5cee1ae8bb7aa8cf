"""The graph of a small specification as a picture: Graphviz text, a drawing, or a page to explore.

States stand in columns by their distance from the initial states, so that every step of a shortest run goes one column
to the right; steps back are drawn below. Each arrow has its action; each state tells all its variables (as a tooltip,
on the page by a click). Above a few hundred states nobody can read such a picture, so ``draw`` refuses.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attractor.check.engine.exploration import OUTSIDE, Settings
from attractor.check.engine.selection import explore
from attractor.check.trace import plain, short
from attractor.svg import TIP, document

if TYPE_CHECKING:
    from attractor.check.api import Checkable
    from attractor.check.engine.exploration import Exploration

FORMATS = ("svg", "dot", "html")
LIMIT = {"svg": 300, "html": 300, "dot": 5000}
COLUMN, ROW, RADIUS = 190, 64, 16


class GraphTooLarge(Exception):
    """The graph has more states than a picture can show."""

    hint = "set smaller constants with --const, or write .dot, which may have up to 5000 states"


@dataclass(frozen=True)
class Node:
    """A state: its number, its distance from the start plus one, and its variables."""

    number: int
    level: int
    values: dict[str, Any]


@dataclass(frozen=True)
class Arrow:
    """All steps from one state to another, with the actions that make them."""

    source: int
    target: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """A graph, ready to be drawn."""

    title: str
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]


def draw(spec: Checkable, form: str) -> str:
    """The whole graph of ``spec`` as ``svg``, ``dot`` or ``html``; GraphTooLarge if it has too many states."""
    shown = picture(spec, LIMIT[form])
    return {"svg": svg, "dot": dot, "html": page}[form](shown)


def picture(spec: Checkable, limit: int) -> Picture:
    """Explore ``spec`` and take down its states and steps."""
    model = spec.compile()
    exploration, _ = explore(model, Settings(max_states=limit + 1, deadlock=False, properties=frozenset()), "python")
    if exploration.bound or exploration.counts.distinct > limit:
        raise GraphTooLarge(f"{model.name} has more than {limit} states: too many for a picture")
    count = exploration.counts.distinct
    levels = _levels(exploration, count)
    names = [slot.name for slot in model.slots]
    nodes = []
    for number in range(count):
        state = exploration.state(number)
        values = [plain(slot.domain.values[each]) for slot, each in zip(model.slots, state, strict=True)]
        nodes.append(Node(number, levels[number], dict(zip(names, values, strict=True))))
    return Picture(repr(spec), tuple(nodes), tuple(_arrows(exploration, count)))


def _levels(exploration: Exploration, count: int) -> list[int]:
    levels: list[int] = []
    for number in range(count):
        parent = exploration.parent(number)
        levels.append(0 if parent is None else levels[parent] + 1)
    return levels


def _arrows(exploration: Exploration, count: int) -> list[Arrow]:
    graph = exploration.graph()
    found: dict[tuple[int, int], list[str]] = {}
    for number in range(count):
        for edge in range(graph.offsets[number], graph.offsets[number + 1]):
            if graph.targets[edge] != OUTSIDE:
                label = exploration.model.actions[graph.actions[edge]].label
                labels = found.setdefault((number, graph.targets[edge]), [])
                if label not in labels:
                    labels.append(label)
    return [Arrow(source, target, tuple(labels)) for (source, target), labels in found.items()]


def _described(node: Node) -> str:
    return "\n".join(f"{name} = {short(value)}" for name, value in node.values.items())


def dot(shown: Picture) -> str:
    """Graphviz text."""
    lines = [f"digraph {json.dumps(shown.title)} {{", "  rankdir=LR;", "  node [shape=box, fontname=monospace];"]
    for node in shown.nodes:
        label = json.dumps(_described(node), ensure_ascii=False).replace("\\n", "\\l")[:-1] + '\\l"'
        style = ", penwidth=2" if node.level == 0 else ""
        lines.append(f"  s{node.number} [label={label}{style}];")
    for arrow in shown.arrows:
        label = json.dumps("\n".join(arrow.labels), ensure_ascii=False)
        lines.append(f"  s{arrow.source} -> s{arrow.target} [label={label}];")
    return "\n".join([*lines, "}", ""])


def _placed(shown: Picture) -> dict[int, tuple[int, int]]:
    """Where each state stands: columns by level; in a column, near the predecessors' average."""
    before: dict[int, list[int]] = {}
    for arrow in shown.arrows:
        if shown.nodes[arrow.source].level < shown.nodes[arrow.target].level:
            before.setdefault(arrow.target, []).append(arrow.source)
    columns: dict[int, list[int]] = {}
    for node in shown.nodes:
        columns.setdefault(node.level, []).append(node.number)
    tallest = max(map(len, columns.values()))
    places: dict[int, tuple[int, int]] = {}
    for level, numbers in sorted(columns.items()):
        middle = {
            number: sum(places[each][1] for each in before[number]) / len(before[number]) if number in before else 0.0
            for number in numbers
        }
        top = (tallest - len(numbers)) * ROW // 2
        for row, number in enumerate(sorted(numbers, key=lambda each: (middle[each], each))):
            places[number] = (60 + level * COLUMN, 60 + top + row * ROW)
    return places


def svg(shown: Picture) -> str:
    """A drawing that stands on its own."""
    places = _placed(shown)
    width = max(x for x, _ in places.values()) + 140
    height = max(y for _, y in places.values()) + 110
    parts = [
        *(_arrow(arrow, places) for arrow in shown.arrows),
        *(_circle(node, places[node.number]) for node in shown.nodes),
    ]
    return document(width, height, parts, 'font-family="sans-serif" font-size="11"', title=shown.title, tip="#667")


def _arrow(arrow: Arrow, places: dict[int, tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = places[arrow.source], places[arrow.target]
    text = html.escape(", ".join(arrow.labels))
    if arrow.source == arrow.target:
        path = f"M{x1 - 8} {y1 - RADIUS + 2} C{x1 - 26} {y1 - 48} {x1 + 26} {y1 - 48} {x1 + 8} {y1 - RADIUS + 2}"
        at = (x1, y1 - 40)
    elif x2 > x1:
        path = f"M{x1 + RADIUS} {y1} C{x1 + 70} {y1} {x2 - 70} {y2} {x2 - RADIUS - 2} {y2}"
        at = ((x1 + x2) // 2, (y1 + y2) // 2 - 5)
    else:
        low = max(y1, y2) + 44
        path = f"M{x1} {y1 + RADIUS} C{x1} {low + 20} {x2} {low + 20} {x2} {y2 + RADIUS + 2}"
        at = ((x1 + x2) // 2, low + 2)
    return (
        f'<path d="{path}" fill="none" stroke="#99a" marker-end="{TIP}"><title>{text}</title></path>'
        f'<text x="{at[0]}" y="{at[1]}" text-anchor="middle" fill="#446">{_clipped(text)}</text>'
    )


def _clipped(text: str) -> str:
    return text if len(text) <= 26 else text[:25] + "…"


def _circle(node: Node, place: tuple[int, int]) -> str:
    x, y = place
    fill = "#dfe9ff" if node.level == 0 else "#f4f4f8"
    return (
        f'<g class="state" data-state="{node.number}"><circle cx="{x}" cy="{y}" r="{RADIUS}" fill="{fill}" '
        f'stroke="#335"/><text x="{x}" y="{y + 4}" text-anchor="middle">{node.number}</text>'
        f"<title>{html.escape(_described(node))}</title></g>"
    )


def page(shown: Picture) -> str:
    """A page: the drawing, and beside it the state that was clicked."""
    states = {
        str(node.number): [f"{name} = {short(value)}" for name, value in node.values.items()] for node in shown.nodes
    }
    data = json.dumps(states, ensure_ascii=False).replace("<", "\\u003c")
    return _PAGE.format(title=html.escape(shown.title), drawing=svg(shown), data=data, count=len(shown.nodes))


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
 body {{ margin: 0; font: 14px sans-serif; display: flex; height: 100vh }}
 main {{ flex: 1; overflow: auto }}
 aside {{ width: 22rem; padding: 1rem; border-left: 1px solid #ccd; overflow: auto }}
 .state {{ cursor: pointer }} .state.chosen circle {{ fill: #ffe8a8 }}
 pre {{ white-space: pre-wrap }}
</style>
<main>{drawing}</main>
<aside><h1>{title}</h1><p>{count} states. Click one to see its variables.</p><pre id="values"></pre></aside>
<script>
 const states = {data};
 for (const each of document.querySelectorAll(".state")) each.addEventListener("click", () => {{
   document.querySelectorAll(".chosen").forEach(other => other.classList.remove("chosen"));
   each.classList.add("chosen");
   document.getElementById("values").textContent = states[each.dataset.state].join("\\n");
 }});
</script>
</html>
"""

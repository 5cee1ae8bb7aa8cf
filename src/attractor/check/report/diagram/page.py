"""The page: the drawing, the list of steps beside it, and what a script needs to show a step."""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from attractor.check.report.diagram.drawing import lane_heads, svg
from attractor.check.report.diagram.layout import ROW, Layout
from attractor.check.report.json_difference import difference

if TYPE_CHECKING:
    from attractor.check.report.story import Change, Part, Step, Story


_MARK = re.compile(r"\{\{(\w+)\}\}")


def page(story: Story) -> str:
    """The whole HTML document."""
    layout = Layout(story)
    parts = {
        "title": escape(f"{story.claim} of {story.world}"),
        "claim": escape(story.claim),
        "world": escape(story.world),
        "says": escape(story.says),
        "ending": escape(story.ending),
        "because": _because(story),
        "steps": "\n".join(_items(story)),
        "heads": lane_heads(layout),
        "drawing": svg(layout),
        "width": str(layout.width),
        "row": str(ROW),
        "style": _text("page.css"),
        "script": _text("page.js"),
        "data": _inline(_data(story)),
    }
    return _MARK.sub(lambda mark: parts[mark[1]], _text("page.html"))


def _because(story: Story) -> str:
    """Why the claim is false, with the values that make it so."""
    if not story.because:
        return ""
    where, *why = map(escape, story.because)
    values = "\n".join(why)
    return f'<section class="because"><b>{where}</b><pre>{values}</pre></section>'


@cache
def _text(name: str) -> str:
    return files("attractor.check.report.diagram").joinpath(name).read_text(encoding="utf-8")


def _inline(data: Any) -> str:
    """JSON that can stand in a script element: nothing in it ends the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _items(story: Story) -> list[str]:
    made = [_item(story, 0, "initially", "the beginning", "")]
    for number, step in enumerate(story.steps, 1):
        made.append(_item(story, number, step.title, story.lane_of[step.lane].title, step.fault))
    return made


def _item(story: Story, number: int, title: str, who: str, fault: str) -> str:
    loop = story.loop is not None and number > story.loop
    names = " ".join(name for name, on in (("fault", bool(fault)), ("loop", loop)) if on)
    badge = f'<em class="badge">{escape(fault)}</em>' if fault else ""
    return (
        f'<li id="step-{number}" data-step="{number}" class="{names}" role="option" aria-selected="false">'
        f'<span class="number">{number}</span><span class="what"><small>{escape(who)}</small>{badge}'
        f'<span class="said">{escape(title)}</span></span></li>'
    )


def _data(story: Story) -> dict[str, Any]:
    return {
        "initial": [[change.part.label, _rank(change.part), change.after] for change in story.initial],
        "steps": [_step(step) for step in story.steps],
        "titles": ["initially", *(step.title for step in story.steps)],
        "who": ["", *(story.lane_of[step.lane].title for step in story.steps)],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "action": step.action,
        "arguments": step.arguments,
        "fault": step.fault,
        "request": None if step.last_exchange is None else step.last_exchange.request,
        "response": None if step.last_exchange is None else step.last_exchange.response,
        "changes": [_change(change) for change in step.changes],
    }


def _change(change: Change) -> dict[str, Any]:
    lines = [[line.sign, line.path, line.text] for line in difference(change.before, change.after)]
    part = change.part
    return {"slot": part.label, "rank": _rank(part), "title": part.title, "after": change.after, "lines": lines}


def _rank(part: Part) -> int:
    """Objects come first, then outside systems, then machinery."""
    return {"object": 0, "external": 1}.get(part.variable, 2)

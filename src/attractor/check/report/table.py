"""A story as a table for a terminal: who, what, and what changed; as narrow as the terminal is."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Literal, Protocol

from attractor.check.report.json_difference import difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.report.story import Change, Step, Story

MIN_WIDTH = 40
MAX_WHO = 24
SIGN_STYLES: dict[str, Literal["green", "red", "yellow"]] = {"+": "green", "-": "red", "~": "yellow"}


class Paint(Protocol):
    """Colours text, where a person is looking."""

    def __call__(self, text: str, *styles: str) -> str:
        """``text`` in those styles."""
        ...


def plain(text: str, *_styles: str) -> str:
    """No colour."""
    return text


def lines(story: Story, *, width: int = 100, paint: Paint = plain, full: bool = False) -> Iterator[str]:
    """The table's lines; ``full`` shows the changes of caches, queues and workers too, not of objects only."""
    layout = _Layout(story, max(MIN_WIDTH, width), paint, full)
    yield from layout.head()
    for number, step in enumerate(story.steps, 1):
        yield from layout.step(number, step)
    yield from layout.tail()


class _Layout:
    def __init__(self, story: Story, width: int, paint: Paint, full: bool) -> None:
        self._story = story
        self._paint = paint
        self._full = full
        self._number = len(str(len(story)))
        who = max((len(lane.title) for lane in story.lanes), default=0)
        self._who = min(who, MAX_WHO, width // 3)
        self._width = width
        self._what = width - self._number - self._who - 6

    def head(self) -> Iterator[str]:
        story = self._story
        for line in textwrap.wrap(f"{story.claim} of {story.world}", self._width):
            yield self._paint(line, "bold")
        yield from textwrap.wrap(story.says, self._width)
        yield ""
        yield self._paint(f"  {'#':>{self._number}}  {'who':<{self._who}}  what", "dim")

    def step(self, number: int, step: Step) -> Iterator[str]:
        """One step: its title, then its changes."""
        mark = self._loop_mark(number)
        who = _cut(self._story.lane_of[step.lane].title, self._who)
        title = f"{step.title}  [{step.fault}]" if step.fault and step.fault not in step.title else step.title
        first, *rest = textwrap.wrap(title, self._what) or [""]
        style = ("red", "bold") if step.fault else ("bold",)
        yield f"{mark} {number:>{self._number}}  {who:<{self._who}}  {self._paint(first, *style)}"
        margin = f"{mark} {'':>{self._number}}  {'':<{self._who}}  "
        yield from (margin + self._paint(more, *style) for more in rest)
        for change in step.changes:
            if self._full or change.part.is_shown:
                yield from (margin + each for each in self._change(change))

    def _change(self, change: Change) -> Iterator[str]:
        name = change.part.title
        if change.before is None or change.after is None:
            sign, style = ("+", "green") if change.before is None else ("-", "red")
            yield self._paint(_cut(f"{sign} {name}", self._what), style)
            if change.after is None:
                return
        else:
            yield self._paint(_cut(f"~ {name}", self._what), "yellow")
        for each in difference(change.before, change.after):
            if each.path in {"apiVersion", "kind", "metadata.name", "metadata.namespace"}:
                continue
            yield "  " + self._paint(_cut(str(each), self._what - 2), SIGN_STYLES[each.sign])

    def _loop_mark(self, number: int) -> str:
        loop = self._story.loop
        return self._paint("↻", "yellow") if loop is not None and number > loop else " "

    def tail(self) -> Iterator[str]:
        """How the run goes on, and why the claim is false."""
        if self._story.ending:
            for line in textwrap.wrap(f"↻ {self._story.ending}", self._width, subsequent_indent="  "):
                yield self._paint(line, "yellow")
        yield from because(self._story, self._paint, self._width)


def because(story: Story, paint: Paint = plain, width: int = 100) -> Iterator[str]:
    """Why the claim is false, if that is known."""
    if story.because:
        where, *why = story.because
        yield ""
        yield paint(where, "bold")
        yield from (_cut(f"  {line}", width) for line in why)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"

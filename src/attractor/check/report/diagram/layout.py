"""Layout of the diagram: lanes in columns, steps in rows, arrows between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.report.story import Lane, Message, Step, Story

LANE = 158
"""The width of a lane, where there is room; lanes are as narrow as it takes to stand side by side in ``ROOM``."""
NARROWEST = 64
ROOM = 624
ROW = 60
MARGIN = 30
LOST_AT = 0.62
"""How far a message that gets lost comes."""


@dataclass(frozen=True)
class Arrow:
    """A message, from point to point; ``number`` is the step in which it arrives."""

    number: int
    message: Message
    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def middle(self) -> tuple[float, float]:
        """Where its label goes: near the end that it starts from, so that crossing arrows stay apart."""
        part = 0.5 if self.y2 - self.y1 <= ROW else 1 - 0.45 * ROW / (self.y2 - self.y1)
        return self.x1 + (self.x2 - self.x1) * part, self.y1 + (self.y2 - self.y1) * part


@dataclass(frozen=True)
class Bar:
    """A stretch of a lane: a reconcile that runs (``is_down`` false), or a host that does not."""

    lane: Lane
    top: float
    bottom: float
    is_down: bool


class Layout:
    """Coordinates for one story, in pixels from the top left corner of the drawing."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.lane = max(NARROWEST, min(LANE, ROOM // max(1, len(story.lanes))))
        self.width = 2 * MARGIN + self.lane * len(story.lanes)
        self.height = ROW * (len(story) + 1) + MARGIN
        self._column = {lane.id: number for number, lane in enumerate(story.lanes)}

    def x(self, lane: str) -> float:
        """The middle of a lane."""
        return MARGIN + self.lane * (self._column[lane] + 0.5)

    def top(self, number: int) -> float:
        """The upper edge of a step's row; row 0 is the initial state."""
        return float(ROW * number)

    def y(self, number: int) -> float:
        """The middle of a step's row."""
        return self.top(number) + ROW / 2

    @cached_property
    def arrows(self) -> tuple[Arrow, ...]:
        """Every message. Those of one step share its row, one below the other."""
        return tuple(self._arrows())

    def _arrows(self) -> Iterator[Arrow]:
        for number, step in enumerate(self.story.steps, 1):
            here = [message for message in step.messages if message.sent_in in {None, number}]
            for message in step.messages:
                x1, x2 = self.x(message.source), self.x(message.target)
                if message in here:
                    part = ROW / len(here)
                    y1 = self.top(number) + here.index(message) * part + part * 0.22
                    y2 = y1 + part * 0.56
                else:
                    y1, y2 = self.y(message.sent_in or 0), self.y(number)
                if message.is_lost:
                    x2, y2 = x1 + (x2 - x1) * LOST_AT, y1 + (y2 - y1) * LOST_AT
                yield Arrow(number, message, x1, y1, x2, y2)

    @cached_property
    def bars(self) -> tuple[Bar, ...]:
        """When workers were busy and when hosts were down."""
        found: list[Bar] = []
        busy: dict[str, float] = {}
        down: dict[str, float] = {}
        for number, step in enumerate(self.story.steps, 1):
            self._follow(number, step, busy, down, found)
        end = self.top(len(self.story) + 1)
        found += [Bar(self.story.lane_of[lane], top, end, False) for lane, top in busy.items()]
        found += [Bar(lane, top, end, True) for host, top in down.items() for lane in self._lanes_of(host)]
        return tuple(found)

    def _follow(
        self, number: int, step: Step, busy: dict[str, float], down: dict[str, float], found: list[Bar]
    ) -> None:
        y = self.y(number)
        match step.phase:
            case "begin":
                busy[step.lane] = y
            case "end":
                if step.lane in busy:
                    found.append(Bar(self.story.lane_of[step.lane], busy.pop(step.lane), y, False))
            case "crash":
                ended = [lane for lane in self._lanes_of(step.host) if lane.id in busy]
                found += [Bar(lane, busy.pop(lane.id), y, False) for lane in ended]
                down[step.host] = y
            case "restart":
                if step.host in down:
                    top = down.pop(step.host)
                    found += [Bar(lane, top, y, True) for lane in self._lanes_of(step.host)]

    def _lanes_of(self, host: str) -> list[Lane]:
        return [lane for lane in self.story.lanes if lane.host == host and host]

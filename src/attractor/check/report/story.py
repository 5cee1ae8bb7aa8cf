"""A run of a world as records: who acted, what was asked and answered, which messages went, what changed.

``story_builder`` makes these records of a trace; the table, the diagram, the replay on the real runtime and regression
tests are all made from them, and a counterexample file is their JSON. A story knows nothing of the world that it was
made from, and has a version, so that an old file is either understood or refused with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from attractor.check.events import Closed, Operated  # noqa: TC001 - read by msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = Any
LaneKind = Literal["user", "server", "cache", "worker", "outside", "system"]
MessageKind = Literal["request", "answer", "event", "call"]
Phase = Literal["", "begin", "end", "crash", "restart"]

FORMAT = "attractor/story"
VERSION = 2


class BadStory(ValueError):
    """A file is no story, or one that this version cannot read; the text says what is wrong and what to do."""


@dataclass(frozen=True)
class Lane:
    """One party: the user, the API server, a host's cache, a worker, an outside system, or the system itself."""

    id: str
    kind: LaneKind
    title: str
    host: str = ""
    """The process that it belongs to and crashes with."""


@dataclass(frozen=True)
class Message:
    """Something sent from one lane to another within a step."""

    source: str
    target: str
    label: str
    kind: MessageKind = "request"
    is_lost: bool = False
    """It never arrived."""
    sent_in: int | None = None
    """The number of the step in which it was sent, where that was an earlier one."""


@dataclass(frozen=True)
class Part:
    """One part of the state: an object on the server, a cache's entry, a queue, a worker."""

    variable: str
    """``object``, ``external``, ``cached``, ``watch``, ``queue``, ..."""
    key: str = ""
    """Which one: the store's key of an object, host and kind of a watch, ..."""
    name: str = ""
    """The key for people: ``ConfigMap default/a``."""

    @property
    def is_shown(self) -> bool:
        """Whether everybody is shown it: an object of the API server or an outside system, no cache or queue."""
        return self.variable in {"object", "external"}

    @property
    def slot(self) -> str:
        """The name of the slot in a trace."""
        return f"{self.variable}[{self.key!r}]" if self.key else self.variable

    @property
    def label(self) -> str:
        """Variable and name: ``object ConfigMap default/a``, ``watch host1/ConfigMap``."""
        return f"{self.variable} {self.name}".rstrip()

    @property
    def title(self) -> str:
        """The label; of an object its name alone."""
        return self.name if self.variable == "object" else self.label


@dataclass(frozen=True)
class Change:
    """One part of the state before and after a step."""

    part: Part
    before: Json
    after: Json


@dataclass(frozen=True)
class Exchange:
    """A request and its answer; ``response`` is None where the request did not reach the server."""

    sender: str
    request: dict[str, Json]
    """Method, path, query, contentType, body."""
    response: dict[str, Json] | None = None
    """Code and body."""


@dataclass(frozen=True)
class Effect:
    """Something that a reconcile asked for, and its answer: a value, or the name of an exception's class."""

    type: str
    text: str
    answer: Json = None
    error: str | None = None


@dataclass(frozen=True)
class Step:
    """One atomic step, told in words (``title``), with everything that can be shown of it."""

    lane: str
    action: str
    """The name of the model's action: ``start``, ``go on``, ``deliver``, ``crash``, ..."""
    title: str
    arguments: dict[str, Json] = field(default_factory=dict)
    """Parameters of the action: host, controller, key, kind, object."""
    chosen: tuple[Json, ...] = ()
    fault: str = ""
    """The name of the fault, where the step is one or suffers from one."""
    phase: Phase = ""
    """Where a worker begins or ends a reconcile, or a host crashes or starts again."""
    host: str = ""
    """The host that crashes or starts again."""
    effects: tuple[Effect, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    operations: tuple[Operated, ...] = ()
    """What controllers inside the server did."""
    closed: tuple[Closed, ...] = ()
    """Watches that fell too far behind."""
    endings: tuple[str, ...] = ()
    """The endings of the names that the server generated."""
    messages: tuple[Message, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def last_exchange(self) -> Exchange | None:
        """The last request of the step, and its answer."""
        return self.exchanges[-1] if self.exchanges else None


@dataclass(frozen=True)
class Story:
    """A whole run. ``loop`` is as in a trace: the number of the state that the last step returns to."""

    world: str
    claim: str
    says: str
    """What the claim means, in a sentence."""
    lanes: tuple[Lane, ...]
    initial: tuple[Change, ...]
    """Every part of the initial state, as a change from nothing."""
    steps: tuple[Step, ...]
    loop: int | None = None
    because: tuple[str, ...] = ()
    """Why the claim is false at the end: the part of it that is, with its values."""

    def __len__(self) -> int:
        """The number of steps."""
        return len(self.steps)

    @cached_property
    def lane_of(self) -> Mapping[str, Lane]:
        """Lanes by id."""
        return {lane.id: lane for lane in self.lanes}

    @property
    def ending(self) -> str:
        """How the run goes on after its last step."""
        if self.loop is None:
            return ""
        if self.loop == len(self.steps):
            return "and then nothing more happens, for ever"
        return f"and then again from after step {self.loop}, for ever"

    def to_json(self) -> dict[str, Json]:
        """The story as one JSON object."""
        return {"format": FORMAT, "version": VERSION, **msgspec.to_builtins(self)}

    @classmethod
    def from_json(cls, data: Any) -> Story:
        """The story that ``to_json`` wrote; raises ``BadStory``."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise BadStory("this is not the story of a run; `attractor check MODULE:WORLD` writes one")
        if data.get("version") != VERSION:
            raise BadStory(
                f"this story has version {data.get('version')!r}, and only version {VERSION} can be read here; "
                "check again with this version of attractor, or read it with the one that wrote it"
            )
        try:
            made = msgspec.convert(data, cls)
        except msgspec.ValidationError as problem:
            raise BadStory(f"this story is damaged: {problem}; check again to have a whole one") from None
        made.check()
        return made

    def check(self) -> None:
        """Raise ``BadStory`` where a step, message or loop names what is not there."""
        known = self.lane_of
        for number, step in enumerate(self.steps, 1):
            ends = [end for message in step.messages for end in (message.source, message.target)]
            missing = [lane for lane in (step.lane, *ends) if lane not in known]
            if missing:
                raise BadStory(f"this story is damaged: step {number} names the unknown lane {missing[0]!r}")
        if self.loop is not None and not 0 <= self.loop <= len(self.steps):
            raise BadStory(f"this story is damaged: its loop begins at step {self.loop} of {len(self.steps)}")

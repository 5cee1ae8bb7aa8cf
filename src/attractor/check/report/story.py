"""A run of a world as a story: who did what, which messages went where, what became of which object.

A story is data, made for people and for programs that show it: a table in a terminal (``table``), a space-time
diagram (``diagram``). It knows nothing of the world that it was made from, goes to JSON and back, and has a version, so
that an old file is either understood or refused with a reason.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Json = Any
LaneKind = Literal["user", "server", "cache", "worker", "outside", "system"]
MessageKind = Literal["request", "answer", "event", "call"]
Phase = Literal["", "begin", "end", "crash", "restart"]

FORMAT = "attractor/story"
VERSION = 1


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
class Change:
    """What became of one part of the state: an object on the server, a cache's entry, a queue, a worker."""

    slot: str
    before: Json
    after: Json


@dataclass(frozen=True)
class Step:
    """One atomic step, told in words (``title``), with everything that can be shown of it."""

    lane: str
    action: str
    title: str
    arguments: dict[str, Json] = field(default_factory=dict)
    chosen: tuple[Json, ...] = ()
    fault: str = ""
    """The name of the fault, where the step is one or suffers from one."""
    phase: Phase = ""
    """Where a worker begins or ends a reconcile, or a host crashes or starts again."""
    host: str = ""
    """The host that crashes or starts again."""
    request: Json = None
    response: Json = None
    messages: tuple[Message, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Story:
    """A whole run. ``loop`` is as in a trace: the number of the state that the last step returns to."""

    world: str
    claim: str
    says: str
    """What the claim means, in a sentence."""
    lanes: tuple[Lane, ...]
    initial: dict[str, Json]
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

    def states(self) -> Iterator[dict[str, Json]]:
        """Every state along the run, whole; the first is the initial one."""
        state = dict(self.initial)
        yield dict(state)
        for step in self.steps:
            state.update({change.slot: change.after for change in step.changes})
            yield dict(state)

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
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

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
            made = cls(
                world=data["world"],
                claim=data["claim"],
                says=data["says"],
                lanes=tuple(Lane(**each) for each in data["lanes"]),
                initial=dict(data["initial"]),
                steps=tuple(map(_step, data["steps"])),
                loop=data["loop"],
                because=tuple(data.get("because", ())),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise BadStory(f"this story is damaged: {problem!r}; check again to have a whole one") from None
        made.check()
        return made

    def check(self) -> None:
        """Raise ``BadStory`` where a step, message or loop names what is not there."""
        known = self.lane_of
        for lane in self.lanes:
            if lane.kind not in get_args(LaneKind):
                raise BadStory(f"this story is damaged: lane {lane.id!r} is of the unknown kind {lane.kind!r}")
        for number, step in enumerate(self.steps, 1):
            ends = [end for message in step.messages for end in (message.source, message.target)]
            missing = [lane for lane in (step.lane, *ends) if lane not in known]
            if missing:
                raise BadStory(f"this story is damaged: step {number} names the unknown lane {missing[0]!r}")
        if self.loop is not None and not 0 <= self.loop <= len(self.steps):
            raise BadStory(f"this story is damaged: its loop begins at step {self.loop} of {len(self.steps)}")


def _step(data: Mapping[str, Any]) -> Step:
    parts = {
        **data,
        "chosen": tuple(data.get("chosen", ())),
        "messages": tuple(Message(**each) for each in data.get("messages", ())),
        "changes": tuple(Change(**each) for each in data.get("changes", ())),
    }
    return Step(**parts)

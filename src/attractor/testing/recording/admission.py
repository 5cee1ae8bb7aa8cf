"""Following a recorded run in a world: every world state that fits what was recorded so far, line by line.

What the recording shows (lists, events, begins, answers, restarts) must be steps of the world with the same content.
What it does not show (users, rivals, garbage collection, timers, changes of leader, watches that close) may happen at
any time, within the world's budgets. A request takes effect at some moment between question and answer, or before its
process died: the recording cannot know which, so each is tried. The first file is the world's first host, and so on.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from attractor.check.errors import Grown, SpecError
from attractor.check.world.notes import Delivered, Performed, Requested
from attractor.check.world.telling import as_json, described, request_json, summary
from attractor.objects.gvk import GroupResource
from attractor.testing.recording.alike import alike, without_kind
from attractor.testing.recording.stepping import Stepper
from attractor.testing.replaying.turns import OUTSIDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from attractor.check.model import State
    from attractor.check.world.world import World
    from attractor.testing.recording.recording import Happening, Question, Recording
    from attractor.testing.recording.stepping import Taken

SILENT = (
    *(*OUTSIDERS, "collect garbage", "timer", "resync", "background", "outside", "tick", "late request"),
    *("close watch", "cut off", "heal", "new leader"),
)
LISTS = ("list", "stale list")
RESTARTS = ("crash", "crash while sending", "leadership lost")
LOST = ("request lost", "answer lost")
MAX_STATES = 20_000
CLUSTERS_OWN = frozenset({("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")})
"""What every namespace has: no world contains it, and what is done about it is left out."""


@dataclass(frozen=True)
class Followed:
    """What came of following. ``departure`` is None when the world admits the whole run."""

    lines: int
    """How many happenings the world admits."""
    states: int
    """The most world states that fitted at once."""
    departure: str | None = None
    instead: tuple[str, ...] = ()
    """What the world would have allowed at the departure."""
    ignored: int = 0
    """Objects that the run never touched, which were left out."""

    @property
    def is_admitted(self) -> bool:
        """Whether the world admits the whole run."""
        return self.departure is None


class Place(NamedTuple):
    """A state of the world, and the questions that took effect in it before their answers were recorded."""

    state: State
    performed: frozenset[int]

    def without(self, questions: set[int]) -> Place:
        """The same, with these questions settled."""
        return self._replace(performed=self.performed - questions)


class TooManyStates(RuntimeError):
    """So many states of the world fit what was recorded that following was given up."""


def follow(world: World, recording: Recording) -> Followed:
    """Whether a world admits a recorded run, and where it departs; raises ``TooManyStates``, ``SpecError``."""
    if recording.processes > len(world.hosts):
        raise SpecError(
            f"{recording.processes} processes were recorded, and {world!r} has {len(world.hosts)}; name as many, as in "
            f"World(..., hosts={tuple(f'host{number + 1}' for number in range(recording.processes))})"
        )
    while True:
        try:
            return _Follower(world, recording).follow()
        except Grown as grown:
            world.grow(grown)


class _Follower:
    def __init__(self, world: World, recording: Recording) -> None:
        self._recording = recording
        self._stepper = Stepper(world.compose())
        self._hosts = tuple(world.hosts)
        self._kinds = {kind.resource_info.group_resource: kind.gvk.kind for kind in world.kinds}
        self._touched = touched(world, recording)
        self._ignored: set[tuple[str, str, str]] = set()
        self._for = {one.name: one.for_.kind.resource_info.resource for one in world.controllers}
        self._asked: set[int] = set()

    def follow(self) -> Followed:
        """Line by line."""
        places = self._closed(Place(state, frozenset()) for state in self._stepper.initial())
        widest = len(places)
        for count, happening in enumerate(self._recording.happenings):
            if happening.what == "cancelled" or self._is_clusters_own(happening):
                continue
            after = self._closed(self._after(places, happening))
            if not after:
                where = f"line {happening.line}: {happening}{self._said(happening)}"
                return Followed(count, widest, where, self._instead(places, happening), len(self._ignored))
            places, widest = after, max(widest, len(after))
        return Followed(len(self._recording.happenings), widest, ignored=len(self._ignored))

    def _is_clusters_own(self, happening: Happening) -> bool:
        """Whether a line is about the reconcile of something that every namespace has."""
        about: Any = happening.data
        if happening.what == "answer":
            asked = self._recording.questions[happening.question]
            about = {"controller": asked.controller, "key": asked.key}
        if "controller" not in about:
            return False
        return (self._for.get(about["controller"], ""), about["key"].rpartition("/")[2]) in CLUSTERS_OWN

    # What is not seen.

    def _closed(self, places: Iterable[Place]) -> set[Place]:
        """The places, and all that unseen steps lead to."""
        found = set(places)
        waiting = list(found)
        while waiting:
            place = waiting.pop()
            for after in self._unseen(place):
                if after not in found:
                    found.add(after)
                    waiting.append(after)
            if len(found) > MAX_STATES:
                raise TooManyStates(f"more than {MAX_STATES:,} states of the world fit; check a smaller world")
        return found

    def _unseen(self, place: Place) -> Iterator[Place]:
        for name in SILENT:
            for taken in self._stepper.take(place.state, name):
                yield place._replace(state=taken.after)
        for number in self._asked - place.performed:
            for taken in self._performing(place.state, self._recording.questions[number]):
                yield Place(taken.after, place.performed | {number})

    # What is seen.

    def _after(self, places: set[Place], happening: Happening) -> Iterator[Place]:
        number = happening.question
        match happening.what:
            case "list":
                yield from self._listed(places, happening)
            case "deliver":
                yield from self._delivered(places, happening)
            case "begin":
                at = {name: happening.data[name] for name in ("controller", "key")}
                for place in places:
                    for taken in self._stepper.take(place.state, "start", host=self._host(happening), **at):
                        yield place._replace(state=taken.after)
            case "ask":
                self._asked.add(number)
                yield from places
            case "answer":
                self._asked.discard(number)
                yield from (place.without({number}) for place in places if number in place.performed)
            case "restart":
                yield from self._restarted(places, happening)
            case _:
                yield from places  # a reconcile's end is a part of its last answer

    def _host(self, about: Happening | Question) -> str:
        return self._hosts[about.process]

    def _restarted(self, places: set[Place], happening: Happening) -> Iterator[Place]:
        """The process died, and whatever it had asked is asked no more; what took effect has."""
        gone = {one for one in self._asked if self._recording.questions[one].process == happening.process}
        self._asked -= gone
        for place in places:
            for action in RESTARTS:
                for taken in self._stepper.take(place.state, action, host=self._host(happening)):
                    yield place.without(gone)._replace(state=taken.after)

    def _kind(self, data: dict[str, Any]) -> str | None:
        return self._kinds.get(GroupResource(data["group"], data["resource"]))

    def _listed(self, places: set[Place], happening: Happening) -> Iterator[Place]:
        data = happening.data
        kind = self._kind(data)
        items = [each for each in data["answer"].get("items") or () if self._is_touched(data["resource"], each)]
        if kind is None:
            yield from places
            return
        at = {"host": self._host(happening), "kind": kind}
        for place in places:
            for taken in (each for name in LISTS for each in self._stepper.take(place.state, name, **at)):
                (answer,) = (note.response for note in taken.notes if isinstance(note, Requested))
                if answer is not None and alike(_named(items), _named(_items(answer.body))):
                    yield place._replace(state=taken.after)

    def _delivered(self, places: set[Place], happening: Happening) -> Iterator[Place]:
        data = happening.data
        kind = self._kind(data)
        if kind is None or not self._is_touched(data["resource"], data["object"]):
            yield from places
            return
        for place in places:
            for taken in self._stepper.take(place.state, "deliver", host=self._host(happening), kind=kind):
                (note,) = (note for note in taken.notes if isinstance(note, Delivered))
                told = note.told.__plain__()
                if told["type"] == data["type"] and alike(data["object"], told["object"]):
                    yield place._replace(state=taken.after)

    def _is_touched(self, resource: str, obj: dict[str, Any]) -> bool:
        meta = obj.get("metadata", {})
        name = resource, meta.get("namespace", ""), meta.get("name", "")
        if name in self._touched:
            return True
        self._ignored.add(name)
        return False

    def _performing(self, state: State, asked: Question) -> Iterator[Taken]:
        """The steps in which a question is answered as it was recorded; one without an answer may have any."""
        at = {"host": self._host(asked), "controller": asked.controller, "key": asked.key}
        actions = ("go on", *LOST) if asked.error == "AnswerLost" or not asked.is_answered else ("go on",)
        for action in actions:
            for taken in self._stepper.take(state, action, **at):
                if self._is_answer(asked, taken):
                    yield taken

    def _is_answer(self, asked: Question, taken: Taken) -> bool:
        done = next((note for note in taken.notes if isinstance(note, Performed)), None)
        if done is None or (asked.effect != "Call" and described(done.effect) != asked.text):
            return False
        if not asked.is_answered:
            return True
        error = None if done.answer.error is None else type(done.answer.error).__name__
        if error != asked.error:
            return False
        if asked.effect == "Call":
            return True
        value = as_json(done.answer.value)
        if isinstance(asked.value, list) and isinstance(value, list):
            return alike([each for each in asked.value if self._is_listed(asked, each)], value)
        return alike(asked.value, value) and self._are_requests(asked, taken)

    def _is_listed(self, asked: Question, obj: Any) -> bool:
        return not isinstance(obj, dict) or any(
            self._is_touched(resource.resource, obj)
            for resource, kind in self._kinds.items()
            if kind == obj.get("kind", kind)
        )

    @staticmethod
    def _are_requests(asked: Question, taken: Taken) -> bool:
        """Whether the requests were the same; reads that the cache needed are the runtime's own business."""
        sent = [request_json(note.request) for note in taken.notes if isinstance(note, Requested)]
        made = [each for each in asked.requests if each["method"] != "GET"]
        sent = [each for each in sent if each["method"] != "GET"]
        names = ("method", "path", "contentType", "body")
        return len(sent) == len(made) and all(
            alike({name: one[name] for name in names}, {name: other[name] for name in names})
            for one, other in zip(made, sent, strict=True)
        )

    # For people.

    def _said(self, happening: Happening) -> str:
        if happening.what == "answer":
            asked = self._recording.questions[happening.question]
            told = asked.error or ("nothing" if asked.value is None else "an object" if asked.value else "ok")
            return f" of {asked.controller} {asked.key} to `{asked.text}`: {told}"
        return ""

    def _instead(self, places: set[Place], happening: Happening) -> tuple[str, ...]:
        """What the world allows, of the kind of step that was recorded."""
        wanted = {"list": "list", "deliver": "deliver", "begin": "start", "answer": "go on"}.get(happening.what, "")
        found: dict[str, None] = {}
        for place in places:
            for taken in self._stepper.take(place.state, wanted, host=self._host(happening)):
                found[f"{taken.arguments.get('kind', '')} {summary(wanted, taken.arguments, taken.notes)}".strip()] = (
                    None
                )
        return tuple(sorted(found))[:10]


def _items(body: bytes) -> list[Any]:
    return list(orjson.loads(body).get("items") or ())


def _named(items: list[Any]) -> list[Any]:
    return sorted(
        (without_kind(each) for each in items),
        key=lambda each: (each["metadata"].get("namespace", ""), each["metadata"]["name"]),
    )


def touched(world: World, recording: Recording) -> set[tuple[str, str, str]]:
    """Objects that the run read, wrote or reconciled, or that the world begins with; others concern nobody."""
    found = {(type(obj).resource_info.resource, obj.key.namespace, obj.key.name) for obj in world.objects}
    for_ = {one.name: one.for_.kind.resource_info.resource for one in world.controllers}
    by_kind = {kind.gvk.kind.lower(): kind.resource_info.resource for kind in world.kinds}
    for happening in recording.happenings:
        if happening.what == "begin":
            namespace, _, name = happening.data["key"].rpartition("/")
            found.add((for_.get(happening.data["controller"], ""), namespace, name))
    for asked in recording.questions.values():
        words = asked.text.split()
        for kind, key in itertools.pairwise(words):
            if kind in by_kind:
                namespace, _, name = key.rpartition("/")
                found.add((by_kind[kind], namespace, name))
    return {each for each in found if (each[0], each[2]) not in CLUSTERS_OWN}


__all__ = ["Followed", "TooManyStates", "follow"]

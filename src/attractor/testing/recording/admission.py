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

from attractor.check.errors import SpecError
from attractor.check.events import Delivered, Ended, Performed, Requested, Started
from attractor.check.growth import fitted
from attractor.check.report.messages import as_json, request_json, title
from attractor.check.world.simulation import in_flight_faults
from attractor.check.world.simulation.process.worker import LOCAL
from attractor.objects.gvk import GroupResource
from attractor.runtime.effects import described
from attractor.testing.recording.equality import alike, without_kind
from attractor.testing.recording.world_steps import Stepper
from attractor.testing.replay.turns import OUTSIDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from attractor.check.engine.model import State
    from attractor.check.world.api.world import World
    from attractor.check.world.simulation.walk import Taken
    from attractor.testing.recording.recording import Happening, Part, Question, Recording

SILENT = (
    *(
        *OUTSIDERS,
        "collect garbage",
        "end namespace",
        "timer",
        "resync",
        "outside",
        "tick",
        "late request",
        "late call",
    ),
    *("close watch", "cut off", "heal", "new leader", "stop"),
)
LISTS = ("list", "stale list")
RESTARTS = ("crash", "crash while sending", "leadership lost", "stopped")
GOES_ON = ("go on", "background")
STRIKES = tuple(name for names in in_flight_faults.STRIKES.values() for name in names if name != "crash while sending")
CANCELS = ("timeout", "cancel")
CANCELLED = "CancelledError"
MAX_STATES = 20_000
CLUSTERS_OWN = frozenset({("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")})
"""What every namespace has: no world contains it, and what is done about it is left out."""


@dataclass(frozen=True)
class Followed:
    """Result of following a recording. ``departure`` is None when the world admits the whole run."""

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
        """Return whether the world admits the whole run."""
        return self.departure is None


class Place(NamedTuple):
    """A state of the world, and what took effect in it before its answers were recorded: questions and their parts."""

    state: State
    performed: frozenset[tuple[int, int]]

    def without(self, questions: set[int]) -> Place:
        """The same, with these questions settled."""
        return self._replace(performed=frozenset(each for each in self.performed if each[0] not in questions))

    def has(self, question: Question) -> bool:
        """Return whether all that was asked took effect."""
        return all((question.number, at) in self.performed for at in range(len(question.asked)))


class Move(NamedTuple):
    """A step by its name and by those of its arguments that tell it apart."""

    action: str
    at: dict[str, str]


class TooManyStates(RuntimeError):
    """So many states of the world fit what was recorded that following was given up."""


def follow(world: World, recording: Recording, *, is_alone: bool = False) -> Followed:
    """Return whether a world admits a recorded run, and where it departs; raises ``TooManyStates``, ``SpecError``.

    ``is_alone`` when nothing happened there that concerns nobody: then objects that were never touched count too.
    """
    if recording.processes > len(world.hosts):
        raise SpecError(
            f"{recording.processes} processes were recorded, and {world!r} has {len(world.hosts)}; name as many, as in "
            f"World(..., hosts={tuple(f'host{number + 1}' for number in range(recording.processes))})"
        )
    return fitted(world, lambda: _Follower(world, recording, is_alone=is_alone).follow())


class _Follower:
    def __init__(self, world: World, recording: Recording, *, is_alone: bool) -> None:
        self._recording = recording
        self._is_alone = is_alone
        self._stepper = Stepper(world.compose())
        self._hosts = tuple(world.hosts)
        self._kinds = {kind.resource_info.group_resource: kind.gvk.kind for kind in world.kinds}
        self._touched = touched(world, recording)
        self._ignored: set[tuple[str, str, str]] = set()
        self._for = {one.name: one.for_.kind.resource_info.resource for one in world.controllers}
        self._asked: set[int] = set()
        self._move: Move | None = None
        """What the director of the run lets happen, where there is one; then nothing else does."""

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
        """Return whether a line is about the reconcile of something that every namespace has."""
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
        move = self._move
        if move is None:
            for name in SILENT:
                for taken in self._stepper.take(place.state, name):
                    yield place._replace(state=taken.after)
        for name in GOES_ON if move is None or move.action in GOES_ON else ():
            for taken in self._stepper.take(place.state, name, **({} if move is None else move.at)):
                if self._is_own_business(taken):
                    yield place._replace(state=taken.after)
        for number in self._asked:
            yield from self._performing(place, self._recording.questions[number])

    def _moved(self, places: set[Place], happening: Happening) -> Iterator[Place]:
        """The director lets something happen: what nobody sees happens now, the rest shows in the lines that follow."""
        given = happening.data["arguments"]
        self._move = Move(happening.data["action"], {name: each for name, each in given.items() if name != "chosen"})
        if self._move.action not in SILENT:
            yield from places
            return
        for place in places:
            for taken in self._stepper.take(place.state, self._move.action, **self._move.at):
                yield place._replace(state=taken.after)

    @staticmethod
    def _is_own_business(taken: Taken) -> bool:
        """Whether a step is nothing but what recordings leave out: a memory, the time, a start of work."""
        if any(isinstance(note, Started) for note in taken.events):
            return False
        done = next((note for note in taken.events if isinstance(note, Performed)), None)
        return done is not None and isinstance(done.effect, LOCAL)

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
            case "move":
                yield from self._moved(places, happening)
            case "work":
                yield from self._begun(places, happening)
            case "ask":
                self._asked.add(number)
                yield from places
            case "answer":
                yield from self._answered(places, happening)
            case "restart":
                yield from self._restarted(places, happening)
            case _:
                yield from places  # a reconcile's end is a part of its last answer

    def _begun(self, places: set[Place], happening: Happening) -> Iterator[Place]:
        """Background work began."""
        at = {"host": self._host(happening), "controller": happening.data["controller"]}
        for place in places:
            for taken in self._stepper.take(place.state, "background", **at):
                if any(isinstance(each, Started) and str(each.key) == happening.data["key"] for each in taken.events):
                    yield place._replace(state=taken.after)

    def _answered(self, places: set[Place], happening: Happening) -> Iterator[Place]:
        asked = self._recording.questions[happening.question]
        self._asked.discard(asked.number)
        if asked.error != CANCELLED:
            yield from (place.without({asked.number}) for place in places if place.has(asked))
            return
        at = {"host": self._host(asked), "controller": asked.controller}
        for place in places:
            for taken in (each for name in CANCELS for each in self._stepper.take(place.state, name, **at)):
                if self._is_about(asked, taken):
                    yield place.without({asked.number})._replace(state=taken.after)
            if self._ends_there(happening):
                yield place.without({asked.number})

    def _ends_there(self, happening: Happening) -> bool:
        """Return whether the process ended there, so that what it waited for was cancelled."""
        after = self._recording.happenings[self._recording.happenings.index(happening) + 1 :]
        mine = (each for each in after if each.process == happening.process)
        for each in mine:
            if each.what == "restart":
                return True
            if each.what != "cancelled" and not (
                each.what == "answer" and self._recording.questions[each.question].error == CANCELLED
            ):
                return False
        return True

    @staticmethod
    def _is_about(asked: Question, taken: Taken) -> bool:
        """Return whether a step belongs to who asked: a reconcile or background work, by its key."""
        if not asked.work:
            return taken.arguments.get("key") == asked.key
        about = next((note.key for note in taken.events if isinstance(note, Performed | Ended)), None)
        return "place" in taken.arguments and (about is None or str(about) == asked.key)

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
                (answer,) = (note.response for note in taken.events if isinstance(note, Requested))
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
                (note,) = (note for note in taken.events if isinstance(note, Delivered))
                told = note.told.__plain__()
                if told["type"] == data["type"] and alike(data["object"], told["object"]):
                    yield place._replace(state=taken.after)

    def _is_touched(self, resource: str, obj: dict[str, Any]) -> bool:
        meta = obj.get("metadata", {})
        name = resource, meta.get("namespace", ""), meta.get("name", "")
        if self._is_alone or name in self._touched:
            return True
        self._ignored.add(name)
        return False

    def _performing(self, place: Place, asked: Question) -> Iterator[Place]:
        """Return where a part of a question is answered as it was recorded; one without an answer may have any."""
        open_ = [at for at in range(len(asked.asked)) if (asked.number, at) not in place.performed]
        if not open_ or asked.error == CANCELLED:
            return
        at = {"host": self._host(asked), "controller": asked.controller}
        goes_on = "background" if asked.work else "go on"
        if self._move is not None:
            at |= self._move.at
        for action in (goes_on, *STRIKES):
            if self._move is not None and self._move.action != action:
                continue
            for taken in self._stepper.take(place.state, action, **at):
                if not self._is_about(asked, taken):
                    continue
                for part in open_:
                    if self._is_answer(asked, asked.asked[part], taken):
                        yield Place(taken.after, place.performed | {(asked.number, part)})

    def _is_answer(self, asked: Question, part: Part, taken: Taken) -> bool:
        done = next((note for note in taken.events if isinstance(note, Performed)), None)
        if done is None or any(isinstance(note, Started) for note in taken.events):
            return False
        if part.effect == "Call":
            if type(done.effect).__name__ != "Call" or not described(done.effect).startswith(f"{part.text}("):
                return False
        elif described(done.effect) != part.text:
            return False
        if not asked.is_answered:
            return True
        error = None if done.answer.error is None else type(done.answer.error).__name__
        if error != part.error:
            return False
        if part.effect == "Call":
            return True
        value = as_json(done.answer.value)
        if isinstance(part.value, list) and isinstance(value, list):
            return alike([each for each in part.value if self._is_listed(asked, each)], value)
        return alike(part.value, value) and (bool(asked.parts) or self._are_requests(asked, taken))

    def _is_listed(self, asked: Question, obj: Any) -> bool:
        return not isinstance(obj, dict) or any(
            self._is_touched(resource.resource, obj)
            for resource, kind in self._kinds.items()
            if kind == obj.get("kind", kind)
        )

    @staticmethod
    def _are_requests(asked: Question, taken: Taken) -> bool:
        """Whether the requests were the same; reads that the cache needed are the runtime's own business."""
        sent = [request_json(note.request) for note in taken.events if isinstance(note, Requested)]
        names = ("method", "path", "contentType", "body")

        def writes(requests: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
            """Each write once, however often it was sent."""
            found = [{name: each[name] for name in names} for each in requests if each["method"] != "GET"]
            return [each for at, each in enumerate(found) if not at or found[at - 1] != each]

        one, other = writes(asked.requests), writes(sent)
        return len(one) == len(other) and all(map(alike, one, other))

    # For people.

    def _said(self, happening: Happening) -> str:
        if happening.what == "answer":
            asked = self._recording.questions[happening.question]
            told = asked.error or ("nothing" if asked.value is None else "an object" if asked.value else "ok")
            return f" of {asked.controller} {asked.key} to `{asked.text}`: {told}"
        return ""

    def _instead(self, places: set[Place], happening: Happening) -> tuple[str, ...]:
        """Return the steps of the recorded kind that the world allows."""
        wanted = {"list": "list", "deliver": "deliver", "begin": "start", "answer": "go on"}.get(happening.what, "")
        found: dict[str, None] = {}
        for place in places:
            for taken in self._stepper.take(place.state, wanted, host=self._host(happening)):
                found[f"{taken.arguments.get('kind', '')} {title(wanted, taken.arguments, taken.events)}".strip()] = (
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

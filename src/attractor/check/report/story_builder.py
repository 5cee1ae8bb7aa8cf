"""From a trace of a world to its story: lanes, titles, when each watch event was sent, what is a fault."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any

from attractor.check.report.replay import retold
from attractor.check.report.story import Change, Lane, Message, Step, Story
from attractor.check.world.api.properties import StepClaim
from attractor.check.world.simulation.events import Ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from attractor.check.report.replay import Account
    from attractor.check.report.replay import Message as Told
    from attractor.check.report.story import LaneKind, MessageKind, Phase
    from attractor.check.trace import Trace
    from attractor.check.world.api.properties import Claim
    from attractor.check.world.api.world import World

SERVER = "apiserver"
OWN = ("list", "deliver", "start", "go on", "timer", "background", "resync", "leadership lost", "stopped")
"""Steps of a host."""
OTHERS = ("create", "edit", "delete", "collect garbage", "end namespace", "outside", "tick", "heal")
ORDINARY = frozenset((*OWN, *OTHERS))
"""Steps that are no faults."""
CRASHES = ("crash", "crash while sending", "leadership lost", "stopped")
"""Steps after which a host begins anew."""
_SLOT = re.compile(r"(?P<variable>[^\[]+)\['(?P<key>.*)'\]")
_WATCH = re.compile(r"watch\['(?P<watch>.*)'\]")
_PATH = re.compile(r"/apis?/(?:[^/ ]+/)?v\d\w*/")
_SAYS = {
    "always_step": "In every step: {what}.",
    "always": "In every reachable state: {what}.",
    "eventually_always": "Once users and faults stop: {what}, and it stays so.",
    "settles": "Once users and faults stop, a time comes after which no stored object changes.",
}


def story_of(world: World, trace: Trace, *, name: str = "") -> Story:
    """The story of a trace; raises ``SpecError`` when the trace is not one of this world."""
    again = retold(world, trace)
    told = again.accounts
    lanes = _lanes(told)
    known = {lane.id for lane in lanes}
    sending = _Sending()
    steps = tuple(_step(number, account, known, sending) for number, account in enumerate(told, 1))
    initial = {slot_title(slot, value): value for slot, value in trace.initial.items()}
    claim = next((each for each in world.claims if each.name == trace.claim), None)
    says = "" if claim is None else _says(claim)
    return Story(name or repr(world), trace.claim, says, lanes, initial, steps, trace.loop, again.because)


def _says(claim: Claim | StepClaim) -> str:
    function: Callable[..., bool]
    function, word = (claim.holds, "always_step") if isinstance(claim, StepClaim) else (claim.predicates[0], claim.word)
    doc = (function.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    what = doc[:1].lower() + doc[1:] if doc else f"`{claim.name}` is true"
    return _SAYS.get(word, "").format(what=what)


# Lanes.


def _lanes(told: Iterable[Account]) -> tuple[Lane, ...]:
    """Everybody who acts or is spoken to: users, the server, caches and workers, what is outside, then machinery."""
    seen = {SERVER: None}
    for account in told:
        seen[_folded(account.actor)] = None
        for message in account.messages:
            if not _is_inside(message):
                seen.update(dict.fromkeys((_folded(message.source), _folded(message.target))))
        if account.action in CRASHES:
            seen[account.arguments["host"]] = None
    return tuple(sorted((_lane(name) for name in seen), key=lambda lane: (_ORDER[lane.kind], lane.host, lane.id)))


_ORDER: dict[str, int] = {"user": 0, "server": 1, "cache": 2, "worker": 3, "outside": 4, "system": 5}


def _folded(actor: str) -> str:
    """The lane of an actor: a host's timers and queue are the host's own business."""
    return actor.removeprefix("timers ").removeprefix("queue ")


def _is_inside(message: Told) -> bool:
    """Whether a message never leaves a host's memory on its way from cache to queue."""
    return message.target.startswith("queue ")


def _lane(name: str) -> Lane:
    first, _, rest = name.partition(" ")
    kind: LaneKind = "system"
    host = ""
    if name in {"user", "rival"}:
        kind = "user"
    elif name == SERVER:
        return Lane(name, "server", "API server")
    elif first == "cache":
        return Lane(name, "cache", f"cache of {rest}", rest)
    elif rest.startswith("worker "):
        kind, host = "worker", first
    elif first == "external":
        return Lane(name, "outside", rest)
    elif " " not in name:
        host = name
    return Lane(name, kind, name, host)


# Steps.


class _Sending:
    """In which step each event that is on its way was sent: one FIFO for each watch."""

    def __init__(self) -> None:
        self._sent: dict[str, deque[int]] = {}
        self._late: dict[str, list[int]] = {}

    def of(self, account: Account) -> int | None:
        """The step in which what this step delivers was sent: an event, or a request that comes late."""
        late = self._late.get(account.arguments.get("host", ""))
        if account.action == "late request" and late:
            return late.pop((account.arguments.get("chosen") or [0])[0])
        watch = f"{account.arguments.get('host')}/{account.arguments.get('kind')}"
        waiting = self._sent.get(watch)
        return waiting.popleft() if account.action == "deliver" and waiting else None

    def note(self, number: int, account: Account) -> None:
        """Keep in mind what this step put on its way, and what will never arrive."""
        is_late = "late" in (account.arguments.get("chosen") or ())  # a request of what was timed out
        if account.action in {"crash while sending", "repeated later", "delayed"} or is_late:
            self._late.setdefault(account.arguments["host"], []).append(number)
        for change in account.changes:
            found = _WATCH.fullmatch(change.slot)
            if found is None or account.action == "deliver":
                continue
            if isinstance(change.after, int) and isinstance(change.before, int):
                new = change.after - change.before
                self._sent.setdefault(found["watch"], deque()).extend([number] * new)
            else:
                self._sent.pop(found["watch"], None)


def _step(number: int, account: Account, known: set[str], sending: _Sending) -> Step:
    sent_in = sending.of(account)
    sending.note(number, account)
    chosen = account.arguments.get("chosen", [])
    phase, host = _phase(account)
    lane = _folded(account.actor)
    return Step(
        lane=lane if lane in known else SERVER,
        action=account.action,
        title=_title(account),
        arguments={name: value for name, value in account.arguments.items() if name != "chosen"},
        chosen=tuple(chosen),
        fault="" if account.action in ORDINARY else account.action,
        phase=phase,
        host=host,
        request=account.request,
        response=account.response,
        messages=tuple(_messages(account, sent_in, known)),
        changes=tuple(_changes(account)),
    )


_RANK = {"object": 0, "external": 1}


def _changes(account: Account) -> Iterator[Change]:
    """Objects first, then outside systems, then what hosts know of them."""
    for change in sorted(account.changes, key=lambda change: _RANK.get(change.slot.partition("[")[0], 2)):
        yield Change(slot_title(change.slot, change.after or change.before), change.before, change.after)


def _phase(account: Account) -> tuple[Phase, str]:
    host = str(account.arguments.get("host", ""))
    if account.action in CRASHES:
        return "crash", host
    if any(isinstance(note, Ended) for note in account.notes):
        return "end", ""
    if account.action == "start":
        return "begin", ""
    synced = any(change.slot == f"unsynced['{host}']" and not change.after for change in account.changes)
    return ("restart", host) if account.action == "list" and synced else ("", "")


def _title(account: Account) -> str:
    match account.action:
        case "list":
            return f"list {account.arguments['kind']}"
        case "crash":
            return f"{account.arguments['host']} crashes and starts again"
        case "crash while sending":
            return f"{account.arguments['host']} crashes while it sends, and starts again"
        case "stop":
            return f"{account.arguments['host']} is told to stop, and begins nothing new"
        case "stopped":
            return f"{account.arguments['host']} ends in good order and starts again"
        case "leadership lost":
            return f"{account.arguments['host']} notices that it no longer leads, and stands by"
        case "new leader":
            return f"{account.arguments['host']} becomes leader"
        case "timer":
            return f"the timer of {account.arguments['key']} fires"
    return account.summary


def _messages(account: Account, sent_in: int | None, known: set[str]) -> Iterator[Message]:
    for told in account.messages:
        if not _is_inside(told):
            kind = _kind(account.action, told)
            source, target = _folded(told.source), _folded(told.target)
            assert {source, target} <= known, "every end of a message has its lane"
            is_late = kind == "event" or target == SERVER
            label = _PATH.sub("", told.label)
            yield Message(source, target, label, kind, told.lost, sent_in if is_late else None)


def _kind(action: str, told: Told) -> MessageKind:
    if action == "deliver":
        return "event"
    if told.source.startswith("cache ") and told.target != SERVER:
        return "answer"
    if "external " in (told.source[:9], told.target[:9]):
        return "call"
    return "answer" if told.source == SERVER else "request"


def slot_title(slot: str, value: Any) -> str:
    """A slot's name for people: ``object ConfigMap default/a``, ``watch host1/ConfigMap``."""
    found = _SLOT.fullmatch(slot)
    if found is None:
        return slot
    variable, key = found["variable"], found["key"]
    if variable != "object":
        return f"{variable} {key}"
    kind = value.get("kind") if isinstance(value, dict) else None
    group, _, rest = key.partition("/")
    resource, _, name = rest.partition("/")
    return f"object {kind or f'{resource}.{group}'} {name}"

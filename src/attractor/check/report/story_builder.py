"""From a trace of a world to its story: the steps are run again, with somebody listening to what happens in them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from attractor.check.engine.execution import padded
from attractor.check.errors import SpecError
from attractor.check.events import Closed, Ended, Named, Operated, Performed, Requested
from attractor.check.growth import fitted
from attractor.check.report.evidence import blame
from attractor.check.report.lanes import CRASHES, Lanes
from attractor.check.report.messages import as_json, request_json, response_json, title
from attractor.check.report.story import Change, Effect, Exchange, Part, Step, Story
from attractor.check.trace import changed_slots, plain
from attractor.check.world.api.properties import StepClaim
from attractor.check.world.api.state import root
from attractor.check.world.simulation.process.activity import Pending
from attractor.check.world.simulation.server.storage import root_of
from attractor.check.world.simulation.walk import outcomes
from attractor.objects.resource import Resource
from attractor.runtime.effects import described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from attractor.check.engine.model import Slot, State
    from attractor.check.report.story import Phase
    from attractor.check.trace import Trace, TraceStep
    from attractor.check.world.api.properties import Claim
    from attractor.check.world.api.world import World
    from attractor.check.world.simulation.model import Universe
    from attractor.check.world.simulation.walk import Taken
    from attractor.objects.json_types import JsonObject

OWN = ("list", "deliver", "start", "go on", "timer", "background", "resync", "leadership lost", "stopped")
"""Steps of a host."""
OTHERS = ("create", "edit", "delete", "collect garbage", "end namespace", "outside", "tick", "heal")
ORDINARY = frozenset((*OWN, *OTHERS))
"""Steps that are no faults."""
_SAYS = {
    "always_step": "In every step: {what}.",
    "always": "In every reachable state: {what}.",
    "eventually_always": "Once users and faults stop: {what}, and it stays so.",
    "settles": "Once users and faults stop, a time comes after which no stored object changes.",
}


def story_of(world: World, trace: Trace, *, name: str = "") -> Story:
    """The story of a trace; raises ``SpecError`` when the trace is not one of this world."""
    return fitted(world, lambda: _Builder(world.compose()).story(trace, name or repr(world)))


def _says(claim: Claim | StepClaim | None) -> str:
    if claim is None:
        return ""
    function: Callable[..., bool]
    function, word = (claim.holds, "always_step") if isinstance(claim, StepClaim) else (claim.predicates[0], claim.word)
    doc = (function.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    what = doc[:1].lower() + doc[1:] if doc else f"`{claim.name}` is true"
    return _SAYS.get(word, "").format(what=what)


class _Builder:
    def __init__(self, universe: Universe) -> None:
        self._universe, self._model = universe, universe.model
        self._lanes = Lanes()
        self._in_flight = _InFlight(universe)
        self._kinds = {root(kind): kind.gvk.kind for kind in universe.world.kinds}
        self._written: dict[str, list[tuple[int, JsonObject]]] = {}
        """What was written of each object, and in which step."""

    def story(self, trace: Trace, name: str) -> Story:
        state = self._model.initial[0]
        states, steps = [state], []
        for number, step in enumerate(trace.steps, 1):
            taken = self._taken(number, step, state)
            steps.append(self._step(number, taken))
            state = taken.after
            states.append(state)
        claim = next((each for each in self._universe.world.claims if each.name == trace.claim), None)
        because = blame(self._universe, trace, states)
        lanes, initial = self._lanes.all(), tuple(self._initial(padded(self._model, states[0])))
        return Story(name, trace.claim, _says(claim), lanes, initial, tuple(steps), trace.loop, because)

    def _initial(self, state: State) -> Iterator[Change]:
        for slot, number in zip(self._model.slots, state, strict=True):
            value = plain(slot.domain.values[number])
            yield Change(self._part(slot, value), None, value)

    def _taken(self, number: int, step: TraceStep, state: State) -> Taken:
        """The outcome that the trace chose."""
        for action in self._model.actions:
            given = {name: plain(value) for name, value in action.arguments}
            if action.name == step.action and given == step.arguments:
                break
        else:
            raise SpecError(
                f"step {number}, {step.label}, is no action of {self._universe.world!r}: is it another world's?"
            )
        for taken in outcomes(self._universe, action, state):
            if taken.chosen == step.chosen:
                return taken
        raise SpecError(f"step {number}, {step.label}, cannot be taken there in {self._universe.world!r}")

    def _step(self, number: int, taken: Taken) -> Step:
        action, arguments, events = taken.action.name, taken.arguments, taken.events
        changed = list(changed_slots(self._model, taken.before, taken.after))
        sent_in = self._in_flight.arriving(taken)
        self._in_flight.note(number, taken, changed)
        actor = self._lanes.actor(action, arguments, events)
        messages = tuple(self._lanes.messages(actor, events, sent_in))
        self._lanes.after(action, arguments, events)
        changes = [self._change(*each) for each in changed]
        told = title(action, arguments, events, work=_work(changed), age=self._age)
        self._keep(number, changes)
        phase, host = _phase(taken, changed)
        return Step(
            lane=actor.id,
            action=action,
            title=told,
            arguments=arguments,
            chosen=taken.chosen,
            fault="" if action in ORDINARY else action,
            phase=phase,
            host=host,
            effects=tuple(_effect(each) for each in events if isinstance(each, Performed)),
            exchanges=tuple(_exchange(each) for each in events if isinstance(each, Requested)),
            operations=tuple(each for each in events if isinstance(each, Operated)),
            closed=tuple(each for each in events if isinstance(each, Closed)),
            endings=tuple(each.ending for each in events if isinstance(each, Named)),
            messages=messages,
            changes=tuple(sorted(changes, key=lambda change: _RANK.get(change.part.variable, 2))),
        )

    def _part(self, slot: Slot, value: Any) -> Part:
        key = str(slot.key) if slot.keyed else ""
        if slot.variable != "object":
            return Part(slot.variable, key, key)
        group, resource, name = key.split("/", 2)
        kind = value.get("kind") if isinstance(value, dict) else self._kinds.get(root_of(key))
        return Part("object", key, f"{kind or f'{resource}.{group}'} {name}")

    def _change(self, slot: Slot, before: Any, after: Any) -> Change:
        one, other = plain(before), plain(after)
        return Change(self._part(slot, other or one), one, other)

    def _keep(self, number: int, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.part.variable == "object" and isinstance(change.after, dict):
                self._written.setdefault(_name(change.after), []).append((number, _content(change.after)))

    def _age(self, value: Any) -> str:
        """``as of step 3: `` for an object that was written again since; nothing for what is as it is now."""
        if not isinstance(value, Resource):
            return ""
        shown = value.to_dict()
        written = self._written.get(_name(shown), [])
        if not written or written[-1][1] == _content(shown):
            return ""
        then = [number for number, each in written if each == _content(shown)]
        return f"as of step {then[-1]}: " if then else "as of the beginning: "


class _InFlight:
    """In which step each event and request that is on its way was sent: one FIFO for each watch."""

    def __init__(self, universe: Universe) -> None:
        self._watches = {
            informer.slots.watch.ref: (host.name, kind.gvk.kind)
            for host in universe.hosts
            for kind, informer in host.informers.items()
        }
        self._sent: dict[tuple[str, str], deque[int]] = {}
        self._late: dict[str, list[int]] = {}

    def arriving(self, taken: Taken) -> int | None:
        """The step in which what arrives now was sent: an event, or a request that comes late."""
        host = taken.arguments.get("host", "")
        if taken.action.name == "late request" and (late := self._late.get(host)):
            return late.pop((taken.chosen or (0,))[0])
        waiting = self._sent.get((host, taken.arguments.get("kind", "")))
        return waiting.popleft() if taken.action.name == "deliver" and waiting else None

    def note(self, number: int, taken: Taken, changed: Sequence[tuple[Slot, Any, Any]]) -> None:
        """Keep what this step put on its way, and forget what will never arrive."""
        action = taken.action.name
        is_late = "late" in taken.chosen  # a request of what was timed out
        if action in {"crash while sending", "repeated later", "delayed"} or is_late:
            self._late.setdefault(taken.arguments["host"], []).append(number)
        for slot, before, after in changed if action != "deliver" else ():
            watch = self._watches.get(slot.index)
            if watch is not None and isinstance(before, int) and isinstance(after, int):
                self._sent.setdefault(watch, deque()).extend([number] * (after - before))
            elif watch is not None:
                self._sent.pop(watch, None)


_RANK = {"object": 0, "external": 1}
"""Objects first, then outside systems, then what hosts know of them."""


def _work(changed: Sequence[tuple[Slot, Any, Any]]) -> str:
    """The background work that a step belongs to."""
    found = [each.work for _, *values in changed for each in values if isinstance(each, Pending) and each.work]
    return str(plain(found[0])) if found else ""


def _phase(taken: Taken, changed: Sequence[tuple[Slot, Any, Any]]) -> tuple[Phase, str]:
    action, host = taken.action.name, str(taken.arguments.get("host", ""))
    if action in CRASHES:
        return "crash", host
    if any(isinstance(event, Ended) for event in taken.events):
        return "end", ""
    if action == "start":
        return "begin", ""
    synced = any(slot.variable == "unsynced" and slot.key == host and not after for slot, _, after in changed)
    return ("restart", host) if action == "list" and synced else ("", "")


def _effect(event: Performed) -> Effect:
    answer, error = event.answer.value, event.answer.error
    asked = type(event.effect).__name__, described(event.effect)
    return Effect(*asked, as_json(answer)) if error is None else Effect(*asked, error=type(error).__name__)


def _exchange(event: Requested) -> Exchange:
    response = None if event.response is None else response_json(event.response)
    return Exchange(event.sender, request_json(event.request), response)


def _name(shown: JsonObject) -> str:
    metadata = shown["metadata"]
    return f"{shown.get('kind')} {metadata.get('namespace')}/{metadata.get('name')}"


def _content(shown: JsonObject) -> JsonObject:
    """An object without what only versions tell."""
    metadata = {name: value for name, value in shown["metadata"].items() if name not in _VERSIONS and value}
    rest = {name: value for name, value in shown.items() if name not in {"kind", "apiVersion"} and value}
    return {**rest, "metadata": metadata}


_VERSIONS = frozenset({"resourceVersion", "managedFields", "generation"})

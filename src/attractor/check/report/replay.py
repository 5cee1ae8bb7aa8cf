"""A trace of a world told step by step: who acted, what was asked and answered, which messages went, what changed.

``accounts(world, trace)`` runs the steps of a trace again, this time with somebody listening. An account is data: the
text table, the space-time diagram and the replay on the real runtime are all made from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attractor.check.engine.execution import apply, padded, steps
from attractor.check.errors import Grown, SpecError
from attractor.check.report import messages as telling
from attractor.check.report.blame import blame
from attractor.check.report.messages import Lanes, Message
from attractor.check.trace import plain
from attractor.check.world.simulation.events import Performed
from attractor.objects.resource import Resource
from attractor.runtime import effects

if TYPE_CHECKING:
    from attractor.check.engine.execution import Outcome
    from attractor.check.engine.model import Instance, State
    from attractor.check.trace import Trace, TraceStep
    from attractor.check.world.api.world import World
    from attractor.check.world.simulation.events import Note
    from attractor.check.world.simulation.model import Universe
    from attractor.objects.json_types import Json, JsonObject

__all__ = ["Account", "Change", "Message", "accounts", "retold"]


@dataclass(frozen=True)
class Change:
    """One slot before and after a step, as JSON."""

    slot: str
    before: Json
    after: Json


@dataclass(frozen=True)
class Account:
    """One step."""

    actor: str
    """The lane: ``user``, ``apiserver``, ``cache host1``, ``host1 worker 0``, ``external Iam``, ..."""
    action: str
    """The name of the model's action: ``start``, ``go on``, ``deliver``, ``crash``, ..."""
    arguments: JsonObject
    """Its parameters (host, controller, key, kind, object), and ``chosen`` where something was chosen."""
    summary: str
    """The step in one line: ``create configmap default/a-1 -> 409 AlreadyExists``."""
    effect: JsonObject | None = None
    """What a reconcile asked for, and its answer: type, object, error."""
    request: JsonObject | None = None
    """The last request of the step: method, path, query, body."""
    response: JsonObject | None = None
    """Its answer: code and body; None when the request never reached the server."""
    messages: tuple[Message, ...] = ()
    changes: tuple[Change, ...] = ()
    notes: tuple[Note, ...] = field(default=(), repr=False, compare=False)
    """What happened inside, in order, for those who need every detail."""


@dataclass(frozen=True)
class Retold:
    """A trace that was run again: its steps, and why its claim is false at the end."""

    accounts: list[Account]
    because: tuple[str, ...]


def accounts(world: World, trace: Trace) -> list[Account]:
    """The steps of a trace of this world, told; raises ``SpecError`` when the trace is not one of this world."""
    return retold(world, trace).accounts


def retold(world: World, trace: Trace) -> Retold:
    """A trace of this world, run again; raises ``SpecError`` when it is not one of this world."""
    while True:
        universe = world.compose()
        try:
            teller = _Teller(universe)
            told = teller.tell(trace)
            return Retold(told, blame(universe, trace, teller.states))
        except Grown as grown:
            world.grow(grown)
        finally:
            universe.stage.on_note = None


class _Teller:
    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._model = universe.model
        self._lanes = Lanes()
        self.states: list[State] = []
        """Every state of the run."""
        self._written: dict[str, list[tuple[int, JsonObject]]] = {}
        """What was written of each object, and in which step."""

    def tell(self, trace: Trace) -> list[Account]:
        state = self._model.initial[0]
        self.states = [state]
        told = []
        for number, step in enumerate(trace.steps, 1):
            account, state = self._step(number, step, state)
            told.append(account)
            self.states.append(state)
        return told

    def _step(self, number: int, step: TraceStep, state: State) -> tuple[Account, State]:
        action = self._action(number, step)
        state = padded(self._model, state)
        outcome, notes = self._taken(number, step, action, state)
        assert isinstance(outcome.leaf, tuple)
        before = padded(self._model, state)
        after = apply(self._model, outcome.leaf, action.binding, before)
        arguments = {**step.arguments, **({"chosen": list(step.chosen)} if step.chosen else {})}
        actor = self._lanes.actor(step.action, step.arguments, notes)
        asked = telling.last_request(notes)
        changes = self._changes(before, after)
        account = Account(
            actor=actor,
            action=step.action,
            arguments=arguments,
            summary=self._summary(number, step, notes, changes),
            effect=telling.last_effect(notes),
            request=None if asked is None else telling.request_json(asked.request),
            response=None if asked is None or asked.response is None else telling.response_json(asked.response),
            messages=tuple(self._lanes.messages(actor, notes)),
            changes=tuple(changes),
            notes=tuple(notes),
        )
        self._lanes.after(step.action, step.arguments, notes)
        return account, after

    def _summary(self, number: int, step: TraceStep, notes: list[Note], changes: list[Change]) -> str:
        """The step in one line: with how old what it read was, and which background work it belongs to."""
        text = telling.summary(step.action, step.arguments, notes)
        if step.action == "background":
            work = [change.before or change.after for change in changes if change.slot.startswith("background['")]
            name = work[0][-1] if work and isinstance(work[0], list) else ""
            text = text.replace("background", f"background {name}".rstrip(), 1)
        for note in notes:
            if isinstance(note, Performed) and isinstance(note.effect, effects.Get):
                age = self._age(note.answer.value)
                text = text.replace(" -> ", f" -> {age}", 1) if age else text
        for change in changes:
            if change.slot.startswith("object[") and isinstance(change.after, dict):
                self._written.setdefault(_name(change.after), []).append((number, _content(change.after)))
        return text

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

    def _action(self, number: int, step: TraceStep) -> Instance:
        for action in self._model.actions:
            if (
                action.name == step.action
                and {name: plain(value) for name, value in action.arguments} == step.arguments
            ):
                return action
        raise SpecError(
            f"step {number}, {step.label}, is no action of {self._universe.world!r}: is it another world's?"
        )

    def _taken(self, number: int, step: TraceStep, action: Instance, state: State) -> tuple[Outcome, list[Note]]:
        """The outcome that the trace chose, and what happened in it: each outcome is one run of the step."""
        runs: list[list[Note]] = []
        listening: list[Note] = []
        self._universe.stage.on_note = listening.append

        def ended() -> None:
            runs.append(list(listening))
            listening.clear()

        self._universe.on_step = ended
        try:
            outcomes = steps(self._model, action, state)
        finally:
            self._universe.stage.on_note = self._universe.on_step = None
        for outcome, notes in zip(outcomes, runs, strict=True):
            if isinstance(outcome.leaf, tuple) and tuple(plain(each) for each in outcome.chosen) == step.chosen:
                return outcome, notes
        raise SpecError(f"step {number}, {step.label}, cannot be taken there in {self._universe.world!r}")

    def _changes(self, before: State, after: State) -> list[Change]:
        found = []
        for slot, old, new in zip(self._model.slots, before, after, strict=True):
            if old != new:
                values = slot.domain.values
                found.append(Change(slot.name, plain(values[old]), plain(values[new])))
        return found


def _name(shown: JsonObject) -> str:
    metadata = shown["metadata"]
    return f"{shown.get('kind')} {metadata.get('namespace')}/{metadata.get('name')}"


def _content(shown: JsonObject) -> JsonObject:
    """An object without what only versions tell."""
    metadata = {name: value for name, value in shown["metadata"].items() if name not in _VERSIONS and value}
    rest = {name: value for name, value in shown.items() if name not in {"kind", "apiVersion"} and value}
    return {**rest, "metadata": metadata}


_VERSIONS = frozenset({"resourceVersion", "managedFields", "generation"})

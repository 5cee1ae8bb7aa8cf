"""``replay``: a counterexample of a world, carried out by the production runtime and compared step by step.

The schedule is the trace's. After each step the requests and their answers, what the reconcile was told, the stored
objects and the number of undelivered events must be those of the trace; at the end the claim must be broken there too.
Then the counterexample is *confirmed*. Anything else is *refuted at step k*: a bug of the checker or of the runtime,
not of the controller.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from attractor.check.errors import SpecError
from attractor.check.report.messages import request_json, response_json
from attractor.check.report.story_builder import story_of
from attractor.check.world.api.state import root, store_key
from attractor.check.world.simulation.process.informer import watch_key
from attractor.check.world.simulation.process.worker import LOCAL
from attractor.check.world.simulation.server.generated_names import NameBounds
from attractor.runtime import effects
from attractor.testing.directed import Departed, DirectedRuntime
from attractor.testing.replay.ending import ends_as_claimed
from attractor.testing.replay.match import difference
from attractor.testing.replay.outside import PlayedExternal, played
from attractor.testing.replay.state import Judge, claim_of
from attractor.testing.replay.turns import Player, turn_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from attractor.check.report.story import Step, Story
    from attractor.check.trace import Trace
    from attractor.check.world.api.world import World
    from attractor.testing.directed import Performed
    from attractor.testing.recording.recorder import Recorder

State = Mapping[tuple[str, str], Any]
"""A state of a run: what is there, by variable and key."""


@dataclass(frozen=True)
class Replayed:
    """Result of a replay. ``reason`` says what broke the claim, or where trace and runtime part."""

    is_confirmed: bool
    steps: int
    """How many steps were taken."""
    reason: str

    def __str__(self) -> str:
        if self.is_confirmed:
            return f"confirmed: {self.reason} ({self.steps} steps on the runtime)"
        return f"refuted at step {self.steps}: {self.reason}"


async def replay(world: World, trace: Trace, *, on_step: Callable[[int, Step], None] | None = None) -> Replayed:
    """Carry a trace of a world out on the runtime; on an event loop of its own, whose clock it takes over.

    Raises ``SpecError`` when the trace is not this world's, ``CannotReplay`` when it has steps that only worlds know.
    """
    try:
        claim = claim_of(world, trace.claim)
    except LookupError as unknown:
        raise SpecError(str(unknown)) from None
    story = story_of(world, trace)
    states = claimed_states(story, trace)
    externals = played(world)
    async with directed(world, externals, states[0]) as runtime:
        follower = await _Follower.begun(world, runtime, externals)
        judge = Judge(claim, world, runtime, externals, follower.player.users)
        before = await judge.look()
        for number, step in enumerate(story.steps, 1):
            before = await judge.look()
            if on_step is not None:
                on_step(number, step)
            problem = await follower.follow(step, states[number])
            if problem:
                return Replayed(False, number, f"{step.title}: {problem}")
        broken, reason = await ends_as_claimed(judge, story, states, follower, before)
        return Replayed(broken, len(story), reason)


async def rehearse(world: World, trace: Trace) -> Replayed:
    """Carry any run of a world out on the runtime, whatever it shows; confirmed when every step comes out the same."""
    story = story_of(world, trace)
    states = claimed_states(story, trace)
    externals = played(world)
    async with directed(world, externals, states[0]) as runtime:
        follower = await _Follower.begun(world, runtime, externals)
        for number, step in enumerate(story.steps, 1):
            problem = await follower.follow(step, states[number])
            if problem:
                return Replayed(False, number, f"{step.title}: {problem}")
    return Replayed(True, len(story), "every step comes out the same")


def directed(
    world: World,
    externals: Mapping[Any, PlayedExternal],
    initial: State | None = None,
    recorder: Callable[[str], Recorder] | None = None,
) -> DirectedRuntime:
    """A runtime in which a world's controllers meet its objects, with the uids of an initial state if one is given."""
    stored = dict(stored_objects(initial or {}))
    local = tuple(kind for kind in LOCAL if kind is not effects.Now or len(world.clock) == 1)
    return DirectedRuntime(
        world.controllers,
        runs=lambda host: [
            replace(one, sources=(), workers=world.workers_of(one)) for one in world.controllers_on(host)
        ],
        objects=world.objects,
        externals=externals,
        clock=world.clock,
        names=NameBounds.of(world.bounds),
        local=local if world.reductions.joins_local_steps else (),
        uids=_uids(world, stored),
        own_writes=world.own_writes,
        kinds=world.kinds,
        recorder=recorder,
        namespaces=world.namespaces,
        webhooks=world.webhooks,
    )


def _uids(world: World, stored: Mapping[str, Any]) -> list[str]:
    """The uids of the initial objects, and then of what the server made beside them."""
    named = [store_key(type(obj), obj.key) for obj in world.objects if stored]
    beside = [key for key in sorted(stored) if key not in named and not key.startswith("core/namespaces/")]
    return [stored[key]["metadata"]["uid"] for key in (*named, *beside) if isinstance(stored[key], dict)]


def claimed_states(story: Story, trace: Trace) -> list[State]:
    """The states that a trace claims, which the runtime's must be; not those that running it again has shown."""
    parts = [change.part for change in story.initial]
    return [
        {(part.variable, part.key): state[part.slot] for part in parts if part.slot in state}
        for state in trace.states()
    ]


def stored_objects(state: State) -> Iterator[tuple[str, Any]]:
    """The objects of a state that exist, by store key."""
    for (variable, key), value in state.items():
        if variable == "object" and value is not None:
            yield key, value


class _Follower:
    """Takes steps, and says what is not as it should be."""

    def __init__(self, world: World, runtime: DirectedRuntime, externals: Mapping[Any, PlayedExternal]) -> None:
        self.world = world
        self.runtime = runtime
        self.player = Player(runtime, world, externals)

    @classmethod
    async def begun(cls, world: World, runtime: DirectedRuntime, externals: Mapping[Any, PlayedExternal]) -> _Follower:
        """One whose hosts run."""
        made = cls(world, runtime, externals)
        await made.player.begin()
        return made

    async def follow(self, step: Step, state: State) -> str:
        """Take the step; answers what differs from its record and from the state after it, or nothing."""
        for host in self.runtime.hosts.values():
            host.answers.clear()
        try:
            performed = await self.player.take(turn_of(step))
        except Departed as departed:
            return str(departed)
        return (
            self._requests(step, performed) or self._answers(step) or await self._objects(state) or self._watches(state)
        )

    def _requests(self, step: Step, performed: Sequence[Performed]) -> str:
        senders = (step.arguments.get("host"), "network")
        wanted = [each for each in step.exchanges if each.sender in senders]
        if step.action in {"list", "stale list"}:
            return ""
        for exchange, done in zip(wanted, performed, strict=False):
            problem = difference(exchange.request, request_json(done.request))
            if problem:
                return f"the request differs: {problem}"
            got = None if done.response is None else response_json(done.response)
            problem = difference(exchange.response, got)
            if problem:
                return f"the answer differs: {problem}"
        if len(wanted) != len(performed):
            sent = ", ".join(f"{each.request.method} {each.request.path}" for each in performed)
            return f"expected {len(wanted)} requests, got {len(performed)}: {sent}"
        return ""

    def _answers(self, step: Step) -> str:
        """Compare what the reconcile was told; an error is compared by its type."""
        if not step.effects or step.action == "crash while sending":
            return ""
        expected = step.effects[0]
        if step.action in {"timeout", "cancel"} and len(step.effects) > 1:
            return ""  # of what was asked for together some may be answered, in whatever order, and it hears of none
        at = self.runtime.hosts.get(step.arguments["host"])
        if at is None:
            return ""  # it has ended itself, and nobody was told
        answers = at.answers
        if not answers:
            return f"expected the reconcile to ask `{expected.text}`, and it asked nothing"
        got = answers[0]
        error = None if got.error is None else type(got.error).__name__
        if expected.error != error:
            return f"the reconcile was to be told {expected.error or 'a value'}, and was told {error or 'a value'}"
        problem = difference(expected.answer, None if error else got.value)
        return f"the reconcile is told something else: {problem}" if problem else ""

    async def _objects(self, state: State) -> str:
        snapshot = await self.runtime.cluster.store.snapshot()
        wanted = dict(stored_objects(state))
        roots = sorted({root(kind) for kind in self.world.kinds})
        got = {entry.key: orjson.loads(entry.value) for each in roots for entry in snapshot.range(each)}
        for key in sorted({*wanted, *got}):
            if key.startswith(tuple(roots)):
                problem = difference(wanted.get(key), got.get(key))
                if problem:
                    return f"the stored object {key} differs: {problem}"
        return ""

    def _watches(self, state: State) -> str:
        """Compare how many events are on their way to each cache; a closed watch has none."""
        for host, kind in itertools.product(self.world.hosts, self.world.kinds):
            expected = state.get(("watch", watch_key(host, kind.gvk.kind)))
            if isinstance(expected, int) and (got := self.runtime.undelivered(host, kind)) != expected:
                return f"expected {expected} events of {kind.gvk.kind} on their way to {host}, got {got}"
        return ""

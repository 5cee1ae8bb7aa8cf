"""End of a replay: does the run end as the counterexample says, with the claim broken for good?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from attractor.check.report.story import Step, Story
    from attractor.check.world.api.state import WorldState
    from attractor.testing.directed import DirectedRuntime
    from attractor.testing.replay.state import Judge
    from attractor.testing.replay.turns import Player

LASTING = ("eventually_always", "always_eventually", "eventually", "settles")


class Follower(Protocol):
    """Takes steps of the trace on a runtime."""

    runtime: DirectedRuntime
    player: Player

    def follow(self, step: Step, state: Mapping[tuple[str, str], Any]) -> Awaitable[str]:
        """What differs after a step, or nothing."""
        ...


async def ends_as_claimed(
    judge: Judge,
    story: Story,
    states: Sequence[Mapping[tuple[str, str], Any]],
    follower: Follower,
    before: WorldState,
) -> tuple[bool, str]:
    """Return whether the claim is broken after the last step, and how; ``before`` is the state before that step."""
    if judge.word == "always":
        is_broken = not await judge.holds()
        return is_broken, f"`{judge.name}` {'is broken' if is_broken else 'holds'} after the last step"
    if judge.word == "always_step":
        is_broken = not await judge.step_holds(before, story.steps[-1].action, story.steps[-1].arguments)
        return is_broken, f"`{judge.name}` {'is broken' if is_broken else 'holds'} in the last step"
    if judge.word not in LASTING or story.loop is None:
        return False, f"a trace of `{judge.word}` shows no violation that could be looked for"
    if story.loop == len(story):
        return await _rests(judge, follower)
    return await _goes_round(judge, story.loop, story.steps, states, follower)


async def _rests(judge: Judge, follower: Follower) -> tuple[bool, str]:
    busy = await unfinished(follower.runtime, follower.player.acting)
    if busy:
        return False, f"the run was to be at rest, but {busy}"
    if judge.word != "settles" and await judge.holds():
        return False, f"`{judge.name}` holds in the end, and was to be broken"
    return True, f"nothing is left to do, and `{judge.name}` is not reached"


async def unfinished(runtime: DirectedRuntime, acting: Sequence[str]) -> str:
    """Return the work that is left, in words; empty when the runtime would rest for ever if left alone.

    ``acting`` are the hosts whose workers may begin; others only follow with their caches.
    """
    for name, host in runtime.hosts.items():
        for controller, queue in host.queues.items():
            if len(queue) and name in acting:
                return f"a key waits in the queue of {controller} on {name}"
            if queue.delayed:
                return f"a timer of {controller} on {name} runs"
            if not host.background.is_idle(controller):
                return f"background work of {controller} on {name} is not finished"
        for controller, key in host.busy():
            return f"{controller} on {name} reconciles {key}"
        for resource in host.unlisted:
            return f"{name} has to list {resource}"
        for resource, stream in host.transport.streams.items():
            if stream.held:
                return f"events of {resource} are on their way to {name}"
    garbage = await runtime.garbage()
    return f"garbage waits to be collected: {garbage[0].resource} {garbage[0].name}" if garbage else ""


async def _goes_round(
    judge: Judge,
    loop: int,
    steps: Sequence[Step],
    states: Sequence[Mapping[tuple[str, str], Any]],
    follower: Follower,
) -> tuple[bool, str]:
    """Take the steps of the loop once more: they must come out the same, with the claim broken on the way."""
    broken = False
    store = follower.runtime.cluster.store
    before = store.revision
    for number in range(loop, len(steps)):
        problem = await follower.follow(steps[number], states[number + 1])
        if problem:
            return False, f"the loop does not repeat: at its step {number + 1}, {steps[number].title}: {problem}"
        broken = broken or not await judge.holds()
    if judge.word == "settles":
        changes = store.revision - before
        return changes > 0, f"the loop of {len(steps) - loop} steps repeats and writes {changes} times each time round"
    if not broken:
        return False, f"the loop repeats, but `{judge.name}` holds all the way round"
    return True, f"the loop of {len(steps) - loop} steps repeats, and `{judge.name}` is not kept in it"

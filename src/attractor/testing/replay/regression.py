"""``withstand``: a schedule that broke a controller once, as a test that its repaired form passes.

    withstand(world, "eventually stable", TURNS)

Each turn is taken on the production runtime where it still can be; a repaired controller goes other ways, so turns that
make no sense any more are left out, as are those of users who would still wait. What must be true at every moment is
asked after each of them. Then everything runs on fairly, without any fault, and what must come true in the end has to.
Time is virtual; nothing is left behind.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from attractor.testing.directed import Departed
from attractor.testing.replay.fair_run import run_on
from attractor.testing.replay.outside import played
from attractor.testing.replay.replay import directed
from attractor.testing.replay.state import Judge, claim_of
from attractor.testing.replay.turns import Player, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.check.world.api.world import World
    from attractor.testing.directed import DirectedRuntime

TIMES_ROUND = 5
"""How often a loop must repeat to count as one that goes on for ever."""


class Broken(AssertionError):
    """A claim does not hold on the runtime; the text says after which turn."""


def withstand(world: World, claim: str, turns: Sequence[Turn], *, loop: int | None = None) -> None:
    """Run a schedule on the runtime; raises ``Broken`` when the claim is. ``loop`` says where its end goes back to."""
    __tracebackhide__ = True
    asyncio.run(withstand_async(world, claim, turns, loop=loop))


async def withstand_async(world: World, claim: str, turns: Sequence[Turn], *, loop: int | None = None) -> None:
    """The same, on an event loop of its own that runs already."""
    __tracebackhide__ = True
    found = claim_of(world, claim)
    externals = played(world)
    async with directed(world, externals) as runtime:
        player = Player(runtime, world, externals)
        await player.begin()
        trial = _Trial(world, runtime, player, Judge(found, world, runtime, externals, player.users))
        await trial.run(turns, loop)


class _Trial:
    def __init__(self, world: World, runtime: DirectedRuntime, player: Player, judge: Judge) -> None:
        self._world, self._runtime, self._player, self._claim = world, runtime, player, judge
        self._revision = 0
        self._left_out = 0

    async def run(self, turns: Sequence[Turn], loop: int | None) -> None:
        for number, turn in enumerate(turns, 1):
            await self._take(number, turn)
        if loop is not None and loop < len(turns) and not self._left_out:
            await self._go_round(turns[loop:])
        if not await run_on(self._runtime, self._player.acting, self._observe):
            raise Broken(
                f"`{self._claim.name}` does not come true, or does not stay true, after this run of {self._world!r}"
                f"{f' ({self._left_out} turns were left out)' if self._left_out else ''}"
            )

    async def _take(self, number: int, turn: Turn) -> None:
        before = await self._claim.look()
        try:
            if not self._player.users.would_act(turn, before):
                raise Departed(f"the user of `{turn}` waits for something else")
            await self._player.take(turn)
        except Departed:
            self._left_out += 1
        if self._claim.word == "always" and not await self._claim.holds():
            raise Broken(f"`{self._claim.name}` is broken after turn {number}: {turn}")
        if self._claim.word == "always_step" and not await self._claim.step_holds(before, turn.action, turn.arguments):
            raise Broken(f"`{self._claim.name}` is broken by turn {number}: {turn}")

    async def _go_round(self, turns: Sequence[Turn]) -> None:
        """A loop that still repeats, with the claim not kept in it, goes on for ever."""
        for _ in range(TIMES_ROUND):
            kept = True
            for turn in turns:
                await self._take(0, turn)
                kept = await self._observe() and kept
            if kept or self._left_out:
                return
        raise Broken(f"`{self._claim.name}` is not kept: the last {len(turns)} turns repeat for ever")

    async def _observe(self) -> bool:
        """Return whether the claim is as it should be now."""
        if self._claim.word == "always" and not await self._claim.holds():
            raise Broken(f"`{self._claim.name}` is broken when everything runs on")
        if self._claim.word == "always_step":
            return True
        if self._claim.word == "settles":
            before, self._revision = self._revision, self._runtime.cluster.store.revision
            return before == self._revision
        return await self._claim.holds()

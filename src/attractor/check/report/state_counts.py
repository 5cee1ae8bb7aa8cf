"""State counts of a world: slots with many values, steps that run often, what each part multiplies.

A count of states is a product: of what the parts can be, as far as they vary independently. So the world is explored
once more without each fault and each user, with less lag and with one worker; the quotient says what that part costs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attractor.check.engine.exploration import Settings
from attractor.check.engine.selection import explore
from attractor.check.growth import fitted
from attractor.check.world.api.users import Script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.engine.exploration import Exploration
    from attractor.check.world.api.faults import Faults
    from attractor.check.world.api.world import World

TOP = 12


@dataclass(frozen=True)
class Row:
    """One line of an explanation: what, how many, and a remark."""

    what: str
    count: int
    remark: str = ""


@dataclass(frozen=True)
class Explanation:
    """The states of a world, by slot, by step and by part."""

    distinct: int
    is_complete: bool
    slots: tuple[Row, ...]
    """How many different values each slot has had, most first."""
    actions: tuple[Row, ...]
    """How often each step was taken, how often its code ran, the most slots that one run read."""
    parts: tuple[Row, ...]
    """How many states there are without each part, and what the part multiplies."""

    def lines(self) -> Iterator[str]:
        """The explanation for a terminal."""
        yield f"{self.distinct:,} distinct states{'' if self.is_complete else ', and more: the search was stopped'}"
        for title, rows in (
            ("values in each slot", self.slots),
            ("steps taken", self.actions),
            ("states without a part", self.parts),
        ):
            yield ""
            yield f"  {title}"
            widest = max((len(row.what) for row in rows), default=0)
            for row in rows:
                yield f"    {row.what:<{widest}}  {row.count:>12,}  {row.remark}".rstrip()


def explain(world: World, *, max_states: int | None = None, threads: int = 1) -> Explanation:
    """Explore a world, and again without each of its parts; ``max_states`` bounds each of these searches."""
    settings = Settings(max_states=max_states, threads=threads, deadlock=False, properties=frozenset())
    whole = _explored(world, settings)
    distinct = whole.counts.distinct
    slots = sorted(whole.model.slots, key=lambda slot: -len(slot.domain.values))
    taken: dict[str, int] = {}
    for action, count in zip(whole.model.actions, whole.counts.taken, strict=True):
        taken[action.name] = taken.get(action.name, 0) + count
    actions = [Row(name, count, _ran(whole, name)) for name, count in sorted(taken.items(), key=lambda each: -each[1])]
    parts = []
    for what, smaller in variations(world):
        without = _explored(smaller, settings)
        count = without.counts.distinct
        more = " or more" if whole.bound else ""
        parts.append(Row(what, count, f"x {distinct / count:.1f}{more}" if not without.bound else "not less"))
    return Explanation(
        distinct,
        not whole.bound,
        tuple(Row(slot.name, len(slot.domain.values)) for slot in slots[:TOP]),
        tuple(row for row in actions if row.count),
        tuple(sorted(parts, key=lambda row: row.count)),
    )


def _ran(whole: Exploration, name: str) -> str:
    tally = whole.tallies.get(name)
    return f"its code ran {tally.executed:,} times and read up to {tally.widest} slots" if tally else ""


def _explored(world: World, settings: Settings) -> Exploration:
    return fitted(world, lambda: explore(world.compile(), settings)[0])


def _without(faults: Faults, name: str) -> Faults:
    none: dict[str, Any] = {name: 0}
    return replace(faults, **none)


def variations(world: World) -> Iterator[tuple[str, World]]:
    """The same world with one part less."""
    for name in world.faults.budgets():
        yield f"fault {name}", world.but(faults=_without(world.faults, name))
    for place, user in enumerate(world.users):
        before, after = world.users[:place], world.users[place + 1 :]
        yield f"user: {user.label}", world.but(users=before + after)
        if isinstance(user, Script) and user.shorter is not None:
            yield f"the last step of {user.label}", world.but(users=(*before, user.shorter, *after))
    if (lag := world.bounds.lag) > 1:
        yield f"lag {lag - 1} instead of {lag}", world.but(bounds=world.bounds.but(lag=lag - 1))
    if world.workers > 1 and not all(one.workers for one in world.controllers):
        yield f"1 worker instead of {world.workers}", world.but(workers=1)
    if len(world.hosts) > 1 and world.placement is None:
        yield f"host {world.hosts[-1]}", world.but(hosts=world.hosts[:-1])

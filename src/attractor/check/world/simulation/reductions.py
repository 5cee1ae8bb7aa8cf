"""Reductions that make worlds smaller or faster without changing a verdict, each with a switch for comparison."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attractor.check.world.api.world import World


@dataclass(frozen=True)
class Reductions:
    """The reductions of a world; all are on unless our own tests and benchmarks switch one off."""

    joins_local_steps: bool = True
    """What a reconcile asks for and nobody else can notice is no step of its own."""
    recalls_answers: bool = True
    """A reconcile, or the server, does not run again where the same came to the same place before."""
    changes_blindly: bool = True
    """A step that only adds to a value (a queue, a set of names) does not run once for each value of it."""


def unreduced(world: World, *names: str) -> World:
    """The same world without some of its reductions."""
    made = world.but()
    made.reductions = replace(world.reductions, **dict.fromkeys(names, False))
    return made

"""Shipped operators are eventually stable, and go quiet: two workers, stale caches, each fault and each pair of faults.

The troubles are those of every day: the process crashes, somebody else writes, an answer is lost, a user edits, a user
deletes. Each world is explored completely.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from attractor.check import check
from attractor.check.world import Delete, Edit, Faults
from attractor.operators.configpair import controller
from attractor.operators.configpair import properties as configpair
from attractor.operators.configpair.types import ConfigPair

if TYPE_CHECKING:
    from attractor.check.world import World
    from attractor.check.world.users import User
    from attractor.runtime import Controller

USERS: dict[str, User] = {
    "edit": Edit(ConfigPair, configpair.WEB, spec=[{"value": "blue"}]),
    "delete": Delete(ConfigPair, configpair.WEB),
}
TROUBLES = ("crash", "conflict", "lost answer", *USERS)
MANY_STATES = {("conflict", "delete"), ("lost answer", "delete"), ("edit", "delete")}
"""More than a hundred thousand each."""
COMBINATIONS = [
    pytest.param(troubles, id=" and ".join(troubles), marks=[pytest.mark.slow] if troubles in MANY_STATES else [])
    for count in (1, 2)
    for troubles in combinations(TROUBLES, count)
]


def pair_in(troubles: tuple[str, ...], declared: Controller = controller.configpair) -> World:
    """A controller of pairs with two workers, in trouble."""
    faults = Faults(
        crash=int("crash" in troubles), conflict=int("conflict" in troubles), lost_answer=int("lost answer" in troubles)
    )
    users = tuple(user for name, user in USERS.items() if name in troubles)
    return configpair.world(declared, users=users, faults=faults)


@pytest.mark.parametrize("troubles", COMBINATIONS)
def test_a_pair_is_eventually_stable_whatever_happens(troubles: tuple[str, ...]) -> None:
    verdict = check(pair_in(troubles)).assert_holds()
    assert verdict.bound is None


@pytest.mark.parametrize(("trouble", "steps"), [("crash", 12), ("lost answer", 11), ("edit", 16)])
def test_the_naive_pair_falls_to_a_single_trouble(trouble: str, steps: int) -> None:
    trace = check(pair_in((trouble,), controller.naive)).assert_violated("eventually stable")
    assert len(trace) == steps, trace.actions

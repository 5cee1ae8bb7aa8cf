"""The operator proved: every world holds, with its number of states; and the mistakes that it could have made are found."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from attractor.check import Faults, World, check
from attractor.check.specs.irsa import Irsa
from attractor.operators.irsa.api import IamRoleServiceAccount, Policy, PolicyStatus, Role
from attractor.operators.irsa.controllers import declarations, irsas
from attractor.operators.irsa.controllers.documents import policy_document
from attractor.operators.irsa.controllers.irsas import Irsas
from attractor.operators.irsa.controllers.names import aws_names
from attractor.operators.irsa.controllers.policies import Policies
from attractor.operators.irsa.drivers.iam import Iam
from attractor.operators.irsa.proofs import properties
from attractor.runtime import Context

SLOW = pytest.mark.slow
PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "irsa.md"
PROVED = [
    pytest.param(properties.made, 493092, marks=SLOW),
    pytest.param(properties.timed_out, 948299, marks=SLOW),
    pytest.param(properties.deleted, 789355, marks=SLOW),
    pytest.param(properties.edited, 90452),
    pytest.param(properties.ended, 360758),
    pytest.param(properties.torn_policy, 28550),
    pytest.param(properties.torn_role, 684912, marks=SLOW),
    pytest.param(properties.torn_account, 12878),
    pytest.param(properties.drifted, 12612),
    pytest.param(properties.blocked, 41468, marks=SLOW),
]


@pytest.mark.parametrize(("make", "states"), PROVED)
def test_the_operator_keeps_its_promises(make: Callable[[], World], states: int) -> None:
    verdict = check(make())
    verdict.assert_holds()
    assert verdict.distinct == states


def _proved() -> dict[str, Any]:
    """The number of states of each world, by the world's name."""
    return {cast("Any", case.values[0]).__name__: case.values[1] for case in PROVED}


def test_the_page_tells_the_counts() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \|.*\| ([\d,]+) \|$", PAGE.read_text(), re.MULTILINE))
    assert told == {name: f"{states:,}" for name, states in _proved().items()}


@pytest.mark.parametrize(
    ("faults", "states"),
    [
        (Faults(lost_answer=1), 35255),
        (Faults(lost_request=1), 28405),
        (Faults(late_request=1), 28890),
        (Faults(conflict=1), 114866),
        (Faults(closed_watch=1), 42276),
        (Faults(repeated=1), 52223),
        (Faults(partition=1), 48867),
        pytest.param(Faults(stale_list=1), 4222257, marks=pytest.mark.nightly),
    ],
    ids=lambda value: next(iter(value.budgets())) if isinstance(value, Faults) else "",
)
def test_what_the_network_does_to_the_edited_resource_is_overcome(faults: Faults, states: int) -> None:
    verdict = check(properties.edited(faults))
    verdict.assert_holds()
    assert verdict.distinct == states


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("faults", "states"),
    [(Faults(crash=1), 2356021), (Faults(external_silence=1), 2214188), (properties.BAD_DAY, 15872991)],
    ids=["crash", "silent IAM", "bad day"],
)
def test_a_resource_that_is_deleted_while_it_is_made_leaves_nothing_on_a_bad_day_too(
    faults: Faults, states: int
) -> None:
    verdict = check(properties.deleted(faults)).assert_holds()
    assert verdict.distinct == states


@pytest.mark.nightly
def test_a_resource_may_be_edited_at_any_moment_of_its_making() -> None:
    editor = properties.edited(properties.NO_FAULTS).users
    verdict = check(properties.made(properties.NO_FAULTS).but(users=editor)).assert_holds()
    assert verdict.distinct == 1526838


def test_every_world_is_proved() -> None:
    assert set(_proved()) == set(properties.WORLDS)


class ForgetsWhatItCreated(Policies):
    """Creates the policy without a look at what an interrupted run has left."""

    async def sync(self, ctx: Context, part: Policy) -> PolicyStatus:
        if not part.status.arn:
            names = aws_names(self.settings, part.key)
            await ctx.external(Iam).create_policy(names.name, names.policy_path, policy_document(part.spec.statement))
        return await super().sync(ctx, part)


class AnyOrder(Irsas):
    """Lets the resource go without waiting for its parts, and owns none of them."""

    async def _is_cleaned_up(self, ctx: Context, irsa: IamRoleServiceAccount) -> bool:
        for kind in (Policy, Role):
            found = await ctx.find(kind, irsa.key)
            if found is not None:
                found.metadata.finalizers = []
                await ctx.update(found)
        return True


def violated(world: World) -> set[str]:
    return {one.name for one in check(world).properties if one.verdict == "violated"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "mistake", "world", "claim"),
    [
        (
            "Policies",
            ForgetsWhatItCreated,
            lambda: properties.made(Faults(external_silence=1)),
            "eventually as desired",
        ),
        ("Irsas", AnyOrder, lambda: properties.ended(Faults()), "eventually as desired"),
    ],
)
def test_a_mistake_is_found(
    monkeypatch: pytest.MonkeyPatch, place: str, mistake: Any, world: Callable[[], World], claim: str
) -> None:
    monkeypatch.setattr(declarations, place, mistake)
    assert any(name.startswith(claim) for name in violated(world()))


@pytest.mark.slow
def test_a_service_account_that_does_not_wait_for_its_role_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(irsas, "is_complete", lambda _: True)
    assert "account only with a complete role" in violated(properties.made(Faults()))


@pytest.mark.nightly
def test_a_part_that_comes_and_goes_while_the_watch_is_down_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = properties.deleted(Faults(closed_watch=1))
    verdict = check(world)
    verdict.assert_holds()
    assert verdict.distinct == 5260923
    monkeypatch.setattr(irsas, "RECHECK", None)
    assert any(name.startswith("eventually as desired") for name in violated(world))


def test_one_worker_deadlocks_in_the_specification_and_not_in_the_operator() -> None:
    steps = check(Irsa(workers=1)).assert_violated("deadlock").steps
    assert len(steps) == 11
    check(properties.edited()).assert_holds()  # its world has one worker for each controller

"""Webhooks in worlds: the server asks the author's functions about every write, within the step that writes."""

import time
from typing import Any

import pytest

from attractor import AdmissionRequest, Denied, mutate, validate
from attractor.check import Create, Edit, SpecError, World, WorldState, always, check, eventually_stable, sometimes
from attractor.k8s import ConfigMap
from attractor.testing.replay import replay
from attractor.testing.replay.differential import agree
from tests.check.world.pairs import KEY, Pair, both_are_right, naive, pair, pairs

EDIT = Edit(Pair, KEY, spec=[{"text": "long"}, {"text": "y"}])


@validate(Pair)
def short(obj: Pair, request: AdmissionRequest[Pair]) -> None:
    """One letter."""
    if len(obj.spec.text) > 1:
        request.refuse("spec.text", "one letter")


@mutate(Pair)
def lower(obj: Pair, request: AdmissionRequest[Pair]) -> None:
    """In lower case."""
    obj.spec.text = obj.spec.text.lower()


def is_short(world: WorldState) -> bool:
    return all(len(one.spec.text) == 1 and one.spec.text.islower() for one in world.list(Pair))


def world(*hooks: Any, **options: Any) -> World:
    given = {"controllers": [pairs], "objects": [pair()], "users": [EDIT], "properties": [always(is_short)], **options}
    return World(webhooks=hooks, **given)


def test_what_a_webhook_refuses_never_happens() -> None:
    check(world()).assert_violated("is_short")
    edited = sometimes(lambda look: look.list(Pair)[0].spec.text == "y", name="edited")
    claims = [always(is_short), edited, eventually_stable(both_are_right)]
    held = check(world(short, properties=claims)).assert_holds(within=["lag"])
    only_short = Edit(Pair, KEY, spec=[{"text": "y"}])
    assert held.distinct == check(world(users=[only_short], properties=claims)).distinct == 146


def test_what_a_webhook_changes_is_stored_changed_also_at_the_beginning() -> None:
    users = [Create(pair("b", "Y"))]
    check(world(objects=[pair("a", "X")], users=users)).assert_violated("is_short")
    check(world(lower, short, objects=[pair("a", "X")], users=users)).assert_holds(within=["lag"])


def test_an_initial_object_that_is_refused_is_named() -> None:
    with pytest.raises(SpecError, match=r"cannot begin with .*spec.text: one letter"):
        check(world(short, objects=[pair("a", "long")]))


def test_controllers_are_refused_too() -> None:
    @validate(ConfigMap)
    def frozen(obj: ConfigMap, request: AdmissionRequest[ConfigMap]) -> None:
        if request.old is not None and request.old.data != obj.data:
            raise Denied("ConfigMaps do not change")

    stable = [eventually_stable(both_are_right)]
    check(world(frozen, properties=stable)).assert_violated("eventually stable")


async def test_a_counterexample_is_confirmed_on_a_server_that_asks_the_same_functions() -> None:
    wrong = world(lower, controllers=[naive], users=[Edit(Pair, KEY, spec=[{"text": "Y"}])],
                  properties=[eventually_stable(both_are_right)])  # fmt: skip
    trace = check(wrong).assert_violated("eventually stable")
    replayed = await replay(wrong, trace)
    assert replayed.is_confirmed, replayed.reason


async def test_runs_come_out_the_same_on_a_server_that_asks_the_same_functions() -> None:
    await agree(world(lower, short, users=[EDIT, Create(pair("b", "Q"))]), seed=3)


def test_a_webhook_depends_on_what_it_is_given_only() -> None:
    @validate(Pair)
    def timed(obj: Pair, request: AdmissionRequest[Pair]) -> None:
        if time.time() < 0:
            raise Denied("before our time")

    with pytest.raises(SpecError, match="asks for the time"):
        check(world(timed))


COUNTED: list[str] = []


def test_a_webhook_remembers_nothing() -> None:
    @validate(Pair)
    def counting(obj: Pair, request: AdmissionRequest[Pair]) -> None:
        COUNTED.append(obj.metadata.name)

    with pytest.raises(SpecError, match=r"test_webhooks.py:\d+: webhook 'counting' changes a variable outside"):
        check(world(counting))


def test_a_webhook_that_asks_who_writes_is_refused_because_a_world_does_not_know() -> None:
    @validate(Pair)
    def mine(obj: Pair, request: AdmissionRequest[Pair]) -> None:
        if request.user.name == "mallory":
            raise Denied("no")

    with pytest.raises(SpecError, match="the user's name, and in a world nobody has one"):
        check(world(mine))


def test_a_webhook_that_fails_is_told_with_its_line() -> None:
    @validate(Pair)
    def broken(obj: Pair, request: AdmissionRequest[Pair]) -> None:
        raise KeyError("nothing")

    with pytest.raises(SpecError, match=r"test_webhooks.py:\d+: webhook 'broken' fails with KeyError"):
        check(world(broken))


def test_a_webhook_that_writes_may_pass_by_is_refused() -> None:
    def judge(obj: Pair, request: AdmissionRequest[Pair]) -> None:
        """Allow."""

    with pytest.raises(SpecError, match="fails_open"):
        check(world(validate(Pair, fails_open=True)(judge)))
    with pytest.raises(SpecError, match="is a list"):
        World(controllers=[pairs], webhooks=short)  # type: ignore[arg-type]

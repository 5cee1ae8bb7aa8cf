"""Outside systems in a world: models, failures, silence, things that happen by themselves, background work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attractor.check import Delete, Faults, SpecError, World, check, conformance, eventually_stable
from attractor.check.world.api.conformance import Differs
from tests.check.world.buckets import (
    KEY,
    Bucket,
    FragileModel,
    Storage,
    StorageModel,
    behind,
    bucket,
    careful,
    careless,
    one_bucket_by_key,
    one_bucket_each,
)

if TYPE_CHECKING:
    from attractor.runtime import Controller


def world(controller: Controller, faults: Faults | None = None, model: object = None, **options: Any) -> World:
    claims = [eventually_stable(options.pop("desired", one_bucket_each))]
    return World(
        controllers=[controller],
        objects=[bucket()],
        faults=faults,
        properties=claims,
        externals={Storage: model or StorageModel()},
        **options,
    )


def test_a_careless_controller_is_right_while_nothing_fails() -> None:
    check(world(careless)).assert_holds()


@pytest.mark.parametrize("faults", [Faults(crash=1), Faults(external_silence=1), Faults(conflict=1)])
def test_a_careless_controller_leaves_two_buckets_after_one_fault(faults: Faults) -> None:
    check(world(careless, faults)).assert_violated("eventually stable")


@pytest.mark.parametrize(
    ("faults", "states"),
    [
        (Faults(crash=1, external_silence=1), 511),
        (Faults(external_failure=1, lost_answer=1), 781),
        (Faults(conflict=1, crash=1), 1335),
    ],
)
def test_a_careful_controller_has_one_bucket_whatever_fails(faults: Faults, states: int) -> None:
    answered = check(world(careful, faults, users=[Delete(Bucket, KEY)]), max_states=10 * states)
    answered.assert_holds()
    assert answered.distinct == states


def test_what_happens_outside_without_a_word_is_not_repaired() -> None:
    check(world(careful, model=FragileModel())).assert_violated("eventually stable")


@pytest.mark.parametrize("faults", [Faults(), Faults(crash=1)])
def test_background_work_tells_the_reconcile_through_its_memory(faults: Faults) -> None:
    check(world(behind, faults, desired=one_bucket_by_key)).assert_holds()


def test_a_world_without_a_model_of_an_outside_system_says_what_is_missing() -> None:
    with pytest.raises(SpecError, match="needs the outside system Storage; give the world a model"):
        World(controllers=[careful], objects=[bucket()])


def test_a_model_without_a_method_says_which() -> None:
    with pytest.raises(SpecError, match="object models Storage but has no method 'create'"):
        check(world(careful, model=object()))


CALLS = [("create", ("t",)), ("find", ("t",)), ("delete", ("b1",)), ("delete", ("b2",))]


async def test_a_model_conforms_to_itself() -> None:
    assert await conformance(StorageModel, StorageModel, CALLS, length=5) == 100


async def test_a_model_that_answers_otherwise_is_told_with_the_calls_that_show_it() -> None:
    class Forgetful(StorageModel):
        def find(self, tag: str) -> list[str]:
            return super().find(tag)[:1]

    with pytest.raises(Differs, match=r"find\('t',\).*the real system returned \['b1', 'b2'\], the model returned"):
        await conformance(StorageModel, Forgetful, CALLS, length=5)

"""The work queue, as algorithm and as product."""

from __future__ import annotations

import pytest

from attractor.check import check
from attractor.check.engine.selection import EngineName
from attractor.check.specs.workqueue import ProductWorkQueue, WorkQueue, WorkQueueAsProduct
from tests.check.specs.pinned import ENGINES, Pinned

PINNED = [
    Pinned(WorkQueue, {}, (141, 797, 13)),
    Pinned(WorkQueue, {"keys": 3}, (1_377, 10_549, 19)),
    Pinned(WorkQueue, {"keys": 3, "workers": 3}, (3_069, 26_869, 19)),
    Pinned(ProductWorkQueue, {}, (141, 797, 13)),
    Pinned(WorkQueueAsProduct, {}, (141, 797, 13)),
]
THREE_KEYS = [
    Pinned(ProductWorkQueue, {"keys": 3}, (1_377, 10_549, 19)),
    Pinned(WorkQueueAsProduct, {"keys": 3}, (1_377, 10_549, 19)),
]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
@pytest.mark.parametrize("pinned", PINNED, ids=str)
def test_no_key_is_processed_twice_at_once_and_no_wake_up_is_lost(
    pinned: Pinned, engine: tuple[EngineName, int]
) -> None:
    verdict = pinned.demand(engine)
    assert not verdict.warnings


def test_the_product_and_the_algorithm_refine_each_other() -> None:
    assert check(ProductWorkQueue())["refines_the_algorithm"].verdict == "holds"
    assert check(WorkQueueAsProduct())["is_what_production_runs"].verdict == "holds"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES, ids=str)
@pytest.mark.parametrize("pinned", THREE_KEYS, ids=str)
def test_they_do_so_with_three_keys(pinned: Pinned, engine: tuple[EngineName, int]) -> None:
    assert pinned.demand(engine).verdict == "holds"


def test_with_one_worker_exclusion_is_vacuous_and_said_to_be() -> None:
    verdict = check(WorkQueue(workers=1)).assert_holds()
    assert verdict["no_concurrent_processing"].vacuous is not None


def test_interchangeable_workers_need_fewer_states_for_the_same_verdict() -> None:
    verdict = check(WorkQueue(keys=3, workers=3), symmetry=True).assert_holds()
    assert verdict.distinct == 853

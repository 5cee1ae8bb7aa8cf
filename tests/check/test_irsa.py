"""The IRSA specification: the counts that TLC gives, the deadlock of one worker, and what its properties really say."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from attractor.check import check
from attractor.check.engine import native
from attractor.check.engine._kernel import Kernel
from attractor.check.specs.irsa import Irsa

NATIVE_1: dict[str, Any] = {"engine": "native", "threads": 1}
NATIVE_2: dict[str, Any] = {"engine": "native", "threads": 2}
PYTHON: dict[str, Any] = {"engine": "python"}
COUNTS = {
    1: (575, 319, 50),
    2: (19_180, 7_053, 48),
    3: (107_848, 31_292, 48),
    4: (335_727, 87_622, 48),
    8: (5_015_443, 1_126_806, 48),
}


@pytest.mark.parametrize("engine", [NATIVE_1, NATIVE_2, PYTHON], ids=["native-1", "native-2", "python"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_counts_are_those_of_tlc(workers: int, engine: dict[str, Any]) -> None:
    verdict = check(Irsa(workers=workers), properties=[], **engine)
    assert (verdict.generated, verdict.distinct, verdict.depth) == COUNTS[workers]


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_threads_that_take_single_states_from_each_other_count_as_one_does(threads: int) -> None:
    with patch.object(native, "Kernel", partial(Kernel, shared_from=1)):
        verdict = check(Irsa(workers=3), engine="native", threads=threads).assert_holds()
    assert (verdict.generated, verdict.distinct, verdict.depth) == COUNTS[3]


@pytest.mark.slow
@pytest.mark.parametrize("engine", [NATIVE_1, NATIVE_2], ids=["native-1", "native-2"])
@pytest.mark.parametrize("workers", [4, 8])
def test_counts_of_many_workers_are_those_of_tlc(workers: int, engine: dict[str, Any]) -> None:
    verdict = check(
        Irsa(workers=workers), properties=["type_ok", "no_concurrent_processing_of_same_resource"], **engine
    )
    assert (verdict.generated, verdict.distinct, verdict.depth) == COUNTS[workers]
    verdict.assert_holds()


@pytest.mark.slow
def test_python_engine_counts_four_workers_as_tlc_does() -> None:
    verdict = check(Irsa(workers=4), properties=[], **PYTHON)
    assert (verdict.generated, verdict.distinct, verdict.depth) == COUNTS[4]


@pytest.mark.parametrize("engine", [NATIVE_1, NATIVE_2, PYTHON], ids=["native-1", "native-2", "python"])
@pytest.mark.parametrize(("workers", "representatives"), [(2, 3_658), (3, 6_135), (4, 6_351), (5, 6_351)])
def test_four_interchangeable_workers_decide_all(workers: int, representatives: int, engine: dict[str, Any]) -> None:
    verdict = check(Irsa(workers=workers), properties=["type_ok"], symmetry=True, **engine)
    assert verdict.distinct == representatives
    verdict.assert_holds()


@pytest.mark.parametrize("engine", [NATIVE_1, NATIVE_2, PYTHON], ids=["native-1", "native-2", "python"])
def test_one_worker_deadlocks_after_eleven_steps(engine: dict[str, Any]) -> None:
    verdict = check(Irsa(workers=1), **engine)
    trace = verdict.assert_violated("deadlock")
    assert len(trace) == 11
    assert trace.actions[:3] == ("add", "get(0)", "create_role(0)")
    assert sum(action == "add" for action in trace.actions) == 5
    lasso = verdict.assert_violated("terminates")
    assert (len(lasso), lasso.loop) == (11, 11)


def test_the_python_engine_finds_the_documented_deadlock() -> None:
    trace = check(Irsa(workers=1), **PYTHON).assert_violated("deadlock")
    assert trace.actions == (
        "add",
        "get(0)",
        "create_role(0)",
        "add",
        "add",
        "done(0)",
        "get(0)",
        "role_has_no_role_arn(0)",
        "add",
        "role_has_no_role_arn(0)",
        "add",
    )


@pytest.mark.parametrize("engine", [NATIVE_1, NATIVE_2, PYTHON], ids=["native-1", "native-2", "python"])
@pytest.mark.parametrize("workers", [1, 2])
def test_documented_liveness_holds_but_never_promises_termination(workers: int, engine: dict[str, Any]) -> None:
    documented = check(Irsa(workers=workers), **engine)["termination_is_the_last_action"]
    assert documented.verdict == "holds"
    assert documented.vacuous is not None
    assert "never has to lead anywhere" in documented.vacuous


@pytest.mark.parametrize("engine", [NATIVE_1, NATIVE_2], ids=["native-1", "native-2"])
@pytest.mark.parametrize("workers", [2, 3])
def test_two_or_more_workers_terminate(workers: int, engine: dict[str, Any]) -> None:
    verdict = check(Irsa(workers=workers), **engine).assert_holds()
    assert verdict["terminates"].vacuous is None
    assert any("fairness of termination never matters" in warning for warning in verdict.warnings)


def test_termination_is_enabled_in_108_states_and_alone_in_one() -> None:
    from attractor.check.engine.exploration import Settings
    from attractor.check.engine.selection import explore

    model = Irsa(workers=2).compile()
    exploration, _ = explore(model, Settings(), "native")
    masks = {
        name: exploration.mask(next(p.index for p in model.predicates if p.name == name))
        for name in ("converged", "only_termination")
    }
    assert (sum(masks["converged"]), sum(masks["only_termination"])) == (108, 1)

"""Bounds, orders, interrupts, saving: what a search that does not see everything may and may not say."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from attractor.check import Spec, SpecError, action, always, check, constant, eventually, require, simulate, var
from attractor.check.specs.irsa import Irsa
from attractor.check.specs.philosophers import Philosophers
from attractor.check.specs.twophase import TwoPhaseCommit

if TYPE_CHECKING:
    from pathlib import Path

    from attractor.check.engine.exploration import Progress

ENGINES = ["python", "native"]


class Tower(Spec):
    """Counts up, with a fault at the top."""

    top: int = constant(20)
    n: int = var(0)
    side: int = var(0)

    @action(fair="weak")
    def up(self) -> None:
        require(self.n < self.top)
        self.n += 1

    @action
    def turn(self) -> None:
        self.side = 1 - self.side

    @always
    def below(self) -> bool:
        return self.n < 15

    arrives = eventually(lambda self: self.n == self.top)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bound_on_depth_is_inconclusive_and_named(engine: Any) -> None:
    verdict = check(Tower(), engine=engine, max_depth=10)
    assert (verdict.verdict, verdict.bound, verdict.depth) == ("inconclusive", "depth 10", 10)
    assert {each.verdict for each in verdict.properties} == {"inconclusive"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bound_beyond_the_last_level_bounds_nothing(engine: Any) -> None:
    full = check(Tower(), engine=engine)
    bounded = check(Tower(), engine=engine, max_depth=full.depth + 1)
    assert bounded.bound is None
    assert bounded.distinct == full.distinct == 42


@pytest.mark.parametrize("engine", ENGINES)
def test_a_violation_within_the_bound_is_a_violation(engine: Any) -> None:
    verdict = check(Tower(), engine=engine, max_depth=18)
    assert len(verdict.assert_violated("below")) == 15
    assert verdict["arrives"].verdict == "inconclusive"


@pytest.mark.parametrize("engine", ENGINES)
def test_stopping_at_the_first_violation_leaves_the_rest_open(engine: Any) -> None:
    verdict = check(Tower(top=100_000), engine=engine, stop_at_first=True)
    assert verdict["below"].verdict == "violated"
    assert verdict["arrives"].verdict == "inconclusive"
    assert verdict.distinct < 40_000


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("limit", "bound"),
    [({"max_states": 3000}, "3000 states"), ({"memory_bytes": 400_000}, "400000 bytes of memory")],
)
def test_limits_stop_the_search_and_are_named(engine: Any, limit: dict[str, Any], bound: str) -> None:
    verdict = check(Irsa(workers=3), engine=engine, **limit)
    assert (verdict.verdict, verdict.bound) == ("inconclusive", bound)
    assert verdict.distinct < 31_292


@pytest.mark.parametrize("engine", ENGINES)
def test_an_interrupt_is_inconclusive_with_what_was_covered(engine: Any) -> None:
    seen = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        if progress.distinct > 500:
            raise KeyboardInterrupt

    verdict = check(Irsa(workers=2), engine=engine, on_progress=interrupt)
    assert (verdict.verdict, verdict.bound) == ("inconclusive", "interrupted")
    assert 500 < verdict.distinct < 7_053
    assert all(one.distinct <= other.distinct for one, other in itertools.pairwise(seen))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_saved_search_goes_on_where_it_stopped(tmp_path: Path, threads: int) -> None:
    file = tmp_path / "irsa.search"
    stopped = check(Irsa(workers=3), threads=threads, max_states=9_000, save=file)
    assert stopped.verdict == "inconclusive"
    resumed = check(Irsa(workers=3), threads=threads, resume=file)
    assert (resumed.generated, resumed.distinct, resumed.depth) == (107_848, 31_292, 48)
    resumed.assert_holds()


def test_findings_and_traces_survive_saving(tmp_path: Path) -> None:
    file = tmp_path / "tower.search"
    check(Tower(), max_states=36, save=file)
    assert len(check(Tower(), resume=file).assert_violated("below")) == 15


def test_a_search_of_another_specification_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "irsa.search"
    check(Irsa(workers=3), max_states=5_000, save=file)
    with pytest.raises(SpecError, match="another specification"):
        check(Irsa(workers=4), resume=file)
    with pytest.raises(SpecError, match="native engine"):
        check(Irsa(workers=3), engine="python", resume=file)
    check(Tower(), max_states=36, save=file)
    with pytest.raises(SpecError, match="other constants"):
        check(Tower(top=8), resume=file)


def test_a_search_that_cannot_be_saved_still_has_its_verdict(tmp_path: Path) -> None:
    stopped = check(Irsa(workers=3), max_states=5_000, save=tmp_path / "nowhere" / "irsa.search")
    assert stopped.verdict == "inconclusive"
    assert any("cannot be saved" in warning for warning in stopped.warnings)


def test_depth_first_sees_the_same_states() -> None:
    breadth = check(Irsa(workers=2), properties=["type_ok"])
    depth = check(Irsa(workers=2), properties=["type_ok"], order="depth")
    assert (depth.distinct, depth.generated) == (breadth.distinct, breadth.generated)
    assert depth.depth >= breadth.depth


def test_depth_first_within_a_bound_sees_every_state_within_it() -> None:
    breadth = check(Philosophers(), properties=[], max_depth=4)
    depth = check(Philosophers(), properties=[], order="depth", max_depth=4)
    assert depth.distinct == breadth.distinct
    assert depth.bound == "depth 4"


def test_depth_first_finds_a_violation() -> None:
    verdict = check(Philosophers(polite=False), order="depth")
    assert verdict["deadlock"].verdict == "violated"


def test_simulation_finds_violations_and_is_never_proof() -> None:
    assert simulate(Tower(), runs=20, depth=200, seed=3)["below"].verdict == "violated"
    assert simulate(TwoPhaseCommit(), runs=20, seed=1).verdict == "inconclusive"


def test_simulation_with_one_seed_takes_the_same_runs() -> None:
    one, again, other = (simulate(Irsa(workers=2), runs=5, depth=60, seed=seed) for seed in (7, 7, 8))
    assert (one.distinct, one.generated) == (again.distinct, again.generated)
    assert (one.distinct, one.generated) != (other.distinct, other.generated)


def test_engines_that_do_not_exist_are_refused() -> None:
    with pytest.raises(SpecError, match="choose auto, native or python"):
        check(Tower(), engine="quantum")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="python engine"):
        check(Tower(), engine="native", order="depth")

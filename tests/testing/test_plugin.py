"""A failing ``assert_holds()`` under pytest, as a user sees it."""

import json

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

TEST = """
from attractor.check import Spec, action, always, check, require, var


class Counter(Spec):
    n: int = var(0)

    @action
    def up(self) -> None:
        require(self.n < 5)
        self.n += 1

    @always
    def small(self) -> bool:
        return self.n < 3


def test_counter_stays_small():
    check(Counter()).assert_holds()


def test_something_else():
    assert 1 == 2
"""


def test_a_failed_check_shows_verdict_and_counterexample(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    found.assert_outcomes(failed=2)
    found.stdout.fnmatch_lines(
        [
            ">       check(Counter()).assert_holds()",
            "E       attractor.check.verdict.NotShown: Counter(): violated; 6 distinct states, 6 generated, *",
            "E         violated: deadlock after 5 steps",
            "E         violated: small after 3 steps",
            "*- counterexample: small -*",
            "  3. up",
            "       n: 2 -> 3",
        ]
    )
    assert "def assert_holds" not in found.stdout.str()


def test_other_failures_are_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", "something_else")
    found.stdout.fnmatch_lines(["E       assert 1 == 2"])
    assert "counterexample" not in found.stdout.str()


def test_counterexamples_are_written_on_request(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--attractor-traces", "found")
    found.stdout.fnmatch_lines(["hint: see it again with `attractor replay found/counter-small.json`"])
    trace = json.loads((pytester.path / "found" / "counter-small.json").read_text())
    assert (trace["property"], len(trace["steps"])) == ("small", 3)


BLOCK = """
import sys
sys.modules["pytest_asyncio"] = None
"""
ASKS = """
def test_with_a_cluster(attractor_cluster):
    pass

def test_without():
    pass
"""


def test_without_pytest_asyncio_other_tests_run_and_the_fixture_says_what_to_install(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(blocks=BLOCK, test_mine=ASKS)
    found = pytester.runpytest_subprocess("-p", "blocks", "-p", "no:asyncio", "-p", "no:cacheprovider")
    found.assert_outcomes(errors=1, passed=1)
    found.stdout.fnmatch_lines(["the fixture `attractor_cluster` needs pytest-asyncio; install it with: pip install *"])


def test_with_pytest_asyncio_the_fixtures_are_there_by_themselves(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        async def test_with_a_cluster(attractor_cluster, virtual_time):
            assert attractor_cluster.client
        """
    )
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-o", "asyncio_mode=auto")
    found.assert_outcomes(passed=1)


def test_a_fault_that_strikes_nothing_is_warned_of(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(
        """
        async def test_nothing_happens(attractor_cluster):
            attractor_cluster.faults.conflict("update", "configmap")
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, warnings=1)
    done.stdout.fnmatch_lines(["*UnstruckFault: a fault never struck*: conflict of update configmap"])


def test_an_async_test_that_nobody_would_run_is_told_which_line_is_missing(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile("async def test_nothing_happens(attractor_cluster): ...")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(['*asyncio_mode = "auto" under *'])

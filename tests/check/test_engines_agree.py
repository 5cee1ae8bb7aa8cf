"""Native engine, Python engine and a naive enumerator agree on random specifications."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings

from attractor.check import Spec, Verdict, check
from attractor.check.engine import native
from attractor.check.engine._kernel import Kernel
from attractor.check.spec import declarations as words
from tests.check.naive import Condition, Enumeration, Naive, has_fair_run
from tests.check.random_specs import make_spec, programs

ENGINES: list[dict[str, Any]] = [
    {"engine": "python"},
    {"engine": "native", "threads": 1},
    {"engine": "native", "threads": 2},
]
LIVENESS = ("reaches", "leads", "settles", "recurs", "holds_until")
ALL_OF_THEM = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def answers(verdict: Verdict) -> dict[str, tuple[str, int | None]]:
    """Each property's answer, with the length of its trace where engines must agree on it."""
    return {
        each.name: (each.verdict, len(each.trace) if each.trace and each.name not in LIVENESS else None)
        for each in verdict.properties
    }


def assert_engines_agree(program: Any) -> None:
    naive = Naive(make_spec(program)).enumerate()
    verdicts = [check(make_spec(program), **engine) for engine in ENGINES]
    for verdict in verdicts:
        assert (verdict.distinct, verdict.generated, verdict.depth) == (
            len(naive.states),
            naive.generated,
            naive.depth,
        )
        assert answers(verdict) == answers(verdicts[0])
    deadlocked = any(not out for out in naive.edges)
    assert (verdicts[0]["deadlock"].verdict == "violated") == deadlocked


def fairness_of(spec: Spec, naive: Naive) -> list[Condition]:
    conditions = []
    for name, declared in spec.of(words.Action):
        if declared.fair:
            conditions += [
                (frozenset({(name, arguments)}), declared.fair == "strong")
                for other, arguments, _ in naive.actions
                if other == name
            ]
    return conditions


def brute_answers(spec: Spec, naive: Naive, found: Enumeration) -> dict[str, bool]:
    """Whether each promise is broken, by trying every set of states as the loop of a run."""
    everywhere = set(range(len(found.states)))
    declared = dict(spec.of(words.LivenessProperty))
    premise_function = declared["leads"].operands[0]
    promise_function = dict(spec.of(words.Predicate))["promised"].function
    premise = {s for s in everywhere if naive.truth(premise_function, found.states[s])}
    promise = {s for s in everywhere if naive.truth(promise_function, found.states[s])}
    missing, initially = everywhere - promise, set(found.initial)
    fairness = fairness_of(spec, naive)

    def broken(allowed: set[int], starts: set[int], visit: set[int] | None = None) -> bool:
        return has_fair_run(found, fairness, allowed, starts, visit)

    given_up = reach_within(found, initially & missing, missing) - premise
    return {
        "reaches": broken(missing, initially),
        "leads": broken(missing, premise),
        "settles": broken(everywhere, everywhere, missing),
        "recurs": broken(missing, everywhere),
        "holds_until": bool(given_up) or broken(missing, initially),
    }


def reach_within(found: Enumeration, sources: set[int], within: set[int]) -> set[int]:
    seen, queue = set(sources), list(sources)
    while queue:
        for _, _, target in found.edges[queue.pop()]:
            if target in within and target not in seen:
                seen.add(target)
                queue.append(target)
    return seen


def assert_promises_are_judged_rightly(program: Any) -> None:
    spec = make_spec(program)
    naive = Naive(spec)
    found = naive.enumerate()
    assume(2 <= len(found.states) <= 9)
    expected = brute_answers(spec, naive, found)
    for engine in ENGINES:
        verdict = check(make_spec(program), **engine)
        assert {name: verdict[name].verdict == "violated" for name in LIVENESS} == expected
        for name in LIVENESS:
            trace = verdict[name].trace
            assert trace is None or trace.loop is None or 0 <= trace.loop <= len(trace)


@ALL_OF_THEM
@given(programs)
def test_engines_and_enumerator_agree_on_counts_and_safety(program: Any) -> None:
    assert_engines_agree(program)


@pytest.mark.parametrize("threads", [2, 3])
@ALL_OF_THEM
@given(program=programs)
def test_threads_that_share_every_level_agree_with_the_enumerator(threads: int, program: Any) -> None:
    """One state at a time, so that they meet the same successors at once; usually small levels are not shared."""
    naive = Naive(make_spec(program)).enumerate()
    with patch.object(native, "Kernel", partial(Kernel, shared_from=1)):
        verdict = check(make_spec(program), engine="native", threads=threads)
    assert (verdict.distinct, verdict.generated, verdict.depth) == (len(naive.states), naive.generated, naive.depth)
    assert answers(verdict) == answers(check(make_spec(program), engine="python"))


@ALL_OF_THEM
@given(programs)
def test_promises_agree_with_a_brute_force_search_for_lassos(program: Any) -> None:
    assert_promises_are_judged_rightly(program)


@pytest.mark.nightly
@settings(max_examples=4000, suppress_health_check=list(HealthCheck))
@given(programs)
def test_engines_and_enumerator_agree_in_thousands_of_cases(program: Any) -> None:
    assert_engines_agree(program)


@pytest.mark.nightly
@settings(max_examples=4000, suppress_health_check=list(HealthCheck))
@given(programs)
def test_promises_agree_with_brute_force_in_thousands_of_cases(program: Any) -> None:
    assert_promises_are_judged_rightly(program)

"""Whose long answer gets the next slice of the processor."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from attractor.apiserver.fairness.processor import ProcessorShares


@given(st.lists(st.integers(1, 20), min_size=2, max_size=6), st.integers(0, 5))
def test_flows_get_time_by_weight_however_many_jobs_they_have(weights: list[int], more: int) -> None:
    shares: ProcessorShares[tuple[int, int]] = ProcessorShares()
    for flow, weight in enumerate(weights):
        for job in range(1 + (more if flow == 0 else 0)):
            shares.add(flow, weight, (flow, job))
    time: Counter[int] = Counter()
    for _ in range(sum(weights) * 20):
        turn = shares.next()
        assert turn is not None
        served, (owner, _) = turn
        assert served == owner
        shares.used(served, 1.0)
        time[owner] += 1
    for flow, weight in enumerate(weights):
        assert abs(time[flow] - weight * 20) <= max(weights), "a flow had more than its share"


def test_jobs_of_a_flow_take_turns() -> None:
    shares: ProcessorShares[str] = ProcessorShares()
    for job in "abc":
        shares.add("flow", 1, job)
    seen = [turn[1] for turn in (shares.next() for _ in range(6)) if turn is not None]
    assert seen == ["a", "b", "c", "a", "b", "c"]


def test_a_flow_that_comes_later_is_not_owed_the_past() -> None:
    shares: ProcessorShares[str] = ProcessorShares()
    shares.add("old", 1, "o")
    shares.next()
    shares.used("old", 100.0)
    shares.add("new", 1, "n")
    seen = []
    for _ in range(10):
        turn = shares.next()
        assert turn is not None
        shares.used(turn[0], 1.0)
        seen.append(turn[1])
    assert 4 <= seen.count("n") <= 6
    shares.remove("old", "o")
    shares.remove("new", "n")
    assert not shares
    assert shares.next() is None

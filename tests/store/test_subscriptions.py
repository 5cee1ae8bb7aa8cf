"""Whoever watches a prefix is told of every write under it, and of no other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attractor.store.mvcc import View
from attractor.store.sorted_map import SortedMap
from attractor.store.subscriptions import Subscriptions

PREFIXES = st.sampled_from(["", "a", "a/", "a/b", "a/b/", "a/b/c", "a/bb/", "b/", "a/b/c/"])
KEYS = st.sampled_from(["a", "a/b", "a/b/c", "a/b/cc", "a/bb/c", "b/c", "c", "a/b/c/d"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("watch"), PREFIXES), st.tuples(st.just("leave"), st.integers(0, 9)), st.tuples(st.just("write"), KEYS)
    ),
    max_size=30,
)  # fmt: skip


@given(STEPS)
def test_writes_are_told_to_those_whose_prefix_they_have(steps: list[tuple[str, object]]) -> None:
    subscriptions = Subscriptions()
    view = View(0, SortedMap())
    watchers: list[tuple[str, list[int], object]] = []
    for what, argument in steps:
        if what == "watch":
            heard: list[int] = []
            watchers.append((str(argument), heard, subscriptions.add(str(argument), heard.append)))
        elif what == "leave" and watchers:
            assert isinstance(argument, int)
            _, _, end = watchers.pop(argument % len(watchers))
            assert callable(end)
            end()
        elif what == "write":
            commit = view.plan({}, {str(argument): b""})
            view = commit.view
            subscriptions.publish([commit])
            for prefix, told, _ in watchers:
                assert (view.revision in told) == str(argument).startswith(prefix)
        subscriptions.check_invariants()

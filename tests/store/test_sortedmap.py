"""The persistent sorted map against a dict."""

import random

from hypothesis import given
from hypothesis import strategies as st

from attractor.store.sorted_map import FANOUT, SortedMap, prefix_end

KEYS = st.text(alphabet="ab/\U0010ffff", max_size=4)
BOUNDS = st.text(alphabet="ab/c", max_size=3)


@given(st.lists(st.tuples(KEYS, st.none() | st.integers()), max_size=80), BOUNDS, BOUNDS, st.integers(0, 5))
def test_every_version_answers_as_a_sorted_dict_does(
    changes: list[tuple[str, int | None]], low: str, high: str, limit: int
) -> None:
    versions: list[tuple[SortedMap[int], dict[str, int]]] = [(SortedMap(), {})]
    for key, value in changes:
        tree, oracle = versions[-1]
        if value is None:
            versions.append((tree.delete(key), {k: v for k, v in oracle.items() if k != key}))
        else:
            versions.append((tree.set(key, value), {**oracle, key: value}))
    for tree, oracle in versions:
        tree.check_invariants()
        assert tree.keys() == sorted(oracle)
        assert len(tree) == len(oracle)
        assert all(tree.get(key) == oracle.get(key) for key, _ in changes)
        wanted = [oracle[key] for key in sorted(oracle) if low <= key < high]
        assert tree.values(low, high, limit) == (wanted[:limit] if limit else wanted)
        assert tree.values(low) == [oracle[key] for key in sorted(oracle) if low <= key]
        assert tree.rank(low) == sum(key < low for key in oracle)


@given(st.randoms(use_true_random=False), st.integers(FANOUT, FANOUT**2 * 3))
def test_deep_trees_stay_balanced_while_they_grow_and_shrink(rng: random.Random, size: int) -> None:
    keys = [f"{rng.randrange(10**6):06}" for _ in range(size)]
    tree: SortedMap[str] = SortedMap()
    for key in keys:
        tree = tree.set(key, key)
    tree.check_invariants()
    full = tree
    rng.shuffle(keys)
    for n, key in enumerate(keys):
        tree = tree.delete(key)
        if n % (FANOUT * 4) == 0:
            tree.check_invariants()
    assert len(tree) == 0
    assert tree.values() == []
    full.check_invariants()
    assert full.values() == sorted(set(keys))


@given(st.sets(KEYS, max_size=60) | st.integers(0, FANOUT**2 * 2).map(lambda n: {f"{i:05}" for i in range(n)}))
def test_a_map_made_at_once_is_as_good_as_one_made_step_by_step(keys: set[str]) -> None:
    ordered = sorted(keys)
    tree = SortedMap.of(ordered, ordered)
    tree.check_invariants()
    assert tree.values() == ordered
    for key in ordered:
        tree = tree.delete(key)
    tree.check_invariants()
    assert len(tree) == 0


def test_deleting_an_absent_key_answers_the_same_map() -> None:
    tree: SortedMap[int] = SortedMap()
    tree = tree.set("a", 1)
    assert tree.delete("b") is tree


@given(KEYS, KEYS)
def test_prefix_end_is_the_first_key_after_all_that_have_the_prefix(prefix: str, key: str) -> None:
    end = prefix_end(prefix)
    assert (prefix <= key and (end is None or key < end)) == key.startswith(prefix)

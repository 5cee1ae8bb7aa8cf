"""The core of all engines, by itself: forks, bounds, and what history costs."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.store.contract import Compacted, Entry
from attractor.store.memory import MemoryStore
from attractor.store.mvcc import CHUNK, REMEMBERED_ABSENT, Mvcc


def write(mvcc: Mvcc, **values: str) -> int:
    mvcc.append(mvcc.head.plan({}, {key: value.encode() for key, value in values.items()}))
    return mvcc.head.revision


@given(st.lists(st.integers(0, 4), max_size=3 * CHUNK), st.integers(0, 3 * CHUNK), st.integers(0, 2 * CHUNK))
def test_forks_go_their_own_ways_and_share_the_past(writes: list[int], place: int, limit: int) -> None:
    trunk = Mvcc(history_limit=limit)
    states: list[list[Entry]] = [[]]
    fork = trunk.fork()
    for number, key in enumerate(writes):
        if number == place:
            fork = trunk.fork()
        write(trunk, **{f"k{key}": str(number)})
        states.append(list(trunk.head.range("")))
    forked_at = fork.head.revision
    write(fork, k0="of the fork")
    for mvcc in (trunk, fork):
        mvcc.check_invariants()
        for revision in range(mvcc.compacted, min(mvcc.head.revision, forked_at) + 1):
            assert list(mvcc.view_at(revision).range("")) == states[revision]
    assert list(trunk.head.range("")) == states[-1]
    entry = fork.head.get("k0")
    assert entry is not None
    assert (entry.value, entry.revision) == (b"of the fork", forked_at + 1)


@given(st.integers(0, 3 * CHUNK), st.integers(0, 3 * CHUNK))
def test_compaction_leaves_exactly_the_revisions_from_its_floor_on(writes: int, floor: int) -> None:
    mvcc = Mvcc()
    for number in range(writes):
        write(mvcc, a=str(number))
    floor = min(floor, writes)
    mvcc.compact(floor)
    mvcc.check_invariants()
    assert [event.revision for event in mvcc.events_after("", floor).events] == list(range(floor + 1, writes + 1))
    for revision in range(writes + 1):
        if revision < floor:
            with pytest.raises(Compacted):
                mvcc.view_at(revision)
        else:
            assert mvcc.view_at(revision).count("") == (revision > 0)


def test_planning_changes_nothing() -> None:
    mvcc = Mvcc()
    write(mvcc, a="1")
    head = mvcc.head
    commit = head.plan({"a": 1}, {"a": b"2"}, ["b"])
    assert (mvcc.head, head.revision, commit.revision) == (head, 1, 2)
    assert [event.key for event in commit.events] == ["a"]


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="history_limit is -1"):
        Mvcc(history_limit=-1)


def bytes_of_a_store(objects: int, updates: int) -> int:
    gc.collect()
    tracemalloc.start()
    store = MemoryStore()
    for number in range(objects):
        store.commit_nowait({}, puts={f"/registry/pods/namespace/object-{number:06}": number.to_bytes(2, "big") * 512})
    for number in range(updates):
        key = f"/registry/pods/namespace/object-{number % objects:06}"
        store.commit_nowait({}, puts={key: number.to_bytes(4, "big") * 256})
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert store.snapshot_nowait().count("") == objects
    return used


def test_ten_thousand_objects_of_a_kilobyte_stay_far_below_sixty_megabytes() -> None:
    assert bytes_of_a_store(10_000, updates=0) < 25_000_000


@pytest.mark.slow
def test_history_stays_bounded_however_much_is_written() -> None:
    assert bytes_of_a_store(1000, updates=40_000) < 25_000_000


@given(sizes=st.lists(st.integers(0, 400), max_size=300), limit=st.integers(1, 2000))
def test_earlier_values_stay_within_their_bytes_and_what_is_kept_can_be_read(sizes: list[int], limit: int) -> None:
    mvcc = Mvcc(history_bytes=limit)
    for size in sizes:
        mvcc.append(mvcc.head.plan({}, {"k": bytes(size)}))
        mvcc.check_invariants()
    for revision in range(max(mvcc.compacted, 1), len(sizes) + 1):
        found = mvcc.view_at(revision).get("k")
        assert found is not None
        assert found.value == bytes(sizes[revision - 1])
    if sum(sizes[:-1]) <= limit:
        assert mvcc.compacted == 0


def test_objects_that_are_only_added_cost_no_history() -> None:
    mvcc = Mvcc(history_bytes=1)
    for number in range(200):
        mvcc.append(mvcc.head.plan({}, {f"k{number}": bytes(1000)}))
    assert mvcc.compacted == 0


def test_a_fork_costs_the_same_whatever_the_store_holds() -> None:
    def bytes_of_a_fork(objects: int) -> int:
        store = MemoryStore()
        for number in range(objects):
            store.commit_nowait({}, puts={f"k{number}": b""})
        gc.collect()
        tracemalloc.start()
        forks = [store.fork() for _ in range(100)]
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return used // len(forks)

    assert bytes_of_a_fork(5000) < bytes_of_a_fork(1) + 100


@given(st.lists(st.tuples(st.sampled_from(["put", "delete", "ask"]), st.sampled_from(["a/1", "a/2", "ab", "b/1"]))))
def test_what_was_absent_is_found_once_it_is_written_and_missed_once_it_is_gone(steps: list[tuple[str, str]]) -> None:
    view, keys = Mvcc().head, set[str]()
    for step, key in steps:
        if step == "put":
            view = view.plan({}, {key: b"1"}).view
            keys.add(key)
        elif step == "delete":
            view = view.plan({}, {}, [key]).view
            keys.discard(key)
        else:
            for prefix in (key, key[:1], "a/", "c", *map(str, range(REMEMBERED_ABSENT))):
                assert view.has_any(prefix) == any(known.startswith(prefix) for known in keys)
        view.check_invariants()

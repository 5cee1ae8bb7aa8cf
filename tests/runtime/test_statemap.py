"""The state map against an oracle: a dict of states, a dict of operations, and nothing else."""

import threading
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from attractor.objects.gvk import Key
from attractor.runtime.toolkit.statemap import IdentityTaken, ObjectStateMap

KEYS = st.sampled_from([Key("a", "x"), Key("a", "y"), Key("", "z")])
IDENTITIES = st.sampled_from([None, "pid1", "pid2", ("pid", 3)])


class StateMapMachine(RuleBasedStateMachine):
    """Every call, against the obvious model; states are lists so that sharing would show."""

    borrowed = Bundle("borrowed")

    def __init__(self) -> None:
        super().__init__()
        self.map: ObjectStateMap[list[int]] = ObjectStateMap()
        self.states: dict[Key, tuple[list[int], Any]] = {}
        self.queued: dict[Key, list[tuple[int, Any]]] = {}

    def owner(self, identity: Any) -> Key | None:
        return next((k for k, (_, i) in self.states.items() if i == identity and identity is not None), None)

    @rule(key=KEYS, value=st.integers(0, 9), identity=IDENTITIES)
    def store(self, key: Key, value: int, identity: Any) -> None:
        if self.owner(identity) not in {None, key}:
            with pytest.raises(IdentityTaken):
                self.map.store(key, [value], identity)
        else:
            self.map.store(key, [value], identity)
            self.states[key] = ([value], identity)

    @rule(target=borrowed, key=KEYS)
    def borrow(self, key: Key) -> Any:
        found = self.map.borrow(key)
        assert found == self.states.get(key, (None, None))[0]
        return found if found is not None else []

    @rule(found=consumes(borrowed))
    def change_what_was_borrowed(self, found: list[int]) -> None:
        found.append(99)

    @rule(key=KEYS, value=st.integers(0, 9), identity=IDENTITIES)
    def update(self, key: Key, value: int, identity: Any) -> None:
        known = self.states.get(key)
        expected = known is not None and known[1] == identity and known[0] != [value]
        assert self.map.update(key, identity, [value]) == expected
        if expected:
            self.states[key] = ([value], identity)

    @rule(key=KEYS, before=IDENTITIES, after=IDENTITIES)
    def change_identity(self, key: Key, before: Any, after: Any) -> None:
        known = self.states.get(key)
        if known is not None and known[1] == before and self.owner(after) not in {None, key}:
            with pytest.raises(IdentityTaken):
                self.map.change_identity(key, before, after, [5])
            return
        expected = known is not None and known[1] == before
        assert self.map.change_identity(key, before, after, [5]) == expected
        if expected:
            self.states[key] = ([5], after)

    @rule(key=KEYS)
    def delete(self, key: Key) -> None:
        assert self.map.delete(key) == (key in self.states)
        self.states.pop(key, None)
        self.queued.pop(key, None)

    @rule(identity=IDENTITIES)
    def delete_by_identity(self, identity: Any) -> None:
        owner = self.owner(identity)
        assert self.map.delete_by_identity(identity) == (owner is not None)
        if owner is not None:
            del self.states[owner]
            self.queued.pop(owner, None)

    @rule(key=KEYS, value=st.integers(10, 19), about=IDENTITIES)
    def defer(self, key: Key, value: int, about: Any) -> None:
        expected = key in self.states and about in {None, self.states[key][1]}
        assert self.map.defer(key, lambda state: state.append(value), about) == expected
        if expected:
            self.queued.setdefault(key, []).append((value, about))

    @rule(key=KEYS)
    def run_deferred(self, key: Key) -> None:
        queued = [value for value, about in self.queued.pop(key, []) if about in {None, self.states[key][1]}]
        assert self.map.run_deferred(key) == len(queued)
        if key in self.states:
            self.states[key][0].extend(queued)

    @rule(identity=IDENTITIES)
    def find_by_identity(self, identity: Any) -> None:
        owner = self.owner(identity)
        found = self.map.borrow_by_identity(identity)
        assert found == (None if owner is None else (owner, self.states[owner][0]))

    @rule()
    def copy(self) -> None:
        taken = self.map.state()
        other: ObjectStateMap[list[int]] = ObjectStateMap()
        other.restore(taken)
        assert other.state() == taken
        other.check_invariants()
        self.map = other

    @invariant()
    def holds(self) -> None:
        self.map.check_invariants()
        assert dict(self.map) == {key: state for key, (state, _) in self.states.items()}


TestStateMap = StateMapMachine.TestCase


def test_an_operation_queued_for_a_deleted_object_never_reaches_its_successor() -> None:
    states: ObjectStateMap[list[str]] = ObjectStateMap()
    key = Key("a", "x")
    states.store(key, [])
    states.defer(key, lambda state: state.append("for the first"))
    states.delete(key)
    states.store(key, [])
    assert states.run_deferred(key) == 0
    assert states.borrow(key) == []


def test_an_operation_about_one_entity_reaches_no_other_whenever_it_comes() -> None:
    states: ObjectStateMap[list[str]] = ObjectStateMap()
    key = Key("a", "x")
    states.store(key, [], "uid1")
    assert states.defer(key, lambda state: state.append("in time"), "uid1")
    states.store(key, [], "uid2")
    assert not states.defer(key, lambda state: state.append("too late"), "uid1")
    assert states.run_deferred(key) == 0
    assert states.borrow(key) == []


def test_a_failing_operation_leaves_no_trace_and_does_not_stop_the_others() -> None:
    states: ObjectStateMap[list[int]] = ObjectStateMap()
    key = Key("a", "x")
    states.store(key, [])

    def half(state: list[int]) -> None:
        state.append(1)
        raise ValueError("halfway")

    states.defer(key, half)
    states.defer(key, lambda state: [*state, 2])
    with pytest.raises(ExceptionGroup, match="deferred operations failed for a/x"):
        states.run_deferred(key)
    assert states.borrow(key) == [2]


def test_a_state_that_cannot_be_cloned_changes_nothing() -> None:
    states: ObjectStateMap[object] = ObjectStateMap()
    key = Key("a", "x")
    states.store(key, ["first"], "pid1")
    with pytest.raises(TypeError):
        states.store(key, threading.Lock(), "pid2")
    states.check_invariants()
    assert states.borrow_by_identity("pid1") == (key, ["first"])
    states.store(key, ["second"], "pid2")
    assert states.borrow_by_identity("pid1") is None


def gone(is_deleted: bool) -> None:
    assert is_deleted


def test_an_operation_that_deletes_or_replaces_its_own_state_has_the_last_word() -> None:
    states: ObjectStateMap[list[int]] = ObjectStateMap()
    key = Key("a", "x")
    states.store(key, [], "pid1")
    states.defer(key, lambda state: states.store(key, [7], "pid2"))
    assert states.run_deferred(key) == 1
    states.check_invariants()
    assert states.borrow_by_identity("pid2") == (key, [7])
    states.defer(key, lambda _: gone(states.delete(key)))
    states.defer(key, lambda state: state.append(8))
    assert states.run_deferred(key) == 1
    states.check_invariants()
    assert key not in states


def test_what_an_operation_queues_runs_next_time() -> None:
    states: ObjectStateMap[list[int]] = ObjectStateMap()
    key = Key("a", "x")
    states.store(key, [])

    def again(state: list[int]) -> None:
        state.append(1)
        states.defer(key, again)

    states.defer(key, again)
    assert (states.run_deferred(key), states.borrow(key)) == (1, [1])
    assert (states.run_deferred(key), states.borrow(key)) == (1, [1, 1])

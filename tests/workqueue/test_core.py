"""The queue's algorithm: examples, and a rule machine against a small oracle."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from attractor.workqueue import QueueCore


def test_key_added_many_times_while_it_waits_runs_once() -> None:
    queue: QueueCore[str] = QueueCore()
    assert queue.add("a")
    assert not queue.add("a")
    assert queue.get() == ("a", 0)
    assert queue.get() is None


def test_key_added_while_processing_is_reconciled_once_more() -> None:
    queue: QueueCore[str] = QueueCore()
    queue.add("a")
    queue.get()
    queue.add("a")
    queue.add("a")
    assert queue.get() is None
    assert queue.done("a")
    assert queue.get() == ("a", 0)
    assert not queue.done("a")
    assert queue.is_idle


def test_higher_priority_overtakes_and_raises_a_waiting_key() -> None:
    queue: QueueCore[str] = QueueCore()
    for key in "abc":
        queue.add(key, -100)
    queue.add("c", 0)
    queue.add("a", -100)
    assert [queue.get() for _ in range(3)] == [("c", 0), ("a", -100), ("b", -100)]


def test_done_without_get_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="'a' is not being processed"):
        QueueCore[str]().done("a")


class Queue(RuleBasedStateMachine):
    """Against an oracle that keeps an ordered list of what waits and two sets."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: QueueCore[str] = QueueCore()
        self.waiting: list[str] = []
        self.processing: set[str] = set()
        self.again: set[str] = set()

    keys = st.sampled_from("abcd")

    @rule(key=keys)
    def add(self, key: str) -> None:
        self.queue.add(key)
        if key in self.processing:
            self.again.add(key)
        elif key not in self.waiting:
            self.waiting.append(key)

    @rule()
    def get(self) -> None:
        found = self.queue.get()
        assert (found and found[0]) == (self.waiting[0] if self.waiting else None)
        if self.waiting:
            self.processing.add(self.waiting.pop(0))

    @precondition(lambda self: self.processing)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.processing)))
        self.queue.done(key)
        self.processing.remove(key)
        if key in self.again:
            self.again.remove(key)
            self.waiting.append(key)

    @invariant()
    def agrees(self) -> None:
        self.queue.check_invariants()
        state = self.queue.state()
        assert [key for _, key in state.waiting] == self.waiting
        assert state.processing == self.processing
        assert state.dirty == set(self.waiting) | self.again
        assert QueueCore.of(state).state() == state


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=150, stateful_step_count=40)

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


def test_keys_that_are_raised_again_and_again_leave_nothing_behind() -> None:
    queue: QueueCore[str] = QueueCore()
    queue.add("never its turn", -200)
    for _ in range(10_000):
        queue.add("a", -100)
        queue.add("a", 0)
        assert queue.get() == ("a", 0)
        queue.done("a")
        queue.check_invariants()
    assert queue.get() == ("never its turn", -200)


class Queue(RuleBasedStateMachine):
    """Against an oracle that keeps what waits with its priority and arrival, and what must run again."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: QueueCore[str] = QueueCore()
        self.waiting: dict[str, tuple[int, int]] = {}
        self.processing: set[str] = set()
        self.again: dict[str, int] = {}
        self.arrivals = 0

    keys = st.sampled_from("abcd")

    def _wait(self, key: str, priority: int) -> None:
        self.arrivals += 1
        self.waiting[key] = (-priority, self.arrivals)

    @rule(key=keys, priority=st.sampled_from([0, 0, 0, -100, 7]))
    def add(self, key: str, priority: int) -> None:
        waits_anew = key not in self.processing and key not in self.waiting
        assert self.queue.add(key, priority) == waits_anew
        if key in self.processing:
            self.again[key] = max(priority, self.again.get(key, priority))
        elif waits_anew or priority > -self.waiting[key][0]:
            self._wait(key, priority)

    @rule()
    def get(self) -> None:
        first = min(self.waiting, key=self.waiting.__getitem__, default=None)
        assert self.queue.get() == (None if first is None else (first, -self.waiting[first][0]))
        if first is not None:
            del self.waiting[first]
            self.processing.add(first)

    @precondition(lambda self: self.processing)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.processing)))
        assert self.queue.done(key) == (key in self.again)
        self.processing.remove(key)
        if key in self.again:
            self._wait(key, self.again.pop(key))

    @invariant()
    def agrees(self) -> None:
        self.queue.check_invariants()
        state = self.queue.state()
        order = sorted(self.waiting, key=self.waiting.__getitem__)
        assert list(state.waiting) == [(-self.waiting[key][0], key) for key in order]
        assert state.processing == self.queue.processing == self.processing
        assert state.dirty == {*self.waiting, *self.again}
        assert QueueCore.of(state).state() == state
        assert len(self.queue) == len(self.waiting)
        assert self.queue.is_idle == (not self.waiting and not self.processing)
        assert self.queue.count(-100) == sum(negated == 100 for negated, _ in self.waiting.values())


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=150, stateful_step_count=40)

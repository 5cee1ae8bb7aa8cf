"""The small parts of the toolkit, each against its contract."""

import asyncio
import sys
import threading
from collections import deque
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from attractor.k8s.core_v1 import ConfigMap, Pod
from attractor.objects.resource import Condition, ObjectMeta
from attractor.runtime.toolkit.background import BackgroundWork
from attractor.runtime.toolkit.channel import Channel, ChannelClosed
from attractor.runtime.toolkit.children import data_hash, hashed_name, split_children
from attractor.runtime.toolkit.conditions import find_condition, is_true, remove_condition, set_condition
from attractor.runtime.toolkit.debounce import Debounce, DebouncedCalls
from attractor.runtime.toolkit.finalizers import add_finalizer, remove_finalizer
from attractor.runtime.toolkit.owners import AlreadyOwned, add_owner, is_controlled_by, is_owned_by, set_controller
from attractor.runtime.toolkit.retry import Permanent, Retrying, is_permanent, retry
from attractor.runtime.toolkit.subscriptions import Topic
from attractor.testing import VirtualTime
from tests.factories import config_map
from tests.runtime.things import passing, thing

NOW = datetime(2026, 11, 1, tzinfo=UTC)


class DebounceMachine(RuleBasedStateMachine):
    """Against the definition: due at the latest call plus the delay, or the first call plus the limit."""

    def __init__(self) -> None:
        super().__init__()
        self.core: Debounce[str] = Debounce(delay_s=5, max_delay_s=12)
        self.calls: dict[str, list[float]] = {}
        self.now = 0.0

    @rule(key=st.sampled_from("ab"))
    def call(self, key: str) -> None:
        self.core.call(key, self.now)
        self.calls.setdefault(key, []).append(self.now)

    @rule(seconds=st.integers(0, 7))
    def wait(self, seconds: int) -> None:
        self.now += seconds
        due = {key for key, at in self.calls.items() if min(at[-1] + 5, at[0] + 12) <= self.now}
        assert set(self.core.take_due(self.now)) == due
        for key in due:
            del self.calls[key]

    @rule(key=st.sampled_from("ab"))
    def drop(self, key: str) -> None:
        self.core.drop(key)
        self.calls.pop(key, None)

    @invariant()
    def next_is_known(self) -> None:
        self.core.check_invariants()
        expected = min((min(at[-1] + 5, at[0] + 12) for at in self.calls.values()), default=None)
        assert self.core.next_due_s == expected


TestDebounce = DebounceMachine.TestCase


async def test_a_burst_of_calls_makes_one_and_a_steady_stream_one_every_limit(virtual_time: VirtualTime) -> None:
    fired: list[float] = []
    calls: DebouncedCalls[str] = DebouncedCalls(lambda _: fired.append(virtual_time.time()), delay_s=0.5, max_delay_s=5)
    began = virtual_time.time()
    for _ in range(80):  # at 0, 0.15, … 4.95, 5.1, … 10.05, 10.2, …: never at the moment when the limit is reached
        calls.call("a")
        async with asyncio.timeout(1):
            await passing(0.15)
    calls.close()
    assert [round(at - began, 3) for at in fired] == [5.0, 10.1]


async def test_many_keys_are_debounced_as_cheaply_as_few_and_leave_nothing_behind() -> None:
    core: Debounce[int] = Debounce(delay_s=5, max_delay_s=12)
    for key in range(100_000):
        core.call(key, key / 100_000)
        assert core.next_due_s == 5
    for key in range(99_990):
        core.drop(key)
    core.check_invariants()
    assert core.take_due(100) == list(range(99_990, 100_000))
    core.check_invariants()


async def test_an_action_that_fails_is_told_of_and_the_others_happen(virtual_time: VirtualTime) -> None:
    done: list[str] = []
    failures: list[str] = []

    def action(key: str) -> None:
        if key == "b":
            raise ValueError("not this one")
        done.append(key)

    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(str(context["exception"])))
    calls: DebouncedCalls[str] = DebouncedCalls(action)
    for key in "abc":
        calls.call(key)
    await passing(0.1)
    calls.call("d")
    await passing(5)
    assert (done, failures) == (["a", "c", "d"], ["not this one"])


async def test_what_was_dropped_and_what_was_closed_does_not_happen(virtual_time: VirtualTime) -> None:
    fired: list[tuple[str, float]] = []
    calls: DebouncedCalls[str] = DebouncedCalls(lambda key: fired.append((key, virtual_time.time() - began)))
    began = virtual_time.time()
    calls.call("a")
    await passing(0.2)
    calls.call("b")
    calls.drop("a")
    await passing(5)
    calls.call("c")
    calls.close()
    await passing(5)
    assert [(key, round(at, 3)) for key, at in fired] == [("b", 0.7)]


async def test_background_work_that_calls_sys_exit_ends_nothing_but_itself(virtual_time: VirtualTime) -> None:
    work = BackgroundWork(limit=1)
    done: list[str] = []

    async def leaves() -> None:
        sys.exit("enough")

    async def works() -> None:
        done.append("works")

    work.start(leaves)
    work.start(works)
    running = asyncio.create_task(work.run())
    await passing(1)
    running.cancel()
    assert done == ["works"]


async def test_background_work_that_is_ended_cancels_what_runs_and_begins_nothing_more(
    virtual_time: VirtualTime,
) -> None:
    work = BackgroundWork(limit=2)
    log: list[str] = []

    async def job() -> None:
        log.append("began")
        try:
            await passing(100)
        finally:
            log.append("over")

    for _ in range(5):
        work.start(job)
    running = asyncio.create_task(work.run())
    await passing(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (log, work.running, len(work)) == (["began", "began", "over", "over"], 0, 3)


async def test_background_work_keeps_its_limit_and_order_and_survives_failures(virtual_time: VirtualTime) -> None:
    work = BackgroundWork(limit=2)
    began: list[int] = []
    most = 0

    def job(number: int) -> None:
        async def run() -> None:
            nonlocal most
            began.append(number)
            most = max(most, work.running)
            await passing(1)
            if number == 1:
                raise ValueError("one of them fails")

        work.start(run)

    for number in range(6):
        job(number)
    running = asyncio.create_task(work.run())
    await passing(10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (began, most, work.running, len(work)) == ([0, 1, 2, 3, 4, 5], 2, 0, 0)


def test_background_work_without_slots_is_refused() -> None:
    with pytest.raises(ValueError, match="none would ever run"):
        BackgroundWork(limit=0)


@given(st.integers(1, 30), st.floats(0, 200))
def test_waits_double_up_to_the_limit_and_end_with_the_time(attempt: int, elapsed: float) -> None:
    delay = Retrying(0.2, 10, 120).delay_s(attempt, elapsed)
    wanted = min(0.2 * 2 ** (attempt - 1), 10)
    assert delay == (wanted if elapsed + wanted <= 120 else None)


async def test_retry_goes_on_until_it_works(virtual_time: VirtualTime) -> None:
    attempts = 0

    async def third_time_lucky() -> str:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            raise OSError("not yet")
        return "done"

    began = virtual_time.time()
    assert await retry(third_time_lucky) == "done"
    assert virtual_time.time() - began == pytest.approx(0.6)


async def test_retry_ends_at_once_for_a_permanent_error_and_raises_its_cause() -> None:
    attempts = 0

    async def hopeless() -> None:
        nonlocal attempts
        attempts += 1
        raise Permanent from PermissionError("never")

    with pytest.raises(PermissionError):
        await retry(hopeless)
    assert attempts == 1


async def test_retry_raises_the_last_error_when_time_is_up(virtual_time: VirtualTime) -> None:
    async def never() -> None:
        raise OSError("still not")

    began = virtual_time.time()
    with pytest.raises(OSError, match="still not"):
        await retry(never, Retrying(1, 10, 20))
    assert virtual_time.time() - began == pytest.approx(1 + 2 + 4 + 8), "the next wait would end after the time"


async def test_retry_knows_joined_errors_and_does_not_stand_in_the_way_of_a_cancel(virtual_time: VirtualTime) -> None:
    async def joined() -> None:
        raise ExceptionGroup("both", [OSError(), Permanent()])

    async def never() -> None:
        raise OSError("still not")

    with pytest.raises(ExceptionGroup):
        await retry(joined)
    retrying = asyncio.create_task(retry(never))
    await passing(1)
    retrying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await retrying


def test_joined_errors_are_permanent_when_one_is() -> None:
    assert is_permanent(ExceptionGroup("both", [OSError(), ExceptionGroup("inner", [Permanent()])]))
    assert not is_permanent(ExceptionGroup("both", [OSError(), ValueError()]))


async def test_a_channel_loses_nothing_and_keeps_order_with_many_senders() -> None:
    channel: Channel[tuple[int, int]] = Channel()

    async def sender(number: int) -> None:
        for count in range(200):
            channel.send((number, count))
            if count % 7 == 0:
                await asyncio.sleep(0)

    async def receiver() -> list[tuple[int, int]]:
        return [item async for item in channel]

    receiving = asyncio.create_task(receiver())
    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(sender(number))
    channel.close()
    received = await receiving
    assert len(received) == 1000
    for number in range(5):
        assert [count for who, count in received if who == number] == list(range(200))
    with pytest.raises(ChannelClosed):
        channel.send((0, 0))


async def test_a_receiver_that_is_cancelled_when_woken_passes_the_item_on() -> None:
    channel: Channel[int] = Channel()
    first, second = asyncio.create_task(channel.receive()), asyncio.create_task(channel.receive())
    await asyncio.sleep(0)
    channel.send(7)
    first.cancel()
    assert await second == 7


async def test_a_channel_takes_items_from_threads_and_its_receiver_is_woken() -> None:
    channel: Channel[tuple[int, int]] = Channel()

    def send(sender: int) -> None:
        for number in range(500):
            channel.send((sender, number))

    async def receive() -> list[tuple[int, int]]:
        return [item async for item in channel]

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        received = group.create_task(receive())
        for _ in range(20):
            async with asyncio.TaskGroup() as senders:
                for sender in range(3):
                    senders.create_task(asyncio.to_thread(send, sender))
        await asyncio.to_thread(channel.close)
    for sender in range(3):
        assert [number for one, number in received.result() if one == sender] == list(range(500)) * 20


async def test_a_receiver_that_gives_up_while_a_thread_wakes_it_passes_the_item_on() -> None:
    channel: Channel[str] = Channel()
    first, second = (asyncio.ensure_future(channel.receive()) for _ in range(2))
    await asyncio.sleep(0)
    sender = threading.Thread(target=channel.send, args=("item",))
    sender.start()
    sender.join()
    first.cancel()
    assert await second == "item"


async def test_an_item_that_a_thread_sends_just_before_a_receiver_waits_is_received() -> None:
    class Late(deque[asyncio.Future[None]]):
        def append(self, waiter: asyncio.Future[None]) -> None:
            sender = threading.Thread(target=channel.send, args=("item",))
            sender.start()
            sender.join()
            super().append(waiter)

    channel: Channel[str] = Channel()
    channel._waiters = Late()
    async with asyncio.timeout(5):
        assert await channel.receive() == "item"


async def test_a_topic_never_waits_for_its_subscribers_and_cancelling_drops_the_rest() -> None:
    log: list[str] = []
    topic: Topic[int] = Topic(lambda: log.append("first"), lambda: log.append("last"))
    slow, fast = topic.subscribe(), topic.subscribe()
    for number in range(1000):
        topic.publish(number)
    slow.cancel()
    topic.publish(1000)
    assert [item async for item in slow] == []
    received = []
    async for item in fast:
        received.append(item)
        if item == 1000:
            fast.cancel()
    assert received == list(range(1001))
    assert log == ["first", "last"]
    with topic.subscribe():
        assert len(topic) == 1
    assert len(topic) == 0


def test_finalizers_are_added_once_and_others_keep_their_order() -> None:
    obj = config_map()
    obj.metadata.finalizers = ["x", "y"]
    assert add_finalizer(obj, "mine")
    assert not add_finalizer(obj, "mine")
    assert remove_finalizer(obj, "x")
    assert not remove_finalizer(obj, "x")
    assert obj.metadata.finalizers == ["y", "mine"]
    obj.metadata.deletion_timestamp = NOW
    with pytest.raises(ValueError, match="is being deleted"):
        add_finalizer(obj, "late")


def test_an_object_has_at_most_one_controller() -> None:
    owner, other, child = config_map("o", uid="u1"), config_map("p", uid="u2"), config_map("c")
    assert set_controller(owner, child)
    assert not set_controller(owner, child)
    with pytest.raises(AlreadyOwned, match=r"ConfigMap default/c is controlled by ConfigMap o already"):
        set_controller(other, child)
    assert add_owner(other, child)
    assert not add_owner(other, child)
    assert is_controlled_by(child, owner)
    assert not is_controlled_by(child, other)
    assert is_owned_by(child, other)
    assert [ref.controller for ref in child.metadata.owner_references] == [True, None]


def test_an_owner_that_was_made_anew_under_its_name_is_another_one() -> None:
    child = config_map("c")
    assert set_controller(config_map("o", uid="u1"), child)
    reborn = config_map("o", uid="u2")
    assert not is_owned_by(child, reborn)
    with pytest.raises(AlreadyOwned):
        set_controller(reborn, child)


def test_an_owner_of_another_namespace_is_refused() -> None:
    child = ConfigMap(metadata=ObjectMeta(name="c", namespace="elsewhere"))
    with pytest.raises(ValueError, match="same namespace"):
        set_controller(config_map("o", uid="u1"), child)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda x: st.lists(x, max_size=3))


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5), st.randoms())
def test_equal_data_has_equal_hashes_whatever_the_order(data: dict[str, object], random: object) -> None:
    items = list(data.items())
    random.shuffle(items)  # type: ignore[attr-defined]
    assert data_hash(dict(items)) == data_hash(data)


@given(st.text("abc-", min_size=1, max_size=80), st.integers(), st.none() | st.integers(0, 99))
def test_names_of_children_fit_and_tell_parents_apart(parent: str, data: int, number: int | None) -> None:
    name = hashed_name(parent, data, number)
    assert len(name) <= 63
    assert name != hashed_name(f"{parent}b", data, number)
    assert name != hashed_name(parent, data + 1, number)


def test_children_of_two_parents_with_long_names_that_begin_alike_have_different_names() -> None:
    first, second = (hashed_name("a" * 60 + end, {"image": "b"}) for end in ("x", "y"))
    assert first != second
    assert first[:52] == second[:52] == "a" * 52


def test_children_are_current_or_stale_by_name() -> None:
    names = [hashed_name("web", {"image": "b"}, n) for n in range(2)]
    children = [config_map(names[0]), config_map(hashed_name("web", {"image": "a"}, 0))]
    current, stale = split_children(children, names)
    assert ([c.metadata.name for c in current], len(stale)) == ([names[0]], 1)


def test_a_conditions_time_moves_only_with_its_status() -> None:
    conditions: list[Condition] = []
    later = NOW + timedelta(seconds=60)
    assert set_condition(conditions, "Ready", False, reason="Starting", now=NOW, generation=1)
    assert not set_condition(conditions, "Ready", False, reason="Starting", now=later, generation=1)
    assert set_condition(conditions, "Ready", "False", reason="Waiting", now=later, generation=2)
    ready = find_condition(conditions, "Ready")
    assert ready is not None
    assert ready.last_transition_time == NOW
    assert set_condition(conditions, "Ready", True, reason="Up", now=later, generation=2)
    assert conditions[0].last_transition_time == later
    assert is_true(conditions, "Ready", generation=2)
    assert not is_true(conditions, "Ready", generation=3)
    assert remove_condition(conditions, "Ready")
    assert not remove_condition(conditions, "Ready")


def test_a_pod_is_hashable_data_too() -> None:
    pod = Pod(metadata=ObjectMeta(name="p"))
    assert data_hash(pod) == data_hash(pod.deep_copy())


def test_a_child_in_another_namespace_is_refused_with_the_way_out() -> None:
    child = ConfigMap(metadata=ObjectMeta(name="a", namespace="other"))
    with pytest.raises(ValueError, match=r"name the owner in a label .* watches=\[Watches\(ConfigMap, to_keys\)\]"):
        set_controller(thing("a"), child)

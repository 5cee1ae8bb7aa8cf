"""The scheduler of priority and fairness, against small oracles, on time that is only a number."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.apiserver.fairness.dispatcher import Dispatcher, LevelSpec, Rejected, Ticket, hand


def one_level(**said: int) -> Dispatcher:
    dispatcher = Dispatcher()
    defaults = {"nominal": 1, "queues": 64, "hand_size": 6, "queue_length": 50}
    dispatcher.configure((LevelSpec("level", **{**defaults, **said}),))
    return dispatcher


def arrive(dispatcher: Dispatcher, flow: int, seats: int, now: float, label: object, level: str = "level") -> Ticket:
    found = dispatcher.levels[level]
    if dispatcher.is_free(found, seats):
        return dispatcher.run(found, seats, now, label)
    return dispatcher.enqueue(found, flow, seats, now, label)


def test_a_flow_with_one_request_waits_for_two_of_a_flow_with_many() -> None:
    dispatcher = one_level(hand_size=1)
    running: Ticket | None = arrive(dispatcher, 1, 1, 0.0, "A1")
    for label in ("A2", "A3", "A4"):
        arrive(dispatcher, 1, 1, 0.0, label)
    arrive(dispatcher, 2, 1, 0.0, "B1")
    order, now = [], 0.0
    while running is not None:
        order.append(running.label)
        now += 1.0
        dispatcher.finish(running, now)
        dispatcher.check_invariants()
        running = dispatcher.dispatch(now)
    assert order == ["A1", "A2", "B1", "A3", "A4"]


@given(st.data())
def test_flows_that_always_wait_are_served_alike_whatever_their_requests_take(data: st.DataObject) -> None:
    """Start-time fair queuing's bound: services differ by no more than the largest request of each."""
    flows = data.draw(st.integers(2, 5))
    seats = data.draw(st.integers(1, 4))
    dispatcher = one_level(nominal=seats, hand_size=1, queue_length=100)
    draw = random.Random(data.draw(st.integers(0, 2**32)))
    widths = [data.draw(st.integers(1, seats)) for _ in range(flows)]
    longest = [data.draw(st.floats(0.01, 10.0)) for _ in range(flows)]
    blocker = arrive(dispatcher, 99, seats, 0.0, None)
    left = dict.fromkeys(range(flows), 40)
    for flow in range(flows):
        for _ in range(left[flow]):
            arrive(dispatcher, flow, widths[flow], 0.0, flow)  # hand size 1: flow n has queue n
    dispatcher.finish(blocker, 0.0)
    served = dict.fromkeys(range(flows), 0.0)
    running: list[tuple[float, float, Ticket]] = []
    now = 0.0
    while all(left.values()):
        while (ticket := dispatcher.dispatch(now)) is not None:
            owner = ticket.label
            assert isinstance(owner, int)
            left[owner] -= 1
            took = draw.uniform(0.001, longest[owner])
            running.append((now + took, took, ticket))
        assert dispatcher.levels["level"].seats <= seats, "more seats are taken than there are"
        running.sort(key=lambda one: one[0])
        now, took, ticket = running.pop(0)
        dispatcher.finish(ticket, now)
        dispatcher.check_invariants()
        assert isinstance(ticket.label, int)
        served[ticket.label] += took * ticket.seats
        most = max(width * long for width, long in zip(widths, longest, strict=True))
        apart = max(served.values()) - min(served.values())
        assert apart <= 2 * most * (seats + 1), "one flow is served far more than another"


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(1, 5), st.booleans()), max_size=80))
def test_nobody_waits_while_there_is_room_and_nobody_is_turned_away_before_his_queues_are_full(
    steps: list[tuple[int, int, bool]],
) -> None:
    dispatcher = one_level(nominal=5, queues=4, hand_size=2, queue_length=2)
    level, now = dispatcher.levels["level"], 0.0
    running: list[Ticket] = []
    for flow, seats, finishes in steps:
        now += 0.5
        if finishes and running:
            dispatcher.finish(running.pop(0), now)
        else:
            lengths = [len(level.queues[n].tickets) if n in level.queues else 0 for n in hand(flow, 4, 2)]
            try:
                ticket = arrive(dispatcher, flow, seats, now, flow)
            except Rejected:
                assert min(lengths) == 2, "turned away although the flow's queues had room"
                continue
            if ticket.started is not None:
                running.append(ticket)
        while (following := dispatcher.dispatch(now)) is not None:
            running.append(following)
        dispatcher.check_invariants()
        waiting = level.next_queue()
        assert waiting is None or level.seats + waiting.tickets[0].seats > 5, "somebody waits beside free seats"
        assert all(len(queue.tickets) <= 2 for queue in level.queues.values())
    for ticket in running:
        dispatcher.finish(ticket, now)
    while (following := dispatcher.dispatch(now)) is not None:
        dispatcher.finish(following, now)
    assert not dispatcher.is_waiting


@given(st.integers(0, 2**64 - 1), st.integers(1, 128), st.integers(1, 16))
def test_a_hand_is_of_different_queues(hash_value: int, queues: int, size: int) -> None:
    dealt = hand(hash_value, queues, size)
    assert len(dealt) == len(set(dealt)) == min(size, queues)
    assert all(0 <= number < queues for number in dealt)


def test_hands_are_dealt_evenly() -> None:
    draw = random.Random(7)
    counts = [0] * 16
    for _ in range(4000):
        for number in hand(draw.getrandbits(64), 16, 4):
            counts[number] += 1
    assert min(counts) > 850 < max(counts) < 1150


def test_a_flow_that_fills_its_queues_leaves_another_one_that_moves() -> None:
    dispatcher = one_level(queues=64, hand_size=6, queue_length=5)
    loud = 12345678901234567
    arrive(dispatcher, loud, 1, 0.0, "running")
    for _ in range(30):
        arrive(dispatcher, loud, 1, 0.0, "loud")
    with pytest.raises(Rejected, match="queue-full"):
        arrive(dispatcher, loud, 1, 0.0, "loud")
    assert sum(len(queue.tickets) for queue in dispatcher.levels["level"].queues.values()) == 30
    assert arrive(dispatcher, 98765432109876543, 1, 0.0, "quiet").started is None


def test_a_level_without_queues_turns_away_what_finds_no_seat() -> None:
    dispatcher = one_level(queues=0)
    arrive(dispatcher, 1, 1, 0.0, None)
    with pytest.raises(Rejected) as why:
        arrive(dispatcher, 1, 1, 0.0, None)
    assert why.value.reason == "concurrency-limit"


def test_a_request_wider_than_its_level_has_it_for_itself() -> None:
    dispatcher = one_level(nominal=2)
    wide = arrive(dispatcher, 1, 7, 0.0, "wide")
    assert wide.started == 0.0
    assert arrive(dispatcher, 2, 1, 0.0, "next").started is None
    dispatcher.finish(wide, 1.0)
    following = dispatcher.dispatch(1.0)
    assert following is not None
    assert following.label == "next"


def test_seats_that_others_lend_are_borrowed_and_given_back_at_once() -> None:
    dispatcher = Dispatcher()
    queues = {"queues": 8, "hand_size": 2, "queue_length": 50}
    dispatcher.configure(
        (
            LevelSpec("busy", nominal=2, borrowable=2, **queues),
            LevelSpec("idle", nominal=4, lendable=3, **queues),
        )
    )
    busy = [arrive(dispatcher, n, 1, 0.0, n, "busy") for n in range(6)]
    assert [ticket.started is not None for ticket in busy] == [True, True, True, True, False, False]
    own = [arrive(dispatcher, n, 1, 0.0, n, "idle") for n in range(4)]
    assert all(ticket.started is not None for ticket in own), "a level was refused its own seats"
    dispatcher.finish(busy[0], 1.0)
    assert dispatcher.dispatch(1.0) is None, "seats were borrowed that their owner uses"


def test_levels_share_the_processor_by_their_seats() -> None:
    """When all wait, as for a processor, a level with three times the seats is served three times as often."""
    dispatcher = Dispatcher()
    queues = {"queues": 8, "hand_size": 2, "queue_length": 500}
    dispatcher.configure((LevelSpec("large", nominal=30, **queues), LevelSpec("small", nominal=10, **queues)))
    for n in range(400):
        for level in dispatcher.levels.values():
            dispatcher.enqueue(level, n % 3, 1, 0.0, level.spec.name)
    now, served = 0.0, []
    for _ in range(200):
        ticket = dispatcher.dispatch(now)
        assert ticket is not None
        now += 0.01
        dispatcher.finish(ticket, now)
        served.append(ticket.label)
    assert 145 <= served.count("large") <= 155


def test_a_request_that_is_no_longer_wanted_leaves_no_trace() -> None:
    dispatcher = one_level()
    running = arrive(dispatcher, 1, 1, 0.0, "running")
    dispatcher.abandon(arrive(dispatcher, 1, 1, 0.0, "gone"))
    dispatcher.check_invariants()
    dispatcher.finish(running, 1.0)
    assert dispatcher.dispatch(1.0) is None


def test_requests_of_a_level_that_is_deleted_are_still_served() -> None:
    dispatcher = one_level()
    running = arrive(dispatcher, 1, 1, 0.0, "running")
    arrive(dispatcher, 1, 1, 0.0, "waiting")
    dispatcher.configure((LevelSpec("other", nominal=1),))
    dispatcher.finish(running, 1.0)
    following = dispatcher.dispatch(1.0)
    assert following is not None
    assert following.label == "waiting"
    dispatcher.finish(following, 2.0)
    assert not dispatcher.is_waiting

"""The scheduler of priority and fairness: which waiting request runs next, and which is turned away.

Each priority level has seats. A request takes some while it runs; one that finds none free waits in one of the level's
queues, or is turned away. Which queues a flow may use is drawn from its hash (shuffle sharding): two flows rarely share
all of theirs, so that one flow which fills its own leaves others a queue that moves. Between the queues of a level the
order is start-time fair queuing: each queue has a virtual time that grows by the work it was served (seats times
seconds), and the queue that is furthest behind is next. The same rule, weighted by seats, orders the levels.

Worked example: a level with one seat, hands of one queue, flows A and B in different ones. A sends four requests of a
second each, then B sends one. A1 runs at once; A2, A3, A4 and B1 wait. A2 was first in line and is served next; that
puts A's queue a second ahead of B's, so B1 runs third, then A3 and A4. B waited for two of A's requests, not for four.
(A flow with a larger hand spreads over more queues and has as many turns: what bounds it is the size of a hand.)

Borrowing: a level may use, beyond its own, what others lend and do not use, up to its own limit of borrowing. A level
is never refused its own seats: while it takes back what is lent, more seats than there are may be taken for a moment.

No clock, no I/O: ``now`` comes in with each call, in seconds.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

GUESS_S = 0.003
"""How long a request is taken to run until it is known, as in Kubernetes."""


class LevelSpec(NamedTuple):
    """The limits of a priority level; one without queues turns away what finds no seat."""

    name: str
    nominal: int
    lendable: int = 0
    borrowable: int = 0
    queues: int = 0
    hand_size: int = 0
    queue_length: int = 0


class Ticket:
    """A request's place: waiting in a queue, or running on its seats."""

    __slots__ = ("arrived", "label", "level", "queue", "seats", "started")

    def __init__(self, level: Level, queue: Queue | None, seats: int, arrived: float, label: object) -> None:
        self.level = level
        self.queue = queue
        """None for one that never had to wait."""
        self.seats = seats
        self.arrived = arrived
        self.started: float | None = None
        """When it began to run; None while it waits."""
        self.label = label
        """Whatever the caller knows it by."""


class Queue:
    """Requests of some flows, first come, first served."""

    __slots__ = ("served", "tickets", "waiting_seats")

    def __init__(self) -> None:
        self.tickets: deque[Ticket] = deque()
        self.waiting_seats = 0
        self.served = 0.0
        """Virtual time: up to where this queue has been served, in seat-seconds."""


class Level:
    """A priority level's seats and queues."""

    __slots__ = ("queues", "seats", "served", "spec", "virtual", "waiting")

    def __init__(self, spec: LevelSpec) -> None:
        self.spec = spec
        self.queues: dict[int, Queue] = {}
        """Those that hold requests, or were served beyond the level's virtual time; others are as good as new."""
        self.seats = 0
        """Seats taken by running requests."""
        self.waiting = 0
        """Requests in all queues."""
        self.virtual = 0.0
        """The start of the request that was served last: where a queue begins that was empty."""
        self.served = 0.0
        """As for a queue, among levels: seat-seconds for each nominal seat."""

    def next_queue(self) -> Queue | None:
        """The queue that is to be served next."""
        waiting = [queue for queue in self.queues.values() if queue.tickets]
        return min(waiting, key=lambda queue: queue.served) if waiting else None


class Rejected(Exception):
    """There is no room for the request; ``reason`` is one of Kubernetes' words for its metrics."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def hand(hash_value: int, queues: int, size: int) -> list[int]:
    """So many different queues of all, drawn by a hash; as one deals cards."""
    dealt: list[int] = []
    for left in range(queues, queues - min(size, queues), -1):
        hash_value, card = divmod(hash_value, left)
        for earlier in sorted(dealt):
            if card >= earlier:
                card += 1
        dealt.append(card)
    return dealt


class Dispatcher:
    """All priority levels that are limited; exempt requests never come here."""

    def __init__(self) -> None:
        self.levels: dict[str, Level] = {}
        self._leaving: list[Level] = []
        """Levels that are no longer configured but still hold requests."""
        self._virtual = 0.0

    def configure(self, specs: tuple[LevelSpec, ...]) -> None:
        """Use these levels from now on; requests that are there already stay where they are."""
        before, self.levels = self.levels, {}
        for spec in specs:
            level = before.pop(spec.name, None)
            if level is None:
                level = Level(spec)
            level.spec = spec
            self.levels[spec.name] = level
        self._leaving = [level for level in (*self._leaving, *before.values()) if level.waiting or level.seats]

    @property
    def is_waiting(self) -> bool:
        """Whether any request waits in a queue."""
        return any(level.waiting for level in self._all())

    def _all(self) -> list[Level]:
        return [*self.levels.values(), *self._leaving]

    def may_run(self, level: Level, seats: int) -> bool:
        """Whether a request may take so many seats now: the level's own, or borrowed ones."""
        spec, taken = level.spec, level.seats + seats
        if taken <= spec.nominal or not level.seats:  # what is wider than its level has it for itself
            return True
        if taken > spec.nominal + spec.borrowable:
            return False
        lent = borrowed = 0
        for other in self._all():
            if other is not level:
                borrowed += max(0, other.seats - other.spec.nominal)
                lent += max(0, min(other.spec.lendable, other.spec.nominal - other.seats))
        return taken - spec.nominal <= lent - borrowed

    def is_free(self, level: Level, seats: int) -> bool:
        """Whether a request need not wait: nobody does before it, and there are seats."""
        return not level.waiting and self.may_run(level, seats)

    def run(self, level: Level, seats: int, now: float, label: object = None) -> Ticket:
        """Take seats for a request that ``is_free`` to run."""
        ticket = Ticket(level, None, seats, now, label)
        ticket.started = now
        level.seats += seats
        return ticket

    def enqueue(self, level: Level, flow: int, seats: int, now: float, label: object = None) -> Ticket:
        """Let a request wait; raises ``Rejected`` where the level has no queues, or its flow's are full."""
        spec = level.spec
        if not spec.queues:
            raise Rejected("concurrency-limit")
        numbers = hand(flow, spec.queues, spec.hand_size)
        queues = [level.queues.get(number) for number in numbers]
        loads = [
            (len(queue.tickets) >= spec.queue_length, queue.waiting_seats) if queue is not None else (False, 0)
            for queue in queues
        ]
        place = loads.index(min(loads))
        queue = queues[place]
        if queue is None:
            queue = level.queues[numbers[place]] = Queue()
        if len(queue.tickets) >= spec.queue_length:
            raise Rejected("queue-full")
        if not queue.tickets:
            queue.served = max(queue.served, level.virtual)
        if not level.waiting:
            level.served = max(level.served, self._virtual)
        ticket = Ticket(level, queue, seats, now, label)
        queue.tickets.append(ticket)
        queue.waiting_seats += seats
        level.waiting += 1
        return ticket

    def dispatch(self, now: float) -> Ticket | None:
        """The request that runs next, from now on; None when none waits that may."""
        best: Level | None = None
        for level in self._all():
            if level.waiting and (best is None or level.served < best.served):
                queue = level.next_queue()
                assert queue is not None, "a request waits in no queue"
                if self.may_run(level, queue.tickets[0].seats):
                    best = level
        if best is None:
            return None
        queue = best.next_queue()
        assert queue is not None
        ticket = queue.tickets.popleft()
        self._leave(ticket, queue)
        best.virtual, self._virtual = queue.served, best.served
        self._charge(ticket, GUESS_S)
        ticket.started = now
        best.seats += ticket.seats
        return ticket

    def finish(self, ticket: Ticket, now: float) -> None:
        """A running request is done: its seats are free, and its flow is charged what it took."""
        assert ticket.started is not None, "a request that waits cannot finish"
        ticket.level.seats -= ticket.seats
        if ticket.queue is not None:
            self._charge(ticket, now - ticket.started - GUESS_S)
        self._tidy(ticket.level)

    def abandon(self, ticket: Ticket) -> None:
        """A waiting request is no longer wanted."""
        assert ticket.started is None, "a running request finishes instead"
        assert ticket.queue is not None
        ticket.queue.tickets.remove(ticket)
        self._leave(ticket, ticket.queue)
        self._tidy(ticket.level)

    @staticmethod
    def _leave(ticket: Ticket, queue: Queue) -> None:
        queue.waiting_seats -= ticket.seats
        ticket.level.waiting -= 1

    @staticmethod
    def _charge(ticket: Ticket, seconds: float) -> None:
        assert ticket.queue is not None
        ticket.queue.served += ticket.seats * seconds
        ticket.level.served += ticket.seats * seconds / max(1, ticket.level.spec.nominal)

    def _tidy(self, level: Level) -> None:
        if not level.waiting and not level.seats:
            level.queues.clear()
            level.virtual = 0.0
            if self.levels.get(level.spec.name) is not level:
                self._leaving = [one for one in self._leaving if one is not level]

    def check_invariants(self) -> None:
        """What holds between any two calls."""
        for level in self._all():
            queued = sum(len(queue.tickets) for queue in level.queues.values())
            assert queued == level.waiting, "waiting requests are miscounted"
            assert level.seats >= 0, "more seats were given back than taken"
            for queue in level.queues.values():
                assert queue.waiting_seats == sum(one.seats for one in queue.tickets), "waiting seats are miscounted"
                assert all(one.started is None for one in queue.tickets), "a running request is still in a queue"

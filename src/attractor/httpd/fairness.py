"""API Priority and Fairness on the event loop: requests wait for seats, and for the one processor that they share.

The scheduler is ``apiserver.fairness``; here it meets the event loop. Most requests are answered in one step of the
loop and take no seat; what has to wait (for a disk, a webhook, or slices of the processor) holds its seats meanwhile.

Two bounds keep the loop short, so that whoever is exempt or comes from a level with room is answered within
milliseconds whatever others do: limited requests get ``TURN_S`` of a step of the loop, and those beyond it wait in
their queues, in fair order; and long answers are made in slices of ``SLICE_S``, one a step.

Time is the loop's own: where that stands still, as in tests on virtual time, nobody waits for the processor.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from attractor.apiserver.fairness.configuration import GROUP, Configuration
from attractor.apiserver.fairness.dispatcher import Dispatcher, Rejected
from attractor.apiserver.fairness.processor import ProcessorShares
from attractor.httpd.reply import TEXT, Reply, status_reply
from attractor.objects.errors import ApiError
from attractor.wire.deferred import Deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from attractor.apiserver.auth.authorizer import Attributes
    from attractor.apiserver.fairness.configuration import Flow
    from attractor.apiserver.fairness.dispatcher import Level, Ticket
    from attractor.apiserver.request.caller import User
    from attractor.store.contract import Store

    Work = Callable[[], Reply | Deferred[Reply]]
    Pieces = Generator[None, None, Reply]

SEATS = 600
"""What all levels share: as many requests as kube-apiserver answers at once by default."""
TURN_S = 0.002
"""What limited requests may take of one step of the loop."""
SLICE_S = 0.001
"""What long answers may take of one step of the loop; a piece of work is never interrupted, so it may be exceeded."""
WAIT_S = 15.0
"""How long a request waits in a queue: a quarter of the time that it has, as in Kubernetes."""
RETRY_AFTER_S = 1
WAIT_BUCKETS_S = (0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0)


class Place(asyncio.Future[Reply]):
    """The answer of a request that waits its turn; cancelled when nobody wants it any more."""


class Waiting:
    """A request in a queue."""

    __slots__ = ("flow", "place", "timer", "work")

    def __init__(self, flow: Flow, place: Place, work: Work) -> None:
        self.flow = flow
        self.place = place
        self.work = work
        self.timer: asyncio.TimerHandle | None = None


class Waited:
    """How long requests of a schema waited in queues before they ran, for the histogram."""

    def __init__(self) -> None:
        self.buckets = [0] * (len(WAIT_BUCKETS_S) + 1)
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        """One waited so long."""
        place = next((n for n, bound in enumerate(WAIT_BUCKETS_S) if seconds <= bound), len(WAIT_BUCKETS_S))
        self.buckets[place] += 1
        self.total_s += seconds


class Fairness:
    """Runs requests when it is their turn; one for each server."""

    def __init__(self, store: Store, *, defaults: Mapping[str, bytes] | None = None, seats: int = SEATS) -> None:
        self._store = store
        self._defaults = defaults or {}
        self._seats = seats
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self.dispatcher = Dispatcher()
        self._configuration = Configuration((), ())
        self._is_current = False
        self._shares: ProcessorShares[tuple[Place, Pieces]] = ProcessorShares()
        self._spent_s = 0.0
        """What limited requests took of this step of the loop."""
        self._turn: asyncio.Handle | None = None
        self.dispatched: Counter[tuple[str, str]] = Counter()
        """Requests that ran, by level and schema."""
        self.rejected: Counter[tuple[str, str, str]] = Counter()
        self.waited: dict[tuple[str, str], Waited] = {}
        self._end = store.subscribe(f"{GROUP}/", self._changed)

    def close(self) -> None:
        """Follow the store no longer."""
        self._end()
        if self._turn is not None:
            self._turn.cancel()

    def _changed(self, _revision: int) -> None:
        self._is_current = False

    @property
    def configuration(self) -> Configuration:
        """The schemas and levels in force."""
        if not self._is_current:
            self._is_current = True
            self._configuration = Configuration.of(self._store.snapshot_nowait(), self._seats, self._defaults)
            self.dispatcher.configure(self._configuration.levels)
        return self._configuration

    def flow_of_all(self, user: User) -> Flow | None:
        """The flow of whatever a user asks for, if it does not depend on that."""
        return (self._configuration if self._is_current else self.configuration).candidates(user).only

    def flow_of(self, user: User, asked: Attributes) -> Flow:
        """The flow that a request belongs to."""
        return self.configuration.flow_of(user, asked)

    def nominal(self, flow: Flow) -> int:
        """The seats of a flow's level; all of them for an exempt one."""
        level = self.dispatcher.levels.get(flow.schema.level)
        return self._seats if level is None else level.spec.nominal

    def exempt(self, flow: Flow) -> None:
        """Count a request that runs whatever happens."""
        schema = flow.schema
        self.dispatched[schema.level, schema.name] += 1

    def run(self, flow: Flow, seats: int, work: Work) -> Reply | Deferred[Reply]:
        """The answer of a limited request, now or when it is its turn; raises what ``work`` does."""
        level = self.dispatcher.levels[flow.schema.level]
        if self._spent_s >= TURN_S or not self.dispatcher.is_free(level, seats):
            return self._queued(flow, level, seats, work)
        self.dispatched[level.spec.name, flow.schema.name] += 1
        answer = self._timed(work)
        if isinstance(answer, Reply):
            return answer
        ticket = self.dispatcher.run(level, seats, self._now(), flow)
        answer.ready.add_done_callback(lambda _: self._finish(ticket))
        return answer

    def _timed(self, work: Work) -> Reply | Deferred[Reply]:
        started = self._now()
        if self._turn is None:
            self._turn = self._loop.call_soon(self._take_turn)
        try:
            return work()
        finally:
            self._spent_s += self._now() - started

    def _finish(self, ticket: Ticket) -> None:
        self.dispatcher.finish(ticket, self._now())
        if self._turn is None and self.dispatcher.is_waiting:
            self._turn = self._loop.call_soon(self._take_turn)

    # Queues.

    def _queued(self, flow: Flow, level: Level, seats: int, work: Work) -> Reply | Deferred[Reply]:
        place = Place(loop=self._loop)
        waiting = Waiting(flow, place, work)
        try:
            ticket = self.dispatcher.enqueue(level, flow.hash, seats, self._now(), waiting)
        except Rejected as why:
            return self._reject(flow, level, why.reason)
        waiting.timer = self._loop.call_later(WAIT_S, self._expire, ticket)
        place.add_done_callback(lambda _: self._no_longer_wanted(ticket))
        if self._turn is None:
            self._turn = self._loop.call_soon(self._take_turn)
        return Deferred(place, place.result)

    def _reject(self, flow: Flow, level: Level, reason: str) -> Reply:
        """As Kubernetes does it, in plain text."""
        self.rejected[level.spec.name, flow.schema.name, reason] += 1
        headers = {"Retry-After": str(RETRY_AFTER_S), "X-Content-Type-Options": "nosniff"}
        return Reply(429, b"Too many requests, please try again later.\n", TEXT, headers)

    def _expire(self, ticket: Ticket) -> None:
        waiting = ticket.label
        assert isinstance(waiting, Waiting)
        if not waiting.place.done() and ticket.started is None:
            waiting.place.set_result(self._reject(waiting.flow, ticket.level, "time-out"))

    def _no_longer_wanted(self, ticket: Ticket) -> None:
        waiting = ticket.label
        assert isinstance(waiting, Waiting)
        if waiting.timer is not None:
            waiting.timer.cancel()
        if ticket.started is None:
            self.dispatcher.abandon(ticket)
            if waiting.place.cancelled():
                self.rejected[ticket.level.spec.name, waiting.flow.schema.name, "cancelled"] += 1

    # The loop's next step.

    def _take_turn(self) -> None:
        self._turn = None
        self._spent_s = 0.0
        ticket: Ticket | None = None
        while self._spent_s < TURN_S and (ticket := self.dispatcher.dispatch(self._now())) is not None:
            self._serve(ticket)
        self._slice()
        if self._turn is None and (ticket is not None or self._shares):
            self._turn = self._loop.call_soon(self._take_turn)

    def _serve(self, ticket: Ticket) -> None:
        waiting = ticket.label
        assert isinstance(waiting, Waiting)
        place, schema = waiting.place, waiting.flow.schema
        if place.done():
            self.dispatcher.finish(ticket, self._now())
            return
        key = (ticket.level.spec.name, schema.name)
        self.dispatched[key] += 1
        self.waited.setdefault(key, Waited()).add(self._now() - ticket.arrived)
        answer: Reply | Deferred[Reply]
        try:
            answer = self._timed(waiting.work)
        except ApiError as error:
            answer = status_reply(error)
        except Exception as error:  # the connection's boundary tells it with a reference
            self.dispatcher.finish(ticket, self._now())
            place.set_exception(error)
            return
        if isinstance(answer, Reply):
            self.dispatcher.finish(ticket, self._now())
            place.set_result(answer)
            return
        reply = answer.result
        answer.ready.add_done_callback(lambda _: self._settle(ticket, place, reply))

    def _settle(self, ticket: Ticket, place: Place, reply: Callable[[], Reply]) -> None:
        self._finish(ticket)
        if place.done():
            return
        try:
            place.set_result(reply())
        except asyncio.CancelledError:
            place.cancel()
        except Exception as error:
            place.set_exception(error)

    # Long answers.

    def in_pieces(self, flow: Flow | None, pieces: Pieces) -> Place:
        """An answer that is made piece by piece, in slices of the processor."""
        place = Place(loop=self._loop)
        key = (flow.schema.name, flow.distinguisher) if flow is not None else None
        self._shares.add(key, self.nominal(flow) if flow is not None else self._seats, (place, pieces))
        if self._turn is None:
            self._turn = self._loop.call_soon(self._take_turn)
        return place

    def _slice(self) -> None:
        until = self._now() + SLICE_S
        while (turn := self._shares.next()) is not None:
            flow, job = turn
            started = self._now()
            place, pieces = job
            if place.done():
                self._shares.remove(flow, job)
                continue
            try:
                next(pieces)
            except StopIteration as made:
                self._shares.remove(flow, job)
                place.set_result(made.value)
            except ApiError as error:
                self._shares.remove(flow, job)
                place.set_result(status_reply(error))
            except Exception as error:  # the connection's boundary tells it with a reference
                self._shares.remove(flow, job)
                place.set_exception(error)
            now = self._now()
            self._shares.used(flow, now - started)
            if now >= until:
                return

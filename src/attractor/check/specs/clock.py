"""A controller host, a database host and a network between them, with a clock for each controller.

The controller turns a custom resource ``cr`` into two config maps, ``cm1`` and then ``cm2``. It takes one step at a
time, each of which ends with one request; it waits for the reply, caches nothing between reconciles and never runs two
of them at once. The network may deliver what was sent late, out of order, and again and again.

The *clock* of a controller counts the steps of its reconcile logic. Two things are always true: when a clock has
reached ``deadline``, both config maps exist; and ``cm2`` never exists without ``cm1``. ``MapAndClocks`` is all that an
outsider sees, the stored objects and the clocks, and the whole system refines it.

The defaults are a kind world. Switches make it worse, one at a time or together: ``crashes`` and ``losses`` (how many),
``partitions`` (how many), ``stale_reads``; and ``stops_at_cm1`` puts in the hole that the first sketches of such
controllers had: seeing ``cm1`` they believe that the work is done. It takes one crash between the two to fall into it.
``resync`` lists everything again from time to time, as informers do, which makes up for lost and unseen updates.
"""

from __future__ import annotations

from typing import Any

from attractor.check import (
    Map,
    Record,
    Spec,
    Subset,
    action,
    always,
    constant,
    each,
    leads_to,
    refines,
    require,
    sometimes,
    subset,
    terminal,
    var,
)

CR, CM1, CM2 = OBJECTS = ("cr", "cm1", "cm2")

IDLE, DONE, RETRY = "idle", "done", "retry"
INIT, GET_CR, GET_CM1, CREATE_CM1, GET_CM2, CREATE_CM2 = (
    "init",
    "get cr",
    "get cm1",
    "create cm1",
    "get cm2",
    "create cm2",
)
REQUESTS = {GET_CR: CR, GET_CM1: CM1, CREATE_CM1: CM1, GET_CM2: CM2, CREATE_CM2: CM2}
QUERIES, UPDATES = (GET_CR, GET_CM1, GET_CM2), (CREATE_CM1, CREATE_CM2)


class MapAndClocks(Spec):
    """The abstract view: the map of objects, and a clock for each controller that stops at ``deadline``."""

    controllers: int = constant(1)
    deadline: int = constant(5)

    objects: Subset[str] = subset(OBJECTS)
    clock: Map[int, int] = each(controllers, 0)

    @action
    def create_cr(self) -> None:
        """The user's wish is stored."""
        self.objects.add(CR)

    @action
    def create_cm1(self) -> None:
        """The first config map, because somebody wished for it."""
        require(CR in self.objects)
        self.objects.add(CM1)

    @action
    def create_cm2(self) -> None:
        """The second one, after the first."""
        require(CM1 in self.objects)
        self.objects.add(CM2)

    @action(c=controllers)
    def tick(self, c: int) -> None:
        """A controller takes a step; its clock reaches the deadline only with both config maps in place."""
        require(self.clock[c] < self.deadline)
        require(self.clock[c] + 1 < self.deadline or (CM1 in self.objects and CM2 in self.objects))
        self.clock[c] += 1

    @always(c=controllers)
    def both_exist_at_the_deadline(self, c: int) -> bool:
        """If the clock is at the deadline, cm1 and cm2 both exist."""
        return self.clock[c] < self.deadline or (CM1 in self.objects and CM2 in self.objects)

    @always
    def cm2_implies_cm1(self) -> bool:
        """cm2 does not exist without cm1."""
        return CM2 not in self.objects or CM1 in self.objects


class Controller(Record):
    """A controller host: whether a reconcile is due, where the running one is, and the reply it got."""

    queued: bool = False
    step: str = IDLE
    waits: bool = False
    reply: bool | None = None


def requests(self: Clock) -> list[tuple[int, str]]:
    """Every request that may be on its way: (controller, request)."""
    return [(c, request) for c in range(self.controllers) for request in REQUESTS]


def replies(self: Clock) -> list[tuple[int, str, bool]]:
    """Every reply that may be on its way: (controller, request, whether the object was there or is there now)."""
    return [(c, request, found) for c, request in requests(self) for found in (True, False)]


def notices(self: Clock) -> list[tuple[int, str]]:
    """Every state update that may be on its way: (controller, object)."""
    return [(c, key) for c in range(self.controllers) for key in OBJECTS]


class Clock(Spec):
    """The system: hosts, network, faults."""

    controllers: int = constant(1)
    deadline: int = constant(5)
    stops_at_cm1: bool = constant(False)
    duplicates: bool = constant(True)
    resync: bool = constant(False)
    crashes: int = constant(0)
    losses: int = constant(0)
    partitions: int = constant(0)
    stale_reads: bool = constant(False)

    # The database host; ``served`` is what queries see, which lags behind only with ``stale_reads``
    objects: Subset[str] = subset(OBJECTS)
    fresh: Subset[tuple[int, str]] = subset(notices)
    served: Subset[str] = subset(OBJECTS)

    # The controller hosts
    controller: Map[int, Controller] = each(controllers, Controller())
    clock: Map[int, int] = each(controllers, 0)

    # The network: what was sent
    wish: bool = var(False)
    request: Subset[tuple[int, str]] = subset(requests)
    reply: Subset[tuple[int, str, bool]] = subset(replies)
    notice: Subset[tuple[int, str]] = subset(notices)
    cut: Map[int, bool] = each(controllers, False)

    faults: Map[str, int] = each(("crashes", "losses", "partitions"), 0)

    # The user

    @action(fair="weak")
    def submit(self) -> None:
        """A client sends the custom resource to the database."""
        require(CR not in self.objects)
        self.wish = True

    # The controller host

    @action(c=controllers, key=OBJECTS, fair="weak")
    def receive_update(self, c: int, key: str) -> None:
        """A state update arrives and is put into the queue; every object belongs to the one custom resource."""
        require((c, key) in self.notice and not self.cut[c])
        self.delivered(self.notice, (c, key))
        self.controller[c] = self.controller[c].but(queued=True)

    @action(c=controllers, fair="weak")
    def start_reconcile(self, c: int) -> None:
        """An idle controller takes the queued key."""
        require(self.controller[c].queued and self.controller[c].step == IDLE)
        self.controller[c] = Controller(step=INIT)

    @action(c=controllers, fair="weak")
    def continue_reconcile(self, c: int) -> None:
        """One step of the reconcile logic, which ends with one request or none."""
        host = self.controller[c]
        require(host.step not in (IDLE, DONE, RETRY) and not host.waits)
        step = self.reconcile(host.step, host.reply)
        self.controller[c] = host.but(step=step, waits=step in REQUESTS, reply=None)
        self.clock[c] = min(self.clock[c] + 1, self.deadline)
        if step in REQUESTS:
            self.send(c, step)

    def send(self, c: int, request: str) -> None:
        """Send a request. A reply names the call that it answers, so those to earlier calls no longer count."""
        for found in (True, False):
            self.reply.discard((c, request, found))
        self.request.add((c, request))

    @action(c=controllers, found=(True, False), fair="weak")
    def receive_reply(self, c: int, found: bool) -> None:
        """A reply to the pending request arrives, and unblocks the next step; any other reply is ignored."""
        host = self.controller[c]
        require(host.waits and not self.cut[c])
        require((c, host.step, found) in self.reply)
        self.delivered(self.reply, (c, host.step, found))
        self.controller[c] = host.but(waits=False, reply=found)

    @action(c=controllers, fair="weak")
    def end_reconcile(self, c: int) -> None:
        """All steps are done; a reconcile that failed comes again."""
        host = self.controller[c]
        require(host.step in (DONE, RETRY))
        self.controller[c] = Controller(queued=host.queued or host.step == RETRY)

    def reconcile(self, step: str, found: bool | None) -> str:
        """The controller's logic: the next step, given the last one and its reply."""
        match step:
            case "init":
                return GET_CR
            case "get cr":
                return GET_CM1 if found else DONE
            case "get cm1" if found:
                return DONE if self.stops_at_cm1 else GET_CM2
            case "get cm1":
                return CREATE_CM1
            case "get cm2" if found:
                return DONE
            case "create cm2":
                return DONE
            case _:
                return CREATE_CM2

    # The database host

    @action(fair="weak")
    def accept_wish(self) -> None:
        """The client's message arrives, and the custom resource is stored."""
        require(self.wish)
        if not self.duplicates:
            self.wish = False
        self.store(CR)

    @action(c=controllers, query=QUERIES, fair="weak")
    def answer_query(self, c: int, query: str) -> None:
        """A query arrives and is answered."""
        require((c, query) in self.request and not self.cut[c])
        self.delivered(self.request, (c, query))
        self.reply.add((c, query, REQUESTS[query] in self.served))

    @action(c=controllers, update=UPDATES, fair="weak")
    def apply_update(self, c: int, update: str) -> None:
        """An update arrives, is stored and answered with OK."""
        require((c, update) in self.request and not self.cut[c])
        self.delivered(self.request, (c, update))
        self.store(REQUESTS[update])
        self.reply.add((c, update, True))

    @action(c=controllers, key=OBJECTS, fair="weak")
    def notify(self, c: int, key: str) -> None:
        """The state of a fresh object is sent to a controller; it is no longer fresh."""
        require((c, key) in self.fresh and not self.cut[c])
        self.fresh.discard((c, key))
        self.notice.add((c, key))

    @action(c=controllers, fair="weak", when=resync)
    def list_again(self, c: int) -> None:
        """A controller lists all objects, whether they have changed or not."""
        require(not self.cut[c])
        self.watch_again(c)

    @action(key=OBJECTS, fair="weak", when=stale_reads)
    def catch_up(self, key: str) -> None:
        """The API server that answers queries learns of an object."""
        require(key in self.objects)
        self.served.add(key)

    def store(self, key: str) -> None:
        """Keep the object, and mark it as fresh for every controller."""
        if key not in self.objects:
            self.objects.add(key)
            for c in self.controller:
                self.fresh.add((c, key))
            if not self.stale_reads:
                self.served.add(key)

    # The network and what can go wrong

    def delivered(self, messages: Subset[Any], message: tuple[Any, ...]) -> None:
        """A delivered message may be delivered again, unless the network is kinder than ours."""
        if not self.duplicates:
            messages.discard(message)

    def fault(self, kind: str, budget: int) -> None:
        """One more fault of a kind, within its budget."""
        require(self.faults[kind] < budget)
        self.faults[kind] += 1

    def give_up(self, c: int) -> None:
        """A call has failed: the reconcile ends here and comes again."""
        self.controller[c] = self.controller[c].but(step=RETRY, waits=False, reply=None)

    def watch_again(self, c: int) -> None:
        """A new watch begins with all that exists."""
        for key in OBJECTS:
            if key in self.objects:
                self.fresh.add((c, key))

    @action(c=controllers, when=crashes)
    def crash(self, c: int) -> None:
        """A controller loses its memory in the middle of a reconcile and starts again; its messages live on."""
        require(self.controller[c].step != IDLE)
        self.fault("crashes", self.crashes)
        self.controller[c] = Controller()
        self.watch_again(c)

    @action(c=controllers, arrived=(True, False), when=losses)
    def lose_request(self, c: int, arrived: bool) -> None:
        """A call fails: the request, or only its reply, is lost. The reconcile gives up and comes again."""
        host = self.controller[c]
        require(host.waits and (not arrived or (c, host.step) in self.request))
        self.fault("losses", self.losses)
        if arrived and host.step in UPDATES:
            self.store(REQUESTS[host.step])
        self.request.discard((c, host.step))
        self.give_up(c)

    @action(c=controllers, key=OBJECTS, when=losses)
    def lose_update(self, c: int, key: str) -> None:
        """A state update is lost, and nobody notices."""
        require((c, key) in self.notice)
        self.fault("losses", self.losses)
        self.notice.discard((c, key))

    @action(c=controllers, when=partitions)
    def part(self, c: int) -> None:
        """A controller is cut off: what is on its way is lost, and its pending call fails."""
        require(not self.cut[c])
        self.fault("partitions", self.partitions)
        self.cut[c] = True
        for other, request in requests(self):
            if other == c:
                self.request.discard((c, request))
                self.reply.discard((c, request, True))
                self.reply.discard((c, request, False))
        for key in OBJECTS:
            self.notice.discard((c, key))
        if self.controller[c].waits:
            self.give_up(c)

    @action(c=controllers, fair="weak", when=partitions)
    def call_fails(self, c: int) -> None:
        """A call of a controller that is cut off fails."""
        require(self.cut[c] and self.controller[c].waits)
        self.request.discard((c, self.controller[c].step))
        self.give_up(c)

    @action(c=controllers, fair="weak", when=partitions)
    def heal(self, c: int) -> None:
        """The connection is back; the watch begins anew."""
        require(self.cut[c])
        self.cut[c] = False
        self.watch_again(c)

    # What we expect

    @terminal
    def converged(self) -> bool:
        """With both config maps in place the system may rest."""
        return CM1 in self.objects and CM2 in self.objects

    @always(c=controllers)
    def both_exist_at_the_deadline(self, c: int) -> bool:
        """If the clock is at the deadline, cm1 and cm2 both exist."""
        require(self.clock[c] == self.deadline)
        return CM1 in self.objects and CM2 in self.objects

    @always
    def cm2_implies_cm1(self) -> bool:
        """cm2 does not exist without cm1."""
        require(CM2 in self.objects)
        return CM1 in self.objects

    @sometimes
    def cm1_alone(self) -> bool:
        """There is a moment between the two, which is where crashes hurt."""
        return CM1 in self.objects and CM2 not in self.objects

    @sometimes(c=controllers)
    def reconciles_after_convergence(self, c: int) -> bool:
        """Updates of its own objects make the controller look again."""
        return CM2 in self.objects and self.controller[c].step == GET_CM1

    @refines(lambda self: MapAndClocks(controllers=self.controllers, deadline=self.deadline))
    def is_map_and_clocks(self) -> dict[str, object]:
        """An outsider sees the stored objects and the clocks."""
        return {"objects": frozenset(self.objects), "clock": {c: self.clock[c] for c in self.clock}}

    converges = leads_to(lambda self: CR in self.objects, converged)

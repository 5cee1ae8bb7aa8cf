"""Writers of one object through several API servers on one etcd: speculative commits, drafts, turns and settlement.

How the product writes where others write, too (``apiserver.server``, ``apiserver.attempts``, ``store.etcd``): a request
commits *speculatively*, on a *draft* of what its server's mirror shows and, on top of that, its own writes that are on
their way. Etcd takes the write if the version that was read is still the newest. A write that rests on one whose
version is not known yet waits for the answer to that one, and is lost with it. Who has lost runs again *in turn*
(``store.retry_queue``), one at a time for each server. A request that turns out to have nothing to write (here: it
replaces a version that is not the newest) may not say so from a draft: it waits until what it saw is *settled*, and
then looks at a linearizable snapshot.

Worked example of the deadlock that this specification was written for. ``a`` and ``b`` are requests at one server,
``c`` and ``d`` at another. ``c`` is faster than ``a``. ``a`` has the turn and runs again; it sees ``b``'s write on its
way, would be refused, and waits for ``b`` to be settled. ``d`` is faster than ``b``, so ``b`` runs again as soon as it
has the turn that ``a`` keeps. With ``keeps_turn`` and ``waits_for_retry`` that is what happens; with either of them
alone nobody waits for ever, and the product has neither: a turn is held for nothing but etcd, and settled is what etcd
has decided, whatever the request does next.
"""

from __future__ import annotations

from attractor.check import (
    Map,
    Spec,
    Subset,
    action,
    always,
    constant,
    each,
    leads_to,
    require,
    sometimes,
    subset,
    terminal,
    var,
    weak,
)

IDLE, RUNNING, QUEUED, SETTLING = "idle", "running", "queued", "settling"
WAITING, SENT, TAKEN, FAILED, SHOWING = "waiting", "sent", "taken", "failed", "showing"
WRITTEN, REFUSED = "written", "refused"


class SharedWrites(Spec):
    """Request ``r`` comes to the server ``homes[r]`` and patches the object, or replaces a version that it has read."""

    homes: tuple[int, ...] = constant((0, 0, 1, 1))
    replacing: tuple[int, ...] = constant((0, 1, 2, 3))
    """Requests that may replace a version; the others patch."""
    keeps_turn: bool = constant(False)
    """Whether a request that waits until what it saw is settled keeps its turn meanwhile."""
    waits_for_retry: bool = constant(False)
    """Whether a write that was lost is settled only when its request, run again, has its answer."""

    requests = staticmethod(lambda self: range(len(self.homes)))
    servers = staticmethod(lambda self: sorted(set(self.homes)))

    newest: int = var(0)
    """The object's version in etcd."""
    mirror: Map[int, int] = each(servers, 0)
    """The version that a server knows of."""
    shown: Map[int, int | None] = each(servers, None)
    """The request whose write on its way is what drafts of a server show."""
    queue: Map[int, tuple[int, ...]] = each(servers, ())
    turn: Map[int, int | None] = each(servers, None)

    at: Map[int, str] = each(requests, IDLE)
    base: Map[int, int | None] = each(requests, None)
    """The version that a request replaces; None for a patch, which any version will do for."""
    compares: Map[int, int] = each(requests, 0)
    """What etcd is asked to compare; below zero the request whose write this one rests on, counted from -1."""
    version: Map[int, int] = each(requests, 0)
    """Of a write that etcd took, its version; of one that it did not, the version that there was."""
    awaits: Map[int, int | None] = each(requests, None)
    asked: Map[int, int] = each(requests, -1)
    """How far the mirror must be for the snapshot of a request that rests on what is durable; -1: not asked yet."""
    lost: Subset[int] = subset(requests)
    durable: Subset[int] = subset(requests)
    """Requests that look at a snapshot, not at a draft."""

    # A run

    @action(r=requests)
    def begin(self, r: int) -> None:
        """A request comes in and is run."""
        require(self.at[r] == IDLE)
        versions = range(self.mirror[self.homes[r]] + 1) if r in self.replacing else ()
        self.base[r] = self.choose((None, *versions))
        self.speculate(r)

    @action(r=requests)
    def run(self, r: int) -> None:
        """A request runs again, on a draft or on the snapshot that it has asked for."""
        require(self.at[r] == RUNNING)
        if r not in self.durable:
            self.speculate(r)
            return
        known = self.mirror[self.homes[r]]
        require(0 <= self.asked[r] <= known)
        if self.base[r] in {None, known}:
            self.send(r, known)
        else:
            self.end(r, REFUSED)

    @action(r=requests)
    def ask(self, r: int) -> None:
        """A request asks etcd how far the mirror must be."""
        require(self.at[r] == RUNNING and r in self.durable and self.asked[r] < 0)
        self.asked[r] = self.newest

    def speculate(self, r: int) -> None:
        """Run on what the server knows and has on its way; with nothing to write, wait until that is settled."""
        home = self.homes[r]
        other = self.shown[home]
        if other is None:
            seen = self.mirror[home]
        else:
            seen = self.version[other] if self.at[other] == SHOWING else -1 - other
        if self.base[r] in {None, seen}:
            self.send(r, seen)
            return
        self.at[r] = SETTLING
        self.awaits[r] = None if other is None or seen >= 0 else other
        if not self.keeps_turn:
            self.pass_on(r)

    def send(self, r: int, compared: int) -> None:
        """Have a write on its way; drafts show it if it follows what they show."""
        home = self.homes[r]
        other = self.shown[home]
        if other is None or compared == -1 - other or (self.at[other] == SHOWING and compared == self.version[other]):
            self.shown[home] = r
        self.compares[r] = compared
        self.at[r] = WAITING if compared < 0 else SENT

    # Etcd

    @action(r=requests)
    def decide(self, r: int) -> None:
        """Etcd takes a write, or does not."""
        require(self.at[r] == SENT)
        if self.compares[r] == self.newest:
            self.newest += 1
            self.at[r] = TAKEN
        else:
            self.at[r] = FAILED
        self.version[r] = self.newest

    @action(s=servers)
    def deliver(self, s: int) -> None:
        """The mirror hears of the next version; who waited to see his own write in it, is answered."""
        require(self.mirror[s] < self.newest)
        self.mirror[s] += 1
        for r, home in enumerate(self.homes):
            if home == s and self.at[r] == SHOWING and self.version[r] == self.mirror[s]:
                self.written(r)

    # Answers of etcd

    @action(r=requests)
    def hear_taken(self, r: int) -> None:
        """The server hears that a write was taken: those that rest on it are sent."""
        require(self.at[r] == TAKEN)
        self.at[r] = SHOWING
        for other in self.those_on(r):
            self.compares[other] = self.version[r]
            self.at[other] = SENT
        if self.version[r] <= self.mirror[self.homes[r]]:
            self.written(r)

    @action(r=requests)
    def hear_failed(self, r: int) -> None:
        """The server hears that a write was not taken, and its mirror shows why: all that rest on it are lost, too."""
        home = self.homes[r]
        require(self.at[r] == FAILED and self.version[r] <= self.mirror[home])
        losers = [r]
        for loser in losers:
            losers += self.those_on(loser)
        if self.shown[home] in losers:
            self.shown[home] = None
        for loser in losers:
            self.lost.add(loser)
            self.asked[loser] = -1
            if not self.waits_for_retry:
                self.settled(loser)
            if self.turn[home] == loser:
                self.at[loser] = RUNNING
            else:
                self.want_turn(loser)

    def those_on(self, r: int) -> list[int]:
        """The requests whose writes wait for the answer to that of ``r``."""
        return [o for o in range(len(self.homes)) if self.at[o] == WAITING and self.compares[o] == -1 - r]

    def written(self, r: int) -> None:
        """The mirror shows a write."""
        if self.shown[self.homes[r]] == r:
            self.shown[self.homes[r]] = None
        self.end(r, WRITTEN)

    def end(self, r: int, answer: str) -> None:
        """Answer a request."""
        self.at[r] = answer
        self.settled(r)
        self.pass_on(r)

    # Turns and settlement

    def want_turn(self, r: int) -> None:
        """Join the queue."""
        self.at[r] = QUEUED
        self.queue[self.homes[r]] = (*self.queue[self.homes[r]], r)

    @action(s=servers)
    def take_turn(self, s: int) -> None:
        """The first of the queue runs again."""
        require(self.turn[s] is None and self.queue[s])
        first, *others = self.queue[s]
        self.queue[s] = tuple(others)
        self.turn[s] = first
        self.at[first] = RUNNING

    def pass_on(self, r: int) -> None:
        """Leave the turn, if ``r`` has it."""
        if self.turn[self.homes[r]] == r:
            self.turn[self.homes[r]] = None

    def settled(self, r: int) -> None:
        """Tell those who wait for what becomes of the write of ``r``."""
        for other in range(len(self.homes)):
            if self.awaits[other] == r:
                self.awaits[other] = None

    @action(r=requests)
    def settle(self, r: int) -> None:
        """All that a request has seen is settled: it looks at what is durable."""
        require(self.at[r] == SETTLING and self.awaits[r] is None)
        self.durable.add(r)
        self.at[r] = RUNNING

    every_run_ends = weak(run, ask, settle, per=("r",))
    etcd_answers = weak(decide, hear_taken, hear_failed, per=("r",))
    mirrors_follow = weak(deliver, per=("s",))
    turns_are_taken = weak(take_turn, per=("s",))

    @terminal
    def all_are_answered(self) -> bool:
        """Every request has come and has its answer."""
        return all(self.at[r] in {WRITTEN, REFUSED} for r in self.at)

    # What we expect

    @always
    def every_version_is_one_write(self) -> bool:
        """What etcd took are the versions that there are, each once; so no write overwrites one that it did not see."""
        taken = [self.version[r] for r in self.at if self.at[r] in {TAKEN, SHOWING, WRITTEN}]
        return sorted(taken) == list(range(1, self.newest + 1))

    @always(r=requests)
    def replaces_what_it_read(self, r: int) -> bool:
        """A replace is written right after the version that it names."""
        require(self.base[r] is not None and self.at[r] == WRITTEN)
        return self.version[r] - 1 == self.base[r]

    @always(r=requests)
    def refused_only_when_changed(self, r: int) -> bool:
        """Whoever is refused names a version that is not the newest, and never will be again."""
        require(self.at[r] == REFUSED)
        base = self.base[r]
        return base is not None and base < self.newest

    @always(r=requests)
    def acknowledged_is_seen(self, r: int) -> bool:
        """What was acknowledged shows in the snapshots of its server."""
        require(self.at[r] == WRITTEN)
        return self.version[r] <= self.mirror[self.homes[r]]

    @sometimes(r=requests)
    def lost_with_another(self, r: int) -> bool:
        """A write is lost that was never sent."""
        return r in self.lost and self.compares[r] < 0

    @sometimes(r=requests)
    def waits_after_a_loss(self, r: int) -> bool:
        """Somebody who has lost waits for another's write: the case that the rules are made for."""
        return r in self.lost and self.at[r] == SETTLING and self.awaits[r] is not None

    @sometimes(r=requests)
    def refused_in_the_end(self, r: int) -> bool:
        """A request is refused."""
        return self.at[r] == REFUSED

    everyone_is_answered = leads_to(
        lambda self, r: self.at[r] != IDLE, lambda self, r: self.at[r] in {WRITTEN, REFUSED}, r=requests
    )

"""Group commit on etcd: writes of several API servers that share transactions, and a watcher that loses its connection.

How the etcd store sends what its servers write (``store.etcd.group``): each write compares the versions of what it has
read. Writes that are ready go together in one transaction, each at its *place*. Etcd compares everything at the
beginning of the transaction; if anything has changed, it writes nothing, and each write is sent on its own. Below a
revision is a pair: the transaction's number and the place in it.

The three mistakes that the rules are made for are constants. Without ``is_serial`` a group may hold a write that reads
what an earlier one in it puts, and both are taken. With ``fails_together`` a write is refused because of another. With
``one_revision`` all writes of a transaction have the same revision, as etcd has it, and a watcher that has heard of one
of them when its connection breaks resumes after all of them.
"""

from __future__ import annotations

from attractor.check import (
    Map,
    Spec,
    action,
    always,
    constant,
    each,
    leads_to,
    require,
    sometimes,
    terminal,
    var,
    weak,
)

IDLE, READY, SENT, TAKEN, REFUSED = "idle", "ready", "sent", "taken", "refused"


class GroupCommit(Spec):
    """Write ``w`` comes to the server ``homes[w]``, reads the objects ``reads[w]`` and puts the first of them."""

    homes: tuple[int, ...] = constant((0, 0, 1))
    reads: tuple[tuple[str, ...], ...] = constant((("a",), ("b", "a"), ("b",)))
    is_serial: bool = constant(True)
    """Whether a write joins a group only if it reads nothing that the group puts before it."""
    fails_together: bool = constant(False)
    """Whether the writes of a transaction that was not taken are refused, all of them."""
    one_revision: bool = constant(False)
    """Whether the writes of a transaction share its revision."""

    writes = staticmethod(lambda self: range(len(self.homes)))
    servers = staticmethod(lambda self: sorted(set(self.homes)))

    history: tuple[tuple[int, ...], ...] = var(())
    """The transactions that etcd has taken: of each, the writes in their places."""
    mirror: Map[int, int] = each(servers, 0)
    """How many of them a server knows of."""
    ready: Map[int, tuple[int, ...]] = each(servers, ())
    sent: tuple[tuple[int, ...], ...] = var(())
    """Transactions on their way to etcd, which handles them in any order."""
    at: Map[int, str] = each(writes, IDLE)
    seen: Map[int, tuple[int, ...]] = each(writes, ())
    """The number of the transaction that last put each object that was read, or 0: what etcd is asked to compare."""
    heard: tuple[int, ...] = var(())
    """What the watcher was told of."""
    next_event: tuple[int, int] = var((0, 0))
    """Where the watcher's stream is: the transaction and the place."""

    def last_put(self, key: str, count: int) -> int:
        """The number of the last of the first ``count`` transactions that put an object; 0 if none did."""
        for number in range(count, 0, -1):
            if any(self.reads[w][0] == key for w in self.history[number - 1]):
                return number
        return 0

    def is_current(self, w: int) -> bool:
        """Whether all that a write has read is as it was."""
        now = tuple(self.last_put(key, len(self.history)) for key in self.reads[w])
        return self.seen[w] == now

    @action(w=writes)
    def begin(self, w: int) -> None:
        """A write is worked out on what its server knows."""
        require(self.at[w] == IDLE)
        home = self.homes[w]
        self.seen[w] = tuple(self.last_put(key, self.mirror[home]) for key in self.reads[w])
        self.ready[home] = (*self.ready[home], w)
        self.at[w] = READY

    @action(s=servers)
    def send(self, s: int) -> None:
        """All that are ready and can go together go in one transaction."""
        require(self.ready[s])
        group: list[int] = []
        rest: list[int] = []
        for w in self.ready[s]:
            (group if self.can_join(w, group) else rest).append(w)
        self.ready[s] = tuple(rest)
        self.dispatch(group)

    def can_join(self, w: int, group: list[int]) -> bool:
        """Whether a write can take the next place of a group."""
        puts = [self.reads[o][0] for o in group]
        if self.reads[w][0] in puts:
            return False  # etcd puts a key once in a transaction
        compared = {key: seen for o in group for key, seen in zip(self.reads[o], self.seen[o], strict=True)}
        agrees = all(compared.get(key, seen) == seen for key, seen in zip(self.reads[w], self.seen[w], strict=True))
        return agrees and not (self.is_serial and any(key in puts for key in self.reads[w]))

    def dispatch(self, group: list[int]) -> None:
        """Have a transaction on its way."""
        self.sent = tuple(sorted((*self.sent, tuple(group))))
        for w in group:
            self.at[w] = SENT

    @action
    def decide(self) -> None:
        """Etcd takes a transaction if all that it compares holds; else each of its writes goes on its own."""
        require(self.sent)
        group = self.choose(self.sent)
        self.sent = tuple(other for other in self.sent if other != group)
        if all(self.is_current(w) for w in group):
            self.history = (*self.history, group)
            for w in group:
                self.at[w] = TAKEN
        elif len(group) == 1 or self.fails_together:
            for w in group:
                self.at[w] = REFUSED
        else:
            for w in group:
                self.dispatch([w])

    @action(s=servers)
    def deliver(self, s: int) -> None:
        """A server hears of the next transaction."""
        require(self.mirror[s] < len(self.history))
        self.mirror[s] += 1

    # The watcher

    @action
    def hear(self) -> None:
        """The watcher is told of the next write."""
        number, place = self.next_event
        require(number < len(self.history))
        group = self.history[number]
        self.heard = (*self.heard, group[place])
        self.next_event = (number, place + 1) if place + 1 < len(group) else (number + 1, 0)

    @action
    def reconnect(self) -> None:
        """The connection breaks between two writes of a transaction: resume after the last revision heard of."""
        number, place = self.next_event
        require(place)
        self.next_event = (number + 1, 0) if self.one_revision else (number, place)

    etcd_answers = weak(decide)
    servers_send = weak(send, per=("s",))
    watcher_hears = weak(hear)

    @terminal
    def all_are_answered(self) -> bool:
        """Every write has come and has its answer."""
        return all(self.at[w] in {TAKEN, REFUSED} for w in self.at)

    # What we expect

    @always
    def is_as_one_after_the_other(self) -> bool:
        """At its place every write finds what it has read: no put of that lies between."""
        last: dict[str, tuple[int, int]] = {}
        for number, group in enumerate(self.history, 1):
            for place, w in enumerate(group):
                for key, seen in zip(self.reads[w], self.seen[w], strict=True):
                    if last.get(key, (0, 0))[0] != seen:
                        return False
                last[self.reads[w][0]] = (number, place)
        return True

    @always(w=writes)
    def refused_only_when_changed(self, w: int) -> bool:
        """No write is refused because of another that it travelled with."""
        require(self.at[w] == REFUSED)
        return not self.is_current(w)

    @always
    def watcher_misses_nothing(self) -> bool:
        """What the watcher was told is what was written, from the beginning, in order."""
        written = tuple(w for group in self.history for w in group)
        return self.heard == written[: len(self.heard)]

    @sometimes
    def shares(self) -> bool:
        """Two writes are taken in one transaction."""
        return any(len(group) > 1 for group in self.history)

    @sometimes(w=writes)
    def is_refused(self, w: int) -> bool:
        """A write was late."""
        return self.at[w] == REFUSED

    everyone_is_answered = leads_to(
        lambda self, w: self.at[w] != IDLE, lambda self, w: self.at[w] in {TAKEN, REFUSED}, w=writes
    )

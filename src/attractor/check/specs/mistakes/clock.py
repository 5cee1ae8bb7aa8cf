"""Mistakes in controllers, and in how they are connected to the database."""

from __future__ import annotations

from attractor.check import action, constant, require
from attractor.check.specs.clock import (
    CREATE_CM1,
    CREATE_CM2,
    DONE,
    GET_CM1,
    GET_CM2,
    OBJECTS,
    REQUESTS,
    RETRY,
    UPDATES,
    Clock,
    Controller,
)


class CreatesCm2First(Clock):
    """The second config map is created first."""

    def reconcile(self, step: str, found: bool | None) -> str:
        """Swap the two."""
        if step == GET_CM1 and not found:
            return CREATE_CM2
        if step == CREATE_CM2:
            return CREATE_CM1
        return DONE if step == CREATE_CM1 else super().reconcile(step, found)


class DoesNotWait(Clock):
    """Both requests are sent at once, in the right order; the network need not keep it."""

    def send(self, c: int, request: str) -> None:
        """Send the second one right after the first."""
        super().send(c, request)
        if request == CREATE_CM1:
            super().send(c, CREATE_CM2)


class DropsFailedReconciles(Clock):
    """A reconcile whose call has failed ends like one that has succeeded (only calls are lost here)."""

    losses: int = constant(1)

    def end_reconcile(self, c: int) -> None:
        """Do not come again."""
        host = self.controller[c]
        require(host.step in (DONE, RETRY))
        self.controller[c] = Controller(queued=host.queued)

    def receive_update(self, c: int, key: str) -> None:
        """An update is delivered once, or else repeated updates would hide the mistake."""
        super().receive_update(c, key)
        self.notice.discard((c, key))

    @action(c=Clock.controllers, key=OBJECTS, when=False)
    def lose_update(self, c: int, key: str) -> None:
        """No updates are lost."""


class BelievesOldReplies(Clock):
    """Replies do not name the call that they answer, so an old "not found" is believed again and again."""

    stale_reads: bool = constant(True)

    def send(self, c: int, request: str) -> None:
        """Keep the replies to earlier calls."""
        self.request.add((c, request))


class WatchesFromNowOn(Clock):
    """A restarted controller watches for changes without listing what is there already."""

    crashes: int = constant(1)
    duplicates: bool = constant(False)

    def watch_again(self, c: int) -> None:
        """Nothing is fresh."""


class DatabaseMayIgnoreUpdates(Clock):
    """Nobody promised that the database ever handles an update."""

    @action(c=Clock.controllers, update=UPDATES)
    def apply_update(self, c: int, update: str) -> None:
        """As before, without fairness."""
        super().apply_update(c, update)


class AlreadyExistsIsAFailure(Clock):
    """A repeated create is answered with "already exists", the controller takes that for a failure, and its next
    reconcile stops at cm1: the known hole, without any crash."""

    stops_at_cm1: bool = constant(True)

    def apply_update(self, c: int, update: str) -> None:
        """A second create fails."""
        require((c, update) in self.request)
        fails = REQUESTS[update] in self.objects
        self.store(REQUESTS[update])
        self.reply.add((c, update, not fails))

    def reconcile(self, step: str, found: bool | None) -> str:
        """Give up after a failed create."""
        return RETRY if step in UPDATES and found is False else super().reconcile(step, found)


class SkipsMissingCm1(Clock):
    """A missing cm1 is taken for one that somebody has deleted on purpose, and the controller goes on to cm2."""

    def reconcile(self, step: str, found: bool | None) -> str:
        """Whether cm1 was found makes no difference."""
        return GET_CM2 if step == GET_CM1 else super().reconcile(step, found)

"""Mistakes in work queues and in those who use them."""

from __future__ import annotations

from attractor.check import require, weak
from attractor.check.specs.workqueue import ProductWorkQueue, WorkQueue


class ForgetsAddsWhileProcessing(WorkQueue):
    """An add of a key that is being processed is taken for a duplicate: the change that it stood for is never seen."""

    def put(self, k: int) -> None:
        """Drop keys in processing."""
        if k not in self.wq.processing:
            super().put(k)


class QueuesWhileProcessing(WorkQueue):
    """An add of a key that is being processed puts it into the queue, from where a second worker takes it."""

    def put(self, k: int) -> None:
        """Append without a look at processing."""
        wq = self.wq
        if k not in wq.dirty:
            self.wq = wq.but(dirty=wq.dirty | {k}, queue=(*wq.queue, k))

    def give_back(self, k: int) -> None:
        """What is dirty waits already."""
        self.wq = self.wq.but(processing=self.wq.processing - {k})


class DoneForgetsDirty(WorkQueue):
    """A key that was added while it was processed is not queued when its worker is done; being dirty, it is also
    deaf to every later add."""

    def give_back(self, k: int) -> None:
        """Only leave processing."""
        self.wq = self.wq.but(processing=self.wq.processing - {k})


class NoRetryAfterFailure(WorkQueue):
    """A failed reconcile is logged, and that was it."""

    def fail(self, w: int) -> None:
        """Give the key back, without a delay to end."""
        k = self.held(w)
        self.worker[w] = None
        self.owed.add(k)
        self.give_back(k)


class GetKeepsDirty(WorkQueue):
    """A key stays dirty when a worker takes it, so it goes round for ever."""

    def take(self) -> int:
        """Do not clear the mark."""
        wq, k = self.wq, self.waiting()[0]
        self.wq = wq.but(processing=wq.processing | {k}, queue=wq.queue[1:])
        return k


class NoDeduplication(WorkQueue):
    """Every add is queued, like in a plain channel."""

    def put(self, k: int) -> None:
        """Append, up to twice so that the specification stays finite."""
        wq = self.wq
        require(wq.queue.count(k) < 2)
        self.wq = wq.but(dirty=wq.dirty | {k}, queue=(*wq.queue, k))


class LastInFirstOut(WorkQueue):
    """The queue is served from its end: a busy key starves the others."""

    def take(self) -> int:
        """Take the newest."""
        wq, k = self.wq, self.wq.queue[-1]
        self.wq = wq.but(dirty=wq.dirty - {k}, processing=wq.processing | {k}, queue=wq.queue[:-1])
        return k

    def waiting(self) -> tuple[int, ...]:
        """The newest first."""
        return self.wq.queue[::-1]


class PanicKeepsKey(WorkQueue):
    """``done`` is not in a ``finally``: a reconcile that raises leaves its key in processing for ever."""

    def fail(self, w: int) -> None:
        """Retry later, but never give the key back."""
        k = self.held(w)
        self.worker[w] = None
        self.owed.add(k)
        self.backing_off.add(k)


class OneWorkerHangs(WorkQueue):
    """Reconciles have no time limit: it is only sure that some worker goes on, not that each one does."""

    reconciles_end = weak("succeed", "fail")


class ProductForgetsDirty(ProductWorkQueue):
    """The product's queue, with a driver that undoes the re-queueing of ``done``."""

    def give_back(self, k: int) -> None:
        """Drop the key from what waits."""
        again = k in self.wq.dirty
        super().give_back(k)
        if again:
            self.wq = self.wq._replace(waiting=self.wq.waiting[:-1])

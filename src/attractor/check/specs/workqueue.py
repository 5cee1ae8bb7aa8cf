"""The work queue of client-go: watch handlers add keys, workers take them, and no wake-up is lost.

``dirty`` are the keys that must run, ``processing`` those that are with a worker, ``queue`` those that a worker may
take now. Worked example: ``a`` is added and taken; ``a`` is added again, which only marks it dirty; when the worker is
done with ``a``, it goes back to the queue, so the change that came meanwhile is seen.

``owed`` is what an outsider expects: the keys that were added, or whose reconcile failed, since a worker last took
them. A delay that ends after the key has run for another reason asks for one run more, as it does in client-go.

``ProductWorkQueue`` takes the same steps with the code that production runs (``attractor.workqueue.QueueCore``). The
two refine each other, so what is shown for one is true of the other.
"""

from __future__ import annotations

from attractor.check import (
    Map,
    Record,
    Spec,
    Step,
    Subset,
    action,
    always,
    always_step,
    constant,
    each,
    interchangeable,
    leads_to,
    refines,
    require,
    sometimes,
    subset,
    var,
    weak,
)
from attractor.workqueue.core import QueueCore, QueueState


class Queue(Record):
    """The three collections of client-go's work queue."""

    dirty: frozenset[int] = frozenset()
    processing: frozenset[int] = frozenset()
    queue: tuple[int, ...] = ()


class WorkQueue(Spec):
    """``workers`` reconcile ``keys``; anybody may add a key at any time, and a reconcile may fail."""

    keys: int = constant(2)
    workers: int = constant(2)

    wq: Queue = var(Queue())
    worker: Map[int, int | None] = each(workers, None)
    backing_off: Subset[int] = subset(keys)
    owed: Subset[int] = subset(keys)

    same_workers = interchangeable(workers)

    # The queue

    def put(self, k: int) -> None:
        """Ask for a key to run."""
        wq = self.wq
        if k in wq.dirty:
            return
        queue = wq.queue if k in wq.processing else (*wq.queue, k)
        self.wq = wq.but(dirty=wq.dirty | {k}, queue=queue)

    def take(self) -> int:
        """The next key, now with a worker."""
        wq, k = self.wq, self.waiting()[0]
        self.wq = wq.but(dirty=wq.dirty - {k}, processing=wq.processing | {k}, queue=wq.queue[1:])
        return k

    def give_back(self, k: int) -> None:
        """A worker has finished with a key; it waits again if it was added meanwhile."""
        wq = self.wq
        queue = (*wq.queue, k) if k in wq.dirty else wq.queue
        self.wq = wq.but(processing=wq.processing - {k}, queue=queue)

    def waiting(self) -> tuple[int, ...]:
        """The keys that a worker may take, the next one first."""
        return self.wq.queue

    def dirty(self) -> frozenset[int]:
        """The keys that must run."""
        return self.wq.dirty

    def processing(self) -> frozenset[int]:
        """The keys that are with a worker, as the queue sees it."""
        return self.wq.processing

    # Those who use it

    @action(k=keys)
    def add(self, k: int) -> None:
        """A watch handler has seen a change."""
        self.put(k)
        self.owed.add(k)

    @action(w=workers)
    def get(self, w: int) -> None:
        """A free worker takes the next key."""
        require(self.worker[w] is None and self.waiting())
        k = self.take()
        self.worker[w] = k
        self.owed.discard(k)

    def held(self, w: int) -> int:
        """The key of worker ``w``; what needs one does not happen without."""
        require(self.worker[w] is not None)
        return self.worker[w]  # type: ignore[return-value]

    @action(w=workers)
    def succeed(self, w: int) -> None:
        """A reconcile is finished."""
        k = self.held(w)
        self.worker[w] = None
        self.give_back(k)

    @action(w=workers)
    def fail(self, w: int) -> None:
        """A reconcile has failed; the key is to run again after a delay."""
        k = self.held(w)
        self.worker[w] = None
        self.owed.add(k)
        self.backing_off.add(k)
        self.give_back(k)

    @action(k=keys, fair="weak")
    def delay_ends(self, k: int) -> None:
        """The delay after a failure is over."""
        require(k in self.backing_off)
        self.backing_off.discard(k)
        self.put(k)
        self.owed.add(k)

    somebody_is_free = weak(get)
    reconciles_end = weak(succeed, fail, per=("w",))

    # What we expect

    @always(w=workers, x=workers)
    def no_concurrent_processing(self, w: int, x: int) -> bool:
        """No two workers have the same key."""
        require(w != x and self.worker[w] is not None)
        return self.worker[w] != self.worker[x]

    @always
    def queue_is_consistent(self) -> bool:
        """What waits is dirty, waits once, and is not being processed; what is dirty waits or is being processed."""
        waiting = self.waiting()
        listed, busy = frozenset(waiting), self.processing()
        return len(listed) == len(waiting) and not listed & busy and listed <= self.dirty() <= listed | busy

    @always_step(actions=["get"])
    def no_work_without_a_reason(self, step: Step) -> bool:
        """A worker only gets a key that somebody is owed."""
        return self.waiting()[0] in self.owed

    @sometimes(k=keys)
    def added_while_processed(self, k: int) -> bool:
        """The case that the algorithm is made for."""
        return k in self.processing() and k in self.dirty()

    @sometimes
    def all_workers_busy(self) -> bool:
        """Every worker has a key."""
        return all(self.worker[w] is not None for w in self.worker)

    no_lost_wake_up = leads_to(lambda self, k: k in self.owed, lambda self, k: k not in self.owed, k=keys)


def seen_from_outside(self: WorkQueue) -> dict[str, object]:
    """What both queues have in common: who has which key, and what is owed."""
    return {
        "worker": {w: self.worker[w] for w in self.worker},
        "backing_off": frozenset(self.backing_off),
        "owed": frozenset(self.owed),
    }


class ProductWorkQueue(WorkQueue):
    """The same, with the queue that production runs."""

    wq: QueueState[int] = var(QueueCore[int]().state())  # type: ignore[assignment]

    def put(self, k: int) -> None:
        """``QueueCore.add``."""
        core = QueueCore.of(self.wq)
        core.add(k)
        self.wq = core.state()

    def take(self) -> int:
        """``QueueCore.get``."""
        core = QueueCore.of(self.wq)
        k, _ = core.get() or (-1, 0)
        self.wq = core.state()
        return k

    def give_back(self, k: int) -> None:
        """``QueueCore.done``."""
        core = QueueCore.of(self.wq)
        core.done(k)
        self.wq = core.state()  # pyright: ignore[reportIncompatibleVariableOverride]

    def waiting(self) -> tuple[int, ...]:
        """The keys that wait, without their priorities."""
        return tuple(k for _, k in self.wq.waiting)

    @refines(lambda self: WorkQueue(keys=self.keys, workers=self.workers))
    def refines_the_algorithm(self) -> dict[str, object]:
        """The product's queue without the priorities."""
        wq = Queue(dirty=self.wq.dirty, processing=self.wq.processing, queue=self.waiting())
        return {**seen_from_outside(self), "wq": wq}


class WorkQueueAsProduct(WorkQueue):
    """The algorithm again, with the claim that the product can take every step that it takes."""

    @refines(lambda self: ProductWorkQueue(keys=self.keys, workers=self.workers))
    def is_what_production_runs(self) -> dict[str, object]:
        """The algorithm's queue, with every key at the usual priority."""
        wq = QueueState(tuple((0, k) for k in self.wq.queue), self.wq.dirty, self.wq.processing)
        return {**seen_from_outside(self), "wq": wq}

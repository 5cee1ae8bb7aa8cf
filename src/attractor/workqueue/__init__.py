"""Work queue for controllers: fair, deduplicating, one worker per key.

Guarantees: a key is never with two workers at once; a key added while being processed runs once more after; a key
added many times while it waits runs once. Read ``core`` first (the algorithm, as a value with pure steps), then
``limits`` (how long a failing key waits), then ``queue`` (the same, driven by an event loop).
"""

from attractor.workqueue.core import QueueCore
from attractor.workqueue.limits import Backoff, Limiter, MaxOf, TokenBucket
from attractor.workqueue.queue import QueueShutDown, WorkQueue

__all__ = ["Backoff", "Limiter", "MaxOf", "QueueCore", "QueueShutDown", "TokenBucket", "WorkQueue"]

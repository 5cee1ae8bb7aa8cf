"""Reconciles that do not end: which worker has one, at which line it waits, and how the worker is freed of it.

A controller that declares nothing gets ``WORKERS`` workers and ``TIMEOUT_S``, so that one object that hangs neither
stops the others nor stays so. The limit of a whole manager is kept by looking now and then at what runs long, and not
by a timer for every reconcile; a limit that an author declares is kept exactly (``running_controller``).

A reconcile that ignores being cancelled keeps its worker. It is then *stuck*: told in the log and in metrics by its
line, and once all workers of a controller are, the process is unhealthy, for only a restart helps.
"""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.runtime.observability.own_lines import waiting_line

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from attractor.objects.gvk import Key

WORKERS = 4
"""How many objects a controller that does not say so reconciles at once."""
TIMEOUT_S = 300.0
"""How long a reconcile may take where neither its controller nor the manager says so."""
LOOK_S = 10.0
"""How often it is looked for reconciles that run long."""
LONG_S = 60.0
"""After how long, and how often then, a reconcile that has not ended is told of."""
SLACK_S = 30.0
"""How long a reconcile may take to end after it was cancelled, until it counts as stuck."""


class ReconcileTimeout(Exception):
    """A reconcile took longer than its controller allows."""

    def __init__(self, limit_s: float | None, line: str) -> None:
        """Without ``limit_s``: under check, where time does not pass."""
        within = "in time" if limit_s is None else f"within {limit_s:g} s"
        super().__init__(f"no end {within}; do long work in the background with `ctx.start`")
        self.line = line
        """``FILE:LINE: code`` that it waited at; empty where it is not known."""


class Late(NamedTuple):
    """A reconcile that has not ended for long."""

    key: Key
    took_s: float
    line: str


class Worker:
    """One worker of a controller: its task, and what it reconciles now."""

    __slots__ = ("_coroutine", "_limit_s", "_line", "_task", "key", "since_s")

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        self._coroutine: Any = None
        self._limit_s = 0.0
        """What was exceeded; 0 while nothing was."""
        self._line = ""
        self.key: Key | None = None
        self.since_s = 0.0

    def begin(self, key: Key, coroutine: Any, now_s: float) -> None:
        """It reconciles an object."""
        self.key, self._coroutine, self.since_s = key, coroutine, now_s

    def end(self) -> None:
        """It has finished; a cancellation that came to nothing is taken back."""
        self.key = self._coroutine = None
        if self._limit_s:
            self._limit_s = 0.0
            self._task.uncancel()

    def end_overdue(self, now_s: float, limit_s: float) -> None:
        """Cancel what it does if that takes longer than allowed; once only."""
        if self.key is not None and not self._limit_s and now_s - self.since_s >= limit_s:
            self._limit_s, self._line = limit_s, waiting_line(self._coroutine)
            self._task.cancel()

    def timeout(self, end: BaseException) -> ReconcileTimeout | None:
        """Return the error of a reconcile that was ended because it was overdue, and for no other reason."""
        if not self._limit_s or not isinstance(end, CancelledError):
            return None
        made = ReconcileTimeout(self._limit_s, self._line)
        self._limit_s = 0.0
        return made if self._task.uncancel() == 0 else None

    def late(self, now_s: float) -> Late | None:
        """Return the work of the worker, if it has been at it for long."""
        if self.key is None or now_s - self.since_s < LONG_S:
            return None
        return Late(self.key, now_s - self.since_s, waiting_line(self._coroutine))


def late(workers: Iterable[Worker], now_s: float) -> list[Late]:
    """The reconciles that have not ended for long, the longest first."""
    return sorted((one for worker in workers if (one := worker.late(now_s)) is not None), key=lambda one: -one.took_s)


def by_line(workers: Iterable[Worker], now_s: float) -> dict[tuple[str, ...], float]:
    """Return how many reconciles have not ended for long, by the line that they wait at (``FILE:LINE``)."""
    found: dict[tuple[str, ...], float] = {}
    for one in late(workers, now_s):
        where = (one.line.partition(": ")[0],)
        found[where] = found.get(where, 0.0) + 1
    return found


def all_stuck(workers: list[Worker], now_s: float, limit_s: float) -> str:
    """Return why no worker of a controller will ever do anything again; empty while one may."""
    longest_s = min((now_s - one.since_s if one.key is not None else 0.0 for one in workers), default=0.0)
    if longest_s < limit_s + SLACK_S:
        return ""
    lines = sorted({one.line for one in late(workers, now_s)})
    where = "; ".join(line for line in lines if line) or "an unknown line"
    return f"no reconcile has ended for {longest_s:.0f} s on any of {len(workers)} workers, at {where}"

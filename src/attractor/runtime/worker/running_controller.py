"""``RunningController``: a declaration at work. Queue, workers, sources, background work.

Guarantees: one object is never reconciled twice at once; a change that comes while its object is being reconciled
leads to one more run; a reconcile that fails, hangs or raises hurts no other object, and comes again with backoff;
``stop`` lets reconciles that run finish, and drops what only waits (the next start sees everything anew).
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

from attractor.objects.errors import Conflict
from attractor.objects.gvk import Key
from attractor.runtime.context import Context
from attractor.runtime.observability.causes import Causes
from attractor.runtime.observability.failure_log import FailureLog, is_outage
from attractor.runtime.observability.field_logger import FieldLogger, in_short
from attractor.runtime.observability.metered_queue import MeteredQueue
from attractor.runtime.observability.own_lines import own_line
from attractor.runtime.result import Result, TerminalError
from attractor.runtime.toolkit.background import BackgroundWork
from attractor.runtime.toolkit.debounce import DebouncedCalls
from attractor.runtime.worker import overdue
from attractor.runtime.worker.driver import drive
from attractor.runtime.worker.outcome import (
    Next,
    after_error,
    after_result,
    ended_itself,
    is_cancelled_from_outside,
    is_panic,
    wrong_result,
)
from attractor.runtime.worker.overdue import TIMEOUT_S, WORKERS, Late, ReconcileTimeout, Worker
from attractor.runtime.worker.routing import handler
from attractor.runtime.worker.self_triggers import SelfTriggers, noted
from attractor.wire.blocks import inside
from attractor.workqueue import QueueShutDown

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Awaitable, Callable, Iterable

    from attractor.cache import Informer
    from attractor.cache.handlers import InformerEvent
    from attractor.objects.resource import Resource
    from attractor.runtime.controller import Controller
    from attractor.runtime.observability.metrics import Metrics
    from attractor.runtime.observability.tracing import Tracer
    from attractor.runtime.worker.performer import Performer


RESYNC_S = 36_000.0
"""How often everything is reconciled again, changed or not: every ten hours, as in controller-runtime."""
SOURCE_AGAIN_S, MAX_SOURCE_AGAIN_S = 0.2, 30.0
"""How long a source that failed is left alone, at first and at most."""
PERSISTENT_FAILURES = 5
"""After so many failures in a row, those who look at the object are told by a Warning Event."""
_RESULTS = {"done": "success", "later": "requeue_after", "backoff": "requeue"}
"""How metrics call what follows."""


class RunningController:
    """One controller in one process; its owner runs ``run()`` in a task group and calls ``stop()``."""

    def __init__(
        self,
        declared: Controller,
        metrics: Metrics,
        *,
        workers: int | None = None,
        timeout_s: float | None = TIMEOUT_S,
        tracer: Tracer | None = None,
        resync_s: float | None = RESYNC_S,
    ) -> None:
        """``workers`` is for all controllers of a manager; ``timeout_s`` for those that declare none."""
        self.declared = declared
        self._resync_s = resync_s
        self._tell_again: list[Callable[[], None]] = []
        """For each informer, how to hear of everything it has as at the start."""
        self._metrics = metrics
        self._workers = workers or declared.workers or WORKERS
        self._crew: list[Worker] = []
        """The workers, while they run."""
        self._exact_limit_s = _finite(declared.timeout_s)
        """What the author declares is kept exactly; else ``end_overdue`` keeps the manager's limit."""
        self.limit_s = _finite(timeout_s if declared.timeout_s is None else declared.timeout_s)
        """How long a reconcile may take; None for as long as it likes."""
        self._tracer = tracer
        limiter = declared.limiter() if declared.limiter is not None else None
        self.queue = MeteredQueue(declared.name, metrics, limiter)
        self.background = BackgroundWork(declared.name, limit=declared.background_limit)
        self.scheduled: DebouncedCalls[Key] = DebouncedCalls(self._add_scheduled)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopping = False
        self._active = 0
        """Workers that reconcile now."""
        self._performer: Performer | None = None
        self._log = FieldLogger(f"attractor.controller.{declared.name}", {"controller": declared.name})
        self._failures = FailureLog(self._log)
        kind = declared.for_.kind.__name__
        self._self_triggers = SelfTriggers(declared.name, kind, self._log, metrics.self_triggered)
        self._causes: Causes | None = Causes() if self._log.is_debugged else None
        """Why keys run; only where every reconcile is logged."""
        self._event: InformerEvent[Any] | None = None
        """What is being told, while an object is suspected of reconciling itself or causes are kept."""
        self._event_kind = ""
        for result in ("success", "error", "requeue", "requeue_after"):
            metrics.reconciles.add(declared.name, result, by=0)
        for counter in (metrics.errors, metrics.terminal_errors, metrics.panics, metrics.timeouts):
            counter.add(declared.name, by=0)
        metrics.workers.set(declared.name, to=self._workers)
        metrics.active_workers.compute(declared.name, by=lambda: float(self._active))
        metrics.stuck.compute_each(declared.name, by=self._stuck_lines)

    @property
    def performer(self) -> Performer:
        """Return the performer of the effects."""
        assert self._performer is not None, "the controller is not attached to a manager"
        return self._performer

    def attach(self, performer: Performer) -> None:
        """Say who answers the effects; once, before ``run``."""
        self._performer = performer

    def follow(
        self, informer: Informer[Any], kind: type[Resource], keys_by_index: Callable[[str, str], Iterable[Key]]
    ) -> None:
        """Reconcile what every change of a kind concerns, and now and then everything again."""
        tell = handler(self.declared, kind, keys_by_index, self._add)
        name = kind.gvk.kind

        def handle(event: InformerEvent[Any]) -> None:
            if self._self_triggers.suspects or self._causes is not None:
                self._event, self._event_kind = event, name
            tell(event)

        informer.add_handler(handle)
        self._tell_again.append(lambda: informer.tell(handle))

    def _add(self, key: Key, priority: int) -> None:
        if self._event is not None:
            if key in self._self_triggers.suspects:
                self._self_triggers.hear(key, self._event, self._event_kind)
            if self._causes is not None:
                self._causes.note_event(key, self._event, self._event_kind)
        self.queue.add(key, priority=priority)

    def _add_scheduled(self, key: Key) -> None:
        self._note(key, "scheduled")
        self.queue.add(key)

    def _note(self, key: Key, cause: str, *details: object) -> None:
        if self._causes is not None:
            self._causes.note(key, cause.format(*details))

    async def run(self) -> None:
        """Reconcile until ``stop`` was called and what was running is finished."""
        await inside(asyncio.TaskGroup(), self._run_with_helpers)
        self.scheduled.close()

    async def _run_with_helpers(self, group: asyncio.TaskGroup) -> None:
        helpers = [group.create_task(self.background.run())]
        helpers += [group.create_task(self._receive(source)) for source in self.declared.sources]
        if self._resync_s is not None:
            helpers.append(group.create_task(self._resync(self._resync_s)))
        await inside(asyncio.TaskGroup(), self._run_workers)
        for helper in helpers:
            helper.cancel()

    async def _run_workers(self, group: asyncio.TaskGroup) -> None:
        for _ in range(self._workers):
            group.create_task(self._work())

    def unfinished(self) -> list[tuple[Key, float]]:
        """Return the keys being reconciled, and for how many seconds; the longest first."""
        return sorted(self.queue.taken(), key=lambda pair: -pair[1])

    def late(self) -> list[Late]:
        """The reconciles that have not ended for long, with the lines that they wait at; the longest first."""
        return overdue.late(self._crew, self._now_s())

    def _stuck_lines(self) -> dict[tuple[str, ...], float]:
        return overdue.by_line(self._crew, self._now_s()) if self._crew else {}

    def end_overdue(self) -> None:
        """Cancel the reconciles that take longer than allowed; called now and then."""
        if self._exact_limit_s is None and self.limit_s is not None:
            for worker in self._crew:
                worker.end_overdue(self._now_s(), self.limit_s)

    def stuck(self) -> str:
        """Return why nothing will be reconciled any more: every worker hangs in a reconcile; else empty."""
        return "" if self.limit_s is None else overdue.all_stuck(self._crew, self._now_s(), self.limit_s)

    def stop(self) -> None:
        """Begin nothing new."""
        self._is_stopping = True
        self.scheduled.close()
        self.queue.shut_down()

    async def _receive(self, source: AsyncIterable[Any]) -> None:
        """Reconcile what a source names. One that fails is asked again after a while: it must neither go silent nor end
        the others. One that ends is told of.
        """
        failures, named = 0, type(source).__name__
        while True:
            try:
                async for key in source:
                    failures = 0
                    self._add_named(key, named)
            except Exception as error:  # author's code, and whatever it listens to
                failure = error
            except (asyncio.CancelledError, SystemExit) as end:
                if is_cancelled_from_outside(end):
                    raise
                failure = ended_itself(end, "the source")
            else:
                self._log.info("a source has ended", source=named)
                return
            failures += 1
            delay_s = min(SOURCE_AGAIN_S * 2.0 ** min(failures - 1, 16), MAX_SOURCE_AGAIN_S)
            self._failures.failed("a source failed", failure, source=named, again_in_s=delay_s)
            await asyncio.sleep(delay_s)

    def _add_named(self, key: Any, source: str) -> None:
        if isinstance(key, Key):
            self._note(key, "source {}", source)
            self.queue.add(key)
        else:
            problem = TypeError(f"a source must give Keys; write Key(namespace, name) instead of {key!r}")
            self._log.error("a source gave no key, so nothing is reconciled for it", problem, source=source)

    async def _resync(self, period_s: float) -> None:
        """Every so often, reconcile all objects as after a start, behind those that change now.

        It heals what no event tells of: somebody's change of an outside system, or a mistake in a map function.
        """
        while True:
            await asyncio.sleep(period_s)
            self.resync_nowait()

    def resync_nowait(self) -> None:
        """Ask for a reconcile of all objects, as after a start."""
        for tell in self._tell_again:
            tell()

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        worker = Worker(task)
        self._crew.append(worker)
        while True:
            try:
                key, priority = await self.queue.get_with_priority()
            except QueueShutDown:
                self._crew.remove(worker)
                return
            self._active += 1
            try:
                if not self._is_stopping:
                    await self._reconcile(key, priority, worker)
            finally:
                self._active -= 1
                worker.end()
                self.queue.done(key)

    async def _reconcile(self, key: Key, priority: int, worker: Worker) -> None:
        began = self._now_s()
        self.scheduled.drop(key)
        cause = "" if self._causes is None else self._causes.take(key)
        told = "error"
        try:
            declared = self.declared
            coroutine = declared.reconcile(Context(declared.name, key), key)
            worker.begin(key, coroutine, began)
            suspect = self._self_triggers.begin(key, began)
            perform = self.performer.perform
            running = drive(coroutine, perform if suspect is None else noted(suspect, perform))
            if self._tracer is None and self._exact_limit_s is None:
                result = await running
            else:
                result = await self._watched(running, key)
            if (wrong := wrong_result(result)) is not None:
                raise wrong
        except Exception as error:  # one object's failure must not end the worker of all others
            self._failed(key, error)
            self._go_on(key, after_error(error), priority)
        except (asyncio.CancelledError, SystemExit) as end:
            failure: Exception | None = worker.timeout(end)
            if failure is None:
                if is_cancelled_from_outside(end):
                    raise
                failure = ended_itself(end)
            else:
                self._metrics.timeouts.add(self.declared.name)
            self._failed(key, failure)
            self._go_on(key, after_error(failure), priority)
        else:
            follows = after_result(result)
            told = _RESULTS[follows.what]
            self._metrics.reconciles.add(self.declared.name, told)
            self._go_on(key, follows, priority)
        took_s = self._now_s() - began
        self._metrics.reconcile_time.observe(self.declared.name, value=took_s)
        if cause:
            self._log.debug("reconciled", key=str(key), result=told, took_ms=round(1000 * took_s, 1), cause=cause)

    def _now_s(self) -> float:
        """The time of the loop in which the controller runs."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop.time()

    async def _watched(self, running: Awaitable[Result | None], key: Key) -> Result | None:
        """A reconcile that has a time limit, or is traced."""
        if self._tracer is None:
            return await self._within_limit(running)
        name = self.declared.name
        attributes = {"controller": name, "namespace": key.namespace, "name": key.name}
        with self._tracer.start_as_current_span(f"reconcile {name}", attributes=attributes):
            return await self._within_limit(running)

    def _within_limit(self, running: Awaitable[Result | None]) -> Awaitable[Result | None]:
        """A reconcile, ended when it takes longer than its controller allows."""
        limit_s = self._exact_limit_s
        return running if limit_s is None else self._limited(running, limit_s)

    async def _limited(self, running: Awaitable[Result | None], limit_s: float) -> Result | None:
        limit = asyncio.timeout(limit_s)
        try:
            return await inside(limit, lambda _: running)
        except TimeoutError as error:
            if not limit.expired():
                raise
            self._metrics.timeouts.add(self.declared.name)
            ended = error.__cause__  # what the reconcile was cancelled by, with the line that it waited at
            raise ReconcileTimeout(limit_s, "" if ended is None else own_line(ended)) from error

    def _go_on(self, key: Key, follows: Next, priority: int) -> None:
        if follows.resets_backoff:
            self.queue.forget(key)
        if follows.what == "later":
            self._note(key, "timer of {:g} s", follows.delay_s)
            self.queue.add_after(key, follows.delay_s, priority=priority)
        elif follows.what == "backoff":
            self._note(key, "retry {}", self.queue.failures(key) + 1)
            self.queue.add_rate_limited(key, priority=priority)

    def _failed(self, key: Key, error: Exception) -> None:
        self._metrics.reconciles.add(self.declared.name, "error")
        self._metrics.errors.add(self.declared.name)
        if isinstance(error, TerminalError):
            self._metrics.terminal_errors.add(self.declared.name)
        if is_panic(error):
            self._metrics.panics.add(self.declared.name)
        failures = self.queue.failures(key) + 1
        self._failures.failed("reconcile failed", error, key=str(key), failures=failures)
        if failures >= PERSISTENT_FAILURES and not is_outage(error) and not isinstance(error, Conflict):
            self.performer.warn_of_failures(
                self.declared.for_.kind, key, f"the reconcile keeps failing: {in_short(error)}"
            )


def _finite(limit_s: float | None) -> float | None:
    return None if limit_s is None or math.isinf(limit_s) else limit_s

"""A controller's workers in a world: reconciles that are under way, one slot for each key.

One key is never with two workers at once, so a reconcile is told by its key, and workers need no names: a world with
two of them differs from a world with one only where two keys are reconciled at once.

A step is: perform what the reconcile waits for, hand it the answer, and let it run up to the next thing that others
could notice. Sending a request and its answer's way back are not steps of their own: until the server acts nobody can
notice the request, and an answer that is lost or that a crash overtakes is a step of its own.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from attractor.check.errors import Disabled, SpecError
from attractor.check.events import Ended, Performed, Recorded, Started
from attractor.check.sandbox.lint import slip
from attractor.check.sandbox.outside import barring
from attractor.check.values.snapshot import freeze
from attractor.check.world.simulation.process.activity import Activity, Pending
from attractor.check.world.simulation.process.background import Background
from attractor.check.world.simulation.process.controller_memory import loaded, saved
from attractor.check.world.simulation.process.set_order_audit import Begun, OrderAudit
from attractor.check.world.simulation.process.suspended import Answer, Finished, Suspended, Suspensions, context
from attractor.check.world.simulation.process.workqueue import WorldQueue
from attractor.check.world.simulation.slots import Sketch
from attractor.objects.gvk import GroupVersionKind
from attractor.runtime import effects
from attractor.runtime.worker.outcome import after_error, after_result, wrong_result
from attractor.runtime.worker.overdue import WORKERS
from attractor.runtime.worker.performer import Performer
from attractor.runtime.worker.routing import handler
from attractor.runtime.worker.views import Views

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from attractor.check.world.simulation.process.host import Host
    from attractor.check.world.simulation.process.suspended import Asked, Place, Run, Went
    from attractor.check.world.simulation.slots import Cell, Stage
    from attractor.objects.gvk import Key
    from attractor.runtime.controller import Controller, For, Owns, Watches
    from attractor.runtime.effects import Effect
    from attractor.runtime.predicates import Predicate

MEMORY = (effects.Recall, effects.Remember, effects.Forget, effects.Defer)
LOCAL = (*MEMORY, effects.Now, effects.Emit, effects.Schedule, effects.Start)
"""Effects that nobody else can notice, or order against anything: they happen with the step before them.

Where somebody can (background work that shares the memory, a clock that moves), they are steps of their own.
"""
STATELESS = (effects.Now, effects.Emit)
"""Those of them whose answer is always the same, and which leave nothing behind in the state."""
NOTHING = effects.Gather(())


class Worker:
    """The workers of one controller on one host."""

    def __init__(
        self,
        declared: Controller,
        host: Host,
        stage: Stage,
        *,
        keys: tuple[Key, ...],
        workers: int,
        externals: Mapping[type, object],
    ) -> None:
        self.declared, self.host, self.keys = declared, host, keys
        self.name = f"{host.name}/{declared.name}"
        self.stage, self._workers = stage, workers
        self.queue = WorldQueue(stage, self.name, declared.name, keys)
        self.memory: Cell = stage.slot("memory", self.name, ())
        self.background = Background(stage, self)
        self.reconciles = {key: Reconcile(self, key) for key in keys}
        self.audit = OrderAudit(stage.model)
        self.suspensions = Suspensions(declared.reconcile)
        self.suspensions.on_new = self._record
        if host.reductions.recalls_answers:
            stage.model.before_audit.append(self.suspensions.run_always)
        else:
            self.suspensions.run_always()
        if any(map(_is_event, declared.kinds)):
            stage.reads_events(f"controller {declared.name}")
        with stage.on(Sketch(stage.model)):
            declared = _barring(declared)
            self.views = Views(declared, host.cache)
            self._handlers = []
            for kind, informer in self.views.informers.items():
                handle = handler(declared, kind, self.views.keys_by_index(declared.for_.kind), self._add)
                informer.add_handler(handle)
                self._handlers.append((informer, handle))
        self._performer = Performer(
            declared.name,
            client=host.client,
            views=self.views,
            recorder=_Recorder(stage),  # type: ignore[arg-type]  # it is only told
            externals=externals,
            now=host.now,
            start=lambda *_, **__: None,
            schedule=self.queue.schedule,
            may_write=host.may_write,
        )

    def _add(self, key: Key, priority: int) -> None:
        self.queue.add(key, priority=priority)

    def _record(self, place: Place, began: Any, asked: list[Asked]) -> None:
        """Note what code did with all answers that it was given, if somebody wants to know."""
        record = self.stage.model.record
        if record is not None and asked:
            key, origin = began
            answers = [freeze(tuple(each)) for each in place.answers]
            situation = (str(key), freeze(origin.task.held) if origin else None, *answers)
            who = f"the {'background work' if origin else 'reconcile'} of {key} by {self.name}"
            record.note(situation, who, asked[-1].line, asked[-1].text, [each.content for each in asked])

    def running(self, key: Key) -> Cell:
        """The slot of the reconcile of a key: None, or what it waits for and the priority of its key."""
        return self.stage.slot("reconcile", f"{self.name}/{key}")

    @property
    def activities(self) -> Sequence[Activity]:
        """What may be under way: a reconcile of each key, and background work at each place."""
        return [*self.reconciles.values(), *self.background.places]

    def reads_server(self, effect: Effect[Any]) -> bool:
        """Whether an effect is a read that the cache does not answer."""
        if not isinstance(effect, effects.Get | effects.List):
            return False
        return not (effect.is_cached and self.views.follows(effect.kind))

    # Steps.

    def start(self, key: Key) -> None:
        """A free worker takes the key and begins to reconcile."""
        if (
            self.host.unsynced.get()
            or self.host.is_stopping()
            or (self.declared.needs_leader and not self.host.may_write())
        ):
            raise Disabled
        priority = self.queue.take(key, self._workers, self._on_busy)
        self.stage.note(Started(self.host.name, self.declared.name, key))
        self.reconciles[key].arrive(self._settle(key, self.suspensions.begin(self._maker(key)))[0], priority)

    def _on_busy(self) -> None:
        """A key waits only because there are fewer workers than in production."""
        if self.host.lacks_workers(self.declared):
            text = f"{self._workers} workers of a controller that does not declare how many"
            self.stage.model.bind("workers", text, f"workers={WORKERS}, as production has, or declare `workers=`")

    def resync(self) -> None:
        """Everything is reconciled again, although nothing changed."""
        if self.host.unsynced.get():
            raise Disabled
        for informer, handle in self._handlers:
            informer.tell(handle)

    def forget(self) -> None:
        """The process is gone."""
        self.queue.forget()
        self.memory.set(())
        self.background.forget()
        for each in self.reconciles.values():
            each.cell.set(None)

    # Inside a step.

    def _maker(self, key: Key) -> Callable[[], Coroutine[Any, Any, Any]]:
        return lambda: self.declared.reconcile(context(self.declared.name, key), key)

    def answered(self, key: Key, suspended: Suspended, answer: Answer) -> Went:
        """Where a reconcile gets to with an answer; its code is run unless that is known."""

        def go() -> tuple[Went, bool]:
            return self._settle(key, self.suspensions.resume(suspended, answer))

        if self.stage.on_note is not None:  # somebody wants to hear what the code does
            return go()[0]
        return self.suspensions.recall(suspended, answer, go)

    def _settle(self, key: Key, run: Run) -> tuple[Went, bool]:
        """Let a reconcile run up to the next effect that others could notice, or to its end.

        Also says whether it got there without a look at the state, and without a change of it.
        """
        is_alone = self.run_local(key, run)
        if not run.is_done:
            went = self.suspensions.suspend(run, key, self._maker(key))
            return went, is_alone and not isinstance(went.effect, MEMORY)
        if self.suspensions.end(run, key, self._maker(key)):
            begun = Begun(key, self._maker(key), self.declared.reconcile, self.suspensions.met)
            self.audit.finished(run, begun)
        error = run.error or wrong_result(run.result)
        if error is not None and (remark := slip(self.declared.name, error)):
            self.stage.model.remarks[remark] = None
        return Finished(error, after_error(error) if error is not None else after_result(run.result)), is_alone

    def bound_answers(self, suspended: Suspended) -> None:
        """A coroutine has got there; with too many answers it is left there, and the verdict says so."""
        if suspended.place.depth <= self.stage.bounds.answers:
            return
        self.stage.model.bind(
            "answers",
            f"{self.stage.bounds.answers} answers of one reconcile of {self.declared.name}, which asks in a loop at "
            f"{suspended.line}",
            "return Result(requeue_after_s=...) there instead of asking again, "
            f"or {self.stage.bounds.raising('answers')}",
        )
        self.stage.leave_bounds()

    def run_local(self, key: Key, run: Run, *, is_background: bool = False) -> bool:
        """Answer what nobody else can notice, for as long as nothing else is asked.

        A reconcile's memory is its own while no background work is there; that of background work never is.
        Says whether the answers were the same as always, without a look at the state, and left nothing behind in it.
        """
        is_alone = True
        while (
            not run.is_done
            and len(run.history) <= self.stage.bounds.answers
            and self._is_unnoticed(run.effect, is_background=is_background)
        ):
            is_alone = is_alone and (run.effect == NOTHING or isinstance(run.effect, STATELESS))
            run.note()
            run.go_on(self.answer(key, run.effect))
        self.suspensions.check_guarded(run, f"controller {self.declared.name!r}")
        return is_alone

    def _is_unnoticed(self, effect: Effect[Any], *, is_background: bool) -> bool:
        if effect == NOTHING:
            return True
        if not isinstance(effect, LOCAL) or not self.host.reductions.joins_local_steps:
            return False
        if isinstance(effect, effects.Now):
            return self.host.clock_stands
        return not isinstance(effect, MEMORY) or (not is_background and self.background.is_idle)

    def answer(self, key: Key, effect: Effect[Any]) -> Answer:
        """Perform an effect; a failure is an answer too."""
        from attractor.check.world.simulation.process.host import at_once

        if effect == NOTHING:
            return Answer(())
        if isinstance(effect, effects.Start):
            self.background.start(effect)
        self._remark(effect)
        is_memory = isinstance(effect, MEMORY)
        if is_memory:
            self._performer.memory = loaded(self.memory.get())
        try:
            value = at_once(self._performer.perform(effect))
        except SpecError:
            raise
        except (Exception, asyncio.CancelledError) as error:  # the reconcile gets to see whatever fails
            answer = Answer(None, error)
        else:
            answer = Answer(value)
        if is_memory:
            self.memory.set(saved(self._performer.memory))
        self.stage.note(Performed(self.host.name, self.declared.name, key, effect, answer))
        return answer

    def _remark(self, effect: Effect[Any]) -> None:
        """Say what an effect is not in a world."""
        who = f"controller {self.declared.name}"
        if isinstance(effect, effects.Emit):
            self.stage.emits(who)
        elif isinstance(effect, effects.Get | effects.List) and _is_event(effect.kind):
            self.stage.reads_events(who)
        elif isinstance(effect, effects.Now) and not self.stage.says_time:
            self.stage.model.remarks[
                f"{who} asks for the time, which stands still here: nothing ever expires, and all objects are of the "
                "same age; give the world the instants that matter, as in World(clock=(noon, evening))"
            ] = None


def _is_event(kind: effects.Kind) -> bool:
    gvk = kind if isinstance(kind, GroupVersionKind) else kind.gvk
    return gvk.kind == "Event" and gvk.group in {"", "events.k8s.io"}


class Reconcile(Activity):
    """The reconcile of one key."""

    def __init__(self, worker: Worker, key: Key) -> None:
        who = (("host", worker.host.name), ("controller", worker.declared.name), ("key", str(key)))
        super().__init__(worker, worker.running(key), who)
        self._key = key

    def key(self, pending: Pending) -> Key:
        """The key."""
        return self._key

    def resume(self, pending: Pending, answer: Answer) -> None:
        """Let it run on with an answer."""
        went = self.worker.answered(self._key, pending.suspended, answer)
        self.arrive(went, pending.priority, is_cancelled=pending.is_cancelled)

    def arrive(self, went: Went, priority: int, *, is_cancelled: bool = False) -> None:
        """It has got there."""
        if isinstance(went, Suspended):
            self.worker.bound_answers(went)
            self.cell.set(Pending(went, priority, is_cancelled=is_cancelled))
            return
        self.worker.stage.note(Ended(self.host.name, self.worker.declared.name, self._key, went.error, went.follows))
        self.worker.queue.finish(self._key, went.follows, priority)
        self.cell.set(None)


def _barring(declared: Controller) -> Controller:
    """The same declaration, whose functions may ask nothing from outside."""

    def when(part: For | Owns | Watches[Any]) -> Predicate:
        return cast("Predicate", barring(part.when))

    watches = (
        replace(each, when=when(each), to_keys=each.to_keys and barring(each.to_keys)) for each in declared.watches
    )
    return replace(
        declared,
        for_=replace(declared.for_, when=when(declared.for_)),
        owns=tuple(replace(each, when=when(each)) for each in declared.owns),
        watches=tuple(watches),
        indexes=tuple(replace(each, values=barring(each.values)) for each in declared.indexes),
    )


class _Recorder:
    """Takes Events about objects; nobody in a world reads them."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def record(self, controller: str, obj: Any, kind: str, reason: str, message: str) -> None:
        """Emit an Event for the story."""
        self.stage.note(Recorded(reason, message))

"""A controller's workers in a world: reconciles that are under way, one slot for each key.

One key is never with two workers at once, so a reconcile is told by its key, and workers need no names: a world with
two of them differs from a world with one only where two keys are reconciled at once.

A step is: perform what the reconcile waits for, hand it the answer, and let it run up to the next thing that others
could notice. Sending a request and its answer's way back are not steps of their own: until the server acts nobody can
notice the request, and an answer that is lost or that a crash overtakes is a step of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.errors import Disabled, SpecError
from attractor.check.world.auditing import OrderAudit
from attractor.check.world.guarding import guarded_state
from attractor.check.world.notes import Ended, Performed, Recorded, Started
from attractor.check.world.queueing import WorldQueue
from attractor.check.world.remembering import Kept, loaded, saved
from attractor.check.world.slips import slip
from attractor.check.world.stage import Sketch
from attractor.check.world.suspension import Answer, Finished, Suspended, Suspensions, context
from attractor.check.world.working import Background
from attractor.runtime import effects
from attractor.runtime.outcome import after_error, after_result, wrong_result
from attractor.runtime.performer import Performer
from attractor.runtime.routing import handler
from attractor.runtime.views import Views

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from attractor.check.world.host import Host
    from attractor.check.world.stage import Cell, Stage
    from attractor.check.world.suspension import Run, Went
    from attractor.objects.gvk import Key
    from attractor.runtime.controller import Controller
    from attractor.runtime.effects import Effect

    Wanted = Callable[[Effect[Any]], bool]

MEMORY = (effects.Recall, effects.Remember, effects.Forget, effects.Defer)
LOCAL = (*MEMORY, effects.Now, effects.Emit, effects.Schedule, effects.Start)
"""Effects that nobody else can notice, or order against anything: they happen with the step before them.

Where somebody can (background work that shares the memory, a clock that moves), they are steps of their own.
"""
STATELESS = (effects.Now, effects.Emit)
"""Those of them whose answer is always the same, and which leave nothing behind in the state."""
NOTHING = effects.Gather(())
WRITES = (effects.Create, effects.Update, effects.Patch, effects.Delete)


def is_write(effect: Effect[Any]) -> bool:
    """Whether an effect writes to the server."""
    return isinstance(effect, WRITES)


class Pending(NamedTuple):
    """A reconcile under way: what it waits for, the priority of its key, and the answers to part of a ``Gather``."""

    suspended: Suspended
    priority: int = 0
    answers: tuple[Kept | None, ...] = ()


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
        self._stage, self._workers = stage, workers
        self.queue = WorldQueue(stage, self.name, declared.name, keys)
        self.memory: Cell = stage.slot("memory", self.name, ())
        self.background = Background(stage, self)
        self.audit = OrderAudit()
        self.suspensions = Suspensions(lambda: guarded_state(declared), merges=host.merges_reconciles)
        if host.recalls_answers:
            stage.model.before_audit.append(self.suspensions.run_always)
        else:
            self.suspensions.run_always()
        with stage.on(Sketch(stage.model)):
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

    def running(self, key: Key) -> Cell:
        """The slot of the reconcile of a key: None, or what it waits for and the priority of its key."""
        return self._stage.slot("reconcile", f"{self.name}/{key}")

    def pending(self, key: Key) -> Pending:
        """The reconcile that is under way for a key; there is no step when there is none."""
        found: Pending | None = self.running(key).get()
        if found is None:
            raise Disabled
        return found

    def asked(self, key: Key, only: Wanted | None = None) -> tuple[int, Effect[Any]]:
        """What the reconcile of a key waits for: an effect, or one of those that it asked for together.

        With ``only`` there is no step unless such an effect is among them.
        """
        pending = self.pending(key)
        effect = pending.suspended.effect
        inner = effect.effects if isinstance(effect, effects.Gather) else (effect,)
        open_ = [at for at in range(len(inner)) if not (pending.answers and pending.answers[at] is not None)]
        fitting = [at for at in open_ if only is None or only(inner[at])]
        at = fitting[0] if len(fitting) == 1 else self._stage.view.choose(fitting)
        return at, inner[at]

    def reads_server(self, effect: Effect[Any]) -> bool:
        """Whether an effect is a read that the cache does not answer."""
        if not isinstance(effect, effects.Get | effects.List):
            return False
        return not (effect.is_cached and self.views.follows(effect.kind))

    # Steps.

    def start(self, key: Key) -> None:
        """A free worker takes the key and begins to reconcile."""
        if self.host.unsynced.get() or (self.declared.needs_leader and not self.host.may_write()):
            raise Disabled
        priority = self.queue.take(key, self._workers)
        self._stage.note(Started(self.name, key))
        self._arrive(key, self._settle(key, self.suspensions.begin(self._maker(key)))[0], priority)

    def go_on(self, key: Key, only: Wanted | None = None) -> None:
        """Perform what the reconcile of a key waits for, and let it go on."""
        pending = self.pending(key)
        at, effect = self.asked(key, only)
        answer = self.answer(key, effect)
        if isinstance(pending.suspended.effect, effects.Gather):
            answers = list(pending.answers or (None,) * len(pending.suspended.effect.effects))
            answers[at] = Kept(answer.value if answer.error is None else answer.error)
            if None in answers:
                self.running(key).set(pending._replace(answers=tuple(answers)))
                return
            answer = Answer(tuple(each.value for each in answers if each is not None))
        self._arrive(key, self._answered(key, pending.suspended, answer), pending.priority)

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
        for key in self.keys:
            self.running(key).set(None)

    # Inside a step.

    def _maker(self, key: Key) -> Callable[[], Coroutine[Any, Any, Any]]:
        return lambda: self.declared.reconcile(context(self.declared.name, key), key)

    def _answered(self, key: Key, suspended: Suspended, answer: Answer) -> Went:
        """Where a reconcile gets to with an answer; its code is run unless that is known."""

        def go() -> tuple[Went, bool]:
            return self._settle(key, self.suspensions.resume(suspended, answer))

        if self._stage.on_note is not None:  # somebody wants to hear what the code does
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
        self.audit.finished(run, key, self._maker(key), self.declared.reconcile)
        error = run.error or wrong_result(run.result)
        if error is not None and (remark := slip(self.declared.name, error)):
            self._stage.model.remarks[remark] = None
        return Finished(error, after_error(error) if error is not None else after_result(run.result)), is_alone

    def _arrive(self, key: Key, went: Went, priority: int) -> None:
        """The reconcile of a key has got there."""
        if isinstance(went, Suspended):
            self.running(key).set(Pending(went, priority))
            return
        self._stage.note(Ended(self.name, key, went.error, went.follows))
        self.queue.finish(key, went.follows, priority)
        self.running(key).set(None)

    def run_local(self, key: Key, run: Run, *, is_background: bool = False) -> bool:
        """Answer what nobody else can notice, for as long as nothing else is asked.

        A reconcile's memory is its own while no background work is there; that of background work never is.
        Says whether the answers were the same as always, without a look at the state, and left nothing behind in it.
        """
        is_alone = True
        while not run.is_done and self._is_unnoticed(run.effect, is_background=is_background):
            is_alone = is_alone and (run.effect == NOTHING or isinstance(run.effect, STATELESS))
            run.go_on(self.answer(key, run.effect))
        self.suspensions.check_guarded(run, f"controller {self.declared.name!r}")
        return is_alone

    def _is_unnoticed(self, effect: Effect[Any], *, is_background: bool) -> bool:
        if effect == NOTHING:
            return True
        if not isinstance(effect, LOCAL) or not self.host.joins_local_steps:
            return False
        if isinstance(effect, effects.Now):
            return self.host.clock_stands
        return not isinstance(effect, MEMORY) or (not is_background and self.background.is_idle)

    def answer(self, key: Key, effect: Effect[Any]) -> Answer:
        """Perform an effect; a failure is an answer too."""
        from attractor.check.world.host import at_once

        if effect == NOTHING:
            return Answer(())
        if isinstance(effect, effects.Start):
            self.background.start(effect)
        is_memory = isinstance(effect, MEMORY)
        if is_memory:
            self._performer.memory = loaded(self.memory.get())
        try:
            value = at_once(self._performer.perform(effect))
        except SpecError:
            raise
        except Exception as error:  # the reconcile gets to see whatever fails
            answer = Answer(None, error)
        else:
            answer = Answer(value)
        if is_memory:
            self.memory.set(saved(self._performer.memory))
        self._stage.note(Performed(self.name, key, effect, answer))
        return answer


class _Recorder:
    """Takes Events about objects; nobody in a world reads them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def record(self, controller: str, obj: Any, kind: str, reason: str, message: str) -> None:
        """Note an Event for the account."""
        self._stage.note(Recorded(controller, reason, message))

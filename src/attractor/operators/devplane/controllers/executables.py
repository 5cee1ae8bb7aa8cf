"""The controller of Executables: each one a process, started, watched, restarted and stopped as its spec says.

Level-based: a reconcile looks at the object, at what it remembers and at the machine (``Processes.look``), takes one
step and writes at most once. What may take long (starting, stopping, probing) is done in the background and reported
through memory; the machine tells that there is news, never what.

What keeps an Executable from having two processes: that it is starting is stored before anything is started; a start is
remembered before it is begun, and begun only on what the server says now, not on what a cache says; and a run is
claimed by its number on the machine, so that whoever starts after a crash starts nothing twice. Its name plays no part
in it: uid and number of the run do. Nothing is forgotten while a start is under way, and nothing is removed before it
was stopped, which also cancels a start that somebody who died had begun.

Each run carries the word for which it was begun (``spec.restart``, and the words of dependencies that it follows). A
run whose word is no longer the one that is asked for is ended, and followed by another. So a restart is never lost and
never done twice, also when it is asked for while a start waits or is under way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from attractor.operators.devplane.api.executables import FINAL, MOVES, Executable, ExecutableReplicaSet
from attractor.operators.devplane.api.services import Service
from attractor.operators.devplane.api.templates import NotServed, Unresolved
from attractor.operators.devplane.controllers.dependencies import KINDS, depended_keys, restart_word, unmet
from attractor.operators.devplane.controllers.health import Answer, Prober, Question, answered, asked, due_at, health_of
from attractor.operators.devplane.controllers.launch import Places, launch_of, needed, needed_keys, question_of
from attractor.operators.devplane.drivers.processes import Processes
from attractor.runtime import Index, Key, Reconciler, Result, Watches, controller
from attractor.runtime.toolkit.conditions import find_condition, set_condition

if TYPE_CHECKING:
    from collections.abc import AsyncIterable
    from datetime import datetime

    from attractor.operators.devplane.api.containers import Container
    from attractor.operators.devplane.api.executables import ExecutableStatus, Phase, RestartPolicy
    from attractor.operators.devplane.controllers.dependencies import Found
    from attractor.operators.devplane.drivers.processes import Launch, Run
    from attractor.runtime import Context, Controller

LATER_S = 1.0
"""When to look again at what should be told anyway."""
STRAY_GRACE_S = 6.0
NEEDS, DEPENDS = "needs", "depends"


@dataclass(frozen=True)
class Known:
    """Memory of this process about an Executable; a crash forgets it."""

    uid: str
    starting: int | None = None
    """The run that is being begun."""
    stop: Literal["", "under way", "done"] = ""
    problem: str = ""
    """Why the machine could not do what it was asked, if it could not; it is asked again."""
    answers: tuple[Answer, ...] = ()
    """What the probes said."""


async def begin(ctx: Context, uid: str, number: int, launch: Launch) -> None:
    """In the background: begin a run, and report that the machine was asked to."""
    problem = ""
    try:
        await ctx.external(Processes).start(ctx.key, uid, number, launch)
    except Exception as error:  # whatever it is, the start is over, and is tried again if there is no run
        problem = str(error) or type(error).__name__
    await ctx.defer(Known, lambda known: replace(known, starting=None, problem=problem), identity=uid)
    await ctx.schedule()


async def end(ctx: Context, uid: str, grace_s: float) -> None:
    """In the background: end all that runs, and report that nothing does."""
    done: Literal["", "done"] = "done"
    problem = ""
    try:
        await ctx.external(Processes).stop(ctx.key, uid, grace_s)
    except Exception as error:  # it is tried again until nothing is left
        done, problem = "", str(error) or type(error).__name__
    await ctx.defer(Known, lambda known: replace(known, stop=done, problem=problem), identity=uid)
    await ctx.schedule()


async def ask(ctx: Context, uid: str, number: int, probe: str, question: Question) -> None:
    """In the background: ask whether a run is healthy."""
    problem = await ctx.external(Prober).ask(question)
    await ctx.defer(
        Known,
        lambda known: replace(known, answers=answered(known.answers, probe, number, problem)),
        identity=uid,
    )
    await ctx.schedule()


async def clear(ctx: Context, uid: str) -> None:
    """In the background: end and remove what belonged to an Executable that is no more."""
    await ctx.external(Processes).stop(ctx.key, uid, STRAY_GRACE_S)
    await ctx.external(Processes).remove(uid)


class Executables(Reconciler[Executable]):
    """Keeps each Executable's process as its spec says."""

    kind = Executable

    async def sync(self, ctx: Context, obj: Executable) -> Result | None:
        """Take the next step of an Executable's life."""
        status = obj.status
        status.observed_generation = obj.metadata.generation
        word = restart_word(obj, await dependencies(ctx, obj))
        if status.phase in FINAL and (status.phase == "Terminated" or word == status.restart):
            return None
        known = await recalled(ctx, obj.metadata.uid)
        if known is None:
            return Result(requeue_after_s=LATER_S)
        if status.phase == "":
            await self._prepare(ctx, obj)
            return None
        run = await ctx.external(Processes).look(obj.metadata.uid)
        if run is not None and status.restarts <= run.number:
            tell_facts(status, run)
            result = await self._attend(ctx, obj, known, run, word)
        else:
            result = await self._go_on(ctx, obj, known, run)
        await self._tell_health(ctx, obj, known)
        return result

    async def clean_up(self, ctx: Context, obj: Executable) -> Result | None:
        """Stop what runs, or may yet begin to; then remove what was written down."""
        known, status = await recalled(ctx, obj.metadata.uid), obj.status
        if known is None or known.starting is not None:
            return Result(requeue_after_s=LATER_S)  # whatever is being started is not removed before it is there
        if status.phase != "":
            if known.stop == "":
                await self._stop(ctx, obj, known)
            if known.stop != "done":
                if status.phase not in FINAL:
                    move(status, "Stopping", known.problem)
                return Result(requeue_after_s=LATER_S)
            await ctx.external(Processes).remove(obj.metadata.uid)
        await ctx.forget(Known)
        return None

    async def gone(self, ctx: Context, key: Key) -> Result | None:
        """Clear up after an Executable whose finalizer somebody has removed."""
        if await ctx.find(Executable, key, cached=False) is not None:
            return None  # the cache will hear of it
        if await recalled(ctx, "") is None:
            return Result(requeue_after_s=LATER_S)
        await ctx.forget(Known)
        await self._clear_strays(ctx, key, "")
        return None

    async def _clear_strays(self, ctx: Context, key: Key, uid: str) -> None:
        for stray in await ctx.external(Processes).strays(key, uid):
            await ctx.start(clear, stray)

    async def _prepare(self, ctx: Context, obj: Executable) -> None:
        """Decide, before anything is started: that it starts, and where it serves."""
        if obj.spec.stop:
            move(obj.status, "Terminated", "told to stop before it was started")
        elif not obj.spec.start:
            obj.status.message = "waits for spec.start"
        else:
            for one in obj.spec.serves:
                port = one.port or await ctx.external(Processes).free_port(one.address)
                obj.status.ports[one.service] = port
            move(obj.status, "Starting")

    async def _go_on(self, ctx: Context, obj: Executable, known: Known, run: Run | None) -> Result | None:
        """Bring about a run that has not begun: the first one, or one after another that ended."""
        if self._is_busy(known, obj):
            return Result(requeue_after_s=LATER_S)
        if obj.spec.stop:
            return await self._cancel(ctx, obj, known)
        if run is not None and (wait_s := waits_s(obj.status, run, await ctx.now())):
            return Result(requeue_after_s=wait_s)
        if not await self._is_current(ctx, obj):
            return Result(requeue_after_s=LATER_S)
        launch = await self._launch(ctx, obj)
        if launch is None:
            return None
        if run is None:
            await self._clear_strays(ctx, obj.key, obj.metadata.uid)
        await self._begin(ctx, known, 0 if run is None else run.number + 1, launch)
        obj.status.message = known.problem
        return None

    def _is_busy(self, known: Known, obj: Executable) -> bool:
        """Return whether a start is under way, or the stop of an earlier run, which would end the next one, too."""
        return known.starting is not None or (known.stop == "under way" and not obj.spec.stop)

    async def _launch(self, ctx: Context, obj: Executable) -> Launch | None:
        """The process to be; None, and the reason in the status, while it waits for others or if it cannot be."""
        others = await dependencies(ctx, obj, cached=False)
        word = restart_word(obj, others)
        if waits := self._unmet(obj, others):
            obj.status.message = waits
            return None
        try:
            return launch_of(obj.spec, await places(ctx, obj), word)
        except Unresolved as missing:
            obj.status.message = str(missing)
        except NotServed as mistake:
            move(obj.status, "FailedToStart", str(mistake))
            obj.status.restart = word
        return None

    def _unmet(self, obj: Executable, others: Found) -> str:
        return unmet(obj.spec.depends_on, others)

    async def _is_current(self, ctx: Context, obj: Executable) -> bool:
        """Return whether the server says the same as the cache: one that lags may show an object that is long gone."""
        stored = await ctx.find(Executable, obj.key, cached=False)
        return stored is not None and stored.metadata.resource_version == obj.metadata.resource_version

    async def _begin(self, ctx: Context, known: Known, number: int, launch: Launch) -> None:
        await ctx.remember(replace(known, starting=number, stop=""), identity=known.uid)
        await ctx.start(begin, known.uid, number, launch)

    async def _cancel(self, ctx: Context, obj: Executable, known: Known) -> Result | None:
        """Stop before a run has begun; a shim of somebody who died may be about to begin it."""
        if known.stop == "done":
            move(obj.status, "Terminated")
            return None
        if known.stop == "":
            await self._stop(ctx, obj, known)
        return Result(requeue_after_s=LATER_S)

    async def _attend(self, ctx: Context, obj: Executable, known: Known, run: Run, word: str) -> Result | None:
        """Look after the run that the status is about."""
        is_asked_again = not obj.spec.stop and (run.is_stopped or word != run.word)
        if is_asked_again and not await self._is_asked_again(ctx, obj, run):
            return Result(requeue_after_s=LATER_S)
        if not run.is_live:
            tell_end(obj, run, is_asked_again=is_asked_again)
            return None
        if obj.spec.stop or is_asked_again:
            if known.stop != "under way":
                await self._stop(ctx, obj, known)
            move(obj.status, "Stopping", known.problem)
            return Result(requeue_after_s=LATER_S)
        if run.state == "starting":
            return Result(requeue_after_s=LATER_S)
        move(obj.status, "Running")
        return await self._probe(ctx, obj, known, run)

    async def _is_asked_again(self, ctx: Context, obj: Executable, run: Run) -> bool:
        """Return whether the server says so, too: a cache that lags may show a word that was heeded long ago."""
        is_current = await self._is_current(ctx, obj)
        word = restart_word(obj, await dependencies(ctx, obj, cached=False))
        return is_current and (run.is_stopped or word != run.word)

    async def _stop(self, ctx: Context, obj: Executable, known: Known) -> None:
        await ctx.remember(replace(known, stop="under way"), identity=known.uid)
        await ctx.start(end, known.uid, obj.spec.stop_grace_seconds)

    async def _probe(self, ctx: Context, obj: Executable, known: Known, run: Run) -> Result | None:
        """Ask what is due to be asked; answers when the next question is due."""
        if not obj.spec.probes or run.started_at is None:
            return None
        now = await ctx.now()
        answers = {answer.probe: answer for answer in known.answers if answer.run == run.number}
        coming = []
        for probe in obj.spec.probes:
            due = due_at(probe, run.started_at, answers.get(probe.name))
            if due is None:
                continue
            if due > now:
                coming.append((due - now).total_seconds())
                continue
            try:
                question = question_of(probe, obj.spec, await places(ctx, obj), run)
            except (Unresolved, NotServed) as problem:
                obj.status.message = f"probe {probe.name}: {problem}"
                continue
            known = replace(known, answers=asked(known.answers, probe.name, run.number, now))
            await ctx.remember(known, identity=known.uid)
            await ctx.start(ask, known.uid, run.number, probe.name, question)
        return Result(requeue_after_s=min(coming)) if coming else None

    async def _tell_health(self, ctx: Context, obj: Executable, known: Known) -> None:
        status = obj.status
        status.health = health_of(status, obj.spec.probes, known.answers)
        if status.phase == "Running":
            problems = [f"probe {one.probe}: {one.problem}" for one in known.answers if one.problem]
            status.message = status.message or "; ".join(problems)
        is_ready = status.phase == "Running" and status.health == "Healthy"
        before = find_condition(status.conditions, "Ready")
        if before is None or (before.status == "True") != is_ready:
            reason = status.health if status.phase == "Running" else status.phase
            set_condition(
                status.conditions,
                "Ready",
                is_ready,
                reason=reason,
                now=await ctx.now(),
                generation=obj.metadata.generation,
            )


async def recalled(ctx: Context, uid: str) -> Known | None:
    """Return the memory of this very object, nothing of a namesake; None while one is still being started."""
    known = await ctx.recall(Known)
    if known is None or known.uid == uid:
        return known or Known(uid)
    return Known(uid) if known.starting is None else None


async def dependencies(ctx: Context, obj: Executable | Container, *, cached: bool = True) -> Found:
    """Return what an Executable or a Container depends on, as far as it is there."""
    wanted = {(one.kind, one.name) for one in obj.spec.depends_on}
    return {
        (kind, name): await ctx.find(KINDS[kind], Key(obj.metadata.namespace, name), cached=cached)
        for kind, name in sorted(wanted)
    }


async def places(ctx: Context, obj: Executable) -> Places:
    """Return the addresses of the Services that an Executable asks for, and of those that it serves."""
    found = {name: await ctx.find(Service, Key(obj.metadata.namespace, name)) for name in needed(obj.spec)}
    return Places.of(obj, {name: service for name, service in found.items() if service is not None})


def executables(*changes: AsyncIterable[Key]) -> Controller:
    """The controller; ``changes`` are the Executables of which a machine has news."""
    return controller(
        Executables(),
        name="executables",
        watches=[
            Watches(Service, index=NEEDS),
            Watches(Executable, index=DEPENDS),
            Watches(ExecutableReplicaSet, index=DEPENDS),
        ],
        indexes=[Index(Executable, NEEDS, needed_keys), Index(Executable, DEPENDS, depended_keys)],
        sources=changes,
        externals=[Processes, Prober],
        workers=4,
        background_limit=64,
    )


FIRST_BACKOFF_S, MAX_BACKOFF_S = 0.5, 60.0
STEADY_S = 60.0
"""A run that lasted this long was no failed attempt: the next restart does not wait longer than the first one did."""


def move(status: ExecutableStatus, phase: Phase, message: str = "") -> None:
    """Go to another phase, as the table allows."""
    if phase != status.phase:
        assert phase in MOVES[status.phase], f"the table has no way from {status.phase!r} to {phase!r}"
        status.phase = phase
    status.message = message


def tell_facts(status: ExecutableStatus, run: Run) -> None:
    """Say what is known about a run."""
    status.restarts = max(status.restarts, run.number)
    status.pid = run.pid
    status.started_at, status.finished_at = run.started_at, run.finished_at
    status.exit_code = run.exit_code
    status.restart = run.word
    status.stdout_file, status.stderr_file = run.stdout_file, run.stderr_file


def tell_end(executable: Executable, run: Run, *, is_asked_again: bool = False) -> None:
    """Say what the end of a run leads to: another run, at once or later, or the end of all."""
    spec, status = executable.spec, executable.status
    if is_asked_again:
        status.restarts, status.backoff_seconds = run.number + 1, 0.0
        move(status, "Starting", "starts again, as it was told to")
    elif run.state == "failed":
        move(status, "FailedToStart", run.error)
    elif run.is_stopped:
        move(status, "Terminated")
    elif not spec.stop and is_run_again(spec.restart_policy, run):
        status.restarts = run.number + 1
        status.backoff_seconds = next_backoff_s(status.backoff_seconds, run)
        how = "was lost" if run.state == "lost" else f"ended with {run.exit_code}"
        move(status, "Starting", f"{how}; starts again {status.backoff_seconds:g} s later")
    elif run.state == "lost":
        move(status, "Unknown", "its process is gone, and nobody saw how it ended: what watched it was killed too")
    else:
        move(status, "Finished")


def is_run_again(policy: RestartPolicy, run: Run) -> bool:
    """Return whether a run that ended by itself is followed by another; one whose end nobody saw counts as failed."""
    return policy == "Always" or (policy == "OnFailure" and run.exit_code != 0)


def next_backoff_s(before_s: float, run: Run) -> float:
    """Return the delay after a run: twice as long as before it, up to a limit, unless it was a steady one."""
    lasted = timedelta() if run.started_at is None or run.finished_at is None else run.finished_at - run.started_at
    if lasted >= timedelta(seconds=STEADY_S):
        return FIRST_BACKOFF_S
    return min(max(FIRST_BACKOFF_S, 2 * before_s), MAX_BACKOFF_S)


def waits_s(status: ExecutableStatus, run: Run, now: datetime) -> float:
    """Return how much longer the next run has to wait for the backoff; 0 when its time has come."""
    if run.finished_at is None:
        return 0.0
    return max(0.0, status.backoff_seconds - (now - run.finished_at).total_seconds())

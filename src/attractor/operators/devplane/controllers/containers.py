"""The controller of Containers: each one a container of the runtime, made, started, watched and removed.

Level-based: a reconcile looks at the object, at what it remembers and at the runtime (``find``), takes one step and
writes at most once. Images are fetched, and containers made, started and ended, in the background, six at a time; the
runtime tells that there is news, never what.

What keeps a Container from running twice: its container has a name that no other object's has, and the runtime gives a
name once. A container is started by its id, by the very task that made it, once. One that was made and not started
belongs to somebody who died, or lost an answer: it is removed and made anew, so that a start that is still under way
meets nothing. One that has ended is never started again by us. The phase follows what the runtime says, also when
somebody else has started, stopped or removed the container.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from attractor.objects.gvk import Key
from attractor.operators.devplane.api.container_networks import ContainerNetwork, ContainerVolume
from attractor.operators.devplane.api.containers import Container, PublishedPort
from attractor.operators.devplane.api.services import Service
from attractor.operators.devplane.api.templates import NotServed, Unresolved
from attractor.operators.devplane.controllers import container_orders as orders
from attractor.operators.devplane.controllers.health import (
    Answer,
    Prober,
    answered,
    asked,
    due_at,
    health_while_running,
)
from attractor.operators.local.containers.runtime import (
    ContainerRuntime,
    ExecOrder,
    NameTaken,
    Refused,
    RuntimeProblem,
)
from attractor.runtime import Index, Reconciler, Result, Watches, controller
from attractor.runtime.toolkit.conditions import find_condition, set_condition

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Sequence

    from attractor.operators.devplane.api.containers import ContainerPhase, ContainerSpec, ContainerStatus
    from attractor.operators.devplane.controllers.health import Question
    from attractor.operators.local.containers.runtime import ContainerOrder, FoundContainer
    from attractor.runtime import Context, Controller

LATER_S = 1.0
"""When to look again at what should be told anyway."""
WATCH_S = 2.0
"""How often to look at containers that others have made, of which nobody tells."""
AT_ONCE = 6
"""How many containers are made, started or ended at the same time."""
STRAY_GRACE_S = 6
NOBODY = "nobody"
"""Stands for the uid of a Container that is no more."""
GONE = "it is gone: somebody has removed it"
TAKEN = "remove that one, or give this one another containerName"
BY_SERVICE, BY_NETWORK, BY_VOLUME = "services", "networks", "volumes"


@dataclass(frozen=True)
class Known:
    """Memory of this process about a Container; a crash forgets it."""

    uid: str
    is_starting: bool = False
    """Whether a container is being made and started."""
    end: Literal["", "under way", "done"] = ""
    problem: str = ""
    """Why the runtime could not do what it was asked; it is asked again."""
    refusal: str = ""
    """Why it will not; it is not asked again."""
    answers: tuple[Answer, ...] = ()
    """What the probes said."""


async def begin(ctx: Context, uid: str, order: ContainerOrder) -> None:
    """In the background: make a container and start it, unless one of its name has been started."""
    problem, refusal = "", ""
    try:
        await make(ctx, uid, order)
    except Refused as error:
        refusal = str(error)
    except RuntimeProblem as error:
        problem = str(error)
    except Exception as error:  # whatever it is, the start is over, and is tried again if there is nothing
        problem = f"{type(error).__name__}: {error}"
    await ctx.defer(
        Known, lambda known: replace(known, is_starting=False, problem=problem, refusal=refusal), identity=uid
    )
    await ctx.schedule()


async def make(ctx: Context, uid: str, order: ContainerOrder) -> None:
    """Clear away what is in the way, make a container and start it; raises ``RuntimeProblem``."""
    runtime = ctx.external(ContainerRuntime)
    for other in await runtime.labelled(orders.KEY, str(ctx.key)):
        if other.label(orders.UID) != uid and other.label(orders.MODE) == "Session":
            await runtime.stop(other.id, STRAY_GRACE_S)
            await runtime.remove(other.id)
    await runtime.provide_image(order)
    found = await runtime.find(order.name)
    if found is not None and not may_replace(found, uid, order):
        if found.label(orders.UID) != uid:
            raise NameTaken(f"container {found.name} is there, and not of this object; {TAKEN}")
        return  # it has been started
    if found is not None:
        await runtime.stop(found.id, STRAY_GRACE_S)
        await runtime.remove(found.id)
    identity = await runtime.create(order)
    await runtime.start(identity)


def may_replace(found: FoundContainer, uid: str, order: ContainerOrder) -> bool:
    """Return whether a container is in the way of its own order: not started, or persistent and made of another."""
    if found.label(orders.UID) == uid:
        return found.state == "created"
    return is_outdated(found, dict(order.labels)[orders.LIFECYCLE])


def is_outdated(found: FoundContainer, lifecycle: str) -> bool:
    """Return whether a persistent container was made of something else than is wanted now, or never started."""
    if found.label(orders.MODE) != "Persistent":
        return False
    return found.label(orders.LIFECYCLE) != lifecycle or found.state == "created"


async def resume(ctx: Context, uid: str, identity: str) -> None:
    """In the background: start a persistent container that is taken over."""
    problem = ""
    try:
        await ctx.external(ContainerRuntime).start(identity)
    except Exception as error:  # it is tried again while it does not run
        problem = str(error) or type(error).__name__
    await ctx.defer(Known, lambda known: replace(known, is_starting=False, problem=problem), identity=uid)
    await ctx.schedule()


async def end(ctx: Context, uid: str, identity: str, grace_s: int, removes: bool) -> None:
    """In the background: stop a container, or without an identity all of the Container, and remove it if asked to."""
    done: Literal["", "done"] = "done"
    problem, runtime = "", ctx.external(ContainerRuntime)
    try:
        found = (identity,) if identity else tuple(one.id for one in await runtime.labelled(orders.UID, uid))
        for one in found:
            await runtime.stop(one, grace_s)
            if removes:
                await runtime.remove(one)
    except Exception as error:  # it is tried again until nothing is left
        done, problem = "", str(error) or type(error).__name__
    await ctx.defer(Known, lambda known: replace(known, end=done, problem=problem), identity=uid)
    await ctx.schedule()


async def clear(ctx: Context, identities: tuple[str, ...]) -> None:
    """In the background: end and remove containers whose Container is no more."""
    try:
        for identity in identities:
            await ctx.external(ContainerRuntime).stop(identity, STRAY_GRACE_S)
            await ctx.external(ContainerRuntime).remove(identity)
    except RuntimeProblem as problem:  # whoever looks next finds what is left
        ctx.log.info("a container that nobody wants is still there", problem=str(problem))
    await ctx.defer(Known, lambda known: replace(known, end="done"), identity=NOBODY)
    await ctx.schedule()


async def ask(ctx: Context, uid: str, run: int, probe: str, question: Question) -> None:
    """In the background: ask from the machine whether a container is healthy."""
    await _tell_answer(ctx, uid, run, probe, await ctx.external(Prober).ask(question))


async def ask_inside(ctx: Context, uid: str, run: int, probe: str, identity: str, command: tuple[str, ...]) -> None:
    """In the background: run a probe's command inside the container."""
    runtime, problem = ctx.external(ContainerRuntime), ""
    try:
        execution = await runtime.create_exec(identity, ExecOrder(command))
        await runtime.run_exec(execution)
        found = await runtime.find_exec(execution)
        if found is None or found.exit_code != 0:
            problem = f"{command[0]} ends with {'nobody knows what' if found is None else found.exit_code}"
    except RuntimeProblem as error:
        problem = str(error)
    await _tell_answer(ctx, uid, run, probe, problem)


async def _tell_answer(ctx: Context, uid: str, run: int, probe: str, problem: str) -> None:
    await ctx.defer(
        Known, lambda known: replace(known, answers=answered(known.answers, probe, run, problem)), identity=uid
    )
    await ctx.schedule()


class Containers(Reconciler[Container]):
    """Keeps each Container's container as its spec says."""

    kind = Container

    async def sync(self, ctx: Context, obj: Container) -> Result | None:
        """Take the next step of a Container's life."""
        status = obj.status
        status.observed_generation = obj.metadata.generation
        if status.phase == "FailedToStart":
            return None
        known = await recalled(ctx, obj.metadata.uid)
        if known is None:
            return Result(requeue_after_s=LATER_S)
        if status.phase == "":
            prepare(obj)
            return None
        if known.refusal:
            move(status, "FailedToStart", known.refusal)
            return None
        try:
            found = await ctx.external(ContainerRuntime).find(status.container_name)
        except RuntimeProblem as problem:
            tell_unreachable(status, str(problem))
            return Result(requeue_after_s=LATER_S)
        result = await self._attend(ctx, obj, known, found)
        await self._tell_health(ctx, obj, known)
        return result

    async def clean_up(self, ctx: Context, obj: Container) -> Result | None:
        """Remove what belongs to the session; what is persistent, or somebody else's, stays."""
        known = await recalled(ctx, obj.metadata.uid)
        if known is None or known.is_starting:
            return Result(requeue_after_s=LATER_S)  # what is being made is not removed before it is there
        if obj.status.phase != "" and obj.spec.mode == "Session" and known.end != "done":
            if known.end == "":
                await self._end(ctx, obj, known, "", removes=True)
            move(obj.status, "Stopping", known.problem)
            return Result(requeue_after_s=LATER_S)
        await ctx.forget(Known)
        return None

    async def gone(self, ctx: Context, key: Key) -> Result | None:
        """Clear up after a Container that went unseen, or whose container was made after it went."""
        if await ctx.find(Container, key, cached=False) is not None:
            return None  # the cache will hear of it
        known = await recalled(ctx, NOBODY)
        if known is None or known.end == "under way":
            return Result(requeue_after_s=LATER_S)
        try:
            left = await ctx.external(ContainerRuntime).labelled(orders.KEY, str(key))
        except RuntimeProblem:
            return Result(requeue_after_s=LATER_S)
        strays = tuple(one.id for one in left if one.label(orders.MODE) == "Session")
        if not strays:
            await ctx.forget(Known)
            return None
        await ctx.remember(replace(known, end="under way"), identity=NOBODY)
        await ctx.start(clear, strays)
        return None

    async def _attend(self, ctx: Context, obj: Container, known: Known, found: FoundContainer | None) -> Result | None:
        """Do what follows from what the runtime says of the container."""
        mode, status = obj.spec.mode, obj.status
        if known.is_starting:
            return Result(requeue_after_s=LATER_S)
        if mode == "Cleanup":
            return await self._clear_away(ctx, obj, known, found)
        if found is None:
            if mode == "Existing":
                move(status, "NotFound", f"there is no container {status.container_name}; somebody else makes it")
                return Result(requeue_after_s=WATCH_S)
            return await self._begin(ctx, obj, known)
        if is_foreign(obj, found):
            move(status, "FailedToStart", f"container {found.name} is there, and not of this object; {TAKEN}")
            return None
        if obj.spec.mode != "Existing" and not status.container_id and is_to_begin(obj, found):
            return await self._begin(ctx, obj, known, found)
        tell_facts(status, found)
        if found.state == "running":
            return await self._keep_running(ctx, obj, known, found)
        move(status, "Paused" if found.state == "paused" else "Exited", status.message)
        return Result(requeue_after_s=WATCH_S) if mode != "Session" else None

    async def _keep_running(self, ctx: Context, obj: Container, known: Known, found: FoundContainer) -> Result | None:
        if obj.spec.stop and obj.spec.mode != "Existing":
            if known.end != "under way":
                await self._end(ctx, obj, known, found.id, removes=False)
            move(obj.status, "Stopping", known.problem)
            return Result(requeue_after_s=LATER_S)
        move(obj.status, "Running")
        waits_s = await self._probe(ctx, obj, known, found)
        if obj.spec.mode != "Session":
            waits_s = min(waits_s or WATCH_S, WATCH_S)
        return None if waits_s is None else Result(requeue_after_s=waits_s)

    async def _clear_away(
        self, ctx: Context, obj: Container, known: Known, found: FoundContainer | None
    ) -> Result | None:
        """Remove a persistent container of this name."""
        if found is None:
            move(obj.status, "NotFound", "there is no such container any more")
            return None
        if found.label(orders.MODE) != "Persistent":
            move(obj.status, "FailedToStart", f"container {found.name} was not made by a control plane, and is kept")
            return None
        if known.end != "under way":
            await self._end(ctx, obj, known, found.id, removes=True)
        move(obj.status, "Stopping", known.problem)
        return Result(requeue_after_s=LATER_S)

    async def _begin(
        self, ctx: Context, obj: Container, known: Known, found: FoundContainer | None = None
    ) -> Result | None:
        """Have the container made and started, or taken over, once all is there that it needs."""
        status = obj.status
        if status.container_id:
            move(status, "Unknown", GONE)
            return None
        if obj.spec.stop:
            move(status, "Exited", "told to stop before it was started")
            return None
        if not await self._is_current(ctx, obj):
            return Result(requeue_after_s=LATER_S)
        if found is not None and obj.spec.mode == "Persistent" and not is_outdated(found, status.lifecycle_key):
            await ctx.remember(replace(known, is_starting=True), identity=known.uid)
            await ctx.start(resume, known.uid, found.id)
            move(status, "Starting", known.problem)
            return None
        try:
            order = orders.order_of(obj, await surroundings(ctx, obj))
        except (orders.Missing, Unresolved) as missing:
            move(status, "Pending", str(missing))
            return None
        except NotServed as mistake:
            move(status, "FailedToStart", str(mistake))
            return None
        await self._start(ctx, known, order)
        move(status, "Starting" if order.build is None else "Building", known.problem)
        return None

    async def _start(self, ctx: Context, known: Known, order: ContainerOrder) -> None:
        await ctx.remember(replace(known, is_starting=True), identity=known.uid)
        await ctx.start(begin, known.uid, order)

    async def _is_current(self, ctx: Context, obj: Container) -> bool:
        """Return whether the server says the same as the cache: one that lags may show an object that is long gone."""
        stored = await ctx.find(Container, obj.key, cached=False)
        return stored is not None and stored.metadata.uid == obj.metadata.uid and not stored.metadata.is_deleting

    async def _end(self, ctx: Context, obj: Container, known: Known, identity: str, *, removes: bool) -> None:
        await ctx.remember(replace(known, end="under way"), identity=known.uid)
        await ctx.start(end, known.uid, identity, obj.spec.stop_grace_seconds, removes)

    async def _probe(self, ctx: Context, obj: Container, known: Known, found: FoundContainer) -> float | None:
        """Ask what is due to be asked; answers when the next question is due."""
        if not obj.spec.probes or found.started_at is None:
            return None
        now, run = await ctx.now(), found.restarts
        answers = {answer.probe: answer for answer in known.answers if answer.run == run}
        coming = []
        for probe in obj.spec.probes:
            due = due_at(probe, found.started_at, answers.get(probe.name))
            if due is None:
                continue
            if due > now:
                coming.append((due - now).total_seconds())
                continue
            known = replace(known, answers=asked(known.answers, probe.name, run, now))
            await ctx.remember(known, identity=known.uid)
            if probe.command is not None:
                command = tuple(probe.command.command)
                await ctx.start(ask_inside, known.uid, run, probe.name, found.id, command)
            else:
                question = orders.question_of(probe, obj, {})
                await ctx.start(ask, known.uid, run, probe.name, question)
        return min(coming) if coming else None

    async def _tell_health(self, ctx: Context, obj: Container, known: Known) -> None:
        status = obj.status
        if status.phase == "Running":
            status.health = health_while_running(obj.spec.probes, known.answers, status.restarts)
            problems = [f"probe {one.probe}: {one.problem}" for one in known.answers if one.problem]
            status.message = status.message or "; ".join(problems)
        else:
            is_wrong = status.phase in {"FailedToStart", "Unknown"} or (status.phase == "Exited" and status.exit_code)
            status.health = "Unhealthy" if is_wrong else "Caution"
        is_ready = status.phase == "Running" and status.health == "Healthy"
        before = find_condition(status.conditions, "Ready")
        if before is None or (before.status == "True") != is_ready:
            set_condition(
                status.conditions,
                "Ready",
                is_ready,
                reason=status.health if status.phase == "Running" else status.phase,
                now=await ctx.now(),
                generation=obj.metadata.generation,
            )


def prepare(obj: Container) -> None:
    """Decide, before anything is made: what it is called, and what it is made of."""
    spec, status = obj.spec, obj.status
    if spec.stop:
        move(status, "Exited", "told to stop before it was started")
    elif not spec.start:
        status.message = "waits for spec.start"
    else:
        status.container_name = orders.runtime_name(obj, spec.container_name)
        status.lifecycle_key = orders.lifecycle_key(spec)
        move(status, "Pending")


def move(status: ContainerStatus, phase: ContainerPhase, message: str = "") -> None:
    """Go to another phase."""
    status.phase, status.message = phase, message


def tell_unreachable(status: ContainerStatus, problem: str) -> None:
    """Say that the runtime does not answer; what is known of a container that was there is kept."""
    if not status.container_id:
        status.phase = "RuntimeUnhealthy"
    status.message = problem


def tell_facts(status: ContainerStatus, found: FoundContainer) -> None:
    """Say what the runtime says about a container."""
    status.container_id = found.id
    status.started_at, status.finished_at = found.started_at, found.finished_at
    status.exit_code, status.restarts = found.exit_code, found.restarts
    status.networks = list(found.networks)
    status.message = ""
    status.ports = [
        PublishedPort(
            container_port=one.container_port,
            host_port=one.host_port,
            host_address=one.host_address,
            protocol="UDP" if one.protocol == "UDP" else "TCP",
        )
        for one in found.ports
    ]


def is_foreign(obj: Container, found: FoundContainer) -> bool:
    """Return whether a container that has the wanted name is somebody else's."""
    if obj.spec.mode == "Existing":
        return False
    if obj.spec.mode == "Persistent":
        return found.label(orders.MODE) != "Persistent"
    of_namesake = found.label(orders.KEY) == str(obj.key) and found.label(orders.MODE) == "Session"
    return found.label(orders.UID) != obj.metadata.uid and not of_namesake


def is_to_begin(obj: Container, found: FoundContainer) -> bool:
    """Return whether a container that is there was not started for this object yet."""
    if found.label(orders.UID) == obj.metadata.uid:
        return found.state == "created"
    if obj.spec.mode == "Session":
        return True  # it is a namesake's, and goes first
    return found.state != "running" or is_outdated(found, obj.status.lifecycle_key)


async def recalled(ctx: Context, uid: str) -> Known | None:
    """Return the memory of this very object, nothing of a namesake; None while one is still being started."""
    known = await ctx.recall(Known)
    if known is None or known.uid == uid:
        return known or Known(uid)
    return Known(uid) if not known.is_starting else None


async def surroundings(ctx: Context, obj: Container) -> orders.Surroundings:
    """Return the Services, networks and volumes that a Container refers to, as far as they are there."""
    namespace, spec = obj.metadata.namespace, obj.spec
    services = {name: await ctx.find(Service, Key(namespace, name)) for name in orders.needed_services(spec)}
    networks = {name: await ctx.find(ContainerNetwork, Key(namespace, name)) for name in orders.needed_networks(spec)}
    volumes = {name: await ctx.find(ContainerVolume, Key(namespace, name)) for name in orders.needed_volumes(spec)}
    return orders.Surroundings(
        {name: one for name, one in services.items() if one is not None},
        {name: one for name, one in networks.items() if one is not None},
        {name: one for name, one in volumes.items() if one is not None},
    )


def _needs(names: Callable[[ContainerSpec], Sequence[str]]) -> Callable[[Container], list[str]]:
    return lambda obj: orders.keys_in(obj.metadata.namespace, names(obj.spec))


def containers(*changes: AsyncIterable[Key]) -> Controller:
    """The controller; ``changes`` are the Containers of which the runtime has news."""
    return controller(
        Containers(),
        name="containers",
        watches=[
            Watches(Service, index=BY_SERVICE),
            Watches(ContainerNetwork, index=BY_NETWORK),
            Watches(ContainerVolume, index=BY_VOLUME),
        ],
        indexes=[
            Index(Container, BY_SERVICE, _needs(orders.needed_services)),
            Index(Container, BY_NETWORK, _needs(orders.needed_networks)),
            Index(Container, BY_VOLUME, _needs(orders.needed_volumes)),
        ],
        sources=changes,
        externals=[ContainerRuntime, Prober],
        workers=4,
        background_limit=AT_ONCE,
    )

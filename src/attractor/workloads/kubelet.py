"""The simulated kubelet: Pods on simulated nodes start, become ready, end and go, without running anything.

A Pod that was assigned to a simulated node runs after ``start_s`` and is ready ``ready_s`` later, or after the initial
delay of its readiness probe if that is longer. An image with the tag ``404`` cannot be pulled. A deleted Pod goes after
``stop_s``, but never later than its grace period allows. Programs that end are simulated where the restart policy lets
them: ``true``, ``false``, ``sleep N``, ``exit N``, also as ``sh -c "sleep 2; exit 1"``; whatever else belongs to a Job
ends well after ``run_s``, and anything else runs for ever.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from attractor import Context, For, Index, Key, NotFound, Result, Watches, controller
from attractor.k8s import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    HostIP,
    Node,
    Pod,
    PodCondition,
    PodIP,
)
from attractor.toolkit import Predicate
from attractor.workloads.nodes import is_simulated
from attractor.workloads.pods import condition_of, is_finished

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from attractor import Controller

EXIT_CODE = "pod.attractor.dev/exit-code"
"""The annotation of a Pod whose programs end with this code, whatever they are."""
RUN_SECONDS = "pod.attractor.dev/run-seconds"
"""The annotation of a Pod whose programs end after this time."""
FIRST_BACKOFF_S, MAX_BACKOFF_S = 10.0, 300.0
_STEP = re.compile(r"(sleep)\s+(\d+(?:\.\d+)?)|(exit)\s+(\d+)|(true|false)")


@dataclass(frozen=True)
class Behaviour:
    """How long simulated Pods take for each stage of their life, in seconds."""

    start_s: float = 0.0
    """From the binding until the containers run."""
    ready_s: float = 0.0
    """From then until the Pod is ready."""
    run_s: float = 1.0
    """How long a program of a Job runs, if nothing says otherwise."""
    stop_s: float = 0.0
    """From the deletion until the Pod is gone."""


@dataclass(frozen=True)
class Program:
    """What a simulated container does: it ends after a time, with a code."""

    run_s: float
    exit_code: int


def program_of(pod: Pod, container: Container, behaviour: Behaviour) -> Program | None:
    """What a container of a Pod does; ``None`` when it runs for ever."""
    if pod.spec.restart_policy == "Always":
        return None
    notes = pod.metadata.annotations
    if EXIT_CODE in notes or RUN_SECONDS in notes:
        return Program(float(notes.get(RUN_SECONDS, behaviour.run_s)), int(notes.get(EXIT_CODE, 0)))
    words = [*container.command, *container.args]
    text = words[2] if len(words) == 3 and words[1] == "-c" else " ".join(words)
    steps = [step.strip().removeprefix("/bin/") for step in re.split(r"&&|;", text) if step.strip()]
    if steps and all(_STEP.fullmatch(step) for step in steps):
        return _sequence(steps)
    owner = pod.metadata.controller
    return Program(behaviour.run_s, 0) if owner is not None and owner.kind == "Job" else None


def _sequence(steps: list[str]) -> Program:
    run_s, code = 0.0, 0
    for step in steps:
        word, _, number = step.partition(" ")
        if word == "sleep":
            run_s += float(number)
            code = 0
        elif word == "exit":
            return Program(run_s, int(number))
        else:
            code = 1 if word == "false" else 0
    return Program(run_s, code)


def _node_name(pod: Pod) -> list[str]:
    return [pod.spec.node_name] if pod.spec.node_name else []


def _name(node: Node) -> list[str]:
    return [node.metadata.name]


on_a_node = Predicate(lambda change: change.new is not None and bool(change.new.spec.node_name), "on a node")
"""Changes of Pods that a scheduler assigned."""


def kubelet_with(behaviour: Behaviour) -> Controller:
    """The simulated kubelet of all simulated nodes, with stages of your own.

    EmbeddedCluster(nodes=3, behaviour=Behaviour(ready_s=5))
    """

    @controller(
        name="kubelet",
        for_=For(Pod, when=on_a_node),
        watches=[Watches(Node, index="node", by=_name)],
        indexes=[Index(Pod, "node", _node_name)],
    )
    async def kubelet(ctx: Context, key: Key) -> Result | None:
        """Take a Pod of a simulated node to the next stage of its life, when its time has come."""
        pod = await ctx.find(Pod, key)
        if pod is None or not pod.spec.node_name:
            return None
        node = await ctx.find(Node, Key("", pod.spec.node_name))
        if not is_simulated(node):
            return None
        if pod.metadata.is_deleting:
            return await _stop(ctx, pod, behaviour)
        if is_finished(pod):
            return None
        return await _live(ctx, pod, behaviour)

    return kubelet


kubelet = kubelet_with(Behaviour())
"""The simulated kubelet whose Pods are ready at once."""


async def _stop(ctx: Context, pod: Pod, behaviour: Behaviour) -> Result | None:
    """Remove a Pod whose time is over; one that a finalizer holds is told to have failed first."""
    grace_s = pod.metadata.deletion_grace_period_seconds or 0
    asked = pod.metadata.deletion_timestamp
    if asked is not None and behaviour.stop_s and not is_finished(pod):
        wait = _left(asked - timedelta(seconds=grace_s), min(behaviour.stop_s, grace_s), await ctx.now())
        if wait:
            return wait
    try:
        if pod.metadata.finalizers and not is_finished(pod):
            now = (await ctx.now()).replace(microsecond=0)
            await _write(ctx, pod, _ended(pod, now, {one.name: 137 for one in pod.spec.containers}))
            return None
        if grace_s or not pod.metadata.finalizers:
            await ctx.delete(pod, grace_period_s=0)
    except NotFound:
        return None
    return None


async def _live(ctx: Context, pod: Pod, behaviour: Behaviour) -> Result | None:
    now = await ctx.now()
    moment = now.replace(microsecond=0)
    started = pod.status.container_statuses
    if any(is_missing(one.image) for one in pod.spec.containers):
        if not started:
            await _write(ctx, pod, _started(pod, moment, _waiting))
        return None
    if pod.status.phase != "Running":
        scheduled = condition_of(pod, "PodScheduled")
        since = scheduled.last_transition_time if scheduled is not None else None
        if since is not None and (wait := _left(since, behaviour.start_s, now)):
            return wait
        changed = _started(pod, moment, _running)
        changed.status.phase = "Running"
        if not _ready_after_s(pod, behaviour):
            _make_ready(changed, moment)
        await _write(ctx, pod, changed)
        return None
    return await _run(ctx, pod, behaviour, now)


async def _run(ctx: Context, pod: Pod, behaviour: Behaviour, now: datetime) -> Result | None:
    """A Pod whose containers run: make it ready, and end or restart its programs."""
    moment = now.replace(microsecond=0)
    since = min((one for one in map(_running_since, pod.status.container_statuses) if one), default=moment)
    due: list[Result] = []
    if not _is_settled(pod):
        wait = _left(since, _ready_after_s(pod, behaviour), now)
        if wait is None:
            changed = pod.deep_copy()
            _make_ready(changed, moment)
            if changed.status != pod.status:
                await _write(ctx, pod, changed)
                return None
        else:
            due.append(wait)
    programs = {one.name: program_of(pod, one, behaviour) for one in pod.spec.containers}
    codes = {name: program.exit_code for name, program in programs.items() if program is not None}
    if len(codes) == len(programs):
        wait = _left(since, max(program.run_s for program in programs.values() if program is not None), now)
        if wait is None:
            again = pod.spec.restart_policy == "OnFailure" and any(codes.values())
            await _write(ctx, pod, _restarted(pod, now, codes) if again else _ended(pod, moment, codes))
            return None
        due.append(wait)
    return min(due, key=lambda one: one.requeue_after_s, default=None)


def _left(since: datetime, delay_s: float, now: datetime) -> Result | None:
    """A request to come back when a delay is over; ``None`` when it is."""
    left_s = (since + timedelta(seconds=delay_s) - now).total_seconds() if delay_s else 0.0
    return Result(requeue_after_s=left_s) if left_s > 0 else None


async def _write(ctx: Context, pod: Pod, changed: Pod) -> None:
    await ctx.patch_from(pod, changed, subresource="status")


def is_missing(image: str) -> bool:
    """Return whether there is no such image: by convention, one with the tag ``404``."""
    return image.endswith(":404")


def _ready_after_s(pod: Pod, behaviour: Behaviour) -> float:
    probes = [one.readiness_probe for one in pod.spec.containers if one.readiness_probe is not None]
    return max([behaviour.ready_s, *(float(probe.initial_delay_seconds) for probe in probes)])


def _is_settled(pod: Pod) -> bool:
    """Return whether the Pod is as ready as it can get."""
    ready = condition_of(pod, "Ready")
    inside = condition_of(pod, "ContainersReady")
    if inside is None or inside.status != "True":
        return False
    return (ready is not None and ready.status == "True") == _gates_open(pod)


def _gates_open(pod: Pod) -> bool:
    conditions = {one.type: one.status for one in pod.status.conditions}
    return all(conditions.get(gate.condition_type) == "True" for gate in pod.spec.readiness_gates)


def _set(pod: Pod, type_: str, status: str, moment: datetime, reason: str = "", message: str = "") -> None:
    known = condition_of(pod, type_)
    if known is not None and known.status == status and known.reason == reason:
        return
    made = PodCondition(type=type_, status=status, reason=reason, message=message, last_transition_time=moment)
    others = [one for one in pod.status.conditions if one.type != type_]
    pod.status.conditions = [*others, made]


def _started(pod: Pod, moment: datetime, status_of: Callable[[Container, datetime], ContainerStatus]) -> Pod:
    """The Pod on its node: it has addresses, and its containers are in a state."""
    changed = pod.deep_copy()
    status = changed.status
    status.start_time = moment
    status.host_ip, status.host_ips = "127.0.0.1", [HostIP(ip="127.0.0.1")]
    status.pod_ip = status.host_ip if pod.spec.host_network else address_of(pod)
    status.pod_ips = [PodIP(ip=status.pod_ip)]
    status.qos_class = status.qos_class or "BestEffort"
    status.container_statuses = [status_of(one, moment) for one in pod.spec.containers]
    status.init_container_statuses = [_done(one, moment) for one in pod.spec.init_containers]
    _set(changed, "PodReadyToStartContainers", "True", moment)
    _set(changed, "Initialized", "True", moment)
    names = " ".join(one.name for one in pod.spec.containers)
    for type_ in ("Ready", "ContainersReady"):
        _set(changed, type_, "False", moment, "ContainersNotReady", f"containers with unready status: [{names}]")
    return changed


def address_of(pod: Pod) -> str:
    """An address of 10.0.0.0/8, made up from the Pod's uid; nothing answers there."""
    digest = hashlib.sha256(pod.metadata.uid.encode()).digest()
    return f"10.{digest[0]}.{digest[1]}.{1 + digest[2] % 254}"


def _running(container: Container, moment: datetime) -> ContainerStatus:
    return ContainerStatus(
        name=container.name,
        image=container.image,
        image_id=container.image,
        container_id=f"simulated://{container.name}",
        started=True,
        state=ContainerState(running=ContainerStateRunning(started_at=moment)),
    )


def _waiting(container: Container, _moment: datetime) -> ContainerStatus:
    why = ContainerStateWaiting(reason="ErrImagePull", message=f'image "{container.image}": not found')
    return ContainerStatus(name=container.name, image=container.image, started=False, state=ContainerState(waiting=why))


def _terminated(container: Container, moment: datetime, since: datetime | None, code: int) -> ContainerStateTerminated:
    return ContainerStateTerminated(
        exit_code=code,
        reason="Error" if code else "Completed",
        started_at=since or moment,
        finished_at=moment,
        container_id=f"simulated://{container.name}",
    )


def _done(container: Container, moment: datetime) -> ContainerStatus:
    made = _running(container, moment)
    made.ready, made.started = True, False
    made.state = ContainerState(terminated=_terminated(container, moment, moment, 0))
    return made


def _running_since(status: ContainerStatus) -> datetime | None:
    return status.state.running.started_at if status.state.running is not None else None


def _make_ready(changed: Pod, moment: datetime) -> None:
    for one in changed.status.container_statuses:
        one.ready = True
    _set(changed, "ContainersReady", "True", moment)
    if _gates_open(changed):
        _set(changed, "Ready", "True", moment)
    else:
        message = 'the status of pod readiness gate conditions is not yet "True"'
        _set(changed, "Ready", "False", moment, "ReadinessGatesNotReady", message)


def _ended(pod: Pod, moment: datetime, codes: dict[str, int]) -> Pod:
    """The Pod after all its programs have ended."""
    changed = pod.deep_copy()
    known = {one.name: one for one in changed.status.container_statuses}
    statuses = []
    for container in pod.spec.containers:
        made = known.get(container.name) or _running(container, moment)
        done = _terminated(container, moment, _running_since(made), codes.get(container.name, 0))
        made.ready, made.started = False, False
        made.state = ContainerState(terminated=done)
        statuses.append(made)
    changed.status.container_statuses = statuses
    is_failed = any(codes.values())
    changed.status.phase = "Failed" if is_failed else "Succeeded"
    reason = "PodFailed" if is_failed else "PodCompleted"
    for type_ in ("Ready", "ContainersReady"):
        _set(changed, type_, "False", moment, reason)
    return changed


def _restarted(pod: Pod, now: datetime, codes: dict[str, int]) -> Pod:
    """The Pod after its failed programs were started again, each time after a longer pause."""
    changed = pod.deep_copy()
    for one, container in zip(changed.status.container_statuses, pod.spec.containers, strict=True):
        moment = now.replace(microsecond=0)
        ended = _terminated(container, moment, _running_since(one), codes.get(container.name, 0))
        pause_s = min(FIRST_BACKOFF_S * 2**one.restart_count, MAX_BACKOFF_S)
        one.last_state = ContainerState(terminated=ended)
        one.restart_count += 1
        one.state = ContainerState(running=ContainerStateRunning(started_at=moment + timedelta(seconds=pause_s)))
    return changed

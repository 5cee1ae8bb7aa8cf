"""The Job controller: Pods that run to completion, each counted exactly once.

Pods carry the finalizer ``batch.kubernetes.io/job-tracking``. When one has ended, its uid is stored in the Job's status
(``uncountedTerminatedPods``); only then the finalizer is removed; and only when it is gone, the uid becomes a number in
``succeeded`` or ``failed``. So a crash between any two of these steps neither loses a Pod nor counts it twice.

A Job is complete when enough Pods succeeded, and fails beyond ``backoffLimit`` or ``activeDeadlineSeconds``; what still
runs is deleted then, and the last condition is written when nothing runs any more. Failed Pods are replaced after a
pause that doubles. A suspended Job has no Pods. ``ttlSecondsAfterFinished`` deletes a Job that has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from attractor import Context, Index, Key, NotFound, Result, Watches, controller
from attractor.k8s import EnvVar, Job, JobCondition, Pod, UncountedTerminatedPods
from attractor.toolkit import add_finalizer, has_finalizer, remove_finalizer
from attractor.workloads.claims import chosen_labels, claim, claimable, orphan_labels
from attractor.workloads.indexes import numbers_of, text_of
from attractor.workloads.pods import is_active, is_finished, is_ready, pod_of

if TYPE_CHECKING:
    from datetime import datetime

TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
MANAGER = "kubernetes.io/job-controller"
FIRST_BACKOFF_S, MAX_BACKOFF_S = 10.0, 600.0
BURST = 500
_LIMIT = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_DEADLINE = ("DeadlineExceeded", "Job was active longer than specified deadline")
_REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")


def _tracked(pod: Pod) -> list[str]:
    """The Job that a Pod is tracked for, by name."""
    owner = pod.metadata.controller
    is_tracked = owner is not None and owner.kind == "Job" and has_finalizer(pod, TRACKING)
    return [str(Key(pod.metadata.namespace, owner.name))] if owner is not None and is_tracked else []


@controller(
    name="job-controller",
    for_=Job,
    owns=[Pod],
    watches=[Watches(Pod, index="selector", by=orphan_labels)],
    indexes=[
        claimable(Pod),
        Index(Pod, "tracked", _tracked),
        Index(Job, "selector", lambda one: chosen_labels(one.spec.selector, one.metadata.namespace)),
    ],
)
async def jobs(ctx: Context, key: Key) -> Result | None:
    """Bring a Job one step closer to its end, and count what has ended."""
    job = await ctx.find(Job, key)
    await _release(ctx, await _abandoned(ctx, job, key))
    if job is None or (job.spec.managed_by or MANAGER) != MANAGER:
        return None
    pods = await claim(ctx, job, job.spec.selector, Pod, adopts=is_active)
    if is_over(job):
        await _release(ctx, pods)
        return await _expire(ctx, job)
    if job.metadata.is_deleting:
        await _release(ctx, pods)
        return None
    job.status.uncounted_terminated_pods = job.status.uncounted_terminated_pods or UncountedTerminatedPods()
    tally = Tally(job.deep_copy(), pods, (await ctx.now()).replace(microsecond=0))
    tally.settle()
    tally.note_ended()
    wait_s = await _act(ctx, tally)
    tally.tell()
    if tally.told.status != job.status:
        stored: Job = await ctx.update_status(tally.told)
        tally.told = stored
    await _release(ctx, tally.noted())
    return Result(requeue_after_s=wait_s) if wait_s else None


async def _abandoned(ctx: Context, job: Job | None, key: Key) -> list[Pod]:
    """Tracked Pods of a Job of this name that is gone; nobody else would release them."""
    uid = job.metadata.uid if job is not None else ""
    tracked = await ctx.list(Pod, index=("tracked", str(key)))
    return [pod for pod in tracked if pod.metadata.controller is not None and pod.metadata.controller.uid != uid]


def condition_of(job: Job, type_: str) -> JobCondition | None:
    """The condition of a type, if it is true."""
    return next((one for one in job.status.conditions if one.type == type_ and one.status == "True"), None)


def is_over(job: Job) -> bool:
    """Return whether a Job has completed or failed."""
    return condition_of(job, "Complete") is not None or condition_of(job, "Failed") is not None


@dataclass
class Tally:
    """A Job's status in the making, and the Pods that it is made from."""

    told: Job
    pods: list[Pod]
    now: datetime

    def __post_init__(self) -> None:
        status = self.told.status
        assert status.uncounted_terminated_pods is not None, "a tally begins with the pods that are not counted yet"
        self.uncounted = status.uncounted_terminated_pods
        self.done = numbers_of(status.completed_indexes)
        """The indexes that succeeded."""

    @property
    def is_indexed(self) -> bool:
        """Return whether each completion has an index of its own."""
        return self.told.spec.completion_mode == "Indexed"

    @property
    def active(self) -> list[Pod]:
        """The Pods that run, or are about to."""
        return [pod for pod in self.pods if is_active(pod)]

    @property
    def terminating(self) -> list[Pod]:
        """The Pods that are being deleted and have not ended."""
        return [pod for pod in self.pods if pod.metadata.is_deleting and not is_finished(pod)]

    @property
    def succeeded(self) -> int:
        """How many completions there are, counted or not."""
        return len(self.done) if self.is_indexed else self.told.status.succeeded + len(self.uncounted.succeeded)

    @property
    def failed(self) -> int:
        """How many Pods have failed, counted or not."""
        return self.told.status.failed + len(self.uncounted.failed)

    def settle(self) -> None:
        """Turn uids whose Pods are released into numbers."""
        tracked = {pod.metadata.uid for pod in self.pods if has_finalizer(pod, TRACKING)}
        status = self.told.status
        if not self.is_indexed:
            status.succeeded += sum(uid not in tracked for uid in self.uncounted.succeeded)
        status.failed += sum(uid not in tracked for uid in self.uncounted.failed)
        self.uncounted.succeeded = [uid for uid in self.uncounted.succeeded if uid in tracked]
        self.uncounted.failed = [uid for uid in self.uncounted.failed if uid in tracked]

    def note_ended(self) -> None:
        """Note the uids of tracked Pods that have ended; one that is being deleted will never succeed."""
        known = {*self.uncounted.succeeded, *self.uncounted.failed}
        for pod in self.pods:
            uid = pod.metadata.uid
            if uid in known or not has_finalizer(pod, TRACKING):
                continue
            if pod.status.phase == "Succeeded":
                index = index_of(pod)
                if self.is_indexed and index is not None:
                    self.done.add(index)
                self.uncounted.succeeded = [*self.uncounted.succeeded, uid]
            elif pod.status.phase == "Failed" or pod.metadata.is_deleting:
                self.uncounted.failed = [*self.uncounted.failed, uid]

    def noted(self) -> list[Pod]:
        """The Pods whose end is stored in the status, so that they may be released."""
        stored = self.told.status.uncounted_terminated_pods or UncountedTerminatedPods()
        uids = {*stored.succeeded, *stored.failed}
        return [pod for pod in self.pods if pod.metadata.uid in uids]

    def verdict(self) -> tuple[str, str, str] | None:
        """What the Job has come to: a condition with reason and message; ``None`` while it goes on."""
        for target, final in (("FailureTarget", "Failed"), ("SuccessCriteriaMet", "Complete")):
            known = condition_of(self.told, target)
            if known is not None:
                return (final, known.reason, known.message)
        spec = self.told.spec
        limit = spec.backoff_limit if spec.backoff_limit is not None else 6
        restarts = sum(one.restart_count for pod in self.active for one in pod.status.container_statuses)
        is_restarting = spec.template.spec.restart_policy == "OnFailure" and restarts
        if self.failed > limit or (is_restarting and restarts >= max(limit, 1)):
            return ("Failed", *_LIMIT)
        left_s = self.left_s()
        if left_s is not None and left_s <= 0:
            return ("Failed", *_DEADLINE)
        wanted = spec.completions
        is_enough = self.succeeded >= wanted if wanted is not None else self.succeeded > 0 and not self.active
        return ("Complete", *_REACHED) if is_enough else None

    def left_s(self) -> float | None:
        """How long until the active deadline; ``None`` when there is none."""
        start, deadline_s = self.told.status.start_time, self.told.spec.active_deadline_seconds
        if start is None or deadline_s is None or self.told.spec.suspend:
            return None
        return (start + timedelta(seconds=deadline_s) - self.now).total_seconds()

    def wanted(self) -> int:
        """How many Pods should run now."""
        spec = self.told.spec
        at_once = spec.parallelism if spec.parallelism is not None else 1
        if spec.completions is None:
            return len(self.active) if self.succeeded else at_once
        return min(at_once, spec.completions - self.succeeded)

    def backoff_s(self) -> float:
        """How long new Pods have to wait after the last one failed."""
        ended = [
            one.state.terminated.finished_at
            for pod in self.pods
            for one in pod.status.container_statuses
            if pod.status.phase == "Failed" and one.state.terminated is not None
        ]
        last = max((one for one in ended if one is not None), default=None)
        if last is None or not self.failed:
            return 0.0
        pause_s = min(FIRST_BACKOFF_S * 2 ** min(self.failed - 1, 10), MAX_BACKOFF_S)
        return max(0.0, (last + timedelta(seconds=pause_s) - self.now).total_seconds())

    def set(self, type_: str, reason: str, message: str, status: str = "True") -> bool:
        """Set a condition; returns whether that changed it."""
        conditions = self.told.status.conditions
        known = next((one for one in conditions if one.type == type_), None)
        if known is not None and known.status == status:
            return False
        made = JobCondition(
            type=type_,
            status=status,
            reason=reason,
            message=message,
            last_probe_time=self.now,
            last_transition_time=self.now,
        )
        self.told.status.conditions = [*(one for one in conditions if one is not known), made]
        return True

    def tell(self) -> None:
        """Fill in what is counted anew each time."""
        status, active = self.told.status, self.active
        status.active = len(active)
        status.ready = sum(map(is_ready, active))
        status.terminating = len(self.terminating)
        if self.is_indexed:
            status.completed_indexes = text_of(self.done)
            status.succeeded = len(self.done)


def index_of(pod: Pod) -> int | None:
    """The completion index of a Pod; ``None`` when it has none."""
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isdigit() else None


async def _act(ctx: Context, tally: Tally) -> float:
    """Create, delete or finish, whatever is due; answers after what time to look again, 0 for never."""
    job, status = tally.told, tally.told.status
    verdict = tally.verdict()
    if verdict is not None:
        await _finish(ctx, tally, *verdict)
        return 0.0
    if job.spec.suspend:
        await _withdraw(ctx, tally, tally.active)
        status.start_time = None
        if tally.set("Suspended", "JobSuspended", "Job suspended"):
            await ctx.emit(job, "Suspended", "Job suspended")
        return 0.0
    if condition_of(job, "Suspended") is not None and tally.set("Suspended", "JobResumed", "Job resumed", "False"):
        await ctx.emit(job, "Resumed", "Job resumed")
    status.start_time = status.start_time or tally.now
    surplus = len(tally.active) - tally.wanted()
    waits = [tally.left_s() or 0.0]
    if surplus > 0:
        unready_first = sorted(tally.active, key=lambda pod: (is_ready(pod), pod.key))
        await _withdraw(ctx, tally, unready_first[:surplus])
    elif surplus < 0:
        pause_s = tally.backoff_s()
        if pause_s:
            waits.append(pause_s)
        else:
            await _create(ctx, tally, min(-surplus, BURST))
    return min((wait for wait in waits if wait > 0), default=0.0)


async def _create(ctx: Context, tally: Tally, missing: int) -> None:
    job = tally.told
    taken = {index_of(pod) for pod in tally.active} | tally.done
    free = (number for number in range(job.spec.completions or 0) if number not in taken)
    wanted = []
    for _ in range(missing):
        index = next(free, None) if tally.is_indexed else None
        if tally.is_indexed and index is None:
            break
        wanted.append(_pod(job, index))
    for answer in await ctx.gather(*map(ctx.create, wanted)):
        if isinstance(answer, Exception):
            raise answer
        tally.pods.append(answer)
        await ctx.emit(job, "SuccessfulCreate", f"Created pod: {answer.metadata.name}")


def _pod(job: Job, index: int | None) -> Pod:
    pod = pod_of(job.deep_copy().spec.template, job)
    add_finalizer(pod, TRACKING)
    if index is not None:
        name = job.metadata.name
        pod.metadata.generate_name = f"{name}-{index}-"
        pod.metadata.annotations[INDEX] = pod.metadata.labels[INDEX] = str(index)
        pod.spec.hostname = f"{name}-{index}"
        for container in [*pod.spec.init_containers, *pod.spec.containers]:
            container.env = [*container.env, EnvVar(name="JOB_COMPLETION_INDEX", value=str(index))]
    return pod


async def _withdraw(ctx: Context, tally: Tally, pods: list[Pod]) -> None:
    """Delete Pods that nobody wants any more; they count as nothing, so they are released first."""
    await _release(ctx, pods)
    for pod in pods:
        try:
            await ctx.delete(pod)
        except NotFound:
            continue
        await ctx.emit(tally.told, "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")
    gone = {pod.key for pod in pods}
    tally.pods = [pod for pod in tally.pods if pod.key not in gone]


async def _finish(ctx: Context, tally: Tally, final: str, reason: str, message: str) -> None:
    """End what still runs; when nothing does, and everything is counted, say how the Job ended."""
    tally.told.status.start_time = tally.told.status.start_time or tally.now
    tally.set("FailureTarget" if final == "Failed" else "SuccessCriteriaMet", reason, message)
    for pod in tally.active:
        try:
            await ctx.delete(pod)
        except NotFound:
            continue
    if tally.active or tally.terminating or tally.uncounted.succeeded or tally.uncounted.failed:
        return
    tally.set(final, reason, message)
    if final == "Complete":
        tally.told.status.completion_time = tally.now
        await ctx.emit(tally.told, "Completed", "Job completed")
    else:
        await ctx.emit(tally.told, reason, message, type="Warning")


async def _release(ctx: Context, pods: list[Pod]) -> None:
    """Remove the tracking finalizer of Pods."""
    for pod in pods:
        changed = pod.deep_copy()
        if not remove_finalizer(changed, TRACKING):
            continue
        try:
            stored: Pod = await ctx.patch_from(pod, changed)
        except NotFound:
            continue
        pod.metadata = stored.metadata


async def _expire(ctx: Context, job: Job) -> Result | None:
    """Delete a Job whose time after its end is over."""
    ttl_s, ended = job.spec.ttl_seconds_after_finished, condition_of(job, "Complete") or condition_of(job, "Failed")
    if ttl_s is None or ended is None or ended.last_transition_time is None or job.metadata.is_deleting:
        return None
    left_s = (ended.last_transition_time + timedelta(seconds=ttl_s) - await ctx.now()).total_seconds()
    if left_s > 0:
        return Result(requeue_after_s=left_s)
    try:
        await ctx.delete(job, propagation="Foreground")
    except NotFound:
        return None
    return None

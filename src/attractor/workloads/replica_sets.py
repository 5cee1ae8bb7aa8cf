"""The ReplicaSet controller: as many Pods of a template as the spec says.

Pods that the selector chooses and nobody controls are adopted, those that it no longer chooses are released. Missing
Pods are created in batches of 1, 2, 4, ..., so that a template which the server refuses costs one request, not all;
surplus Pods go in the order of ``first_to_delete``. The status tells how many there are, are ready and are available.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor import ApiError, Context, Index, Key, NotFound, Result, Watches, controller
from attractor.k8s import Pod, ReplicaSet, ReplicaSetCondition
from attractor.workloads.claims import chosen_labels, claim, claimable, orphan_labels
from attractor.workloads.pods import available_in_s, first_to_delete, is_active, is_ready, pod_of

if TYPE_CHECKING:
    from collections.abc import Sequence

BURST = 500
"""How many Pods one reconcile creates or deletes at most."""


def _related(replica_set: ReplicaSet) -> list[str]:
    owner = replica_set.metadata.controller
    return [owner.uid] if owner is not None else []


@controller(
    name="replicaset-controller",
    for_=ReplicaSet,
    owns=[Pod],
    watches=[Watches(Pod, index="selector", by=orphan_labels)],
    indexes=[
        claimable(Pod),
        Index(ReplicaSet, "selector", lambda one: chosen_labels(one.spec.selector, one.metadata.namespace)),
        Index(ReplicaSet, "related", _related),
    ],
)
async def replica_sets(ctx: Context, key: Key) -> Result | None:
    """Bring the number of a ReplicaSet's Pods to what its spec says, and tell how many there are."""
    replica_set = await ctx.find(ReplicaSet, key)
    if replica_set is None:
        return None
    claimed = await claim(ctx, replica_set, replica_set.spec.selector, Pod, adopts=is_active)
    pods = [pod for pod in claimed if is_active(pod)]
    failure: ApiError | None = None
    if not replica_set.metadata.is_deleting:
        pods, failure = await _scaled(ctx, replica_set, pods)
    result = await _tell(ctx, replica_set, pods, failure)
    if failure is not None and not is_terminating(failure):
        raise failure
    return result


def is_terminating(error: ApiError) -> bool:
    """Return whether a creation failed because the namespace is being deleted, so that trying again is of no use."""
    return any(cause.get("reason") == "NamespaceTerminating" for cause in error.causes)


async def _scaled(ctx: Context, owner: ReplicaSet, pods: list[Pod]) -> tuple[list[Pod], ApiError | None]:
    """Create or delete Pods; answers those that there are then, and what failed."""
    surplus = len(pods) - (owner.spec.replicas or 0)
    if surplus < 0:
        created, failure = await _created(ctx, owner, min(-surplus, BURST))
        return [*pods, *created], failure
    if surplus > 0:
        return await _deleted(ctx, owner, pods, min(surplus, BURST))
    return pods, None


async def _created(ctx: Context, owner: ReplicaSet, missing: int) -> tuple[list[Pod], ApiError | None]:
    created: list[Pod] = []
    batch = 1
    while len(created) < missing:
        batch = min(batch, missing - len(created))
        wanted = [pod_of(owner.spec.template, owner) for _ in range(batch)]
        answers = await ctx.gather(*map(ctx.create, wanted))
        for answer in answers:
            if isinstance(answer, Pod):
                created.append(answer)
                await ctx.emit(owner, "SuccessfulCreate", f"Created pod: {answer.metadata.name}")
        failures = [answer for answer in answers if isinstance(answer, Exception)]
        if failures:
            return created, await _failed(ctx, owner, "FailedCreate", "creating", failures)
        batch *= 2
    return created, None


async def _deleted(ctx: Context, owner: ReplicaSet, pods: list[Pod], surplus: int) -> tuple[list[Pod], ApiError | None]:
    chosen = first_to_delete(pods, surplus, await _neighbours(ctx, owner, pods, surplus))
    answers = await ctx.gather(*map(ctx.delete, chosen))
    gone, failures = set(), []
    for pod, answer in zip(chosen, answers, strict=True):
        if answer is None or isinstance(answer, NotFound):
            gone.add(pod.key)
        if answer is None:
            await ctx.emit(owner, "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")
        elif not isinstance(answer, NotFound):
            failures.append(answer)
    left = [pod for pod in pods if pod.key not in gone]
    return left, await _failed(ctx, owner, "FailedDelete", "deleting", failures) if failures else None


async def _neighbours(ctx: Context, owner: ReplicaSet, pods: list[Pod], surplus: int) -> list[Pod]:
    """Pods of all ReplicaSets with the same owner; only where there is a choice to make."""
    if surplus >= len(pods):
        return []
    known = owner.metadata.controller
    if known is None:
        return pods
    found: list[Pod] = []
    for related in await ctx.list(ReplicaSet, index=("related", known.uid)):
        found += await ctx.list(Pod, index=("controller", related.metadata.uid))
    return found


async def _failed(ctx: Context, owner: ReplicaSet, reason: str, doing: str, failures: Sequence[Exception]) -> ApiError:
    """The first failure that the server answered; any other exception is a mistake of ours and is raised."""
    for one in failures:
        if not isinstance(one, ApiError):
            raise one
    first = failures[0]
    assert isinstance(first, ApiError)
    if not is_terminating(first):
        await ctx.emit(owner, reason, f"Error {doing}: {first}", type="Warning")
    return first


async def _tell(ctx: Context, owner: ReplicaSet, pods: list[Pod], failure: ApiError | None) -> Result | None:
    """Write the status if it changed; asks to come back when the next ready Pod becomes available."""
    changed = owner.deep_copy()
    status, template = changed.status, owner.spec.template.metadata.labels
    min_ready_s = owner.spec.min_ready_seconds
    waits: list[float] = []
    ready = [pod for pod in pods if is_ready(pod)]
    if min_ready_s and ready:
        now = await ctx.now()
        waits = [wait for pod in ready if (wait := available_in_s(pod, min_ready_s, now))]
    status.replicas = len(pods)
    status.fully_labeled_replicas = sum(template.items() <= pod.metadata.labels.items() for pod in pods)
    status.ready_replicas = len(ready)
    status.available_replicas = len(ready) - len(waits)
    status.observed_generation = owner.metadata.generation
    await _tell_failure(ctx, changed, owner.spec.replicas or 0, failure)
    if changed.status != owner.status:
        await ctx.patch_from(owner, changed, subresource="status")
    return Result(requeue_after_s=min(waits)) if waits else None


async def _tell_failure(ctx: Context, changed: ReplicaSet, wanted: int, failure: ApiError | None) -> None:
    conditions = changed.status.conditions
    known = next((one for one in conditions if one.type == "ReplicaFailure"), None)
    if failure is None and known is not None:
        changed.status.conditions = [one for one in conditions if one is not known]
    elif failure is not None and known is None:
        made = ReplicaSetCondition(
            type="ReplicaFailure",
            status="True",
            last_transition_time=(await ctx.now()).replace(microsecond=0),
            reason="FailedCreate" if changed.status.replicas < wanted else "FailedDelete",
            message=str(failure),
        )
        changed.status.conditions = [*conditions, made]

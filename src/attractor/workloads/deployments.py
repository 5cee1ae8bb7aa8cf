"""The Deployment controller: rolls Pods from one template to the next, through ReplicaSets.

Each template has a ReplicaSet of its own, named by a hash of it. The one of the current template grows, the others
shrink, within the limits that ``rollouts`` computes; ``Recreate`` waits until the last old Pod is gone. Old, empty
ReplicaSets are kept as history, up to ``revisionHistoryLimit``; the annotation ``deployment.kubernetes.io/revision``
numbers them, and a template that comes back takes up its old ReplicaSet under a new number. A paused Deployment is
scaled and nothing else. The condition ``Progressing`` turns false when nothing moved for ``progressDeadlineSeconds``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from attractor import (
    AlreadyExists,
    ApiError,
    Context,
    Index,
    Key,
    LabelSelector,
    NotFound,
    ObjectMeta,
    Result,
    Watches,
    controller,
)
from attractor.k8s import Deployment, DeploymentCondition, Pod, ReplicaSet, ReplicaSetSpec
from attractor.toolkit import data_hash, deleted, set_controller
from attractor.workloads.claims import chosen_labels, claim, claimable, orphan_labels
from attractor.workloads.pods import is_finished
from attractor.workloads.replica_sets import is_terminating
from attractor.workloads.rollouts import (
    DESIRED,
    HASH_LABEL,
    MOST,
    REVISION,
    REVISION_HISTORY,
    Rollout,
    revision_of,
    same_template,
    size_of,
)

if TYPE_CHECKING:
    from datetime import datetime

    from attractor import Controller

ROLLBACK_TO = "deprecated.deployment.rollback.to"
NOT_COPIED = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", REVISION, REVISION_HISTORY, DESIRED, MOST, ROLLBACK_TO}
)
"""Annotations that a Deployment and its ReplicaSets do not share."""
NEVER_S = 2**31 - 1
"""The ``progressDeadlineSeconds`` that means none."""
_MAX_HISTORY = 2000
"""How many characters of former revision numbers are kept."""


def _deployment_of(pod: Pod) -> list[Key]:
    """The Deployment of a Pod, by the name of its ReplicaSet."""
    owner, suffix = pod.metadata.controller, pod.metadata.labels.get(HASH_LABEL, "")
    if owner is None or owner.kind != "ReplicaSet" or not suffix:
        return []
    return [Key(pod.metadata.namespace, owner.name.removesuffix(f"-{suffix}"))]


def deployment_controller(rollout_of: type[Rollout] = Rollout) -> Controller:
    """The Deployment controller, with the arithmetic of rollouts, or another one to try."""

    @controller(
        name="deployment-controller",
        for_=Deployment,
        owns=[ReplicaSet],
        watches=[
            Watches(ReplicaSet, index="selector", by=orphan_labels),
            Watches(Pod, _deployment_of, when=deleted),
        ],
        indexes=[
            claimable(ReplicaSet),
            claimable(Pod),
            Index(Deployment, "selector", lambda one: chosen_labels(one.spec.selector, one.metadata.namespace)),
        ],
    )
    async def deployments(ctx: Context, key: Key) -> Result | None:
        """Bring a Deployment's Pods one step closer to its template and number, and tell how far they are."""
        deployment = await ctx.find(Deployment, key)
        if deployment is None:
            return None
        sets = await claim(ctx, deployment, deployment.spec.selector, ReplicaSet)
        rollout = rollout_of.of(deployment, sets)
        told = deployment.deep_copy()
        now = (await ctx.now()).replace(microsecond=0)
        if deployment.metadata.is_deleting:
            return await _tell(ctx, rollout, told, now)
        _tell_pause(told, now)
        if not deployment.spec.paused and (wanted := _rollback_revision(deployment)) is not None:
            await _roll_back(ctx, rollout, wanted)
            return None
        if rollout.new is not None:
            rollout.new = await _numbered(ctx, rollout, rollout.new)
            _note_revision(told, rollout.new, now)
        if deployment.spec.paused or rollout.is_scaled:
            await _rescale(ctx, rollout)
            if deployment.spec.paused:
                await _forget_history(ctx, rollout)
            return await _tell(ctx, rollout, told, now)
        moves = _roll if rollout.is_rolling else _recreate
        await moves(ctx, rollout, told, now)
        return await _tell(ctx, rollout, told, now, is_rolling_out=True)

    return deployments


deployments = deployment_controller()


async def _roll(ctx: Context, rollout: Rollout, told: Deployment, now: datetime) -> None:
    """One step of a rolling update: grow the new ReplicaSet, or else shrink the old ones."""
    if rollout.new is None:
        rollout.new = await _create(ctx, rollout, told, now)
        return
    size = rollout.new_size()
    if size != size_of(rollout.new):
        await _resize(ctx, rollout, {rollout.new.metadata.name: size})
        return
    if any(map(size_of, rollout.old)):
        await _resize(ctx, rollout, rollout.old_sizes())
    elif _is_complete(rollout.deployment, rollout.deployment):
        await _forget_history(ctx, rollout)


async def _recreate(ctx: Context, rollout: Rollout, told: Deployment, now: datetime) -> None:
    """One step of ``Recreate``: all old Pods go, and only then new ones come."""
    if any(map(size_of, rollout.old)):
        await _resize(ctx, rollout, {one.metadata.name: 0 for one in rollout.old})
        return
    for one in rollout.old:
        pods = await ctx.list(Pod, index=("controller", one.metadata.uid))
        if one.status.replicas or not all(map(is_finished, pods)):
            return
    if rollout.new is None:
        rollout.new = await _create(ctx, rollout, told, now)
    elif size_of(rollout.new) != rollout.replicas:
        await _resize(ctx, rollout, {rollout.new.metadata.name: rollout.replicas})
    elif _is_complete(rollout.deployment, rollout.deployment):
        await _forget_history(ctx, rollout)


async def _rescale(ctx: Context, rollout: Rollout) -> None:
    """Follow a changed number of replicas, without going on with the rollout."""
    only = rollout.active_or_latest()
    if only is not None:
        await _resize(ctx, rollout, {only.metadata.name: rollout.replicas})
    elif rollout.is_saturated():
        await _resize(ctx, rollout, {one.metadata.name: 0 for one in rollout.old})
    elif rollout.is_rolling:
        await _resize(ctx, rollout, rollout.proportional_sizes())


async def _resize(ctx: Context, rollout: Rollout, sizes: dict[str, int]) -> None:
    """Give ReplicaSets their new sizes, and note what the Deployment wanted then."""
    noted = {DESIRED: str(rollout.replicas), MOST: str(rollout.most)}
    for one in rollout.replica_sets:
        size, before = sizes.get(one.metadata.name), size_of(one)
        if size is None or (size == before and (not before or noted.items() <= one.metadata.annotations.items())):
            continue
        changed = one.deep_copy()
        changed.spec.replicas = size
        changed.metadata.annotations.update(noted)
        stored = await ctx.patch_from(one, changed)
        one.spec, one.metadata = stored.spec, stored.metadata
        if size != before:
            direction = "up" if size > before else "down"
            message = f"Scaled {direction} replica set {one.metadata.name} from {before} to {size}"
            await ctx.emit(rollout.deployment, "ScalingReplicaSet", message)


async def _create(ctx: Context, rollout: Rollout, told: Deployment, now: datetime) -> ReplicaSet | None:
    """Create the ReplicaSet of the current template; ``None`` when its name is taken, and another is tried next."""
    made = _new_replica_set(rollout)
    name = made.metadata.name
    found: ReplicaSet | None = None
    failure: ApiError | None = None
    try:
        found = await ctx.create(made)
    except AlreadyExists:
        known = await ctx.find(ReplicaSet, made.key, cached=False)
        if known is not None and _is_ours(known, rollout.deployment):
            return known
        told.status.collision_count = (told.status.collision_count or 0) + 1
        return None
    except ApiError as error:
        failure = error
    if failure is not None:
        if not is_terminating(failure):
            message = f"Failed to create new replica set {name!r}: {failure}".replace("'", '"')
            _set(told, "Progressing", "False", "ReplicaSetCreateError", message, now)
            await ctx.emit(rollout.deployment, "ReplicaSetCreateError", message, type="Warning")
            await _write(ctx, rollout.deployment, told)
        raise failure
    if size_of(made):
        message = f"Scaled up replica set {name} from 0 to {size_of(made)}"
        await ctx.emit(rollout.deployment, "ScalingReplicaSet", message)
    told.metadata.annotations[REVISION] = made.metadata.annotations[REVISION]
    if _has_deadline(told):
        _set(told, "Progressing", "True", "NewReplicaSetCreated", f'Created new replica set "{name}"', now)
    return found


def _new_replica_set(rollout: Rollout) -> ReplicaSet:
    deployment = rollout.deployment
    template, selector = deployment.spec.template, deployment.spec.selector or LabelSelector()
    suffix = data_hash([template.metadata, template.spec, deployment.status.collision_count or 0])
    spec = ReplicaSetSpec(
        replicas=rollout.new_size(),
        min_ready_seconds=deployment.spec.min_ready_seconds,
        selector=LabelSelector(
            match_labels={**selector.match_labels, HASH_LABEL: suffix}, match_expressions=selector.match_expressions
        ),
        template=deployment.deep_copy().spec.template,
    )
    spec.template.metadata.labels[HASH_LABEL] = suffix
    meta = ObjectMeta(
        name=f"{deployment.metadata.name[: 252 - len(suffix)]}-{suffix}",
        namespace=deployment.metadata.namespace,
        labels=dict(spec.template.metadata.labels),
        annotations={
            **_shared(deployment),
            REVISION: str(rollout.max_revision + 1),
            DESIRED: str(rollout.replicas),
            MOST: str(rollout.most),
        },
    )
    made = ReplicaSet(metadata=meta, spec=spec)
    set_controller(deployment, made)
    return made


def _is_ours(replica_set: ReplicaSet, deployment: Deployment) -> bool:
    owner = replica_set.metadata.controller
    is_owner = owner is not None and owner.uid == deployment.metadata.uid
    return is_owner and same_template(replica_set.spec.template, deployment.spec.template)


def _shared(obj: Deployment | ReplicaSet) -> dict[str, str]:
    return {name: value for name, value in obj.metadata.annotations.items() if name not in NOT_COPIED}


async def _numbered(ctx: Context, rollout: Rollout, new: ReplicaSet) -> ReplicaSet:
    """Give the current ReplicaSet the newest revision number, and the Deployment's annotations."""
    changed = new.deep_copy()
    annotations = changed.metadata.annotations
    annotations.update(_shared(rollout.deployment))
    former, revision = revision_of(new), rollout.max_revision + 1
    if former < revision:
        annotations[REVISION] = str(revision)
        if former:
            history = [*filter(None, annotations.get(REVISION_HISTORY, "").split(",")), str(former)]
            while len(",".join(history)) > _MAX_HISTORY:
                history.pop(0)
            annotations[REVISION_HISTORY] = ",".join(history)
    changed.spec.min_ready_seconds = rollout.deployment.spec.min_ready_seconds
    if changed == new:
        return new
    stored: ReplicaSet = await ctx.patch_from(new, changed)
    return stored


async def _forget_history(ctx: Context, rollout: Rollout) -> None:
    """Delete the oldest ReplicaSets beyond the limit, as far as they are empty."""
    limit = rollout.deployment.spec.revision_history_limit
    if limit is None or limit >= NEVER_S:
        return
    kept = [one for one in rollout.old if not one.metadata.is_deleting]
    for one in sorted(kept, key=revision_of)[: max(0, len(kept) - limit)]:
        is_seen = one.metadata.generation <= one.status.observed_generation
        if is_seen and not size_of(one) and not one.status.replicas:
            try:
                await ctx.delete(one)
            except NotFound:
                continue


def _rollback_revision(deployment: Deployment) -> int | None:
    """The revision that the deprecated annotation asks to go back to: 0 for the last one; ``None`` for no request."""
    text = deployment.metadata.annotations.get(ROLLBACK_TO, "")
    return int(text) if text.isdigit() else None


async def _roll_back(ctx: Context, rollout: Rollout, revision: int) -> None:
    """Put the template of an earlier revision into the Deployment, and take the request away in any case."""
    deployment = rollout.deployment
    changed = deployment.deep_copy()
    del changed.metadata.annotations[ROLLBACK_TO]
    if not revision:
        known = sorted(map(revision_of, rollout.replica_sets))
        revision = known[-2] if len(known) > 1 else 0
    target = next((one for one in rollout.replica_sets if revision and revision_of(one) == revision), None)
    if target is None:
        what, kind = "Unable to find the revision to rollback to.", "DeploymentRollbackRevisionNotFound"
    elif same_template(target.spec.template, deployment.spec.template):
        what = f'The rollback revision contains the same template as current deployment "{deployment.metadata.name}"'
        kind = "DeploymentRollbackTemplateUnchanged"
    else:
        what = f'Rolled back deployment "{deployment.metadata.name}" to revision {revision}'
        kind = "DeploymentRollback"
        changed.spec.template = target.spec.template
        changed.spec.template.metadata.labels.pop(HASH_LABEL, None)
        kept = {name: value for name, value in changed.metadata.annotations.items() if name in NOT_COPIED}
        changed.metadata.annotations = {**kept, **_shared(target)}
    await ctx.patch_from(deployment, changed)
    await ctx.emit(deployment, kind, what, type="Normal" if kind == "DeploymentRollback" else "Warning")


def _condition(deployment: Deployment, type_: str) -> DeploymentCondition | None:
    return next((one for one in deployment.status.conditions if one.type == type_), None)


def _set(told: Deployment, type_: str, status: str, reason: str, message: str, now: datetime) -> None:
    """Set a condition, unless it says so for this reason already; the transition time moves with the status only."""
    known = _condition(told, type_)
    if known is not None and (known.status, known.reason) == (status, reason):
        return
    moved = known.last_transition_time if known is not None and known.status == status else now
    made = DeploymentCondition(
        type=type_, status=status, reason=reason, message=message, last_update_time=now, last_transition_time=moved
    )
    told.status.conditions = [*(one for one in told.status.conditions if one is not known), made]


def _drop(told: Deployment, type_: str) -> None:
    told.status.conditions = [one for one in told.status.conditions if one.type != type_]


def _has_deadline(deployment: Deployment) -> bool:
    return (deployment.spec.progress_deadline_seconds or NEVER_S) < NEVER_S


def _tell_pause(told: Deployment, now: datetime) -> None:
    """Progress is unknown while a Deployment is paused, so that it does not time out when it is resumed."""
    known = _condition(told, "Progressing")
    reason = known.reason if known is not None else ""
    if not _has_deadline(told) or reason == "ProgressDeadlineExceeded":
        return
    if told.spec.paused and reason != "DeploymentPaused":
        _set(told, "Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", now)
    elif not told.spec.paused and reason == "DeploymentPaused":
        _set(told, "Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed", now)


def _note_revision(told: Deployment, new: ReplicaSet, now: datetime) -> None:
    told.metadata.annotations[REVISION] = new.metadata.annotations.get(REVISION, "")
    if _has_deadline(told) and _condition(told, "Progressing") is None:
        message = f'Found new replica set "{new.metadata.name}"'
        _set(told, "Progressing", "True", "FoundNewReplicaSet", message, now)


async def _tell(
    ctx: Context, rollout: Rollout, told: Deployment, now: datetime, *, is_rolling_out: bool = False
) -> Result | None:
    """Write status and revision if they changed; asks to come back when the progress deadline is over."""
    _count(rollout, told, now)
    if is_rolling_out:
        _tell_progress(rollout, told, now)
        _tell_failures(rollout, told)
    await _write(ctx, rollout.deployment, told)
    return _next_look(told, now)


async def _write(ctx: Context, deployment: Deployment, told: Deployment) -> None:
    """Write status and annotations at once: the status of a Deployment may change its annotations, too."""
    is_noted = told.metadata.annotations == deployment.metadata.annotations
    if not is_noted or told.status != deployment.status:
        await ctx.update_status(told)


def _count(rollout: Rollout, told: Deployment, now: datetime) -> None:
    status, sets, new = told.status, rollout.replica_sets, rollout.new
    status.observed_generation = told.metadata.generation
    status.replicas = sum(one.status.replicas for one in sets)
    status.updated_replicas = new.status.replicas if new is not None else 0
    status.ready_replicas = sum(one.status.ready_replicas for one in sets)
    status.available_replicas = rollout.available
    status.unavailable_replicas = max(0, rollout.size - rollout.available)
    if rollout.available >= rollout.replicas - rollout.unavailable:
        message = "Deployment has minimum availability."
        _set(told, "Available", "True", "MinimumReplicasAvailable", message, now)
    else:
        message = "Deployment does not have minimum availability."
        _set(told, "Available", "False", "MinimumReplicasUnavailable", message, now)


def _is_complete(deployment: Deployment, told: Deployment) -> bool:
    status, replicas = told.status, deployment.spec.replicas or 0
    return (
        status.updated_replicas == status.replicas == status.available_replicas == replicas
        and status.observed_generation >= deployment.metadata.generation
    )


def _tell_progress(rollout: Rollout, told: Deployment, now: datetime) -> None:
    deployment, known = rollout.deployment, _condition(told, "Progressing")
    if not _has_deadline(deployment):
        _drop(told, "Progressing")
        return
    before = _condition(deployment, "Progressing")
    is_done = before is not None and before.reason == "NewReplicaSetAvailable"
    if is_done and told.status.replicas == told.status.updated_replicas:
        return
    name = deployment.metadata.name if rollout.new is None else rollout.new.metadata.name
    subject = f'{"Deployment" if rollout.new is None else "ReplicaSet"} "{name}"'
    if _is_complete(deployment, told):
        _set(told, "Progressing", "True", "NewReplicaSetAvailable", f"{subject} has successfully progressed.", now)
    elif _is_progressing(deployment, told):
        moved = before.last_transition_time if before is not None and before.status == "True" else now
        _drop(told, "Progressing")
        _set(told, "Progressing", "True", "ReplicaSetUpdated", f"{subject} is progressing.", now)
        told.status.conditions[-1].last_transition_time = moved
    elif known is not None and _is_overdue(deployment, known, now):
        message = f"{subject} has timed out progressing."
        _set(told, "Progressing", "False", "ProgressDeadlineExceeded", message, now)


def _is_progressing(deployment: Deployment, told: Deployment) -> bool:
    before, after = deployment.status, told.status
    return (
        after.updated_replicas > before.updated_replicas
        or after.replicas - after.updated_replicas < before.replicas - before.updated_replicas
        or after.ready_replicas > before.ready_replicas
        or after.available_replicas > before.available_replicas
    )


def _deadline(deployment: Deployment, known: DeploymentCondition) -> datetime | None:
    if known.last_update_time is None:
        return None
    return known.last_update_time + timedelta(seconds=deployment.spec.progress_deadline_seconds or 0)


def _is_overdue(deployment: Deployment, known: DeploymentCondition, now: datetime) -> bool:
    if known.reason in {"NewReplicaSetAvailable", "ProgressDeadlineExceeded"}:
        return known.reason == "ProgressDeadlineExceeded"
    due = _deadline(deployment, known)
    return due is not None and due < now


def _tell_failures(rollout: Rollout, told: Deployment) -> None:
    """Pass on why ReplicaSets cannot create Pods; what the new one says comes first."""
    newest_first = [*([rollout.new] if rollout.new is not None else []), *rollout.old]
    for one in newest_first:
        for found in one.status.conditions:
            if found.type == "ReplicaFailure":
                made = DeploymentCondition(
                    type="ReplicaFailure",
                    status=found.status,
                    reason=found.reason,
                    message=found.message,
                    last_update_time=found.last_transition_time,
                    last_transition_time=found.last_transition_time,
                )
                known = _condition(told, "ReplicaFailure")
                if known is None or (known.status, known.reason) != (made.status, made.reason):
                    _drop(told, "ReplicaFailure")
                    told.status.conditions = [*told.status.conditions, made]
                return
    _drop(told, "ReplicaFailure")


def _next_look(told: Deployment, now: datetime) -> Result | None:
    """When to look again although nothing changes: just after the progress deadline."""
    known = _condition(told, "Progressing")
    if known is None or not _has_deadline(told) or _is_complete(told, told):
        return None
    if known.reason in {"NewReplicaSetAvailable", "ProgressDeadlineExceeded", "DeploymentPaused"}:
        return None
    due = _deadline(told, known)
    return None if due is None else Result(requeue_after_s=max(0.0, (due - now).total_seconds()) + 1)

"""Facts about Pods that every workload controller needs: active, ready, available; a Pod made of a template."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from attractor import ObjectMeta
from attractor.k8s import Pod
from attractor.toolkit import set_controller

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from attractor import Resource
    from attractor.k8s import PodCondition, PodTemplateSpec

FINISHED = frozenset({"Succeeded", "Failed"})
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1}


def is_finished(pod: Pod) -> bool:
    """Return whether all containers have ended for good."""
    return pod.status.phase in FINISHED


def is_active(pod: Pod) -> bool:
    """Return whether a Pod counts as a replica: neither finished nor being deleted."""
    return not is_finished(pod) and not pod.metadata.is_deleting


def condition_of(pod: Pod, type_: str) -> PodCondition | None:
    """The condition of a type; ``None`` when there is none."""
    return next((one for one in pod.status.conditions if one.type == type_), None)


def is_ready(pod: Pod) -> bool:
    """Return whether the condition ``Ready`` is true."""
    found = condition_of(pod, "Ready")
    return found is not None and found.status == "True"


def available_in_s(pod: Pod, min_ready_s: int, now: datetime) -> float | None:
    """How long until a ready Pod is available, 0 when it is; ``None`` for one that is not ready."""
    ready = condition_of(pod, "Ready")
    if ready is None or ready.status != "True":
        return None
    if not min_ready_s or ready.last_transition_time is None:
        return 0.0
    left = ready.last_transition_time + timedelta(seconds=min_ready_s) - now
    return max(0.0, left.total_seconds())


def pod_of(template: PodTemplateSpec, owner: Resource, name: str = "") -> Pod:
    """A Pod as a template says, controlled by an owner; without a name the server generates one from the owner's."""
    meta = template.metadata
    pod = Pod(
        metadata=ObjectMeta(
            name=name,
            generate_name="" if name else f"{owner.metadata.name}-",
            namespace=owner.metadata.namespace,
            labels=dict(meta.labels),
            annotations=dict(meta.annotations),
            finalizers=list(meta.finalizers),
        ),
        spec=template.spec,
    )
    set_controller(owner, pod)
    return pod


def first_to_delete(pods: Sequence[Pod], count: int, neighbours: Sequence[Pod] = ()) -> list[Pod]:
    """The Pods whose end hurts least, in Kubernetes' order.

    Unscheduled before scheduled, pending before running, not ready before ready, then the lower deletion cost, the
    node with more ``neighbours`` (Pods of the same application), ready for a shorter time, more restarts, younger.
    """
    crowd: dict[str, int] = {}
    for one in neighbours:
        if is_active(one) and one.spec.node_name:
            crowd[one.spec.node_name] = crowd.get(one.spec.node_name, 0) + 1

    def rank(pod: Pod) -> tuple[object, ...]:
        ready = condition_of(pod, "Ready")
        since = ready.last_transition_time if ready is not None and ready.status == "True" else None
        born = pod.metadata.creation_timestamp
        return (
            bool(pod.spec.node_name),
            _PHASES.get(pod.status.phase, 2),
            since is not None,
            _cost(pod),
            -crowd.get(pod.spec.node_name, 0),
            -since.timestamp() if since else 0.0,
            -max((one.restart_count for one in pod.status.container_statuses), default=0),
            -born.timestamp() if born else 0.0,
        )

    return sorted(pods, key=rank)[:count] if count < len(pods) else list(pods)


def _cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0

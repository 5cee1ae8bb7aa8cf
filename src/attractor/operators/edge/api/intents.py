"""Next intent of an instance: pure decisions from an object alone, shared by coordinator, admission and tests."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from attractor.operators.edge.api.states import APP_INST, CLUSTER_INST, Actor, CloudletState, TrackedState
from attractor.operators.edge.api.types import (
    OVERRIDE,
    AppInst,
    ClusterInst,
    ClusterInstStatus,
    Installed,
    InstanceStatus,
    Target,
)

if TYPE_CHECKING:
    from attractor.lifecycle import Lifecycle
    from attractor.operators.edge.api.types import Cloudlet, Instance

T = TrackedState
DELETIONS = frozenset({T.DELETE_REQUESTED, T.DELETING})
"""The states in which the agent is to remove something."""


class Override(StrEnum):
    """An administrator's override for an instance: the annotation ``edge.attractor.dev/override``."""

    IGNORE_CRM = "IgnoreCRM"
    IGNORE_CRM_ERRORS = "IgnoreCRMErrors"
    IGNORE_TRANSIENT_STATE = "IgnoreTransientState"
    IGNORE_CRM_AND_TRANSIENT_STATE = "IgnoreCRMAndTransientState"

    @property
    def is_past_agent(self) -> bool:
        """Return whether the agent is not asked."""
        return self in {self.IGNORE_CRM, self.IGNORE_CRM_AND_TRANSIENT_STATE}

    @property
    def is_past_work(self) -> bool:
        """Return whether work in progress does not hold a deletion."""
        return self in {self.IGNORE_TRANSIENT_STATE, self.IGNORE_CRM_AND_TRANSIENT_STATE}


def lifecycle_of(obj: Instance) -> Lifecycle[TrackedState, Actor]:
    """The table that an instance follows."""
    return CLUSTER_INST if isinstance(obj, ClusterInst) else APP_INST


def status_of(obj: Instance) -> InstanceStatus:
    """An instance's status; that of something new where it has none yet."""
    return obj.status or (ClusterInstStatus() if isinstance(obj, ClusterInst) else InstanceStatus())


def cluster_status(obj: ClusterInst) -> ClusterInstStatus:
    """A cluster's status; that of something new where it has none yet."""
    return obj.status or ClusterInstStatus()


def with_status(obj: Instance, status: InstanceStatus) -> Instance:
    """A copy of an instance with another status, which is of the class that the instance has."""
    changed: Any = obj.deep_copy()
    changed.status = status
    made: Instance = changed
    return made


def override_of(obj: Instance) -> Override | None:
    """Return the override of an administrator; None for nothing, or for a word that means nothing."""
    text = obj.metadata.annotations.get(OVERRIDE)
    return Override(text) if text in set(Override) else None


def wanted(obj: Instance) -> Target:
    """The wish of an object, as an operation leads to it."""
    if isinstance(obj, AppInst):
        spec = obj.spec
        settings = {
            "cluster": spec.cluster,
            "revision": spec.revision,
            "replicas": str(spec.replicas),
            "image": spec.image,
        }
        return Target(generation=obj.metadata.generation or 0, settings=settings)
    return Target(generation=obj.metadata.generation or 0, settings={"nodes": str(obj.spec.nodes)})


def is_installed(current: Installed | None, target: Target | None) -> bool:
    """Return whether what is there is what was asked for."""
    if current is None or target is None:
        return current is None and target is None
    return (current.generation, current.settings) == (target.generation, target.settings)


def wish(obj: Instance) -> str:
    """The user's event that this instance waits for: ``create``, ``update``, ``delete``, ``leave`` or none (empty).

    ``leave`` means that nothing is there, as the agent has said, and the object may go. What is there but is not what
    was asked for is wished for again: an agent that came back and found less than the coordinator believes is how that
    comes about.
    """
    status, generation = status_of(obj), obj.metadata.generation or 0
    if status.state is T.NOT_PRESENT:
        if obj.metadata.is_deleting:
            return "leave" if status.current is None else ""
        return "create" if generation != status.observed_generation else ""
    if status.state is not T.READY:
        return ""
    if obj.metadata.is_deleting:
        return "delete"
    changed = generation != status.observed_generation and wanted(obj).settings != getattr(
        status.target, "settings", None
    )
    return "update" if changed or not is_installed(status.current, status.target) else ""


def begun(obj: Instance, event: str, message: str) -> InstanceStatus:
    """The status in which an operation has begun, on behalf of the user whose wish it is."""
    status = _copy(obj)
    status.state = lifecycle_of(obj).follow(status.state, Actor.USER, event)
    status.operation += 1
    status.observed_generation = obj.metadata.generation or 0
    status.message, status.error = message, ""
    if event != "delete":
        status.target = wanted(obj)
    return status


def prepared(obj: Instance) -> InstanceStatus:
    """The status in which the agent is asked to delete."""
    status = _copy(obj)
    status.state = lifecycle_of(obj).follow(status.state, Actor.CONTROLLER, "prepared")
    status.target = None
    status.message = "waits for the agent"
    return status


def undone(obj: Instance) -> InstanceStatus:
    """The status after a failure: what was before, and why."""
    status = _copy(obj)
    failed = status.state
    status.state = lifecycle_of(obj).follow(status.state, Actor.CONTROLLER, "undo")
    there = status.current
    if failed is T.CREATE_ERROR or there is None:
        status.target = status.target if failed is T.UPDATE_ERROR else None
    else:
        status.target = Target(generation=there.generation, settings=dict(there.settings))
    status.message = f"{failed}: {status.error}"
    return status


def overridden(obj: Instance, allowed: Override) -> InstanceStatus | None:
    """The status to which an administrator's word leads at once; None where it changes nothing."""
    status = _copy(obj)
    to = _overridden_state(obj, status, allowed)
    if to is None:
        return None
    lifecycle_of(obj).check(status.state, [Actor.ADMIN], to)
    status.message = f"{allowed}: went from {status.state} to {to} without the agent"
    status.state = to
    if to is T.NOT_PRESENT:
        status.target = status.current = None
    elif to is T.READY and status.target is not None:
        status.current = Installed(generation=status.target.generation, settings=dict(status.target.settings))
    return status


def _overridden_state(obj: Instance, status: InstanceStatus, allowed: Override) -> TrackedState | None:
    state = status.state
    may_prepare = T.DELETE_PREPARE in lifecycle_of(obj).nexts(state, Actor.ADMIN) and state not in DELETIONS
    if allowed.is_past_work and obj.metadata.is_deleting and may_prepare:
        return T.DELETE_PREPARE
    if allowed.is_past_agent and lifecycle_of(obj).owner(state) is Actor.CRM:
        return T.NOT_PRESENT if state in DELETIONS else T.READY
    if allowed is Override.IGNORE_CRM_ERRORS and state in lifecycle_of(obj).errors:
        return T.NOT_PRESENT if state is T.DELETE_ERROR else T.READY
    return None


def cloudlet_refusal(cloudlet: Cloudlet | None, name: str, allowed: Override | None = None) -> str:
    """Return why nothing on a cloudlet may be changed now; empty when it may, or needs no agent."""
    if cloudlet is None:
        return f"Cloudlet {name} is not there"
    status = cloudlet.status
    if status is None or status.state is T.NOT_PRESENT:
        return f"Cloudlet {name} not ready, state is NotPresent"
    if status.state is T.UPDATE_ERROR:
        return f"Cloudlet {name} is in failed upgrade state, please upgrade it manually"
    if status.state is not T.READY:
        return f"Cloudlet {name} is upgrading"
    if status.cloudlet_state is CloudletState.OFFLINE and not (allowed is not None and allowed.is_past_agent):
        return f"Cloudlet {name} not ready, state is Offline"
    return ""


def claim_refusal(cluster: ClusterInst | None, app: AppInst, event: str) -> str:
    """Return why an app may not begin an operation in its cluster; empty when it may."""
    name = app.spec.cluster
    if cluster is None:
        return "" if event == "delete" else f"waits for ClusterInst {name}, which is not there"
    status = cluster_status(cluster)
    if event == "delete":
        return (
            "" if status.state in {T.READY, T.DELETE_PREPARE} else f"ClusterInst {name} is busy, it is {status.state}"
        )
    if status.state is not T.READY:
        return f"ClusterInst {name} not ready, it is {status.state}"
    if cluster.metadata.is_deleting:
        return f"ClusterInst {name} is being deleted"
    if cluster.spec.reservable and status.reserved_by and status.reserved_by != app.spec.tenant:
        return f"ClusterInst {name} is reserved by {status.reserved_by}"
    return ""


def _copy(obj: Instance) -> InstanceStatus:
    copied = obj.deep_copy()
    return status_of(copied)

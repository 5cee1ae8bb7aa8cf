"""Controllers of pods: deployments, sets, jobs, and their revisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.formats.ages import human_duration, seconds_of
from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Column,
    at,
    containers,
    count,
    field,
    given,
    is_true,
    items,
    labels,
    length,
    number,
    of,
    prints,
    selector,
    wide,
)
from attractor.objects.gvk import GroupKind, GroupVersion

if TYPE_CHECKING:
    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

_APPS, _BATCH, _CORE = "io.k8s.api.apps.v1", "io.k8s.api.batch.v1", "io.k8s.api.core.v1"
_TEMPLATE = containers("spec", "template", "spec")
_SELECTOR = of(lambda obj: selector(at(obj, "spec", "selector")))


def ready_replicas(obj: JsonObject) -> str:
    """READY of a deployment or a stateful set: how many replicas are ready, of how many."""
    return f"{number(obj, 'status', 'readyReplicas')}/{number(obj, 'spec', 'replicas')}"


_READY = Column("Ready", of(ready_replicas), "Number of the pod with ready state")

prints(
    "apps",
    "Deployment",
    NAME,
    _READY,
    Column("Up-to-date", count("status", "updatedReplicas"), f"{_APPS}.DeploymentStatus#updatedReplicas"),
    Column("Available", count("status", "availableReplicas"), f"{_APPS}.DeploymentStatus#availableReplicas"),
    AGE,
    *_TEMPLATE,
    wide(
        "Selector",
        of(lambda obj: selector(at(obj, "spec", "selector"), empty="", broken="<invalid>")),
        f"{_APPS}.DeploymentSpec#selector",
    ),
)
prints("apps", "StatefulSet", NAME, _READY, AGE, *_TEMPLATE)


def _pods(name: str, field: str) -> Column:
    """A number in the status of a daemon set."""
    return Column(name, count("status", field), f"{_APPS}.DaemonSetStatus#{field}", "integer")


prints(
    "apps",
    "DaemonSet",
    NAME,
    _pods("Desired", "desiredNumberScheduled"),
    _pods("Current", "currentNumberScheduled"),
    _pods("Ready", "numberReady"),
    _pods("Up-to-date", "updatedNumberScheduled"),
    _pods("Available", "numberAvailable"),
    Column(
        "Node Selector",
        of(lambda obj: labels(at(obj, "spec", "template", "spec", "nodeSelector"))),
        f"{_CORE}.PodSpec#nodeSelector",
    ),
    AGE,
    *_TEMPLATE,
    wide("Selector", _SELECTOR, f"{_APPS}.DaemonSetSpec#selector"),
)


def _replicas(package: str, kind: str, chosen: Cell) -> tuple[Column, ...]:
    return (
        NAME,
        Column("Desired", count("spec", "replicas"), f"{package}.{kind}Spec#replicas", "integer"),
        Column("Current", count("status", "replicas"), f"{package}.{kind}Status#replicas", "integer"),
        Column("Ready", count("status", "readyReplicas"), f"{package}.{kind}Status#readyReplicas", "integer"),
        AGE,
        *_TEMPLATE,
        wide("Selector", chosen, f"{package}.{kind}Spec#selector"),
    )


prints("apps", "ReplicaSet", *_replicas(_APPS, "ReplicaSet", _SELECTOR))
prints(
    "",
    "ReplicationController",
    *_replicas(_CORE, "ReplicationController", of(lambda obj: labels(at(obj, "spec", "selector")))),
)


def _controller(obj: JsonObject) -> str:
    owner = next((one for one in items(obj, "metadata", "ownerReferences") if one.get("controller")), None)
    if owner is None:
        return NONE
    group = GroupVersion.parse(owner.get("apiVersion") or "").group
    return f"{str(GroupKind(group, owner.get('kind') or '')).lower()}/{owner.get('name')}"


prints(
    "apps",
    "ControllerRevision",
    NAME,
    Column("Controller", of(_controller), "Controller of the object"),
    Column("Revision", count("revision"), f"{_APPS}.ControllerRevision#revision"),
    AGE,
)

_JOB_STATES = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _job_state(job: JsonObject) -> str:
    if is_true(job, "Complete"):
        return "Complete"
    if is_true(job, "Failed"):
        return "Failed"
    if at(job, "metadata", "deletionTimestamp"):
        return "Terminating"
    return next((state for state in _JOB_STATES if is_true(job, state)), "Running")


def _job_duration(job: JsonObject, clock: Clock) -> str:
    start, end = at(job, "status", "startTime"), at(job, "status", "completionTime")
    if not start:
        return ""
    if not end:
        return clock.since(start)
    return human_duration((seconds_of(end) or 0) - (seconds_of(start) or 0))


def _completions(job: JsonObject) -> str:
    succeeded, wanted = number(job, "status", "succeeded"), at(job, "spec", "completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = number(job, "spec", "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


prints(
    "batch",
    "Job",
    NAME,
    Column("Status", of(_job_state), "Status of the job."),
    Column("Completions", of(_completions), f"{_BATCH}.JobStatus#succeeded"),
    Column("Duration", _job_duration, "Time required to complete the job."),
    AGE,
    *_TEMPLATE,
    wide("Selector", _SELECTOR, f"{_BATCH}.JobSpec#selector"),
)


def _suspended(obj: JsonObject) -> str:
    suspend = at(obj, "spec", "suspend")
    return UNSET if suspend is None else str(bool(suspend))


def _last_schedule(obj: JsonObject, clock: Clock) -> str:
    last = at(obj, "status", "lastScheduleTime")
    return clock.since(last) if last else NONE


prints(
    "batch",
    "CronJob",
    NAME,
    Column("Schedule", field("spec", "schedule"), f"{_BATCH}.CronJobSpec#schedule"),
    Column("Timezone", given("spec", "timeZone", absent=NONE), f"{_BATCH}.CronJobSpec#timeZone"),
    Column("Suspend", of(_suspended), f"{_BATCH}.CronJobSpec#suspend", "boolean"),
    Column("Active", length("status", "active"), f"{_BATCH}.CronJobStatus#active", "integer"),
    Column("Last Schedule", _last_schedule, f"{_BATCH}.CronJobStatus#lastScheduleTime"),
    AGE,
    *containers("spec", "jobTemplate", "spec", "template", "spec"),
    wide(
        "Selector",
        of(lambda obj: selector(at(obj, "spec", "jobTemplate", "spec", "selector"))),
        f"{_BATCH}.JobSpec#selector",
    ),
)

"""Controllers of pods: deployments, sets, jobs, and their revisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.formats.ages import human_duration, seconds_of
from attractor.httpd.formats.printers.columns import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    NONE,
    UNSET,
    Cells,
    Column,
    age_of,
    at,
    containers,
    is_true,
    items,
    labels,
    name_of,
    number,
    prints,
    selector,
    wide,
)
from attractor.objects.gvk import GroupKind, GroupVersion

if TYPE_CHECKING:
    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

_APPS, _BATCH, _CORE = "io.k8s.api.apps.v1", "io.k8s.api.batch.v1", "io.k8s.api.core.v1"


def _pod_spec(obj: JsonObject) -> JsonObject | None:
    found: JsonObject | None = at(obj, "spec", "template", "spec")
    return found


@prints(
    "apps",
    "Deployment",
    NAME,
    Column("Ready", about="Number of the pod with ready state"),
    Column("Up-to-date", about=f"{_APPS}.DeploymentStatus#updatedReplicas"),
    Column("Available", about=f"{_APPS}.DeploymentStatus#availableReplicas"),
    AGE,
    CONTAINERS,
    IMAGES,
    wide("Selector", f"{_APPS}.DeploymentSpec#selector"),
)
def deployment(obj: JsonObject, clock: Clock) -> Cells:
    """A deployment."""
    status = obj.get("status")
    return [
        name_of(obj),
        f"{number(status, 'readyReplicas')}/{number(obj, 'spec', 'replicas')}",
        number(status, "updatedReplicas"),
        number(status, "availableReplicas"),
        age_of(obj, clock),
        *containers(_pod_spec(obj)),
        selector(at(obj, "spec", "selector"), empty="", broken="<invalid>"),
    ]


@prints(
    "apps",
    "StatefulSet",
    NAME,
    Column("Ready", about="Number of the pod with ready state"),
    AGE,
    CONTAINERS,
    IMAGES,
)
def stateful_set(obj: JsonObject, clock: Clock) -> Cells:
    """A stateful set."""
    ready = f"{number(obj, 'status', 'readyReplicas')}/{number(obj, 'spec', 'replicas')}"
    return [name_of(obj), ready, age_of(obj, clock), *containers(_pod_spec(obj))]


@prints(
    "apps",
    "DaemonSet",
    NAME,
    Column("Desired", "integer", f"{_APPS}.DaemonSetStatus#desiredNumberScheduled"),
    Column("Current", "integer", f"{_APPS}.DaemonSetStatus#currentNumberScheduled"),
    Column("Ready", "integer", f"{_APPS}.DaemonSetStatus#numberReady"),
    Column("Up-to-date", "integer", f"{_APPS}.DaemonSetStatus#updatedNumberScheduled"),
    Column("Available", "integer", f"{_APPS}.DaemonSetStatus#numberAvailable"),
    Column("Node Selector", about=f"{_CORE}.PodSpec#nodeSelector"),
    AGE,
    CONTAINERS,
    IMAGES,
    wide("Selector", f"{_APPS}.DaemonSetSpec#selector"),
)
def daemon_set(obj: JsonObject, clock: Clock) -> Cells:
    """A daemon set."""
    status = obj.get("status")
    return [
        name_of(obj),
        number(status, "desiredNumberScheduled"),
        number(status, "currentNumberScheduled"),
        number(status, "numberReady"),
        number(status, "updatedNumberScheduled"),
        number(status, "numberAvailable"),
        labels(at(_pod_spec(obj), "nodeSelector")),
        age_of(obj, clock),
        *containers(_pod_spec(obj)),
        selector(at(obj, "spec", "selector")),
    ]


def _replicas(obj: JsonObject, clock: Clock) -> Cells:
    return [
        name_of(obj),
        number(obj, "spec", "replicas"),
        number(obj, "status", "replicas"),
        number(obj, "status", "readyReplicas"),
        age_of(obj, clock),
        *containers(_pod_spec(obj)),
    ]


def _replica_columns(package: str, kind: str) -> tuple[Column, ...]:
    return (
        NAME,
        Column("Desired", "integer", f"{package}.{kind}Spec#replicas"),
        Column("Current", "integer", f"{package}.{kind}Status#replicas"),
        Column("Ready", "integer", f"{package}.{kind}Status#readyReplicas"),
        AGE,
        CONTAINERS,
        IMAGES,
        wide("Selector", f"{package}.{kind}Spec#selector"),
    )


@prints("apps", "ReplicaSet", *_replica_columns(_APPS, "ReplicaSet"))
def replica_set(obj: JsonObject, clock: Clock) -> Cells:
    """A replica set."""
    return [*_replicas(obj, clock), selector(at(obj, "spec", "selector"))]


@prints("", "ReplicationController", *_replica_columns(_CORE, "ReplicationController"))
def replication_controller(obj: JsonObject, clock: Clock) -> Cells:
    """A replication controller."""
    return [*_replicas(obj, clock), labels(at(obj, "spec", "selector"))]


@prints(
    "apps",
    "ControllerRevision",
    NAME,
    Column("Controller", about="Controller of the object"),
    Column("Revision", about=f"{_APPS}.ControllerRevision#revision"),
    AGE,
)
def controller_revision(obj: JsonObject, clock: Clock) -> Cells:
    """A revision."""
    owner = next((one for one in items(obj, "metadata", "ownerReferences") if one.get("controller")), None)
    controller = NONE
    if owner is not None:
        group = GroupVersion.parse(owner.get("apiVersion") or "").group
        controller = f"{str(GroupKind(group, owner.get('kind') or '')).lower()}/{owner.get('name')}"
    return [name_of(obj), controller, number(obj, "revision"), age_of(obj, clock)]


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


@prints(
    "batch",
    "Job",
    NAME,
    Column("Status", about="Status of the job."),
    Column("Completions", about=f"{_BATCH}.JobStatus#succeeded"),
    Column("Duration", about="Time required to complete the job."),
    AGE,
    CONTAINERS,
    IMAGES,
    wide("Selector", f"{_BATCH}.JobSpec#selector"),
)
def job_cells(job: JsonObject, clock: Clock) -> Cells:
    """A job."""
    return [
        name_of(job),
        _job_state(job),
        _completions(job),
        _job_duration(job, clock),
        age_of(job, clock),
        *containers(_pod_spec(job)),
        selector(at(job, "spec", "selector")),
    ]


@prints(
    "batch",
    "CronJob",
    NAME,
    Column("Schedule", about=f"{_BATCH}.CronJobSpec#schedule"),
    Column("Timezone", about=f"{_BATCH}.CronJobSpec#timeZone"),
    Column("Suspend", "boolean", f"{_BATCH}.CronJobSpec#suspend"),
    Column("Active", "integer", f"{_BATCH}.CronJobStatus#active"),
    Column("Last Schedule", about=f"{_BATCH}.CronJobStatus#lastScheduleTime"),
    AGE,
    CONTAINERS,
    IMAGES,
    wide("Selector", f"{_BATCH}.JobSpec#selector"),
)
def cron_job(obj: JsonObject, clock: Clock) -> Cells:
    """A cron job."""
    spec = obj.get("spec") or {}
    suspend = spec.get("suspend")
    last = at(obj, "status", "lastScheduleTime")
    job_spec = at(spec, "jobTemplate", "spec")
    return [
        name_of(obj),
        spec.get("schedule") or "",
        spec["timeZone"] if spec.get("timeZone") is not None else NONE,
        UNSET if suspend is None else str(bool(suspend)),
        len(items(obj, "status", "active")),
        clock.since(last) if last else NONE,
        age_of(obj, clock),
        *containers(at(job_spec, "template", "spec")),
        selector(at(job_spec, "selector")),
    ]

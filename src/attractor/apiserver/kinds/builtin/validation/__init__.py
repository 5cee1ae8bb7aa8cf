"""Rules of built-in kinds, with Kubernetes' paths, reasons and messages.

==========================================  ============================================================
module                                      kinds
==========================================  ============================================================
``pods``                                    Pod, and the pod template of every workload
``workloads/workloads``                     Deployment, ReplicaSet, DaemonSet, StatefulSet, ControllerRevision,
                                            ReplicationController, PodDisruptionBudget, Scale
``workloads/jobs``, ``cron_schedule``       Job, CronJob
``workloads/autoscaling``                   HorizontalPodAutoscaler
``network``                                 Service, Endpoints, EndpointSlice
``storage/claims``                          PersistentVolumeClaim, PersistentVolume
``storage/attachments``, ``devices``        CSIDriver, CSINode, VolumeAttachment; DeviceClass, ResourceClaim,
                                            ResourceSlice
``control_plane``                           APIService, CertificateSigningRequest, FlowSchema,
                                            PriorityLevelConfiguration, admission policies and their bindings
``events``, ``quotas``                      Event (both), ResourceQuota
``nodes``                                   Node, the state of Namespaces, RuntimeClass, Lease
``core``                                    ConfigMap, Secret, Namespace, LimitRange, Lease, PodTemplate
``cluster``                                 RBAC, Ingress, IngressClass, NetworkPolicy, StorageClass, PriorityClass,
                                            webhook configurations
==========================================  ============================================================

Every other kind is checked only for the shape of its Go type, which decoding does, and for the rules of all objects'
metadata, which are the core's. Left out on purpose: rules of volume plug-ins, affinity terms, autoscaler metrics,
what devices select by expressions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.validation import cluster, core, events, nodes, quotas
from attractor.apiserver.kinds.builtin.validation.control_plane import apiservices, certificates, flowcontrol, policies
from attractor.apiserver.kinds.builtin.validation.network import services
from attractor.apiserver.kinds.builtin.validation.pods import updates as pod_updates
from attractor.apiserver.kinds.builtin.validation.storage import attachments, claims, devices
from attractor.apiserver.kinds.builtin.validation.workloads import autoscaling, jobs, workloads
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.gvk import GroupKind
    from attractor.objects.json_types import JsonObject

_CRON_JOB_NAME_MAX = 52  # eleven characters are left for the time in the names of its jobs


def _create_cron_job(cron_job: JsonObject) -> list[FieldError]:
    name = cron_job["metadata"].get("name", "")
    if len(name) <= _CRON_JOB_NAME_MAX:
        return []
    return [FieldError.invalid("metadata.name", name, f"must be no more than {_CRON_JOB_NAME_MAX} characters")]


_CREATE: dict[tuple[str, str], Validator] = {
    **autoscaling.CREATE,
    **certificates.CREATE,
    **events.CREATE,
    ("apps", "ControllerRevision"): workloads.create_controller_revision,
    ("apps", "StatefulSet"): workloads.create_stateful_set,
    ("batch", "CronJob"): _create_cron_job,
    ("batch", "Job"): jobs.create_job,
    ("networking.k8s.io", "Ingress"): cluster.create_ingress,
    ("scheduling.k8s.io", "PriorityClass"): cluster.create_priority_class,
}
_VALIDATE = {
    **apiservices.VALIDATE, **attachments.VALIDATE, **autoscaling.VALIDATE, **claims.VALIDATE, **cluster.VALIDATE,
    **core.VALIDATE, **devices.VALIDATE, **events.VALIDATE, **flowcontrol.VALIDATE, **jobs.VALIDATE, **nodes.VALIDATE,
    **policies.VALIDATE, **quotas.VALIDATE, **services.VALIDATE, **workloads.VALIDATE,
}  # fmt: skip
_UPDATE = {
    **attachments.UPDATE, **autoscaling.UPDATE, **claims.UPDATE, **cluster.UPDATE, **core.UPDATE,
    **events.UPDATE, **nodes.UPDATE, **quotas.UPDATE, **services.UPDATE, **workloads.UPDATE,
}  # fmt: skip
_UPDATE_ONLY: dict[tuple[str, str], UpdateValidator] = {
    ("", "Pod"): pod_updates.validate_pod_update,
    **devices.UPDATE_ONLY,
    **jobs.UPDATE_ONLY,
    **services.UPDATE_ONLY,
}
"""Kinds whose updates have rules instead of those of new objects, not in addition."""
_STATUS: dict[tuple[str, str], UpdateValidator] = {
    **autoscaling.STATUS,
    **certificates.STATUS,
    **devices.STATUS,
    **flowcontrol.STATUS,
    **nodes.STATUS,
    **policies.STATUS,
    **quotas.STATUS,
    ("", "Pod"): pod_updates.validate_pod_status,
    ("", "Service"): services.validate_service_status,
    ("apps", "DaemonSet"): workloads.validate_daemon_set_status,
    ("batch", "Job"): jobs.validate_job_status,
    ("networking.k8s.io", "Ingress"): cluster.validate_ingress_status,
    ("policy", "PodDisruptionBudget"): workloads.validate_budget_status,
}


def rules_of_new(kind: GroupKind) -> Validator:
    """What tells every rule that a new object of a kind breaks."""
    only, always = _CREATE.get(kind), _VALIDATE.get(kind, _no_rules)
    return always if only is None else lambda obj: only(obj) + always(obj)


def rules_of_change(kind: GroupKind) -> UpdateValidator:
    """What tells every rule that a change of the main resource breaks."""
    only, always, change = _UPDATE_ONLY.get(kind), _VALIDATE.get(kind, _no_rules), _UPDATE.get(kind)
    if only is not None:
        return only
    return (lambda obj, _: always(obj)) if change is None else lambda obj, old: always(obj) + change(obj, old)


def _no_rules(_obj: JsonObject) -> list[FieldError]:
    return []


def validate_status(kind: GroupKind, obj: JsonObject, old: JsonObject) -> list[FieldError]:
    """Every rule that a change of the status breaks."""
    validator = _STATUS.get((kind.group, kind.kind))
    if validator is not None:
        return validator(obj, old)
    counts = workloads.STATUS_COUNTS.get((kind.group, kind.kind))
    return workloads.validate_replicas_status(obj, old, *counts) if counts else []


__all__ = ["rules_of_change", "rules_of_new", "validate_status"]

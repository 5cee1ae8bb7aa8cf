"""Defaults of workloads: apps, batch and autoscaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.autoscaler_conversion import (
    DEFAULT_CPU,
    as_said_in_v1,
    without_annotations_of_v1,
)
from attractor.apiserver.kinds.builtin.defaults.core import default_claim
from attractor.apiserver.kinds.builtin.defaults.fill import child, fill, fill_absent, items
from attractor.apiserver.kinds.builtin.defaults.pod import default_pod_spec, default_template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.defaults.fill import Defaulter
    from attractor.objects.json_types import JsonObject

_INT32_MAX = 2**31 - 1
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""The annotation that numbers the templates of a DaemonSet."""


def default_deployment(deployment: JsonObject) -> None:
    """Replicas, the rolling update, history and deadline."""
    default_template(deployment)
    spec = deployment["spec"]
    fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    fill(spec["strategy"], type="RollingUpdate")
    if spec["strategy"]["type"] == "RollingUpdate":
        rolling = child(spec["strategy"], "rollingUpdate")
        for name in ("maxUnavailable", "maxSurge"):
            if rolling.get(name) is None:
                rolling[name] = "25%"


def default_daemon_set(daemon_set: JsonObject) -> None:
    """The rolling update and history."""
    default_template(daemon_set)
    annotations = daemon_set["metadata"].get("annotations") or {}
    daemon_set["metadata"]["annotations"] = {TEMPLATE_GENERATION: "0", **annotations}
    spec = daemon_set["spec"]
    fill(spec, revisionHistoryLimit=10)
    fill(spec["updateStrategy"], type="RollingUpdate")
    if spec["updateStrategy"]["type"] == "RollingUpdate":
        rolling = child(spec["updateStrategy"], "rollingUpdate")
        for name, value in (("maxUnavailable", 1), ("maxSurge", 0)):
            if rolling.get(name) is None:
                rolling[name] = value


def default_stateful_set(stateful_set: JsonObject) -> None:
    """Pod management, the rolling update, retention of claims, replicas and history."""
    default_template(stateful_set)
    spec = stateful_set["spec"]
    fill(spec, podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        child(strategy, "rollingUpdate")
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        fill(strategy["rollingUpdate"], partition=0)
    fill(child(spec, "persistentVolumeClaimRetentionPolicy"), whenDeleted="Retain", whenScaled="Retain")
    for claim in items(spec, "volumeClaimTemplates"):
        claim.update(apiVersion="v1", kind="PersistentVolumeClaim")
        default_claim(claim)


def default_replica_set(replica_set: JsonObject) -> None:
    """Replicas."""
    default_template(replica_set)
    fill(replica_set["spec"], replicas=1)


def default_job(job: JsonObject) -> None:
    """Completions, parallelism, backoff, mode; labels from the template."""
    default_template(job)
    spec = job["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    per_index = spec.get("backoffLimitPerIndex") is not None
    fill_absent(
        spec, parallelism=1, backoffLimit=_INT32_MAX if per_index else 6, completionMode="NonIndexed", suspend=False
    )
    fill_absent(spec, podReplacementPolicy="Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed")
    fill(spec, manualSelector=False)
    for rule in items(spec, "podFailurePolicy", "rules"):
        for condition in items(rule, "onPodConditions"):
            fill(condition, status="True")
    labels = spec["template"]["metadata"].get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = labels  # the same ones: what is added to the template's is added to the job's


def default_cron_job(cron_job: JsonObject) -> None:
    """Concurrency, suspension, history; the pod template inside."""
    spec = cron_job["spec"]
    fill(spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    default_pod_spec(spec["jobTemplate"]["spec"]["template"]["spec"])


def default_autoscaler_v1(autoscaler: JsonObject) -> None:
    """At least one replica, and CPU as the metric."""
    fill(autoscaler["spec"], minReplicas=1)
    as_said_in_v1(autoscaler)


def default_autoscaler(autoscaler: JsonObject) -> None:
    """At least one replica, CPU as the metric, and complete scaling rules once behaviour is given."""
    without_annotations_of_v1(autoscaler)
    spec = autoscaler["spec"]
    fill(spec, minReplicas=1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": DEFAULT_CPU}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behaviour = spec.get("behavior")
    if behaviour is not None:
        behaviour["scaleUp"] = {**_scale_up(), **_said(behaviour.get("scaleUp"))}
        behaviour["scaleDown"] = {**_scale_down(), **_said(behaviour.get("scaleDown"))}


def _said(rules: JsonObject | None) -> JsonObject:
    return {name: value for name, value in (rules or {}).items() if value is not None}


def _scale_up() -> JsonObject:
    policies: list[Any] = [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]
    return {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": policies}


def _scale_down() -> JsonObject:
    return {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}


WORKLOADS: Mapping[tuple[str, str, str], Defaulter] = {
    ("apps", "v1", "DaemonSet"): default_daemon_set,
    ("apps", "v1", "Deployment"): default_deployment,
    ("apps", "v1", "ReplicaSet"): default_replica_set,
    ("apps", "v1", "StatefulSet"): default_stateful_set,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): default_autoscaler_v1,
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): default_autoscaler,
    ("batch", "v1", "CronJob"): default_cron_job,
    ("batch", "v1", "Job"): default_job,
}
"""Kinds of workloads, by group, version and kind."""

"""Rules of workloads: apps, autoscaling, policy, and ReplicationController."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.internal_form import shown
from attractor.apiserver.kinds.builtin.validation.conditions import validate_conditions
from attractor.apiserver.kinds.builtin.validation.pods.pods import validate_template, validate_template_metadata
from attractor.apiserver.kinds.builtin.validation.rules import (
    ALWAYS,
    at_least_zero,
    at_most_100_percent,
    each,
    int_or_percent,
    int_or_percent_is_zero,
    known,
    named,
    unchanged,
)
from attractor.apiserver.kinds.builtin.validation.storage.claims import validate_claim_spec
from attractor.objects import names
from attractor.objects.field import FieldError, InOrder
from attractor.objects.labels import LabelSelector, SelectorError, validate_label_selector

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_MISMATCH = "`selector` does not match template `labels`"
_STATEFUL_SET_FROZEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFUL_SET_MOVABLE = frozenset(
    ("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
     "persistentVolumeClaimRetentionPolicy", "minReadySeconds")
)  # fmt: skip


def _validate_selector(spec: JsonObject, owner: str) -> list[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        return [FieldError.required("spec.selector")]
    errors = validate_label_selector(selector, "spec.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(FieldError.invalid("spec.selector", selector, f"empty selector is invalid for {owner}"))
    return errors


def is_readable(selector: JsonObject | None) -> bool:
    """Whether a selector says what it selects; what it is to match is judged only then."""
    try:
        LabelSelector.of_object(selector)
    except SelectorError:
        return False
    return True


def validate_match(spec: JsonObject, invalid: str = "invalid label selector") -> list[FieldError]:
    """The selector has to match the template's own labels; an absent one matches nothing."""
    if not is_readable(spec.get("selector")):
        return [FieldError.invalid("spec.selector", spec["selector"], invalid)]
    selector = LabelSelector.of_object(spec.get("selector"))
    labels = spec["template"]["metadata"].get("labels")
    if selector is not None and (selector.is_everything or selector.matches(labels or {})):
        return []
    return [FieldError.invalid("spec.template.metadata.labels", labels, _MISMATCH)]


def _validate_always(template_spec: JsonObject, path: str, deadline: FieldError) -> list[FieldError]:
    errors = []
    if template_spec.get("restartPolicy") != ALWAYS:
        value = template_spec.get("restartPolicy", "")
        errors.append(FieldError.unsupported(f"{path}.spec.restartPolicy", value, (ALWAYS,)))
    if template_spec.get("activeDeadlineSeconds") is not None:
        errors.append(deadline)
    return errors


_NO_DEADLINE = FieldError.forbidden(
    "spec.template.spec.activeDeadlineSeconds", "activeDeadlineSeconds in ReplicaSet is not Supported"
)


def _validate_replicated(obj: JsonObject, owner: str) -> list[FieldError]:
    spec = obj["spec"]
    errors = at_least_zero(spec, "spec", "replicas") + _validate_selector(spec, owner)
    errors += validate_match(spec)
    if is_readable(spec.get("selector")):
        errors += validate_template(spec["template"], "spec.template")
        errors += _validate_always(spec["template"]["spec"], "spec.template", _NO_DEADLINE)
    return errors + at_least_zero(spec, "spec", "minReadySeconds")


def validate_deployment(deployment: JsonObject) -> list[FieldError]:
    """Replicas, selector, template, strategy, history, deadline."""
    spec = deployment["spec"]
    errors = _validate_replicated(deployment, "deployment")
    errors += _validate_deployment_strategy(spec.get("strategy") or {}, "spec.strategy")
    errors += at_least_zero(spec, "spec", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        detail = "must be greater than minReadySeconds"
        errors.append(FieldError.invalid("spec.progressDeadlineSeconds", deadline, detail))
    return errors


def _validate_deployment_strategy(strategy: JsonObject, path: str) -> list[FieldError]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate" and rolling is not None:
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [FieldError.forbidden(f"{path}.rollingUpdate", detail)]
    if kind != "RollingUpdate":
        supported = ("Recreate", "RollingUpdate")
        said = shown(strategy, "apps.DeploymentStrategy")
        return [] if kind == "Recreate" else [FieldError.unsupported(path, said, supported)]
    rolling, path = rolling or {}, f"{path}.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    errors = int_or_percent(unavailable, f"{path}.maxUnavailable") + int_or_percent(surge, f"{path}.maxSurge")
    if int_or_percent_is_zero(unavailable) and int_or_percent_is_zero(surge):
        detail = "may not be 0 when `maxSurge` is 0"
        errors.append(FieldError.invalid(f"{path}.maxUnavailable", unavailable, detail))
    return errors + at_most_100_percent(unavailable, f"{path}.maxUnavailable")


def update_with_selector(obj: JsonObject, old: JsonObject) -> list[FieldError]:
    """The selector of a Deployment, ReplicaSet or DaemonSet never changes."""
    return unchanged(obj["spec"], old["spec"], "spec", "selector")


def validate_replica_set(replica_set: JsonObject) -> list[FieldError]:
    """Replicas, selector, template."""
    return _validate_replicated(replica_set, "deployment")


def validate_daemon_set(daemon_set: JsonObject) -> list[FieldError]:
    """Selector, template, update strategy."""
    spec = daemon_set["spec"]
    selector = spec.get("selector")
    errors = validate_label_selector(selector, "spec.selector")
    errors += validate_match(spec) if is_readable(selector) else []
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(FieldError.invalid("spec.selector", selector, "empty selector is invalid for daemonset"))
    errors += validate_template(spec["template"], "spec.template")
    no_deadline = _NO_DEADLINE._replace(detail="activeDeadlineSeconds in DaemonSet is not Supported")
    errors += _validate_always(spec["template"]["spec"], "spec.template", no_deadline)
    errors += at_least_zero(spec, "spec", "minReadySeconds", "revisionHistoryLimit")
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") == "RollingUpdate":
        errors += _validate_daemon_rolling(strategy.get("rollingUpdate"), "spec.updateStrategy.rollingUpdate")
    elif strategy.get("type") != "OnDelete":
        supported = ("RollingUpdate", "OnDelete")
        said = shown(strategy, "apps.DaemonSetUpdateStrategy")
        errors.append(FieldError.unsupported("spec.updateStrategy", said, supported))
    return errors


def _validate_daemon_rolling(rolling: JsonObject | None, path: str) -> list[FieldError]:
    if rolling is None:
        return [FieldError.required(path)]
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    errors = int_or_percent(unavailable, f"{path}.maxUnavailable") + int_or_percent(surge, f"{path}.maxSurge")
    no_unavailable, no_surge = int_or_percent_is_zero(unavailable), int_or_percent_is_zero(surge)
    if not no_unavailable and not no_surge:
        errors.append(FieldError.invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    if no_unavailable and no_surge:
        errors.append(FieldError.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    errors += at_most_100_percent(unavailable, f"{path}.maxUnavailable")
    return errors + at_most_100_percent(surge, f"{path}.maxSurge")


def validate_stateful_set(stateful_set: JsonObject) -> list[FieldError]:
    """Pod management, update strategy, replicas, selector, template."""
    spec = stateful_set["spec"]
    errors = []
    policy = spec.get("podManagementPolicy")
    if not policy:
        errors.append(FieldError.required("spec.podManagementPolicy"))
    elif policy not in {"OrderedReady", "Parallel"}:
        detail = "must be 'OrderedReady' or 'Parallel'"
        errors.append(FieldError.invalid("spec.podManagementPolicy", policy, detail))
    strategy = spec.get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate")
    if strategy.get("type") == "OnDelete":
        if rolling is not None:
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            said = InOrder(Partition=rolling.get("partition", 0), MaxUnavailable=rolling.get("maxUnavailable"))
            errors.append(FieldError.invalid("spec.updateStrategy.rollingUpdate", said, detail))
    elif strategy.get("type") == "RollingUpdate":
        errors += at_least_zero(rolling, "spec.updateStrategy.rollingUpdate", "partition")
    else:
        detail = "must be 'RollingUpdate' or 'OnDelete'"
        said = shown(strategy, "apps.StatefulSetUpdateStrategy")
        errors.append(FieldError.invalid("spec.updateStrategy", said, detail))
    for field in ("whenDeleted", "whenScaled"):
        retention = spec.get("persistentVolumeClaimRetentionPolicy")
        value, policies = (retention or {}).get(field, ""), ("Retain", "Delete")
        if retention is not None and value not in policies:
            at = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            errors.append(FieldError.unsupported(at, value, policies))
    errors += at_least_zero(spec, "spec", "replicas", "minReadySeconds", "revisionHistoryLimit")
    errors += at_least_zero(spec.get("ordinals"), "spec.ordinals", "start")
    errors += _validate_selector(spec, "statefulset") + validate_match(spec, "")
    errors += _validate_stateful_template(spec) if is_readable(spec.get("selector")) else []
    no_deadline = _NO_DEADLINE._replace(detail="activeDeadlineSeconds in StatefulSet is not Supported")
    return errors + _validate_always(spec["template"]["spec"], "spec.template", no_deadline)


def _validate_stateful_template(spec: JsonObject) -> list[FieldError]:
    """The template with a volume for each claim, without the names that its pods get; metadata is judged twice."""
    template = spec["template"]
    claims = {claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()}
    added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in sorted(claims)]
    own = [volume for volume in template["spec"].get("volumes") or () if volume.get("name", "") not in claims]
    pod = {name: value for name, value in template["spec"].items() if name not in {"hostname", "subdomain"}}
    whole = {**template, "spec": {**pod, "volumes": [*added, *own]}}
    return validate_template(whole, "spec.template") + validate_template_metadata(template, "spec.template")


def create_stateful_set(stateful_set: JsonObject) -> list[FieldError]:
    """What never changes is judged once: the service's name and the claim templates."""
    spec = stateful_set["spec"]
    errors = named(names.dns1123_label, spec["serviceName"], "spec.serviceName") if spec.get("serviceName") else []
    for claim, at in each(spec, "volumeClaimTemplates", "spec"):
        errors += validate_claim_spec(claim["spec"], f"{at}.spec")
    return errors


def update_stateful_set(stateful_set: JsonObject, old: JsonObject) -> list[FieldError]:
    """Only a few fields of the spec may change."""
    spec, before = stateful_set["spec"], old["spec"]
    frozen = (set(spec) | set(before)) - _STATEFUL_SET_MOVABLE
    if any(spec.get(field) != before.get(field) for field in frozen):
        return [FieldError.forbidden("spec", _STATEFUL_SET_FROZEN)]
    return []


def validate_replication_controller(controller: JsonObject) -> list[FieldError]:
    """Replicas, a selector that is not empty, a template that it matches."""
    spec = controller["spec"]
    errors = at_least_zero(spec, "spec", "minReadySeconds", "replicas")
    selector, template = spec.get("selector"), spec.get("template")
    if not selector:
        errors.append(FieldError.required("spec.selector"))
    if template is None:
        return [*errors, FieldError.required("spec.template")]
    labels = template["metadata"].get("labels")
    if selector and not LabelSelector.of_labels(selector).matches(labels or {}):
        errors.append(FieldError.invalid("spec.template.metadata.labels", labels, _MISMATCH))
    errors += validate_template(template, "spec.template")
    no_deadline = _NO_DEADLINE._replace(detail="activeDeadlineSeconds in ReplicationController is not Supported")
    return errors + _validate_always(template["spec"], "spec.template", no_deadline)


def validate_replicas_status(obj: JsonObject, old: JsonObject, *counts: str) -> list[FieldError]:
    """Counts of replicas in a status: none is negative, none exceeds the total; collisions are never forgotten."""
    status = obj.get("status") or {}
    errors = at_least_zero(status, "status", "replicas", *counts, "observedGeneration", "collisionCount")
    total = status.get("replicas", 0)
    for field in counts:
        value = status.get(field) or 0
        if value > total:
            errors.append(FieldError.invalid(f"status.{field}", value, "cannot be greater than status.replicas"))
    available = status.get("availableReplicas") or 0
    if available > (status.get("readyReplicas") or 0):
        ready = "status.readyReplicas" if "currentReplicas" in counts else "readyReplicas"
        errors.append(FieldError.invalid("status.availableReplicas", available, f"cannot be greater than {ready}"))
    return errors + _forgotten_collisions(status, old.get("status") or {})


def _forgotten_collisions(status: JsonObject, before: JsonObject) -> list[FieldError]:
    had, has = before.get("collisionCount"), status.get("collisionCount")
    if had is None or (has is not None and has >= had):
        return []
    return [FieldError.invalid("status.collisionCount", has or 0, "cannot be decremented")]


_DAEMON_COUNTS = (
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
    "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
)  # fmt: skip


def validate_daemon_set_status(daemon_set: JsonObject, old: JsonObject) -> list[FieldError]:
    """Counts are not negative, and collisions are never forgotten."""
    status, before = daemon_set.get("status") or {}, old.get("status") or {}
    return at_least_zero(status, "status", *_DAEMON_COUNTS) + _forgotten_collisions(status, before)


def validate_disruption_budget(budget: JsonObject) -> list[FieldError]:
    """Either how many stay, or how many may go."""
    spec = budget["spec"]
    errors = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        detail = "minAvailable and maxUnavailable cannot be both set"
        fields = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
        said = InOrder((field[0].upper() + field[1:], spec.get(field)) for field in fields)
        errors.append(FieldError.invalid("spec", said, detail))
    for field in ("minAvailable", "maxUnavailable"):
        value = spec.get(field)
        errors += int_or_percent(value, f"spec.{field}") + at_most_100_percent(value, f"spec.{field}")
    policy = spec.get("unhealthyPodEvictionPolicy")
    supported = ("AlwaysAllow", "IfHealthyBudget")
    errors += known(policy, "spec.unhealthyPodEvictionPolicy", supported)
    return errors + validate_label_selector(spec.get("selector"), "spec.selector")


def validate_budget_status(budget: JsonObject, _old: JsonObject) -> list[FieldError]:
    """Conditions are such, and counts are not negative."""
    counts, status = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), budget.get("status")
    return validate_conditions(status, "status") + at_least_zero(status, "status", *counts)


def validate_controller_revision(revision: JsonObject) -> list[FieldError]:
    """The number is not negative."""
    return at_least_zero(revision, "", "revision")


def create_controller_revision(revision: JsonObject) -> list[FieldError]:
    """Data is there."""
    return [] if revision.get("data") is not None else [FieldError.required("data", "data is mandatory")]


def update_controller_revision(revision: JsonObject, old: JsonObject) -> list[FieldError]:
    """Data never changes."""
    return unchanged(revision, old, "", "data")


def validate_scale(scale: JsonObject) -> list[FieldError]:
    """What the scale subresource takes."""
    return at_least_zero(scale.get("spec"), "spec", "replicas")


VALIDATE: Mapping[tuple[str, str], Validator] = {
    ("", "ReplicationController"): validate_replication_controller,
    ("apps", "ControllerRevision"): validate_controller_revision,
    ("apps", "DaemonSet"): validate_daemon_set,
    ("apps", "Deployment"): validate_deployment,
    ("apps", "ReplicaSet"): validate_replica_set,
    ("apps", "StatefulSet"): validate_stateful_set,
    ("autoscaling", "Scale"): validate_scale,
    ("policy", "PodDisruptionBudget"): validate_disruption_budget,
}
UPDATE: Mapping[tuple[str, str], UpdateValidator] = {
    ("apps", "ControllerRevision"): update_controller_revision,
    ("apps", "DaemonSet"): update_with_selector,
    ("apps", "Deployment"): update_with_selector,
    ("apps", "ReplicaSet"): update_with_selector,
    ("apps", "StatefulSet"): update_stateful_set,
}
STATUS_COUNTS: Mapping[tuple[str, str], Collection[str]] = {
    ("", "ReplicationController"): ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    ("apps", "Deployment"): ("updatedReplicas", "readyReplicas", "availableReplicas"),
    ("apps", "ReplicaSet"): ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    ("apps", "StatefulSet"): ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
}
"""Counts in a status that never exceed ``status.replicas``."""

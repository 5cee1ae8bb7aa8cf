"""Rules of jobs and cron jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.internal_form import shown
from attractor.apiserver.kinds.builtin.validation.pods.pods import validate_template
from attractor.apiserver.kinds.builtin.validation.rules import (
    ALWAYS,
    IMMUTABLE,
    NEVER,
    ON_FAILURE,
    at_least_zero,
    domain_prefixed_path,
    one_of,
    unchanged,
)
from attractor.apiserver.kinds.builtin.validation.workloads.cron_schedule import schedule_error, time_zone_error
from attractor.apiserver.kinds.builtin.validation.workloads.job_policies import (
    common_indexes,
    count_indexes,
    validate_failure_policy,
    validate_indexed,
    validate_success_policy,
)
from attractor.apiserver.kinds.builtin.validation.workloads.workloads import validate_match
from attractor.objects import names
from attractor.objects.field import OMITTED, FieldError
from attractor.objects.labels import LabelSelector, SelectorError, validate_label_selector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject


def _validate_job_spec(spec: JsonObject, path: str, *, in_cron_job: bool) -> list[FieldError]:
    errors = at_least_zero(
        spec, path, "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
        "backoffLimitPerIndex", "maxFailedIndexes",
    )  # fmt: skip
    if spec.get("managedBy") is not None:
        errors += _validate_managed_by(spec["managedBy"], f"{path}.managedBy")
    mode, modes = spec.get("completionMode"), ("NonIndexed", "Indexed")
    if mode is not None and mode not in modes:
        errors.append(FieldError.unsupported(f"{path}.completionMode", mode, modes))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(FieldError.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    errors += validate_indexed(spec, path)
    errors += validate_failure_policy(spec, f"{path}.podFailurePolicy")
    errors += validate_success_policy(spec, f"{path}.successPolicy")
    errors += _validate_replacement(spec, f"{path}.podReplacementPolicy")
    template = spec["template"]
    errors += validate_template(template, f"{path}.template")
    policy = template["spec"].get("restartPolicy", "")
    if policy == ALWAYS:
        detail = f'valid values: "{ON_FAILURE}", "{NEVER}"'
        errors.append(FieldError.required(f"{path}.template.spec.restartPolicy", detail))
    elif policy not in {ON_FAILURE, NEVER}:
        errors.append(FieldError.unsupported(f"{path}.template.spec.restartPolicy", policy, (ON_FAILURE, NEVER)))
    elif spec.get("podFailurePolicy") is not None and policy != NEVER:
        detail = f'only "{NEVER}" is supported when podFailurePolicy is specified'
        errors.append(FieldError.invalid(f"{path}.template.spec.restartPolicy", policy, detail))
    if in_cron_job and spec.get("selector") is not None:
        detail = "`selector` will be auto-generated"
        errors.append(FieldError.invalid(f"{path}.selector", spec["selector"], detail))
    if in_cron_job and spec.get("manualSelector"):
        errors.append(FieldError.unsupported(f"{path}.manualSelector", "true", ("nil", "false")))
    return errors


_MAX_MANAGED_BY_BYTES = 63


def _validate_managed_by(who: str, path: str) -> list[FieldError]:
    too_long = [FieldError.too_long(path, _MAX_MANAGED_BY_BYTES)] if len(who.encode()) > _MAX_MANAGED_BY_BYTES else []
    return domain_prefixed_path(who, path) + too_long


def _validate_replacement(spec: JsonObject, path: str) -> list[FieldError]:
    policy = spec.get("podReplacementPolicy")
    supported = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    return [] if policy is None or policy in supported else [FieldError.unsupported(path, policy, supported)]


def _validate_generated_selector(job: JsonObject) -> list[FieldError]:
    """Unless the caller brings them, selector and labels name this job and no other."""
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    uid, name, at = metadata.get("uid", ""), metadata.get("name", ""), "spec.template.metadata"
    expected = {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    labels = spec["template"]["metadata"].get("labels") or {}
    errors = []
    for key, value in expected.items():
        if key not in labels:
            errors.append(FieldError.required(f"{at}.labels[{key}]", f"must be '{value}'"))
        elif labels[key] != value:
            errors.append(FieldError.invalid(f"{at}.labels[{key}]", labels, f"must be '{value}'"))
    try:
        selector = LabelSelector.of_object(spec["selector"])
    except SelectorError:
        return errors
    if selector is not None and not selector.matches(expected):
        errors.append(FieldError.invalid("spec.selector", spec["selector"], "`selector` not auto-generated"))
    return errors


def create_job(job: JsonObject) -> list[FieldError]:
    """A new job's selector is its own; an indexed job's pods must have names that hosts can have."""
    spec, name = job["spec"], job["metadata"].get("name", "")
    errors = _validate_generated_selector(job)
    if spec.get("completionMode") == "Indexed" and (spec.get("completions") or 0) > 0:
        longest = f"{name}-{spec['completions'] - 1}"
        if names.dns1123_label(longest):
            detail = f"will not able to create pod with invalid DNS label: {longest}"
            errors.append(FieldError.invalid("metadata.name", name, detail))
    return errors


def validate_job(job: JsonObject) -> list[FieldError]:
    """Numbers, selector, template and its restart policy."""
    spec = job["spec"]
    if spec.get("selector") is None:
        errors = [FieldError.required("spec.selector"), *validate_match(spec)]
    else:
        errors = validate_label_selector(spec["selector"], "spec.selector")
        errors += [error for error in validate_match(spec, "") if error.path != "spec.selector"]
    return _validate_job_spec(spec, "spec", in_cron_job=False) + errors


def _completions_errors(spec: JsonObject) -> list[FieldError]:
    """How often a job runs never changes, except where each run has its number."""
    completions = spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        return [FieldError.invalid("spec.completions", completions, IMMUTABLE)]
    if completions is None or completions == spec.get("parallelism"):
        return []
    return [FieldError.invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")]


def update_job(job: JsonObject, old: JsonObject) -> list[FieldError]:
    """What a job is never changes; how fast it runs may. Kubernetes judges the spec twice here."""
    spec, before = job["spec"], old["spec"]
    errors = create_job(job) + 2 * validate_job(job)
    errors += unchanged(spec, before, "spec", "selector", "completionMode", "backoffLimitPerIndex", "managedBy")
    for field, kind in (("podFailurePolicy", "*batch.PodFailurePolicy"), ("successPolicy", "*batch.SuccessPolicy")):
        if spec.get(field) != before.get(field):
            errors.append(FieldError.invalid(f"spec.{field}", shown(spec.get(field), kind), IMMUTABLE))
    if spec.get("completions") != before.get("completions"):
        errors += _completions_errors(spec)
    return errors + _template_errors(job, old)


def _true_conditions(status: JsonObject) -> set[str]:
    return {one["type"] for one in status.get("conditions") or () if one.get("status") == "True"}


def validate_job_status(job: JsonObject, old: JsonObject) -> list[FieldError]:
    """Counts, and an end that is told in order and stays told."""
    status, before = job.get("status") or {}, old.get("status") or {}
    errors = at_least_zero(status, "status", "active", "succeeded", "failed", "ready", "terminating")
    true, was = (_true_conditions(status), _true_conditions(before))
    finished = bool(true & {"Complete", "Failed"})

    def refuse(*details: tuple[bool, str]) -> list[FieldError]:
        return [FieldError.invalid("status.conditions", OMITTED, detail) for is_wrong, detail in details if is_wrong]

    done, ended = status.get("completionTime") is not None, before.get("completionTime")
    if "Complete" in true and not done:
        errors.append(FieldError.required("status.completionTime", "completionTime is required for Complete jobs"))
    if "Complete" not in true and done:
        detail = "cannot set completionTime when there is no Complete=True condition"
        errors.append(FieldError.invalid("status.completionTime", status["completionTime"], detail))
    errors += refuse(
        ({"Complete", "Failed"} <= true, "cannot set Complete=True and Failed=true conditions"),
        ({"Complete", "FailureTarget"} <= true, "cannot set Complete=True and FailureTarget=true conditions"),
        ("Failed" in true and "FailureTarget" not in true,
         "cannot set Failed=True condition without the FailureTarget=true condition"),
        ("Complete" in true and "SuccessCriteriaMet" not in true,
         "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"),
        ({"SuccessCriteriaMet", "Failed"} <= true, "cannot set SuccessCriteriaMet=True and Failed=true conditions"),
        ({"SuccessCriteriaMet", "FailureTarget"} <= true,
         "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"),
    )  # fmt: skip
    if finished and status.get("active", 0) > 0:
        errors.append(FieldError.invalid("status.active", status["active"], "active>0 is invalid for finished job"))
    if finished and status.get("startTime") is None:
        errors.append(FieldError.required("status.startTime", "startTime is required for finished job"))
    errors += _index_errors(job["spec"], status, before)
    if status.get("ready") is not None and status["ready"] > status.get("active", 0):
        errors.append(FieldError.invalid("status.ready", status["ready"], "cannot set more ready pods than active"))
    errors += refuse(
        *((kind in was and kind not in true, f"cannot disable the terminal {kind}=True condition")
          for kind in ("Failed", "Complete", "FailureTarget")),
    )  # fmt: skip
    for count in ("failed", "succeeded"):
        if status.get(count, 0) < before.get(count, 0) or status.get(count, 0) < 0:
            errors.append(
                FieldError.invalid(f"status.{count}", status.get(count, 0), f"cannot decrease the {count} counter")
            )
    if done and ended is not None and status["completionTime"] != ended:
        errors.append(FieldError.invalid("status.completionTime", status["completionTime"], IMMUTABLE))
    started = before.get("startTime")
    if started is not None and status.get("startTime") != started and not job["spec"].get("suspend"):
        detail = "field is immutable for unsuspended job once set"
        errors.append(FieldError.invalid("status.startTime", status.get("startTime"), detail))
    gone = "SuccessCriteriaMet" in was and "SuccessCriteriaMet" not in true
    return errors + refuse((gone, "cannot disable the SuccessCriteriaMet=True condition"))


def _index_errors(spec: JsonObject, status: JsonObject, before: JsonObject) -> list[FieldError]:
    """Indexes that are told anew are indexes of the job, and only of a job that has them."""
    errors = []
    completions, per_index = spec.get("completions"), spec.get("backoffLimitPerIndex")
    done, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    if done != (before.get("completedIndexes") or ""):
        if completions is not None and (trouble := count_indexes(done, completions)[1]):
            detail = f"error parsing completedIndexes: {trouble}"
            errors.append(FieldError.invalid("status.completedIndexes", done, detail))
        if done and spec.get("completionMode") != "Indexed":
            detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
            errors.append(FieldError.invalid("status.completedIndexes", done, detail))
    if failed is not None and failed != before.get("failedIndexes"):
        if per_index is None:
            detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            errors.append(FieldError.invalid("status.failedIndexes", failed, detail))
        elif completions is not None and (trouble := count_indexes(failed, completions)[1]):
            detail = f"error parsing failedIndexes: {trouble}"
            errors.append(FieldError.invalid("status.failedIndexes", failed, detail))
    is_new = (done, failed) != (before.get("completedIndexes") or "", before.get("failedIndexes"))
    if is_new and completions is not None and failed and (both := common_indexes(done, failed, completions)):
        detail = f"failedIndexes and completedIndexes overlap at index: {min(both)}"
        errors.append(FieldError.invalid("status.failedIndexes", failed, detail))
    return errors


_DIRECTIVES = frozenset({"nodeSelector", "tolerations", "schedulingGates"})


def _template_errors(job: JsonObject, old: JsonObject) -> list[FieldError]:
    """A template stays; while a job rests, where its pods run and what they get may change."""
    template, before = job["spec"]["template"], old["spec"]["template"]
    if not _is_at_rest(old):
        said = shown(template, "core.PodTemplateSpec")
        return [] if template == before else [FieldError.invalid("spec.template", said, IMMUTABLE)]
    if _fixed_part(template["spec"], before["spec"]) == _fixed_part(before["spec"], template["spec"]):
        return []
    return [FieldError.invalid("spec.template.spec", shown(template["spec"], "core.PodSpec"), IMMUTABLE)]


def _is_at_rest(job: JsonObject) -> bool:
    """Whether a job is suspended and has no pods."""
    status = job.get("status") or {}
    has_stopped = not status.get("startTime") or "Suspended" in _true_conditions(status)
    return bool(job["spec"].get("suspend")) and has_stopped and not status.get("active")


def _fixed_part(pod: JsonObject, other: JsonObject) -> JsonObject:
    """What may not change of a pod: all but scheduling directives, and resources of containers that stay."""
    fixed = {name: value for name, value in pod.items() if name not in _DIRECTIVES and value is not None}
    affinity = {name: value for name, value in (pod.get("affinity") or {}).items() if name != "nodeAffinity"}
    fixed["affinity"] = affinity
    for field in ("containers", "initContainers"):
        here, there = pod.get(field) or [], other.get(field) or []
        if len(here) == len(there):
            fixed[field] = [
                {**one, "resources": None} if one.get("name") == same.get("name") else one
                for one, same in zip(here, there, strict=True)
            ]
    return fixed


def _validate_time_zone(zone: str | None) -> list[FieldError]:
    trouble = time_zone_error(zone) if zone is not None else ""
    return [FieldError.invalid("spec.timeZone", zone, trouble)] if trouble else []


def validate_cron_job(cron_job: JsonObject) -> list[FieldError]:
    """The schedule, the time zone, concurrency, history, and the job template."""
    spec = cron_job["spec"]
    schedule, errors = spec.get("schedule", ""), []
    if not schedule:
        errors.append(FieldError.required("spec.schedule"))
    elif "TZ" in schedule:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(FieldError.invalid("spec.schedule", schedule, detail))
    else:
        trouble = schedule_error(schedule)
        if trouble:
            errors.append(FieldError.invalid("spec.schedule", schedule, trouble))
    errors += _validate_time_zone(spec.get("timeZone"))
    errors += at_least_zero(spec, "spec", "startingDeadlineSeconds")
    errors += one_of(spec.get("concurrencyPolicy"), "spec.concurrencyPolicy", ("Allow", "Forbid", "Replace"))
    errors += _validate_job_spec(spec["jobTemplate"]["spec"], "spec.jobTemplate.spec", in_cron_job=True)
    return errors + at_least_zero(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


VALIDATE: Mapping[tuple[str, str], Validator] = {
    ("batch", "CronJob"): validate_cron_job,
    ("batch", "Job"): validate_job,
}
UPDATE_ONLY: Mapping[tuple[str, str], UpdateValidator] = {("batch", "Job"): update_job}

"""Rules of workloads, with the words of Kubernetes."""

from typing import Any

import pytest

from attractor.apiserver.kinds.builtin.validation.workloads.cron_schedule import schedule_error
from attractor.apiserver.kinds.builtin.validation.workloads.workloads import validate_scale
from attractor.objects.json_types import JsonObject
from tests.apiserver.kinds.builtin.pipeline import change_refusals, refusals, template, workload

DEPLOYMENT, REPLICA_SET, DAEMON_SET, STATEFUL_SET, JOB = (
    "apps/v1/Deployment",
    "apps/v1/ReplicaSet",
    "apps/v1/DaemonSet",
    "apps/v1/StatefulSet",
    "batch/v1/Job",
)
NEGATIVE = "must be greater than or equal to 0"
MISMATCH = "`selector` does not match template `labels`"
ROLLING = "spec.strategy.rollingUpdate"
PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
    "regex used for validation is '[0-9]+%')"
)


def job(**spec: Any) -> JsonObject:
    return {"metadata": {"name": "j", "uid": "u-1"}, "spec": {"template": template(restartPolicy="Never"), **spec}}


def cron_job(**spec: Any) -> JsonObject:
    return {
        "metadata": {"name": "c"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job()["spec"]}, **spec},
    }


def rolling(**values: Any) -> JsonObject:
    return {"strategy": {"type": "RollingUpdate", "rollingUpdate": values}}


@pytest.mark.parametrize("kind", [DEPLOYMENT, REPLICA_SET, DAEMON_SET, STATEFUL_SET])
def test_a_plain_workload_breaks_no_rule(kind: str) -> None:
    assert refusals(kind, workload()) == []


def test_a_plain_job_breaks_no_rule() -> None:
    assert refusals(JOB, job()) == []
    assert refusals("batch/v1/CronJob", cron_job()) == []


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        (DEPLOYMENT, {"replicas": -1}, [f"spec.replicas: Invalid value: -1: {NEGATIVE}"]),
        (DEPLOYMENT, {"selector": None}, ["spec.selector: Required value", f'spec.template.metadata.labels: Invalid value: {{"app":"a"}}: {MISMATCH}']),
        (DEPLOYMENT, {"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]),
        (DEPLOYMENT, {"selector": {"matchLabels": {"app": "b"}}}, [f'spec.template.metadata.labels: Invalid value: {{"app":"a"}}: {MISMATCH}']),
        (DEPLOYMENT, {"template": template(restartPolicy="Never")}, ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"']),
        (DEPLOYMENT, {"strategy": {"type": "X"}}, ['spec.strategy: Unsupported value: {"Type":"X","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"']),
        (DEPLOYMENT, {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
         ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"]),
        (DEPLOYMENT, rolling(maxUnavailable=0, maxSurge=0), [f"{ROLLING}.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"]),
        (DEPLOYMENT, rolling(maxUnavailable="150%"), [f'{ROLLING}.maxUnavailable: Invalid value: "150%": must not be greater than 100%']),
        (DEPLOYMENT, rolling(maxUnavailable="x"), [f"{ROLLING}.maxUnavailable: Invalid value: \"x\": {PERCENT}"]),
        (DEPLOYMENT, rolling(maxSurge=-1), [f"{ROLLING}.maxSurge: Invalid value: -1: {NEGATIVE}"]),
        (DEPLOYMENT, {"progressDeadlineSeconds": 5, "minReadySeconds": 5}, ["spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds"]),
        (REPLICA_SET, {"replicas": -1}, [f"spec.replicas: Invalid value: -1: {NEGATIVE}"]),
        (DAEMON_SET, {"selector": {"matchLabels": {"app": "b"}}}, [f'spec.template.metadata.labels: Invalid value: {{"app":"a"}}: {MISMATCH}']),
        (DAEMON_SET, {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0}}},
         ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"]),
        (DAEMON_SET, {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}}},
         ["spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"]),
        (STATEFUL_SET, {"podManagementPolicy": "X"}, ['spec.podManagementPolicy: Invalid value: "X": must be \'OrderedReady\' or \'Parallel\'']),
        (STATEFUL_SET, {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
         ['spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy \'RollingUpdate\'']),
        (STATEFUL_SET, {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": -1}}},
         [f"spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: {NEGATIVE}"]),
    ],
)  # fmt: skip
def test_workload_rules(kind: str, spec: JsonObject, expected: list[str]) -> None:
    assert refusals(kind, workload(**spec)) == expected


def test_a_stateful_set_mounts_the_claims_of_its_templates() -> None:
    pod = template()
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/d"}]
    claims = [
        {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }
    ]
    assert refusals(STATEFUL_SET, workload(template=pod, volumeClaimTemplates=claims)) == []


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        (DEPLOYMENT, {"spec": {"replicas": 3}}, []),
        (DEPLOYMENT, {"spec": {"selector": {"matchLabels": {"app": "b"}}, "template": {"metadata": {"labels": {"app": "b"}}}}},
         ['spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable']),
        (STATEFUL_SET, {"spec": {"replicas": 3, "minReadySeconds": 1}}, []),
        (STATEFUL_SET, {"spec": {"serviceName": "s"}},
         ["spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
          "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"]),
    ],
)  # fmt: skip
def test_changes_of_workloads(kind: str, change: JsonObject, expected: list[str]) -> None:
    assert change_refusals(kind, workload(), change) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"replicas": 1, "readyReplicas": 1}, []),
        ({"replicas": 1, "readyReplicas": 2}, ["status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"]),
        ({"replicas": 1, "updatedReplicas": -1}, [f"status.updatedReplicas: Invalid value: -1: {NEGATIVE}"]),
        ({"replicas": 1, "availableReplicas": 1}, ["status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas"]),
    ],
)  # fmt: skip
def test_counts_in_a_status_make_sense(status: JsonObject, expected: list[str]) -> None:
    assert change_refusals(DEPLOYMENT, workload(), {"status": status}, "status") == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"template": template()}, ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"']),
        ({"parallelism": -1}, [f"spec.parallelism: Invalid value: -1: {NEGATIVE}"]),
        ({"completionMode": "Indexed", "parallelism": 1}, ["spec.completions: Required value: when completion mode is Indexed"]),
        ({"manualSelector": True}, ["spec.selector: Required value", 'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`']),
    ],
)  # fmt: skip
def test_job_rules(spec: JsonObject, expected: list[str]) -> None:
    assert refusals(JOB, job(**spec)) == expected


@pytest.mark.parametrize(
    ("change", "fields"),
    [({"parallelism": 5}, []), ({"completions": 5}, ["spec.completions"]), ({"completionMode": "Indexed"}, ["spec.completionMode"]),
     ({"template": {"spec": {"dnsPolicy": "Default"}}}, ["spec.template"])],
)  # fmt: skip
def test_what_a_job_is_never_changes(change: JsonObject, fields: list[str]) -> None:
    found = change_refusals(JOB, job(), {"spec": change})
    assert [text.partition(":")[0] for text in found] == fields
    assert all(text.endswith(": field is immutable") for text in found)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"schedule": ""}, ["spec.schedule: Required value"]),
        ({"schedule": "bogus"}, ['spec.schedule: Invalid value: "bogus": expected exactly 5 fields, found 1: [bogus]']),
        ({"schedule": "TZ=UTC * * * * *"}, ['spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead']),
        ({"concurrencyPolicy": "X"}, ['spec.concurrencyPolicy: Unsupported value: "X": supported values: "Allow", "Forbid", "Replace"']),
        ({"failedJobsHistoryLimit": -1}, [f"spec.failedJobsHistoryLimit: Invalid value: -1: {NEGATIVE}"]),
    ],
)  # fmt: skip
def test_cron_job_rules(spec: JsonObject, expected: list[str]) -> None:
    assert refusals("batch/v1/CronJob", cron_job(**spec)) == expected


def test_cron_jobs_leave_room_for_the_time_in_the_names_of_their_jobs() -> None:
    found = refusals("batch/v1/CronJob", {**cron_job(), "metadata": {"name": "a" * 53}})
    assert found == [f'metadata.name: Invalid value: "{"a" * 53}": must be no more than 52 characters']


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("*/5 0-6 1,15 jan-mar mon", ""), ("@hourly", ""), ("@every 1h30m", ""), ("? * * * SUN", ""),
        ("@never", "unrecognized descriptor: @never"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"), ("1/2/3 * * * *", "too many slashes: 1/2/3"),
    ],
)  # fmt: skip
def test_schedules_are_read_as_the_cron_library_reads_them(schedule: str, expected: str) -> None:
    assert schedule_error(schedule) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "a/v1", "kind": "D", "name": "d"}}, []),
        ({"maxReplicas": 0, "scaleTargetRef": {"kind": "ReplicationController", "name": "d"}},
         ["spec.maxReplicas: Required value: must be set and greater than 0", "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`"]),
        ({"maxReplicas": 1, "minReplicas": 0}, ['spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
                                                "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
                                                "spec.scaleTargetRef.kind: Required value", "spec.scaleTargetRef.name: Required value",
                                                "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas"]),
    ],
)  # fmt: skip
def test_autoscaler_rules(spec: JsonObject, expected: list[str]) -> None:
    assert refusals("autoscaling/v2/HorizontalPodAutoscaler", {"spec": spec}) == expected


def test_a_disruption_budget_says_one_thing() -> None:
    found = refusals("policy/v1/PodDisruptionBudget", {"spec": {"minAvailable": 1, "maxUnavailable": 1}})
    assert found == [
        'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: '
        "minAvailable and maxUnavailable cannot be both set"
    ]


def test_a_controller_revision_has_data_that_never_changes() -> None:
    kind = "apps/v1/ControllerRevision"
    assert refusals(kind, {"revision": -1}) == [
        "data: Required value: data is mandatory",
        f"revision: Invalid value: -1: {NEGATIVE}",
    ]
    found = change_refusals(kind, {"data": {"a": 1}, "revision": 1}, {"data": {"a": 2}})
    assert found == ['data: Invalid value: {"a":2}: field is immutable']


def test_a_scale_is_not_negative() -> None:
    assert [str(error) for error in validate_scale({"spec": {"replicas": -1}})] == [
        f"spec.replicas: Invalid value: -1: {NEGATIVE}"
    ]

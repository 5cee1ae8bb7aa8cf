"""Rules of pods and containers, with the words of Kubernetes."""

from typing import Any

import pytest

from attractor.objects.json_types import JsonObject
from tests.apiserver.kinds.builtin.pipeline import change_refusals, pod_spec, refusals

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
C0 = "spec.containers[0]"
PORT_RANGE = "must be between 1 and 65535, inclusive"


def pod(**fields: Any) -> JsonObject:
    return {"metadata": {"name": "p"}, "spec": pod_spec(**fields)}


def with_container(**fields: Any) -> JsonObject:
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i:1", **fields}], "volumes": [{"name": "v"}]},
    }


def test_a_plain_pod_breaks_no_rule() -> None:
    assert refusals("v1/Pod", pod()) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"containers": []}, ["spec.containers: Required value"]),
        ({"containers": [{"name": "a", "image": "i"}, {"name": "a", "image": "i"}]}, ['spec.containers[1].name: Duplicate value: "a"']),
        ({"initContainers": [{"name": "c", "image": "i"}]}, ['spec.initContainers[0].name: Duplicate value: "c"']),
        ({"restartPolicy": "Sometimes"}, ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"']),
        ({"dnsPolicy": "X"}, ['spec.dnsPolicy: Unsupported value: "X": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"']),
        ({"dnsPolicy": "None"}, ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
        ({"activeDeadlineSeconds": 0}, ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"]),
        ({"hostname": "A"}, [f'spec.hostname: Invalid value: "A": {LABEL}']),
        ({"securityContext": {"runAsUser": -1}}, ["spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"]),
        ({"volumes": [{"name": "v"}, {"name": "v"}]}, ['spec.volumes[1].name: Duplicate value: "v"']),
        ({"volumes": [{"emptyDir": {}}]}, ["spec.volumes[0].name: Required value"]),
        ({"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]},
         ["spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"]),
        ({"volumes": [{"name": "v", "secret": {}}]}, ["spec.volumes[0].secret.secretName: Required value"]),
        ({"volumes": [{"name": "v", "hostPath": {"path": "/a/../b"}}]}, ['spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain \'..\'']),
        ({"tolerations": [{"operator": "Equal"}]},
         ['spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"']),
        ({"tolerations": [{"key": "k", "effect": "NoSchedule", "tolerationSeconds": 3}]},
         ['spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be \'NoExecute\' when `tolerationSeconds` is set']),
    ],
)  # fmt: skip
def test_pod_rules(fields: JsonObject, expected: list[str]) -> None:
    assert refusals("v1/Pod", pod(**fields)) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": ""}, [f"{C0}.name: Required value"]),
        ({"name": "A"}, [f'{C0}.name: Invalid value: "A": {LABEL}']),
        ({"image": ""}, [f"{C0}.image: Required value"]),
        ({"image": " i"}, [f'{C0}.image: Invalid value: " i": must not have leading or trailing whitespace']),
        ({"imagePullPolicy": "X"}, [f'{C0}.imagePullPolicy: Unsupported value: "X": supported values: "Always", "IfNotPresent", "Never"']),
        ({"terminationMessagePolicy": "X"}, [f'{C0}.terminationMessagePolicy: Unsupported value: "X": supported values: "File", "FallbackToLogsOnError"']),
        ({"ports": [{"name": "a"}]}, [f"{C0}.ports[0].containerPort: Required value"]),
        ({"ports": [{"containerPort": 70000, "protocol": "X"}]},
         [f"{C0}.ports[0].containerPort: Invalid value: 70000: {PORT_RANGE}",
          f'{C0}.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"']),
        ({"ports": [{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}]}, [f'{C0}.ports[1].name: Duplicate value: "a"']),
        ({"ports": [{"name": "LONG-name-of-a-port", "containerPort": 1}]},
         [f'{C0}.ports[0].name: Invalid value: "LONG-name-of-a-port": must be no more than 15 characters',
          f'{C0}.ports[0].name: Invalid value: "LONG-name-of-a-port": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']),
        ({"env": [{"value": "x"}]}, [f"{C0}.env[0].name: Required value"]),
        ({"env": [{"name": "A=B"}]},
         [f'{C0}.env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than \'=\'']),
        ({"env": [{"name": "A", "value": "x", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
         [f'{C0}.env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty']),
        ({"env": [{"name": "A", "valueFrom": {}}]},
         [f'{C0}.env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`']),
        ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}]}, [f"{C0}.env[0].valueFrom.secretKeyRef.key: Required value"]),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.bogus"}}}]},
         [f'{C0}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.bogus": error converting fieldPath: field label not supported: spec.bogus']),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}]}, []),
        ({"envFrom": [{}]}, [f'{C0}.envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`']),
        ({"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/a"}]},
         [f'{C0}.volumeMounts[1].name: Not found: "w"', f'{C0}.volumeMounts[1].mountPath: Invalid value: "/a": must be unique']),
        ({"volumeMounts": [{"name": "v"}]}, [f"{C0}.volumeMounts[0].mountPath: Required value"]),
        ({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}, [f'{C0}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1']),
        ({"resources": {"limits": {"cpu": "-1"}}},
         [f'{C0}.resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
          f'{C0}.resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
        ({"resources": {"limits": {"foo": "1"}, "requests": {"foo": "1"}}},
         [f'{C0}.resources.{field}[foo]: Invalid value: "foo": {detail}' for field in ("limits", "requests")
          for detail in ("must be a standard resource type or fully qualified", "must be a standard resource for containers")]),
        ({"livenessProbe": {}}, [f"{C0}.livenessProbe: Required value: must specify a handler type"]),
        ({"livenessProbe": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}}, [f"{C0}.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"]),
        ({"livenessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2, "periodSeconds": -1}},
         [f"{C0}.livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
          f"{C0}.livenessProbe.successThreshold: Invalid value: 2: must be 1"]),
        ({"readinessProbe": {"httpGet": {"port": 0, "scheme": "X"}, "successThreshold": 2}},
         [f"{C0}.readinessProbe.httpGet.port: Invalid value: 0: {PORT_RANGE}",
          f'{C0}.readinessProbe.httpGet.scheme: Unsupported value: "X": supported values: "HTTP", "HTTPS"']),
    ],
)  # fmt: skip
def test_container_rules(fields: JsonObject, expected: list[str]) -> None:
    assert refusals("v1/Pod", with_container(**fields)) == expected


def test_init_containers_have_no_probes_unless_they_stay() -> None:
    probe = {"tcpSocket": {"port": 1}}
    found = refusals("v1/Pod", pod(initContainers=[
        {"name": "a", "image": "i", "livenessProbe": probe}, {"name": "b", "image": "i", "livenessProbe": probe, "restartPolicy": "Always"}]))  # fmt: skip
    assert found == [
        "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always"
    ]


FROZEN = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"containers": [{"name": "c", "image": "i:2"}]}},
        {"spec": {"activeDeadlineSeconds": 5}},
        {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}},
        {"metadata": {"labels": {"a": "b"}}},
    ],
)
def test_a_pod_may_change_its_image_its_deadline_and_get_tolerations(change: JsonObject) -> None:
    assert change_refusals("v1/Pod", pod(), change) == []


def test_the_rest_of_a_pod_is_frozen_and_the_refusal_shows_the_difference() -> None:
    (found,) = change_refusals("v1/Pod", pod(), {"spec": {"nodeName": "n", "dnsPolicy": "Default"}})
    assert found.startswith(FROZEN)
    assert '- "NodeName": "",\n+ "NodeName": "n",\n' in found


def test_containers_are_neither_added_nor_removed() -> None:
    change = {"spec": {"containers": [{"name": "c", "image": "i:1"}, {"name": "d", "image": "i:1"}]}}
    assert change_refusals("v1/Pod", pod(), change) == [
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    ]


def test_tolerations_and_the_deadline_only_tighten() -> None:
    old = pod(tolerations=[{"key": "k", "operator": "Exists"}], activeDeadlineSeconds=5)
    assert change_refusals("v1/Pod", old, {"spec": {"tolerations": []}}) == [
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
    ]
    assert change_refusals("v1/Pod", old, {"spec": {"activeDeadlineSeconds": 9}}) == [
        "spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value"
    ]

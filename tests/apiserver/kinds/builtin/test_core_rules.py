"""Rules of the core group's kinds, of services and of leases, with the words of Kubernetes."""

import pytest

from attractor.objects.json_types import JsonObject
from tests.apiserver.kinds.builtin.pipeline import change_refusals, created, refusals, strategy

CM, SECRET, SERVICE, CLAIM, VOLUME = (
    "v1/ConfigMap",
    "v1/Secret",
    "v1/Service",
    "v1/PersistentVolumeClaim",
    "v1/PersistentVolume",
)
EVENT, NEW_EVENT, LEASE = "v1/Event", "events.k8s.io/v1/Event", "coordination.k8s.io/v1/Lease"
FROZEN = "field is immutable when `immutable` is set"
P0 = "spec.ports[0]"


@pytest.mark.parametrize(
    ("kind", "obj", "expected"),
    [
        (CM, {"data": {"..": "x"}}, ["data[..]: Invalid value: \"..\": must not be '..'"]),
        (CM, {"data": {"k": "x" * (1024 * 1024 + 1)}}, ["[]: Too long: may not be more than 1048576 bytes"]),
        (SECRET, {"type": "kubernetes.io/basic-auth"}, ["data[username]: Required value", "data[password]: Required value"]),
        (SECRET, {"type": "kubernetes.io/basic-auth", "stringData": {"username": "u"}}, []),
        (SECRET, {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}}, ["data[ssh-privatekey]: Required value"]),
        (SECRET, {"type": "kubernetes.io/dockercfg"}, ["data[.dockercfg]: Required value"]),
        (SECRET, {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}}, []),
        (SECRET, {"type": "kubernetes.io/service-account-token"}, ["metadata.annotations[kubernetes.io/service-account.name]: Required value"]),
        (SECRET, {"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}}, []),
        (SERVICE, {"spec": {}}, ["spec.ports: Required value"]),
        (SERVICE, {"spec": {"ports": [{"port": 0}]}},
         [f"{P0}.port: Invalid value: 0: must be between 1 and 65535, inclusive", f"{P0}.targetPort: Invalid value: 0: must be between 1 and 65535, inclusive"]),
        (SERVICE, {"spec": {"type": "X", "ports": [{"port": 1}]}},
         ['spec.type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"']),
        (SERVICE, {"spec": {"ports": [{"port": 1, "protocol": "X", "nodePort": 5}]}},
         [f'{P0}.protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"', f"{P0}.nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"]),
        (SERVICE, {"spec": {"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]}}, ['spec.ports[1].name: Duplicate value: "a"']),
        (SERVICE, {"spec": {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 1}]}},
         ['spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,"TargetPort":0,"NodePort":0}']),
        (SERVICE, {"spec": {"type": "ExternalName"}}, ["spec.externalName: Required value"]),
        (SERVICE, {"spec": {"type": "ExternalName", "externalName": "e.org.", "clusterIP": "1.2.3.4"}}, ["spec.clusterIPs: Forbidden: may not be set for ExternalName services"]),
        (SERVICE, {"spec": {"type": "NodePort", "clusterIP": "None", "ports": [{"port": 1}]}},
         ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"]),
        (SERVICE, {"spec": {"sessionAffinity": "X", "ports": [{"port": 1}]}}, ['spec.sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"']),
        (SERVICE, {"spec": {"clusterIP": "x", "ports": [{"port": 1}]}},
         ['spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']),
        (SERVICE, {"spec": {"externalTrafficPolicy": "Local", "ports": [{"port": 1}]}},
         ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services']),
        ("v1/Namespace", {"metadata": {"name": "n"}, "spec": {"finalizers": ["x"]}},
         ['spec.finalizers: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified']),
        (CLAIM, {"spec": {}}, ["spec.accessModes: Required value: at least 1 access mode is required", "spec.resources[storage]: Required value"]),
        (CLAIM, {"spec": {"accessModes": ["X"], "resources": {"requests": {"storage": "0"}}}},
         ['spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
          'spec.resources[storage]: Invalid value: "0": must be greater than zero']),
        (VOLUME, {"spec": {}}, ["spec.accessModes: Required value", "spec.capacity: Required value", 'spec.capacity: Unsupported value: null: supported values: "storage"', "spec: Required value: must specify a volume type"]),
        (VOLUME, {"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/"}}}, []),
        ("v1/ResourceQuota", {"spec": {"hard": {"pods": "1.5", "bogus": "1", "count/widgets.e.org": "3", "cpu": "-1"}}},
         ['spec.hard[pods]: Invalid value: "1500m": must be an integer', 'spec.hard[bogus]: Invalid value: "bogus": must be a standard resource type or fully qualified',
          'spec.hard[bogus]: Invalid value: "bogus": must be a standard resource for quota',
          'spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
        ("v1/LimitRange", {"spec": {"limits": [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}},
         ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1']),
        (EVENT, {"metadata": {"namespace": "n"}, "involvedObject": {"namespace": "m"}}, ['involvedObject.namespace: Invalid value: "m": does not match event.namespace']),
        (EVENT, {"metadata": {"namespace": "default"}}, []),
        (NEW_EVENT, {"metadata": {"name": "e", "namespace": "n"}, "regarding": {"namespace": "n"}, "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal",
                     "reportingController": "e.org/c", "reportingInstance": "i", "action": "a", "reason": "r"}, []),
        (LEASE, {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1, "holderIdentity": ""}},
         ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
          "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"]),
    ],
)  # fmt: skip
def test_rules_of_new_objects(kind: str, obj: JsonObject, expected: list[str]) -> None:
    assert refusals(kind, obj) == expected


HEADLESS: JsonObject = {"spec": {"clusterIP": "None"}}
WITH_IP: JsonObject = {"spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80}]}}
CLAIMED: JsonObject = {
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v"}
}


@pytest.mark.parametrize(
    ("kind", "old", "change", "expected"),
    [
        (CM, {"data": {"a": "1"}, "immutable": True}, {"data": {"a": "2"}}, [f"data: Forbidden: {FROZEN}"]),
        (CM, {"data": {"a": "1"}, "immutable": True}, {"immutable": None}, [f"immutable: Forbidden: {FROZEN}"]),
        (CM, {"data": {"a": "1"}}, {"data": {"a": "2"}, "immutable": True}, []),
        (SECRET, {"data": {"a": "eA=="}, "immutable": True}, {"data": {"a": "eQ=="}}, [f"data: Forbidden: {FROZEN}"]),
        (SECRET, {}, {"type": "other"}, ['type: Invalid value: "other": field is immutable']),
        (SERVICE, WITH_IP, {"spec": {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]}},
         ['spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set']),
        (SERVICE, WITH_IP, {"spec": {"type": "ExternalName", "externalName": "e.org"}}, []),
        (SERVICE, HEADLESS, {"spec": {"selector": {"a": "b"}}}, []),
        ("v1/ResourceQuota", {"spec": {"scopes": ["BestEffort"]}}, {"spec": {"scopes": ["NotBestEffort"]}},
         ['spec.scopes: Invalid value: ["NotBestEffort"]: field is immutable']),
    ],
)  # fmt: skip
def test_rules_of_changes(kind: str, old: JsonObject, change: JsonObject, expected: list[str]) -> None:
    assert change_refusals(kind, old, change) == expected


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"resources": {"requests": {"storage": "2Gi"}}}, '-   "storage": "1Gi"\n+   "storage": "2Gi"\n'),
        ({"volumeName": "w"}, '- "VolumeName": "v",\n+ "VolumeName": "w",\n'),
    ],
)
def test_a_claim_that_is_not_bound_is_frozen_and_the_refusal_shows_the_difference(
    change: JsonObject, difference: str
) -> None:
    (found,) = change_refusals(CLAIM, CLAIMED, {"spec": change})
    assert found.startswith("spec: Forbidden: spec is immutable after creation except resources.requests and ")
    assert difference in found


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("2Gi", []),
        ("1Mi", ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"]),
    ],
)
def test_a_bound_claim_may_grow(size: str, expected: list[str]) -> None:
    bound = {**created(CLAIM, CLAIMED), "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    spec = {**bound["spec"], "resources": {"requests": {"storage": size}}}
    assert [str(error) for error in strategy(CLAIM).validate_update({**bound, "spec": spec}, bound, "")] == expected

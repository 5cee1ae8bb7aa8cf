"""Rules of the kinds that configure a cluster, with the words of Kubernetes."""

from typing import Any

import pytest

from attractor.objects.json_types import JsonObject
from tests.apiserver.kinds.builtin.pipeline import change_refusals, refusals

RBAC = "rbac.authorization.k8s.io"
ROLE, BINDING, CLUSTER_BINDING = f"{RBAC}/v1/Role", f"{RBAC}/v1/RoleBinding", f"{RBAC}/v1/ClusterRoleBinding"
INGRESS, POLICY, CLASS = (
    "networking.k8s.io/v1/Ingress",
    "networking.k8s.io/v1/NetworkPolicy",
    "networking.k8s.io/v1/IngressClass",
)
STORAGE, PRIORITY, SLICE = (
    "storage.k8s.io/v1/StorageClass",
    "scheduling.k8s.io/v1/PriorityClass",
    "discovery.k8s.io/v1/EndpointSlice",
)
WEBHOOK = "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration"
BACKEND: JsonObject = {"service": {"name": "s", "port": {"number": 80}}}
PATH = "spec.rules[0].http.paths[0]"


def binding(**fields: Any) -> JsonObject:
    return {"roleRef": {"kind": "ClusterRole", "name": "r"}, **fields}


def ingress(**path: Any) -> JsonObject:
    return {"spec": {"rules": [{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": BACKEND, **path}]}}]}}


def webhooks(**fields: Any) -> JsonObject:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    plain = {"name": "a.b.c", "clientConfig": {"url": "https://h/p"}, "rules": [rule], "sideEffects": "None",
             "admissionReviewVersions": ["v1"]}  # fmt: skip
    return {"webhooks": [{**plain, **fields}]}


@pytest.mark.parametrize(
    ("kind", "obj", "expected"),
    [
        (ROLE, {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, []),
        (ROLE, {"rules": [{}]},
         ["rules[0].verbs: Required value: verbs must contain at least one value", "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
          "rules[0].resources: Required value: resource rules must supply at least one resource"]),
        (ROLE, {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/a"]}]},
         ['rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs']),
        (f"{RBAC}/v1/ClusterRole", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/a"]}]}, []),
        (BINDING, binding(subjects=[{"kind": "User", "name": "u"}]), []),
        (BINDING, {"roleRef": {"kind": "X"}}, ['roleRef.kind: Unsupported value: "X": supported values: "Role", "ClusterRole"', "roleRef.name: Required value"]),
        (BINDING, binding(subjects=[{"kind": "X", "name": "u"}]), ['subjects[0].kind: Unsupported value: "X": supported values: "ServiceAccount", "User", "Group"']),
        (CLUSTER_BINDING, binding(subjects=[{"kind": "ServiceAccount", "name": "s"}]), ["subjects[0].namespace: Required value"]),
        (INGRESS, ingress(), []),
        (INGRESS, {"spec": {}}, ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]),
        (INGRESS, ingress(path="a"), [f'{PATH}.path: Invalid value: "a": must be an absolute path']),
        (INGRESS, ingress(pathType=None), [f"{PATH}.pathType: Required value: pathType must be specified"]),
        (INGRESS, ingress(pathType="X"), [f'{PATH}.pathType: Unsupported value: "X": supported values: "Exact", "ImplementationSpecific", "Prefix"']),
        (INGRESS, ingress(backend={"service": {"name": "s", "port": {}}}), [f"{PATH}.backend: Required value: port name or number is required"]),
        (INGRESS, {"spec": {"defaultBackend": BACKEND, "rules": [{"host": "1.2.3.4"}]}}, ['spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address']),
        (POLICY, {"spec": {"ingress": [{"from": [{}]}]}}, ["spec.ingress[0].from[0]: Required value: must specify a peer"]),
        (POLICY, {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "x"}, "podSelector": {}}]}]}},
         ['spec.egress[0].to[0].ipBlock.cidr: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
          "spec.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer"]),
        (POLICY, {"spec": {"policyTypes": ["X"]}}, ['spec.policyTypes[0]: Unsupported value: "X": supported values: "Ingress", "Egress"']),
        (CLASS, {"spec": {"controller": "x"}}, ['spec.controller: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")']),
        (STORAGE, {}, ["provisioner: Required value"]),
        (STORAGE, {"provisioner": "e.org/p", "volumeBindingMode": "X"},
         ['volumeBindingMode: Unsupported value: "X": supported values: "Immediate", "WaitForFirstConsumer"']),
        (PRIORITY, {"metadata": {"name": "system-x"}, "value": 2_000_000_000},
         ["metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class"]),
        (SLICE, {"addressType": "IPv4", "endpoints": [{"addresses": []}]}, ["endpoints[0].addresses: Required value: must contain at least 1 address"]),
        (SLICE, {"addressType": "X"}, ['addressType: Unsupported value: "X": supported values: "FQDN", "IPv4", "IPv6"']),
        (WEBHOOK, webhooks(), []),
        (WEBHOOK, webhooks(name="a"), ['webhooks[0].name: Invalid value: "a": should be a domain with at least three segments separated by dots']),
        (WEBHOOK, webhooks(clientConfig={}), ["webhooks[0].clientConfig: Required value: exactly one of url or service is required"]),
        (WEBHOOK, webhooks(timeoutSeconds=31), ["webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"]),
        (WEBHOOK, webhooks(sideEffects="Some"), ['webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"']),
        (WEBHOOK, webhooks(admissionReviewVersions=[]), ["webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"]),
    ],
)  # fmt: skip
def test_rules_of_new_objects(kind: str, obj: JsonObject, expected: list[str]) -> None:
    assert refusals(kind, obj) == expected


@pytest.mark.parametrize(
    ("kind", "old", "change", "expected"),
    [
        (BINDING, binding(), {"roleRef": {"name": "other"}},
         [f'roleRef: Invalid value: {{"APIGroup":"{RBAC}","Kind":"ClusterRole","Name":"other"}}: cannot change roleRef']),
        (STORAGE, {"provisioner": "p"}, {"provisioner": "q", "volumeBindingMode": "WaitForFirstConsumer"},
         ['provisioner: Invalid value: "q": field is immutable', 'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable']),
        (PRIORITY, {"metadata": {"name": "p"}, "value": 1}, {"value": 2}, ["value: Forbidden: may not be changed in an update."]),
        (CLASS, {"spec": {"controller": "e.org/a"}}, {"spec": {"controller": "e.org/b"}}, ['spec.controller: Invalid value: "e.org/b": field is immutable']),
        (SLICE, {"addressType": "IPv4"}, {"addressType": "IPv6"}, ['addressType: Invalid value: "IPv6": field is immutable']),
    ],
)  # fmt: skip
def test_rules_of_changes(kind: str, old: JsonObject, change: JsonObject, expected: list[str]) -> None:
    assert change_refusals(kind, old, change) == expected

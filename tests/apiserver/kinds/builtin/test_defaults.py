"""What Kubernetes fills in, kind by kind."""

from typing import Any

import pytest

from attractor.objects.json_types import JsonObject
from tests.apiserver.kinds.builtin.pipeline import pod_spec, workload, written

POD_SPEC = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
CONTAINER = {
    "name": "c",
    "image": "i:1",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}


def container_of(**fields: Any) -> JsonObject:
    pod = written("v1/Pod", {"spec": {"containers": [{"name": "c", "image": "i:1", **fields}]}})
    found: JsonObject = pod["spec"]["containers"][0]
    return found


def test_pod_gets_its_policies_and_service_links() -> None:
    pod = written("v1/Pod", {"spec": pod_spec()})
    assert pod["spec"] == {**POD_SPEC, "containers": [CONTAINER], "enableServiceLinks": True}


def test_template_gets_less_than_a_pod() -> None:
    deployment = written("apps/v1/Deployment", workload())
    assert deployment["spec"]["template"]["spec"] == {**POD_SPEC, "containers": [CONTAINER]}


@pytest.mark.parametrize(
    ("image", "policy"),
    [("i", "Always"), ("i:latest", "Always"), ("i:1", "IfNotPresent"), ("r.io:5000/i", "Always"), ("r.io:5000/i:2", "IfNotPresent"), ("i@sha256:0", "IfNotPresent")],
)  # fmt: skip
def test_images_without_a_fixed_tag_are_always_pulled(image: str, policy: str) -> None:
    assert container_of(image=image)["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("given", "field", "expected"),
    [
        ({"ports": [{"containerPort": 80}]}, "ports", [{"containerPort": 80, "protocol": "TCP"}]),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}, "env",
         [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}]),
        ({"livenessProbe": {"httpGet": {"port": 80}}}, "livenessProbe",
         {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10,
          "successThreshold": 1, "failureThreshold": 3}),
        ({"readinessProbe": {"grpc": {"port": 5}, "periodSeconds": 3}}, "readinessProbe",
         {"grpc": {"port": 5, "service": ""}, "timeoutSeconds": 1, "periodSeconds": 3, "successThreshold": 1, "failureThreshold": 3}),
        ({"lifecycle": {"preStop": {"httpGet": {"port": "http"}}}}, "lifecycle",
         {"preStop": {"httpGet": {"path": "/", "port": "http", "scheme": "HTTP"}}}),
        ({"resources": {"limits": {"cpu": "1.0001", "memory": "1Gi"}, "requests": {"cpu": "100u"}}}, "resources",
         {"limits": {"cpu": "1001m", "memory": "1Gi"}, "requests": {"cpu": "1m", "memory": "1Gi"}}),
    ],
)  # fmt: skip
def test_parts_of_containers_are_filled_in(given: JsonObject, field: str, expected: Any) -> None:
    assert container_of(**given)[field] == expected


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"name": "v"}, {"name": "v", "emptyDir": {}}),
        ({"name": "v", "secret": {"secretName": "s"}}, {"name": "v", "secret": {"secretName": "s", "defaultMode": 420}}),
        ({"name": "v", "configMap": {"name": "c"}}, {"name": "v", "configMap": {"name": "c", "defaultMode": 420}}),
        ({"name": "v", "hostPath": {"path": "/"}}, {"name": "v", "hostPath": {"path": "/", "type": ""}}),
        ({"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
         {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3600, "path": "t"}}], "defaultMode": 420}}),
        ({"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
         {"name": "v", "ephemeral": {"volumeClaimTemplate": {"metadata": {}, "spec": {"accessModes": ["ReadWriteOnce"],
                                     "resources": {}, "volumeMode": "Filesystem"}}}}),
    ],
)  # fmt: skip
def test_volumes_are_filled_in(volume: JsonObject, expected: JsonObject) -> None:
    assert written("v1/Pod", {"spec": pod_spec(volumes=[volume])})["spec"]["volumes"] == [expected]


@pytest.mark.parametrize("field", ["serviceAccount", "serviceAccountName"])
def test_the_service_account_stands_under_its_old_name_too(field: str) -> None:
    spec = written("apps/v1/Deployment", workload(template={"spec": pod_spec(**{field: "s"})}))["spec"]["template"][
        "spec"
    ]
    assert (spec["serviceAccount"], spec["serviceAccountName"]) == ("s", "s")


def test_pods_on_the_host_network_have_the_host_ports() -> None:
    pod = written(
        "v1/Pod", {"spec": {"hostNetwork": True, "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}}
    )
    assert pod["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("apps/v1/Deployment", {}, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
                                    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}}),
        ("apps/v1/Deployment", {"strategy": {"type": "Recreate"}, "replicas": 0}, {"replicas": 0, "strategy": {"type": "Recreate"}}),
        ("apps/v1/ReplicaSet", {}, {"replicas": 1}),
        ("apps/v1/DaemonSet", {}, {"revisionHistoryLimit": 10,
                                   "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}}),
        ("apps/v1/DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, {"updateStrategy": {"type": "OnDelete"}}),
        ("apps/v1/StatefulSet", {}, {"replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10,
                                     "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}}),
        ("apps/v1/StatefulSet", {"updateStrategy": {"type": "RollingUpdate"}}, {"updateStrategy": {"type": "RollingUpdate"}}),
        ("batch/v1/Job", {}, {"completions": 1, "parallelism": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False,
                              "podReplacementPolicy": "TerminatingOrFailed", "manualSelector": False}),
        ("batch/v1/Job", {"parallelism": 3, "backoffLimitPerIndex": 1}, {"parallelism": 3, "backoffLimit": 2147483647}),
    ],
)  # fmt: skip
def test_workloads_are_filled_in(kind: str, spec: JsonObject, expected: JsonObject) -> None:
    found = written(kind, workload(**spec))["spec"]
    assert {name: found.get(name) for name in expected} == expected


def test_claim_templates_of_a_stateful_set_say_what_they_are() -> None:
    found = written("apps/v1/StatefulSet", workload(volumeClaimTemplates=[{"metadata": {"name": "d"}}]))
    assert found["spec"]["volumeClaimTemplates"] == [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d"},
         "spec": {"resources": {}, "volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}
    ]  # fmt: skip


def test_labels_of_jobs_and_replication_controllers_come_from_the_template() -> None:
    assert written("batch/v1/Job", workload())["metadata"]["labels"] == {"app": "a"}
    controller = written("v1/ReplicationController", {"spec": {"template": workload()["spec"]["template"]}})
    assert controller["metadata"]["labels"] == controller["spec"]["selector"] == {"app": "a"}
    assert controller["spec"]["replicas"] == 1


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ports": [{"port": 80}]}, {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
                                     "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]}),
        ({"type": "NodePort", "ports": [{"port": 80, "targetPort": "http"}]},
         {"type": "NodePort", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "externalTrafficPolicy": "Cluster",
          "ports": [{"port": 80, "protocol": "TCP", "targetPort": "http"}]}),
        ({"type": "LoadBalancer"}, {"type": "LoadBalancer", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
                                    "externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": True}),
        ({"type": "ExternalName", "externalName": "e.org"}, {"type": "ExternalName", "externalName": "e.org", "sessionAffinity": "None"}),
        ({"sessionAffinity": "ClientIP"}, {"type": "ClusterIP", "sessionAffinity": "ClientIP", "internalTrafficPolicy": "Cluster",
                                           "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}),
    ],
)  # fmt: skip
def test_services_are_filled_in(spec: JsonObject, expected: JsonObject) -> None:
    assert written("v1/Service", {"spec": spec})["spec"] == expected


RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
RBAC = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("kind", "obj", "path", "expected"),
    [
        ("v1/Secret", {}, "type", "Opaque"),
        ("v1/Namespace", {"metadata": {"name": "n"}}, "metadata.labels", {"kubernetes.io/metadata.name": "n"}),
        ("v1/Namespace", {"metadata": {"generateName": "n-"}}, "metadata.labels", None),
        ("v1/PersistentVolumeClaim", {}, "spec.volumeMode", "Filesystem"),
        ("v1/PersistentVolume", {}, "spec.persistentVolumeReclaimPolicy", "Retain"),
        ("v1/Node", {"status": {"capacity": {"cpu": "2"}}}, "status.allocatable", {"cpu": "2"}),
        ("v1/Endpoints", {"subsets": [{"ports": [{"port": 1}]}]}, "subsets", [{"ports": [{"port": 1, "protocol": "TCP"}]}]),
        ("v1/LimitRange", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1"}}]}}, "spec.limits",
         [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1"}}]),
        ("v1/ResourceQuota", {"spec": {"hard": {"cpu": "1.00001"}}}, "spec.hard", {"cpu": "1001m"}),
        ("batch/v1/CronJob", {}, "spec.concurrencyPolicy", "Allow"),
        ("batch/v1/CronJob", {}, "spec.successfulJobsHistoryLimit", 3),
        ("autoscaling/v1/HorizontalPodAutoscaler", {}, "spec.minReplicas", 1),
        ("autoscaling/v2/HorizontalPodAutoscaler", {}, "spec.metrics",
         [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]),
        ("autoscaling/v2/HorizontalPodAutoscaler", {"spec": {"behavior": {"scaleDown": {"selectPolicy": "Min"}}}}, "spec.behavior.scaleDown",
         {"selectPolicy": "Min", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}),
        ("networking.k8s.io/v1/NetworkPolicy", {"spec": {"egress": [{}]}}, "spec.policyTypes", ["Ingress", "Egress"]),
        ("networking.k8s.io/v1/NetworkPolicy", {}, "spec.policyTypes", ["Ingress"]),
        ("networking.k8s.io/v1/IngressClass", {"spec": {"parameters": {"kind": "K", "name": "n"}}}, "spec.parameters.scope", "Cluster"),
        ("discovery.k8s.io/v1/EndpointSlice", {"ports": [{"port": 80}]}, "ports", [{"name": "", "protocol": "TCP", "port": 80}]),
        (f"{RBAC}/v1/RoleBinding", {"roleRef": {"kind": "Role", "name": "r"}}, "roleRef.apiGroup", RBAC),
        (f"{RBAC}/v1/RoleBinding", {"subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]}, "subjects",
         [{"kind": "User", "apiGroup": RBAC, "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]),
        ("storage.k8s.io/v1/StorageClass", {"provisioner": "p"}, "reclaimPolicy", "Delete"),
        ("storage.k8s.io/v1/CSIDriver", {}, "spec.attachRequired", True),
        ("scheduling.k8s.io/v1/PriorityClass", {}, "preemptionPolicy", "PreemptLowerPriority"),
        ("flowcontrol.apiserver.k8s.io/v1/FlowSchema", {}, "spec.matchingPrecedence", 1000),
        ("flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration",
         {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}}, "spec.limited",
         {"nominalConcurrencyShares": 30, "lendablePercent": 0,
          "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50}}}),
        ("apiregistration.k8s.io/v1/APIService", {"spec": {"service": {"name": "s"}}}, "spec.service.port", 443),
        ("apiextensions.k8s.io/v1/CustomResourceDefinition", {"spec": {"names": {"kind": "Widget", "plural": "widgets"}}}, "spec.names",
         {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"}),
        ("apiextensions.k8s.io/v1/CustomResourceDefinition", {}, "spec.conversion", {"strategy": "None"}),
        ("admissionregistration.k8s.io/v1/MutatingWebhookConfiguration",
         {"webhooks": [{"name": "a.b.c", "clientConfig": {"service": {"name": "s", "namespace": "n"}}, "rules": [RULE],
                        "sideEffects": "None", "admissionReviewVersions": ["v1"]}]}, "webhooks",
         [{"name": "a.b.c", "clientConfig": {"service": {"name": "s", "namespace": "n", "port": 443}}, "rules": [{**RULE, "scope": "*"}],
           "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "matchPolicy": "Equivalent",
           "namespaceSelector": {}, "objectSelector": {}, "timeoutSeconds": 10, "reinvocationPolicy": "Never"}]),
        ("admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy", {"spec": {"matchConstraints": {}}}, "spec",
         {"failurePolicy": "Fail", "matchConstraints": {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}}),
    ],
)  # fmt: skip
def test_other_kinds_are_filled_in(kind: str, obj: JsonObject, path: str, expected: Any) -> None:
    found: Any = written(kind, obj)
    for name in path.split("."):
        found = found.get(name)
    assert found == expected


@pytest.mark.parametrize(
    "kind", ["v1/ConfigMap", "coordination.k8s.io/v1/Lease", "v1/ServiceAccount", f"{RBAC}/v1/Role"]
)
def test_kinds_without_defaults_stay_as_they_are(kind: str) -> None:
    assert set(written(kind, {"metadata": {"name": "x"}})) <= {"metadata", "spec", "rules"}

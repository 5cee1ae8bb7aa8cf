"""What a caller may not choose, and what sets kinds apart."""

from typing import Any

import pytest

from attractor.apiserver.kinds.builtin import ServiceNeeds, service_needs
from attractor.objects.fields import FieldSelector, FieldSelectorError
from attractor.objects.json_types import JsonObject
from tests.apiserver.kinds.builtin.pipeline import changed, created, pod_spec, strategy, template, workload


@pytest.mark.parametrize(
    ("kind", "obj", "expected"),
    [
        ("apps/v1/Deployment", {**workload(), "status": {"replicas": 9}}, {}),
        ("v1/PersistentVolumeClaim", {"status": {"phase": "Bound"}}, {"phase": "Pending"}),
        ("v1/Service", {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}, {"loadBalancer": {}}),
        ("v1/Node", {"status": {"phase": "Running"}}, {"phase": "Running"}),
        ("v1/Namespace", {"metadata": {"name": "n"}, "status": {"phase": "Terminating"}}, {"phase": "Active"}),
        ("v1/Pod", {"spec": pod_spec(), "status": {"phase": "Running"}}, {"phase": "Pending", "qosClass": "BestEffort"}),
        ("apiextensions.k8s.io/v1/CustomResourceDefinition", {"spec": {"versions": [{"name": "v1", "storage": True}, {"name": "v2"}]}},
         {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}),
    ],
)  # fmt: skip
def test_status_of_a_new_object_is_not_the_callers(kind: str, obj: JsonObject, expected: JsonObject) -> None:
    found = created(kind, obj)["status"]
    found.pop("daemonEndpoints", None)
    found.pop("nodeInfo", None)
    assert found == expected


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"e.org/x": "1"}}, "BestEffort"),
    ],
)
def test_class_of_service_follows_from_resources(resources: JsonObject, expected: str) -> None:
    container = {"name": "c", "image": "i", "resources": resources}
    assert created("v1/Pod", {"spec": {"containers": [container]}})["status"]["qosClass"] == expected


def test_new_namespace_waits_for_its_content_when_it_goes() -> None:
    namespace = created("v1/Namespace", {"metadata": {"name": "n"}})
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}
    rules = strategy("v1/Namespace")
    assert rules.awaits_finalization(namespace)
    assert changed("v1/Namespace", {"metadata": {"name": "n"}}, {"spec": {"finalizers": []}})["spec"] == {
        "finalizers": ["kubernetes"]
    }
    assert changed("v1/Namespace", {"metadata": {"name": "n"}}, {"spec": {"finalizers": []}}, "finalize")["spec"] == {}
    marked = {**namespace, "metadata": {"name": "n", "deletionGracePeriodSeconds": 0}}
    rules.prepare_delete(marked, "2026-01-01T00:00:00Z")
    assert (marked["status"], marked["metadata"], namespace["status"]) == (
        {"phase": "Terminating"},
        {"name": "n"},
        {"phase": "Active"},
    )


def test_job_without_a_selector_gets_one_from_its_uid() -> None:
    job = created(
        "batch/v1/Job", {"metadata": {"name": "j", "uid": "u-1"}, "spec": {"template": template(restartPolicy="Never")}}
    )
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}}
    assert job["spec"]["template"]["metadata"]["labels"] == {
        "app": "a",
        "batch.kubernetes.io/controller-uid": "u-1",
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u-1",
        "job-name": "j",
    }
    assert job["metadata"]["labels"] == job["spec"]["template"]["metadata"]["labels"]


def test_job_with_its_own_selector_keeps_it() -> None:
    spec = {
        "manualSelector": True,
        "selector": {"matchLabels": {"app": "a"}},
        "template": template(restartPolicy="Never"),
    }
    assert created("batch/v1/Job", {"metadata": {"name": "j"}, "spec": spec})["spec"]["selector"] == {
        "matchLabels": {"app": "a"}
    }


def test_main_resource_keeps_the_status_and_the_status_keeps_the_rest() -> None:
    kind = "apps/v1/Deployment"
    assert changed(kind, workload(), {"status": {"replicas": 3}, "spec": {"replicas": 7}})["status"] == {}
    found = changed(
        kind,
        workload(),
        {"status": {"replicas": 3}, "spec": {"replicas": 7}, "metadata": {"labels": {"a": "b"}}},
        "status",
    )
    assert (found["status"], found["spec"]["replicas"], found["metadata"].get("labels")) == ({"replicas": 3}, 1, None)
    other = changed("apps/v1/ReplicaSet", workload(), {"metadata": {"labels": {"a": "b"}}}, "status")
    assert other["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("spec", "families", "policy", "needs"),
    [
        ({"ports": [{"port": 80}]}, ["IPv4"], "SingleStack", ServiceNeeds(("IPv4",))),
        ({"clusterIP": "10.0.0.1", "ports": [{"port": 80}]}, ["IPv4"], "SingleStack", ServiceNeeds()),
        ({"clusterIP": "None", "selector": {"a": "b"}}, ["IPv4"], "SingleStack", ServiceNeeds()),
        ({"clusterIP": "None"}, ["IPv4", "IPv6"], "RequireDualStack", ServiceNeeds()),
        ({"type": "NodePort", "ports": [{"port": 1}, {"port": 2, "nodePort": 30000}]}, ["IPv4"], "SingleStack", ServiceNeeds(("IPv4",), (0,))),
        ({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 1}]}, ["IPv4"], "SingleStack", ServiceNeeds(("IPv4",), (0,), True)),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [{"port": 1}]}, ["IPv4"], "SingleStack", ServiceNeeds(("IPv4",))),
        ({"type": "ExternalName", "externalName": "e.org"}, None, None, ServiceNeeds()),
    ],
)  # fmt: skip
def test_service_says_what_it_needs(spec: JsonObject, families: Any, policy: Any, needs: ServiceNeeds) -> None:
    service = created("v1/Service", {"spec": spec})
    assert (service["spec"].get("ipFamilies"), service["spec"].get("ipFamilyPolicy")) == (families, policy)
    assert service_needs(service) == needs


def test_service_keeps_what_was_allocated_and_drops_what_its_type_no_longer_has() -> None:
    old = {"spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30080}]}}
    kept = changed(
        "v1/Service", old, {"spec": {"clusterIP": None, "clusterIPs": None, "ports": [{"port": 80}, {"port": 81}]}}
    )["spec"]
    assert (kept["clusterIP"], kept["clusterIPs"], kept["ports"][0]["nodePort"]) == ("10.0.0.1", ["10.0.0.1"], 30080)
    plain = changed("v1/Service", old, {"spec": {"type": "ClusterIP"}})["spec"]
    assert ("nodePort" in plain["ports"][0], "externalTrafficPolicy" in plain, plain["clusterIP"]) == (
        False,
        False,
        "10.0.0.1",
    )
    named = changed("v1/Service", old, {"spec": {"type": "ExternalName", "externalName": "e.org"}})["spec"]
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & set(named)


@pytest.mark.parametrize(
    ("pod", "asked", "expected"),
    [
        ({"spec": pod_spec(nodeName="n")}, None, 30),
        ({"spec": pod_spec(nodeName="n")}, 5, 5),
        ({"spec": pod_spec(nodeName="n")}, -1, 1),
        ({"spec": pod_spec()}, 5, 0),
    ],
)
def test_only_pods_on_a_node_get_time_to_stop(pod: JsonObject, asked: int | None, expected: int) -> None:
    rules = strategy("v1/Pod")
    found = created("v1/Pod", pod)
    assert rules.grace_period_s(found, asked) == expected
    assert rules.grace_period_s({**found, "status": {"phase": "Succeeded"}}, asked) == 0
    assert strategy("v1/ConfigMap").grace_period_s({}, 30) == 0


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        ("v1/ConfigMap", (False, False, False, True)),
        ("v1/Service", (False, True, True, True)),
        ("v1/Pod", (True, True, False, True)),
        ("apps/v1/Deployment", (True, True, False, True)),
        ("coordination.k8s.io/v1/Lease", (False, False, True, False)),
        ("apiextensions.k8s.io/v1/CustomResourceDefinition", (True, True, False, False)),
        ("rbac.authorization.k8s.io/v1/Role", (False, False, True, True)),
    ],
)
def test_facts_of_kinds(kind: str, facts: tuple[bool, bool, bool, bool]) -> None:
    rules = strategy(kind)
    found = (
        rules.has_generation,
        rules.has_status_subresource,
        rules.allow_create_on_update,
        rules.allow_unconditional_update,
    )
    assert found == facts


@pytest.mark.parametrize(
    ("kind", "name", "prefix", "ok"),
    [
        ("v1/ConfigMap", "a.b", False, True),
        ("v1/ConfigMap", "a-", True, True),
        ("v1/ConfigMap", "a-", False, False),
        ("v1/Namespace", "a.b", False, False),
        ("v1/Service", "1a", False, True),
        ("v1/Service", "A", False, False),
        ("rbac.authorization.k8s.io/v1/ClusterRole", "system:a", False, True),
        ("rbac.authorization.k8s.io/v1/ClusterRole", "a/b", False, False),
    ],
)
def test_names_follow_the_rule_of_the_kind(kind: str, name: str, prefix: bool, ok: bool) -> None:
    assert (strategy(kind).validate_name(name, prefix=prefix) == []) is ok


@pytest.mark.parametrize(
    ("kind", "selector", "obj", "expected"),
    [
        ("v1/Pod", "spec.hostNetwork=false,status.phase=Running", {"status": {"phase": "Running"}}, True),
        ("v1/Pod", "status.podIP=1.2.3.4", {"status": {"podIPs": [{"ip": "1.2.3.4"}]}}, True),
        ("v1/Node", "spec.unschedulable=true", {"spec": {"unschedulable": True}}, True),
        (
            "v1/Event",
            "involvedObject.name=x,source=kubelet",
            {"involvedObject": {"name": "x"}, "source": {"component": "kubelet"}},
            True,
        ),
        ("v1/Secret", "type=Opaque", {"type": "Opaque"}, True),
        ("batch/v1/Job", "status.successful=0", {"status": {}}, True),
        ("v1/Service", "spec.type!=ClusterIP", {"spec": {"type": "ClusterIP"}}, False),
    ],
)
def test_kinds_are_selected_by_their_fields(kind: str, selector: str, obj: JsonObject, expected: bool) -> None:
    fields = strategy(kind).selectable
    assert FieldSelector.parse(selector).checked(fields).matches_object(obj, fields) is expected


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("v1/Pod", "field label not supported: spec.bogus"),
        ("batch/v1/Job", 'field label "spec.bogus" not supported for Job'),
        ("v1/ConfigMap", '"spec.bogus" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ],
)
def test_other_fields_are_refused_in_the_words_of_the_kind(kind: str, message: str) -> None:
    with pytest.raises(FieldSelectorError) as refused:
        FieldSelector.parse("spec.bogus=1").checked(strategy(kind).selectable)
    assert str(refused.value) == message


def test_pod_status_keeps_owners_and_the_class_of_service() -> None:
    change = {"status": {"phase": "Running", "qosClass": None}, "metadata": {"ownerReferences": [{"name": "x"}]}}
    found = changed("v1/Pod", {"spec": pod_spec()}, change, "status")
    assert found["status"] == {"phase": "Running", "qosClass": "BestEffort"}
    assert "ownerReferences" not in found["metadata"]


def test_an_empty_list_of_rules_has_an_owner_and_is_stored_as_none() -> None:
    kind = strategy("rbac.authorization.k8s.io/v1/Role")
    role = kind.decode({"metadata": {"name": "r"}, "rules": []}).obj
    assert role["rules"] == []
    kind.prepare_create(role)
    assert role["rules"] is None


@pytest.mark.parametrize(
    ("metadata", "labels"),
    [({"generateName": "j-"}, {"a": "b"}), ({"generateName": "j-", "labels": {"x": "y"}}, {"x": "y"})],
)
def test_a_job_that_gets_its_name_here_does_not_see_what_is_added_to_its_template(
    metadata: JsonObject, labels: JsonObject
) -> None:
    spec = {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {**pod_spec(), "restartPolicy": "Never"}}}
    job = created("batch/v1/Job", {"metadata": {**metadata, "name": "j-1", "uid": "u"}, "spec": spec})
    assert job["metadata"]["labels"] == labels
    assert job["spec"]["template"]["metadata"]["labels"]["job-name"] == "j-1"

"""Which requests a webhook is asked about."""

from typing import Any

import pytest

from attractor.apiserver.admission.match import Rule, Target
from tests.apiserver.admission.conftest import AdmissionApi
from tests.apiserver.admission.webhookserver import allow, patching, webhook
from tests.apiserver.conftest import CONFIGMAPS, WIDGET_SCHEMA

SCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"


@pytest.mark.parametrize(
    ("resources", "subresource", "covered"),
    [
        (["pods"], "", True),
        (["pods"], "status", False),
        (["pods/status"], "status", True),
        (["pods/status"], "", False),
        (["pods/*"], "", True),
        (["pods/*"], "status", True),
        (["*/status"], "status", True),
        (["*/status"], "", False),
        (["*"], "", True),
        (["*"], "status", False),
        (["*/*"], "status", True),
        (["*/*"], "", True),
        (["nodes"], "", False),
    ],
)
def test_resources_of_a_rule_mean_what_kubernetes_means(resources: list[str], subresource: str, covered: bool) -> None:
    rule = Rule(("CREATE",), ("",), ("v1",), tuple(resources))
    assert rule.covers("CREATE", Target("", "v1", "pods", subresource), is_namespaced=True) is covered


@pytest.mark.parametrize(
    ("scope", "in_namespace", "in_cluster"),
    [("*", True, True), ("Namespaced", True, False), ("Cluster", False, True)],
)
def test_scope_limits_a_rule(scope: str, in_namespace: bool, in_cluster: bool) -> None:
    rule = Rule(("*",), ("*",), ("*",), ("*",), scope)
    target = Target("", "v1", "namespaces")
    assert rule.covers("DELETE", target, is_namespaced=True) is in_namespace
    assert rule.covers("DELETE", target, is_namespaced=False) is in_cluster


async def names_asked(api: AdmissionApi, **spec: Any) -> list[str]:
    """The ConfigMaps that a webhook with this configuration is asked about, of three that are created."""
    await api.create("/api/v1/namespaces", "watched", metadata={"labels": {"hooks": "on"}})
    async with webhook(allow) as hook:
        await api.register("Validating", hook, **spec)
        await api.create(CONFIGMAPS, "plain", data={"n": "1"})
        await api.create(CONFIGMAPS, "labelled", metadata={"labels": {"team": "a"}})
        await api.create("/api/v1/namespaces/watched/configmaps", "elsewhere")
    return [request["name"] for request in hook.requests]


async def test_without_selectors_every_object_is_sent(api: AdmissionApi) -> None:
    assert await names_asked(api) == ["plain", "labelled", "elsewhere"]


async def test_the_namespace_selector_reads_the_labels_of_the_namespace(api: AdmissionApi) -> None:
    assert await names_asked(api, namespaceSelector={"matchLabels": {"hooks": "on"}}) == ["elsewhere"]


async def test_the_object_selector_reads_the_labels_of_the_object(api: AdmissionApi) -> None:
    assert await names_asked(api, objectSelector={"matchLabels": {"team": "a"}}) == ["labelled"]


async def test_the_object_selector_also_looks_at_the_object_before(api: AdmissionApi) -> None:
    await api.create(CONFIGMAPS, "a", metadata={"labels": {"team": "a"}})
    async with webhook(allow) as hook:
        await api.register("Validating", hook, objectSelector={"matchLabels": {"team": "a"}})
        await api.merge(f"{CONFIGMAPS}/a", {"metadata": {"labels": None}})
        await api.merge(f"{CONFIGMAPS}/a", {"data": {"x": "1"}})
    assert len(hook.requests) == 1


async def test_a_namespace_is_selected_by_its_own_labels(api: AdmissionApi) -> None:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"]}
    async with webhook(allow) as hook:
        await api.register("Validating", hook, rules=[rule], namespaceSelector={"matchLabels": {"hooks": "on"}})
        await api.create("/api/v1/namespaces", "off")
        await api.create("/api/v1/namespaces", "on", metadata={"labels": {"hooks": "on"}})
    assert [(request["name"], request["namespace"]) for request in hook.requests] == [("on", "on")]


async def test_match_conditions_are_cel_over_the_request(api: AdmissionApi) -> None:
    conditions = [
        {"name": "no-admins", "expression": "request.userInfo.username == 'admin'"},
        {"name": "has-data", "expression": "has(object.data) && object.data.n == '1'"},
    ]
    assert await names_asked(api, matchConditions=conditions) == ["plain"]


async def test_a_condition_that_fails_refuses_or_skips_by_the_failure_policy(api: AdmissionApi) -> None:
    conditions = [{"name": "broken", "expression": "object.data.n == '1'"}]
    async with webhook(allow) as hook:
        await api.register("Validating", hook, "open", matchConditions=conditions, failurePolicy="Ignore")
        assert (await api.add(CONFIGMAPS, "a")).code == 201
        await api.register("Validating", hook, "shut", matchConditions=conditions)
        refused = await api.add(CONFIGMAPS, "b")
    assert (refused.code, refused.body["reason"]) == (403, "Forbidden")
    assert refused.body["message"] == (
        "configmaps \"b\" is forbidden: expression 'object.data.n == '1'' resulted in error: no such key: data"
    )
    assert hook.requests == []


async def test_a_false_condition_decides_before_one_that_fails(api: AdmissionApi) -> None:
    conditions = [
        {"name": "broken", "expression": "object.nothing.here == true"},
        {"name": "never", "expression": "false"},
    ]
    assert await names_asked(api, matchConditions=conditions) == []


async def test_an_equivalent_version_is_converted_for_the_webhook_and_back(api: AdmissionApi) -> None:
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v1"],
        "resources": ["horizontalpodautoscalers"],
    }
    raised = {"op": "add", "path": "/spec/targetCPUUtilizationPercentage", "value": 55}
    async with webhook(patching(raised)) as hook:
        await api.register("Mutating", hook, rules=[rule])
        created = await api.create(
            SCALERS, "s", spec={"maxReplicas": 3, "scaleTargetRef": {"kind": "ReplicationController", "name": "d"}}
        )
    (request,) = hook.requests
    assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v1", "v2")
    assert (request["resource"]["version"], request["requestResource"]["version"]) == ("v1", "v2")
    assert request["object"]["apiVersion"] == "autoscaling/v1"
    target = created.body["spec"]["metrics"][0]["resource"]["target"]
    assert (created.body["apiVersion"], target["averageUtilization"]) == ("autoscaling/v2", 55)


async def test_an_exact_rule_is_about_its_own_versions_only(api: AdmissionApi) -> None:
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": WIDGET_SCHEMA}}
        for name in ("v1", "v2")
    ]
    await api.define_widgets(versions=versions)
    rule = {"operations": ["CREATE"], "apiGroups": ["example.org"], "apiVersions": ["v1"], "resources": ["widgets"]}
    async with webhook(allow) as exact, webhook(allow) as equivalent:
        await api.register("Validating", exact, "exact", rules=[rule], matchPolicy="Exact")
        await api.register("Validating", equivalent, "equivalent", rules=[rule])
        for version in ("v1", "v2"):
            await api.create(f"/apis/example.org/{version}/namespaces/default/widgets", version)
    assert [request["name"] for request in exact.requests] == ["v1"]
    assert [request["object"]["apiVersion"] for request in equivalent.requests] == ["example.org/v1"] * 2

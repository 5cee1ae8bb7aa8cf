"""MutatingAdmissionPolicy: CEL that changes objects."""

from typing import Any

import pytest

from tests.apiserver.admission.conftest import CONFIGMAP_RULE, REGISTRATIONS, AdmissionApi
from tests.apiserver.conftest import CONFIGMAPS

POLICIES, BINDINGS = f"{REGISTRATIONS}/mutatingadmissionpolicies", f"{REGISTRATIONS}/mutatingadmissionpolicybindings"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def applying(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patching(expression: str) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


async def install(api: AdmissionApi, *mutations: dict[str, Any], name: str = "rule", **spec: Any) -> None:
    rule = {
        "operations": ["CREATE", "UPDATE"],
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments"],
    }
    body = {
        "matchConstraints": {"resourceRules": [{**CONFIGMAP_RULE, "operations": ["CREATE", "UPDATE"]}, rule]},
        "reinvocationPolicy": "Never",
        "mutations": list(mutations),
        **spec,
    }
    await api.create(POLICIES, name, spec=body)
    await api.create(BINDINGS, f"{name}-bound", spec={"policyName": name})


@pytest.mark.parametrize(
    "mutation",
    [
        applying('Object{metadata: Object.metadata{labels: {"by": "policy"}}}'),
        applying('Object{metadata: Object.metadata{labels: Object.metadata.labels{by: "policy"}}}'),
        applying("Object{metadata: Object.metadata{labels: {'by': variables.who}}}"),
        patching('[JSONPatch{op: "add", path: "/metadata/labels", value: {"by": "policy"}}]'),
        patching(
            "has(object.metadata.labels) ? [] : [JSONPatch{op: 'add', path: '/metadata/labels', value: {'by': 'policy'}}]"
        ),
    ],
)
async def test_an_object_is_changed_by_an_expression(api: AdmissionApi, mutation: dict[str, Any]) -> None:
    await install(api, mutation, variables=[{"name": "who", "expression": "'policy'"}])
    made = await api.create(CONFIGMAPS, "a", data={"x": "1"})
    assert (made.metadata["labels"], made.body["data"]) == ({"by": "policy"}, {"x": "1"})
    assert (await api.get(f"{CONFIGMAPS}/a")).metadata["labels"] == {"by": "policy"}


async def test_lists_merge_by_their_keys_as_applied_ones_do(api: AdmissionApi) -> None:
    await install(
        api,
        applying(
            "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: "
            "[Object.spec.template.spec.containers{name: 'sidecar', image: 'side:1'}]}}}}"
        ),
    )
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "main:1"}]}}
    made = await api.create(DEPLOYMENTS, "d", spec={"selector": {"matchLabels": labels}, "template": template})
    containers = made.body["spec"]["template"]["spec"]["containers"]
    assert [one["image"] for one in containers] == ["main:1", "side:1"]
    assert containers[1]["imagePullPolicy"] == "IfNotPresent", "what a policy adds has its defaults"


async def test_each_mutation_sees_what_the_one_before_it_made(api: AdmissionApi) -> None:
    await install(
        api,
        applying("Object{data: {'one': '1'}}"),
        applying("Object{data: {'two': object.data.one + '2'}}"),
    )
    assert (await api.create(CONFIGMAPS, "a")).body["data"] == {"one": "1", "two": "12"}


async def test_a_policy_is_evaluated_again_if_it_asks_for_it_and_a_later_one_changed_something(
    api: AdmissionApi,
) -> None:
    counting = applying("Object{data: {'seen': has(object.data) && has(object.data.late) ? 'yes' : 'no'}}")
    await install(api, counting, name="a-first", reinvocationPolicy="IfNeeded")
    await install(api, applying("Object{data: {'late': 'x'}}"), name="b-second")
    assert (await api.create(CONFIGMAPS, "a")).body["data"] == {"seen": "yes", "late": "x"}


async def test_conditions_limit_a_policy(api: AdmissionApi) -> None:
    conditions = [{"name": "named", "expression": "object.metadata.name.startsWith('b')"}]
    await install(api, applying("Object{data: {'x': '1'}}"), matchConditions=conditions)
    assert "data" not in (await api.create(CONFIGMAPS, "a")).body
    assert (await api.create(CONFIGMAPS, "b")).body["data"] == {"x": "1"}


@pytest.mark.parametrize(
    ("mutation", "why"),
    [
        (applying("Object{data: {'x': object.nothing}}"), "no such key: nothing"),
        (applying("Object{metadata: Object.metadata{finalizers: ['x']}, data: 3}"), ""),
        (patching("[JSONPatch{op: 'remove', path: '/nowhere'}]"), "JSON Patch"),
        (patching("[JSONPatch{op: 'replace', path: '/kind', value: 'Secret'}]"), "may not change kind"),
    ],
)
async def test_what_cannot_be_carried_out_is_refused_unless_failures_are_ignored(
    api: AdmissionApi, mutation: dict[str, Any], why: str
) -> None:
    await install(api, mutation)
    refused = await api.add(CONFIGMAPS, "a")
    assert refused.code in {403, 500}, refused.body
    assert why in refused.body["message"]
    assert "policy 'rule' with binding 'rule-bound' denied request" in refused.body["message"]
    await api.merge(f"{POLICIES}/rule", {"spec": {"failurePolicy": "Ignore"}})
    assert (await api.add(CONFIGMAPS, "a")).code == 201


async def test_an_atomic_list_is_not_replaced_by_an_applied_configuration(api: AdmissionApi) -> None:
    await install(api, applying("Object{spec: Object.spec{template: Object.spec.template{spec: "
                                "Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'main', "
                                "command: ['sh']}]}}}}"))  # fmt: skip
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "main:1"}]}}
    refused = await api.add(DEPLOYMENTS, "d", spec={"selector": {"matchLabels": labels}, "template": template})
    assert "may not mutate atomic arrays, maps or structs: .spec.template.spec.containers[0].command" in str(
        refused.body
    )


async def test_objects_are_made_in_mutations_only(api: AdmissionApi) -> None:
    spec = {
        "matchConstraints": {"resourceRules": [CONFIGMAP_RULE]},
        "validations": [{"expression": "Object{data: {}} == {}"}],
    }
    refused = await api.add(f"{REGISTRATIONS}/validatingadmissionpolicies", "p", spec=spec)
    assert refused.code == 422

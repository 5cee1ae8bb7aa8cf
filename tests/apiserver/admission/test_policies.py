"""ValidatingAdmissionPolicy: CEL that refuses and warns."""

from typing import Any

import pytest

from tests.apiserver.admission.conftest import CONFIGMAP_RULE, REGISTRATIONS, AdmissionApi
from tests.apiserver.conftest import CONFIGMAPS

POLICIES, BINDINGS = (
    f"{REGISTRATIONS}/validatingadmissionpolicies",
    f"{REGISTRATIONS}/validatingadmissionpolicybindings",
)
SMALL = {"expression": "!has(object.data) || size(object.data) <= 1"}


def policy_spec(*validations: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"matchConstraints": {"resourceRules": [CONFIGMAP_RULE]}, "validations": list(validations), **spec}


async def install(
    api: AdmissionApi, *validations: dict[str, Any], binding: dict[str, Any] | None = None, **spec: Any
) -> None:
    await api.create(POLICIES, "rule", spec=policy_spec(*validations, **spec))
    bound = {"policyName": "rule", "validationActions": ["Deny"], **(binding or {})}
    await api.create(BINDINGS, "bound", spec=bound)


async def refusal(api: AdmissionApi, name: str = "a", **content: Any) -> str:
    """The message with which a ConfigMap is refused; empty when it is not."""
    answer = await api.add(CONFIGMAPS, name, **content)
    return "" if answer.code == 201 else str(answer.body["message"])


async def test_a_broken_rule_refuses_with_its_expression(api: AdmissionApi) -> None:
    await install(api, SMALL)
    await api.create(CONFIGMAPS, "fine", data={"x": "1"})
    answer = await api.add(CONFIGMAPS, "big", data={"x": "1", "y": "2"})
    text = f"ValidatingAdmissionPolicy 'rule' with binding 'bound' denied request: failed expression: {SMALL['expression']}"
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert answer.body["message"] == f'configmaps "big" is forbidden: {text}'
    assert answer.body["details"] == {"name": "big", "kind": "configmaps", "causes": [{"message": text}]}


async def test_a_policy_without_a_binding_does_nothing(api: AdmissionApi) -> None:
    await api.create(POLICIES, "rule", spec=policy_spec({"expression": "false"}))
    assert await refusal(api) == ""


@pytest.mark.parametrize(
    ("validation", "text"),
    [
        ({"expression": "false", "message": " too big "}, "too big"),
        ({"expression": "false", "messageExpression": "'no ' + object.metadata.name"}, "no a"),
        ({"expression": "false", "message": "fixed", "messageExpression": "string(object.nothing)"}, "fixed"),
        ({"expression": "false", "messageExpression": "string(object.nothing)"}, "failed expression: false"),
    ],
)
async def test_what_is_said_is_the_message_expression_then_the_message_then_the_rule(
    api: AdmissionApi, validation: dict[str, Any], text: str
) -> None:
    await install(api, validation)
    assert (await refusal(api)).endswith(f"denied request: {text}")


@pytest.mark.parametrize(("reason", "code"), [("Forbidden", 403), ("RequestEntityTooLarge", 413), ("Invalid", 422)])
async def test_the_reason_of_a_rule_is_the_reason_of_the_refusal(api: AdmissionApi, reason: str, code: int) -> None:
    await install(api, {"expression": "false", "reason": reason})
    answer = await api.add(CONFIGMAPS, "a")
    assert (answer.code, answer.body["reason"]) == (code, reason)


async def test_a_binding_may_warn_instead_of_refusing(api: AdmissionApi) -> None:
    await install(api, {"expression": "false", "message": "hm"}, binding={"validationActions": ["Warn", "Audit"]})
    answer = await api.add(CONFIGMAPS, "a")
    assert answer.code == 201
    assert answer.warnings == ("Validation failed for ValidatingAdmissionPolicy 'rule' with binding 'bound': hm",)


@pytest.mark.parametrize(("policy", "refused"), [("Fail", True), ("Ignore", False)])
async def test_a_rule_that_cannot_be_evaluated_counts_by_the_failure_policy(
    api: AdmissionApi, policy: str, refused: bool
) -> None:
    await install(api, {"expression": "object.data.x == '1'"}, failurePolicy=policy)
    text = await refusal(api)
    assert text.endswith("expression 'object.data.x == '1'' resulted in error: no such key: data") is refused
    assert bool(text) is refused


async def test_variables_are_evaluated_when_needed_and_may_build_on_each_other(api: AdmissionApi) -> None:
    variables = [
        {"name": "size", "expression": "size(object.data)"},
        {"name": "double", "expression": "variables.size * 2"},
        {"name": "unused", "expression": "object.not.there"},
    ]
    await install(api, {"expression": "variables.double <= 2"}, variables=variables)
    assert await refusal(api, data={"x": "1"}) == ""
    assert (await refusal(api, "b", data={"x": "1", "y": "2"})).endswith("failed expression: variables.double <= 2")
    assert (await refusal(api, "c")).endswith("expression 'variables.double <= 2' resulted in error: no such key: data")


async def test_old_object_request_and_namespace_are_known(api: AdmissionApi) -> None:
    rule = (
        "request.operation != 'UPDATE' || (oldObject.data == object.data && "
        "namespaceObject.metadata.name == 'default' && request.userInfo.username == 'admin')"
    )
    await install(api, {"expression": rule})
    await api.create(CONFIGMAPS, "a", data={"x": "1"})
    assert (await api.merge(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"l": "1"}}})).code == 200
    assert (await api.merge(f"{CONFIGMAPS}/a", {"data": {"x": "2"}})).code == 422


async def test_params_are_the_objects_that_the_binding_names(api: AdmissionApi) -> None:
    ref = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
    await install(
        api,
        {"expression": "size(object.data) <= int(params.data.max)"},
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        binding={"paramRef": ref},
        matchConditions=[{"name": "others", "expression": "object.metadata.name != 'limits'"}],
    )
    assert (await refusal(api, data={"x": "1"})).endswith(
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )
    await api.delete(f"{BINDINGS}/bound")
    await api.create(CONFIGMAPS, "limits", data={"max": "1"})
    await api.create(BINDINGS, "bound", spec={"policyName": "rule", "validationActions": ["Deny"], "paramRef": ref})
    assert await refusal(api, data={"x": "1"}) == ""
    assert "params.data.max" in await refusal(api, "b", data={"x": "1", "y": "2"})


async def test_selected_params_must_all_agree_and_none_may_be_allowed(api: AdmissionApi) -> None:
    ref = {"selector": {"matchLabels": {"limit": "yes"}}, "parameterNotFoundAction": "Allow"}
    await install(
        api,
        {"expression": "size(object.data) <= int(params.data.max)"},
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        binding={"paramRef": ref},
        matchConditions=[{"name": "others", "expression": "!has(object.metadata.labels)"}],
    )
    two = {"x": "1", "y": "2"}
    assert await refusal(api, "a", data=two) == ""
    await api.create(CONFIGMAPS, "wide", metadata={"labels": {"limit": "yes"}}, data={"max": "5"})
    assert await refusal(api, "b", data=two) == ""
    await api.create(CONFIGMAPS, "tight", metadata={"labels": {"limit": "yes"}}, data={"max": "1"})
    assert "denied request" in await refusal(api, "c", data=two)


async def test_excluded_resources_and_the_bindings_own_limits_are_left_alone(api: AdmissionApi) -> None:
    excluded = {**CONFIGMAP_RULE, "resourceNames": ["spared"]}
    constraints = {"resourceRules": [CONFIGMAP_RULE], "excludeResourceRules": [excluded]}
    limits = {"objectSelector": {"matchLabels": {"checked": "yes"}}}
    await install(api, {"expression": "false"}, matchConstraints=constraints, binding={"matchResources": limits})
    labels = {"labels": {"checked": "yes"}}
    assert await refusal(api, "spared", metadata=labels) == ""
    assert await refusal(api, "unlabelled") == ""
    assert "denied" in await refusal(api, "a", metadata=labels)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (policy_spec({"expression": "object.x +"}), "spec.validations[0].expression"),
        (policy_spec({"expression": "params.x"}), "spec.validations[0].expression"),
        (policy_spec({"expression": "1 + 1"}), "spec.validations[0].expression"),
        (policy_spec(), "spec.validations"),
        ({"validations": [{"expression": "true"}]}, "spec.matchConstraints"),
        (
            policy_spec(SMALL, matchConditions=[{"name": "x", "expression": "who"}]),
            "spec.matchConditions[0].expression",
        ),
        (policy_spec(SMALL, variables=[{"name": "x", "expression": ")"}]), "spec.variables[0].expression"),
    ],
)
async def test_a_policy_that_makes_no_sense_is_refused(api: AdmissionApi, spec: dict[str, Any], field: str) -> None:
    answer = await api.add(POLICIES, "rule", spec=spec)
    assert answer.code == 422
    assert field in [cause["field"] for cause in answer.body["details"]["causes"]]


async def test_a_binding_cannot_deny_and_warn(api: AdmissionApi) -> None:
    answer = await api.add(BINDINGS, "b", spec={"policyName": "rule", "validationActions": ["Deny", "Warn"]})
    assert answer.code == 422
    assert "must not contain both Deny and Warn" in answer.body["message"]

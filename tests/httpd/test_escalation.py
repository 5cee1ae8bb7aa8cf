"""Nobody hands out permissions that they do not have."""

from typing import Any

import pytest

from attractor.apiserver.escalation import covers, single_rules
from attractor.apiserver.rbac import Rule
from tests.httpd.api import HttpApi
from tests.httpd.test_impersonation import RBAC, allow

ROLES = f"{RBAC}/namespaces/default/roles"
BINDINGS = f"{RBAC}/namespaces/default/rolebindings"
WRITE_RBAC = {
    "verbs": ["create", "update", "patch", "get"],
    "apiGroups": ["rbac.authorization.k8s.io"],
    "resources": ["roles", "rolebindings", "clusterroles"],
}
READ = {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}


def role(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "r"}, "rules": list(rules)}


def binding(name: str, kind: str = "ClusterRole") -> dict[str, Any]:
    return {
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "friend"}],
    }


async def test_a_role_takes_the_permissions_in_it(api: HttpApi) -> None:
    await allow(api, "manager", "reader", WRITE_RBAC, READ)
    reader = HttpApi(api.port, "reader-token")
    assert (await reader.call("POST", ROLES, role(READ))).code == 201
    more = {**READ, "verbs": ["get", "delete", "list"]}
    refused = await reader.call("PUT", f"{ROLES}/r", role(more))
    assert refused.code == 403
    assert refused.json["message"] == (
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "reader" (groups=["system:authenticated"]) is attempting '
        'to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["configmaps"], Verbs:["delete" "list"]}'
    )


async def test_a_binding_takes_the_permissions_of_its_role_or_the_verb_bind(api: HttpApi) -> None:
    await allow(api, "manager", "reader", WRITE_RBAC, READ)
    reader = HttpApi(api.port, "reader-token")
    assert (await reader.call("POST", BINDINGS, binding("cluster-admin"))).code == 403
    assert (await reader.call("POST", BINDINGS, binding("absent"))).code == 404
    rule = {"verbs": ["bind"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"]}
    await allow(api, "binder", "reader", {**rule, "resourceNames": ["view"]})
    assert (await reader.call("POST", BINDINGS, binding("cluster-admin"))).code == 403
    assert (await reader.call("POST", BINDINGS, binding("view"))).code == 201


async def test_the_verb_escalate_lifts_the_rule(api: HttpApi) -> None:
    escalate = {"verbs": ["escalate"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]}
    await allow(api, "manager", "reader", WRITE_RBAC, escalate)
    reader = HttpApi(api.port, "reader-token")
    assert (await reader.call("POST", ROLES, role({**READ, "verbs": ["*"]}))).code == 201


async def test_a_change_that_hands_out_nothing_new_is_no_escalation(api: HttpApi) -> None:
    await allow(api, "manager", "reader", WRITE_RBAC)
    assert (await api.call("POST", ROLES, role({**READ, "verbs": ["*"]}))).code == 201
    labelled = {"metadata": {"labels": {"a": "b"}}}
    reader = HttpApi(api.port, "reader-token")
    answer = await reader.call("PATCH", f"{ROLES}/r", labelled, Content_Type="application/merge-patch+json")
    assert answer.code == 200


async def test_aggregation_takes_all_permissions(api: HttpApi) -> None:
    await allow(api, "manager", "reader", WRITE_RBAC)
    reader = HttpApi(api.port, "reader-token")
    body = {"metadata": {"name": "all"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    assert (await reader.call("POST", f"{RBAC}/clusterroles", body)).code == 403
    assert (await api.call("POST", f"{RBAC}/clusterroles", body)).code == 201


@pytest.mark.parametrize(
    ("owned", "given", "enough"),
    [
        (Rule(("*",), ("*",), ("*",)), Rule(("get", "x"), ("", "apps"), ("pods", "pods/log")), True),
        (Rule(("get",), ("",), ("pods",)), Rule(("*",), ("",), ("pods",)), False),
        (Rule(("get",), ("",), ("pods",)), Rule(("get",), ("",), ("pods/log",)), False),
        (Rule(("get",), ("",), ("*/log",)), Rule(("get",), ("",), ("pods/log",)), True),
        (Rule(("get",), ("",), ("pods",), ("a",)), Rule(("get",), ("",), ("pods",)), False),
        (Rule(("get",), ("",), ("pods",), ("a",)), Rule(("get",), ("",), ("pods",), ("a",)), True),
        (Rule(("get",), ("",), ("pods",)), Rule(("get",), ("",), ("pods",), ("a",)), True),
        (Rule(("get",), non_resource_urls=("/a/*",)), Rule(("get",), non_resource_urls=("/a/b",)), True),
        (Rule(("get",), non_resource_urls=("/a",)), Rule(("get",), non_resource_urls=("/a/*",)), False),
    ],
)
def test_a_rule_is_covered_by_one_that_allows_all_of_it(owned: Rule, given: Rule, enough: bool) -> None:
    assert all(covers([owned], single) for single in single_rules([given])) is enough

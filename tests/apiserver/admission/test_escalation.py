"""Nobody grants more than they have."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from attractor.apiserver.auth.authorizer import AUTHENTICATED
from attractor.apiserver.request.caller import User
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from tests.httpd.api import HttpApi

RBAC = "/apis/rbac.authorization.k8s.io/v1"
HERE = f"{RBAC}/namespaces/default"
PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
SECRETS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["secrets"]}


def binding(role: str, kind: str = "Role", subject: str = "jane") -> dict[str, Any]:
    return {
        "metadata": {"name": f"{role}-{subject}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": subject}],
    }


def role(name: str, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": list(rules), **more}


@pytest.fixture
async def admin() -> AsyncIterator[HttpApi]:
    """The administrator of a cluster in which jane may write roles and bindings, and read pods."""
    tokens = {"admin-token": ADMIN, "jane-token": User("jane", "jane", ("devs", AUTHENTICATED))}
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator(tokens)) as cluster:
        api = HttpApi((await cluster.listen()).port)
        resources = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"]
        writer = {
            "verbs": ["create", "update", "patch", "get"],
            "apiGroups": ["rbac.authorization.k8s.io"],
            "resources": resources,
        }
        for path, body in (
            (f"{RBAC}/clusterroles", role("writer", writer, PODS)),
            (f"{RBAC}/clusterrolebindings", binding("writer", "ClusterRole")),
            (f"{HERE}/roles", role("reader", PODS)),
            (f"{HERE}/roles", role("spy", SECRETS)),
        ):
            assert (await api.call("POST", path, body)).code == 201
        yield api


@pytest.fixture
def jane(admin: HttpApi) -> HttpApi:
    return HttpApi(admin.port, "jane-token")


async def grant(admin: HttpApi, verb: str, resource: str, *names: str) -> None:
    """Let jane do one thing more."""
    rule = {
        "verbs": [verb],
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": [resource],
        "resourceNames": list(names),
    }
    assert (await admin.call("POST", f"{RBAC}/clusterroles", role(verb, rule))).code == 201
    assert (await admin.call("POST", f"{RBAC}/clusterrolebindings", binding(verb, "ClusterRole"))).code == 201


async def test_a_role_within_ones_own_permissions_may_be_written(jane: HttpApi) -> None:
    assert (await jane.call("POST", f"{HERE}/roles", role("mine", PODS))).code == 201
    one_pod = {**PODS, "resourceNames": ["p"], "verbs": ["get"]}
    assert (await jane.call("POST", f"{HERE}/roles", role("less", one_pod))).code == 201


async def test_a_role_beyond_ones_own_permissions_is_refused_and_says_what_is_missing(jane: HttpApi) -> None:
    answer = await jane.call("POST", f"{HERE}/roles", role("more", PODS, SECRETS))
    assert (answer.code, answer.json["reason"]) == (403, "Forbidden")
    assert answer.json["message"] == (
        'roles.rbac.authorization.k8s.io "more" is forbidden: user "jane" (groups=["devs" "system:authenticated"]) is '
        "attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}'
    )


async def test_wildcards_are_more_than_their_parts(jane: HttpApi) -> None:
    for rule in ({**PODS, "verbs": ["*"]}, {**PODS, "resources": ["*"]}, {**PODS, "apiGroups": ["*"]}):
        assert (await jane.call("POST", f"{HERE}/roles", role("wild", rule))).code == 403


async def test_an_update_is_checked_like_a_new_role(admin: HttpApi, jane: HttpApi) -> None:
    body = {"rules": [PODS, SECRETS]}
    path = f"{HERE}/roles/reader"
    assert (await jane.call("PATCH", path, body, Content_Type="application/merge-patch+json")).code == 403
    assert (await admin.call("PATCH", path, body, Content_Type="application/merge-patch+json")).code == 200


async def test_who_may_escalate_a_role_may_put_anything_into_it(admin: HttpApi, jane: HttpApi) -> None:
    await grant(admin, "escalate", "roles", "spy")
    body = {"rules": [PODS, SECRETS]}
    for name, code in (("spy", 200), ("reader", 403)):
        patched = await jane.call("PATCH", f"{HERE}/roles/{name}", body, Content_Type="application/merge-patch+json")
        assert patched.code == code


async def test_a_binding_needs_the_permissions_of_its_role(jane: HttpApi) -> None:
    assert (await jane.call("POST", f"{HERE}/rolebindings", binding("reader", subject="joe"))).code == 201
    refused = await jane.call("POST", f"{HERE}/rolebindings", binding("spy", subject="joe"))
    assert refused.code == 403
    assert "attempting to grant RBAC permissions not currently held" in refused.json["message"]
    everything = await jane.call("POST", f"{RBAC}/clusterrolebindings", binding("cluster-admin", "ClusterRole"))
    assert everything.code == 403


async def test_who_may_bind_a_role_need_not_have_it(admin: HttpApi, jane: HttpApi) -> None:
    await grant(admin, "bind", "roles", "spy")
    assert (await jane.call("POST", f"{HERE}/rolebindings", binding("spy", subject="joe"))).code == 201


async def test_a_binding_to_a_role_that_does_not_exist_is_refused(admin: HttpApi, jane: HttpApi) -> None:
    assert (await jane.call("POST", f"{HERE}/rolebindings", binding("none", subject="joe"))).code == 404
    assert (await admin.call("POST", f"{HERE}/rolebindings", binding("none", subject="joe"))).code == 201


async def test_an_aggregation_takes_everything(admin: HttpApi, jane: HttpApi) -> None:
    aggregated = role("sum", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"to": "sum"}}]})
    refused = await jane.call("POST", f"{RBAC}/clusterroles", aggregated)
    assert refused.code == 403
    assert "must have cluster-admin privileges to use an aggregationRule" in refused.json["message"]
    assert (await admin.call("POST", f"{RBAC}/clusterroles", aggregated)).code == 201


AGGREGATED = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"e.com/to-all": "true"}}]}}


@pytest.mark.parametrize("name", ["edit", "admin", "view", "through-two"])
async def test_an_aggregated_role_is_bound_only_by_who_holds_what_it_comes_to(
    admin: HttpApi, jane: HttpApi, name: str
) -> None:
    """No controller has filled it: its stored rules are empty, and those who are bound to it have the others at once."""
    source = role("source", SECRETS)
    source["metadata"]["labels"] = {"e.com/to-all": "true"}
    middle = role("middle", **AGGREGATED)
    middle["metadata"]["labels"] = {"e.com/to-two": "true"}
    through = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"e.com/to-two": "true"}}]}}
    for made in (source, middle, role("through-two", **through)):
        assert (await admin.call("POST", f"{RBAC}/clusterroles", made)).code == 201
    assert not (await admin.get(f"{RBAC}/clusterroles/{name}")).json.get("rules")
    refused = await jane.call("POST", f"{HERE}/rolebindings", binding(name, "ClusterRole"))
    assert refused.code == 403, refused.body
    assert "RBAC permissions not currently held" in refused.json["message"]
    assert (await jane.get("/api/v1/namespaces/default/secrets")).code == 403


async def test_roles_that_aggregate_each_other_are_followed_once(admin: HttpApi, jane: HttpApi) -> None:
    for name in ("one", "two"):
        made = role(name, **AGGREGATED)
        made["metadata"]["labels"] = {"e.com/to-all": "true"}
        assert (await admin.call("POST", f"{RBAC}/clusterroles", made)).code == 201
    assert (await jane.call("POST", f"{HERE}/rolebindings", binding("one", "ClusterRole"))).code == 201


async def test_a_role_that_grants_more_than_can_be_compared_is_refused(jane: HttpApi) -> None:
    many = [f"n{number}" for number in range(300)]
    wide = {"verbs": many, "apiGroups": many, "resources": many, "resourceNames": many}
    refused = await jane.call("POST", f"{HERE}/roles", role("wide", wide))
    assert (refused.code, "more permissions than can be compared" in refused.json["message"]) == (403, True)

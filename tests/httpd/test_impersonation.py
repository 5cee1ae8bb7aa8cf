"""Acting as somebody else over HTTP, and who may."""

from typing import Any

import pytest

from tests.httpd.api import HttpApi

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
RBAC = "/apis/rbac.authorization.k8s.io/v1"


async def who(api: HttpApi, **headers: str) -> dict[str, Any]:
    answer = await api.call("POST", WHO, REVIEW, **headers)
    assert answer.code == 201, answer.json
    info: dict[str, Any] = answer.json["status"]["userInfo"]
    return info


async def test_a_request_speaks_for_whom_it_names(api: HttpApi) -> None:
    assert await who(api, Impersonate_User="jane", Impersonate_Group="dev") == {
        "username": "jane",
        "groups": ["dev", "system:authenticated"],
    }
    info = await who(api, Impersonate_User="jane", Impersonate_Uid="7", Impersonate_Extra_Scopes="view")
    assert (info["uid"], info["extra"]) == ("7", {"scopes": ["view"]})


async def test_a_service_account_comes_with_its_groups_and_nobody_with_theirs(api: HttpApi) -> None:
    info = await who(api, Impersonate_User="system:serviceaccount:default:robot")
    assert info["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    answer = await api.call("POST", WHO, REVIEW, Impersonate_User="system:anonymous")
    assert answer.code == 403, "anonymous users review nothing"


async def test_rights_are_those_of_the_impersonated(api: HttpApi) -> None:
    refused = await api.call("GET", "/api/v1/namespaces", Impersonate_User="jane")
    assert refused.code == 403
    assert refused.json["message"].startswith('namespaces is forbidden: User "jane" cannot list resource')
    allowed = await api.call("GET", "/api/v1/namespaces", Impersonate_User="jane", Impersonate_Group="system:masters")
    assert allowed.code == 200


@pytest.mark.parametrize(
    ("headers", "resource"),
    [
        ({"Impersonate_User": "jane"}, '"users"'),
        ({"Impersonate_User": "bob", "Impersonate_Group": "system:masters"}, '"groups"'),
        ({"Impersonate_User": "bob", "Impersonate_Uid": "1"}, '"uids"'),
        ({"Impersonate_User": "bob", "Impersonate_Extra_Scopes": "x"}, '"userextras/scopes"'),
        ({"Impersonate_User": "system:serviceaccount:default:robot"}, '"serviceaccounts"'),
    ],
)
async def test_impersonating_needs_the_right_to_everything_that_is_named(
    api: HttpApi, headers: dict[str, str], resource: str
) -> None:
    rules = [{"apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"], "verbs": ["impersonate"]}]
    made = await api.call("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "as-bob"}, "rules": rules})
    assert made.code == 201
    binding = {
        "metadata": {"name": "as-bob"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "as-bob"},
        "subjects": [{"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    assert (await api.call("POST", f"{RBAC}/clusterrolebindings", binding)).code == 201
    reader = HttpApi(api.port, "reader-token")
    assert (await who(reader, Impersonate_User="bob"))["username"] == "bob"
    refused = await reader.call("POST", WHO, REVIEW, **headers)
    assert refused.code == 403
    assert f'User "reader" cannot impersonate resource {resource}' in refused.json["message"]


async def test_a_group_without_a_user_is_a_bad_request(api: HttpApi) -> None:
    answer = await api.call("GET", "/api", Impersonate_Group="dev")
    assert answer.code == 400

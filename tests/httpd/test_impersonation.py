"""Acting as somebody else, for those who may."""

from typing import Any

import pytest

from attractor.httpd.auth.impersonation import impersonated, needed
from attractor.httpd.limits import DEFAULT_LIMITS
from attractor.httpd.parser import HttpRequest, RequestParser
from tests.httpd.api import CONFIGMAPS, HttpApi

RBAC = "/apis/rbac.authorization.k8s.io/v1"


async def allow(api: HttpApi, name: str, subject: str, *rules: dict[str, Any]) -> None:
    await api.call("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": list(rules)})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": subject}],
    }
    assert (await api.call("POST", f"{RBAC}/clusterrolebindings", binding)).code == 201


async def test_an_administrator_acting_as_somebody_may_do_what_that_one_may(api: HttpApi) -> None:
    await allow(api, "look", "jane", {"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]})
    assert (await api.get(CONFIGMAPS, Impersonate_User="jane")).code == 200
    refused = await api.get(f"{CONFIGMAPS}/a", Impersonate_User="jane")
    assert 'User "jane" cannot get resource "configmaps"' in refused.json["message"]


async def test_groups_come_with_the_name(api: HttpApi) -> None:
    answer = await api.get(CONFIGMAPS, Impersonate_User="jane", Impersonate_Group="system:masters")
    assert answer.code == 200


def sent(*headers: tuple[bytes, bytes]) -> HttpRequest:
    """A request with headers as the parser gives them, repeated ones included."""
    reader = RequestParser(DEFAULT_LIMITS)
    reader.feed(b"GET / HTTP/1.1\r\nHost: t\r\n" + b"".join(b"%b: %b\r\n" % one for one in headers) + b"\r\n")
    return reader.requests[0]


JANE = (b"Impersonate-User", b"jane")
WHO: list[tuple[list[tuple[bytes, bytes]], tuple[str, ...], list[str]]] = [
    ([], ("system:authenticated",), []),
    ([(b"Impersonate-Group", b"a")], ("a", "system:authenticated"), ["a"]),
    ([(b"Impersonate-Group", b"a"), (b"Impersonate-Group", b"b")], ("a", "b", "system:authenticated"), ["a", "b"]),
    ([(b"Impersonate-Group", b",,,x")], (",,,x", "system:authenticated"), [",,,x"]),
    (
        [(b"Impersonate-Group", b"a, system:masters")],
        ("a, system:masters", "system:authenticated"),
        ["a, system:masters"],
    ),
    ([(b"Impersonate-Group", b"system:authenticated")], ("system:authenticated",), ["system:authenticated"]),
    ([(b"Impersonate-Group", b"system:unauthenticated")], ("system:unauthenticated",), ["system:unauthenticated"]),
    ([(b"Impersonate-Group", b"")], ("", "system:authenticated"), [""]),
]


@pytest.mark.parametrize(("headers", "groups", "authorized"), WHO, ids=repr)
def test_every_group_is_one_header_and_is_authorized(
    headers: list[tuple[bytes, bytes]], groups: tuple[str, ...], authorized: list[str]
) -> None:
    request = sent(JANE, *headers)
    other = impersonated(request)
    assert other.groups == groups
    assert [one.name for one in needed(request, other) if one.resource == "groups"] == authorized


def test_each_value_of_an_extra_field_is_one_header() -> None:
    request = sent(
        JANE,
        (b"Impersonate-Extra-Scopes", b"a,b"),
        (b"Impersonate-Extra-Scopes", b"c"),
        (b"Impersonate-Extra-e.com%2Fk", b"d"),
    )
    other = impersonated(request)
    assert dict(other.extra) == {"scopes": ("a,b", "c"), "e.com/k": ("d",)}
    asked = [(one.subresource, one.name) for one in needed(request, other) if one.resource == "userextras"]
    assert sorted(asked) == [("e.com/k", "d"), ("scopes", "a,b"), ("scopes", "c")]


@pytest.mark.parametrize(
    "name",
    ["system:serviceaccount:a", "system:serviceaccount:a:b:c", "system:serviceaccount::b", "system:serviceaccount:A:b"],
)
def test_a_name_that_only_begins_like_a_service_accounts_is_a_users(name: str) -> None:
    request = sent((b"Impersonate-User", name.encode()))
    other = impersonated(request)
    assert other.groups == ("system:authenticated",)
    assert [(one.resource, one.name) for one in needed(request, other)] == [("users", name)]


async def test_nobody_acts_as_somebody_without_being_allowed_to(api: HttpApi) -> None:
    reader = HttpApi(api.port, "reader-token")
    answer = await reader.get(CONFIGMAPS, Impersonate_User="jane")
    assert answer.json["message"] == (
        'users "jane" is forbidden: User "reader" cannot impersonate resource "users" in API group "" '
        "at the cluster scope"
    )


async def test_being_allowed_a_name_is_not_being_allowed_a_group(api: HttpApi) -> None:
    rule = {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["jane"]}
    await allow(api, "act", "reader", rule)
    reader = HttpApi(api.port, "reader-token")
    answer = await reader.get(CONFIGMAPS, Impersonate_User="jane")
    assert 'User "jane" cannot list' in answer.json["message"]
    for headers in (
        {"Impersonate_Group": "system:masters"},
        {"Impersonate_Uid": "7"},
        {"Impersonate_Extra_Scope": "all"},
    ):
        answer = await reader.get(CONFIGMAPS, Impersonate_User="jane", **headers)
        assert 'User "reader" cannot impersonate resource' in answer.json["message"]


async def test_a_service_account_is_impersonated_with_its_groups(api: HttpApi) -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = await api.call("POST", path, body, Impersonate_User="system:serviceaccount:shop:robot")
    assert answer.json["status"]["userInfo"] == {
        "username": "system:serviceaccount:shop:robot",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
    }


async def test_a_group_without_a_name_is_a_bad_request(api: HttpApi) -> None:
    assert (await api.get(CONFIGMAPS, Impersonate_Group="system:masters")).code == 400

"""Reviews: who am I, whose token is that, may they do it, what may I do?"""

import json
from pathlib import Path
from typing import Any

import pytest

from attractor.apiserver.auth.authorizer import Attributes, Decision
from attractor.apiserver.auth.rbac import RbacAuthorizer, Rule
from attractor.apiserver.auth.reviews import Reviewer, Verified
from attractor.apiserver.core import Core, Request
from attractor.apiserver.request.caller import User
from attractor.apiserver.server import Server
from attractor.store.contract import Snapshot
from attractor.store.memory import MemoryStore
from tests.deterministic import CountingSource

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/kube-apiserver-1.36/reviews.json").read_text())
ADMIN = User("admin", "admin", ("system:masters", "system:authenticated"))
JANE = User("jane", "7", ("dev",), (("example.org/team", ("a", "b")),))
AUTHORIZATION, AUTHENTICATION = "/apis/authorization.k8s.io/v1", "/apis/authentication.k8s.io/v1"


class JaneReadsPods:
    """Jane, and whoever is in group dev, may get pods in shop and /healthz."""

    def decide(self, user: User, attributes: Attributes, snapshot: Snapshot) -> Decision:
        if "dev" not in user.groups and user.name != "jane":
            return Decision(allowed=False, reason="not in dev")
        asked = (attributes.verb, attributes.resource, attributes.namespace, attributes.path)
        return Decision(allowed=asked in {("get", "pods", "shop", ""), ("get", "", "", "/healthz")})


def verify(token: str, audiences: object) -> Verified | None:
    asked = tuple(str(one) for one in audiences) if isinstance(audiences, tuple) else ()
    return Verified(JANE, asked or ("attractor",)) if token == "good" else None


def jane_rules(user: User, namespace: str, snapshot: Snapshot) -> list[Rule]:
    assert (user, namespace) == (JANE, "shop")
    return [
        Rule(verbs=("get",), api_groups=("",), resources=("pods",)),
        Rule(verbs=("get",), non_resource_urls=("/healthz",)),
    ]


async def ask(
    path: str, body: dict[str, Any], user: User = JANE, reviewer: Reviewer | None = None
) -> tuple[int, dict[str, Any]]:
    reviewer = reviewer or Reviewer(JaneReadsPods(), jane_rules, verify)
    server = Server(MemoryStore(), CountingSource(), Core(reviewer=reviewer))
    before = server.store.revision
    response = await server.handle(Request("POST", path, body=json.dumps(body).encode(), user=user))
    assert server.store.revision == before, "a review is not stored"
    return response.code, response.json()


def untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: "<time>" if k in {"time", "creationTimestamp"} else untimed(v) for k, v in value.items()}
    return [untimed(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("step", GOLDEN["steps"], ids=lambda step: step["request"]["body"]["kind"])
async def test_review_is_answered_as_the_real_server_did(step: dict[str, Any]) -> None:
    rbac = RbacAuthorizer()
    reviewer = Reviewer(rbac, rbac.rules, verify)
    code, answer = await ask(step["request"]["path"], step["request"]["body"], ADMIN, reviewer)
    assert (code, untimed(answer)) == (step["response"]["code"], step["response"]["body"])


async def test_self_review_tells_all_that_is_known_of_the_caller() -> None:
    _, answer = await ask(f"{AUTHENTICATION}/selfsubjectreviews", {"kind": "SelfSubjectReview"})
    assert answer["status"]["userInfo"] == {
        "username": "jane",
        "uid": "7",
        "groups": ["dev"],
        "extra": {"example.org/team": ["a", "b"]},
    }


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "shop"}}, {"allowed": True}),
        ({"resourceAttributes": {"verb": "delete", "resource": "pods", "namespace": "shop"}}, {"allowed": False}),
        ({"nonResourceAttributes": {"verb": "get", "path": "/healthz"}}, {"allowed": True}),
    ],
)
async def test_self_access_review_is_about_the_caller(spec: dict[str, Any], status: dict[str, Any]) -> None:
    code, answer = await ask(f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": spec})
    assert (code, answer["status"], answer["spec"]) == (201, status, spec)


PODS = {"verb": "get", "resource": "pods", "namespace": "shop"}


@pytest.mark.parametrize(
    ("subject", "status"),
    [
        ({"user": "nobody"}, {"allowed": False, "reason": "not in dev"}),
        ({"user": "nobody", "groups": ["dev"]}, {"allowed": True}),
        ({"groups": ["dev"]}, {"allowed": True}),
    ],
)
async def test_subject_access_review_is_about_whom_it_names(subject: dict[str, Any], status: dict[str, Any]) -> None:
    _, answer = await ask(f"{AUTHORIZATION}/subjectaccessreviews", {"spec": {**subject, "resourceAttributes": PODS}})
    assert answer["status"] == status


async def test_local_review_stays_in_its_namespace() -> None:
    path = f"{AUTHORIZATION}/namespaces/shop/localsubjectaccessreviews"
    body = {"metadata": {"namespace": "shop"}, "spec": {"user": "jane", "resourceAttributes": PODS}}
    assert (await ask(path, body))[1]["status"] == {"allowed": True}
    body["spec"] = {"user": "jane", "resourceAttributes": {**PODS, "namespace": "other"}}
    code, refused = await ask(path, body)
    assert code == 422
    assert refused["message"] == (
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace'
    )


async def test_rules_review_splits_resources_from_paths() -> None:
    code, answer = await ask(f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {"namespace": "shop"}})
    assert code == 201
    assert answer["status"] == {
        "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}],
        "incomplete": False,
    }


async def test_token_review_tells_whose_token_it_is() -> None:
    path = f"{AUTHENTICATION}/tokenreviews"
    _, answer = await ask(path, {"spec": {"token": "good", "audiences": ["a"]}})
    assert answer["status"]["authenticated"] is True
    assert answer["status"]["user"]["username"] == "jane"
    assert answer["status"]["audiences"] == ["a"]
    _, refused = await ask(path, {"spec": {"token": "bad"}})
    assert refused["status"] == {"user": {}, "error": "invalid bearer token"}


@pytest.mark.parametrize(
    ("path", "body", "code", "message"),
    [
        (f"{AUTHENTICATION}/tokenreviews", {"spec": {}}, 400, "token is required for TokenReview in authentication"),
        (f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {}}, 400, "no namespace on request"),
        (f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": {}}, 422, '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified'),
        (f"{AUTHORIZATION}/subjectaccessreviews", {"spec": {"resourceAttributes": PODS}}, 422, '.authorization.k8s.io "" is invalid: spec.user: Invalid value: "": at least one of user or group must be specified'),
        (f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {**PODS, "labelSelector": {}}}}, 422, '.authorization.k8s.io "" is invalid: spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required'),
    ],
)  # fmt: skip
async def test_question_that_makes_no_sense_is_refused(
    path: str, body: dict[str, Any], code: int, message: str
) -> None:
    got, answer = await ask(path, body)
    assert (got, answer["message"]) == (code, message)


async def test_review_with_a_name_is_refused() -> None:
    body = {"metadata": {"name": "x"}, "spec": {"resourceAttributes": PODS}}
    code, answer = await ask(f"{AUTHORIZATION}/selfsubjectaccessreviews", body)
    assert code == 422
    assert answer["details"]["causes"][0]["field"] == "metadata"

"""Role-based access control: bindings, roles and rules in the store decide."""

from typing import Any

import orjson
import pytest

from attractor.apiserver.auth.authorizer import Attributes, Decision, attributes_of, forbidden
from attractor.apiserver.auth.rbac import RbacAuthorizer, Rule
from attractor.apiserver.request.caller import User
from attractor.store.memory import MemoryStore

JANE = User("jane", groups=("dev", "system:authenticated"))
GET_PODS = Attributes("get", "", "v1", "pods", namespace="shop", name="p")
ROBOT = User("system:serviceaccount:shop:robot")


class Policy:
    """Roles and bindings, put straight into a store."""

    def __init__(self) -> None:
        self.store = MemoryStore()

    def put(self, resource: str, name: str, namespace: str = "", **content: Any) -> None:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **content.pop("metadata", {})}
        place = f"{namespace}/{name}" if namespace else name
        key = f"rbac.authorization.k8s.io/{resource}/{place}"
        self.store.commit_nowait({}, puts={key: orjson.dumps({"metadata": metadata, **content})})

    def cluster_role(self, name: str, *rules: dict[str, Any], **content: Any) -> None:
        self.put("clusterroles", name, rules=list(rules), **content)

    def bind(self, role: str, *subjects: dict[str, str], namespace: str = "", kind: str = "ClusterRole") -> None:
        resource = "rolebindings" if namespace else "clusterrolebindings"
        self.put(resource, f"bind-{role}", namespace, roleRef={"kind": kind, "name": role}, subjects=list(subjects))

    def decide(self, user: User, asked: Attributes) -> Decision:
        return RbacAuthorizer().decide(user, asked, self.store.snapshot_nowait())

    def allows(self, user: User, asked: Attributes) -> bool:
        return self.decide(user, asked).allowed


@pytest.fixture
def policy() -> Policy:
    return Policy()


READ_PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
TO_JANE = {"kind": "User", "name": "jane"}


def test_nobody_may_do_anything_without_a_binding(policy: Policy) -> None:
    policy.cluster_role("reader", READ_PODS)
    assert policy.decide(JANE, GET_PODS) == Decision(allowed=False)


def test_masters_may_do_everything(policy: Policy) -> None:
    assert policy.allows(User("root", groups=("system:masters",)), GET_PODS)


@pytest.mark.parametrize(
    ("user", "subject"),
    [
        (JANE, TO_JANE),
        (JANE, {"kind": "Group", "name": "dev"}),
        (ROBOT, {"kind": "ServiceAccount", "name": "robot", "namespace": "shop"}),
    ],
)
def test_a_subject_is_a_user_a_group_or_a_service_account(policy: Policy, user: User, subject: dict[str, str]) -> None:
    policy.cluster_role("reader", READ_PODS)
    policy.bind("reader", subject)
    assert policy.allows(user, GET_PODS)
    assert not policy.allows(User("joe"), GET_PODS)


def test_a_service_account_without_a_namespace_is_of_the_bindings_namespace(policy: Policy) -> None:
    policy.cluster_role("reader", READ_PODS)
    policy.bind("reader", {"kind": "ServiceAccount", "name": "robot"}, namespace="shop")
    assert policy.allows(ROBOT, GET_PODS)


def test_a_role_binding_counts_in_its_namespace_only(policy: Policy) -> None:
    policy.cluster_role("reader", READ_PODS)
    policy.bind("reader", TO_JANE, namespace="shop")
    assert policy.allows(JANE, GET_PODS)
    assert not policy.allows(JANE, GET_PODS._replace(namespace="other"))
    assert not policy.allows(JANE, GET_PODS._replace(namespace="", name="", verb="list"))


def test_a_role_binding_may_name_a_role_of_its_namespace(policy: Policy) -> None:
    policy.put("roles", "local", "shop", rules=[READ_PODS])
    policy.bind("local", TO_JANE, namespace="shop", kind="Role")
    assert policy.allows(JANE, GET_PODS)


@pytest.mark.parametrize(
    ("rule", "asked", "allowed"),
    [
        ({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, GET_PODS, True),
        ({"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}, GET_PODS, False),
        ({"verbs": ["get"], "apiGroups": ["apps"], "resources": ["pods"]}, GET_PODS, False),
        ({**READ_PODS, "resourceNames": ["p"]}, GET_PODS, True),
        ({**READ_PODS, "resourceNames": ["q"]}, GET_PODS, False),
        ({**READ_PODS, "resourceNames": ["p"]}, GET_PODS._replace(verb="list", name=""), False),
        (READ_PODS, GET_PODS._replace(subresource="log"), False),
        ({**READ_PODS, "resources": ["pods/log"]}, GET_PODS._replace(subresource="log"), True),
        ({**READ_PODS, "resources": ["*/log"]}, GET_PODS._replace(subresource="log"), True),
        ({**READ_PODS, "resources": ["pods/log"]}, GET_PODS, False),
        ({"verbs": ["get"], "nonResourceURLs": ["/healthz"]}, Attributes("get", path="/healthz"), True),
        ({"verbs": ["get"], "nonResourceURLs": ["/api/*"]}, Attributes("get", path="/api/v1"), True),
        ({"verbs": ["get"], "nonResourceURLs": ["/api/*"]}, Attributes("get", path="/apis"), False),
        ({"verbs": ["get"], "nonResourceURLs": ["*"]}, GET_PODS, False),
        ({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, Attributes("get", path="/metrics"), False),
    ],
)
def test_a_rule_covers_what_it_says(policy: Policy, rule: dict[str, Any], asked: Attributes, allowed: bool) -> None:
    policy.cluster_role("some", rule)
    policy.bind("some", TO_JANE)
    assert policy.allows(JANE, asked) is allowed


def test_an_aggregated_role_has_the_rules_of_those_it_selects(policy: Policy) -> None:
    policy.cluster_role("part", READ_PODS, metadata={"labels": {"to": "whole"}})
    policy.cluster_role("other", {**READ_PODS, "verbs": ["delete"]}, metadata={"labels": {"to": "elsewhere"}})
    policy.cluster_role("whole", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"to": "whole"}}]})
    policy.bind("whole", TO_JANE)
    assert policy.allows(JANE, GET_PODS)
    assert not policy.allows(JANE, GET_PODS._replace(verb="delete"))


def test_a_binding_to_a_role_that_is_not_there_is_named_in_the_refusal(policy: Policy) -> None:
    policy.bind("ghost", TO_JANE)
    decision = policy.decide(JANE, GET_PODS)
    assert decision == Decision(False, 'RBAC: clusterrole.rbac.authorization.k8s.io "ghost" not found')
    assert forbidden(JANE, GET_PODS, decision.reason).message == (
        'pods "p" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "shop": '
        'RBAC: clusterrole.rbac.authorization.k8s.io "ghost" not found'
    )


def test_a_changed_role_counts_at_once(policy: Policy) -> None:
    policy.cluster_role("reader", READ_PODS)
    policy.bind("reader", TO_JANE)
    policy.cluster_role("reader")
    assert not policy.allows(JANE, GET_PODS)


def test_the_rules_of_a_user_are_those_of_all_its_roles(policy: Policy) -> None:
    policy.cluster_role("reader", READ_PODS)
    policy.bind("reader", TO_JANE)
    rules = list(RbacAuthorizer().rules(JANE, "shop", policy.store.snapshot_nowait()))
    assert rules == [Rule(("get", "list"), ("",), ("pods",))]


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/api/v1/pods", {}, Attributes("list", "", "v1", "pods", path="/api/v1/pods")),
        ("GET", "/api/v1/pods", {"watch": ["1"]}, Attributes("watch", "", "v1", "pods", path="/api/v1/pods")),
        (
            "GET",
            "/api/v1/namespaces/a",
            {},
            Attributes("get", "", "v1", "namespaces", "", "a", "a", "/api/v1/namespaces/a"),
        ),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/a/deployments",
            {"fieldSelector": ["metadata.name=d"]},
            Attributes(
                "deletecollection", "apps", "v1", "deployments", "", "a", "", "/apis/apps/v1/namespaces/a/deployments"
            ),
        ),
        ("GET", "/healthz", {}, Attributes("get", path="/healthz")),
        ("POST", "/apis", {}, Attributes("post", path="/apis")),
    ],
)
def test_what_a_request_asks_for_is_told_from_its_path(
    method: str, path: str, query: dict[str, list[str]], expected: Attributes
) -> None:
    assert attributes_of(method, path, query) == expected


def test_a_refusal_at_cluster_scope_and_of_a_subresource_is_worded_as_kubernetes_does() -> None:
    asked = Attributes("update", "apps", "v1", "deployments", "scale")
    assert forbidden(JANE, asked).message == (
        'deployments.apps is forbidden: User "jane" cannot update resource "deployments/scale" in API group "apps" '
        "at the cluster scope"
    )

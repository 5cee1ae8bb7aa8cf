"""Who am I, and what may I do: auth can-i, whoami, reconcile, impersonation, and service accounts' tokens."""

import json

import pytest

from tests.kubectl.tool import Kubectl

pytestmark = pytest.mark.slow


@pytest.fixture
def jane(kubectl: Kubectl) -> Kubectl:
    """A namespace in which jane may read pods."""
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods")
    kubectl("create", "rolebinding", "reading", "--role=reader", "--user=jane")
    return kubectl


def test_the_administrator_may_do_everything(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert kubectl("auth", "can-i", "*", "*", "--all-namespaces") == "yes\n"
    assert kubectl("auth", "can-i", "get", "/metrics") == "yes\n"
    rows = kubectl.rows("auth", "can-i", "--list")
    assert rows[0] == ["Resources", "Non-Resource", "URLs", "Resource", "Names", "Verbs"]
    assert ["*.*", "[]", "[]", "[*]"] in rows


def test_can_i_answers_for_somebody_else(jane: Kubectl) -> None:
    assert jane("auth", "can-i", "list", "pods", "--as=jane") == "yes\n"
    refused = jane.run("auth", "can-i", "delete", "pods", "--as=jane")
    assert (refused.code, refused.out) == (1, "no\n")
    assert jane.run("auth", "can-i", "list", "pods", "--as=jane", "-n", "default").out == "no\n"
    assert ["pods", "[]", "[]", "[get", "list]"] in jane.rows("auth", "can-i", "--list", "--as=jane")


def test_whoami_names_user_and_groups_also_when_acting_as_another(kubectl: Kubectl) -> None:
    rows = kubectl.rows("auth", "whoami")
    assert rows[0] == ["ATTRIBUTE", "VALUE"]
    assert "system:masters" in " ".join(rows[2])
    asked = kubectl("auth", "whoami", "-o", "json", "--as=jane", "--as-group=dev", "--as-uid=7")
    assert json.loads(asked)["status"]["userInfo"] == {
        "username": "jane",
        "uid": "7",
        "groups": ["dev", "system:authenticated"],
    }


def test_what_is_forbidden_is_refused_with_who_what_and_where(jane: Kubectl) -> None:
    assert jane.run("get", "pods", "--as=jane").code == 0
    said = jane.fails("get", "secrets", "--as=jane")
    assert said == (
        'Error from server (Forbidden): secrets is forbidden: User "jane" cannot list resource "secrets" '
        f'in API group "" in the namespace "{jane.namespace}"\n'
    )


def test_nobody_grants_more_than_they_have(jane: Kubectl) -> None:
    jane("create", "role", "granter", "--verb=create", "--resource=roles.rbac.authorization.k8s.io")
    jane("create", "rolebinding", "granting", "--role=granter", "--user=jane")
    said = jane.fails("create", "role", "more", "--verb=delete", "--resource=pods", "--as=jane")
    assert "attempting to grant RBAC permissions not currently held" in said
    assert "created" in jane("create", "role", "same", "--verb=get", "--resource=pods", "--as=jane")


def test_reconcile_adds_missing_rules_and_keeps_others(jane: Kubectl) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "reader", "namespace": jane.namespace},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["watch"]}],
    }
    jane("auth", "reconcile", "-f", jane.file("role.json", json.dumps(role)))
    verbs = [verb for rule in jane.json("get", "role", "reader")["rules"] for verb in rule["verbs"]]
    assert sorted(verbs) == ["get", "list", "watch"]


def test_a_created_token_is_the_service_account(kubectl: Kubectl) -> None:
    kubectl("create", "serviceaccount", "robot")
    token = kubectl("create", "token", "robot", "--duration=20m").strip()
    assert token.count(".") == 2
    said = kubectl("auth", "whoami", "--token", token, "-o", "jsonpath={.status.userInfo.username}")
    assert said == f"system:serviceaccount:{kubectl.namespace}:robot"
    kubectl("create", "rolebinding", "robots", "--clusterrole=view", f"--serviceaccount={kubectl.namespace}:robot")
    assert kubectl("get", "pods", "--token", token) == ""
    said = kubectl.fails("create", "configmap", "x", "--token", token)
    assert "configmaps is forbidden: User" in said

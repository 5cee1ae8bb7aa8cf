"""delete with its cascade modes, and wait for conditions, values and ends."""

import json
import re

import pytest

from tests.kubectl.tool import Kubectl

pytestmark = pytest.mark.slow


def config(name: str, owner: str = "", uid: str = "", finalizer: str = "") -> str:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": True}
    metadata = {
        "name": name,
        "labels": {"family": "yes"},
        "ownerReferences": [reference] if owner else [],
        "finalizers": [finalizer] if finalizer else [],
    }
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


@pytest.fixture
def family(kubectl: Kubectl) -> Kubectl:
    """A parent and its child."""
    kubectl("create", "-f", "-", given=config("parent"))
    uid = kubectl("get", "configmap", "parent", "-o", "jsonpath={.metadata.uid}")
    kubectl("create", "-f", "-", given=config("child", "parent", uid))
    return kubectl


def family_of(kubectl: Kubectl) -> list[str]:
    return kubectl("get", "configmaps", "-l", "family", "-o", "name").split()


def brief(said: str) -> str:
    """What kubectl says of a deletion, without the namespace, which newer ones tell."""
    return re.sub(r" from \S+ namespace\b", "", said)


def test_background_deletion_takes_the_child_soon_after(family: Kubectl) -> None:
    assert brief(family("delete", "configmap", "parent", "--cascade=background")) == 'configmap "parent" deleted\n'
    assert family("wait", "--for=delete", "configmap/child", "--timeout=30s") in {
        "configmap/child condition met\n",
        "",
    }
    assert family_of(family) == []


def test_foreground_deletion_keeps_the_parent_until_the_child_is_gone(family: Kubectl) -> None:
    held = {"metadata": {"finalizers": ["example.org/hold"]}}
    family("patch", "configmap", "child", "--type=merge", "-p", json.dumps(held))
    family("delete", "configmap", "parent", "--cascade=foreground", "--wait=false")
    family("wait", "configmap/child", "--for=jsonpath={.metadata.deletionTimestamp}", "--timeout=30s")
    parent = family.json("get", "configmap", "parent")
    assert parent["metadata"]["finalizers"] == ["foregroundDeletion"]
    family("patch", "configmap", "child", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    family("wait", "--for=delete", "configmap/parent", "--timeout=30s")
    assert family_of(family) == []


def test_orphaning_deletion_keeps_the_child_without_its_owner(family: Kubectl) -> None:
    family("delete", "configmap", "parent", "--cascade=orphan")
    assert family_of(family) == ["configmap/child"]
    family("wait", "--for=delete", "configmap/parent", "--timeout=30s")
    assert "ownerReferences" not in family.json("get", "configmap", "child")["metadata"]


def test_delete_by_file_by_label_all_and_of_what_is_not_there(kubectl: Kubectl) -> None:
    for name in "abc":
        kubectl("create", "-f", "-", given=config(name))
    path = kubectl.file("a.json", config("a"))
    assert brief(kubectl("delete", "-f", path)) == 'configmap "a" deleted\n'
    assert kubectl.fails("delete", "-f", path).startswith("Error from server (NotFound)")
    assert kubectl("delete", "-f", path, "--ignore-not-found") == ""
    dry = kubectl("delete", "configmap", "b", "--dry-run=server")
    assert brief(dry) == 'configmap "b" deleted (server dry run)\n'
    assert brief(kubectl("delete", "configmaps", "-l", "family")).split("\n")[:2] == [
        'configmap "b" deleted',
        'configmap "c" deleted',
    ]
    kubectl("create", "secret", "generic", "one")
    assert brief(kubectl("delete", "secrets", "--all")) == 'secret "one" deleted\n'


def test_delete_waits_for_finalizers_and_reports_when_it_took_too_long(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config("held", finalizer="example.org/hold"))
    said = kubectl.fails("delete", "configmap", "held", "--timeout=300ms")
    assert "timed out waiting for the condition on configmaps/held" in said
    with kubectl.running("delete", "configmap", "held") as deleting:
        assert brief(deleting.line()) == 'configmap "held" deleted'
        kubectl("patch", "configmap", "held", "--type=merge", "-p", '{"metadata": {"finalizers": []}}')
        assert deleting.ended().code == 0
    assert family_of(kubectl) == []


def test_delete_of_a_pod_now_and_with_force_leaves_nothing(kubectl: Kubectl) -> None:
    for options in (["--now"], ["--force"], ["--grace-period=0", "--force"]):
        kubectl("run", "p", "--image=i")
        assert 'pod "p"' in kubectl("delete", "pod", "p", *options)
        assert 'pods "p" not found' in kubectl.fails("get", "pod", "p")


def test_a_deleted_namespace_takes_its_content_and_ends(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config("inside"))
    assert kubectl("delete", "namespace", kubectl.namespace) == f'namespace "{kubectl.namespace}" deleted\n'
    assert "not found" in kubectl.fails("get", "namespace", kubectl.namespace)
    assert "not found" in kubectl.fails("create", "-f", "-", given=config("late"))


def test_wait_for_a_condition_ends_when_the_status_says_so(kubectl: Kubectl) -> None:
    kubectl("run", "p", "--image=i")
    said = kubectl.fails("wait", "pod/p", "--for=condition=Ready", "--timeout=300ms")
    assert said == "error: timed out waiting for the condition on pods/p\n"
    with kubectl.running("wait", "pod/p", "--for=condition=Ready", "--timeout=30s") as waiting:
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        kubectl("patch", "pod", "p", "--subresource=status", "--type=merge", "-p", json.dumps(ready))
        assert waiting.ended() == (0, "pod/p condition met\n", "")


def test_wait_for_a_value_and_for_creation(kubectl: Kubectl) -> None:
    with kubectl.running("wait", "configmap/late", "--for=create", "--timeout=30s") as creation:
        kubectl("create", "configmap", "late", "--from-literal=phase=old")
        assert creation.ended().out == "configmap/late condition met\n"
    value = "--for=jsonpath={.data.phase}=new"
    with kubectl.running("wait", "configmap/late", value, "--timeout=30s") as waiting:
        kubectl("patch", "configmap", "late", "-p", '{"data": {"phase": "new"}}')
        assert waiting.ended().out == "configmap/late condition met\n"


def test_wait_for_deletion_ends_when_the_object_is_gone(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "doomed")
    with kubectl.running("wait", "configmap/doomed", "--for=delete", "--timeout=30s") as waiting:
        kubectl("delete", "configmap", "doomed")
        assert waiting.ended().code == 0

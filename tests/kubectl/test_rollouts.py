"""rollout status, restart, history, undo, pause: of a Deployment whose status the test drives."""

import json

import pytest

from tests.kubectl.tool import Kubectl

pytestmark = pytest.mark.slow


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    kubectl("create", "deployment", "web", "--image=i:1", "--replicas=2")
    return kubectl


def drive(kubectl: Kubectl, **status: int) -> None:
    """Do what the deployment controller does."""
    generation = kubectl.json("get", "deployment", "web")["metadata"]["generation"]
    patch = {"status": {"observedGeneration": generation, **status}}
    kubectl("patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", json.dumps(patch))


def replica_set(kubectl: Kubectl, revision: int, image: str) -> None:
    owner = kubectl.json("get", "deployment", "web")["metadata"]
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": owner["uid"], "controller": True}
    labels = {"app": "web", "pod-template-hash": f"h{revision}"}
    made = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"web-{revision}",
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": str(revision)},
            "ownerReferences": [reference],
        },
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "i", "image": image}]},
            },
        },
    }
    kubectl("create", "-f", "-", given=json.dumps(made))


def test_status_follows_the_rollout_to_its_end(web: Kubectl) -> None:
    with web.running("rollout", "status", "deployment/web", "--timeout=30s") as rollout:
        assert rollout.line() == "Waiting for deployment spec update to be observed..."
        drive(web, replicas=2, updatedReplicas=1)
        lines = [rollout.line()]
        while lines[-1].startswith("Waiting for deployment spec update"):
            lines.append(rollout.line())
        assert lines[-1].endswith("1 out of 2 new replicas have been updated...")
        drive(web, replicas=2, updatedReplicas=2, readyReplicas=1, availableReplicas=1)
        assert rollout.line().endswith("1 of 2 updated replicas are available...")
        drive(web, replicas=2, updatedReplicas=2, readyReplicas=2, availableReplicas=2)
        ended = rollout.ended()
    assert (ended.code, ended.out) == (0, 'deployment "web" successfully rolled out\n')
    assert web.rows("get", "deployment", "web")[1][1:4] == ["2/2", "2", "2"]


def test_status_gives_up_after_its_timeout(web: Kubectl) -> None:
    assert "timed out waiting" in web.fails("rollout", "status", "deployment/web", "--timeout=300ms")


def test_restart_changes_the_template_and_so_the_generation(web: Kubectl) -> None:
    assert web("rollout", "restart", "deployment/web") == "deployment.apps/web restarted\n"
    found = web.json("get", "deployment", "web")
    assert found["metadata"]["generation"] == 2
    assert "kubectl.kubernetes.io/restartedAt" in found["spec"]["template"]["metadata"]["annotations"]


def test_history_and_undo_read_the_revisions(web: Kubectl) -> None:
    replica_set(web, 1, "i:0")
    replica_set(web, 2, "i:1")
    web("annotate", "deployment/web", "deployment.kubernetes.io/revision=2")
    assert web.rows("rollout", "history", "deployment/web")[:4] == [
        ["deployment.apps/web"],
        ["REVISION", "CHANGE-CAUSE"],
        ["1", "<none>"],
        ["2", "<none>"],
    ]
    assert "i:0" in web("rollout", "history", "deployment/web", "--revision=1")
    assert web("rollout", "undo", "deployment/web") == "deployment.apps/web rolled back\n"
    found = web("get", "deployment/web", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
    assert found == "i:0"


def test_pause_and_resume(web: Kubectl) -> None:
    assert web("rollout", "pause", "deployment/web") == "deployment.apps/web paused\n"
    assert "already paused" in web.fails("rollout", "pause", "deployment/web")
    assert web("rollout", "resume", "deployment/web") == "deployment.apps/web resumed\n"

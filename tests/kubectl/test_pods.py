"""What kubectl asks of pods and nodes beyond objects: logs, eviction, cordons and taints."""

import json

import pytest

from tests.kubectl.tool import Kubectl

pytestmark = pytest.mark.slow


def node(kubectl: Kubectl) -> str:
    name = f"node-{kubectl.namespace}"
    kubectl("create", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}))
    return name


def test_logs_are_what_the_pod_says_they_are(kubectl: Kubectl) -> None:
    kubectl("run", "p", "--image=i", "--annotations=logs.attractor.dev/p=one\ntwo\nthree\n")
    assert kubectl("logs", "p") == "one\ntwo\nthree\n"
    assert kubectl("logs", "p", "--tail=1") == "three\n"
    assert kubectl("logs", "pod/p", "-c", "p", "--limit-bytes=3") == "one"
    assert "container nothing is not valid for pod p" in kubectl.fails("logs", "p", "-c", "nothing")
    assert 'pods "absent" not found' in kubectl.fails("logs", "absent")


def test_cordon_taint_and_drain_move_pods_from_a_node(kubectl: Kubectl) -> None:
    name = node(kubectl)
    assert kubectl("cordon", name) == f"node/{name} cordoned\n"
    assert "SchedulingDisabled" in kubectl("get", "node", name)
    assert kubectl("taint", "nodes", name, "lost=yes:NoSchedule") == f"node/{name} tainted\n"
    overrides = json.dumps({"spec": {"nodeName": name}})
    kubectl("run", "p", "--image=i", f"--overrides={overrides}")
    said = kubectl("drain", name, "--force", "--grace-period=0", "--timeout=20s")
    assert "pod/p evicted" in said
    assert f"node/{name} drained" in said
    assert 'pods "p" not found' in kubectl.fails("get", "pod", "p")
    assert kubectl("uncordon", name) == f"node/{name} uncordoned\n"


def test_nothing_runs_and_kubectl_says_what_is_missing(kubectl: Kubectl) -> None:
    kubectl("run", "p", "--image=busybox")
    for command in (("exec", "p", "--", "ls"), ("attach", "p"), ("cp", "p:/etc/passwd", "x")):
        assert kubectl.fails(*command).endswith(
            "Error from server (BadRequest): pod p does not have a host assigned\n"
        ), command
    assert "container q is not valid for pod p" in kubectl.fails("logs", "p", "-c", "q")
    assert "pod is not running. Current status=Pending" in kubectl.fails("port-forward", "p", "18080:80")


def test_privileged_containers_are_refused_unless_the_server_allows_them(kubectl: Kubectl) -> None:
    refused = "spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy"
    assert refused in kubectl.fails("run", "p", "--image=busybox", "--privileged")

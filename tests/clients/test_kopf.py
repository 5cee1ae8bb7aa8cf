"""kopf, unmodified, runs the operator of its walkthrough to the end: CRD, create, update, field and delete handlers."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.conftest import LEAKY
from tests.kubectl.tool import Kubectl
from tests.serving import Serving

pytestmark = [pytest.mark.slow, *LEAKY]

OPERATOR = Path(__file__).with_name("ephemeral_operator.py")
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "ephemeralvolumeclaims.kopf.dev"},
    "spec": {
        "scope": "Namespaced",
        "group": "kopf.dev",
        "names": {
            "kind": "EphemeralVolumeClaim",
            "plural": "ephemeralvolumeclaims",
            "singular": "ephemeralvolumeclaim",
            "shortNames": ["evc"],
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}

STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "tests.example.org/none",
    "allowVolumeExpansion": True,
}
"""What a cluster with volumes has; without it no claim may grow."""


@pytest.fixture
def kubectl(server: Serving, namespace: str, tmp_path: Path) -> Kubectl:
    kubectl = Kubectl(server, tmp_path, namespace)
    for obj in (DEFINITION, STORAGE_CLASS):
        kubectl("apply", "-f", "-", given=json.dumps(obj))
    kubectl("wait", "--for=condition=Established", "crd/ephemeralvolumeclaims.kopf.dev")
    return kubectl


@pytest.fixture
def operator(kubectl: Kubectl, tmp_path: Path) -> Iterator[Path]:
    """kopf at work in the namespace; where it logs."""
    log = tmp_path / "kopf.log"
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "--verbose"]
    command += ["--namespace", kubectl.namespace, str(OPERATOR)]
    environment = {**os.environ, "KUBECONFIG": str(kubectl.server.kubeconfig), "HOME": str(tmp_path)}
    with log.open("w") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield log
        process.terminate()
        assert process.wait(20) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def claim(kubectl: Kubectl, **spec: str) -> None:
    made = {"apiVersion": "kopf.dev/v1", "kind": "EphemeralVolumeClaim", "metadata": {"name": "mine"}, "spec": spec}
    kubectl("apply", "-f", "-", given=json.dumps(made))


def test_the_walkthroughs_operator_follows_a_claim_from_creation_to_deletion(kubectl: Kubectl, operator: Path) -> None:
    claim(kubectl, size="1Gi")
    until = "--timeout=20s"
    kubectl("wait", "evc/mine", "--for=jsonpath={.status.claim_created.pvc-name}=mine", until)
    found = kubectl.json("get", "evc", "mine")
    assert found["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
    volume = kubectl.json("get", "pvc", "mine")
    assert volume["spec"]["resources"]["requests"] == {"storage": "1Gi"}
    assert volume["metadata"]["ownerReferences"][0]["uid"] == found["metadata"]["uid"]

    bound = '{"status": {"phase": "Bound"}}'
    kubectl("patch", "pvc", "mine", "--subresource=status", "--type=merge", "-p", bound)
    claim(kubectl, size="2Gi")
    kubectl("wait", "pvc/mine", "--for=jsonpath={.spec.resources.requests.storage}=2Gi", until)
    kubectl("label", "evc", "mine", "team=blue")
    kubectl("wait", "pvc/mine", "--for=jsonpath={.metadata.labels.team}=blue", until)

    kubectl("delete", "evc", "mine", until)
    kubectl("wait", "pvc/mine", "--for=delete", until)
    log = operator.read_text()
    assert "Handler 'claim_deleted' succeeded." in log
    assert "Traceback" not in log, log
    events = {event["reason"]: event["message"] for event in kubectl.json("get", "events")["items"]}
    assert events["Farewell"] == f"claim mine of {kubectl.namespace} is let go"


def test_a_permanent_error_is_not_tried_again_and_does_not_hold_the_object(kubectl: Kubectl, operator: Path) -> None:
    claim(kubectl, colour="red")
    handled = "{.metadata.annotations.kopf\\.zalando\\.org/last-handled-configuration}"
    kubectl("wait", "evc/mine", f"--for=jsonpath={handled}", "--timeout=20s")
    kubectl("delete", "evc", "mine", "--timeout=20s")
    log = operator.read_text()
    assert log.count("failed permanently: a size must be set; got None") == 1, log
    assert kubectl("get", "pvc", "-o", "name") == ""

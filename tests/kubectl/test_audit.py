"""What ``attractor serve --audit-log`` writes down of kubectl's work."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kubectl.tool import Kubectl
from tests.serving import Serving, serving

pytestmark = pytest.mark.slow

POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    nonResourceURLs: ["/api*", "/openapi*", "/version*"]
  - level: RequestResponse
    verbs: [create]
    resources: [{group: "", resources: [configmaps]}]
  - level: Metadata
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "audit.log"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, log: Path) -> Iterator[Serving]:
    policy = log.with_name("policy.yaml")
    policy.write_text(POLICY)
    options = ("--audit-log", str(log), "--audit-policy", str(policy))
    with serving(tmp_path_factory.mktemp("server"), *options) as server:
        yield server


def events(log: Path, namespace: str) -> list[dict[str, Any]]:
    told = [json.loads(line) for line in log.read_bytes().splitlines()]
    return [event for event in told if event.get("objectRef", {}).get("namespace") == namespace]


def test_the_log_tells_who_did_what_with_the_secret_and_not_what_is_in_it(
    kubectl: Kubectl, server: Serving, log: Path
) -> None:
    kubectl("create", "secret", "generic", "safe", "--from-literal=pin=s3cr3t")
    kubectl("create", "configmap", "open", "--from-literal=colour=blue")
    assert "Forbidden" in kubectl.fails("get", "secret", "safe", "--as=mallory")
    assert "NotFound" in kubectl.fails("get", "secret", "none")
    kubectl("delete", "secret", "safe", "--wait=false")
    assert server.stop() == 0
    server.start()
    told = {
        (event["verb"], event["objectRef"]["resource"], event["objectRef"].get("name")): event
        for event in events(log, kubectl.namespace)
    }
    made = told["create", "secrets", "safe"]
    assert (made["level"], made["stage"], made["responseStatus"]["code"]) == ("Metadata", "ResponseComplete", 201)
    assert made["user"]["username"] == "attractor:admin"
    assert made["userAgent"].startswith("kubectl/")
    assert made["sourceIPs"] == ["127.0.0.1"]
    assert told["create", "configmaps", "open"]["requestObject"]["data"] == {"colour": "blue"}
    assert told["create", "configmaps", "open"]["responseObject"]["data"] == {"colour": "blue"}
    refused = told["get", "secrets", "safe"]
    assert refused["impersonatedUser"]["username"] == "mallory"
    assert refused["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert told["get", "secrets", "none"]["responseStatus"]["reason"] == "NotFound"
    gone = told["delete", "secrets", "safe"]
    assert gone["objectRef"]["uid"] == made["objectRef"]["uid"]
    text = log.read_text()
    assert "s3cr3t" not in text
    assert "czNjcjN0" not in text
    assert server.token not in text
    assert '"requestURI":"/api' in text
    assert '"requestURI":"/apis?' not in text
    assert '"requestURI":"/version' not in text


def test_a_watch_of_kubectl_has_a_beginning_and_an_end(kubectl: Kubectl, server: Serving, log: Path) -> None:
    with kubectl.running("get", "configmaps", "--watch", "-o", "name") as watching:
        assert watching.line() == "configmap/kube-root-ca.crt"
        kubectl("create", "configmap", "another")
        assert watching.line() == "configmap/another"
    assert server.stop() == 0
    server.start()
    stages = [event["stage"] for event in events(log, kubectl.namespace) if event["verb"] == "watch"]
    assert stages == ["ResponseStarted", "ResponseComplete"]

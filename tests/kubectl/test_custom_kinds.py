"""A kind of one's own: its definition applied, its objects used like built-in ones, and both gone in the end."""

import json
from collections.abc import Iterator

import pytest

from attractor.objects.resource import crd_for
from tests.kubectl.tool import Kubectl
from tests.objects.resource.test_embedded_built_ins import Runner

pytestmark = pytest.mark.slow

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Spec, type: string, jsonPath: .spec.cronSpec}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    selectableFields:
    - {jsonPath: .spec.color}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [cronSpec]
            x-kubernetes-validations:
            - {rule: "self.replicas <= 10", message: "at most ten"}
            properties:
              cronSpec: {type: string, description: When it runs., pattern: '^(\\S+ ){4}\\S+$'}
              color: {type: string}
              replicas: {type: integer, minimum: 0, default: 1}
          status:
            type: object
            properties:
              replicas: {type: integer}
              conditions:
                type: array
                items: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
OBJECT = """
apiVersion: stable.example.com/v1
kind: CronTab
metadata: {name: nightly}
spec: {cronSpec: "0 3 * * *", color: blue}
"""


@pytest.fixture
def crontabs(kubectl: Kubectl) -> Iterator[Kubectl]:
    kubectl("apply", "-f", kubectl.file("crd.yaml", DEFINITION))
    kubectl("wait", "crd/crontabs.stable.example.com", "--for=condition=Established", "--timeout=30s")
    said = kubectl("apply", "-f", kubectl.file("nightly.yaml", OBJECT))
    assert said == "crontab.stable.example.com/nightly created\n"
    yield kubectl
    kubectl("delete", "crd", "crontabs.stable.example.com", "--timeout=30s")


def test_it_is_discovered_explained_and_printed_with_its_columns(crontabs: Kubectl) -> None:
    rows = crontabs.rows("api-resources", "--api-group=stable.example.com")
    assert rows[1] == ["crontabs", "ct", "stable.example.com/v1", "true", "CronTab"]
    assert "When it runs." in crontabs("explain", "crontab.spec.cronSpec")
    rows = crontabs.rows("get", "ct")
    assert rows[0] == ["NAME", "SPEC", "REPLICAS", "AGE"]
    assert rows[1][:7] == ["nightly", "0", "3", "*", "*", "*", "1"]
    assert "crontab.stable.example.com/nightly" in crontabs("get", "all")


def test_its_schema_is_enforced_with_defaults_patterns_and_rules(crontabs: Kubectl) -> None:
    assert crontabs("get", "ct", "nightly", "-o", "jsonpath={.spec.replicas}") == "1"
    for given, said in [
        (
            OBJECT.replace("0 3 * * *", "soon"),
            'spec.cronSpec: Invalid value: "soon": spec.cronSpec in body should match',
        ),
        (OBJECT.replace("color", "replicas: 11, color"), "at most ten"),
        (OBJECT.replace("color", "colour"), 'unknown field "spec.colour"'),
        (OBJECT.replace('cronSpec: "0 3 * * *", ', ""), "spec.cronSpec: Required value"),
    ]:
        assert said in crontabs.fails("apply", "-f", crontabs.file("bad.yaml", given))


def test_it_is_patched_scaled_edited_and_selected_like_any_other(crontabs: Kubectl) -> None:
    crontabs("patch", "ct", "nightly", "--type=merge", "-p", '{"spec": {"color": "red"}}')
    assert crontabs("get", "ct", "--field-selector=spec.color=red", "-o", "name") != ""
    assert crontabs("get", "ct", "--field-selector=spec.color=blue", "-o", "name") == ""
    assert crontabs("scale", "ct/nightly", "--replicas=3") == "crontab.stable.example.com/nightly scaled\n"
    assert crontabs("get", "ct", "nightly", "-o", "jsonpath={.spec.replicas}") == "3"
    assert crontabs("label", "ct", "nightly", "x=y") == "crontab.stable.example.com/nightly labeled\n"
    said = crontabs.fails("patch", "ct", "nightly", "--type=strategic", "-p", '{"spec": {"color": "x"}}')
    assert "the body of the request was in an unknown format" in said
    assert crontabs("apply", "--server-side", "-f", crontabs.file("n.yaml", OBJECT), "--force-conflicts") == (
        "crontab.stable.example.com/nightly serverside-applied\n"
    )
    assert crontabs("get", "ct", "nightly", "-o", "jsonpath={.spec.color}") == "blue"


def test_wait_and_describe_read_its_status(crontabs: Kubectl) -> None:
    condition = {"type": "Ready", "status": "True", "reason": "Ran"}
    patch = json.dumps({"status": {"conditions": [condition]}})
    crontabs("patch", "ct", "nightly", "--subresource=status", "--type=merge", "-p", patch)
    crontabs("wait", "ct/nightly", "--for=condition=Ready", "--timeout=10s")
    shown = crontabs("describe", "ct", "nightly")
    assert "Cron Spec:  0 3 * * *" in shown
    assert "Reason:  Ran" in shown


def test_deleting_the_definition_deletes_its_objects(crontabs: Kubectl) -> None:
    crontabs("delete", "crd", "crontabs.stable.example.com", "--timeout=30s")
    said = crontabs.fails("get", "ct")
    assert "the server could not find the requested resource" in said, "kubectl remembers the kind, the server does not"
    crontabs("apply", "-f", crontabs.file("crd.yaml", DEFINITION))
    crontabs("wait", "crd/crontabs.stable.example.com", "--for=condition=Established", "--timeout=30s")
    assert crontabs("get", "crontabs", "-A", "-o", "name") == ""


def test_a_kind_with_built_in_types_in_it_is_applied_changed_and_refused_as_a_pod_would_be(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=json.dumps(crd_for(Runner)))
    kubectl("wait", "--for=condition=Established", "crd/runners.test.attractor.dev")
    manifest = {
        "apiVersion": "test.attractor.dev/v1",
        "kind": "Runner",
        "metadata": {"name": "a"},
        "spec": {
            "resources": {"limits": {"cpu": 2, "memory": "1.5Gi"}},
            "template": {"spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]}},
        },
    }
    assert "created" in kubectl("apply", "-f", "-", given=json.dumps(manifest))
    kubectl("apply", "-f", "-", given=json.dumps(manifest))
    assert "serverside-applied" in kubectl(
        "apply", "--server-side", "--force-conflicts", "-f", "-", given=json.dumps(manifest)
    )
    path = "jsonpath={.spec.template.spec.containers[0].ports[0].protocol} {.spec.resources.limits.memory}"
    assert kubectl("get", "runner", "a", "-o", path) == "TCP 1.5Gi"
    manifest["spec"] = {"resources": {"limits": {"cpu": "much"}}, "env": [{"value": "no name"}]}
    refused = kubectl.run("apply", "-f", "-", given=json.dumps(manifest))
    assert refused.code == 1
    assert "spec.resources.limits.cpu" in refused.err
    assert "spec.env[0].name: Required value" in refused.err

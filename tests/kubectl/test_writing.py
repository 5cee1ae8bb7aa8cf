"""create, apply, replace, edit, patch, label, annotate, scale, set, diff: each for real."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.kubectl.tool import Kubectl

pytestmark = pytest.mark.slow

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: "nginx:1"}
      - {name: side, image: "side:1"}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '1', b: '2'}\n"


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """A namespace with one Deployment, applied from web.yaml."""
    assert kubectl("apply", "-f", kubectl.file("web.yaml", DEPLOYMENT)) == "deployment.apps/web created\n"
    return kubectl


def spec(kubectl: Kubectl) -> dict[str, Any]:
    found: dict[str, Any] = kubectl.json("get", "deployment", "web")["spec"]
    return found


def images(kubectl: Kubectl) -> list[str]:
    return [container["image"] for container in spec(kubectl)["template"]["spec"]["containers"]]


def test_create_from_a_file_with_several_objects_and_refusing_the_second_time(kubectl: Kubectl) -> None:
    path = kubectl.file("both.yaml", f"{CONFIG}---\n{DEPLOYMENT}")
    assert kubectl("create", "-f", path) == "configmap/settings created\ndeployment.apps/web created\n"
    said = kubectl.fails("create", "-f", path)
    assert 'Error from server (AlreadyExists): error when creating "' in said
    assert 'configmaps "settings" already exists' in said
    assert 'deployments.apps "web" already exists' in said


def test_create_refuses_unknown_fields_and_dry_run_writes_nothing(kubectl: Kubectl) -> None:
    wrong = kubectl.file("wrong.yaml", CONFIG + "datum: {a: b}\n")
    assert 'unknown field "datum"' in kubectl.fails("create", "-f", wrong)
    right = kubectl.file("right.yaml", CONFIG)
    assert kubectl("create", "--dry-run=server", "-f", right) == "configmap/settings created (server dry run)\n"
    assert 'configmaps "settings" not found' in kubectl.fails("get", "configmap", "settings")


def test_create_names_what_is_wrong_with_a_value(kubectl: Kubectl) -> None:
    path = kubectl.file("web.yaml", DEPLOYMENT.replace("replicas: 2", "replicas: -2"))
    said = kubectl.fails("create", "-f", path)
    assert 'The Deployment "web" is invalid: spec.replicas: Invalid value: -2: must be greater than' in said


def test_create_from_standard_input_generates_names(kubectl: Kubectl) -> None:
    text = CONFIG.replace("name: settings", "generateName: made-")
    name = kubectl("create", "-f", "-", "-o", "name", given=text).strip()
    assert name.startswith("configmap/made-")
    assert kubectl("get", name, "-o", "jsonpath={.data.a}") == "1"


def test_apply_creates_then_changes_nothing_then_merges_lists_by_their_keys(web: Kubectl) -> None:
    version = web("get", "deployment", "web", "-o", "jsonpath={.metadata.resourceVersion}")
    path = web.file("web.yaml", DEPLOYMENT)
    assert web("apply", "-f", path) == "deployment.apps/web unchanged\n"
    assert web("get", "deployment", "web", "-o", "jsonpath={.metadata.resourceVersion}") == version
    web("set", "env", "deployment/web", "MODE=fast", "-c", "side")
    web.file("web.yaml", DEPLOYMENT.replace("nginx:1", "nginx:2"))
    assert web("apply", "-f", path) == "deployment.apps/web configured\n"
    first, side = spec(web)["template"]["spec"]["containers"]
    assert first["image"] == "nginx:2"
    assert side["env"] == [{"name": "MODE", "value": "fast"}], "what another command set stays"


def test_apply_removes_what_is_no_longer_said(web: Kubectl) -> None:
    path = web.file("web.yaml", DEPLOYMENT.replace('      - {name: side, image: "side:1"}\n', ""))
    web("apply", "-f", path)
    assert images(web) == ["nginx:1"]
    applied = web("apply", "view-last-applied", "deployment/web", "-o", "json")
    assert [one["name"] for one in json.loads(applied)["spec"]["template"]["spec"]["containers"]] == ["c"]


def test_server_side_apply_names_the_owner_it_conflicts_with_and_force_takes_over(kubectl: Kubectl) -> None:
    path = kubectl.file("settings.yaml", CONFIG)
    assert kubectl("apply", "--server-side", "-f", path) == "configmap/settings serverside-applied\n"
    kubectl.file("settings.yaml", CONFIG.replace("'1'", "'9'"))
    said = kubectl.fails("apply", "--server-side", "--field-manager=other", "-f", path)
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .data.a' in said
    kubectl("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", path)
    assert kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.a}") == "9"
    owners = kubectl.json("get", "configmap", "settings", "--show-managed-fields")["metadata"]["managedFields"]
    assert {one["manager"]: one["operation"] for one in owners} == {"kubectl": "Apply", "other": "Apply"}


def test_server_side_apply_takes_over_what_client_side_apply_owned(web: Kubectl) -> None:
    path = web.file("web.yaml", DEPLOYMENT.replace('      - {name: side, image: "side:1"}\n', ""))
    web("apply", "--server-side", "-f", path)
    assert images(web) == ["nginx:1"], "fields that client-side apply owned are given up with it"


def test_apply_prune_deletes_what_is_labelled_and_no_longer_in_the_files(kubectl: Kubectl) -> None:
    both = "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{set: one}}}}\n" for name in "ab"
    )
    kubectl("apply", "-f", kubectl.file("both.yaml", both))
    one = kubectl.file("one.yaml", both.split("---")[1])
    allow = "--prune-allowlist=core/v1/ConfigMap"
    assert "configmap/b pruned" in kubectl("apply", "--prune", "-l", "set=one", allow, "-f", one)
    assert kubectl("get", "configmaps", "-l", "set=one", "-o", "name") == "configmap/a\n"


def test_apply_of_a_kustomization_makes_names_and_labels(kubectl: Kubectl) -> None:
    (kubectl.home / "kustomized").mkdir(exist_ok=True)
    kubectl.file("kustomized/settings.yaml", CONFIG)
    kubectl.file(
        "kustomized/kustomization.yaml",
        """
        namePrefix: blue-
        resources: [settings.yaml]
        configMapGenerator:
        - {name: made, literals: [x=y]}
        """,
    )
    lines = kubectl("apply", "-k", str(kubectl.home / "kustomized")).splitlines()
    assert lines[0].startswith("configmap/blue-made-")
    assert lines[1] == "configmap/blue-settings created"


def test_replace_puts_the_whole_object_and_force_recreates_it(web: Kubectl) -> None:
    uid = web("get", "deployment", "web", "-o", "jsonpath={.metadata.uid}")
    path = web.file("web.yaml", DEPLOYMENT.replace("replicas: 2", "replicas: 7"))
    assert web("replace", "-f", path) == "deployment.apps/web replaced\n"
    assert spec(web)["replicas"] == 7
    assert web("get", "deployment", "web", "-o", "jsonpath={.metadata.uid}") == uid
    assert "deployment.apps/web replaced" in web("replace", "--force", "-f", path)
    assert web("get", "deployment", "web", "-o", "jsonpath={.metadata.uid}") != uid
    assert "not found" in web.fails("replace", "-f", web.file("no.yaml", CONFIG))


def editor(kubectl: Kubectl, script: str) -> dict[str, str]:
    path = Path(kubectl.file("editor.sh", f"#!/bin/sh\n{script}\n"))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"KUBE_EDITOR": str(path)}


def test_edit_sends_what_the_editor_changed_and_nothing_when_it_changed_nothing(web: Kubectl) -> None:
    change = editor(web, "sed -i 's/replicas: 2/replicas: 4/' \"$1\"")
    assert web("edit", "deployment/web", **change) == "deployment.apps/web edited\n"
    assert spec(web)["replicas"] == 4
    nothing = web.run("edit", "deployment/web", **editor(web, "true"))
    assert "Edit cancelled, no changes made." in nothing.out + nothing.err


def test_edit_shows_the_servers_complaint_and_writes_nothing(web: Kubectl) -> None:
    change = 'cp "$1" shown; sed -i \'s/replicas: 2/replicas: -4/\' "$1"'
    ran = web.run("edit", "deployment/web", **editor(web, change))
    assert ran.code != 0
    assert 'deployments.apps "web" is invalid' in ran.err
    shown = (web.home / "shown").read_text()
    assert '# deployments.apps "web" was not valid:\n# * spec.replicas: Invalid value: -4: must be greater' in shown
    assert spec(web)["replicas"] == 2


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:2"}]}}}}),
        ("json", [{"op": "replace", "path": "/spec/template/spec/containers/1/image", "value": "side:2"}]),
    ],
)
def test_patch_changes_one_container_and_keeps_the_other(web: Kubectl, kind: str, patch: Any) -> None:
    said = web("patch", "deployment", "web", f"--type={kind}", "-p", json.dumps(patch))
    assert said == "deployment.apps/web patched\n"
    assert images(web) == ["nginx:1", "side:2"]
    again = web("patch", "deployment", "web", f"--type={kind}", "-p", json.dumps(patch))
    assert again == "deployment.apps/web patched (no change)\n"


def test_a_merge_patch_replaces_lists_and_removes_with_null(web: Kubectl) -> None:
    containers = {"containers": [{"name": "only", "image": "only:1"}]}
    patch = {"metadata": {"labels": None}, "spec": {"template": {"spec": containers}}}
    web("patch", "deployment", "web", "--type=merge", "-p", json.dumps(patch))
    assert images(web) == ["only:1"]
    assert "labels" not in web.json("get", "deployment", "web")["metadata"]


def test_a_patch_of_status_leaves_spec_and_generation_alone(web: Kubectl) -> None:
    patch = {"spec": {"replicas": 9}, "status": {"replicas": 2}}
    web("patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", json.dumps(patch))
    found = web.json("get", "deployment", "web")
    assert (found["spec"]["replicas"], found["status"]["replicas"], found["metadata"]["generation"]) == (2, 2, 1)


def test_a_json_patch_whose_test_fails_is_refused(web: Kubectl) -> None:
    patch = [{"op": "test", "path": "/spec/replicas", "value": 3}, {"op": "remove", "path": "/spec/replicas"}]
    said = web.fails("patch", "deployment", "web", "--type=json", "-p", json.dumps(patch))
    assert "testing value /spec/replicas failed" in said or "the server rejected our request" in said
    assert spec(web)["replicas"] == 2


def test_label_and_annotate_add_overwrite_and_remove(web: Kubectl) -> None:
    assert web("label", "deployment/web", "tier=front") == "deployment.apps/web labeled\n"
    assert "--overwrite is false" in web.fails("label", "deployment/web", "tier=back")
    web("label", "deployment/web", "tier=back", "--overwrite")
    assert web("get", "deployments", "-l", "tier=back", "-o", "name") == "deployment.apps/web\n"
    assert web("label", "deployment/web", "tier-") == "deployment.apps/web unlabeled\n"
    assert web("annotate", "deployment/web", "note=hello there") == "deployment.apps/web annotated\n"
    assert web("get", "deployment/web", "-o", "jsonpath={.metadata.annotations.note}") == "hello there"


def test_scale_changes_replicas_and_honours_what_is_expected_of_them(web: Kubectl) -> None:
    assert web("scale", "deployment", "web", "--replicas=5") == "deployment.apps/web scaled\n"
    assert spec(web)["replicas"] == 5
    said = web.fails("scale", "deployment", "web", "--replicas=6", "--current-replicas=2")
    assert "Expected replicas to be 2, was 5" in said


def test_set_image_env_and_resources_change_the_template(web: Kubectl) -> None:
    assert web("set", "image", "deployment/web", "c=nginx:3") == "deployment.apps/web image updated\n"
    assert images(web) == ["nginx:3", "side:1"]
    assert web("set", "env", "deployment/web", "A=1", "B=2") == "deployment.apps/web env updated\n"
    assert "A=1" in web("set", "env", "deployment/web", "--list").splitlines()
    web("set", "resources", "deployment/web", "-c", "c", "--limits=cpu=200m,memory=64Mi")
    limits = spec(web)["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"cpu": "200m", "memory": "64Mi"}
    web("set", "serviceaccount", "deployment/web", "robot")
    assert spec(web)["template"]["spec"]["serviceAccountName"] == "robot"


@pytest.mark.parametrize("side", ["client", "server"])
def test_diff_shows_what_apply_would_change_and_changes_nothing(kubectl: Kubectl, side: str) -> None:
    how = [f"--server-side={str(side == 'server').lower()}"]
    path = kubectl.file("web.yaml", DEPLOYMENT)
    kubectl("apply", *how, "-f", path)
    assert kubectl("diff", *how, "-f", path) == ""
    kubectl.file("web.yaml", DEPLOYMENT.replace("nginx:1", "nginx:2"))
    ran = kubectl.run("diff", *how, "-f", path)
    assert ran.code == 1, ran.err
    assert "-      - image: nginx:1" in ran.out
    assert "+      - image: nginx:2" in ran.out
    assert images(kubectl) == ["nginx:1", "side:1"]

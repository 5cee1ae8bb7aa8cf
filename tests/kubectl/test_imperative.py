"""The imperative family: create KIND, run, expose, autoscale. Each sends protobuf or JSON as kubectl pleases."""

import base64
import json
from pathlib import Path

import pytest

from attractor.httpd.auth.certificates import ensure_certificates
from tests.kubectl.tool import Kubectl

pytestmark = pytest.mark.slow


def field(kubectl: Kubectl, what: str, path: str) -> str:
    return kubectl("get", what, "-o", f"jsonpath={{{path}}}")


def test_create_configmap_from_literals_files_and_directories(kubectl: Kubectl) -> None:
    directory = kubectl.home / "settings"
    directory.mkdir(exist_ok=True)
    kubectl.file("settings/one.conf", "x = 1\n")
    (directory / "two.bin").write_bytes(b"\xff\xfe\x00")
    options = ["--from-literal=a=b", f"--from-file={directory}"]
    assert kubectl("create", "configmap", "cm", *options) == "configmap/cm created\n"
    found = kubectl.json("get", "configmap", "cm")
    assert found["data"] == {"a": "b", "one.conf": "x = 1\n"}
    assert base64.b64decode(found["binaryData"]["two.bin"]) == b"\xff\xfe\x00"
    assert 'configmaps "cm" already exists' in kubectl.fails("create", "configmap", "cm")


def test_create_secret_generic_tls_and_docker_registry(kubectl: Kubectl, tmp_path: Path) -> None:
    assert kubectl("create", "secret", "generic", "g", "--from-literal=p=q") == "secret/g created\n"
    assert base64.b64decode(field(kubectl, "secret/g", ".data.p")) == b"q"
    files = ensure_certificates(tmp_path, ["localhost"])
    kubectl("create", "secret", "tls", "t", f"--cert={files.cert}", f"--key={files.key}")
    tls = kubectl.json("get", "secret", "t")
    assert tls["type"] == "kubernetes.io/tls"
    assert base64.b64decode(tls["data"]["tls.crt"]) == files.cert.read_bytes()
    account = ["--docker-server=r.example", "--docker-username=u", "--docker-password=p"]
    kubectl("create", "secret", "docker-registry", "d", *account)
    registry = kubectl.json("get", "secret", "d")
    assert registry["type"] == "kubernetes.io/dockerconfigjson"
    auths = json.loads(base64.b64decode(registry["data"][".dockerconfigjson"]))["auths"]
    assert auths["r.example"]["username"] == "u"
    assert [row[:3] for row in kubectl.rows("get", "secrets", "--no-headers")] == [
        ["d", "kubernetes.io/dockerconfigjson", "1"],
        ["g", "Opaque", "1"],
        ["t", "kubernetes.io/tls", "2"],
    ]


def test_create_namespace_and_serviceaccount(kubectl: Kubectl) -> None:
    name = f"{kubectl.namespace}-more"
    assert kubectl("create", "namespace", name) == f"namespace/{name} created\n"
    assert field(kubectl, f"namespace/{name}", ".status.phase") == "Active"
    assert kubectl("create", "serviceaccount", "robot") == "serviceaccount/robot created\n"
    assert kubectl("get", "serviceaccount", "robot", "-o", "name") == "serviceaccount/robot\n"


def test_create_deployment_with_defaults_filled_in(kubectl: Kubectl) -> None:
    options = ["--image=nginx", "--image=side:2", "--replicas=3", "--port=80"]
    assert kubectl("create", "deployment", "d", *options) == "deployment.apps/d created\n"
    assert kubectl.rows("get", "deployment", "d", "-o", "wide")[1][1:4] == ["0/3", "0", "0"]
    found = kubectl.json("get", "deployment", "d")
    assert found["spec"]["strategy"]["type"] == "RollingUpdate"
    first, second = found["spec"]["template"]["spec"]["containers"]
    assert (first["imagePullPolicy"], second["imagePullPolicy"]) == ("Always", "IfNotPresent")
    assert first["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert found["metadata"]["generation"] == 1


def test_create_job_cronjob_and_a_job_from_a_cronjob(kubectl: Kubectl) -> None:
    assert kubectl("create", "job", "j", "--image=busybox", "--", "sleep", "1") == "job.batch/j created\n"
    job = kubectl.json("get", "job", "j")
    assert job["spec"]["template"]["spec"]["containers"][0]["command"] == ["sleep", "1"]
    assert job["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"] == job["metadata"]["uid"]
    schedule = "*/5 * * * *"
    kubectl("create", "cronjob", "c", "--image=busybox", f"--schedule={schedule}", "--", "date")
    assert field(kubectl, "cronjob/c", ".spec.schedule") == schedule
    assert kubectl("create", "job", "now", "--from=cronjob/c") == "job.batch/now created\n"
    assert field(kubectl, "job/now", ".metadata.ownerReferences[0].name") == "c"
    assert "Invalid value" in kubectl.fails("create", "cronjob", "bad", "--image=i", "--schedule=soon")


def test_create_role_rolebinding_clusterrole_and_clusterrolebinding(kubectl: Kubectl) -> None:
    name = kubectl.namespace
    group = "rbac.authorization.k8s.io"
    said = kubectl("create", "role", "r", "--verb=get,list", "--resource=pods,deployments.apps")
    assert said == f"role.{group}/r created\n"
    assert kubectl.json("get", "role", "r")["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]},
    ]
    kubectl("create", "rolebinding", "rb", "--role=r", f"--serviceaccount={name}:robot", "--user=jane")
    subjects = kubectl.json("get", "rolebinding", "rb")["subjects"]
    assert [(one["kind"], one["name"]) for one in subjects] == [("User", "jane"), ("ServiceAccount", "robot")]
    kubectl("create", "clusterrole", name, "--verb=get", "--non-resource-url=/logs")
    assert kubectl.json("get", "clusterrole", name)["rules"] == [{"nonResourceURLs": ["/logs"], "verbs": ["get"]}]
    kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", "--group=ops")
    assert kubectl.rows("get", "clusterrolebinding", name, "-o", "wide")[1][1] == f"ClusterRole/{name}"


def test_create_quota_pdb_and_priorityclass(kubectl: Kubectl) -> None:
    assert kubectl("create", "quota", "q", "--hard=pods=3,cpu=1500m") == "resourcequota/q created\n"
    assert kubectl.json("get", "quota", "q")["spec"]["hard"] == {"cpu": "1500m", "pods": "3"}
    kubectl("create", "poddisruptionbudget", "p", "--selector=app=web", "--min-available=50%")
    assert kubectl.rows("get", "pdb", "p")[1][:3] == ["p", "50%", "N/A"]
    name = kubectl.namespace
    said = kubectl("create", "priorityclass", name, "--value=10", "--description=some")
    assert said == f"priorityclass.scheduling.k8s.io/{name} created\n"
    assert kubectl.rows("get", "priorityclass", name)[1][:3] == [name, "10", "false"]


def test_create_services_of_every_type(kubectl: Kubectl) -> None:
    kubectl("create", "service", "clusterip", "inside", "--tcp=80:8080")
    kubectl("create", "service", "clusterip", "headless", "--tcp=80", "--clusterip=None")
    kubectl("create", "service", "nodeport", "node", "--tcp=80")
    kubectl("create", "service", "loadbalancer", "load", "--tcp=443:8443")
    kubectl("create", "service", "externalname", "far", "--external-name=far.example")
    rows = {row[0]: row[1:5] for row in kubectl.rows("get", "services", "--no-headers")}
    assert rows["inside"][0] == "ClusterIP"
    assert rows["inside"][1].startswith("10.")
    assert rows["inside"][3] == "80/TCP"
    assert rows["headless"][1] == "None"
    assert rows["node"][3].startswith("80:3")
    assert rows["load"][2] == "<pending>"
    assert rows["far"][:3] == ["ExternalName", "<none>", "far.example"]


def test_create_ingress_with_rules_and_tls(kubectl: Kubectl) -> None:
    kubectl("create", "ingress", "i", "--class=public", "--rule=a.example/shop*=s:80,tls=cert")
    found = kubectl.json("get", "ingress", "i")["spec"]
    assert found["tls"] == [{"hosts": ["a.example"], "secretName": "cert"}]
    assert found["rules"][0]["http"]["paths"][0]["pathType"] == "Prefix"
    assert kubectl.rows("get", "ingress", "i")[1][:3] == ["i", "public", "a.example"]


def test_run_makes_a_pod_and_expose_a_service_for_it(kubectl: Kubectl) -> None:
    options = ["--image=nginx", "--port=80", "--env=A=1", "--labels=app=p"]
    assert kubectl("run", "p", *options) == "pod/p created\n"
    assert field(kubectl, "pod/p", ".status.phase") == "Pending"
    assert kubectl("expose", "pod", "p", "--name=front", "--target-port=8080") == "service/front exposed\n"
    service = kubectl.json("get", "service", "front")["spec"]
    assert service["selector"] == {"app": "p"}
    assert service["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 8080}]
    kubectl("create", "deployment", "d", "--image=i", "--port=90")
    assert kubectl("expose", "deployment", "d", "--type=NodePort") == "service/d exposed\n"


def test_autoscale_makes_an_autoscaler_for_a_deployment(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "d", "--image=i")
    said = kubectl("autoscale", "deployment", "d", "--min=2", "--max=4", "--cpu-percent=80")
    assert said == "horizontalpodautoscaler.autoscaling/d autoscaled\n"
    assert kubectl.rows("get", "hpa", "d")[1][-4:-1] == ["2", "4", "0"]


def test_dry_run_of_an_imperative_command_shows_what_would_be_written(kubectl: Kubectl) -> None:
    made = json.loads(kubectl("create", "deployment", "d", "--image=i", "--dry-run=server", "-o", "json"))
    assert made["spec"]["progressDeadlineSeconds"] == 600, "the server's defaults are in it"
    assert "not found" in kubectl.fails("get", "deployment", "d")

"""The real kubectl as the judge: what it sends is read, what it is sent is understood."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attractor.apiserver.request.bodies import PROTOBUF
from attractor.httpd.formats.protobuf import decode

from .definitions import definition
from .recording import Recorder, recorder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
    with recorder(tmp_path_factory.mktemp("home"), definition(columns=columns)) as running:
        yield running


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def sent_by(server: Recorder, *arguments: str) -> tuple[Any, Any]:
    """What kubectl sent, decoded, and what it would have sent as JSON."""
    dry = server.kubectl(*arguments, "--dry-run=client", "-o", "json")
    server.sent.clear()
    server.kubectl(*arguments)
    (request,) = server.sent
    assert (request.method, request.content_type) == ("POST", PROTOBUF)
    return without_nulls(decode(request.body, "Object")), without_nulls(json.loads(dry))


def test_created_config_map_is_read_as_kubectl_meant_it(server: Recorder) -> None:
    sent, meant = sent_by(server, "create", "configmap", "c", "--from-literal=a=1", "--from-literal=b=ü")
    assert sent == meant
    assert sent["data"] == {"a": "1", "b": "ü"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "namespace n",
        "serviceaccount s",
        "secret generic s --from-literal=password=p",
        "secret docker-registry r --docker-server=r.org --docker-username=u --docker-password=p",
        "deployment d --image=nginx --replicas=3 --port=80 -- sleep 5",
        "job j --image=busybox -- date",
        "cronjob c --image=busybox --schedule=0/5_*_*_*_? -- date",
        "role r --verb=get,list --resource=pods,deployments.apps --resource-name=x",
        "rolebinding b --role=r --user=u --group=g --serviceaccount=n:s",
        "clusterrole c --verb=get --non-resource-url=/logs/*",
        "clusterrole a --aggregation-rule=rbac.example.org/a=true",
        "clusterrolebinding b --clusterrole=c --user=u",
        "quota q --hard=cpu=1,memory=1500M,pods=2 --scopes=BestEffort",
        "poddisruptionbudget p --selector=app=x --min-available=50%",
        "priorityclass p --value=-5 --description=low --preemption-policy=Never",
        "service clusterip s --tcp=80:http --tcp=5678",
        "service nodeport s --tcp=80:8080 --node-port=30080",
        "service externalname s --external-name=a.org",
        "ingress i --rule=a.org/x*=s:80,tls=t --class=n --annotation=k=v",
    ],
)
def test_every_imperative_create_is_read_as_kubectl_meant_it(server: Recorder, command: str) -> None:
    words = [word.replace("_", " ") for word in command.split()]
    flags = words[words.index("--") :] if "--" in words else []
    words = words[: words.index("--")] if flags else words
    if flags:
        dry = server.kubectl("create", *words, "--dry-run=client", "-o", "json", *flags)
        server.sent.clear()
        server.kubectl("create", *words, *flags)
        (request,) = server.sent
        sent, meant = without_nulls(decode(request.body, "Object")), without_nulls(json.loads(dry))
    else:
        sent, meant = sent_by(server, "create", *words)
    meant["metadata"].setdefault("namespace", "default")
    sent["metadata"].setdefault("namespace", "default")
    assert sent == meant


def test_token_request_and_access_reviews_are_read(server: Recorder) -> None:
    server.sent.clear()
    server.kubectl("create", "token", "s", "--duration=10m", "--audience=a", code=1)  # no token in the answer
    server.kubectl("auth", "can-i", "get", "pods", "--subresource=log", code=1)
    server.kubectl("auth", "can-i", "get", "/healthz", code=1)
    server.kubectl("auth", "can-i", "--list")
    server.kubectl("auth", "whoami")
    read = [decode(one.body, "Object") for one in server.sent if one.content_type == PROTOBUF]
    by_kind = {one["kind"]: one for one in reversed(read)}
    assert by_kind["TokenRequest"]["spec"]["expirationSeconds"] == 600
    assert by_kind["TokenRequest"]["spec"]["audiences"] == ["a"]
    assert by_kind["SelfSubjectAccessReview"]["spec"] == {
        "resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods", "subresource": "log"}
    }
    assert by_kind["SelfSubjectRulesReview"]["spec"] == {"namespace": "default"}


def test_api_resources_lists_builtin_and_custom_kinds(server: Recorder) -> None:
    listed = server.kubectl("api-resources", "--no-headers").splitlines()
    rows = {(line.split()[0], line.split()[-3], line.split()[-1]) for line in listed}
    assert {("deployments", "apps/v1", "Deployment"), ("widgets", "example.org/v1", "Widget")} <= rows
    assert {("events", "v1", "Event"), ("events", "events.k8s.io/v1", "Event")} <= rows
    assert len(rows) == len(listed)


def test_explain_walks_builtin_and_custom_schemas(server: Recorder) -> None:
    assert "restartPolicy" in server.kubectl("explain", "deployment.spec.template.spec")
    assert "What the widget should be." in server.kubectl("explain", "widgets.spec")
    recursive = server.kubectl("explain", "widgets", "--recursive")
    assert "color" in recursive
    assert "metadata" in recursive


def test_get_prints_the_columns_of_a_custom_kind(server: Recorder) -> None:
    server.stored["/apis/example.org/v1/namespaces/default/widgets"] = {
        "kind": "WidgetList",
        "apiVersion": "example.org/v1",
        "metadata": {"resourceVersion": "5"},
        "items": [{"metadata": {"name": "w", "namespace": "default"}, "spec": {"size": 3}}],
    }
    assert [line.split() for line in server.kubectl("get", "widgets").splitlines()] == [["NAME", "SIZE"], ["w", "3"]]


def test_get_prints_wide_and_sorted_tables_of_builtin_kinds(server: Recorder) -> None:
    pods = [
        {
            "metadata": {"name": name, "namespace": "default", "creationTimestamp": "2026-01-01T00:55:00Z"},
            "spec": {"containers": [{"name": "c"}], "nodeName": node},
            "status": {"phase": "Running"},
        }
        for name, node in (("a", "n2"), ("b", "n1"))
    ]
    server.stored["/api/v1/namespaces/default/pods"] = {
        "kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": pods,
    }  # fmt: skip
    lines = [line.split() for line in server.kubectl("get", "pods", "-o", "wide").splitlines()]
    assert lines[0] == [
        "NAME",
        "READY",
        "STATUS",
        "RESTARTS",
        "AGE",
        "IP",
        "NODE",
        "NOMINATED",
        "NODE",
        "READINESS",
        "GATES",
    ]
    assert lines[1] == ["a", "0/1", "Running", "0", "5m", "<none>", "n2", "<none>", "<none>"]
    names = [line.split()[0] for line in server.kubectl("get", "pods", "--sort-by=.spec.nodeName").splitlines()]
    assert names == ["NAME", "b", "a"]


def test_create_from_file_validates_against_the_published_schema_and_asks_for_strictness(
    server: Recorder, tmp_path: Path
) -> None:
    manifest = tmp_path / "w.yaml"
    manifest.write_text("apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w2}\nspec: {size: 1}\n")
    server.sent.clear()
    assert server.kubectl("create", "-f", str(manifest)) == "widget.example.org/w2 created\n"
    assert json.loads(server.sent[0].body)["spec"] == {"size": 1}


def test_client_side_apply_of_a_builtin_kind_merges_lists_by_their_published_keys(
    server: Recorder, tmp_path: Path
) -> None:
    def pod(image: str, **metadata: Any) -> dict[str, Any]:
        spec = {"containers": [{"name": "a", "image": image}]}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default", **metadata},
            "spec": spec,
        }

    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(pod("i:1"))}
    server.stored["/api/v1/namespaces/default/pods/p"] = pod("i:1", resourceVersion="5", annotations=applied)
    manifest = tmp_path / "p.json"
    manifest.write_text(json.dumps(pod("i:2")))
    server.sent.clear()
    server.kubectl("apply", "-f", str(manifest))
    (request,) = server.sent
    assert (request.method, request.content_type) == ("PATCH", "application/strategic-merge-patch+json")
    patch = json.loads(request.body)
    assert patch["spec"] == {
        "$setElementOrder/containers": [{"name": "a"}],
        "containers": [{"image": "i:2", "name": "a"}],
    }

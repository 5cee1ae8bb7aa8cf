"""get in all its shapes, watch, describe, events."""

import json

import pytest
import yaml

from tests.kubectl.tool import Kubectl

pytestmark = pytest.mark.slow

PODS = """
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {app: one, tier: front}}
spec: {nodeName: n2, containers: [{name: c, image: "i:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, labels: {app: two, tier: front}}
spec: {nodeName: n1, containers: [{name: c, image: "i:2"}, {name: d, image: "i:3"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: c, labels: {app: two}}
spec: {containers: [{name: c, image: "i:4"}]}
"""
EVENT = """
apiVersion: v1
kind: Event
metadata: {name: a.1}
involvedObject: {apiVersion: v1, kind: Pod, name: a, namespace: NAMESPACE, uid: UID}
reason: Pulled
message: got the image
type: Warning
count: 3
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:05:00Z"
source: {component: kubelet, host: n2}
"""


@pytest.fixture
def pods(kubectl: Kubectl) -> Kubectl:
    kubectl("create", "-f", kubectl.file("pods.yaml", PODS))
    status = {"status": {"phase": "Running", "podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}]}}
    kubectl("patch", "pod", "a", "--subresource=status", "--type=merge", "-p", json.dumps(status))
    return kubectl


def names(kubectl: Kubectl, *arguments: str) -> list[str]:
    return [line.removeprefix("pod/") for line in kubectl("get", "pods", "-o", "name", *arguments).split()]


def test_get_prints_the_columns_that_people_know(pods: Kubectl) -> None:
    rows = pods.rows("get", "pods")
    assert rows[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [row[:4] for row in rows[1:]] == [
        ["a", "0/1", "Running", "0"],
        ["b", "0/2", "Pending", "0"],
        ["c", "0/1", "Pending", "0"],
    ]
    wide = pods.rows("get", "pods", "-o", "wide")
    assert wide[0][5:7] == ["IP", "NODE"]
    assert wide[1][5:7] == ["10.0.0.7", "n2"]
    assert pods.rows("get", "pods", "--no-headers", "--show-labels", "-L", "tier")[0][-2:] == [
        "front",
        "app=one,tier=front",
    ]


def test_get_prints_yaml_json_and_names(pods: Kubectl) -> None:
    listed = yaml.safe_load(pods("get", "pods", "-o", "yaml"))
    assert (listed["kind"], len(listed["items"])) == ("List", 3)
    one = pods.json("get", "pod/b")
    assert [container["image"] for container in one["spec"]["containers"]] == ["i:2", "i:3"]
    assert "managedFields" not in one["metadata"]
    assert pods("get", "pods", "a", "c", "-o", "name") == "pod/a\npod/c\n"
    assert pods("get", "pod", "b", "-o", "jsonpath={.spec.containers[*].image}") == "i:2 i:3"
    assert pods("get", "pod", "b", "-o", "go-template={{.metadata.name}}") == "b"


def test_get_sorts_and_prints_own_columns(pods: Kubectl) -> None:
    assert names(pods, "--sort-by=.metadata.creationTimestamp") == ["a", "b", "c"]
    by_image = pods.rows("get", "pods", "--sort-by={.spec.nodeName}", "--field-selector=spec.nodeName!=")
    assert [row[0] for row in by_image] == ["NAME", "b", "a"]
    columns = "custom-columns=POD:.metadata.name,IMAGES:.spec.containers[*].image,NODE:.spec.nodeName"
    assert pods.rows("get", "pods", "-o", columns) == [
        ["POD", "IMAGES", "NODE"],
        ["a", "i:1", "n2"],
        ["b", "i:2,i:3", "n1"],
        ["c", "i:4", "<none>"],
    ]


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("-l=app=two", ["b", "c"]),
        ("-l=app in (one, three)", ["a"]),
        ("-l=app=two,!tier", ["c"]),
        ("-l=tier notin (back),app!=one", ["b", "c"]),
        ("--field-selector=metadata.name=b", ["b"]),
        ("--field-selector=spec.nodeName=n2,status.phase=Running", ["a"]),
        ("--field-selector=status.phase!=Running", ["b", "c"]),
    ],
)
def test_get_selects_by_labels_and_fields(pods: Kubectl, selector: str, found: list[str]) -> None:
    assert names(pods, selector) == found


def test_a_field_that_cannot_be_selected_is_named(pods: Kubectl) -> None:
    said = pods.fails("get", "pods", "--field-selector=spec.color=red")
    assert "field label not supported: spec.color" in said


def test_get_of_all_namespaces_names_them_and_chunks_are_joined(pods: Kubectl) -> None:
    rows = pods.rows("get", "pods", "-A", "-l", "app=one")
    assert rows[0][:2] == ["NAMESPACE", "NAME"]
    assert [pods.namespace, "a"] in [row[:2] for row in rows]
    assert len(pods.rows("get", "pods", "--chunk-size=1")) == 4


def test_get_of_several_kinds_and_of_a_category(pods: Kubectl) -> None:
    pods("create", "service", "clusterip", "s", "--tcp=80")
    assert pods("get", "pods,services", "-o", "name").split() == ["pod/a", "pod/b", "pod/c", "service/s"]
    everything = pods("get", "all")
    assert "pod/a" in everything
    assert "service/s   ClusterIP   10." in everything


def test_get_of_what_is_not_there_says_so(kubectl: Kubectl) -> None:
    assert kubectl.fails("get", "pod", "zz") == 'Error from server (NotFound): pods "zz" not found\n'
    assert kubectl.run("get", "pods").err == f"No resources found in {kubectl.namespace} namespace.\n"


def test_get_watch_prints_a_row_for_each_change(pods: Kubectl) -> None:
    with pods.running("get", "pods", "-w", "-l", "app=one") as watch:
        assert watch.line().split()[0] == "NAME"
        assert watch.line().split()[:3] == ["a", "0/1", "Running"]
        pods("patch", "pod", "a", "--subresource=status", "--type=merge", "-p", '{"status": {"phase": "Succeeded"}}')
        assert watch.line().split()[:3] == ["a", "0/1", "Succeeded"]
        pods("delete", "pod", "a", "--now", "--wait=false")
        assert watch.line().split()[0] == "a"


def test_get_watch_only_with_event_types_starts_with_what_comes(pods: Kubectl) -> None:
    with pods.running("get", "pods", "-w", "--output-watch-events", "--field-selector=metadata.name=c") as watch:
        assert watch.line().split()[:2] == ["EVENT", "NAME"]
        assert watch.line().split()[:2] == ["ADDED", "c"]
        pods("label", "pod", "c", "x=y")
        assert watch.line().split()[:2] == ["MODIFIED", "c"]


def test_describe_shows_the_object_and_its_events(pods: Kubectl) -> None:
    uid = pods("get", "pod", "a", "-o", "jsonpath={.metadata.uid}")
    text = EVENT.replace("NAMESPACE", pods.namespace).replace("UID", uid)
    pods("create", "-f", pods.file("event.yaml", text))
    shown = pods("describe", "pod", "a")
    assert "Status:           Running" in shown
    assert "IP:               10.0.0.7" in shown
    assert "Image:        i:1" in shown
    assert shown.split("Events:")[1].split()[-4:] == ["kubelet", "got", "the", "image"]
    assert pods("describe", "pods", "-l", "app=two").count("Namespace:  ") == 2


def test_events_are_listed_and_narrowed_to_an_object(pods: Kubectl) -> None:
    uid = pods("get", "pod", "a", "-o", "jsonpath={.metadata.uid}")
    pods("create", "-f", pods.file("event.yaml", EVENT.replace("NAMESPACE", pods.namespace).replace("UID", uid)))
    rows = pods.rows("events")
    assert rows[0] == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert rows[1][-6:] == ["Warning", "Pulled", "Pod/a", "got", "the", "image"]
    assert "got the image" in pods("events", "--for", "pod/a")
    assert "No events found" in pods.run("events", "--for", "pod/b").err
    assert "Warning" in pods("get", "events", "--field-selector=involvedObject.name=a,type=Warning")


def test_describe_knows_the_other_built_in_kinds(kubectl: Kubectl) -> None:
    kubectl("create", "service", "clusterip", "s", "--tcp=80:8080")
    assert ["TargetPort:", "8080/TCP"] in kubectl.rows("describe", "service", "s")
    kubectl("create", "quota", "q", "--hard=pods=3")
    assert ["Resource", "Used", "Hard"] in kubectl.rows("describe", "quota", "q")
    kubectl("create", "secret", "generic", "s", "--from-literal=password=hidden")
    shown = kubectl("describe", "secret", "s")
    assert "password:  6 bytes" in shown
    assert "hidden" not in shown
    kubectl("create", "ingress", "i", "--rule=a.example/x=s:80")
    assert "a.example" in kubectl("describe", "ingress", "i")
    assert "Status:       Active" in kubectl("describe", "namespace", kubectl.namespace)

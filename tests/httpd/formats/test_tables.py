"""Tables and metadata: columns, cells, rows, lists, watch events."""

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from attractor.httpd.formats.catalog import catalog_of
from attractor.httpd.formats.negotiate import Transform
from attractor.httpd.formats.tables import View, include_object, table, view
from attractor.httpd.formats.transform import TransformOptions, WatchTransform, transform
from attractor.objects.errors import BadRequest, NotAcceptable
from attractor.objects.gvk import GroupVersionKind
from attractor.objects.timestamps import parse_time

from .definitions import definition

NOW = parse_time("2026-01-01T01:00:00Z")
CREATED = "2026-01-01T00:55:00Z"
POD = GroupVersionKind("", "v1", "Pod")
WIDGET = GroupVersionKind("example.org", "v1", "Widget")
GOLDEN = json.loads((Path(__file__).parent / "golden_table.json").read_text())


def shown(group: str, version: str, kind: str) -> View:
    return view(catalog_of(()), GroupVersionKind(group, version, kind), "")


def cells(api: str, kind: str, *, all_columns: bool = False, **fields: Any) -> list[Any]:
    """What a default (or, with all columns, wide) ``kubectl get`` shows of an object."""
    group, _, version = api.rpartition("/")
    metadata = {"name": "x", "creationTimestamp": CREATED, **fields.pop("metadata", {})}
    made = table(shown(group, version, kind), {"metadata": metadata, **fields}, now=NOW)
    row = made["rows"][0]["cells"]
    columns = made["columnDefinitions"]
    assert kind == "IPAddress" or len(row) == len(columns)
    return [cell for cell, column in zip(row, columns, strict=False) if all_columns or not column["priority"]]


TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j"}]}}
SELECTOR = {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "t", "operator": "In", "values": ["2", "1"]}]}


@pytest.mark.parametrize(
    ("api", "kind", "fields", "expected"),
    [
        ("apps/v1", "Deployment", {"spec": {"replicas": 3}, "status": {"readyReplicas": 1, "updatedReplicas": 2}}, ["x", "1/3", 2, 0, "5m"]),
        ("apps/v1", "StatefulSet", {"spec": {"replicas": 2}, "status": {"readyReplicas": 2}}, ["x", "2/2", "5m"]),
        ("apps/v1", "ReplicaSet", {"spec": {"replicas": 2}, "status": {"replicas": 1}}, ["x", 2, 1, 0, "5m"]),
        ("v1", "ReplicationController", {"spec": {"replicas": 2}, "status": {"replicas": 1, "readyReplicas": 1}}, ["x", 2, 1, 1, "5m"]),
        ("apps/v1", "DaemonSet", {"spec": {"template": {"spec": {"nodeSelector": {"b": "2", "a": "1"}}}}, "status": {"numberReady": 4}}, ["x", 0, 0, 4, 0, 0, "a=1,b=2", "5m"]),
        ("batch/v1", "Job", {"spec": {"completions": 5}, "status": {"succeeded": 2, "startTime": "2026-01-01T00:58:00Z"}}, ["x", "Running", "2/5", "2m", "5m"]),
        ("batch/v1", "Job", {"spec": {"parallelism": 3}, "status": {"conditions": [{"type": "Complete", "status": "True"}], "startTime": CREATED, "completionTime": "2026-01-01T00:55:30Z"}}, ["x", "Complete", "0/1 of 3", "30s", "5m"]),
        ("batch/v1", "Job", {"spec": {}, "status": {"conditions": [{"type": "Suspended", "status": "True"}]}}, ["x", "Suspended", "0/1", "", "5m"]),
        ("batch/v1", "CronJob", {"spec": {"schedule": "* * * * *", "suspend": False}, "status": {"active": [{}], "lastScheduleTime": CREATED}}, ["x", "* * * * *", "<none>", "False", 1, "5m", "5m"]),
        ("v1", "Service", {"spec": {"type": "ClusterIP", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80, "protocol": "TCP"}]}}, ["x", "ClusterIP", "10.0.0.1", "<none>", "80/TCP", "5m"]),
        ("v1", "Service", {"spec": {"type": "LoadBalancer", "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30000}]}, "status": {"loadBalancer": {}}}, ["x", "LoadBalancer", "<none>", "<pending>", "80:30000/TCP", "5m"]),
        ("v1", "Service", {"spec": {"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]}, "status": {"loadBalancer": {"ingress": [{"hostname": "b"}, {"ip": "1.1.1.1"}]}}}, ["x", "LoadBalancer", "<none>", "1.1.1.1,b,9.9.9.9", "<none>", "5m"]),
        ("v1", "Service", {"spec": {"type": "ExternalName", "externalName": "a.org"}}, ["x", "ExternalName", "<none>", "a.org", "<none>", "5m"]),
        ("v1", "Endpoints", {}, ["x", "<none>", "5m"]),
        ("v1", "Endpoints", {"subsets": [{"addresses": [{"ip": "1.1.1.1"}, {"ip": "::1"}], "ports": [{"port": 1}, {"port": 2}]}]}, ["x", "1.1.1.1:1,[::1]:1,1.1.1.1:2 + 1 more...", "5m"]),
        ("discovery.k8s.io/v1", "EndpointSlice", {"addressType": "IPv4", "ports": [{"port": 80}, {"name": "p"}, {}], "endpoints": [{"addresses": ["1.1.1.1"]}]}, ["x", "IPv4", "80,p,*", "1.1.1.1", "5m"]),
        ("discovery.k8s.io/v1", "EndpointSlice", {"addressType": "IPv4"}, ["x", "IPv4", "<unset>", "<unset>", "5m"]),
        ("networking.k8s.io/v1", "Ingress", {"spec": {"tls": [{}], "rules": [{"host": h} for h in "abcd"]}}, ["x", "<none>", "a,b,c + 1 more...", "", "80, 443", "5m"]),
        ("networking.k8s.io/v1", "Ingress", {"spec": {"ingressClassName": "n", "rules": [{}]}, "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}}, ["x", "n", "*", "1.1.1.1", "80", "5m"]),
        ("networking.k8s.io/v1", "IngressClass", {"metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}, "spec": {"controller": "c", "parameters": {"kind": "K", "apiGroup": "g", "name": "n"}}}, ["x (default)", "c", "K.g/n", "5m"]),
        ("networking.k8s.io/v1", "NetworkPolicy", {"spec": {"podSelector": SELECTOR}}, ["x", "app=x,t in (1,2)", "5m"]),
        ("networking.k8s.io/v1", "NetworkPolicy", {"spec": {"podSelector": {}}}, ["x", "<none>", "5m"]),
        ("v1", "ConfigMap", {"data": {"a": "1"}, "binaryData": {"b": ""}}, ["x", 2, "5m"]),
        ("v1", "Secret", {"type": "Opaque", "data": {"a": ""}}, ["x", "Opaque", 1, "5m"]),
        ("v1", "ServiceAccount", {}, ["x", "5m"]),
        ("v1", "Namespace", {"status": {"phase": "Active"}}, ["x", "Active", "5m"]),
        ("v1", "Node", {"metadata": {"labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}}, "spec": {"unschedulable": True}, "status": {"conditions": [{"type": "Ready", "status": "False"}], "nodeInfo": {"kubeletVersion": "v1"}}}, ["x", "NotReady,SchedulingDisabled", "a,b", "5m", "v1"]),
        ("v1", "Event", {"type": "Normal", "reason": "R", "message": " hi \n", "involvedObject": {"kind": "Pod", "name": "p"}, "lastTimestamp": CREATED}, ["5m", "Normal", "R", "pod/p", "hi"]),
        ("events.k8s.io/v1", "Event", {"type": "Normal", "reason": "R", "note": "hi", "regarding": {"kind": "Pod", "name": "p"}, "eventTime": "2026-01-01T00:59:00.000000Z"}, ["60s", "Normal", "R", "pod/p", "hi"]),
        ("v1", "PersistentVolumeClaim", {"spec": {"resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}}, ["x", "Pending", "", "", "", "", "<unset>", "5m"]),
        ("v1", "PersistentVolumeClaim", {"spec": {"volumeName": "v", "storageClassName": "s"}, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]}}, ["x", "Bound", "v", "1Gi", "RWO,RWX", "s", "<unset>", "5m"]),
        ("v1", "PersistentVolume", {"spec": {"capacity": {"storage": "2Gi"}, "claimRef": {"namespace": "n", "name": "c"}, "persistentVolumeReclaimPolicy": "Retain"}, "status": {"phase": "Bound"}}, ["x", "2Gi", "", "Retain", "Bound", "n/c", "", "<unset>", "", "5m"]),
        ("storage.k8s.io/v1", "StorageClass", {"provisioner": "p", "reclaimPolicy": "Retain"}, ["x", "p", "Retain", "Immediate", False, "5m"]),
        ("policy/v1", "PodDisruptionBudget", {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 2}}, ["x", "50%", "N/A", 2, "5m"]),
        ("autoscaling/v2", "HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}}]}, "status": {"currentReplicas": 2, "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40}}}]}}, ["x", "Deployment/d", "cpu: 40%/80%", "1", 4, 2, "5m"]),
        ("autoscaling/v1", "HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 4, "targetCPUUtilizationPercentage": 80}}, ["x", "Deployment/d", "cpu: <unknown>/80%", "<unset>", 4, 0, "5m"]),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", {"roleRef": {"kind": "Role", "name": "r"}}, ["x", "Role/r", "5m"]),
        ("rbac.authorization.k8s.io/v1", "Role", {"rules": []}, ["x", CREATED]),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", {"spec": {}}, ["x", CREATED]),
        ("v1", "LimitRange", {}, ["x", CREATED]),
        ("coordination.k8s.io/v1", "Lease", {"spec": {"holderIdentity": "me"}}, ["x", "me", "5m"]),
        ("scheduling.k8s.io/v1", "PriorityClass", {"value": 7, "preemptionPolicy": "Never"}, ["x", 7, False, "5m", "Never"]),
        ("apps/v1", "ControllerRevision", {"revision": 3, "metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": True}]}}, ["x", "statefulset.apps/s", 3, "5m"]),
        ("v1", "ResourceQuota", {"status": {"hard": {"pods": "5", "limits.cpu": "2"}, "used": {"pods": "1"}}}, ["x", "pods: 1/5", "limits.cpu: 0/2", "5m"]),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", {"webhooks": [{}, {}]}, ["x", 2, "5m"]),
        ("certificates.k8s.io/v1", "CertificateSigningRequest", {"spec": {"signerName": "s", "username": "u", "expirationSeconds": 3600}, "status": {"conditions": [{"type": "Approved"}], "certificate": "eA=="}}, ["x", "5m", "s", "u", "60m", "Approved,Issued"]),
        ("apiregistration.k8s.io/v1", "APIService", {"spec": {"service": {"namespace": "n", "name": "s"}}, "status": {"conditions": [{"type": "Available", "status": "False", "reason": "R"}]}}, ["x", "n/s", "False (R)", "5m"]),
        ("resource.k8s.io/v1", "ResourceClaim", {"status": {"allocation": {}, "reservedFor": [{}]}}, ["x", "allocated,reserved", "5m"]),
    ],
)  # fmt: skip
def test_builtin_kind_shows_what_kubectl_shows(
    api: str, kind: str, fields: dict[str, Any], expected: list[Any]
) -> None:
    assert cells(api, kind, **fields) == expected


@pytest.mark.parametrize(
    ("api", "kind", "fields", "expected"),
    [
        ("apps/v1", "Deployment", {"spec": {"template": TEMPLATE, "selector": SELECTOR}}, ["a,b", "i:1,j", "app=x,t in (1,2)"]),
        ("v1", "Pod", {"spec": {"nodeName": "n"}, "status": {"podIPs": [{"ip": "1.2.3.4"}]}}, ["1.2.3.4", "n", "<none>", "<none>"]),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", {"subjects": [{"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}, {"kind": "ServiceAccount", "namespace": "n", "name": "s"}]}, ["u", "g", "n/s"]),
        ("v1", "Node", {"status": {"nodeInfo": {"kernelVersion": "6", "architecture": "amd64"}}}, ["<none>", "<none>", "<unknown>", "6 (amd64)", "<unknown>"]),
        ("v1", "Service", {"spec": {"selector": {"a": "b"}}}, ["a=b"]),
    ],
)  # fmt: skip
def test_wide_columns_have_their_cells(api: str, kind: str, fields: dict[str, Any], expected: list[Any]) -> None:
    assert cells(api, kind, all_columns=True, **fields)[-len(expected) :] == expected


def pod(status: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": metadata,
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}]},
        "status": status,
    }


RUNNING = {"ready": True, "restartCount": 0, "state": {"running": {}}}


@pytest.mark.parametrize(
    ("obj", "ready", "status", "restarts"),
    [
        (pod({"phase": "Pending"}), "0/2", "Pending", "0"),
        (pod({"phase": "Running", "containerStatuses": [RUNNING, RUNNING]}), "2/2", "Running", "0"),
        (pod({"phase": "Failed", "reason": "Evicted"}), "0/2", "Evicted", "0"),
        (pod({"phase": "Running", "containerStatuses": [RUNNING]}, deletionTimestamp=CREATED), "1/2", "Terminating", "0"),
        (pod({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"running": {}}}]}), "0/2", "Init:0/1", "0"),
        (pod({"phase": "Pending", "initContainerStatuses": [{"name": "i", "restartCount": 2, "state": {"terminated": {"exitCode": 3}}}]}), "0/2", "Init:ExitCode:3", "2"),
        (pod({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}), "0/2", "Init:ImagePullBackOff", "0"),
        (pod({"phase": "Running", "containerStatuses": [RUNNING, {"restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"finishedAt": CREATED}}}]}), "1/2", "CrashLoopBackOff", "3 (5m ago)"),
        (pod({"phase": "Running", "containerStatuses": [RUNNING, {"state": {"terminated": {"reason": "Completed", "exitCode": 0}}}]}), "1/2", "NotReady", "0"),
        (pod({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [RUNNING, {"state": {"terminated": {"reason": "Completed"}}}]}), "1/2", "Running", "0"),
        (pod({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"signal": 9, "exitCode": 137}}}]}), "0/2", "Signal:9", "0"),
        (pod({"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}), "0/2", "SchedulingGated", "0"),
    ],
)  # fmt: skip
def test_pod_is_summed_up_in_one_word(obj: dict[str, Any], ready: str, status: str, restarts: str) -> None:
    assert cells("v1", "Pod", **obj)[1:4] == [ready, status, restarts]


def test_finished_pod_says_so_in_its_row() -> None:
    made = table(shown("", "v1", "Pod"), {"metadata": {"name": "p"}, "status": {"phase": "Succeeded"}}, now=NOW)
    assert made["rows"][0]["conditions"] == [
        {"type": "Completed", "status": "True", "reason": "Succeeded", "message": "The pod has completed successfully."}
    ]


def test_every_builtin_kind_can_be_shown_even_when_empty() -> None:
    for group, versions in catalog_of(()).groups.items():
        for version, infos in versions.items():
            for info in infos:
                made = table(shown(group, version, info.kind), {"metadata": {"name": "x"}}, now=NOW)
                assert "x" in made["rows"][0]["cells"]
                assert all(column["description"] or column["name"] == "Handler" for column in made["columnDefinitions"])


COLUMNS: list[dict[str, Any]] = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status', "priority": 1},
    {"name": "Map", "type": "string", "jsonPath": ".spec.map", "description": "A map."},
    {"name": "Ratio", "type": "number", "jsonPath": ".spec.ratio"},
    {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
    {"name": "When", "type": "date", "jsonPath": ".spec.when"},
    {"name": "Wrong", "type": "integer", "jsonPath": ".spec.map"},
]


def test_custom_columns_are_filled_by_their_paths_and_types() -> None:
    custom = view(catalog_of((definition(columns=COLUMNS),)), WIDGET, "widgets")
    spec = {"size": 3.0, "map": {"b": 1, "a": [True]}, "ratio": 2, "on": False, "when": CREATED}
    obj = {"metadata": {"name": "w"}, "spec": spec, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    made = table(custom, obj, now=NOW)
    assert made["rows"][0]["cells"] == ["w", 3, "True", '{"a":[true],"b":1}', 2, False, "5m", None]
    assert [column["name"] for column in made["columnDefinitions"]] == ["Name", *(str(c["name"]) for c in COLUMNS)]
    assert made["columnDefinitions"][1]["description"] == (
        "Custom resource definition column (in JSONPath format): .spec.size"
    )
    assert made["columnDefinitions"][2]["priority"] == 1
    empty = table(custom, {"metadata": {"name": "w"}, "spec": {"when": "soon"}}, now=NOW)
    assert empty["rows"][0]["cells"] == ["w", None, None, None, None, None, "<invalid>", None]


def test_custom_kind_without_columns_shows_its_age() -> None:
    custom = view(catalog_of((definition(),)), WIDGET, "widgets")
    made = table(custom, {"metadata": {"name": "w", "creationTimestamp": CREATED}}, now=NOW)
    assert made["rows"][0]["cells"] == ["w", "5m"]


def test_list_of_custom_resources_reads_as_the_real_server_wrote_it() -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    custom = view(catalog_of((definition(columns=columns),)), WIDGET, "widgets")
    items = [{"metadata": row["object"]["metadata"], "spec": {"size": row["cells"][1]}} for row in GOLDEN["rows"]]
    made = table(custom, {"kind": "WidgetList", "metadata": GOLDEN["metadata"], "items": items}, now=NOW)
    made["columnDefinitions"] = [
        {name: value for name, value in column.items() if name != "description"} for column in made["columnDefinitions"]
    ]
    for row in made["rows"]:
        row["cells"][2] = "<age>"
    assert made == GOLDEN


@pytest.mark.parametrize(
    ("include", "expected"),
    [
        ("None", None),
        ("Metadata", {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1beta1", "metadata": {"name": "p"}}),
        ("Object", {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {}}),
    ],
)
def test_row_carries_as_much_of_its_object_as_asked(include: Any, expected: Any) -> None:
    made = table(
        shown("", "v1", "Pod"), {"metadata": {"name": "p"}, "spec": {}}, now=NOW, include=include, version="v1beta1"
    )
    assert made["apiVersion"] == "meta.k8s.io/v1beta1"
    assert made["rows"][0]["object"] == expected


def test_unknown_include_object_is_refused_in_kubernetes_words() -> None:
    assert include_object({}) == "Metadata"
    assert include_object({"includeObject": [""]}) == "Metadata"
    with pytest.raises(BadRequest) as refused:
        include_object({"includeObject": ["All"]})
    assert str(refused.value) == (
        "Unable to convert to Table as requested: includeObject: Invalid value: \"All\": must be 'Metadata', 'Object', 'None', or empty"
    )


LIST = {
    "kind": "PodList",
    "apiVersion": "v1",
    "metadata": {"resourceVersion": "7", "continue": "c", "remainingItemCount": 2},
    "items": [{"metadata": {"name": "a"}, "spec": {}}, {"metadata": {"name": "b"}, "spec": {}}],
}


def test_list_metadata_passes_through_to_table_and_metadata_list() -> None:
    kinds: list[Any] = ["Table", "PartialObjectMetadataList"]
    for kind in kinds:
        options = TransformOptions(Transform(kind, "v1"), NOW)
        made = transform(shown("", "v1", "Pod"), LIST, options)
        assert (made["kind"], made["metadata"]) == (kind, LIST["metadata"])
        assert len(made.get("rows") or made["items"]) == 2


def test_metadata_list_tells_nothing_but_metadata() -> None:
    made = transform(shown("", "v1", "Pod"), LIST, TransformOptions(Transform("PartialObjectMetadataList", "v1"), NOW))
    assert made["items"][0] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "a"},
    }


@pytest.mark.parametrize(
    ("target", "obj", "message"),
    [
        ("PartialObjectMetadata", LIST, "you requested PartialObjectMetadata, but the requested object is a list (*core.PodList)"),
        ("PartialObjectMetadataList", {"kind": "Pod", "metadata": {}}, "you requested PartialObjectMetadataList, but the requested object is not a list (*core.Pod)"),
    ],
)  # fmt: skip
def test_metadata_of_the_wrong_shape_is_refused(target: Any, obj: dict[str, Any], message: str) -> None:
    with pytest.raises(NotAcceptable) as refused:
        transform(shown("", "v1", "Pod"), obj, TransformOptions(Transform(target, "v1"), NOW))
    assert str(refused.value) == message


def test_status_is_never_transformed() -> None:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Success"}
    assert transform(shown("", "v1", "Pod"), status, TransformOptions(Transform("Table", "v1"), NOW)) is status


def test_only_the_first_watch_event_names_the_columns() -> None:
    watch = WatchTransform(shown("", "v1", "Pod"), Transform("Table", "v1"))
    first = watch.event("ADDED", {"kind": "Pod", "metadata": {"name": "a", "resourceVersion": "3"}}, NOW)
    second = watch.event("MODIFIED", {"kind": "Pod", "metadata": {"name": "a", "resourceVersion": "4"}}, NOW)
    assert first["columnDefinitions"][0]["name"] == "Name"
    assert second["columnDefinitions"] is None
    assert (second["metadata"], len(second["rows"])) == ({"resourceVersion": "4"}, 1)


def test_watch_error_stays_a_status_and_the_end_of_initial_events_keeps_its_annotation() -> None:
    watch = WatchTransform(shown("", "v1", "Pod"), Transform("Table", "v1"), "None")
    status = {"kind": "Status", "apiVersion": "v1", "code": 410}
    assert watch.event("ERROR", status, NOW) is status
    mark = {"kind": "Pod", "metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}}
    row = watch.event("BOOKMARK", mark, NOW)["rows"][0]
    assert row["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


VECTORS = ZipFile(Path(__file__).parent / "published_protobuf.zip")


@pytest.mark.parametrize("name", sorted(name for name in VECTORS.namelist() if name.endswith(".json")))
def test_object_with_every_field_set_fills_every_column_with_its_type(name: str) -> None:
    obj = json.loads(VECTORS.read(name))
    gvk = GroupVersionKind.of(obj["apiVersion"], obj["kind"])
    made = table(view(catalog_of(()), gvk, ""), obj, now=NOW)
    cells = made["rows"][0]["cells"]
    wanted: dict[str, type | tuple[type, ...]] = {
        "integer": int,
        "boolean": (bool, str),
        "string": (str, int, bool),
        "date": str,
    }
    for column, cell in zip(made["columnDefinitions"], cells, strict=gvk.kind != "IPAddress"):
        assert isinstance(cell, wanted[column["type"]]), column["name"]

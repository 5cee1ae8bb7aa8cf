"""The official Python client, unmodified: typed, custom objects, dynamic, watch, informer."""

import json
import queue
from typing import Any

import pytest
from kubernetes import client, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.informer import SharedInformer

from tests.clients.conftest import GROUP, LEAKY, PLURAL, VERSION

pytestmark = [pytest.mark.slow, *LEAKY]
PATIENCE_S = 30


def config_map(name: str, **data: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"set": "one"}), data=data)


def deployment(name: str, replicas: int = 1) -> client.V1Deployment:
    container = client.V1Container(name="c", image="i:1", resources=client.V1ResourceRequirements(limits={"cpu": "1"}))
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"app": name}), spec=client.V1PodSpec(containers=[container])
    )
    return client.V1Deployment(
        metadata=client.V1ObjectMeta(name=name),
        spec=client.V1DeploymentSpec(
            replicas=replicas, selector=client.V1LabelSelector(match_labels={"app": name}), template=template
        ),
    )


def test_typed_objects_live_a_whole_life(official: client.ApiClient, namespace: str) -> None:
    apps = client.AppsV1Api(official)
    made = apps.create_namespaced_deployment(namespace, deployment("web", 2))
    assert made.spec.strategy.rolling_update.max_surge == "25%"
    assert made.metadata.creation_timestamp.tzinfo is not None
    made.spec.replicas = 3
    assert apps.replace_namespaced_deployment("web", namespace, made).metadata.generation == 2
    with pytest.raises(ApiException) as stale:
        apps.replace_namespaced_deployment("web", namespace, made)
    assert (stale.value.status, "the object has been modified" in stale.value.body) == (409, True)
    containers = [{"name": "side", "image": "s"}]
    patched = apps.patch_namespaced_deployment(
        "web", namespace, {"spec": {"template": {"spec": {"containers": containers}}}}
    )
    assert sorted(one.name for one in patched.spec.template.spec.containers) == ["c", "side"]
    scaled = apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 5}})
    assert (scaled.spec.replicas, scaled.status.selector) == (5, "app=web")
    counts = {"replicas": 1, "readyReplicas": 1}
    status = apps.patch_namespaced_deployment_status("web", namespace, {"status": counts})
    assert status.status.ready_replicas == 1
    gone = apps.delete_namespaced_deployment("web", namespace, propagation_policy="Background")
    assert (gone["status"] if isinstance(gone, dict) else gone.status) == "Success"  # version 37 answers a dict
    with pytest.raises(ApiException) as absent:
        apps.read_namespaced_deployment("web", namespace)
    assert (absent.value.status, absent.value.reason) == (404, "Not Found")


def test_lists_come_in_pages_of_one_snapshot_and_are_selected(official: client.ApiClient, namespace: str) -> None:
    core = client.CoreV1Api(official)
    for number in range(7):
        core.create_namespaced_config_map(namespace, config_map(f"c{number}", n=str(number)))
    first = core.list_namespaced_config_map(namespace, limit=3, label_selector="set=one")
    core.create_namespaced_config_map(namespace, config_map("c7"))
    names, token = [one.metadata.name for one in first.items], first.metadata._continue
    assert first.metadata.remaining_item_count in {None, 4}
    while token:
        page = core.list_namespaced_config_map(namespace, limit=3, label_selector="set=one", _continue=token)
        names += [one.metadata.name for one in page.items]
        token = page.metadata._continue
    assert names == [f"c{number}" for number in range(7)], "what came later is not in it"
    chosen = core.list_namespaced_config_map(namespace, field_selector="metadata.name=c2").items
    assert [one.data for one in chosen] == [{"n": "2"}]
    core.delete_collection_namespaced_config_map(namespace, label_selector="set=one")
    assert core.list_namespaced_config_map(namespace, label_selector="set=one").items == []


def test_invalid_objects_are_refused_with_causes(official: client.ApiClient, namespace: str) -> None:
    with pytest.raises(ApiException) as refused:
        client.AppsV1Api(official).create_namespaced_deployment(namespace, deployment("web", -1))
    status = json.loads(refused.value.body)
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "spec.replicas"


def test_a_watch_streams_changes_and_resumes_where_it_ended(official: client.ApiClient, namespace: str) -> None:
    core = client.CoreV1Api(official)
    core.create_namespaced_config_map(namespace, config_map("a"))
    since = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("b"))
    core.patch_namespaced_config_map("a", namespace, {"data": {"x": "1"}})
    core.delete_namespaced_config_map("b", namespace)
    stream = watch.Watch()
    options = {"resource_version": since, "label_selector": "set=one", "timeout_seconds": 20}
    seen = []
    for event in stream.stream(core.list_namespaced_config_map, namespace, **options):
        assert isinstance(event["object"], client.V1ConfigMap)
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 3:
            stream.stop()
    assert seen == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


def test_a_watch_of_a_forgotten_version_is_told_410(official: client.ApiClient, namespace: str) -> None:
    core = client.CoreV1Api(official)
    with pytest.raises(ApiException) as expired:
        list(watch.Watch().stream(core.list_namespaced_config_map, namespace, resource_version="1", timeout_seconds=5))
    assert expired.value.status == 410


def test_an_informer_keeps_a_cache_and_calls_handlers(official: client.ApiClient, namespace: str) -> None:
    core = client.CoreV1Api(official)
    core.create_namespaced_config_map(namespace, config_map("before"))
    calls: queue.Queue[tuple[str, str]] = queue.Queue()
    informer = SharedInformer(core.list_namespaced_config_map, namespace=namespace, label_selector="set=one")
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(kind, lambda obj, kind=kind: calls.put((kind, obj.metadata.name)))
    informer.start()
    try:
        assert calls.get(timeout=PATIENCE_S) == ("ADDED", "before")
        core.create_namespaced_config_map(namespace, config_map("after"))
        assert calls.get(timeout=PATIENCE_S) == ("ADDED", "after")
        core.patch_namespaced_config_map("after", namespace, {"data": {"x": "1"}})
        assert calls.get(timeout=PATIENCE_S) == ("MODIFIED", "after")
        core.delete_namespaced_config_map("before", namespace)
        assert calls.get(timeout=PATIENCE_S) == ("DELETED", "before")
        assert informer.cache.list_keys() == [f"{namespace}/after"]
    finally:
        informer.stop()


def test_custom_objects_are_plain_dictionaries(official: client.ApiClient, namespace: str) -> None:
    custom = client.CustomObjectsApi(official)
    where: dict[str, Any] = {"group": GROUP, "version": VERSION, "namespace": namespace, "plural": PLURAL}
    body = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 1}}
    made = custom.create_namespaced_custom_object(body=body, **where)
    assert made["spec"] == {"size": 1, "colour": "blue"}
    patched = custom.patch_namespaced_custom_object(name="g", body={"spec": {"size": 2}}, **where)
    assert (patched["spec"]["size"], patched["metadata"]["generation"]) == (2, 2)
    status = custom.patch_namespaced_custom_object_status(name="g", body={"status": {"seen": True}}, **where)
    assert (status["status"], status["metadata"]["generation"]) == ({"seen": True}, 2)
    scale = custom.get_namespaced_custom_object_scale(name="g", **where)
    assert scale["spec"] == {"replicas": 2}
    assert len(custom.list_namespaced_custom_object(**where)["items"]) == 1
    custom.delete_namespaced_custom_object(name="g", **where)
    assert custom.list_namespaced_custom_object(**where)["items"] == []


def test_the_dynamic_client_discovers_applies_and_watches(official: client.ApiClient, namespace: str) -> None:
    dynamic = DynamicClient(official)
    gadgets = dynamic.resources.get(api_version=f"{GROUP}/{VERSION}", kind="Gadget")
    body = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 1}}
    applied = gadgets.server_side_apply(body=body, namespace=namespace, name="g", field_manager="me")
    assert applied.metadata.managedFields[0].manager == "me"
    body["spec"] = {"size": 2}
    with pytest.raises(ApiException) as conflict:
        gadgets.server_side_apply(body=body, namespace=namespace, name="g", field_manager="you")
    assert conflict.value.status == 409
    forced = gadgets.server_side_apply(
        body=body, namespace=namespace, name="g", field_manager="you", force_conflicts=True
    )
    assert forced.spec.size == 2
    first = next(gadgets.watch(namespace=namespace, timeout=10))
    assert (first["type"], first["object"].metadata.name) == ("ADDED", "g")
    gadgets.delete(name="g", namespace=namespace)
    assert gadgets.get(namespace=namespace).items == []


def test_files_are_created_and_reviews_answered(official: client.ApiClient, namespace: str) -> None:
    objects = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}},
    ]  # fmt: skip
    for one in objects:
        utils.create_from_dict(official, one, namespace=namespace)
    assert client.BatchV1Api(official).read_namespaced_job("j", namespace).spec.backoff_limit == 6
    attributes = client.V1ResourceAttributes(verb="create", resource="pods", namespace=namespace)
    review = client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes))
    answered = client.AuthorizationV1Api(official).create_self_subject_access_review(review)
    assert answered.status.allowed is True
    assert client.VersionApi(official).get_code().major == "1"
    groups = {group.name for group in client.ApisApi(official).get_api_versions().groups}
    assert {"apps", "batch", GROUP} <= groups

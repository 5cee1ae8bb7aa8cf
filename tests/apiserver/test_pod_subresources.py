"""What can be done to a pod beside writing it: bind, evict, read its log, debug and resize it."""

from base64 import b64encode
from typing import Any

import pytest

from tests.apiserver.conftest import CONFIGMAPS, Answer, Api

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


async def pod(api: Api, name: str = "p", *, phase: str = "Running", ready: bool = True, **content: Any) -> None:
    spec = content.pop("spec", {"containers": [{"name": "main", "image": "i"}]})
    await api.create(PODS, name, spec=spec, metadata={"labels": {"app": "web"}, **content.pop("metadata", {})})
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status = {"status": {"phase": phase, "conditions": conditions}}
    assert (await api.merge(f"{PODS}/{name}/status", status)).code == 200


async def evict(api: Api, name: str = "p", query: str = "", **content: Any) -> Answer:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **content}
    return await api("POST", f"{PODS}/{name}/eviction{query}", body)


async def budget(api: Api, name: str = "b", *, spec: dict[str, Any] | None = None, **status: Any) -> None:
    given = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}, **(spec or {})}
    await api.create(BUDGETS, name, spec=given)
    counts = {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1}
    counts |= {"expectedPods": 1, **status}
    answer = await api.merge(f"{BUDGETS}/{name}/status", {"status": counts})
    assert answer.code == 200, answer.body


async def test_a_binding_assigns_a_pod_to_a_node_once(api: Api) -> None:
    await api.create(PODS, "p", spec={"containers": [{"name": "main", "image": "i"}]})
    binding = {"metadata": {"name": "p", "annotations": {"by": "scheduler"}}, "target": {"kind": "Node", "name": "n"}}
    bound = await api("POST", f"{PODS}/p/binding", binding)
    assert (bound.code, bound.body["status"]) == (201, "Success")
    found = (await api.get(f"{PODS}/p")).body
    assert found["spec"]["nodeName"] == "n"
    assert found["metadata"]["annotations"] == {"by": "scheduler"}
    assert [item["type"] for item in found["status"]["conditions"]] == ["PodScheduled"]
    again = await api("POST", f"{PODS}/p/binding", binding)
    assert (again.code, again.body["reason"]) == (409, "Conflict")
    assert again.body["message"] == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n"'
    )


async def test_bindings_do_the_same_for_the_pod_that_they_name(api: Api) -> None:
    await api.create(PODS, "p", spec={"containers": [{"name": "main", "image": "i"}]})
    where = "/api/v1/namespaces/default/bindings"
    assert (await api("POST", where, {"metadata": {"name": "p"}, "target": {"name": "n"}})).code == 201
    assert (await api.get(f"{PODS}/p")).body["spec"]["nodeName"] == "n"
    missing = await api("POST", where, {"metadata": {"name": "q"}, "target": {"name": "n"}})
    assert (missing.code, missing.body["message"]) == (404, 'pods "q" not found')


@pytest.mark.parametrize("target", [{}, {"kind": "Pod", "name": "n"}])
async def test_a_binding_names_a_node(api: Api, target: dict[str, Any]) -> None:
    await pod(api)
    answer = await api("POST", f"{PODS}/p/binding", {"target": target})
    assert (answer.code, "target." in answer.body["message"]) == (500, True)


async def test_a_pod_without_a_budget_is_evicted_at_once(api: Api) -> None:
    await pod(api)
    answer = await evict(api)
    assert (answer.code, answer.body["status"]) == (201, "Success")
    assert (await api.get(f"{PODS}/p")).code == 404
    assert (await evict(api)).code == 404


async def test_a_spent_budget_refuses_with_429(api: Api) -> None:
    await pod(api)
    await budget(api, currentHealthy=2, desiredHealthy=2)
    answer = await evict(api)
    assert (answer.code, answer.body["reason"]) == (429, "TooManyRequests")
    assert answer.body["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert answer.body["details"]["causes"] == [
        {"reason": "DisruptionBudget", "message": "The disruption budget b needs 2 healthy pods and has 2 currently"}
    ]
    assert (await api.get(f"{PODS}/p")).code == 200


async def test_an_eviction_takes_one_from_the_budget(api: Api) -> None:
    for name in ("p", "q"):
        await pod(api, name)
    await budget(api, disruptionsAllowed=1)
    assert (await evict(api, "p", "?dryRun=All")).code == 201
    assert (await evict(api, "p")).code == 201
    status = (await api.get(f"{BUDGETS}/b")).body["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["p"])
    assert (await evict(api, "q")).code == 429


async def test_a_budget_that_nobody_has_looked_at_yet_asks_to_wait(api: Api) -> None:
    await pod(api)
    await budget(api, observedGeneration=0, disruptionsAllowed=5)
    answer = await evict(api)
    assert (answer.code, answer.body["details"]["retryAfterSeconds"]) == (429, 10)
    assert "still being processed" in answer.body["details"]["causes"][0]["message"]


async def test_two_budgets_for_one_pod_are_not_supported(api: Api) -> None:
    await pod(api)
    await budget(api, "a", disruptionsAllowed=1)
    await budget(api, "b", disruptionsAllowed=1)
    answer = await evict(api)
    assert answer.code == 500
    assert "more than one PodDisruptionBudget" in answer.body["message"]


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
async def test_a_pod_that_serves_nobody_needs_no_budget(api: Api, phase: str) -> None:
    await pod(api, phase=phase)
    await budget(api)
    assert (await evict(api)).code == 201


@pytest.mark.parametrize(
    ("policy", "healthy", "code"),
    [("IfHealthyBudget", 1, 201), ("IfHealthyBudget", 0, 429), ("AlwaysAllow", 0, 201)],
)
async def test_a_pod_that_is_not_ready_goes_by_its_own_policy(api: Api, policy: str, healthy: int, code: int) -> None:
    await pod(api, ready=False)
    await budget(api, spec={"unhealthyPodEvictionPolicy": policy}, currentHealthy=healthy, desiredHealthy=1)
    assert (await evict(api)).code == code


async def test_preconditions_of_an_eviction_are_kept(api: Api) -> None:
    await pod(api)
    answer = await evict(api, deleteOptions={"preconditions": {"uid": "another"}})
    assert answer.code == 409
    assert (await api.get(f"{PODS}/p")).code == 200


async def test_an_ephemeral_container_is_added_and_nothing_else_changes(api: Api) -> None:
    await pod(api)
    debugger = {"name": "debug", "image": "busybox"}
    patch = {"spec": {"ephemeralContainers": [debugger], "nodeName": "x"}, "metadata": {"labels": {"app": "other"}}}
    changed = await api.merge(f"{PODS}/p/ephemeralcontainers", patch)
    assert changed.code == 200, changed.body
    found = (await api.get(f"{PODS}/p")).body
    assert [one["name"] for one in found["spec"]["ephemeralContainers"]] == ["debug"]
    assert (found["metadata"]["labels"], found["spec"].get("nodeName")) == ({"app": "web"}, None)
    gone = await api.merge(f"{PODS}/p/ephemeralcontainers", {"spec": {"ephemeralContainers": []}})
    assert (gone.code, "may not be removed" in gone.body["message"]) == (422, True)


async def test_a_resize_changes_what_containers_ask_for(api: Api) -> None:
    asked = [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "50m"}}}]
    await api.create(PODS, "p", spec={"containers": asked})
    resources = {"requests": {"cpu": "100m"}}
    containers = [{"name": "main", "image": "other", "resources": resources}]
    assert (await api.merge(f"{PODS}/p/resize", {"spec": {"containers": containers}})).code == 200
    (main,) = (await api.get(f"{PODS}/p")).body["spec"]["containers"]
    assert (main["image"], main["resources"]) == ("i", resources)


async def test_nothing_can_be_executed_where_nothing_runs(api: Api) -> None:
    await pod(api)
    answer = await api("POST", f"{PODS}/p/exec?command=ls")
    assert (answer.code, answer.body["message"]) == (400, "pod p does not have a host assigned")


async def test_where_kubernetes_would_call_a_kubelet_it_is_said_that_there_is_none(api: Api) -> None:
    await api.create("/api/v1/nodes", "n")
    await api.merge(
        "/api/v1/nodes/n/status", {"status": {"addresses": [{"type": "InternalIP", "address": "10.9.9.9"}]}}
    )
    await api.create(PODS, "p", spec={"nodeName": "n", "containers": [{"name": "main", "image": "i"}]})
    answer = await api("POST", f"{PODS}/p/exec?command=ls")
    assert answer.code == 400
    assert answer.body["message"] == "pods/exec is not served: no kubelet runs the pods of this cluster"


async def test_a_certificate_request_is_approved_once_and_through_its_subresource_only(api: Api) -> None:
    requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    spec = {
        "request": b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\n").decode(),
        "signerName": "example.org/signer",
        "usages": ["client auth"],
    }
    await api.create(requests, "r", spec=spec)
    approved = {"type": "Approved", "status": "True", "reason": "Because", "message": "fine"}
    metadata = {"annotations": {"patched": "yes"}}
    status = {"conditions": [approved], "certificate": "eA=="}
    answer = await api.merge(f"{requests}/r/approval", {"metadata": metadata, "spec": {"usages": []}, "status": status})
    assert answer.code == 200, answer.body
    assert answer.metadata["annotations"] == {"patched": "yes"}
    assert answer.body["spec"]["usages"] == ["client auth"]
    status = (await api.get(f"{requests}/r")).body["status"]
    assert ([item["type"] for item in status["conditions"]], "certificate" in status) == (["Approved"], False)
    assert (await api.merge(f"{requests}/r/approval", {"status": {"conditions": []}})).code == 422


async def test_config_maps_have_no_such_subresources(api: Api) -> None:
    await api.create(CONFIGMAPS, "c")
    assert (await api.get(f"{CONFIGMAPS}/c/log")).code == 404

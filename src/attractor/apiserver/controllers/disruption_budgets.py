"""PodDisruptionBudgets as a planner: how many pods are healthy, and how many may be evicted now.

As Kubernetes counts: a pod is healthy when it is ready, not being deleted, and not about to be because of an eviction
just granted. Percentages and ``maxUnavailable`` count from the replicas that the pods' controllers want; pods without a
controller do not count there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.request.operation import status_update
from attractor.objects.gvk import GroupVersionResource
from attractor.objects.int_or_string import scaled_value
from attractor.objects.labels import LabelSelector
from attractor.objects.timestamps import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.request.operation import Operation
    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Snapshot

BUDGETS = "policy/poddisruptionbudgets/"
RESOURCE = GroupVersionResource("policy", "v1", "poddisruptionbudgets")
MANAGER = "disruption-controller"
EVICTION_S = 120
"""How long an eviction that was granted counts as one although its pod is still there."""

_CONTROLLERS = {
    "ReplicaSet": "apps/replicasets/",
    "StatefulSet": "apps/statefulsets/",
    "Deployment": "apps/deployments/",
    "ReplicationController": "core/replicationcontrollers/",
}


def plan_budgets(snapshot: Snapshot, now: str) -> Iterator[Operation]:
    """Bring the status of every budget up to date."""
    for entry in snapshot.range(BUDGETS):
        budget: JsonObject = orjson.loads(entry.value)
        status = _status(budget, snapshot, now)
        if status == (budget.get("status") or {}):
            continue
        yield status_update(RESOURCE, budget, entry.revision, status, MANAGER)


def _status(budget: JsonObject, snapshot: Snapshot, now: str) -> JsonObject:
    metadata, spec, before = budget["metadata"], budget.get("spec") or {}, budget.get("status") or {}
    pods = _pods(snapshot, metadata["namespace"], spec.get("selector"))
    granted = _granted(before.get("disruptedPods") or {}, pods, now)
    healthy = sum(_is_healthy(pod) and pod["metadata"]["name"] not in granted for pod in pods)
    expected, desired = _wanted(spec, pods, snapshot)
    allowed = max(0, healthy - desired) if expected > 0 else 0
    status: JsonObject = {
        **before,
        "observedGeneration": metadata.get("generation") or 0,
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "conditions": _conditions(before.get("conditions") or [], metadata, now, is_allowed=allowed > 0),
    }
    status.pop("disruptedPods", None)
    return {**status, "disruptedPods": granted} if granted else status


def _pods(snapshot: Snapshot, namespace: str, selector: JsonObject | None) -> list[JsonObject]:
    matching = LabelSelector.of_object(selector)
    if matching is None:
        return []
    pods = (orjson.loads(entry.value) for entry in snapshot.range(f"core/pods/{namespace}/"))
    return [pod for pod in pods if matching.matches(pod["metadata"].get("labels") or {})]


def _granted(disrupted: JsonObject, pods: list[JsonObject], now: str) -> dict[str, str]:
    """The evictions that were granted and whose pods are still to be deleted."""
    staying = {pod["metadata"]["name"] for pod in pods if not pod["metadata"].get("deletionTimestamp")}
    oldest = parse_time(now).seconds - EVICTION_S
    return {name: at for name, at in disrupted.items() if name in staying and parse_time(at).seconds > oldest}


def _is_healthy(pod: JsonObject) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def _wanted(spec: JsonObject, pods: list[JsonObject], snapshot: Snapshot) -> tuple[int, int]:
    """How many pods there should be, and how many of them have to be healthy."""
    least, most_missing = spec.get("minAvailable"), spec.get("maxUnavailable")
    if most_missing is not None:
        expected = _replicas(pods, snapshot)
        return expected, max(0, expected - scaled_value(most_missing, expected, round_up=True))
    if isinstance(least, str):
        expected = _replicas(pods, snapshot)
        return expected, scaled_value(least, expected, round_up=True)
    return len(pods), int(least or 0)


def _replicas(pods: list[JsonObject], snapshot: Snapshot) -> int:
    """The replicas that the pods' controllers want, each counted once."""
    wanted: dict[str, int] = {}
    for pod in pods:
        owner = _controller(pod, snapshot)
        if owner is not None:
            wanted[owner["metadata"]["uid"]] = (owner.get("spec") or {}).get("replicas") or 0
    return sum(wanted.values())


def _controller(obj: JsonObject, snapshot: Snapshot) -> JsonObject | None:
    """The controller of an object, and that one's controller if it has one: a Deployment for its ReplicaSet's pods."""
    owner = next((ref for ref in obj["metadata"].get("ownerReferences") or () if ref.get("controller")), None)
    prefix = _CONTROLLERS.get(owner["kind"]) if owner else None
    if owner is None or prefix is None:
        return None
    entry = snapshot.get(f"{prefix}{obj['metadata']['namespace']}/{owner['name']}")
    found: Any = orjson.loads(entry.value) if entry else None
    if found is None or found["metadata"]["uid"] != owner["uid"]:
        return None
    return _controller(found, snapshot) or found


def _conditions(before: list[Any], metadata: JsonObject, now: str, *, is_allowed: bool) -> list[Any]:
    kind, state = "DisruptionAllowed", "True" if is_allowed else "False"
    old: JsonObject = next((item for item in before if item["type"] == kind), {})
    condition = {
        "type": kind,
        "status": state,
        "observedGeneration": metadata.get("generation") or 0,
        "lastTransitionTime": old.get("lastTransitionTime", now) if old.get("status") == state else now,
        "reason": "SufficientPods" if is_allowed else "InsufficientPods",
        "message": "",
    }
    return [*(item for item in before if item["type"] != kind), condition]

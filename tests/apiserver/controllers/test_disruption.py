"""PodDisruptionBudgets: who counts what, and what an eviction may take."""

from typing import Any

import pytest

from attractor.apiserver.controllers.disruption_budgets import plan_budgets
from tests.apiserver.conftest import Api

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
WEB = {"matchLabels": {"app": "web"}}


async def counted(api: Api) -> tuple[int, int, int, int]:
    """Let the planner count; answers expected, desired, healthy and allowed. Counting again changes nothing."""
    for op in list(plan_budgets(api.server.store.snapshot_nowait(), api.source.now())):
        await api.server.perform(op)
    assert list(plan_budgets(api.server.store.snapshot_nowait(), api.source.now())) == []
    status = (await api.get(f"{BUDGETS}/b")).body["status"]
    return status["expectedPods"], status["desiredHealthy"], status["currentHealthy"], status["disruptionsAllowed"]


async def pods(api: Api, count: int, owner: dict[str, Any] | None = None, *, ready: bool = True) -> None:
    for number in range(count):
        metadata: dict[str, Any] = {"labels": {"app": "web"}}
        if owner:
            metadata["ownerReferences"] = [owner]
        await api.create(PODS, f"p{number}", metadata=metadata, spec={"containers": [{"name": "c", "image": "i"}]})
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        await api.merge(f"{PODS}/p{number}/status", {"status": {"phase": "Running", "conditions": conditions}})


async def replica_set(api: Api, replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": WEB, "template": template}
    made = await api.create(SETS, "s", spec=spec)
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "s", "uid": made.metadata["uid"], "controller": True}


async def evict(api: Api, name: str) -> int:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return (await api("POST", f"{PODS}/{name}/eviction", body)).code


async def test_a_number_of_available_pods_counts_from_those_there_are(api: Api) -> None:
    await pods(api, 3)
    await api.create(BUDGETS, "b", spec={"minAvailable": 2, "selector": WEB})
    assert await counted(api) == (3, 2, 3, 1)
    condition = (await api.get(f"{BUDGETS}/b")).body["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "True",
        "SufficientPods",
    )


@pytest.mark.parametrize(
    ("spec", "numbers"),
    [
        ({"maxUnavailable": 1}, (4, 3, 3, 0)),
        ({"maxUnavailable": 2}, (4, 2, 3, 1)),
        ({"maxUnavailable": "26%"}, (4, 2, 3, 1)),
        ({"minAvailable": "50%"}, (4, 2, 3, 1)),
        ({"minAvailable": "51%"}, (4, 3, 3, 0)),
    ],
)
async def test_shares_count_from_what_the_controller_wants_not_from_what_is_there(
    api: Api, spec: dict[str, Any], numbers: tuple[int, int, int, int]
) -> None:
    await pods(api, 3, await replica_set(api, 4))
    await api.create(BUDGETS, "b", spec={**spec, "selector": WEB})
    assert await counted(api) == numbers


async def test_pods_without_a_controller_allow_no_share_to_go(api: Api) -> None:
    await pods(api, 3)
    await api.create(BUDGETS, "b", spec={"maxUnavailable": 2, "selector": WEB})
    assert (await counted(api))[-1] == 0


async def test_pods_that_are_not_ready_are_not_healthy(api: Api) -> None:
    await pods(api, 2, ready=False)
    await api.create(BUDGETS, "b", spec={"minAvailable": 1, "selector": WEB})
    assert await counted(api) == (2, 1, 0, 0)


async def test_evictions_stop_where_the_budget_ends_and_go_on_when_pods_return(api: Api) -> None:
    await pods(api, 3)
    await api.create(BUDGETS, "b", spec={"minAvailable": 2, "selector": WEB})
    assert await evict(api, "p0") == 429
    await counted(api)
    assert await evict(api, "p0") == 201
    assert await evict(api, "p1") == 429
    assert await counted(api) == (2, 2, 2, 0)
    assert await evict(api, "p1") == 429


async def test_an_eviction_that_leads_to_nothing_is_given_back(api: Api) -> None:
    """The pod is kept by a finalizer of somebody who took the mark away again; after two minutes it counts anew."""
    await pods(api, 2)
    await api.create(BUDGETS, "b", spec={"minAvailable": 1, "selector": WEB})
    await counted(api)
    granted = {"status": {"disruptedPods": {"p0": api.source.now()}, "disruptionsAllowed": 0}}
    await api.merge(f"{BUDGETS}/b/status", granted)
    assert await counted(api) == (2, 1, 1, 0)
    api.source.advance(120)
    assert await counted(api) == (2, 1, 2, 1)

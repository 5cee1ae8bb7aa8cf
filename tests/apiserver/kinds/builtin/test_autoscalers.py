"""Autoscalers read and written in autoscaling/v1 keep all that autoscaling/v2 says of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from attractor.apiserver.core import Core, Request
from attractor.apiserver.kinds.builtin.autoscaler_conversion import (
    BEHAVIOR,
    CONDITIONS,
    CURRENT_METRICS,
    METRICS,
    from_hub,
    to_hub,
)
from attractor.apiserver.server import Server
from attractor.store.memory import MemoryStore
from tests.deterministic import CountingSource

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

PLACE = "/namespaces/default/horizontalpodautoscalers"
V1, V2 = f"/apis/autoscaling/v1{PLACE}", f"/apis/autoscaling/v2{PLACE}"
ROUTE = {"kind": "Ingress", "name": "main", "apiVersion": "networking.k8s.io/v1"}
METRICS_OF_ALL_TYPES: list[JsonObject] = [
    {
        "type": "Object",
        "object": {
            "describedObject": ROUTE,
            "target": {"type": "Value", "value": "10k"},
            "metric": {"name": "requests", "selector": {"matchLabels": {"verb": "GET"}}},
        },
    },
    {
        "type": "Object",
        "object": {
            "describedObject": ROUTE,
            "target": {"type": "AverageValue", "averageValue": "5"},
            "metric": {"name": "errors"},
        },
    },
    {"type": "Pods", "pods": {"metric": {"name": "packets"}, "target": {"type": "AverageValue", "averageValue": "1k"}}},
    {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
    {
        "type": "ContainerResource",
        "containerResource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 60},
            "container": "app",
        },
    },
    {
        "type": "External",
        "external": {
            "metric": {"name": "queue", "selector": {"matchLabels": {"queue": "a"}}},
            "target": {"type": "AverageValue", "averageValue": "30"},
        },
    },
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
]
BEHAVIOUR = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}],
        "tolerance": "50m",
    },
    "scaleDown": {
        "stabilizationWindowSeconds": 300,
        "selectPolicy": "Min",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    },
}
STATUS: JsonObject = {
    "desiredReplicas": 2,
    "currentReplicas": 1,
    "currentMetrics": [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": "7m", "averageUtilization": 3}}},
        {"type": "Pods", "pods": {"metric": {"name": "packets"}, "current": {"averageValue": "12"}}},
    ],
    "conditions": [
        {
            "type": "AbleToScale",
            "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "reason": "Ready",
            "message": "1 < 2",
        }
    ],
}
SCALER: JsonObject = {
    "metadata": {"name": "web", "annotations": {"own": "kept"}},
    "spec": {
        "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
        "minReplicas": 1,
        "maxReplicas": 5,
        "metrics": METRICS_OF_ALL_TYPES,
        "behavior": BEHAVIOUR,
    },
    "status": STATUS,
}


async def asked(
    server: Server, method: str, path: str, body: Any = None, content_type: str = "application/json"
) -> Any:
    response = await server.handle(Request(method, path, {}, json.dumps(body).encode(), content_type))
    assert response.code in {200, 201}, response.json()
    return response.json()


def test_what_v1_has_no_field_for_goes_there_and_back_in_annotations() -> None:
    shown = from_hub(SCALER)
    assert shown["spec"].keys() == {"scaleTargetRef", "minReplicas", "maxReplicas", "targetCPUUtilizationPercentage"}
    assert shown["spec"]["targetCPUUtilizationPercentage"] == 70
    assert shown["status"]["currentCPUUtilizationPercentage"] == 3
    assert shown["metadata"]["annotations"].keys() == {"own", METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR}
    back = to_hub(shown)
    assert back == SCALER


def test_annotations_are_what_gos_types_of_v1_print() -> None:
    annotations = from_hub(SCALER)["metadata"]["annotations"]
    assert annotations[METRICS].startswith(
        '[{"type":"Object","object":{"target":{"kind":"Ingress","name":"main","apiVersion":"networking.k8s.io/v1"},'
        '"metricName":"requests","targetValue":"10k","selector":{"matchLabels":{"verb":"GET"}}}},'
    )
    assert '"metricName":"errors","targetValue":"0","averageValue":"5"' in annotations[METRICS]
    assert annotations[BEHAVIOR] == (
        '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max",'
        '"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":"50m"},'
        '"ScaleDown":{"StabilizationWindowSeconds":300,"SelectPolicy":"Min",'
        '"Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}}'
    )
    assert '"message":"1 \\u003c 2"' in annotations[CONDITIONS]


async def test_a_patch_in_v1_loses_nothing_that_v2_said() -> None:
    server = Server(MemoryStore(), CountingSource(), Core())
    await server.start()
    made = await asked(server, "POST", V2, SCALER)
    patch = {"spec": {"maxReplicas": 9, "targetCPUUtilizationPercentage": 55}}
    await asked(server, "PATCH", f"{V1}/web", patch, "application/merge-patch+json")
    found = await asked(server, "GET", f"{V2}/web")
    metrics = [*METRICS_OF_ALL_TYPES[:-1], json.loads(json.dumps(METRICS_OF_ALL_TYPES[-1]).replace("70", "55"))]
    assert found["spec"] == {**made["spec"], "maxReplicas": 9, "metrics": metrics}
    assert found["metadata"]["annotations"] == {"own": "kept"}


NO_LIST = ("", "null", "5", "{", "[5]", '[{"type":5}]', "[" * 100_000)
NO_METRICS = (
    *NO_LIST,
    '[{"type":"Pods","pods":7}]',
    '[{"type":"Pods","pods":{"metricName":"a","targetAverageValue":"much","currentAverageValue":{}}}]',
)
NOT_UNDERSTOOD = {
    METRICS: NO_METRICS,
    CURRENT_METRICS: NO_METRICS,
    CONDITIONS: NO_LIST,
    BEHAVIOR: (*NO_LIST, '{"ScaleUp":5}'),
}


@pytest.mark.parametrize(("name", "junk"), [(name, junk) for name, texts in NOT_UNDERSTOOD.items() for junk in texts])
async def test_an_annotation_that_is_not_understood_says_nothing(name: str, junk: str) -> None:
    server = Server(MemoryStore(), CountingSource(), Core())
    await server.start()
    spec = {"scaleTargetRef": SCALER["spec"]["scaleTargetRef"], "maxReplicas": 2, "targetCPUUtilizationPercentage": 5}
    body = {"metadata": {"name": "web", "annotations": {name: junk}}, "spec": spec}
    await asked(server, "POST", V1, body)
    found = await asked(server, "GET", f"{V2}/web")
    assert "annotations" not in found["metadata"]
    assert [metric["resource"]["name"] for metric in found["spec"]["metrics"]] == ["cpu"]
    assert "behavior" not in found["spec"]
    assert "conditions" not in found["status"]

"""Field management gives the managedFields that a real kube-apiserver gave."""

import json
from typing import Any

import pytest

from attractor.apply.manager import RESET_SPEC, RESET_STATUS, FieldManager
from attractor.objects.errors import ApiError

Steps = list[dict[str, Any]]


def comparable(entries: list[dict[str, Any]]) -> list[str]:
    """Entries as the recordings have them: without times, which differ, but with whether there is one."""
    stripped = [{**entry, **({"time": "<time>"} if "time" in entry else {})} for entry in entries]
    return sorted(json.dumps(entry, sort_keys=True) for entry in stripped)


def answered(steps: Steps) -> Steps:
    """The steps whose answer is an object with managedFields."""
    return [
        step
        for step in steps
        if step["response"].get("code", 500) < 300
        and (step["response"]["body"].get("metadata") or {}).get("managedFields")
    ]


ALLOCATED_LATER = {"Service": {"clusterIPs", "ipFamilies", "ipFamilyPolicy"}}
"""What the server fills in on create after owners were settled."""


def as_written(body: dict[str, Any], *, is_create: bool) -> dict[str, Any]:
    obj = without_entries(body)
    if is_create and body["kind"] in ALLOCATED_LATER:
        later = ALLOCATED_LATER[body["kind"]]
        obj["spec"] = {name: value for name, value in obj["spec"].items() if name not in later}
    return obj


def entries_of(obj: dict[str, Any]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = obj["metadata"]["managedFields"]
    return entries


def without_entries(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}


@pytest.mark.parametrize(
    "name",
    [
        "configmap-basics",
        "json-patch",
        "finalizers",
        "secrets-and-services",
        "strategic-containers",
        "deployment-status-and-generation",
        "crd-lifecycle",
    ],
)
def test_updates_leave_the_recorded_managed_fields(kinds: Any, name: str) -> None:
    live: dict[tuple[str, str], dict[str, Any]] = {}
    checked = 0
    for number, step in enumerate(answered(kinds.recorded(name))):
        body, request = step["response"]["body"], step["request"]
        if "apply-patch" in request.get("contentType", "") or body["kind"] not in kinds:
            continue
        key = (body["kind"], body["metadata"]["name"])
        if request["method"] not in {"POST", "PUT", "PATCH"}:  # a delete changes the object, but no owners
            live[key] = {**body, "metadata": {**body["metadata"], "managedFields": entries_of(live[key])}}
            continue
        subresource = "status" if request["path"].endswith("/status") else ""
        fields = FieldManager(kinds.schema(body["kind"]), kinds.empty(body["kind"]))
        entries = fields.on_update(
            live.get(key),
            as_written(body, is_create=key not in live),
            manager="unknown",
            now=f"2026-01-01T00:00:{number:02}Z",
            subresource=subresource,
            reset=RESET_SPEC if subresource else RESET_STATUS,
        )
        assert comparable(entries) == comparable(body["metadata"]["managedFields"]), request
        live[key] = {**body, "metadata": {**body["metadata"], "managedFields": entries}}
        checked += 1
    assert checked >= 2


@pytest.mark.parametrize(("name", "kind"), [("apply-two-managers", "ConfigMap"), ("crd-lifecycle", "Widget")])
def test_applies_give_the_recorded_objects_entries_and_conflicts(kinds: Any, name: str, kind: str) -> None:
    live: dict[str, Any] | None = None
    fields = FieldManager(kinds.schema(kind), kinds.empty(kind))
    checked = 0
    for number, step in enumerate(kinds.recorded(name)):
        request, response = step["request"], step["response"]
        if "apply-patch" not in request.get("contentType", ""):
            continue
        checked += 1
        manager = request["path"].partition("fieldManager=")[2].partition("&")[0]
        body, now = response["body"], f"2026-01-01T00:00:{number:02}Z"
        force = "force=true" in request["path"]
        if response["code"] >= 400:
            with pytest.raises(ApiError) as refused:
                fields.on_apply(live, request["body"], manager=manager, force=force, now=now)
            assert refused.value.status() == body
            continue
        merged, entries = fields.on_apply(live, request["body"], manager=manager, force=force, now=now)
        assert comparable(entries) == comparable(body["metadata"]["managedFields"]), request
        for part in ("data", "spec"):
            if part in body:
                # What the server defaults after merging is not part of what apply gives.
                defaulted = {"color": "red"} if kind == "Widget" else {}
                assert {**defaulted, **merged[part]} == body[part]
        live = {**body, "metadata": {**body["metadata"], "managedFields": entries}}
    assert checked >= 4


def test_a_port_without_protocol_is_identified_by_the_published_default(kinds: Any) -> None:
    fields = FieldManager(kinds.schema("Service"), kinds.empty("Service"))
    applied = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    _, (entry,) = fields.on_apply(None, applied, manager="m", force=False, now="2026-01-01T00:00:00Z")
    ports: dict[str, Any] = {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}
    assert entry["fieldsV1"] == {"f:spec": {"f:ports": ports}}


def test_quantities_may_be_applied_as_numbers(kinds: Any) -> None:
    fields = FieldManager(kinds.schema("Deployment"), kinds.empty("Deployment"))
    container = {"name": "c", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}
    spec = {"template": {"spec": {"containers": [container]}}}
    applied = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    merged, _ = fields.on_apply(None, applied, manager="m", force=False, now="2026-01-01T00:00:00Z")
    assert merged["spec"]["template"]["spec"]["containers"] == [container]


def test_apply_of_an_undeclared_field_is_refused_in_kubernetes_words(kinds: Any) -> None:
    fields = FieldManager(kinds.schema("ConfigMap"), kinds.empty("ConfigMap"))
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "e"}, "data": {"a": "1"}, "bogus": 1}
    with pytest.raises(ApiError) as refused:
        fields.on_apply(None, applied, manager="m", force=False, now="2026-01-01T00:00:00Z")
    assert refused.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "failed to create typed patch object (/e; /v1, Kind=ConfigMap): .bogus: field not declared in schema",
        "code": 500,
    }

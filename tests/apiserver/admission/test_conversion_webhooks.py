"""Custom kinds whose versions a webhook converts."""

from typing import Any

from tests.apiserver.admission.conftest import AdmissionApi
from tests.apiserver.admission.webhookserver import Webhook, webhook
from tests.apiserver.conftest import widget_definition

V1, V2 = (f"/apis/example.org/{version}/namespaces/default/widgets" for version in ("v1", "v2"))
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def convert(request: dict[str, Any]) -> dict[str, Any]:
    """v1 has ``spec.size``; v2 has ``spec.dimension.size``."""
    wanted = request["desiredAPIVersion"]
    return {"result": {"status": "Success"}, "convertedObjects": [_to(obj, wanted) for obj in request["objects"]]}


def _to(obj: dict[str, Any], wanted: str) -> dict[str, Any]:
    spec = obj.get("spec") or {}
    if wanted.endswith("/v2"):
        spec = {"dimension": {"size": spec.get("size", 0)}}
    else:
        spec = {"size": (spec.get("dimension") or {}).get("size", 0)}
    return {**obj, "apiVersion": wanted, "spec": spec}


def version(name: str, properties: dict[str, Any], *, storage: bool) -> dict[str, Any]:
    spec = {"type": "object", "properties": properties}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


def definition(hook: Webhook, storage: str = "v1") -> dict[str, Any]:
    size = {"size": {"type": "integer"}}
    return widget_definition(
        versions=[
            version("v1", size, storage=storage == "v1"),
            version("v2", {"dimension": {"type": "object", "properties": size}}, storage=storage == "v2"),
        ],
        conversion={
            "strategy": "Webhook",
            "webhook": {"clientConfig": hook.client_config(), "conversionReviewVersions": ["v1"]},
        },
    )


async def define(api: AdmissionApi, hook: Webhook) -> None:
    answer = await api("POST", DEFINITIONS, definition(hook))
    assert answer.code == 201, answer.body


async def test_objects_are_written_and_read_in_every_version(api: AdmissionApi) -> None:
    async with webhook(convert) as hook:
        await define(api, hook)
        created = await api.create(V2, "w", spec={"dimension": {"size": 3}})
        assert (created.body["apiVersion"], created.body["spec"]) == ("example.org/v2", {"dimension": {"size": 3}})
        assert (await api.get(f"{V1}/w")).body["spec"] == {"size": 3}
        await api.merge(f"{V1}/w", {"spec": {"size": 4}})
        read = await api.get(f"{V2}/w")
        assert (read.body["spec"], read.metadata["generation"]) == ({"dimension": {"size": 4}}, 2)
        stored = api.server.store.snapshot_nowait().get("example.org/widgets/default/w")
    assert stored is not None
    assert b'"apiVersion":"example.org/v1"' in stored.value
    assert b'"size":4' in stored.value


async def test_the_stored_version_is_read_without_asking(api: AdmissionApi) -> None:
    async with webhook(convert) as hook:
        await define(api, hook)
        await api.create(V1, "w", spec={"size": 1})
        await api.get(f"{V1}/w")
        assert (await api.get(V1)).names == ["w"]
    assert hook.requests == []


async def test_a_list_is_converted_with_one_review(api: AdmissionApi) -> None:
    async with webhook(convert) as hook:
        await define(api, hook)
        for number in range(5):
            await api.create(V1, f"w{number}", spec={"size": number})
        listed = await api.get(V2)
    assert [item["spec"]["dimension"]["size"] for item in listed.body["items"]] == [0, 1, 2, 3, 4]
    assert [len(request["objects"]) for request in hook.requests] == [5]


async def test_objects_outlive_a_change_of_the_storage_version(api: AdmissionApi) -> None:
    async with webhook(convert) as hook:
        await define(api, hook)
        await api.create(V1, "old", spec={"size": 1})
        changed = definition(hook, storage="v2")
        changed["metadata"]["resourceVersion"] = (await api.get(f"{DEFINITIONS}/widgets.example.org")).version
        assert (await api("PUT", f"{DEFINITIONS}/widgets.example.org", changed)).code == 200
        await api.create(V1, "new", spec={"size": 2})
        assert [item["spec"]["size"] for item in (await api.get(V1)).body["items"]] == [2, 1]
        sizes = [item["spec"]["dimension"]["size"] for item in (await api.get(V2)).body["items"]]
    assert sizes == [2, 1]


async def test_only_labels_and_annotations_of_the_metadata_may_change(api: AdmissionApi) -> None:
    def relabel(request: dict[str, Any]) -> dict[str, Any]:
        response = convert(request)
        for obj in response["convertedObjects"]:
            obj["metadata"] = {**obj["metadata"], "labels": {"converted": "yes"}, "finalizers": ["example.org/lost"]}
        return response

    async with webhook(relabel) as hook:
        await define(api, hook)
        await api.create(V1, "w", spec={"size": 1})
        metadata = (await api.get(f"{V2}/w")).metadata
    assert metadata["labels"] == {"converted": "yes"}
    assert "finalizers" not in metadata


async def test_a_failed_conversion_is_told_with_the_webhooks_reason(api: AdmissionApi) -> None:
    async with webhook(lambda _: {"result": {"status": "Failure", "message": "cannot"}}) as hook:
        await define(api, hook)
        await api.create(V1, "w", spec={"size": 1})
        failed = await api.get(f"{V2}/w")
        assert failed.code == 500
        assert failed.body["message"] == "conversion webhook for example.org/v1, Kind=Widget failed: cannot"
        hook.respond = lambda request: {"result": {"status": "Success"}, "convertedObjects": []}
        short = await api.get(V2)
    assert short.body["message"].endswith("webhook returned 0 objects, expected 1")


async def test_an_object_that_comes_back_as_another_is_refused(api: AdmissionApi) -> None:
    def rename(request: dict[str, Any]) -> dict[str, Any]:
        response = convert(request)
        for obj in response["convertedObjects"]:
            obj["metadata"] = {**obj["metadata"], "name": "other"}
        return response

    async with webhook(rename) as hook:
        await define(api, hook)
        await api.create(V1, "w", spec={"size": 1})
        assert "metadata.name must not be changed" in (await api.get(f"{V2}/w")).body["message"]


async def test_a_definition_with_a_webhook_has_to_say_where_it_is(api: AdmissionApi) -> None:
    answer = await api("POST", DEFINITIONS, widget_definition(conversion={"strategy": "Webhook"}))
    assert answer.code == 422
    assert "spec.conversion.webhookClientConfig" in answer.body["message"]


async def test_without_a_webhook_objects_outlive_a_change_of_the_storage_version_too(api: AdmissionApi) -> None:
    versions = [version("v1", {}, storage=True), version("v2beta1", {}, storage=False)]
    await api.define_widgets(versions=versions)
    await api.create(V1, "w")
    swapped = [{**one, "storage": not one["storage"]} for one in versions]
    await api.merge(f"{DEFINITIONS}/widgets.example.org", {"spec": {"versions": swapped}})
    for name in ("v1", "v2beta1"):
        found = await api.get(f"/apis/example.org/{name}/namespaces/default/widgets/w")
        assert (found.body["apiVersion"], found.metadata["name"]) == (f"example.org/{name}", "w")

"""Server-side apply through the core: what the core adds to field management."""

from typing import Any

from tests.apiserver.conftest import CONFIGMAPS, Api


def config(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **metadata}, "data": {"x": "1"}}


async def test_repeated_apply_of_a_generated_file_is_no_write_even_later(api: Api) -> None:
    generated = config(creationTimestamp=None)  # as `kubectl create --dry-run -o yaml` writes it
    first = await api.apply(f"{CONFIGMAPS}/a?fieldManager=m", generated)
    api.source.advance(5)
    again = await api.apply(f"{CONFIGMAPS}/a?fieldManager=m", generated)
    assert (first.code, again.code) == (201, 200)
    assert again.body == first.body


async def test_apply_that_changes_a_value_is_a_write_with_a_new_time(api: Api) -> None:
    first = await api.apply(f"{CONFIGMAPS}/a?fieldManager=m", config())
    api.source.advance(5)
    again = await api.apply(f"{CONFIGMAPS}/a?fieldManager=m", {**config(), "data": {"x": "2"}})
    assert again.version != first.version
    assert again.metadata["managedFields"][0]["time"] != first.metadata["managedFields"][0]["time"]


async def test_a_version_that_is_no_text_is_refused_with_its_type(api: Api) -> None:
    await api.create(CONFIGMAPS, "a")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": 7}}
    refused = await api.apply(f"{CONFIGMAPS}/a?fieldManager=m", body)
    assert "failed to create typed patch object" in refused.body["message"]
    assert ".metadata.resourceVersion: expected string" in refused.body["message"]

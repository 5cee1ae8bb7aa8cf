"""Patches of metadata: what a patch leaves alone is not decoded again, and the answer is as if it were."""

from typing import Any

import pytest

from tests.apiserver.conftest import CONFIGMAPS, Api

OBJECT = f"{CONFIGMAPS}/c"


async def made(api: Api) -> str:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1", "controller": True}
    metadata = {"labels": {"a": "1"}, "finalizers": ["x.org/y"], "ownerReferences": [owner]}
    answer = await api.create(CONFIGMAPS, "c", data={"v": "0"}, metadata=metadata)
    return str(answer.body["metadata"]["resourceVersion"])


async def test_a_patch_that_names_the_version_it_has_seen_changes_what_the_same_without_it_does(api: Api) -> None:
    version = await made(api)
    seen = await api.merge(OBJECT, {"metadata": {"resourceVersion": version}, "data": {"v": "1"}})
    blind = await api.merge(OBJECT, {"data": {"v": "2"}})
    assert (seen.code, blind.code, seen.body.pop("data"), blind.body.pop("data")) == (200, 200, {"v": "1"}, {"v": "2"})
    for answer in (seen, blind):
        answer.body["metadata"].pop("resourceVersion")
        for entry in answer.body["metadata"]["managedFields"]:
            entry.pop("time")
    assert seen.body == blind.body


async def test_a_patch_that_has_seen_an_older_version_is_a_conflict(api: Api) -> None:
    version = await made(api)
    await api.merge(OBJECT, {"data": {"v": "1"}})
    late = await api.merge(OBJECT, {"metadata": {"resourceVersion": version}, "data": {"v": "2"}})
    assert (late.code, late.body["reason"]) == (409, "Conflict")


@pytest.mark.parametrize("version", [None, ""])
async def test_a_patch_that_takes_the_version_away_is_unconditional(api: Api, version: Any) -> None:
    await made(api)
    assert (await api.merge(OBJECT, {"metadata": {"resourceVersion": version}, "data": {"v": "1"}})).code == 200


@pytest.mark.parametrize(
    "change",
    [{"resourceVersion": 7}, {"resourceVersion": ["7"]}, {"name": 7}, {"labels": 7}, {"labels": {"a": 7}}, {"uid": {}}],
)
async def test_metadata_of_the_wrong_type_is_refused_whatever_else_is_left_alone(api: Api, change: Any) -> None:
    await made(api)
    assert (await api.merge(OBJECT, {"metadata": change})).code in {400, 422}


async def test_a_label_beside_the_version_is_decoded(api: Api) -> None:
    version = await made(api)
    answer = await api.merge(OBJECT, {"metadata": {"resourceVersion": version, "labels": {"b": "2"}}})
    assert answer.body["metadata"]["labels"] == {"a": "1", "b": "2"}

"""Delete: finalizers, preconditions, propagation, collections."""

import pytest

from tests.apiserver.conftest import CONFIGMAPS, Api


async def test_object_with_finalizers_is_marked_and_goes_with_the_last_one(api: Api) -> None:
    await api.create(CONFIGMAPS, "a", metadata={"finalizers": ["example.org/x"]})
    marked = await api.delete(f"{CONFIGMAPS}/a")
    assert marked.metadata["deletionTimestamp"] == api.source.now()
    assert (await api.get(f"{CONFIGMAPS}/a")).code == 200
    last = await api.merge(f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}})
    assert last.code == 200
    assert (await api.get(f"{CONFIGMAPS}/a")).code == 404


async def test_second_delete_of_a_marked_object_changes_nothing(api: Api) -> None:
    await api.create(CONFIGMAPS, "a", metadata={"finalizers": ["example.org/x"]})
    first = await api.delete(f"{CONFIGMAPS}/a")
    api.source.advance(60)
    second = await api.delete(f"{CONFIGMAPS}/a")
    assert second.body == first.body


@pytest.mark.parametrize("precondition", [{"uid": "another"}, {"resourceVersion": "1"}])
async def test_delete_with_a_failed_precondition_conflicts(api: Api, precondition: dict[str, str]) -> None:
    await api.create(CONFIGMAPS, "a")
    answer = await api.delete(f"{CONFIGMAPS}/a", preconditions=precondition)
    assert answer.code == 409
    assert "in the precondition" in answer.body["message"]
    assert (await api.get(f"{CONFIGMAPS}/a")).code == 200


async def test_delete_with_true_preconditions_deletes(api: Api) -> None:
    made = await api.create(CONFIGMAPS, "a")
    conditions = {"uid": made.metadata["uid"], "resourceVersion": made.version}
    assert (await api.delete(f"{CONFIGMAPS}/a", preconditions=conditions)).body["status"] == "Success"


@pytest.mark.parametrize(("policy", "finalizer"), [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")])
async def test_propagation_policy_becomes_a_finalizer(api: Api, policy: str, finalizer: str) -> None:
    await api.create(CONFIGMAPS, "a")
    answer = await api.delete(f"{CONFIGMAPS}/a", propagationPolicy=policy)
    assert answer.metadata["finalizers"] == [finalizer]


async def test_unknown_propagation_policy_is_invalid(api: Api) -> None:
    await api.create(CONFIGMAPS, "a")
    answer = await api.delete(f"{CONFIGMAPS}/a", propagationPolicy="Sideways")
    assert answer.code == 422


async def test_dry_run_in_the_body_deletes_nothing(api: Api) -> None:
    await api.create(CONFIGMAPS, "a")
    assert (await api.delete(f"{CONFIGMAPS}/a", dryRun=["All"])).code == 200
    assert (await api.get(f"{CONFIGMAPS}/a")).code == 200


async def test_collection_delete_honours_selectors_and_finalizers(api: Api) -> None:
    await api.create(CONFIGMAPS, "gone", metadata={"labels": {"g": "1"}})
    await api.create(CONFIGMAPS, "held", metadata={"labels": {"g": "1"}, "finalizers": ["example.org/x"]})
    await api.create(CONFIGMAPS, "kept", metadata={"labels": {"g": "2"}})
    assert (await api.delete(f"{CONFIGMAPS}?labelSelector=g%3D1")).names == ["gone", "held"]
    left = await api.get(CONFIGMAPS)
    assert left.names == ["held", "kept"]
    assert "deletionTimestamp" in left.body["items"][0]["metadata"]

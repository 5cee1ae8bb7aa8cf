"""Who owns what after updates and applies: the scenarios that the recordings do not show."""

import copy
import json
from typing import Any

import pytest

from attractor.apply.entries import same_but_for_times
from attractor.apply.manager import RESET_SPEC, RESET_STATUS, FieldManager
from attractor.objects.errors import ApiError, BadRequest, Conflict
from attractor.schema.node import Schema

STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
KIND = Schema({"type": "object", "properties": {"data": STRINGS, "spec": STRINGS, "status": STRINGS}})
EMPTY: dict[str, Any] = {"apiVersion": "v1", "kind": "Thing"}
FIELDS = FieldManager(KIND, EMPTY)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def now(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def thing(*, managed: Any = None, annotations: Any = None, **parts: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "t", "namespace": "n"}
    if managed is not None:
        metadata |= {"uid": "u", "managedFields": managed}
    if annotations is not None:
        metadata["annotations"] = annotations
    return {**EMPTY, "metadata": metadata, **parts}


def owners(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in entries}


def created(manager: str = "one", **parts: Any) -> dict[str, Any]:
    obj = thing(**parts)
    return thing(managed=FIELDS.on_update(None, obj, manager=manager, now=now(0)), **parts)


def applied_by(manager: str, live: dict[str, Any] | None, second: int, **parts: Any) -> dict[str, Any]:
    obj, entries = FIELDS.on_apply(live, thing(**parts), manager=manager, force=False, now=now(second))
    return {**obj, "metadata": {**obj["metadata"], "uid": "u", "managedFields": entries}}


def test_a_create_owns_every_field_and_the_containers_that_were_not_there() -> None:
    assert created(data={"a": "1"})["metadata"]["managedFields"] == [
        {
            "manager": "one",
            "operation": "Update",
            "apiVersion": "v1",
            "time": now(0),
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
        }
    ]


def test_an_update_takes_what_it_changes_from_whoever_had_it() -> None:
    live = created(data={"a": "1", "b": "1"})
    entries = FIELDS.on_update(live, thing(data={"a": "2", "b": "1", "c": "3"}), manager="two", now=now(1))
    assert owners(entries) == {"one": {"f:data": {".": {}, "f:b": {}}}, "two": {"f:data": {"f:a": {}, "f:c": {}}}}
    assert [entry["time"] for entry in entries] == [now(0), now(1)]


def test_an_update_that_removes_a_field_removes_it_from_every_owner_and_refreshes_nobody() -> None:
    live = created(data={"a": "1", "b": "1"})
    entries = FIELDS.on_update(live, thing(data={"a": "1"}), manager="two", now=now(1))
    assert owners(entries) == {"one": {"f:data": {".": {}, "f:a": {}}}}
    assert entries[0]["time"] == now(0)


def test_an_update_that_changes_nothing_keeps_the_very_same_entries() -> None:
    live = created(data={"a": "1"})
    again = copy.deepcopy(live)
    again["metadata"] |= {"resourceVersion": "9", "generation": 4}
    assert FIELDS.on_update(live, again, manager="two", now=now(1)) is live["metadata"]["managedFields"]


def test_a_second_update_of_the_same_manager_extends_its_entry_and_refreshes_its_time() -> None:
    live = created(data={"a": "1"})
    (entry,) = FIELDS.on_update(live, thing(data={"a": "1", "b": "2"}), manager="one", now=now(1))
    assert (entry["time"], entry["fieldsV1"]) == (now(1), {"f:data": {".": {}, "f:a": {}, "f:b": {}}})
    (entry,) = FIELDS.on_update(live, thing(data={"a": "2"}), manager="one", now=now(2))
    assert (entry["time"], entry["fieldsV1"]) == (now(2), {"f:data": {".": {}, "f:a": {}}})


def test_what_a_write_cannot_touch_it_cannot_own() -> None:
    live = created(spec={"size": "1"})
    new = thing(spec={"size": "2"}, status={"ready": "yes"})
    assert owners(FIELDS.on_update(live, new, manager="two", now=now(1), reset=RESET_STATUS)) == {
        "one": {"f:spec": {}},
        "two": {"f:spec": {"f:size": {}}},
    }
    entries = FIELDS.on_update(live, new, manager="two", now=now(1), subresource="status", reset=RESET_SPEC)
    assert entries[0] is live["metadata"]["managedFields"][0]
    assert (entries[1]["subresource"], entries[1]["fieldsV1"]) == ("status", {"f:status": {".": {}, "f:ready": {}}})


@pytest.mark.parametrize("reset", [[], [{}]])
def test_a_caller_can_forget_all_owners_and_then_nobody_owns_anything(reset: list[Any]) -> None:
    live = created(data={"a": "1"})
    assert FIELDS.on_update(live, thing(managed=reset, data={"a": "2"}), manager="two", now=now(1)) == []
    untracked = thing(managed=[], data={"a": "2"})
    assert FIELDS.on_update(untracked, thing(data={"a": "3"}), manager="two", now=now(2)) == []


def test_a_caller_can_set_entries_and_broken_ones_are_ignored() -> None:
    live = created(data={"a": "1"})
    mine = {"manager": "me", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    said = [{**mine, "fieldsV1": {"f:data": {".": {}, "f:a": {".": {}}}}}]
    entries = FIELDS.on_update(live, thing(managed=said, data={"a": "1"}), manager="two", now=now(1))
    assert entries == [{**mine, "fieldsV1": {"f:data": {".": {}, "f:a": {}}}}]
    for broken in (
        [{**mine, "operation": "Steal"}],
        [{**mine, "apiVersion": ""}],
        [{**mine, "fieldsType": "FieldsV2"}],
        [{**mine, "fieldsV1": {"data": {}}}],
        [{**mine, "manager": 7}],
        ["x"],
        "x",
    ):
        kept = FIELDS.on_update(live, thing(managed=broken, data={"a": "1"}), manager="two", now=now(1))
        assert kept is live["metadata"]["managedFields"]
    through_status = FIELDS.on_update(
        live, thing(managed=said, data={"a": "1"}), manager="two", now=now(1), subresource="status"
    )
    assert through_status is live["metadata"]["managedFields"]


def test_more_than_ten_updaters_become_ancient_changes_oldest_first() -> None:
    data = {"k": "0"}
    live = created(manager="m00", data=data)
    for number in range(1, 13):
        data = {**data, f"k{number}": "1"}
        new = thing(data=data)
        entries = FIELDS.on_update(live, new, manager=f"m{number:02}", now=now(number))
        live = thing(managed=entries, data=data)
    names = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert names == ["ancient-changes", *(f"m{number:02}" for number in range(4, 13))]
    bucket = live["metadata"]["managedFields"][0]
    assert bucket["time"] == now(3)
    assert bucket["fieldsV1"] == {"f:data": {".": {}, "f:k": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}}}


def test_a_conflict_names_the_updater_its_version_and_its_subresource() -> None:
    live = created(manager="kubectl", data={"a": "1"})
    with pytest.raises(Conflict) as refused:
        FIELDS.on_apply(live, thing(data={"a": "2"}), manager="two", force=False, now=now(1))
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "kubectl" using v1: .data.a'
    assert refused.value.details == {
        "causes": [
            {"reason": "FieldManagerConflict", "message": 'conflict with "kubectl" using v1', "field": ".data.a"}
        ]
    }
    status = thing(data={"a": "1"}, status={"x": "1"})
    entries = FIELDS.on_update(live, status, manager="ctl", now=now(1), subresource="status", reset=RESET_SPEC)
    live = thing(managed=entries, data={"a": "1"}, status={"x": "1"})
    with pytest.raises(Conflict) as refused:
        FIELDS.on_apply(live, thing(status={"x": "2"}), manager="two", force=False, now=now(2))
    assert refused.value.message == (
        'Apply failed with 1 conflict: conflict with "ctl" with subresource "status" using v1: .status.x'
    )


def test_several_conflicts_are_listed_by_manager() -> None:
    live = applied_by("one", None, 0, data={"a": "1", "b": "1"})
    live = applied_by("two", live, 1, data={"c": "1"})
    with pytest.raises(Conflict) as refused:
        FIELDS.on_apply(live, thing(data={"a": "2", "b": "2", "c": "2"}), manager="z", force=False, now=now(2))
    assert refused.value.message == (
        'Apply failed with 3 conflicts: conflicts with "one":\n- .data.a\n- .data.b\nconflicts with "two":\n- .data.c'
    )
    assert [cause["field"] for cause in refused.value.causes] == [".data.a", ".data.b", ".data.c"]


def test_what_was_there_before_tracking_belongs_to_before_first_apply() -> None:
    live = thing(data={"a": "1", "b": "1"})
    live["metadata"]["uid"] = "u"
    _, entries = FIELDS.on_apply(live, thing(data={"a": "1"}), manager="one", force=False, now=now(1))
    assert owners(entries) == {
        "before-first-apply": {"f:data": {".": {}, "f:a": {}, "f:b": {}}},
        "one": {"f:data": {"f:a": {}}},
    }
    with pytest.raises(Conflict, match="before-first-apply"):
        FIELDS.on_apply(live, thing(data={"a": "2"}), manager="one", force=False, now=now(1))


def test_an_applier_that_only_agrees_has_no_time_until_it_changes_something() -> None:
    live = applied_by("one", None, 0, data={"a": "1"})
    live = applied_by("two", live, 1, data={"a": "1"})
    assert "time" not in next(e for e in live["metadata"]["managedFields"] if e["manager"] == "two")
    live = applied_by("two", live, 2, data={"a": "1", "b": "2"})
    assert next(e for e in live["metadata"]["managedFields"] if e["manager"] == "two")["time"] == now(2)


def test_an_applier_of_nothing_has_no_entry() -> None:
    _, entries = FIELDS.on_apply(None, thing(), manager="one", force=False, now=now(0))
    assert entries == []


def test_a_map_that_loses_its_last_field_but_is_owned_itself_becomes_null() -> None:
    live = created(data={})
    live = applied_by("two", live, 1, data={"a": "1"})
    merged, entries = FIELDS.on_apply(live, thing(), manager="two", force=False, now=now(2))
    assert merged["data"] is None
    assert owners(entries) == {"one": {"f:data": {}}}


def test_an_apply_that_changes_nothing_gives_the_live_object_and_the_same_entries() -> None:
    live = applied_by("one", None, 0, data={"a": "1"})
    merged, entries = FIELDS.on_apply(live, thing(data={"a": "1"}), manager="one", force=False, now=now(9))
    assert entries == live["metadata"]["managedFields"]
    assert entries[0] is live["metadata"]["managedFields"][0]
    assert {**merged, "metadata": {**merged["metadata"], "managedFields": entries}} == live


@pytest.mark.parametrize(
    ("applied", "complaint"),
    [
        ({"metadata": {"name": "t"}}, "invalid object type: /, Kind="),
        ({"apiVersion": "apps/v2", "kind": "Thing", "metadata": {}}, "invalid object type: apps/v2, Kind=Thing"),
        (thing(managed=[]), "metadata.managedFields must be nil"),
    ],
)
def test_an_apply_of_another_kind_or_with_entries_is_a_bad_request(applied: Any, complaint: str) -> None:
    with pytest.raises(BadRequest) as refused:
        FIELDS.on_apply(None, applied, manager="one", force=False, now=now(0))
    assert refused.value.message == complaint


def test_an_apply_that_does_not_fit_names_the_object_and_the_field() -> None:
    with pytest.raises(ApiError) as refused:
        FIELDS.on_apply(None, thing(data={"a": 1}), manager="one", force=False, now=now(0))
    assert refused.value.message == (
        "failed to create typed patch object (n/t; /v1, Kind=Thing): "
        ".data.a: expected string, got &value.valueUnstructured{Value:1}"
    )


def test_fields_of_a_version_that_is_gone_are_forgotten_and_of_another_are_converted() -> None:
    def convert(obj: dict[str, Any], version: str) -> tuple[dict[str, Any], Schema] | None:
        if version == "gone":
            return None
        renamed = {("info" if version == "v0" else "data"): obj.get("data", obj.get("info"))}
        rest = {name: value for name, value in obj.items() if name not in {"data", "info"}}
        old_kind = Schema({"type": "object", "properties": {"info": STRINGS}})
        return {**rest, **renamed, "apiVersion": version}, (old_kind if version == "v0" else KIND)

    fields = FieldManager(KIND, EMPTY, convert)
    entry = {"operation": "Apply", "fieldsType": "FieldsV1"}
    live = thing(
        managed=[
            {**entry, "manager": "lost", "apiVersion": "gone", "fieldsV1": {"f:x": {}}},
            {**entry, "manager": "old", "apiVersion": "v0", "fieldsV1": {"f:info": {"f:a": {}, "f:b": {}}}},
        ],
        data={"a": "1", "b": "1"},
    )
    entries = fields.on_update(live, thing(data={"a": "2", "b": "1"}), manager="new", now=now(1))
    assert owners(entries) == {"old": {"f:info": {"f:b": {}}}, "new": {"f:data": {"f:a": {}}}}
    merged, entries = fields.on_apply(live, thing(data={"a": "1"}), manager="old", force=False, now=now(1))
    assert merged["data"] == {"a": "1"}
    assert owners(entries) == {"old": {"f:data": {"f:a": {}}}}


def test_kubectl_takes_over_its_client_side_applied_fields_without_conflict() -> None:
    last = json.dumps({**EMPTY, "metadata": {"name": "t"}, "data": {"a": "1", "b": "1"}})
    annotations = {LAST_APPLIED: last}
    live = thing(annotations=annotations, data={"a": "1", "b": "other"})
    entries = FIELDS.on_update(None, live, manager="kubectl-client-side-apply", now=now(0))
    live["metadata"] |= {"uid": "u", "managedFields": entries}

    merged, entries = FIELDS.on_apply(live, thing(data={"a": "2"}), manager="kubectl", force=False, now=now(1))
    assert merged["data"]["a"] == "2"
    assert owners(entries)["kubectl"] == {"f:data": {"f:a": {}}}
    assert json.loads(merged["metadata"]["annotations"][LAST_APPLIED])["data"] == {"a": "2"}
    with pytest.raises(Conflict):  # its value there is not the one it applied
        FIELDS.on_apply(live, thing(data={"b": "2"}), manager="kubectl", force=False, now=now(1))
    with pytest.raises(Conflict):
        FIELDS.on_apply(live, thing(data={"a": "2"}), manager="other", force=False, now=now(1))


def test_an_object_whose_items_cannot_be_told_apart_loses_its_entries() -> None:
    items = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {}}
    fields = FieldManager(Schema({"type": "object", "properties": {"items": items}}), EMPTY)
    live = thing(managed=[], items=[{"k": "a"}])
    live["metadata"]["managedFields"] = fields.on_update(None, thing(items=[{"k": "a"}]), manager="one", now=now(0))
    assert fields.on_update(live, thing(items=[{"nokey": "a"}]), manager="two", now=now(1)) == []


def test_entries_that_differ_in_times_alone_say_the_same() -> None:
    entry = created(data={"a": "1"})["metadata"]["managedFields"][0]
    later = {**entry, "time": now(9)}
    assert same_but_for_times([entry], [later])
    assert not same_but_for_times([entry], [{**later, "manager": "two"}])
    assert not same_but_for_times([entry], [])


def test_a_kind_without_schema_merges_by_the_shape_of_its_values() -> None:
    fields = FieldManager(None, EMPTY)
    obj, entries = fields.on_apply(None, thing(any={"a": {"b": [1]}}), manager="one", force=False, now=now(0))
    assert owners(entries)["one"]["f:any"] == {".": {}, "f:a": {".": {}, "f:b": {}}}
    live = {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}
    merged, _ = fields.on_apply(live, thing(any={"a": {"c": 1}}), manager="two", force=False, now=now(1))
    assert merged["any"] == {"a": {"b": [1], "c": 1}}


def test_an_apply_to_the_main_resource_does_not_own_or_take_the_status() -> None:
    live = created(status={"x": "1"})
    applied = thing(spec={"size": "1"}, status={"x": "2"})
    merged, entries = FIELDS.on_apply(live, applied, manager="two", force=False, now=now(1), reset=RESET_STATUS)
    assert owners(entries) == {"one": {"f:status": {".": {}, "f:x": {}}}, "two": {"f:spec": {"f:size": {}}}}
    assert merged["status"] == {"x": "2"}  # the kind's strategy puts the live status back


def test_an_apply_onto_items_that_cannot_be_told_apart_says_so() -> None:
    items = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {}}
    fields = FieldManager(Schema({"type": "object", "properties": {"items": items}}), EMPTY)
    live = thing(items=[{"nokey": "a"}])
    with pytest.raises(ApiError, match=r"failed to create typed live object \(n/t; /v1, Kind=Thing\): associative"):
        fields.on_apply(live, thing(items=[{"k": "a"}]), manager="one", force=False, now=now(1))


@pytest.mark.parametrize(
    "annotation",
    [
        "{broken",
        "[]",
        json.dumps({**EMPTY, "apiVersion": "v0", "data": {"a": "1"}}),
        json.dumps({**EMPTY, "data": {"a": 1}}),
    ],
)
def test_an_annotation_that_is_no_configuration_allows_nothing(annotation: str) -> None:
    live = thing(annotations={LAST_APPLIED: annotation}, data={"a": "1"})
    live["metadata"]["managedFields"] = FIELDS.on_update(None, live, manager="other", now=now(0))
    with pytest.raises(Conflict):
        FIELDS.on_apply(live, thing(data={"a": "2"}), manager="kubectl", force=False, now=now(1))


def test_an_annotation_that_would_grow_too_long_is_dropped() -> None:
    live = thing(annotations={LAST_APPLIED: "{}", "keep": "1"}, data={"a": "1"})
    live["metadata"]["managedFields"] = FIELDS.on_update(None, live, manager="other", now=now(0))
    large = thing(annotations={"more": "2"}, data={"b": "x" * 300_000})
    merged, _ = FIELDS.on_apply(live, large, manager="kubectl", force=False, now=now(1))
    assert merged["metadata"]["annotations"] == {"keep": "1", "more": "2"}


def test_the_annotation_never_contains_itself() -> None:
    live = thing(annotations={LAST_APPLIED: "{}"}, data={"a": "1"})
    live["metadata"]["managedFields"] = FIELDS.on_update(None, live, manager="other", now=now(0))
    applied = thing(annotations={LAST_APPLIED: "old"}, data={"b": "1"})
    merged, _ = FIELDS.on_apply(live, applied, manager="kubectl", force=True, now=now(1))
    assert json.loads(merged["metadata"]["annotations"][LAST_APPLIED])["metadata"]["annotations"] == {}

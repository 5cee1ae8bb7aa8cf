"""Laws of server-side apply, on random configurations of a kind with every kind of list and map."""

import copy
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from attractor.apply.fieldset import paths
from attractor.apply.manager import FieldManager
from attractor.objects.errors import Conflict
from attractor.schema.node import Schema

STRING = {"type": "string"}
KIND = Schema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "name": STRING,
                    "labels": {"type": "object", "additionalProperties": STRING},
                    "tags": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
                    "args": {"type": "array", "items": STRING},
                    "items": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["k"],
                        "items": {"type": "object", "properties": {"k": STRING, "v": STRING, "w": STRING}},
                    },
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        },
    }
)
FIELDS = FieldManager(KIND, {"apiVersion": "v1", "kind": "Thing"})
NOW = "2026-01-01T00:00:00Z"

values = st.sampled_from(["1", "2"])
names = st.sampled_from(["a", "b", "c"])


def item(k: str, rest: dict[str, str]) -> dict[str, str]:
    return {"k": k, **rest}


items = st.dictionaries(names, st.dictionaries(st.sampled_from(["v", "w"]), values), max_size=3).map(
    lambda found: [item(k, rest) for k, rest in found.items()]
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "name": values,
        "labels": st.dictionaries(names, values, min_size=1),
        "tags": st.lists(names, unique=True, min_size=1),
        "args": st.lists(values, min_size=1, max_size=2),
        "items": items.filter(bool),
        "free": st.dictionaries(names, st.one_of(values, st.dictionaries(names, values, min_size=1)), min_size=1),
    },
)


def config(spec: dict[str, Any]) -> dict[str, Any]:
    """An object with this spec. An empty spec is left out: a map that lost all its fields becomes null, not empty."""
    obj: dict[str, Any] = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t"}}
    return {**obj, "spec": copy.deepcopy(spec)} if spec else obj


def apply(live: Any, spec: dict[str, Any], manager: str, *, force: bool = True) -> dict[str, Any]:
    obj, entries = FIELDS.on_apply(live, config(spec), manager=manager, force=force, now=NOW)
    return {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}


def owned(obj: dict[str, Any], manager: str) -> set[Any]:
    for entry in obj["metadata"]["managedFields"]:
        if entry["manager"] == manager:
            return set(paths(entry["fieldsV1"]))
    return set()


def as_sets(spec: Any) -> Any:
    """A spec in which the order of merging lists does not count."""
    if not isinstance(spec, dict):
        return spec
    shown = {name: as_sets(value) for name, value in spec.items()}
    if "tags" in spec:
        shown["tags"] = set(spec["tags"])
    if "items" in spec:
        shown["items"] = {one["k"]: one for one in spec["items"]}
    return shown


@given(specs, specs, specs)
def test_applying_twice_is_applying_once(first: Any, other: Any, spec: Any) -> None:
    live = apply(apply(None, first, "me"), other, "other")
    once = apply(live, spec, "me")
    assert apply(once, spec, "me", force=False) == once


@given(specs, specs)
def test_an_apply_never_changes_its_arguments(first: Any, second: Any) -> None:
    live = apply(None, first, "one")
    kept, applied = copy.deepcopy(live), config(second)
    FIELDS.on_apply(live, applied, manager="two", force=True, now=NOW)
    FIELDS.on_update(live, applied, manager="two", now=NOW)
    assert live == kept
    assert applied == config(second)


@given(specs)
def test_an_applied_object_says_what_was_applied_and_its_applier_owns_it(spec: Any) -> None:
    live = apply(None, spec, "me")
    assert live.get("spec", {}) == spec
    assert apply(live, spec, "you", force=False).get("spec", {}) == spec
    assert owned(apply(live, spec, "you", force=False), "you") == owned(live, "me")


@given(specs, specs)
def test_after_a_forced_apply_every_applied_value_stands_and_no_conflict_is_left(first: Any, second: Any) -> None:
    live = apply(apply(None, first, "one"), second, "two")
    assert apply(live, second, "two", force=False) == live
    for name in second:
        if name in {"name", "args"}:
            assert live["spec"][name] == second[name]


@given(specs, specs)
def test_an_apply_that_conflicts_changes_something_that_the_other_owns_and_else_nothing_is_taken(
    first: Any, second: Any
) -> None:
    live = apply(None, first, "one")
    try:
        merged = apply(live, second, "two", force=False)
    except Conflict:
        assert owned(apply(live, second, "two"), "one") < owned(live, "one")
    else:
        assert owned(merged, "one") == owned(live, "one")


@given(specs, specs)
def test_appliers_without_conflict_commute(first: Any, second: Any) -> None:
    try:
        one = apply(apply(None, first, "one"), second, "two", force=False)
        two = apply(apply(None, second, "two"), first, "one", force=False)
    except Conflict:
        assume(False)
    assert as_sets(one.get("spec")) == as_sets(two.get("spec"))
    for manager in ("one", "two"):
        assert owned(one, manager) == owned(two, manager)


@given(specs, specs)
def test_what_only_one_applier_owned_leaves_with_it(first: Any, second: Any) -> None:
    try:
        live = apply(apply(None, first, "one"), second, "two", force=False)
    except Conflict:
        assume(False)
    left = apply(live, {}, "one")
    assert owned(left, "one") == set()
    assert owned(left, "two") == owned(live, "two")
    assert as_sets(left.get("spec") or {}) == as_sets(second)


@given(specs, specs)
def test_an_applier_that_moves_on_leaves_exactly_its_new_configuration(first: Any, second: Any) -> None:
    moved = apply(apply(None, first, "me"), second, "me")
    fresh = apply(None, second, "me")
    assert as_sets(moved.get("spec") or {}) == as_sets(fresh.get("spec") or {})
    assert owned(moved, "me") == owned(fresh, "me")


@given(specs, specs, specs)
def test_a_field_that_an_updater_owns_stays_when_an_applier_lets_go(first: Any, update: Any, second: Any) -> None:
    live = apply(None, first, "me")
    changed = config({**first, "name": "from-update"})
    entries = FIELDS.on_update(live, changed, manager="updater", now=NOW)
    live = {**changed, "metadata": {**changed["metadata"], "managedFields": entries}}
    let_go = apply(live, {name: value for name, value in second.items() if name != "name"}, "me")
    assert let_go["spec"]["name"] == "from-update"


@given(specs, specs)
def test_after_an_update_exactly_the_changed_fields_are_the_updaters(first: Any, second: Any) -> None:
    live = apply(None, first, "one")
    entries = FIELDS.on_update(live, config(second), manager="two", now=NOW)
    after = {**config(second), "metadata": {"name": "t", "managedFields": entries}}
    assert not owned(after, "one") & owned(after, "two")
    assert owned(after, "one") <= owned(live, "one")
    taken = owned(after, "two")
    for key in set(first.get("labels", {})) | set(second.get("labels", {})):
        before, now = first.get("labels", {}).get(key), second.get("labels", {}).get(key)
        assert (("f:spec", "f:labels", f"f:{key}") in taken) == (now is not None and now != before)
    for tag in ("a", "b", "c"):
        is_new = tag in second.get("tags", []) and tag not in first.get("tags", [])
        assert (("f:spec", "f:tags", f'v:"{tag}"') in taken) == is_new
    assert first != second or entries == live["metadata"]["managedFields"]

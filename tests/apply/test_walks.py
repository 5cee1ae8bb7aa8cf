"""The walks over an object, for every kind of list and map: fields named, changes seen, items merged and removed."""

from typing import Any

import pytest

from attractor.apply.atoms import Atom, root_atom_of
from attractor.apply.compare import compare_objects
from attractor.apply.merge import merge
from attractor.apply.prune import remove
from attractor.apply.typing import Untypable, fields_of, named_fields_as_members, reconciled, validate
from attractor.schema.node import Schema

STRING = {"type": "string"}
ITEM = {"type": "object", "properties": {"k": STRING, "v": STRING, "p": {"type": "string", "default": "TCP"}}}
KIND = Schema(
    {
        "type": "object",
        "properties": {
            "atomic": {"type": "array", "items": STRING},
            "set": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
            "map": {
                "type": "array",
                "items": ITEM,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
            },
            "defaulted": {
                "type": "array",
                "items": ITEM,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k", "p"],
            },
            "patched": {
                "type": "array",
                "items": ITEM,
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "k",
            },
            "struct": {"type": "object", "properties": {"a": STRING, "n": {"type": "integer"}}},
            "whole": {"type": "object", "properties": {"a": STRING}, "x-kubernetes-map-type": "atomic"},
            "labels": {"type": "object", "additionalProperties": STRING},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "opaque": {"type": "object"},
            "either": {"x-kubernetes-int-or-string": True},
            "flag": {"type": "boolean"},
        },
    }
)
ATOM: Atom = root_atom_of(KIND)
A, B, C = {"k": "a", "v": "1"}, {"k": "b", "v": "1"}, {"k": "c", "v": "1"}
KEY_A, KEY_B = 'k:{"k":"a"}', 'k:{"k":"b"}'
ITEM_FIELDS: dict[str, Any] = {".": {}, "f:k": {}, "f:v": {}}


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        ({"atomic": ["x"]}, {"f:atomic": {}}),
        ({"atomic": []}, {"f:atomic": {}}),
        ({"set": ["x", "y"]}, {"f:set": {'v:"x"': {}, 'v:"y"': {}}}),
        ({"set": []}, {}),
        ({"set": None}, {"f:set": {}}),
        ({"free": {}}, {"f:free": {}}),
        ({"labels": {"x": None}}, {"f:labels": {"f:x": {}}}),
        ({"map": [A]}, {"f:map": {KEY_A: ITEM_FIELDS}}),
        ({"patched": [A]}, {"f:patched": {KEY_A: ITEM_FIELDS}}),
        ({"defaulted": [{"k": "a"}]}, {"f:defaulted": {'k:{"k":"a","p":"TCP"}': {".": {}, "f:k": {}}}}),
        ({"struct": {"a": "1"}}, {"f:struct": {"f:a": {}}}),
        ({"struct": {}}, {"f:struct": {}}),
        ({"whole": {"a": "1"}}, {"f:whole": {}}),
        ({"labels": {"x": "1"}}, {"f:labels": {"f:x": {}}}),
        ({"free": {"m": {"n": [1]}}}, {"f:free": {"f:m": {".": {}, "f:n": {}}}}),
        ({"opaque": {"m": {"n": 1}}}, {"f:opaque": {}}),
        ({"either": 5}, {"f:either": {}}),
        ({"metadata": {"labels": {"x": "1"}}}, {"f:metadata": {"f:labels": {"f:x": {}}}}),
    ],
)
def test_an_applied_object_names_its_leaves_items_and_keys(obj: dict[str, Any], fields: dict[str, Any]) -> None:
    validate(ATOM, obj)
    assert fields_of(ATOM, obj) == fields


@pytest.mark.parametrize(
    ("obj", "complaint"),
    [
        ({"bogus": 1}, ".bogus: field not declared in schema"),
        ({"struct": {"b": 1}}, ".struct.b: field not declared in schema"),
        ({"struct": {"n": "x"}}, ".struct.n: expected numeric (int or float), got string"),
        ({"struct": {"n": True}}, ".struct.n: expected numeric (int or float), got bool"),
        ({"struct": {"a": 1}}, ".struct.a: expected string, got &value.valueUnstructured{Value:1}"),
        ({"flag": "yes"}, ".flag: expected boolean, got &{yes}"),
        ({"either": {}}, ".either: expected any scalar, got &{map[]}"),
        ({"struct": "x"}, ".struct: expected map, got &{x}"),
        ({"set": {"a": "b"}}, ".set: expected list, got &{map[a:b]}"),
        ({"set": ["x", "x"]}, '.set: duplicate entries for key [="x"]'),
        ({"map": [A, A]}, '.map: duplicate entries for key [k="a"]'),
        ({"set": [None]}, ".set: element 0: associative list without keys has an element that's an explicit null"),
        ({"set": [["x"]]}, ".set: element 0: not supported: associative list with lists as elements"),
        ({"set": [{}]}, ".set: element 0: associative list without keys has an element that's a map type"),
        ({"map": [None]}, ".map: element 0: associative list with keys may not have a null element"),
        ({"map": ["x"]}, ".map: element 0: associative list with keys may not have non-map elements"),
        (
            {"map": [{"v": "1"}]},
            ".map: element 0: associative list with keys has an element that omits all key fields "
            '["k"] (and doesn\'t have default values for any key fields)',
        ),
        ({"map": [{"k": "a", "x": 1}]}, '.map[k="a"].x: field not declared in schema'),
        ({"atomic": [1]}, ".atomic[0]: expected string, got &value.valueUnstructured{Value:1}"),
        (
            {"flag": 1, "struct": []},
            "errors:\n  .flag: expected boolean, got &{1}\n  .struct: expected map, got &{[]}",
        ),
    ],
)
def test_an_applied_object_that_does_not_fit_is_refused_in_kubernetes_words(
    obj: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(Untypable) as refused:
        validate(ATOM, obj)
    assert str(refused.value) == complaint


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        ({}, {"atomic": ["x"]}, {"f:atomic": {}}, {}, {}),
        ({"atomic": ["x"]}, {"atomic": ["y"]}, {}, {"f:atomic": {}}, {}),
        ({"atomic": ["x"]}, {}, {}, {}, {"f:atomic": {}}),
        ({}, {"set": ["x"]}, {"f:set": {".": {}, 'v:"x"': {}}}, {}, {}),
        ({"set": []}, {"set": ["x"]}, {"f:set": {'v:"x"': {}}}, {}, {}),
        ({"set": None}, {"set": []}, {}, {"f:set": {}}, {}),
        ({"set": ["x", "y"]}, {"set": ["y", "z"]}, {"f:set": {'v:"z"': {}}}, {}, {"f:set": {'v:"x"': {}}}),
        ({"set": ["x", "y"]}, {"set": ["y", "x"]}, {}, {}, {}),
        ({"set": ["x"]}, {"set": ["x", "x"]}, {"f:set": {'v:"x"': {}}}, {}, {"f:set": {'v:"x"': {}}}),
        ({}, {"map": [A]}, {"f:map": {".": {}, KEY_A: ITEM_FIELDS}}, {}, {}),
        ({"map": [A]}, {"map": [{**A, "v": "2"}]}, {}, {"f:map": {KEY_A: {"f:v": {}}}}, {}),
        ({"map": [A, B]}, {"map": [B]}, {}, {}, {"f:map": {KEY_A: ITEM_FIELDS}}),
        ({"map": [A, B]}, {"map": [B, A]}, {}, {}, {}),
        ({"map": [A]}, {"map": [{"k": "a"}]}, {}, {}, {"f:map": {KEY_A: {"f:v": {}}}}),
        ({"map": [A, A]}, {"map": [A, {**A, "v": "2"}]}, {}, {"f:map": {KEY_A: {}}}, {}),
        ({}, {"map": [A, A, B]}, {"f:map": {".": {}, KEY_A: {}, KEY_B: ITEM_FIELDS}}, {}, {}),
        ({"map": [A, A]}, {"map": [A, A]}, {}, {}, {}),
        ({"map": [A, A]}, {"map": [A]}, {"f:map": {KEY_A: ITEM_FIELDS}}, {}, {"f:map": {KEY_A: {}}}),
        ({}, {"struct": {"a": "1"}}, {"f:struct": {".": {}, "f:a": {}}}, {}, {}),
        ({"struct": {}}, {"struct": {"a": "1"}}, {"f:struct": {"f:a": {}}}, {}, {}),
        ({"struct": None}, {"struct": {}}, {}, {"f:struct": {}}, {}),
        ({"whole": {"a": "1"}}, {"whole": {"a": "2"}}, {}, {"f:whole": {}}, {}),
        ({"free": {"x": 1}}, {"free": {"x": {"y": 1}}}, {"f:free": {"f:x": {"f:y": {}}}}, {"f:free": {"f:x": {}}}, {}),
        ({"free": {"x": {"y": 1}}}, {"free": {"x": 1}}, {}, {"f:free": {"f:x": {}}}, {"f:free": {"f:x": {"f:y": {}}}}),
        ({"either": 1}, {"either": "1"}, {}, {"f:either": {}}, {}),
        ({"metadata": {"uid": "1"}}, {"metadata": {"uid": "2", "generation": 3}}, {}, {}, {}),
        ({}, {"metadata": {"labels": {"x": "1"}}}, {"f:metadata": {"f:labels": {".": {}, "f:x": {}}}}, {}, {}),
    ],
)
def test_a_comparison_tells_added_modified_and_removed_apart(
    old: dict[str, Any], new: dict[str, Any], added: Any, modified: Any, removed: Any
) -> None:
    found = compare_objects(ATOM, old, new)
    assert (found.added, found.modified, found.removed) == (added, modified, removed)


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        (["a", "b"], ["c"], ["a", "b", "c"]),
        (["a", "b"], ["b", "a"], ["b", "a"]),
        (["a", "x", "b"], ["b", "a"], ["x", "b", "a"]),
        (["a", "b", "c"], ["c", "n", "a"], ["b", "c", "n", "a"]),
        (["x", "a", "y"], ["a", "n"], ["x", "a", "y", "n"]),
        ([], ["a"], ["a"]),
        (["a"], [], ["a"]),
        (["a", "a", "b"], ["b"], ["a", "a", "b"]),
        (["a", "b", "a"], ["a"], ["a", "b"]),
    ],
)
def test_merged_lists_keep_both_orders_and_the_applied_one_wins(
    live: list[str], applied: list[str], merged: list[str]
) -> None:
    assert merge(ATOM, {"set": live}, {"set": applied}) == {"set": merged}
    items = {name: {"k": name} for name in {*live, *applied}}
    result = merge(ATOM, {"map": [items[n] for n in live]}, {"map": [items[n] for n in applied]})
    assert result == {"map": [items[name] for name in merged]}


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        ({"atomic": ["a"]}, {"atomic": ["b"]}, {"atomic": ["b"]}),
        ({"map": [A, B]}, {"map": [{"k": "b", "v": "2"}]}, {"map": [A, {"k": "b", "v": "2"}]}),
        ({"struct": {"a": "1"}}, {"struct": {"n": 2}}, {"struct": {"a": "1", "n": 2}}),
        ({"struct": {"a": "1"}}, {"struct": None}, {"struct": {"a": "1"}}),
        ({"struct": {"a": "1"}}, {"struct": {"a": None}}, {"struct": {"a": None}}),
        ({"whole": {"a": "1"}}, {"whole": {}}, {"whole": {}}),
        ({"labels": {"x": "1"}}, {"labels": {"y": "2"}}, {"labels": {"x": "1", "y": "2"}}),
        ({"free": {"x": {"y": 1}}}, {"free": {"x": {"z": [2]}}}, {"free": {"x": {"y": 1, "z": [2]}}}),
        ({"free": {"x": 1}}, {"free": {"x": {"z": 2}}}, {"free": {"x": {"z": 2}}}),
        ({"opaque": {"x": 1}}, {"opaque": {"y": 2}}, {"opaque": {"y": 2}}),
    ],
)
def test_applied_values_merge_as_the_schema_says(live: Any, applied: Any, merged: Any) -> None:
    assert merge(ATOM, live, applied) == merged


@pytest.mark.parametrize(
    ("obj", "fields", "rest"),
    [
        ({"set": ["a", "b"]}, {"f:set": {'v:"a"': {}}}, {"set": ["b"]}),
        ({"map": [A, B]}, {"f:map": {KEY_A: {}}}, {"map": [B]}),
        ({"map": [A, B]}, {"f:map": {KEY_B: {"f:v": {}}}}, {"map": [A, {"k": "b"}]}),
        ({"labels": {"x": "1", "y": "2"}}, {"f:labels": {"f:x": {}}}, {"labels": {"y": "2"}}),
        ({"labels": {"x": "1"}}, {"f:labels": {"f:x": {}}}, {"labels": None}),
        ({"labels": {"x": "1"}}, {"f:labels": {}}, {}),
        ({"atomic": ["a"], "flag": True}, {"f:atomic": {}}, {"flag": True}),
        ({"flag": True}, {}, {"flag": True}),
    ],
)
def test_removed_fields_are_gone_and_nothing_else(obj: Any, fields: Any, rest: Any) -> None:
    assert remove(ATOM, obj, fields) == rest


def test_live_duplicates_are_named_once_as_a_whole() -> None:
    assert fields_of(ATOM, {"map": [A, A, B]}) == {"f:map": {KEY_A: {}, KEY_B: ITEM_FIELDS}}


def test_named_fields_on_the_way_become_members_but_keys_of_plain_maps_do_not() -> None:
    fields: Any = {"f:struct": {"f:a": {}}, "f:free": {"f:m": {"f:n": {}}}, "f:map": {KEY_A: {"f:v": {}}}}
    assert named_fields_as_members(ATOM, fields) == {
        "f:struct": {".": {}, "f:a": {}},
        "f:free": {".": {}, "f:m": {"f:n": {}}},
        "f:map": {".": {}, KEY_A: {"f:v": {}}},
    }


def test_what_became_atomic_is_owned_as_a_whole() -> None:
    fields: Any = {"f:atomic": {'v:"x"': {}}, "f:whole": {"f:a": {}}, "f:labels": {"f:x": {}}, "f:map": {KEY_A: {}}}
    assert reconciled(ATOM, fields) == {"f:atomic": {}, "f:whole": {}, "f:labels": {"f:x": {}}, "f:map": {KEY_A: {}}}
    settled: Any = {"f:atomic": {}, "f:map": {KEY_A: {"f:v": {}}}}
    assert reconciled(ATOM, settled) is settled

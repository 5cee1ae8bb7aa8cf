"""Updates: what did not change is forgiven, what changed is not."""

from typing import Any

import pytest

from attractor.schema.custom import CustomSchema

SHORT = {"type": "string", "maxLength": 1}
ITEM = {"type": "object", "properties": {"k": {"type": "string"}, "v": SHORT}, "required": ["k"]}
SCHEMA = CustomSchema(
    {
        "type": "object",
        "properties": {
            "a": SHORT,
            "b": SHORT,
            "keyed": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": ITEM,
            },
            "atomic": {"type": "array", "x-kubernetes-list-type": "atomic", "items": SHORT},
            "plain": {"type": "array", "items": SHORT},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "members": {"type": "object", "additionalProperties": SHORT},
            "both": {"type": "string", "allOf": [{"maxLength": 1}]},
        },
    }
)

CASES: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("unchanged field is forgiven", {"a": "long"}, {"a": "long", "b": "x"}, []),
    ("changed field is not", {"a": "long"}, {"a": "longer"}, ["a"]),
    ("new field is not", {}, {"a": "long"}, ["a"]),
    (
        "keyed item is followed when it moves",
        {"keyed": [{"k": "1", "v": "long"}]},
        {"keyed": [{"k": "0"}, {"k": "1", "v": "long"}]},
        [],
    ),
    (
        "changed keyed item is not forgiven",
        {"keyed": [{"k": "1", "v": "long"}]},
        {"keyed": [{"k": "1", "v": "more"}]},
        ["keyed[0].v"],
    ),
    ("atomic list is the same only as a whole", {"atomic": ["long"]}, {"atomic": ["long", "x"]}, ["atomic[0]"]),
    ("unchanged atomic list is forgiven", {"atomic": ["long"]}, {"atomic": ["long"], "a": "x"}, []),
    ("plain list is atomic", {"plain": ["long"]}, {"plain": ["long", "x"]}, ["plain[0]"]),
    ("plain list that shifts is not forgiven", {"plain": ["long"]}, {"plain": ["x", "long"]}, ["plain[1]"]),
    ("members are followed by name", {"members": {"k": "long"}}, {"members": {"k": "long", "l": "x"}}, []),
    ("old repetitions in a set are forgiven", {"tags": ["a", "a"]}, {"tags": ["a", "a", "b"]}, []),
    ("new repetitions in a set are not", {"tags": ["a"]}, {"tags": ["a", "a"]}, ["tags[1]"]),
    ("field with allOf is forgiven as a whole", {"both": "long"}, {"both": "long", "a": "x"}, []),
]


@pytest.mark.parametrize(("old", "new", "paths"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_ratcheting(old: dict[str, Any], new: dict[str, Any], paths: list[str]) -> None:
    assert [error.path for error in SCHEMA.validate(new, old)] == paths


def ruled(rule: dict[str, Any], **fields: Any) -> CustomSchema:
    spec = {"type": "object", "properties": {"a": {"type": "integer"}, **fields}, "x-kubernetes-validations": [rule]}
    return CustomSchema({"type": "object", "properties": {"spec": spec, "other": {"type": "integer"}}})


def test_broken_rule_of_an_unchanged_value_is_forgiven() -> None:
    schema = ruled({"rule": "self.a > 5"})
    assert schema.validate({"spec": {"a": 1}, "other": 2}, {"spec": {"a": 1}}) == []
    assert [str(e) for e in schema.validate({"spec": {"a": 2}}, {"spec": {"a": 1}})] == [
        "spec: Invalid value: failed rule: self.a > 5"
    ]


def test_transition_rule_runs_only_with_an_old_value_and_is_never_forgiven() -> None:
    schema = ruled({"rule": "self.a == oldSelf.a + 1", "message": "count up"})
    assert schema.validate({"spec": {"a": 1}}) == []
    assert schema.validate({"spec": {"a": 2}}, {"spec": {"a": 1}}) == []
    assert [str(e) for e in schema.validate({"spec": {"a": 1}}, {"spec": {"a": 1}})] == [
        "spec: Invalid value: count up"
    ]


def test_optional_old_self_runs_on_create_too() -> None:
    schema = ruled({"rule": "oldSelf.hasValue() || self.a == 1", "optionalOldSelf": True})
    assert schema.validate({"spec": {"a": 1}}) == []
    assert len(schema.validate({"spec": {"a": 2}})) == 1
    assert schema.validate({"spec": {"a": 2}}, {"spec": {"a": 1}}) == []


def test_transition_rule_on_an_item_follows_its_key() -> None:
    item = {
        "type": "object",
        "required": ["k"],
        "properties": {"k": {"type": "string"}, "n": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.n >= oldSelf.n", "fieldPath": ".n"}],
    }
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item}
    schema = CustomSchema({"type": "object", "properties": {"l": keyed}})
    old = {"l": [{"k": "a", "n": 1}, {"k": "b", "n": 5}]}
    assert schema.validate({"l": [{"k": "b", "n": 6}, {"k": "a", "n": 1}, {"k": "c", "n": 0}]}, old) == []
    assert [e.path for e in schema.validate({"l": [{"k": "b", "n": 4}]}, old)] == ["l[0].n"]

"""Unknown fields and defaults."""

from typing import Any

import pytest

from attractor.schema.custom import CustomSchema

TEXT: dict[str, Any] = {"type": "string"}


def custom(spec: dict[str, Any]) -> CustomSchema:
    return CustomSchema({"type": "object", "properties": {"spec": spec}})


PRUNING: list[tuple[str, dict[str, Any], Any, list[str], Any]] = [
    ("declared fields stay", {"type": "object", "properties": {"a": TEXT}}, {"a": "x"}, [], {"a": "x"}),
    ("unknown fields go", {"type": "object", "properties": {"a": TEXT}}, {"b": 1, "a": "x"}, ["spec.b"], {"a": "x"}),
    (
        "unknown fields in lists go",
        {"type": "array", "items": {"type": "object", "properties": {"a": TEXT}}},
        [{"a": "x"}, {"x": 1}],
        ["spec[1].x"],
        [{"a": "x"}, {}],
    ),
    (
        "nested lists are looked into",
        {"type": "array", "items": {"type": "array", "items": {"type": "object"}}},
        [[{"x": 1}]],
        ["spec[0][0].x"],
        [[{}]],
    ),
    (
        "additional properties stay, and are looked into",
        {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": TEXT}}},
        {"k": {"a": "x", "b": 1}},
        ["spec.k.b"],
        {"k": {"a": "x"}},
    ),
    (
        "preserved fields stay, described ones below are looked into",
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "object"}}},
        {"free": {"x": 1}, "a": {"y": 1}},
        ["spec.a.y"],
        {"free": {"x": 1}, "a": {}},
    ),
    (
        "embedded resources keep their metadata",
        {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"x": 1}, "status": {}},
        ["spec.spec.x", "spec.status"],
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}},
    ),
    ("scalars where objects belong stay", {"type": "object", "properties": {"a": TEXT}}, 5, [], 5),
]


@pytest.mark.parametrize(
    ("spec", "value", "unknown", "left"), [case[1:] for case in PRUNING], ids=[c[0] for c in PRUNING]
)
def test_pruning(spec: dict[str, Any], value: Any, unknown: list[str], left: Any) -> None:
    schema, obj = custom(spec), {"apiVersion": "v1", "kind": "W", "metadata": {"x": 1}, "spec": value}
    assert schema.unknown_fields(obj) == unknown
    assert schema.prune_in_place(obj) == unknown
    assert obj == {"apiVersion": "v1", "kind": "W", "metadata": {"x": 1}, "spec": left}


def test_unknown_fields_are_told_sorted_and_the_object_stays() -> None:
    obj = {"z": 1, "spec": {"b": 1, "a": 1}}
    assert custom({"type": "object"}).unknown_fields(obj) == ["spec.a", "spec.b", "z"]
    assert obj == {"z": 1, "spec": {"b": 1, "a": 1}}


DEFAULTED = {"type": "string", "default": "red"}
DEFAULTING: list[tuple[str, dict[str, Any], Any, Any]] = [
    ("missing field gets its default", {"type": "object", "properties": {"a": DEFAULTED}}, {}, {"a": "red"}),
    ("given field stays", {"type": "object", "properties": {"a": DEFAULTED}}, {"a": "x"}, {"a": "x"}),
    ("null is replaced by the default", {"type": "object", "properties": {"a": DEFAULTED}}, {"a": None}, {"a": "red"}),
    (
        "null of a nullable field stays",
        {"type": "object", "properties": {"a": DEFAULTED | {"nullable": True}}},
        {"a": None},
        {"a": None},
    ),
    ("null without default goes", {"type": "object", "properties": {"a": TEXT}}, {"a": None}, {}),
    (
        "defaults inside a default are filled",
        {"type": "object", "properties": {"o": {"type": "object", "default": {}, "properties": {"a": DEFAULTED}}}},
        {},
        {"o": {"a": "red"}},
    ),
    (
        "missing object gets no inner defaults",
        {"type": "object", "properties": {"o": {"type": "object", "properties": {"a": DEFAULTED}}}},
        {},
        {},
    ),
    (
        "items are looked into",
        {"type": "array", "items": {"type": "object", "properties": {"a": DEFAULTED}}},
        [{}],
        [{"a": "red"}],
    ),
    ("null item gets the item's default", {"type": "array", "items": DEFAULTED}, [None, "x"], ["red", "x"]),
    ("null item without default stays", {"type": "array", "items": TEXT}, [None], [None]),
    (
        "null member gets the member's default",
        {"type": "object", "additionalProperties": DEFAULTED},
        {"k": None},
        {"k": "red"},
    ),
]


@pytest.mark.parametrize(("spec", "value", "left"), [case[1:] for case in DEFAULTING], ids=[c[0] for c in DEFAULTING])
def test_defaulting(spec: dict[str, Any], value: Any, left: Any) -> None:
    obj = {"spec": value}
    custom(spec).default_in_place(obj)
    assert obj == {"spec": left}


def test_defaults_are_copied_for_each_object() -> None:
    schema = custom({"type": "object", "properties": {"l": {"type": "array", "items": TEXT, "default": ["a"]}}})
    first: dict[str, Any] = {"spec": {}}
    second: dict[str, Any] = {"spec": {}}
    schema.default_in_place(first)
    first["spec"]["l"].append("b")
    schema.default_in_place(second)
    assert second == {"spec": {"l": ["a"]}}

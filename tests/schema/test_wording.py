"""Every schema keyword, valid and broken, in Kubernetes' words."""

from typing import Any

import pytest

from attractor.schema.accept import compile_acceptance
from attractor.schema.custom import CustomSchema
from attractor.schema.error_messages import explain
from attractor.schema.node import Schema

OBJ = {"type": "object"}

BROKEN: list[tuple[dict[str, Any], Any, list[str]]] = [
    ({"type": "integer"}, "3", ['x: Invalid value: "string": x in body must be of type integer: "string"']),
    ({"type": "integer"}, True, ['x: Invalid value: "boolean": x in body must be of type integer: "boolean"']),
    ({"type": "string"}, None, ['x: Invalid value: "null": x in body must be of type string: "null"']),
    ({"type": "string"}, 1, ['x: Invalid value: "integer": x in body must be of type string: "integer"']),
    ({"type": "boolean"}, {}, ['x: Invalid value: "object": x in body must be of type boolean: "object"']),
    ({"type": "object"}, [], ['x: Invalid value: "array": x in body must be of type object: "array"']),
    (
        {"type": "array", "items": OBJ},
        [1],
        ['x[0]: Invalid value: "integer": x[0] in body must be of type object: "integer"'],
    ),
    (
        {"type": "integer"},
        2.5,
        [
            'x: Invalid value: "number": x in body must be of type integer: "number"',
            '<nil>: Invalid value: "": Checked value must be of type integer (default format) in x',
        ],
    ),
    (
        {"type": "integer", "format": "int32"},
        2**31,
        ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x'],
    ),
    ({"type": "integer", "format": "int32"}, True, ['x: Invalid value: "": x in body must be of type int32: ""']),
    (
        {"type": "number", "format": "float"},
        1e39,
        ['<nil>: Invalid value: "": Checked value must be of type number with format float in x'],
    ),
    (
        {"x-kubernetes-int-or-string": True},
        True,
        ['x: Invalid value: "boolean": x in body must be of type integer,string: "boolean"'],
    ),
    ({"type": "integer", "minimum": 1}, 0, ["x: Invalid value: 0: x in body should be greater than or equal to 1"]),
    (
        {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        1,
        ["x: Invalid value: 1: x in body should be greater than 1"],
    ),
    ({"type": "integer", "maximum": 10}, 11, ["x: Invalid value: 11: x in body should be less than or equal to 10"]),
    (
        {"type": "number", "maximum": 1.5, "exclusiveMaximum": True},
        1.5,
        ["x: Invalid value: 1.5: x in body should be less than 1.5"],
    ),
    ({"type": "integer", "multipleOf": 3}, 4, ["x: Invalid value: 4: x in body should be a multiple of 3"]),
    ({"type": "number", "multipleOf": 0.1}, 0.25, ["x: Invalid value: 0.25: x in body should be a multiple of 0.1"]),
    ({"type": "string", "maxLength": 2}, "abc", ["x: Too long: may not be more than 2 bytes"]),
    ({"type": "string", "minLength": 2}, "a", ['x: Invalid value: "a": x in body should be at least 2 chars long']),
    ({"type": "string", "pattern": "^a+$"}, "b", ["x: Invalid value: \"b\": x in body should match '^a+$'"]),
    ({"type": "string", "enum": ["a", "b"]}, "c", ['x: Unsupported value: "c": supported values: "a", "b"']),
    ({"type": "integer", "enum": [1, 2]}, 3, ['x: Unsupported value: 3: supported values: "1", "2"']),
    (
        {"type": "array", "items": {}, "minItems": 2},
        [1],
        ["x: Invalid value: 1: x in body should have at least 2 items"],
    ),
    ({"type": "array", "items": {}, "maxItems": 1}, [1, 2], ["x: Too many: 2: must have at most 1 item"]),
    ({"type": "object", "minProperties": 1}, {}, ["x: Invalid value: 0: x in body should have at least 1 properties"]),
    ({"type": "object", "maxProperties": 1}, {"a": 1, "b": 2}, ["x: Too many: 2: must have at most 1 item"]),
    ({"type": "object", "required": ["a"]}, {}, ["x.a: Required value"]),
    (
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"a.b/c": 1},
        ['x.a.b/c: Invalid value: "integer": x.a.b/c in body must be of type string: "integer"'],
    ),
    (
        {"type": "string", "format": "date-time"},
        "yesterday",
        ['x: Invalid value: "yesterday": x in body must be of type date-time: "yesterday"'],
    ),
    (
        {"type": "string", "format": "date-time"},
        5,
        ['x: Invalid value: "int64": x in body must be of type date-time: "int64"'],
    ),
    (
        {"type": "integer", "oneOf": [{"minimum": 5}, {"minimum": 7}]},
        9,
        ['<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ),
    (
        {"type": "integer", "oneOf": [{"minimum": 5}]},
        1,
        [
            '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid',
            "x: Invalid value: 1: x in body should be greater than or equal to 5",
        ],
    ),
    (
        {"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 0}]},
        1,
        [
            '<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)',
            "x: Invalid value: 1: x in body should be greater than or equal to 5",
        ],
    ),
    (
        {"type": "integer", "allOf": [{"minimum": 5}, {"maximum": 9}]},
        1,
        [
            "x: Invalid value: 1: x in body should be greater than or equal to 5",
            '<nil>: Invalid value: "": "x" must validate all the schemas (allOf)',
        ],
    ),
    (
        {"type": "integer", "allOf": [{"minimum": 5}]},
        1,
        [
            "x: Invalid value: 1: x in body should be greater than or equal to 5",
            '<nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated',
        ],
    ),
    (
        {"type": "integer", "not": {"minimum": 5}},
        6,
        ['<nil>: Invalid value: "": "x" must not validate the schema (not)'],
    ),
]

BROKEN += [
    (
        {"type": "number", "maximum": 1.5, "exclusiveMaximum": True},
        1,
        ["x: Invalid value: 1: x in body should be less than 1"],
    ),
    (
        {"type": "integer", "minimum": 1.5},
        1,
        [
            '<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in x',
            "x: Invalid value: 1: x in body should be greater than or equal to 1.5",
        ],
    ),
]

VALID: list[tuple[dict[str, Any], Any]] = [
    ({"type": "integer"}, 3),
    ({"type": "integer"}, 3.0),
    ({"type": "number"}, 3),
    ({"type": "number", "minimum": 0.5}, 0),  # kube-openapi cuts the bound to an integer
    ({"type": "string", "nullable": True}, None),
    ({"x-kubernetes-int-or-string": True}, "80%"),
    ({"x-kubernetes-int-or-string": True}, 80),
    ({"type": "string", "format": "phone"}, "no such format, so anything goes"),
    ({"type": "string", "format": "date-time"}, []),  # kube-openapi's own oddity
    ({"type": "string", "maxLength": 2}, "éé"),
    ({"type": "array", "items": {}, "uniqueItems": False}, [1, 1]),
    ({"type": "string", "enum": ["a"], "nullable": True}, "a"),
    ({"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 0}]}, 0),
    ({"type": "integer", "not": {"minimum": 5}}, 4),
]


@pytest.mark.parametrize(("schema", "value", "said"), BROKEN, ids=lambda part: str(part)[:60])
def test_broken_keyword_is_told_in_kubernetes_words(schema: dict[str, Any], value: Any, said: list[str]) -> None:
    node = Schema({"type": "object", "properties": {"x": schema}})
    assert [str(error) for error in explain(node, {"x": value})] == said
    assert not compile_acceptance(node)({"x": value}), "the fast path accepts what the slow path refuses"


@pytest.mark.parametrize(("schema", "value"), VALID, ids=lambda part: str(part)[:60])
def test_valid_value_has_no_errors(schema: dict[str, Any], value: Any) -> None:
    assert CustomSchema({"type": "object", "properties": {"x": schema}}).validate({"x": value}) == []


def test_missing_and_wrong_fields_are_all_told_at_once() -> None:
    schema = CustomSchema(
        {"type": "object", "required": ["spec", "kind"], "properties": {"spec": OBJ | {"required": ["a"]}}}
    )
    assert [str(e) for e in schema.validate({"spec": {}})] == ["spec.a: Required value", "kind: Required value"]


def test_pattern_that_would_hang_a_backtracking_engine_is_answered_at_once() -> None:
    schema = CustomSchema({"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}})
    assert len(schema.validate({"x": "a" * 5000 + "!"})) == 1


def test_set_and_map_lists_refuse_repetitions() -> None:
    schema = CustomSchema(
        {
            "type": "object",
            "properties": {
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {
                        "type": "object",
                        "properties": {"port": {"type": "integer"}, "protocol": {"type": "string"}},
                    },
                },
            },
        }
    )
    errors = schema.validate(
        {"tags": ["a", "b", "a", "a"], "ports": [{"port": 1}, {"port": 1, "protocol": "x"}, {"port": 1}]}
    )
    assert [str(error) for error in errors] == [
        'tags[2]: Duplicate value: "a"',
        'ports[2]: Duplicate value: {"port":1}',
    ]


def test_embedded_resource_must_say_what_it_is() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    schema = CustomSchema({"type": "object", "properties": {"template": embedded}})
    bad = {"apiVersion": "a/b/c", "kind": "9", "metadata": {"name": "a/b"}}
    assert [(error.path, error.reason) for error in schema.validate({"template": bad})] == [
        ("template.apiVersion", "FieldValueInvalid"),
        ("template.kind", "FieldValueInvalid"),
        ("template.metadata.name", "FieldValueInvalid"),
    ]
    assert [str(e) for e in schema.validate({"template": {}})] == [
        "template.apiVersion: Required value",
        "template.kind: Required value",
    ]
    assert schema.validate({"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}}) == []


@pytest.mark.parametrize("opening", ["list", "map"])
def test_values_nested_deeper_than_pythons_stack_are_judged(opening: str) -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = [deep] if opening == "list" else {"a": deep}
    free = {"x-kubernetes-preserve-unknown-fields": True}
    tags = {"type": "array", "x-kubernetes-list-type": "set", "items": free}
    schema = CustomSchema({"type": "object", "properties": {"free": free, "tags": tags, "n": {"type": "integer"}}})
    obj = {"free": deep, "tags": [deep, deep], "n": "x", "unknown": deep}
    assert schema.unknown_fields(obj) == ["unknown"]
    assert [error.path for error in schema.validate({**obj, "tags": []})] == ["n"]
    assert [error.path for error in schema.validate(obj)][:2] == ["n", "tags[1]"]
    assert schema.validate(obj, dict(obj)) == []


@pytest.mark.parametrize("odd", [{"required": ["size", "size"]}, {"minProperties": -1}, {"enum": [{"size": 1}] * 2}])
def test_a_schema_that_json_schema_forbids_but_kubernetes_takes_still_decides(odd: dict[str, Any]) -> None:
    schema = Schema({"type": "object", **odd})
    accepts = compile_acceptance(schema)
    assert explain(schema, {"size": 1}) == []
    assert not accepts("no object")

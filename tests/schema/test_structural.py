"""What the API server says about schemas of definitions."""

from typing import Any

import pytest

from attractor.schema.structural import check_structural

TEXT: dict[str, Any] = {"type": "string"}
COST = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
KEYED = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}

CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("type is missing", {}, [".type: Required value: must not be empty for specified object fields"]),
    ("items are missing", {"type": "array"}, [".items: Required value: must be specified"]),
    (
        "item type is missing",
        {"type": "array", "items": {}},
        [".items.type: Required value: must not be empty for specified array items"],
    ),
    (
        "type is unknown",
        {"type": "text"},
        [
            '.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"'
        ],
    ),
    ("$ref", {"type": "object", "$ref": "#/x"}, [".$ref: Forbidden: $ref is not supported"]),
    (
        "uniqueItems",
        {"type": "array", "items": TEXT, "uniqueItems": True},
        [".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"],
    ),
    (
        "properties beside additionalProperties",
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT},
        [".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ),
    (
        "type in a junctor",
        {"type": "string", "anyOf": [{"type": "string", "description": "d", "default": 1, "nullable": True}]},
        [
            ".anyOf[0].default: Forbidden: must be undefined to be structural",
            ".anyOf[0].description: Forbidden: must be empty to be structural",
            ".anyOf[0].nullable: Forbidden: must be false to be structural",
            ".anyOf[0].type: Forbidden: must be empty to be structural",
        ],
    ),
    (
        "the two int-or-string shapes",
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        [],
    ),
    (
        "int-or-string in allOf",
        {
            "x-kubernetes-int-or-string": True,
            "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "a"}],
        },
        [],
    ),
    (
        "pattern is no pattern",
        {"type": "string", "pattern": "a("},
        [
            '.pattern: Invalid value: "a(": must be a valid regular expression, but isn\'t: '
            "error parsing regexp: missing closing ): `a(`"
        ],
    ),
    (
        "default of the wrong type",
        {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
        ['.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"'],
    ),
    (
        "default with unknown fields",
        {"type": "object", "default": {"x": 1}},
        ['.default: Invalid value: {"x":1}: must not have unknown fields'],
    ),
    (
        "default that breaks a rule",
        {"type": "integer", "default": 1, "x-kubernetes-validations": [{"rule": "self > 1", "message": "more"}]},
        [".default: Invalid value: 1: more"],
    ),
    (
        "map list without keys",
        {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}},
        [".x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"],
    ),
    (
        "map list key that is no field",
        KEYED | {"items": {"type": "object"}},
        ['.x-kubernetes-list-map-keys: Invalid value: ["k"]: entries must all be names of item properties'],
    ),
    (
        "map list key that may be missing",
        KEYED | {"items": {"type": "object", "properties": {"k": TEXT}}},
        [
            ".items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must "
            "have a default or be a required property"
        ],
    ),
    (
        "map list key that is a list",
        KEYED | {"items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "array", "items": TEXT}}}},
        [
            '.items.properties[k].type: Invalid value: "object": must be a scalar type if parent array\'s '
            "x-kubernetes-list-type is map"
        ],
    ),
    (
        "set of granular objects",
        {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}},
        [
            ".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with "
            "x-kubernetes-list-type=set"
        ],
    ),
    (
        "list type on an object",
        {"type": "object", "x-kubernetes-list-type": "atomic"},
        ['.type: Invalid value: "object": must be array if x-kubernetes-list-type is specified'],
    ),
    (
        "preserve said as false",
        {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
        [".x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
    ),
    (
        "embedded resource of no type",
        {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        [".type: Required value: must be object if x-kubernetes-embedded-resource is true"],
    ),
    (
        "embedded resource without fields",
        {"type": "object", "x-kubernetes-embedded-resource": True},
        [
            ".properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        ],
    ),
    (
        "rule that is empty",
        {"type": "string", "x-kubernetes-validations": [{"rule": " "}]},
        [".x-kubernetes-validations[0].rule: Required value: rule is not specified"],
    ),
    (
        "rule with a reason of its own",
        {"type": "string", "x-kubernetes-validations": [{"rule": "true", "reason": "Because"}]},
        [
            '.x-kubernetes-validations[0].reason: Unsupported value: "Because": supported values: '
            '"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'
        ],
    ),
    (
        "rule whose field path leads nowhere",
        {
            "type": "object",
            "properties": {"a": TEXT},
            "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".b"}],
        },
        ['.x-kubernetes-validations[0].fieldPath: Invalid value: ".b": must be a valid path'],
    ),
    (
        "rule that does not compile",
        {"type": "string", "x-kubernetes-validations": [{"rule": "self < 1"}]},
        [
            '.x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self \\u003c 1","Message":"","MessageExpression":"",'
            '"Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:6: '
            "found no matching overload for '_<_' applied to '(string, int)'\n | self < 1\n | .....^"
        ],
    ),
    (
        "old value in an atomic list",
        {
            "type": "array",
            "items": {"type": "string", "maxLength": 5, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
            "maxItems": 5,
        },
        [
            '.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the '
            "uncorrelatable portion of the schema within schema.properties[x]"
        ],
    ),
    (
        "optionalOldSelf without oldSelf",
        {"type": "string", "x-kubernetes-validations": [{"rule": "true", "optionalOldSelf": True}]},
        [
            ".x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used "
            "in rule"
        ],
    ),
]


@pytest.mark.parametrize(("schema", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_schema_of_a_field(schema: dict[str, Any], said: list[str]) -> None:
    errors = check_structural({"type": "object", "properties": {"x": schema}}, "schema")
    assert [str(error) for error in errors] == [f"schema.properties[x]{text}" for text in said]


def test_quadratic_rule_over_unbounded_lists_is_refused_three_ways() -> None:
    rule = {"rule": "self.l.all(a, self.l.all(b, a == b))"}
    spec = {"type": "object", "properties": {"l": {"type": "array", "items": TEXT}}, "x-kubernetes-validations": [rule]}
    at = "schema.properties[spec].x-kubernetes-validations[0].rule"
    assert [str(e) for e in check_structural({"type": "object", "properties": {"spec": spec}}, "schema")] == [
        f"{at}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {COST}",
        f"{at}: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        "schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds "
        f"budget by factor of more than 100x {COST}",
    ]


def test_bounded_rule_is_taken() -> None:
    rule = {"rule": "self.l.all(a, self.l.all(b, a == b))"}
    lists = {"type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 50}}
    spec = {"type": "object", "properties": {"l": lists}, "x-kubernetes-validations": [rule]}
    assert check_structural({"type": "object", "properties": {"spec": spec}}) == []


def cases(message: int, expectation: int) -> dict[str, Any]:
    expected = {"type": "string", "maxLength": expectation}
    case = {
        "type": "object",
        "properties": {
            "message": {"type": "string", "maxLength": message},
            "expect": {"type": "object", "properties": {"contains": expected, "equals": expected}},
        },
        "x-kubernetes-validations": [
            {
                "rule": "(!has(self.expect.contains) || !self.message.contains(self.expect.contains)) && "
                "(!has(self.expect.equals) || self.message != self.expect.equals)"
            }
        ],
    }
    return {"type": "object", "properties": {"cases": {"type": "array", "maxItems": 20, "items": case}}}


def test_cost_factor_is_the_one_that_a_real_server_was_seen_to_tell() -> None:
    assert [str(error) for error in check_structural(cases(4096, 4096), "s")] == [
        "s.properties[cases].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by "
        f"factor of 5.4x {COST}"
    ]


@pytest.mark.parametrize(("message", "expectation"), [(1024, 1024), (4096, 512), (4096, 128)])
def test_bounds_that_a_real_server_was_seen_to_take_are_taken(message: int, expectation: int) -> None:
    assert check_structural(cases(message, expectation)) == []


ROOTS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("no type", {}, ["s.type: Required value: must not be empty at the root"]),
    ("wrong type", {"type": "string"}, ['s.type: Invalid value: "string": must be object at the root']),
    ("nullable", {"type": "object", "nullable": True}, ["s.nullable: Forbidden: nullable cannot be true at the root"]),
    (
        "additional properties",
        {"type": "object", "additionalProperties": TEXT},
        ["s.additionalProperties: Forbidden: must not be used at the root"],
    ),
    (
        "metadata beyond its name",
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
        },
        [
            "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata "
            "is implicitly specified"
        ],
    ),
    (
        "metadata's name",
        {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": TEXT}}}},
        [],
    ),
    (
        "default for kind",
        {"type": "object", "properties": {"kind": {"type": "string", "default": "K"}}},
        ["s.properties[kind].default: Forbidden: must not be set in top-level kind"],
    ),
    (
        "junctor that mentions what is not there",
        {"type": "object", "anyOf": [{"properties": {"a": {"minimum": 1}}}]},
        ["s.properties[a]: Required value: because it is defined in s.anyOf[0].properties[a]"],
    ),
    (
        "rules at the root see name and kind",
        {
            "type": "object",
            "x-kubernetes-validations": [{"rule": "self.metadata.name.size() < 10 && self.kind == 'W'"}],
        },
        [],
    ),
]


@pytest.mark.parametrize(("schema", "said"), [case[1:] for case in ROOTS], ids=[case[0] for case in ROOTS])
def test_schema_at_the_root(schema: dict[str, Any], said: list[str]) -> None:
    assert [str(error) for error in check_structural(schema, "s")] == said

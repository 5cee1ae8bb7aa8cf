"""What rules may cost: bounds before any object exists, and a budget when they run."""

from typing import Any

import pytest

from attractor.cel import CelProgram, CostExceeded, declare
from attractor.cel.types import DYN
from attractor.objects.field import FieldError
from attractor.schema.custom import CustomSchema
from attractor.schema.keywords import cost_message
from attractor.schema.node import Schema

BOUNDED = declare(
    Schema(
        {
            "type": "object",
            "properties": {
                "n": {"type": "integer"},
                "s": {"type": "string", "maxLength": 100},
                "l": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 5}},
            },
        }
    )
)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("true", 0),
        ("self.n > 1", 3),  # variable, field, comparison
        ("has(self.n)", 1),
        ("self.s == 'abc'", 3),  # two for self.s, one for three characters
        ("self.s == self.s", 44),  # two twice, and a tenth of four octets for each of 100 characters
        ("self.s.startsWith('abcdefghijk')", 4),
        ("self.s.contains('ab')", 42),
        ("self.s.matches('a+')", 43),
        ("self.l.all(x, true)", 33),  # two, one for the result, three a turn
        ("self.l.exists(x, x == 'a')", 63),
        ("[1, 2].size() == 2", 12),
    ],
)
def test_estimate_counts_as_cel_go(text: str, most: int) -> None:
    assert BOUNDED is not None
    assert CelProgram.compile(text, {"self": BOUNDED}).max_cost == most


@pytest.mark.parametrize(
    "text", ["self.n > 1", "self.l.all(x, x == 'aaaaa')", "self.s.matches('a+')", "self.l.map(x, x + 'b').size() > 1"]
)
def test_actual_cost_stays_below_the_estimate(text: str) -> None:
    assert BOUNDED is not None
    program = CelProgram.compile(text, {"self": BOUNDED})
    _, cost = program.evaluate_counting({"self": {"n": 1, "s": "a" * 100, "l": ["aaaaa"] * 10}}, 1e9)
    assert 0 < cost <= program.max_cost


@pytest.mark.parametrize(
    "text",
    [
        "v.all(a, v.all(b, v.all(c, v.all(d, true))))",
        "v.map(a, v.map(b, v.map(c, a + b + c))).size() > 0",
        "v.exists(a, v.exists(b, sets.contains(v, [a, b, -1])))",
        "v.all(a, !v.map(b, 'x').join('').matches('(x+x+)+y'))",
    ],
)
def test_expensive_evaluation_is_stopped_by_its_budget(text: str) -> None:
    program = CelProgram.compile(text, {"v": DYN})
    with pytest.raises(CostExceeded, match="operation cancelled: actual cost limit exceeded"):
        program.evaluate({"v": list(range(2000))}, limit=100_000)


def unbounded(rule: str) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}}}
    return {"type": "object", "properties": {"spec": spec | {"x-kubernetes-validations": [{"rule": rule}]}}}


def test_object_that_makes_one_rule_too_expensive_is_refused_with_a_clear_message() -> None:
    schema = CustomSchema(unbounded("self.l.all(a, self.l.all(b, self.l.all(c, true)))"))
    assert [str(error) for error in schema.validate({"spec": {"l": list(range(500))}})] == [
        "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules "
        "will be run due to call cost exceeds limit for rule: self.l.all(a, self.l.all(b, self.l.all(c, true)))"
    ]


def test_all_rules_of_an_object_share_one_budget() -> None:
    schema = CustomSchema(unbounded("self.l.all(a, true)"), budget=100)
    assert schema.validate({"spec": {"l": [1]}}) == []
    assert [str(error) for error in schema.validate({"spec": {"l": list(range(500))}})] == [
        'spec: Invalid value: "object": validation failed due to running out of cost budget, no further validation rules '
        "will be run"
    ]


def test_factor_is_told_as_kubernetes_does() -> None:
    assert "by factor of 1.200000x (" in cost_message("estimated rule cost", 12, 10)
    assert "by factor of 5.4x (" in cost_message("estimated rule cost", 54, 10)
    assert "by factor of more than 100x (" in cost_message("estimated rule cost", 10_001, 10)


RULES: list[tuple[dict[str, Any], FieldError]] = [
    ({"rule": "self > 5"}, FieldError.invalid("spec.n", 1, "failed rule: self > 5")),
    ({"rule": "self > 5", "message": " too small "}, FieldError.invalid("spec.n", 1, "too small")),
    ({"rule": "self > 5", "reason": "FieldValueForbidden", "message": "m"}, FieldError.forbidden("spec.n", "m")),
    ({"rule": "self > 5", "reason": "FieldValueRequired", "message": "m"}, FieldError.required("spec.n", "m")),
    ({"rule": "self > 5", "reason": "FieldValueDuplicate", "message": "m"}, FieldError.duplicate("spec.n", 1)),
    ({"rule": "self > 5", "messageExpression": "'got ' + string(self)"}, FieldError.invalid("spec.n", 1, "got 1")),
    ({"rule": "self > 5", "messageExpression": "''", "message": "m"}, FieldError.invalid("spec.n", 1, "m")),
    ({"rule": "self > 5", "messageExpression": "string(1 / 0)", "message": "m"}, FieldError.invalid("spec.n", 1, "m")),
    (
        {"rule": "1 / 0 == self", "message": "m"},
        FieldError.invalid("spec.n", "integer", "division by zero evaluating rule: m"),
    ),
]


@pytest.mark.parametrize(("rule", "error"), RULES, ids=lambda part: str(part)[:50])
def test_broken_rule_says_what_its_author_wanted(rule: dict[str, Any], error: FieldError) -> None:
    number = {"type": "integer", "x-kubernetes-validations": [rule]}
    schema = CustomSchema({"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": number}}}})
    assert schema.validate({"spec": {"n": 1}}) == [error]


def test_rule_at_the_root_has_no_path_but_may_name_a_field() -> None:
    rules = [
        {"rule": "self.metadata.name != 'a'", "message": "m"},
        {"rule": "false", "fieldPath": ".spec", "message": "n"},
    ]
    schema = CustomSchema(
        {"type": "object", "properties": {"spec": {"type": "object"}}, "x-kubernetes-validations": rules}
    )
    errors = schema.validate({"apiVersion": "v1", "kind": "W", "metadata": {"name": "a"}, "spec": {}})
    assert [str(error) for error in errors] == ["<nil>: Invalid value: m", "spec: Invalid value: n"]


def test_rules_do_not_run_on_objects_whose_shape_is_wrong() -> None:
    number = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5"}]}
    schema = CustomSchema({"type": "object", "properties": {"n": number}})
    assert [str(error) for error in schema.validate({"n": "x"})][1:] == [
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    ]

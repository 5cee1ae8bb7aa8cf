"""Laws that hold for every schema and every value."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.schema.accept import compile_acceptance
from attractor.schema.custom import CustomSchema
from attractor.schema.error_messages import explain
from attractor.schema.node import Schema
from attractor.schema.structural import check_structural

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-20, 20)
    | st.sampled_from([2**31, 2**62, -1.5, 0.5, 3.0, 1e30])
    | st.sampled_from(["", "a", "abc", "2024-01-01T00:00:00Z", "1h"])
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=10
)
OBJECTS = st.dictionaries(NAMES | st.sampled_from(["metadata", "kind"]), JSON, max_size=4)


def some(**choices: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name.replace("__", "-"): value for name, value in choices.items()})


def merged(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(lambda found: {name: value for part in found for name, value in part.items()})


NUMERIC = some(
    minimum=st.integers(-5, 5) | st.sampled_from([-1.5, 0.5]),
    maximum=st.integers(-5, 5) | st.sampled_from([-0.5, 1.5]),
    exclusiveMinimum=st.booleans(),
    exclusiveMaximum=st.booleans(),
    multipleOf=st.sampled_from([1, 2, 3]),
)
BOUNDS = merged(
    NUMERIC,
    some(minLength=st.integers(0, 2), maxLength=st.integers(0, 2), pattern=st.sampled_from(["^a", "b$", "(a|c)+"])),
)
JUNCTORS: st.SearchStrategy[dict[str, Any]] = (
    some(
        anyOf=st.lists(BOUNDS, min_size=1, max_size=2),
        oneOf=st.lists(BOUNDS, min_size=1, max_size=2),
        allOf=st.lists(BOUNDS, min_size=1, max_size=2),
    )
    | st.builds(lambda inner: {"not": inner}, BOUNDS)
    | st.just({})
)
LEAVES = merged(
    st.one_of(
        merged(st.just({"type": "integer"}), NUMERIC, some(format=st.sampled_from(["int32", "int64"]))),
        merged(st.just({"type": "number"}), NUMERIC),
        merged(st.just({"type": "string"}), BOUNDS, some(format=st.sampled_from(["date-time", "duration", "nothing"]))),
        st.just({"type": "boolean"}),
        st.just({"x-kubernetes-int-or-string": True}),
        merged(st.just({"type": "string"}), some(enum=st.just(["a", "abc"]), default=st.sampled_from(["a", "abc"]))),
        merged(st.just({"type": "integer"}), some(default=st.integers(0, 3))),
    ),
    some(nullable=st.booleans()),
    JUNCTORS,
)


def above(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    extras = some(nullable=st.booleans(), default=st.just({}), required=st.lists(NAMES, max_size=2, unique=True))
    free = some(x__kubernetes__preserve__unknown__fields=st.just(True), maxProperties=st.integers(0, 3))
    return st.one_of(
        merged(
            st.just({"type": "object"}),
            st.builds(lambda p: {"properties": p}, st.dictionaries(NAMES, inner, max_size=3)),
            extras,
            free,
        ),
        st.builds(lambda schema: {"type": "object", "additionalProperties": schema}, inner),
        merged(
            st.builds(lambda schema: {"type": "array", "items": schema}, inner),
            some(
                minItems=st.integers(0, 1),
                maxItems=st.integers(0, 3),
                x__kubernetes__list__type=st.sampled_from(["set", "atomic"]),
            ),
        ),
    )


SCHEMAS = st.recursive(LEAVES, above, max_leaves=6)
ROOTS = st.builds(
    lambda properties: {"type": "object", "properties": properties}, st.dictionaries(NAMES, SCHEMAS, max_size=3)
)


@settings(max_examples=300, deadline=None)
@given(ROOTS, OBJECTS)
def test_what_the_fast_path_accepts_the_slow_path_has_nothing_to_say_about(
    doc: dict[str, Any], obj: dict[str, Any]
) -> None:
    node = Schema(doc)
    if compile_acceptance(node)(obj):
        assert explain(node, obj) == []


EXACT_JUNCTORS = JUNCTORS.filter(lambda doc: "multipleOf" not in str(doc) and ".5" not in str(doc))  # inexact there
EXACT = st.recursive(
    st.one_of(
        merged(st.just({"type": "integer"}), NUMERIC.filter(lambda doc: ".5" not in str(doc)), EXACT_JUNCTORS),
        merged(
            st.just({"type": "string"}),
            BOUNDS.filter(lambda doc: "multipleOf" not in doc and ".5" not in str(doc)),
            EXACT_JUNCTORS,
            some(nullable=st.booleans()),
        ),
        st.just({"type": "boolean"}),
    ),
    lambda inner: (
        st.builds(
            lambda p: {"type": "object", "properties": p, "required": ["a"]}, st.dictionaries(NAMES, inner, max_size=3)
        )
        | st.builds(lambda schema: {"type": "array", "items": schema, "maxItems": 2}, inner)
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(EXACT, JSON)
def test_both_paths_agree_where_the_languages_do(schema: dict[str, Any], value: Any) -> None:
    node = Schema({"type": "object", "properties": {"x": schema}})
    assert compile_acceptance(node)({"x": value}) == (explain(node, {"x": value}) == [])


@settings(max_examples=200, deadline=None)
@given(ROOTS, OBJECTS)
def test_pruning_twice_is_pruning_once(doc: dict[str, Any], obj: dict[str, Any]) -> None:
    schema = CustomSchema(doc)
    told = schema.unknown_fields(obj)
    assert schema.prune_in_place(obj) == told
    once = copy.deepcopy(obj)
    assert schema.prune_in_place(obj) == []
    assert obj == once


@settings(max_examples=200, deadline=None)
@given(ROOTS, OBJECTS)
def test_defaulting_twice_is_defaulting_once(doc: dict[str, Any], obj: dict[str, Any]) -> None:
    schema = CustomSchema(doc)
    schema.default_in_place(obj)
    once = copy.deepcopy(obj)
    schema.default_in_place(obj)
    assert obj == once


@settings(max_examples=200, deadline=None)
@given(ROOTS, OBJECTS)
def test_pruning_and_defaulting_commute(doc: dict[str, Any], obj: dict[str, Any]) -> None:
    schema, other = CustomSchema(doc), copy.deepcopy(obj)
    schema.prune_in_place(obj)
    schema.default_in_place(obj)
    schema.default_in_place(other)
    schema.prune_in_place(other)
    assert obj == other


@settings(max_examples=300, deadline=None)
@given(ROOTS, OBJECTS, OBJECTS)
def test_an_old_object_never_adds_errors(doc: dict[str, Any], new: dict[str, Any], old: dict[str, Any]) -> None:
    schema = CustomSchema(doc)
    alone = {str(error) for error in schema.validate(new)}
    assert {str(error) for error in schema.validate(new, old)} <= alone


@settings(max_examples=200, deadline=None)
@given(ROOTS, OBJECTS)
def test_an_unchanged_object_is_always_forgiven(doc: dict[str, Any], obj: dict[str, Any]) -> None:
    assert CustomSchema(doc).validate(obj, copy.deepcopy(obj)) == []


ANY_KEYWORD = st.recursive(
    JSON,
    lambda inner: st.dictionaries(
        st.sampled_from(
            [
                "type",
                "properties",
                "items",
                "additionalProperties",
                "anyOf",
                "allOf",
                "oneOf",
                "not",
                "default",
                "nullable",
                "enum",
                "required",
                "pattern",
                "format",
                "minimum",
                "maxLength",
                "maxItems",
                "x-kubernetes-list-type",
                "x-kubernetes-list-map-keys",
                "x-kubernetes-int-or-string",
                "x-kubernetes-preserve-unknown-fields",
                "x-kubernetes-embedded-resource",
                "x-kubernetes-map-type",
            ]
        ),
        inner | st.sampled_from(["object", "array", "string", "integer", "map", "set", "("]),
        max_size=4,
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(ROOTS, JSON)
def test_any_json_value_is_judged_without_an_exception(doc: dict[str, Any], value: Any) -> None:
    schema = CustomSchema(doc)
    for error in schema.validate({"a": value, "b": value}):
        assert str(error)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["spec", "status", "metadata"]), ROOTS | LEAVES, max_size=2))
def test_checking_a_wellformed_definition_never_raises(properties: dict[str, Any]) -> None:
    for error in check_structural({"type": "object", "properties": properties}):
        assert str(error)


@settings(max_examples=400, deadline=None)
@given(ANY_KEYWORD)
def test_checking_anything_at_all_never_raises(document: Any) -> None:
    for error in check_structural(document):
        assert str(error)

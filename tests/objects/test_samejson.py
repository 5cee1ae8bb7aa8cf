"""A number is never a truth value, however deep it stands; and which kinds can hold either."""

import pytest

from attractor.k8s import catalog
from attractor.objects.json_equality import same_json
from attractor.schema.node import Schema
from attractor.schema.untyped import has_untyped


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, True), (0, False), ([1], [True]), ({"a": {"b": [0]}}, {"a": {"b": [False]}})],
)
def test_numbers_and_truth_values_differ(left: object, right: object) -> None:
    assert left == right
    assert not same_json(left, right)


def test_the_order_of_fields_does_not_count_and_a_fraction_of_nothing_is_none() -> None:
    assert same_json({"a": 1, "b": [True]}, {"b": [True], "a": 1})
    assert same_json(1, 1.0)


def test_values_may_be_nested_deeper_than_the_stack() -> None:
    def nested(inmost: object) -> object:
        for _ in range(5000):
            inmost = [{"a": inmost}]
        return inmost

    assert same_json(nested(1), nested(1))
    assert not same_json(nested(1), nested(True))
    assert not same_json(nested(1), nested(2))


def test_kinds_whose_schema_leaves_nothing_open_are_told_from_others() -> None:
    closed = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
    opened = {"type": "object", "properties": {"spec": {"x-kubernetes-preserve-unknown-fields": True}}}
    assert not has_untyped(Schema(closed))
    assert has_untyped(Schema(opened))
    assert has_untyped(None)


def test_built_in_kinds_that_hold_anything_are_few() -> None:
    kinds = {
        info.kind for info in catalog.resources() if info.group in {"", "apps", "batch"} and has_untyped(info.schema)
    }
    assert kinds == {"ControllerRevision"}

"""Field sets behave as sets of paths; the oracle is Python's own set."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.apply import fieldset
from attractor.apply.fieldset import BadFieldSet, FieldSet, Path

ELEMENTS = ["f:a", "f:b", "f:.", 'k:{"name":"x"}', 'k:{"port":80,"protocol":"TCP"}', 'v:"s"', "v:1"]
path_sets = st.frozensets(st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=4).map(tuple), max_size=12)


def members(fields: FieldSet) -> set[Path]:
    found = list(fieldset.paths(fields))
    assert len(found) == len(set(found))
    return set(found)


def is_normal(fields: FieldSet) -> bool:
    return all(set(below) != {"."} and is_normal(below) for below in fields.values())


@given(path_sets)
def test_a_set_of_paths_is_encoded_and_decoded_without_loss(paths: frozenset[Path]) -> None:
    encoded = fieldset.encode(fieldset.from_paths(paths))
    assert members(encoded) == paths
    assert fieldset.decode(encoded) == encoded


@given(path_sets, path_sets)
def test_union_intersection_and_difference_are_those_of_sets(left: frozenset[Path], right: frozenset[Path]) -> None:
    a, b = fieldset.from_paths(left), fieldset.from_paths(right)
    for operation, expected in (
        (fieldset.union, left | right),
        (fieldset.intersection, left & right),
        (fieldset.difference, left - right),
    ):
        result = operation(a, b)
        assert members(result) == expected
        assert is_normal(result)
    assert members(a) == left
    assert members(b) == right


@given(path_sets, path_sets)
def test_recursive_difference_also_removes_what_is_below(left: frozenset[Path], right: frozenset[Path]) -> None:
    result = fieldset.recursive_difference(fieldset.from_paths(left), fieldset.from_paths(right))
    expected = {path for path in left if not any(path[: len(other)] == other for other in right)}
    assert members(result) == expected
    assert is_normal(result)


@given(path_sets)
def test_leaves_are_the_members_with_no_member_below(paths: frozenset[Path]) -> None:
    expected = {p for p in paths if not any(len(q) > len(p) and q[: len(p)] == p for q in paths)}
    assert members(fieldset.leaves(fieldset.from_paths(paths))) == expected


@given(path_sets)
def test_union_with_a_subset_gives_the_very_same_set(paths: frozenset[Path]) -> None:
    whole = fieldset.from_paths(paths)
    half = fieldset.from_paths(sorted(paths)[::2])
    assert not whole or fieldset.union(whole, half) is whole
    stored = orjson.loads(orjson.dumps(whole))
    assert not stored or fieldset.union(stored, half) is stored, "as stored, no two empty sets are one object"


def test_a_lone_dot_means_the_same_as_nothing() -> None:
    assert fieldset.decode({"f:data": {".": {}}}) == {"f:data": {}}
    assert fieldset.decode({"f:data": {".": {}, "f:a": {".": {}}}}) == {"f:data": {".": {}, "f:a": {}}}
    assert fieldset.decode({".": {}, "f:data": {}}) == {"f:data": {}}
    assert fieldset.decode({".": {}}) == fieldset.decode(None) == {}


def test_keys_are_brought_into_one_spelling() -> None:
    assert fieldset.decode({'k:{"b": 1, "a": "x"}': {}, 'v: "s"': {}}) == {'k:{"a":"x","b":1}': {}, 'v:"s"': {}}


@given(path_sets)
def test_a_set_in_normal_form_is_decoded_to_itself(paths: frozenset[Path]) -> None:
    fields = fieldset.from_paths(paths)
    assert not fields or fieldset.decode(fields) is fields


@pytest.mark.parametrize(
    "bad",
    [
        {"data": {}},
        {"x:a": {}},
        {"f:a": {"b": {}}},
        {"f:a": 1},
        {"f:a": None},
        {"f:a": []},
        ["f:a"],
        {"k:{broken": {}},
        {"k:[1]": {}},
        {"k:{}": {}},
        {'k:{"a":{}}': {}},
        {"v:": {}},
        {"v:{}": {}},
        {"i:x": {}},
        {"i:true": {}},
        {"": {}},
    ],
)
def test_what_is_not_fields_v1_is_refused(bad: Any) -> None:
    with pytest.raises(BadFieldSet):
        fieldset.decode(bad)


def test_elements_are_written_in_kubernetes_order() -> None:
    mixed = ['k:{"port":8080}', "v:2", "f:b", "v:10", 'k:{"port":80}', ".", "f:a", 'v:"a"']
    written = fieldset.encode({"f:x": {element: {} for element in mixed}})
    assert list(written["f:x"]) == [".", "f:a", "f:b", 'k:{"port":80}', 'k:{"port":8080}', "v:2", "v:10", 'v:"a"']


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:data", "f:y"), ".data.y"),
        (("f:items", 'k:{"k":"1"}', "f:v"), '.items[k="1"].v'),
        (("f:ports", 'k:{"port":80,"protocol":"TCP"}'), '.ports[port=80,protocol="TCP"]'),
        (("f:tags", 'v:"x"'), '.tags[="x"]'),
        (("f:list", "i:3"), ".list[3]"),
    ],
)
def test_paths_read_as_in_kubernetes_messages(path: Path, text: str) -> None:
    assert fieldset.path_text(path) == text

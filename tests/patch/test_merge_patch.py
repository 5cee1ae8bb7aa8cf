"""RFC 7396: the examples of its appendix A, and the laws of patch and diff."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.objects.json_equality import same_json
from attractor.patch.merge_patch import apply_merge_patch, merge_patch_between

APPENDIX_A: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("document", "patch", "result"), APPENDIX_A)
def test_examples_of_appendix_a(document: Any, patch: Any, result: Any) -> None:
    kept = copy.deepcopy((document, patch))
    assert same_json(apply_merge_patch(document, patch), result)
    assert same_json([document, patch], list(kept))


def test_the_example_of_section_3() -> None:
    document = {
        "title": "Goodbye!",
        "author": {"givenName": "John", "familyName": "Doe"},
        "tags": ["example", "sample"],
        "content": "This will be unchanged",
    }
    patch = {
        "title": "Hello!",
        "phoneNumber": "+01-123-456-7890",
        "author": {"familyName": None},
        "tags": ["example"],
    }
    assert apply_merge_patch(document, patch) == {
        "title": "Hello!",
        "author": {"givenName": "John"},
        "tags": ["example"],
        "content": "This will be unchanged",
        "phoneNumber": "+01-123-456-7890",
    }


names = st.sampled_from(["a", "b", "c"])
scalars = st.booleans() | st.integers(0, 1) | st.sampled_from(["", "x"])
lists = st.lists(st.none() | scalars, max_size=2)
without_nulls = st.recursive(scalars | lists, lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=8)
documents = st.dictionaries(names, without_nulls, max_size=3)
patches = st.dictionaries(
    names,
    st.recursive(st.none() | scalars | lists, lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=8),
    max_size=3,
)


@given(documents, documents)
def test_the_patch_between_two_documents_turns_one_into_the_other(old: Any, new: Any) -> None:
    patch = merge_patch_between(old, new)
    assert same_json(apply_merge_patch(old, patch), new)
    assert (patch == {}) == same_json(old, new)


@given(documents, patches)
def test_a_merge_patch_is_idempotent_and_changes_no_argument(document: Any, patch: Any) -> None:
    kept = copy.deepcopy((document, patch))
    once = apply_merge_patch(document, patch)
    assert same_json(apply_merge_patch(once, patch), once)
    assert same_json([document, patch], list(kept))


@pytest.mark.parametrize(("old", "new"), [({}, {"a": None}), ({"a": 1}, {"a": {"b": None}}), (1, {"a": None})])
def test_there_is_no_patch_that_sets_null(old: Any, new: Any) -> None:
    with pytest.raises(ValueError, match="merge patch has no way"):
        merge_patch_between(old, new)


def test_a_null_that_stays_needs_no_patch() -> None:
    assert merge_patch_between({"a": None, "b": 1}, {"a": None, "b": 2}) == {"b": 2}

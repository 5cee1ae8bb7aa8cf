"""RFC 6902: the published vectors, and what Kubernetes does where they leave room."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.objects.errors import ApiError, BadRequest, RequestEntityTooLarge
from attractor.objects.json_equality import same_json
from attractor.patch.json_patch import MAX_OPERATIONS, PatchFailed, apply_json_patch

VECTORS = Path(__file__).parent / "vectors"
RECORDING = Path(__file__).parents[1] / "golden/kube-apiserver-1.36/json-patch.json"
KUBERNETES_DIFFERS: list[tuple[Any, Any]] = [
    ({"bar": [1, 2]}, [{"op": "add", "path": "/bar/-1", "value": "5"}]),  # a negative index counts from the end
    ([None], [{"op": "test", "path": "/0"}]),  # a test without value expects null
    ([1], [{"op": "add", "path": "/-"}]),  # a value that is left out is null
    ([1], [{"op": "replace", "path": "/0"}]),
]
"""Vectors that must fail by the RFC, but which Kubernetes applies."""


def vectors() -> list[Any]:
    found = []
    for name in ("json_patch_tests", "json_patch_spec_tests"):
        for number, case in enumerate(json.loads((VECTORS / f"{name}.json").read_text())):
            if "patch" in case and not case.get("disabled"):
                found.append(pytest.param(case, id=f"{name}-{number}-{case.get('comment', '')}"))
    return found


def is_different_in_kubernetes(case: dict[str, Any]) -> bool:
    return (case["doc"], case["patch"]) in KUBERNETES_DIFFERS


def adds_in_the_place_of_the_document(case: dict[str, Any]) -> bool:
    """What the RFC allows, and Kubernetes for ``replace`` only."""
    return any(one.get("op") == "add" and one.get("path") == "" for one in case["patch"])


@pytest.mark.parametrize("case", vectors())
def test_published_vectors(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case["doc"])
    if adds_in_the_place_of_the_document(case) or ("error" in case and not is_different_in_kubernetes(case)):
        with pytest.raises(ApiError):
            apply_json_patch(case["doc"], case["patch"])
    else:
        result = apply_json_patch(case["doc"], case["patch"])
        assert "expected" not in case or same_json(result, case["expected"])
    assert case["doc"] == before


def test_most_vectors_were_run() -> None:
    assert len(vectors()) == 91
    assert sum(is_different_in_kubernetes(param.values[0]) for param in vectors()) == 4


def recorded_steps() -> list[Any]:
    return [
        step
        for step in json.loads(RECORDING.read_text())["steps"]
        if step["request"].get("contentType") == "application/json-patch+json"
    ]


def test_recorded_patches_have_the_recorded_results_and_refusals() -> None:
    data = {"a": "1", "b": "2"}
    live: Any = {"data": data, "metadata": {"name": "j"}, "kind": "ConfigMap"}
    succeeded = refused = 0
    for step in recorded_steps():
        body, response = step["request"]["body"], step["response"]
        message = response["body"].get("message", "")
        if response["code"] == 200:
            live = apply_json_patch(live, body)
            assert live["data"] == response["body"]["data"]
            assert live["metadata"].get("labels") == response["body"]["metadata"].get("labels")
            succeeded += 1
        elif message.startswith(("the server rejected", "error decoding patch")):
            with pytest.raises(ApiError) as error:
                apply_json_patch(live, body)
            assert error.value.status() == response["body"]
            refused += 1
    assert (succeeded, refused) == (6, 5)


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ([{"op": "add", "path": "/l/-1", "value": 9}], [1, 2, 3, 9]),
        ([{"op": "add", "path": "/l/-4", "value": 9}], [9, 1, 2, 3]),
        ([{"op": "replace", "path": "/l/-1", "value": 9}], [1, 2, 9]),
        ([{"op": "remove", "path": "/l/-3"}], [2, 3]),
        ([{"op": "add", "path": "/l/3", "value": 9}], [1, 2, 3, 9]),
    ],
)
def test_negative_indices_count_from_the_end(patch: Any, expected: list[int]) -> None:
    assert apply_json_patch({"l": [1, 2, 3]}, patch) == {"l": expected}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/l/5", "value": 1},
        {"op": "add", "path": "/l/-5", "value": 1},
        {"op": "add", "path": "/l/x", "value": 1},
        {"op": "replace", "path": "/l/3", "value": 1},
        {"op": "remove", "path": "/l/-"},
        {"op": "add", "path": "/missing/x", "value": 1},
        {"op": "add", "path": "/s/x", "value": 1},
        {"op": "remove", "path": "/missing"},
        {"op": "remove", "path": ""},
        {"op": "test", "path": "/s", "value": "other"},
        {"op": "test", "path": "/missing", "value": 1},
        {"op": "test", "path": "/missing/deep", "value": None},
        {"op": "move", "from": "/missing", "path": "/s"},
        {"op": "move", "from": "/l", "path": "/l/0"},
        {"op": "copy", "from": "/missing/deep", "path": "/s"},
        {"op": "add", "path": "", "value": {}},
        {"op": "copy", "path": "/s"},
        {"op": "add", "path": "s", "value": 1},
        {"op": "spin", "path": "/s"},
        {"path": "/s"},
        {"op": "add", "value": 1},
    ],
)
def test_what_cannot_be_applied_is_one_answer_that_keeps_its_reason_for_the_log(operation: Any) -> None:
    with pytest.raises(PatchFailed) as refused:
        apply_json_patch({"l": [1, 2, 3], "s": "x"}, [operation])
    assert refused.value.message == "the server rejected our request due to an error in our request"
    assert refused.value.details == {}
    assert refused.value.why.startswith("operation 0")


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        ({"op": "add"}, "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ("x", "cannot unmarshal string into Go value of type []handlers.jsonPatchOp"),
        (7, "cannot unmarshal number into Go value of type []handlers.jsonPatchOp"),
        ([[]], "cannot unmarshal array into Go value of type handlers.jsonPatchOp"),
        ([{"op": 1}], "cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        ([{"op": "add", "path": True}], "cannot unmarshal bool into Go struct field jsonPatchOp.path of type string"),
    ],
)
def test_what_is_no_patch_is_a_bad_request(patch: Any, complaint: str) -> None:
    with pytest.raises(BadRequest) as refused:
        apply_json_patch({}, patch)
    assert refused.value.message == f"error decoding patch: json: {complaint}"


def test_a_patch_has_at_most_ten_thousand_operations() -> None:
    operation = {"op": "test", "path": "/a", "value": 1}
    assert apply_json_patch({"a": 1}, [operation] * MAX_OPERATIONS) == {"a": 1}
    with pytest.raises(RequestEntityTooLarge, match="The allowed maximum operations in a JSON patch is 10000"):
        apply_json_patch({"a": 1}, [operation] * (MAX_OPERATIONS + 1))


def test_copies_cannot_blow_up_the_document() -> None:
    doubling = [{"op": "copy", "from": "", "path": f"/copy{number}"} for number in range(40)]
    with pytest.raises(PatchFailed, match="copies add more than"):
        apply_json_patch({"text": "x" * 1000}, doubling)


def test_nesting_without_end_is_refused() -> None:
    deeper = [{"op": "add", "path": "/a" * depth, "value": {}} for depth in range(1, 400)]
    with pytest.raises(PatchFailed, match="a value is nested too deeply"):
        apply_json_patch({}, [*deeper, {"op": "copy", "from": "/a", "path": "/b"}])


def test_a_copy_is_not_changed_through_its_original() -> None:
    patch = [
        {"op": "add", "path": "/a/x", "value": 1},
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/a/y", "value": 2},
        {"op": "add", "path": "/b/x", "value": 3},
    ]
    assert apply_json_patch({"a": {}}, patch) == {"a": {"x": 1, "y": 2}, "b": {"x": 3}}


def test_true_is_not_one() -> None:
    with pytest.raises(PatchFailed):
        apply_json_patch({"a": [1]}, [{"op": "test", "path": "/a", "value": [True]}])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "~", "/", "0"]), inner, max_size=3)
    ),
    max_leaves=8,
)
pointers = st.lists(st.sampled_from(["a", "b", "~0", "~1", "0", "1", "-"]), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)
operations = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": pointers},
        optional={"from": pointers, "value": json_values},
    ),
    max_size=6,
)


@given(json_values, operations)
def test_a_patch_never_changes_its_arguments_and_is_applied_all_or_not_at_all(document: Any, patch: Any) -> None:
    kept, kept_patch = copy.deepcopy(document), copy.deepcopy(patch)
    try:
        together = apply_json_patch(document, patch)
    except PatchFailed:
        together = None
    else:
        one_by_one = document
        for operation in patch:
            one_by_one = apply_json_patch(one_by_one, [operation])
        assert same_json(together, one_by_one)
    assert same_json(document, kept)
    assert same_json(patch, kept_patch)


@given(json_values, json_values)
def test_replacing_the_root_gives_any_document(document: Any, other: Any) -> None:
    assert same_json(apply_json_patch(document, [{"op": "replace", "path": "", "value": other}]), other)

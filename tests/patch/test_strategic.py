"""Strategic merge patch: every directive and list type as tables, the recordings, and the laws."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.k8s import catalog
from attractor.objects.errors import BadRequest, Invalid
from attractor.objects.go_wording import go_text
from attractor.patch.merge_patch import apply_merge_patch
from attractor.patch.strategic import BadStrategicPatch, apply_strategic_merge_patch, in_order_of
from attractor.schema.node import Schema

RECORDINGS = Path(__file__).parents[1] / "golden/kube-apiserver-1.36"
STRING = {"type": "string"}
BY_NAME = {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"}
ENV = {**BY_NAME, "items": {"type": "object", "properties": {"name": STRING, "value": STRING}}}
CONTAINER = {
    "type": "object",
    "properties": {
        "env": ENV,
        "args": {"type": "array", "items": STRING},
        "ports": {
            "type": "array",
            "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "containerPort",
            "items": {"type": "object"},
        },
    },
}
KIND = Schema(
    {
        "type": "object",
        "properties": {
            "merging": {**BY_NAME, "items": CONTAINER},
            "primitives": {"type": "array", "items": STRING, "x-kubernetes-patch-strategy": "merge"},
            "keyless": {"type": "array", "items": {"type": "object"}, "x-kubernetes-patch-strategy": "merge"},
            "replaced": {"type": "array", "items": {"type": "object"}},
            "object": {"type": "object", "properties": {"list": ENV}},
            "replacedObject": {"type": "object", "x-kubernetes-patch-strategy": "replace"},
            "strategy": {
                "type": "object",
                "x-kubernetes-patch-strategy": "retainKeys",
                "properties": {"type": STRING, "rollingUpdate": {"type": "object"}},
            },
            "volumes": {**BY_NAME, "x-kubernetes-patch-strategy": "merge,retainKeys", "items": {"type": "object"}},
        },
    }
)


def patched(document: Any, patch: Any) -> Any:
    kept = copy.deepcopy((document, patch))
    result = apply_strategic_merge_patch(document, patch, KIND)
    assert (document, patch) == kept
    return result


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        # objects and nulls
        ({"object": {"a": 1}}, {"object": {"b": 2}}, {"object": {"a": 1, "b": 2}}),
        ({"object": {"a": 1}}, {"object": {"a": None}}, {"object": {}}),
        ({"object": {"a": 1}}, {"object": None}, {}),
        ({}, {"object": {"a": None, "b": {"c": None, "d": [{"e": None}]}}}, {"object": {"b": {"d": [{}]}}}),
        ({"object": 1}, {"object": {"a": None, "b": 1}}, {"object": {"b": 1}}),
        ({"object": {"a": 1}}, {"object": "x"}, {"object": "x"}),
        ({"unknown": {"a": 1}}, {"unknown": {"b": 2}}, {"unknown": {"a": 1, "b": 2}}),
        ({"unknown": [1]}, {"unknown": [2]}, {"unknown": [2]}),
        ({"replacedObject": {"a": 1}}, {"replacedObject": {"b": 2}}, {"replacedObject": {"b": 2}}),
        # $patch in objects
        ({"object": {"a": 1}}, {"object": {"$patch": "replace", "b": 2}}, {"object": {"b": 2}}),
        ({"object": {"a": 1}}, {"object": {"$patch": "delete"}}, {"object": {}}),
        ({"a": 1}, {"$patch": "replace", "b": 2}, {"b": 2}),
        # lists of objects
        ({"merging": named("a")}, {"merging": named("b")}, {"merging": named("b", "a")}),
        (
            {"merging": [{"name": "a", "x": 1}, {"name": "b", "x": 1}]},
            {"merging": [{"name": "b", "x": 2, "y": 3}]},
            {"merging": [{"name": "a", "x": 1}, {"name": "b", "x": 2, "y": 3}]},
        ),
        ({"merging": [{"name": "a", "x": 1}]}, {"merging": [{"name": "a", "x": None}]}, {"merging": named("a")}),
        ({"merging": named("a", "b")}, {"merging": [{"name": "a", "$patch": "delete"}]}, {"merging": named("b")}),
        ({"merging": named("a", "a", "b")}, {"merging": [{"name": "a", "$patch": "delete"}]}, {"merging": named("b")}),
        ({"merging": named("a")}, {"merging": [{"name": "x", "$patch": "delete"}]}, {"merging": named("a")}),
        ({"merging": named("a")}, {"merging": [{"$patch": "replace"}, {"name": "n"}]}, {"merging": named("n")}),
        ({"merging": named("a")}, {"merging": [{"$patch": "replace"}]}, {"merging": []}),
        (
            {"merging": [{"name": "a", "x": 1}]},
            {"merging": [{"name": "a", "$patch": "replace", "y": 2}]},
            {"merging": []},
        ),
        ({"merging": named("a")}, {"merging": []}, {"merging": named("a")}),
        ({"merging": []}, {"merging": []}, {"merging": []}),
        ({"merging": named("a")}, {"merging": None}, {}),
        ({}, {"merging": [{"name": "a", "x": None}]}, {"merging": named("a")}),
        ({"replaced": named("a", "b")}, {"replaced": named("c")}, {"replaced": named("c")}),
        # nested lists
        (
            {"merging": [{"name": "c", "env": named("A", "B"), "args": ["x"]}]},
            {"merging": [{"name": "c", "env": [{"name": "B", "$patch": "delete"}, {"name": "C"}], "args": ["y"]}]},
            {"merging": [{"name": "c", "env": named("C", "A"), "args": ["y"]}]},
        ),
        (
            {"merging": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]},
            {"merging": [{"name": "c", "ports": [{"containerPort": 80, "name": "http"}]}]},
            {"merging": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}]}]},
        ),
        # lists of primitives
        ({"primitives": ["a", "b"]}, {"primitives": ["c", "a"]}, {"primitives": ["c", "a", "b"]}),
        ({"primitives": ["a", "b"]}, {"$deleteFromPrimitiveList/primitives": ["a"]}, {"primitives": ["b"]}),
        ({"primitives": ["a", "b"]}, {"$deleteFromPrimitiveList/primitives": ["x"]}, {"primitives": ["a", "b"]}),
        ({}, {"$deleteFromPrimitiveList/primitives": ["x"]}, {}),
        (
            {"primitives": ["a", "b"]},
            {"primitives": ["c"], "$deleteFromPrimitiveList/primitives": ["a"]},
            {"primitives": ["c", "b"]},
        ),
        # $setElementOrder
        (
            {"merging": named("a", "b", "c")},
            {"$setElementOrder/merging": named("c", "a")},
            {"merging": named("b", "c", "a")},
        ),
        (
            {"merging": named("a", "b")},
            {"$setElementOrder/merging": named("b", "n", "a"), "merging": [{"name": "n", "x": 1}]},
            {"merging": [{"name": "b"}, {"name": "n", "x": 1}, {"name": "a"}]},
        ),
        (
            {"merging": named("a", "b")},
            {"$setElementOrder/merging": named("b"), "merging": [{"name": "a", "$patch": "delete"}]},
            {"merging": named("b")},
        ),
        ({}, {"$setElementOrder/merging": named("b", "a"), "merging": named("b", "a")}, {"merging": named("b", "a")}),
        ({}, {"$setElementOrder/merging": named("b")}, {}),
        ({"primitives": ["a", "b"]}, {"$setElementOrder/primitives": ["b", "a"]}, {"primitives": ["b", "a"]}),
        (
            {"primitives": ["a", "s", "b"]},
            {"$setElementOrder/primitives": ["n", "b", "a"], "primitives": ["n"]},
            {"primitives": ["n", "s", "b", "a"]},
        ),
        # $retainKeys
        (
            {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"max": 1}}},
            {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
            {"strategy": {"type": "Recreate"}},
        ),
        (
            {"strategy": {"type": "a", "rollingUpdate": {}}},
            {"strategy": {"$retainKeys": ["type"]}},
            {"strategy": {"type": "a"}},
        ),
        (
            {"volumes": [{"name": "v", "emptyDir": {}}]},
            {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}, "x": None}]},
            {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
        ),
    ],
)
def test_a_strategic_patch_gives(document: Any, patch: Any, expected: Any) -> None:
    assert patched(document, patch) == expected


@pytest.mark.parametrize(
    ("document", "patch", "complaint"),
    [
        (
            {"merging": named("a")},
            {"merging": [{"image": "noname"}]},
            "map: map[image:noname] does not contain declared merge key: name",
        ),
        (
            {"merging": named("a")},
            {"merging": [{"$patch": "delete", "x": 1}]},
            "map: map[$patch:delete x:1] does not contain declared merge key: name",
        ),
        (
            {"merging": named("a")},
            {"merging": [{"name": "a", "$patch": "merge"}]},
            "merging lists cannot yet be specified in the patch",
        ),
        (
            {"merging": named("a")},
            {"merging": [{"name": "a", "$patch": "explode"}]},
            "unknown patch type: explode in map: map[$patch:explode name:a]",
        ),
        (
            {"object": {"a": 1}},
            {"object": {"$patch": "merge", "b": True}},
            "unknown patch type: merge in map: map[$patch:merge b:true]",
        ),
        ({"keyless": [{}]}, {"keyless": [{}]}, "cannot merge lists without merge key for type struct"),
        ({"merging": named("a")}, {"merging": ["a"]}, "list element types are not identical: [[map[name:a]] [a]]"),
        ({}, {"$setElementOrder/merging": "a"}, "expected a []interface {}, but received a string"),
        (
            {"merging": named("a")},
            {"$setElementOrder/merging": named("a"), "merging": None},
            "expected a []interface {}, but received a %!s(<nil>)",
        ),
        ({"merging": 1}, {"$setElementOrder/merging": []}, "expected a []interface {}, but received a int64"),
        (
            {"merging": named("a", "b")},
            {"$setElementOrder/merging": named("a", "b"), "merging": named("b", "a")},
            "The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match $setElementOrder list:\n"
            "[map[name:a] map[name:b]]\n",
        ),
    ],
)
def test_a_patch_that_does_not_fit_is_refused_in_kubernetes_words(document: Any, patch: Any, complaint: str) -> None:
    with pytest.raises(BadStrategicPatch) as refused:
        patched(document, patch)
    assert refused.value.message == complaint
    assert refused.value.status()["code"] == 500
    assert "reason" not in refused.value.status()


@pytest.mark.parametrize(
    ("document", "patch", "complaint"),
    [
        ({"strategy": {}}, {"strategy": {"$retainKeys": "type"}}, "invalid patch format of retainKeys"),
        (
            {"strategy": {"type": "a"}},
            {"strategy": {"$retainKeys": ["type"], "other": 1}},
            "invalid patch format of retainKeys",
        ),
        ({}, {"$deleteFromPrimitiveList": ["a"]}, "invalid patch format of primitive list"),
        ({}, {"$setElementOrder": ["a"]}, "invalid patch format of setElementOrder list"),
        (
            {"merging": named("a")},
            {"merging": [{"name": {"x": 1}}]},
            "map: map[name:map[x:1]] has a merge key that is no primitive: name",
        ),
    ],
)
def test_a_badly_formed_directive_is_a_bad_request(document: Any, patch: Any, complaint: str) -> None:
    with pytest.raises(BadRequest) as refused:
        patched(document, patch)
    assert refused.value.message == complaint


def test_lists_of_lists_are_rejected_with_422() -> None:
    with pytest.raises(Invalid) as refused:
        patched({"primitives": [["a"]]}, {"primitives": [["b"]]})
    assert refused.value.status()["message"] == "the server rejected our request due to an error in our request"


def test_a_patch_that_is_no_object_is_a_bad_request() -> None:
    with pytest.raises(BadRequest, match="cannot unmarshal array into Go value of type map"):
        apply_strategic_merge_patch({}, [], KIND)


def test_recorded_patches_of_a_deployment_have_the_recorded_results() -> None:
    found = catalog.find("apps", "v1", "deployments")
    assert found is not None
    deployment = found.schema
    steps = json.loads((RECORDINGS / "strategic-containers.json").read_text())["steps"]
    live, checked = steps[0]["response"]["body"], 0
    for step in steps[1:]:
        body, patch = step["response"]["body"], step["request"]["body"]
        if step["response"]["code"] != 200:
            with pytest.raises(BadStrategicPatch) as refused:
                apply_strategic_merge_patch(live, patch, deployment)
            assert refused.value.status() == body
            continue
        result = apply_strategic_merge_patch(live, patch, deployment)
        assert subset(result["spec"], body["spec"]), patch
        live, checked = body, checked + 1
    assert checked == 9


def subset(part: Any, whole: Any) -> bool:
    """Whether the whole is the part plus what the server defaulted."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(k in whole and subset(v, whole[k]) for k, v in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) == len(whole) and all(map(subset, part, whole))
    return bool(part == whole)


items = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


@given(items, items)
def test_merged_items_come_in_the_patchs_order_and_the_rest_in_the_servers(server: list[str], order: list[str]) -> None:
    merged = server + [name for name in order if name not in server]
    result = in_order_of(merged, list(order), server, lambda item: item)
    assert sorted(result) == sorted(merged)
    assert [name for name in result if name in order] == order
    assert [name for name in result if name not in order] == [name for name in server if name not in order]


configs = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 1)), max_size=3
).map(lambda found: [{"name": name, **rest} for name, rest in found.items()])


@given(configs, configs)
def test_a_strategic_patch_is_idempotent_and_merges_by_key(server: Any, patch: Any) -> None:
    once = patched({"merging": server}, {"merging": patch})
    assert patched(once, {"merging": patch}) == once
    by_name = {item["name"]: item for item in server}
    expected = {**by_name, **{item["name"]: {**by_name.get(item["name"], {}), **item} for item in patch}}
    assert {item["name"]: item for item in once["merging"]} == expected


plain = st.dictionaries(
    st.sampled_from(["p", "q"]),
    st.recursive(
        st.none() | st.integers(0, 2) | st.lists(st.integers(0, 2), max_size=2),
        lambda inner: st.dictionaries(st.sampled_from(["p", "q"]), inner, max_size=2),
        max_leaves=6,
    ),
    max_size=2,
)
plain_documents = plain.map(lambda found: {name: value for name, value in found.items() if value is not None})


@given(plain_documents, plain)
def test_without_schema_and_directives_it_is_a_merge_patch(document: Any, patch: Any) -> None:
    assert patched(document, patch) == apply_merge_patch(document, patch)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "x"]}, "map[a:[true <nil> x] b:1]"),
        ({}, "map[]"),
        (1.5, "1.5"),
        (False, "false"),
    ],
)
def test_values_print_as_go_prints_them(value: Any, text: str) -> None:
    assert go_text(value) == text

"""What two copies of an object differ in, found without looking at what is the same text."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource.difference import differing
from attractor.patch.merge_patch import merge_patch_between

texts = st.dictionaries(st.sampled_from("abc"), st.sampled_from(("1", "2")), max_size=2)
json = st.recursive(
    st.sampled_from((0, 1, 1.0, True, "1")), lambda inner: st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)


@st.composite
def config_maps(draw: st.DrawFn) -> ConfigMap:
    metadata: dict[str, Any] = {"name": "a", "labels": draw(texts), "managedFields": [{"fieldsV1": draw(texts)}]}
    return ConfigMap.from_dict({"metadata": metadata, "data": draw(texts), "unknown": draw(json)})


@given(config_maps(), config_maps())
def test_a_patch_between_the_differing_parts_is_the_patch_between_the_objects(one: ConfigMap, other: ConfigMap) -> None:
    assert merge_patch_between(*differing(one, other)) == merge_patch_between(one.to_dict(), other.to_dict())


def test_a_part_that_is_alike_is_in_neither() -> None:
    one = ConfigMap.from_dict({"metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "1"}})
    other = one.deep_copy()
    other.data = {"k": "2"}
    assert differing(one, other) == ({"data": {"k": "1"}}, {"data": {"k": "2"}})


def test_one_and_true_are_not_alike() -> None:
    one, other = (ConfigMap.from_dict({"metadata": {"name": "a"}, "unknown": value}) for value in (1, True))
    assert differing(one, other) == ({"unknown": 1}, {"unknown": True})

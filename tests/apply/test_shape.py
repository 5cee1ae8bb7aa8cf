"""Owners by shape: what is remembered of one object says the same of the next as working it out would."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from attractor.apply import FieldManager
from attractor.apply.manager import REMEMBERED_SHAPES, RESET_SPEC, RESET_STATUS
from attractor.schema.node import Schema

EMPTY: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"creationTimestamp": None}}
NAMES = st.sampled_from(["a", "b", "status", "spec", "data"])
SCALARS = st.sampled_from([None, "", "x", 0, 1, True, False, 0.5])
MAPS = st.dictionaries(NAMES, SCALARS, max_size=3)
VALUES = SCALARS | MAPS | st.lists(SCALARS, max_size=2) | st.dictionaries(NAMES, MAPS, max_size=2)
METADATA = st.fixed_dictionaries(
    {"name": st.just("n")}, optional={"labels": MAPS, "annotations": MAPS, "finalizers": st.lists(st.just("f"))}
)
OBJECTS = st.builds(
    lambda fields, metadata: {"apiVersion": "v1", "kind": "ConfigMap", **fields, "metadata": metadata},
    st.dictionaries(NAMES, VALUES, max_size=4),
    METADATA,
)

remembering = FieldManager(None, EMPTY)


@given(OBJECTS, st.sampled_from([None, RESET_STATUS, RESET_SPEC]))
def test_a_remembered_shape_gives_the_owners_that_a_new_one_gives(obj: dict[str, Any], reset: Any) -> None:
    known = [remembering.on_update(None, obj, manager="m", now="t", reset=reset) for _ in range(2)]
    worked_out = remembering._taken_by_creation(obj, reset)
    taken = [entries[0]["fieldsV1"] if entries else {} for entries in known]
    assert taken == [worked_out, worked_out]
    assert [list(_flat(one)) for one in taken] == [list(_flat(worked_out))] * 2, "the order is stored, too"


OWNERS = st.lists(st.sampled_from([{"uid": "1"}, {"uid": "2", "name": "o"}, {"name": "lost"}, "o"]), max_size=3)
LISTS = st.fixed_dictionaries({}, optional={"ownerReferences": OWNERS, "finalizers": st.lists(SCALARS, max_size=2)})
KINDS = [None, Schema({"type": "object", "properties": {"data": {"type": "object"}}})]


@given(st.sampled_from(KINDS), OBJECTS, LISTS, LISTS)
def test_a_remembered_shape_leaves_each_object_its_own_owners_and_finalizers(
    schema: Schema | None, obj: dict[str, Any], first: dict[str, Any], second: dict[str, Any]
) -> None:
    fields = FieldManager(schema, EMPTY)
    for lists in (first, second, first):
        made = {**obj, "metadata": {**obj["metadata"], **lists}}
        entries = fields.on_update(None, made, manager="m", now="t")
        taken, worked_out = entries[0]["fieldsV1"] if entries else {}, fields._taken_by_creation(made, None)
        assert taken == worked_out
        assert list(_flat(taken)) == list(_flat(worked_out)), "the order is stored, too"


def test_the_number_of_remembered_shapes_is_bounded() -> None:
    fields = FieldManager(None, EMPTY)
    for number in range(REMEMBERED_SHAPES + 5):
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}, "data": {f"k{number}": "v"}}
        (entry,) = fields.on_update(None, obj, manager="m", now="t")
        assert entry["fieldsV1"] == {"f:data": {".": {}, f"f:k{number}": {}}}
    assert len(fields._taken) == REMEMBERED_SHAPES


def _flat(value: Any) -> Any:
    if isinstance(value, dict):
        for name, below in value.items():
            yield name
            yield from _flat(below)
    elif isinstance(value, list):
        for item in value:
            yield from _flat(item)

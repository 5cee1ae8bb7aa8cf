"""Laws of every built-in kind, on objects made up from its Go types: nothing crashes, and everything settles."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attractor.apiserver.kinds.builtin import strategy_for
from attractor.k8s.catalog import GoType, ResourceInfo, go_type, resources

STORED = [info for info in resources() if info.is_enabled_by_default and "update" in info.verbs]
WORDS = [
    "",
    "a",
    "A b",
    "x-1",
    "http",
    "None",
    "ClusterIP",
    "RollingUpdate",
    "Always",
    "TCP",
    "1.2.3.4",
    "25%",
    "e.org/x",
]
TEXTS = st.sampled_from(WORDS)
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "bool": st.booleans(),
    "int": st.sampled_from([-1, 0, 1, 80, 70000]),
    "uint": st.sampled_from([0, 1]),
    "float": st.sampled_from([0, 1.5, -2]),
    "bytes": st.sampled_from(["", "eA==", "e30="]),
    "time": st.sampled_from([None, "2026-01-01T00:00:00Z"]),
    "microtime": st.sampled_from([None, "2026-01-01T00:00:00.000001Z"]),
    "duration": st.sampled_from(["1s", "0s", "90m"]),
    "quantity": st.sampled_from(["1", "0", "-1", "1.5", "1Gi", 3]),
    "intorstring": st.sampled_from([0, -1, 80, "http", "25%", "150%", "x"]),
    "raw": st.sampled_from([None, {}, {"a": 1}]),
    "interface": st.sampled_from([None, 1]),
}


@st.composite
def values(draw: st.DrawFn, go: GoType, depth: int) -> Any:
    """A JSON value that Go can read as the type."""
    if go.cls == "pointer":
        assert go.elem is not None
        return draw(values(go.elem, depth))
    if go.cls in {"slice", "map"}:
        assert go.elem is not None
        size = draw(st.integers(0, 2)) if depth else 0
        items = [draw(values(go.elem, depth - 1)) for _ in range(size)]
        return items if go.cls == "slice" else dict(zip(WORDS[1:], items, strict=False))
    if go.cls != "struct":
        return draw(LEAVES[go.cls])
    if not depth:
        return {}
    names = sorted(name for name in go.fields if name not in {"kind", "apiVersion", "managedFields"})
    chosen = draw(st.lists(st.sampled_from(names), max_size=6, unique=True)) if names else []
    return {name: draw(values(go.fields[name].type, depth - 1)) for name in chosen}


def objects(info: ResourceInfo) -> st.SearchStrategy[Any]:
    return values(go_type(info.definition), 7)


@pytest.mark.parametrize("info", STORED, ids=lambda info: f"{info.group or 'core'}-{info.version}-{info.kind}")
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_well_typed_objects_settle_and_are_judged(info: ResourceInfo, data: st.DataObject) -> None:
    strategy = strategy_for(info)
    decoded = strategy.decode(data.draw(objects(info)))
    assert decoded.unknown == []
    obj = decoded.obj
    assert strategy.decode(copy.deepcopy(obj)).obj == obj, "decoding what was decoded changes it"
    strategy.default(obj)
    again = copy.deepcopy(obj)
    strategy.default(again)
    assert again == obj, "defaults of defaults change"
    assert strategy.decode(copy.deepcopy(obj)).obj == obj, "defaults are not in the shape of the kind"
    strategy.prepare_create(obj)
    strategy.validate(obj)
    assert strategy.decode(copy.deepcopy(obj)).obj == obj, "what is stored is not in the shape of the kind"
    before = copy.deepcopy(obj)
    for subresource in ("", *info.subresources):
        other = strategy.decode(data.draw(objects(info))).obj
        strategy.default(other)
        strategy.prepare_update(other, obj, subresource)
        strategy.validate_update(other, obj, subresource)
        assert obj == before, "an update changes the old object"

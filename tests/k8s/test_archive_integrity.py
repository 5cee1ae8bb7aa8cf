"""The generated archive is whole: every kind of discovery has a schema and a Go type, and all references resolve."""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from attractor.k8s import archive, catalog
from attractor.k8s.catalog import GoType, ResourceInfo

DEFINITIONS = 771
RESOURCES = 95


def definitions() -> Iterator[str]:
    for name in archive._archive().namelist():
        if name.startswith("schema/"):
            package = name.removeprefix("schema/").removesuffix(".json")
            for last in archive._read(name):
                yield f"{package}.{last}"


ALL = sorted(definitions())


def references(doc: Any) -> Iterator[str]:
    if isinstance(doc, dict):
        if isinstance(doc.get("$ref"), str):
            yield doc["$ref"]
        for value in doc.values():
            yield from references(value)
    elif isinstance(doc, list):
        for value in doc:
            yield from references(value)


def test_version_and_counts_are_those_of_the_generated_archive() -> None:
    assert archive.index()["version"] == catalog.KUBERNETES_VERSION
    assert (len(ALL), len(catalog.resources()), len(catalog.groups())) == (DEFINITIONS, RESOURCES, 23)
    assert archive.ARCHIVE.stat().st_size < 700_000


@pytest.mark.parametrize("info", catalog.resources(), ids=lambda info: str(info.gvk))
def test_every_kind_of_discovery_has_a_schema_and_a_go_type_that_agree(info: ResourceInfo) -> None:
    assert info.schema.type == "object"
    go = catalog.go_type(info.definition)
    assert go.cls == "struct"
    assert set(go.fields) == set(info.schema.properties)
    assert catalog.find(*info.gvr) is info
    assert catalog.find_kind(info.gvk) is info


def test_every_subresource_has_a_kind_with_a_definition_unless_it_is_a_stream_of_options() -> None:
    unknown = {
        str(sub.gvk)
        for info in catalog.resources()
        for sub in info.subresources.values()
        if catalog.definition_of(sub.gvk) is None
    }
    streams = {"NodeProxyOptions", "PodAttachOptions", "PodExecOptions", "PodPortForwardOptions", "PodProxyOptions"}
    assert unknown == {f"v1, Kind={kind}" for kind in streams | {"ServiceProxyOptions"}}


def test_every_reference_between_definitions_resolves() -> None:
    missing = {ref for name in ALL for ref in references(catalog.definition(name).doc) if not resolves(ref)}
    assert not missing


def resolves(ref: str) -> bool:
    try:
        return bool(catalog.definition(ref))
    except KeyError:
        return False


def test_every_field_of_every_definition_has_a_go_field_and_the_other_way_round() -> None:
    for name in ALL:
        schema, go = catalog.definition(name), catalog.go_type(name)
        if go.cls == "struct":
            assert set(go.fields) == set(schema.properties), name


def test_go_types_agree_with_the_schema_types() -> None:
    expected = {
        "struct": {"object"}, "map": {"object"}, "slice": {"array"}, "string": {"string"}, "bytes": {"string"},
        "int": {"integer"}, "float": {"number"}, "bool": {"boolean"}, "time": {"string"}, "microtime": {"string"},
        "duration": {"string"}, "quantity": {""}, "intorstring": {""}, "raw": {"object", ""},
    }  # fmt: skip
    for name in ALL:
        for field, go_field in catalog.go_type(name).fields.items():
            target = go_field.type
            while target.cls == "pointer":
                assert target.elem is not None
                target = target.elem
            assert catalog.definition(name).properties[field].type in expected[target.cls], f"{name}.{field}"


def test_protobuf_numbers_are_unique_within_a_message() -> None:
    seen: set[GoType] = set()
    for name in ALL:
        go = catalog.go_type(name)
        paths = [field.protobuf_path for field in go.fields.values() if field.protobuf_path]
        assert len(paths) == len(set(paths)), name
        seen.add(go)
    assert len(seen) == DEFINITIONS


def test_definitions_agree_with_those_that_another_package_publishes_for_the_same_minor_version() -> None:
    """``kubernetes-validate`` reads OpenAPI v2, we read v3: fields, list types and merge keys must be the same."""
    minor = ".".join(catalog.KUBERNETES_VERSION.split(".")[:2])
    folder = files("kubernetes_validate").joinpath("kubernetes-json-schema", f"v{minor}.0-local", "_definitions.json")
    published = json.loads(folder.read_text())["$defs"]
    assert sorted(published) == ALL
    for name, doc in published.items():
        mine = catalog.definition(name).doc
        assert set(doc.get("properties") or ()) == set(mine.get("properties") or ()), name
        for field, sub in (doc.get("properties") or {}).items():
            assert marks(sub) == marks(mine["properties"][field]), f"{name}.{field}"


def marks(doc: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in doc.items() if name.startswith(("x-kubernetes-list", "x-kubernetes-patch"))}

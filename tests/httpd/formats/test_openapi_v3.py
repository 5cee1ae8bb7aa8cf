"""OpenAPI v3: the index, the documents, and what kubectl looks for in them."""

import json
from pathlib import Path
from typing import Any

import pytest

from attractor.httpd.formats.catalog import Catalog, catalog_of
from attractor.httpd.formats.openapi.v3 import openapi_v3

from .definitions import definition

BUILTIN = catalog_of(())
WIDGETS = catalog_of((definition(),))
PUBLISHED = json.loads((Path(__file__).parent / "published_operations.json").read_text())
REF = "#/components/schemas/"


def get(catalog: Catalog, path: str) -> Any:
    answer = openapi_v3(catalog, path)
    assert answer is not None
    assert (answer.code, answer.content_type) == (200, "application/json")
    return json.loads(answer.body)


def operations(document: Any) -> list[tuple[str, str, Any]]:
    return [
        (path, method, row)
        for path, rows in document["paths"].items()
        for method, row in rows.items()
        if method != "parameters"
    ]


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(references(item) for item in value.values()))
    if isinstance(value, list):
        return set[str]().union(*(references(item) for item in value))
    return set()


def test_index_names_every_served_version_with_a_hash() -> None:
    paths = get(WIDGETS, "/openapi/v3")["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/example.org/v1"} <= paths.keys()
    assert "apis/storagemigration.k8s.io/v1beta1" not in paths
    for at, row in paths.items():
        assert row["serverRelativeURL"].startswith(f"/openapi/v3/{at}?hash=")


def test_document_is_kept_for_ever_under_its_hash() -> None:
    url = get(BUILTIN, "/openapi/v3")["paths"]["apis/policy/v1"]["serverRelativeURL"]
    path, _, asked = url.partition("?hash=")
    answer = openapi_v3(BUILTIN, path, asked_hash=asked)
    assert answer is not None
    headers = dict(answer.headers)
    assert "immutable" in headers["Cache-Control"]
    assert headers["ETag"] == f'"{asked}"'
    assert "Cache-Control" not in dict(openapi_v3(BUILTIN, path).headers)  # type: ignore[union-attr]
    unchanged = openapi_v3(BUILTIN, path, asked_hash=asked, if_none_match=f'"{asked}"')
    assert unchanged is not None
    assert (unchanged.code, unchanged.body) == (304, b"")


def test_outdated_hash_leads_to_the_current_document() -> None:
    answer = openapi_v3(BUILTIN, "/openapi/v3/apis/policy/v1", asked_hash="OLD")
    assert answer is not None
    assert answer.code == 301
    assert dict(answer.headers)["Location"].startswith("/openapi/v3/apis/policy/v1?hash=")


def test_hash_changes_with_a_definition_and_only_for_its_version() -> None:
    changed = {**json.loads(definition())["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "description": "New."}
    before = get(WIDGETS, "/openapi/v3")["paths"]
    after = get(catalog_of((definition(schema=changed),)), "/openapi/v3")["paths"]
    assert {at for at in before if before[at] != after[at]} == {"apis/example.org/v1"}


def test_operations_are_those_that_kubernetes_publishes() -> None:
    found = []
    for path in ("apps/v1", "rbac.authorization.k8s.io/v1", "authorization.k8s.io/v1"):
        rows = operations(get(BUILTIN, f"/openapi/v3/apis/{path}"))
        found += [[at, method, row.get("x-kubernetes-action", ""), row["operationId"]] for at, method, row in rows]
    assert sorted(found) == PUBLISHED


@pytest.mark.parametrize("at", [f"api{'s' if gv.group else ''}/{gv}" for gv in WIDGETS.group_versions])
def test_every_reference_leads_somewhere_and_every_operation_has_its_own_name(at: str) -> None:
    document = get(WIDGETS, f"/openapi/v3/{at}")
    missing = references(document) - {REF + name for name in document["components"]["schemas"]}
    assert not missing
    names = [row["operationId"] for _, _, row in operations(document)]
    assert len(names) == len(set(names))
    for path, _, row in operations(document):
        declared = {p["name"] for p in document["paths"][path].get("parameters", ()) if p["in"] == "path"}
        assert declared == {part[1:-1] for part in path.split("/") if part.startswith("{")}
        assert row["responses"]


@pytest.mark.parametrize(
    ("catalog", "at", "gvk"),
    [
        (BUILTIN, "api/v1", {"group": "", "version": "v1", "kind": "ConfigMap"}),
        (BUILTIN, "apis/apps/v1", {"group": "apps", "version": "v1", "kind": "Deployment"}),
        (WIDGETS, "apis/example.org/v1", {"group": "example.org", "version": "v1", "kind": "Widget"}),
    ],
)
def test_kubectl_finds_field_validation_on_the_patch_of_a_kind(catalog: Catalog, at: str, gvk: dict[str, str]) -> None:
    rows = operations(get(catalog, f"/openapi/v3/{at}"))
    patches = [row for _, method, row in rows if method == "patch" and row["x-kubernetes-group-version-kind"] == gvk]
    assert patches
    for row in patches:
        assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= {p["name"] for p in row["parameters"]}


def test_custom_schema_is_completed_by_identity_and_metadata() -> None:
    schemas = get(WIDGETS, "/openapi/v3/apis/example.org/v1")["components"]["schemas"]
    widget = schemas["org.example.v1.Widget"]
    assert widget["x-kubernetes-group-version-kind"] == [{"group": "example.org", "version": "v1", "kind": "Widget"}]
    assert widget["properties"]["metadata"]["allOf"] == [
        {"$ref": f"{REF}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    ]
    assert widget["properties"]["spec"]["properties"]["color"] == {"type": "string", "default": "red"}
    assert widget["properties"]["spec"]["x-kubernetes-validations"] == [{"rule": "self.size < 100"}]
    assert schemas["org.example.v1.WidgetList"]["properties"]["items"]["items"] == {
        "$ref": f"{REF}org.example.v1.Widget"
    }


def test_embedded_resources_and_int_or_string_are_spelled_out() -> None:
    schema = {
        "type": "object",
        "properties": {
            "port": {"x-kubernetes-int-or-string": True},
            "template": {"type": "object", "x-kubernetes-embedded-resource": True},
        },
    }
    document = get(catalog_of((definition(schema=schema),)), "/openapi/v3/apis/example.org/v1")
    properties = document["components"]["schemas"]["org.example.v1.Widget"]["properties"]
    assert properties["port"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert properties["template"]["required"] == ["kind", "apiVersion"]
    assert set(properties["template"]["properties"]) == {"apiVersion", "kind", "metadata"}


def test_custom_kinds_are_not_patched_strategically() -> None:
    path = "/apis/example.org/v1/namespaces/{namespace}/widgets/{name}"
    content = get(WIDGETS, "/openapi/v3/apis/example.org/v1")["paths"][path]["patch"]["requestBody"]["content"]
    assert "application/merge-patch+json" in content
    assert "application/strategic-merge-patch+json" not in content


def test_delete_answers_with_the_object_where_kubernetes_does() -> None:
    def answer(path: str) -> str:
        rows = get(BUILTIN, "/openapi/v3/api/v1")["paths"][path]["delete"]["responses"]
        return str(rows["200"]["content"]["application/json"]["schema"]["$ref"])

    assert answer("/api/v1/namespaces/{namespace}/pods/{name}").endswith("core.v1.Pod")
    assert answer("/api/v1/namespaces/{namespace}/configmaps/{name}").endswith("meta.v1.Status")


def test_list_patch_metadata_of_builtin_kinds_is_published_for_client_side_apply() -> None:
    pod = get(BUILTIN, "/openapi/v3/api/v1")["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]
    assert pod["properties"]["containers"]["x-kubernetes-patch-merge-key"] == "name"


@pytest.mark.parametrize(
    "path", ["/openapi/v3/apis/nope/v1", "/openapi/v3/api/v2", "/openapi/v3/x", "/openapi/v3/apis//v1"]
)
def test_unknown_document_is_a_missing_page(path: str) -> None:
    answer = openapi_v3(BUILTIN, path)
    assert answer is not None
    assert answer.code == 404


def test_other_paths_and_other_formats_are_not_answered() -> None:
    assert openapi_v3(BUILTIN, "/openapi/v2") is None
    assert openapi_v3(BUILTIN, "/openapi/v3x") is None
    proto = openapi_v3(BUILTIN, "/openapi/v3", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf")
    assert proto is not None
    assert proto.code == 406

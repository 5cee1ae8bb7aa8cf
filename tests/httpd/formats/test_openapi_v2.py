"""OpenAPI v2: one document, less said."""

import json
import re
from typing import Any

import pytest
from kubernetes.client import CoreV1Api

from attractor.httpd.formats.catalog import catalog_of
from attractor.httpd.formats.openapi.v2 import openapi_v2
from attractor.httpd.formats.wire import values
from attractor.objects.budget import Budget

from .definitions import definition

PROTO = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def swagger(*definitions: bytes) -> Any:
    answer = openapi_v2(catalog_of(definitions), "/openapi/v2", "application/json")
    assert answer is not None
    assert answer.code == 200
    return json.loads(answer.body)


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(references(item) for item in value.values()))
    if isinstance(value, list):
        return set[str]().union(*(references(item) for item in value))
    return set()


def test_document_is_complete_in_itself() -> None:
    document = swagger(definition())
    assert document["swagger"] == "2.0"
    assert references(document) <= {f"#/definitions/{name}" for name in document["definitions"]}
    names = [
        row["operationId"] for rows in document["paths"].values() for key, row in rows.items() if key != "parameters"
    ]
    assert len(names) == len(set(names))


def test_builtin_definitions_keep_merge_keys_and_lose_defaults() -> None:
    spec = swagger()["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"]
    assert spec["containers"]["x-kubernetes-patch-merge-key"] == "name"
    assert spec["containers"]["items"] == {"$ref": "#/definitions/io.k8s.api.core.v1.Container"}
    assert swagger()["definitions"]["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["type"] == "string"


def test_custom_definition_tells_its_shape_and_bounds_without_defaults_and_junctors() -> None:
    widget = swagger(definition())["definitions"]["org.example.v1.Widget"]
    spec = widget["properties"]["spec"]
    assert spec["properties"] == {"size": {"type": "integer", "minimum": 0}, "color": {"type": "string"}}
    assert spec["required"] == ["size"]
    assert widget["properties"]["metadata"]["$ref"] == "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def test_custom_definition_that_takes_any_field_tells_nothing() -> None:
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}}
    widget = swagger(definition(schema=loose))["definitions"]["org.example.v1.Widget"]
    assert set(widget) == {"type", "x-kubernetes-group-version-kind"}


def parts(data: bytes, number: int) -> list[bytes]:
    """What a message has in the field of a number."""
    return [data[one.start : one.end] for one in values(data, 0, len(data), Budget(10**6)) if one.number == number]


def test_protobuf_defines_the_same_kinds_with_the_same_fields() -> None:
    answer = openapi_v2(catalog_of((definition(),)), "/openapi/v2", PROTO)
    assert answer is not None
    assert (answer.code, answer.content_type) == (200, PROTO.replace("@", "."))
    read = {}
    for named in parts(parts(answer.body, 9)[0], 1):
        properties = parts(parts(named, 2)[0], 25)
        fields = [parts(one, 1)[0].decode() for one in parts(properties[0], 1)] if properties else []
        read[parts(named, 1)[0].decode()] = fields
    told = swagger(definition())["definitions"]
    assert read == {name: list(schema.get("properties") or ()) for name, schema in told.items()}


def test_protobuf_tells_the_paths_and_extensions_of_a_patch() -> None:
    answer = openapi_v2(catalog_of(()), "/openapi/v2", PROTO)
    assert answer is not None
    paths = {parts(one, 1)[0]: parts(one, 2)[0] for one in parts(parts(answer.body, 8)[0], 2)}
    patch = parts(paths[b"/api/v1/namespaces/{namespace}/pods/{name}"], 8)[0]
    extensions = {parts(one, 1)[0]: parts(parts(one, 2)[0], 2)[0] for one in parts(patch, 13)}
    assert extensions[b"x-kubernetes-group-version-kind"] == b'{"group":"","version":"v1","kind":"Pod"}\n'
    queries = [parts(parts(parts(one, 1)[0], 2)[0], 3) for one in parts(patch, 8) if parts(parts(one, 1)[0], 2)]
    assert b"fieldValidation" in [parts(one[0], 4)[0] for one in queries]


def test_other_formats_and_other_paths_are_not_answered() -> None:
    refused = openapi_v2(catalog_of(()), "/openapi/v2", "text/html")
    assert refused is not None
    assert refused.code == 406
    assert openapi_v2(catalog_of(()), "/openapi/v3") is None


def test_unchanged_document_is_not_sent_again() -> None:
    first = openapi_v2(catalog_of(()), "/openapi/v2")
    assert first is not None
    again = openapi_v2(catalog_of(()), "/openapi/v2", if_none_match=dict(first.headers)["ETag"])
    assert again is not None
    assert (again.code, again.body) == (304, b"")


def told(method: Any) -> dict[str, str]:
    """What the official client says of each parameter of a method, by the name that it has in a query."""
    rows = re.findall(r":param (\w+): (.*)", method.__doc__)
    return {re.sub("_(.)", lambda found: found[1].upper(), name.lstrip("_")): text for name, text in rows}


@pytest.mark.parametrize(
    ("path", "verb", "method"),
    [
        ("/api/v1/namespaces/{namespace}/configmaps", "get", CoreV1Api.list_namespaced_config_map),
        ("/api/v1/namespaces/{namespace}/configmaps", "post", CoreV1Api.create_namespaced_config_map),
        ("/api/v1/namespaces/{namespace}/configmaps", "delete", CoreV1Api.delete_collection_namespaced_config_map),
        ("/api/v1/namespaces/{namespace}/configmaps/{name}", "put", CoreV1Api.replace_namespaced_config_map),
        ("/api/v1/namespaces/{namespace}/configmaps/{name}", "patch", CoreV1Api.patch_namespaced_config_map),
        ("/api/v1/namespaces/{namespace}/configmaps/{name}", "delete", CoreV1Api.delete_namespaced_config_map),
        ("/api/v1/namespaces/{namespace}/pods/{name}/log", "get", CoreV1Api.read_namespaced_pod_log),
    ],
)
def test_parameters_are_described_in_kubernetes_words(path: str, verb: str, method: Any) -> None:
    expected, at = told(method), swagger()["paths"][path]
    shown = [one for one in (*at["parameters"], *at[verb]["parameters"]) if one["in"] == "query"]
    assert len(shown) > 3
    for one in shown:
        assert " ".join(one["description"].split()) == " ".join(expected[one["name"]].split()), one["name"]

"""OpenAPI v2 (Swagger) as one document, JSON or protobuf, for clients that know no newer one.

It says less than v3, as in Kubernetes: no defaults, no alternatives, and of custom kinds only the shape. It is made
when it is first asked for.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha512
from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.request.bodies import JSON, YAML
from attractor.httpd.formats.document import Document
from attractor.httpd.formats.encoding import encode
from attractor.httpd.formats.negotiate import negotiate
from attractor.httpd.formats.openapi.parameters import PARAMETERS, TEXT_SHAPE, described, path_parameters
from attractor.httpd.formats.openapi.paths import (
    PATCH,
    PATCH_TYPES,
    RESOURCE_LIST,
    TEXT,
    WATCH_EVENT,
    Endpoint,
    definition_name,
    endpoints,
    tag,
)
from attractor.httpd.formats.openapi.protobuf import DOCUMENT, OLD_PROTOBUF, PROTOBUF
from attractor.httpd.formats.openapi.schemas import (
    BEARER_TOKEN,
    GVK,
    LIST_META,
    OBJECT_META,
    REF,
    builtin_schemas,
    custom_list_schema,
    custom_schema,
    gvk_mark,
)
from attractor.k8s.catalog import KUBERNETES_VERSION
from attractor.objects.errors import NotAcceptable

if TYPE_CHECKING:
    from attractor.httpd.formats.catalog import Catalog
    from attractor.k8s.catalog import ResourceInfo
    from attractor.objects.json_types import JsonObject

_PATH = "/openapi/v2"
_DEFINITIONS = "#/definitions/"
_NOT_IN_V2 = frozenset({"default", "nullable", "anyOf", "allOf", "oneOf", "not"})


def openapi_v2(catalog: Catalog, path: str, accept: str = "", *, if_none_match: str = "") -> Document | None:
    """The document at ``/openapi/v2``; None for other paths, 406 for clients that take neither JSON nor protobuf."""
    if path != _PATH:
        return None
    try:
        agreed = negotiate(accept, (JSON, PROTOBUF, OLD_PROTOBUF)).media_type
    except NotAcceptable as error:
        return Document(error.code, JSON, encode(error.status()))
    body, etag = swagger(catalog) if agreed == JSON else swagger_in_protobuf(catalog)
    return Document(200, JSON if agreed == JSON else PROTOBUF, body, (("ETag", etag), ("Vary", "Accept"))).when_changed(
        if_none_match
    )


@lru_cache(maxsize=2)
def swagger(catalog: Catalog) -> tuple[bytes, str]:
    """The whole document and its ETag."""
    infos = [info for group in catalog.groups.values() for infos in group.values() for info in infos]
    paths: dict[str, JsonObject] = {}
    for info in infos:
        for row in endpoints(info, catalog.list_kind(info)):
            at = paths.setdefault(row.path, {})
            at[row.method] = _operation(row, info)
            at["parameters"] = [{**each, **TEXT_SHAPE} for each in path_parameters(row.path, info.kind)]
    body = orjson.dumps(
        {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": KUBERNETES_VERSION.rpartition(".")[0]},
            "paths": dict(sorted(paths.items())),
            "definitions": dict(sorted(_definitions(catalog, infos).items())),
            "securityDefinitions": BEARER_TOKEN,
            "security": [{"BearerToken": []}],
        }
    )
    return body, f'"{sha512(body).hexdigest().upper()}"'


@lru_cache(maxsize=2)
def swagger_in_protobuf(catalog: Catalog) -> tuple[bytes, str]:
    """The same document in protobuf, and the ETag of that."""
    body = DOCUMENT.encoded(orjson.loads(swagger(catalog)[0]))
    return body, f'"{sha512(body).hexdigest().upper()}"'


def _definitions(catalog: Catalog, infos: list[ResourceInfo]) -> dict[str, JsonObject]:
    wanted = {RESOURCE_LIST, WATCH_EVENT, OBJECT_META, LIST_META}
    found: dict[str, JsonObject] = {}
    for info in infos:
        list_kind = catalog.list_kind(info)
        wanted |= {name for row in endpoints(info, list_kind) for name in (row.answer, row.body)}
        if not info.definition:
            custom, name = catalog.custom[info.gvr], definition_name(info)
            found[name] = _custom_shape(custom_schema(custom))
            found[definition_name(info, list_kind)] = to_v2(custom_list_schema(custom, name))
    builtin = builtin_schemas(wanted - {TEXT, ""} - found.keys())
    return {**{name: to_v2(doc) for name, doc in builtin.items()}, **found}


def to_v2(doc: Any) -> Any:
    """A schema of v3 as v2 can say it.

    >>> to_v2({"allOf": [{"$ref": "#/components/schemas/A"}], "default": {}, "description": "An A."})
    {'$ref': '#/definitions/A', 'description': 'An A.'}
    """
    if isinstance(doc, list):
        return [to_v2(item) for item in doc]
    if not isinstance(doc, dict):
        return doc
    made: JsonObject = {}
    if len(doc.get("allOf") or ()) == 1 and "$ref" in doc["allOf"][0]:
        made["$ref"] = _moved(doc["allOf"][0]["$ref"])
    elif "oneOf" in doc and "type" not in doc:  # a quantity, or an int-or-string
        made["type"] = "string"
    for name, value in doc.items():
        if name == "$ref":
            made[name] = _moved(value)
        elif name == "properties":
            made[name] = {key: to_v2(item) for key, item in value.items()}
        elif name == GVK or name not in _NOT_IN_V2:
            made[name] = value if name.startswith("x-") else to_v2(value)
    return made


def _moved(ref: str) -> str:
    return _DEFINITIONS + ref.removeprefix(REF)


def _custom_shape(doc: JsonObject) -> JsonObject:
    """A custom kind as kubectl can read it; of one that takes any field nothing, or kubectl would refuse them."""
    if doc.get("x-kubernetes-preserve-unknown-fields"):
        return {"type": "object", GVK: doc[GVK]}
    shape: JsonObject = _shape(doc)
    return shape


def _shape(doc: Any) -> Any:
    if not isinstance(doc, dict):
        return doc
    if len(doc.get("allOf") or ()) == 1 and "$ref" in doc["allOf"][0]:
        return to_v2(doc)
    is_any, is_nullable = bool(doc.get("x-kubernetes-preserve-unknown-fields")), bool(doc.get("nullable"))
    made: JsonObject = {}
    for name, value in doc.items():
        if name in {"properties", "items"} and (is_any or is_nullable):
            continue
        if name == "properties":
            made[name] = {key: _shape(item) for key, item in value.items()}
        elif name in {"items", "additionalProperties"}:
            made[name] = _shape(value)
        elif name not in _NOT_IN_V2:
            made[name] = value
    is_bare_list = made.get("type") == "array" and "items" not in made
    is_bare_object = is_any and made.get("type") == "object"
    if doc.get("x-kubernetes-int-or-string") or is_nullable or is_bare_list or is_bare_object:
        made.pop("type", None)
    _forgive_absence(made, doc)
    return made


def _forgive_absence(made: JsonObject, doc: JsonObject) -> None:
    """Do not require what may be null: kubectl would not know the difference."""
    fields = doc.get("properties") or {}
    required = [name for name in made.pop("required", ()) if not (fields.get(name) or {}).get("nullable")]
    if required:
        made["required"] = required


def _operation(row: Endpoint, info: ResourceInfo) -> JsonObject:
    parameters: list[JsonObject] = [
        {"name": name, "in": "query", "type": PARAMETERS[name].type, "uniqueItems": True,
         "description": described(name, row.method)}
        for name in row.parameters
    ]  # fmt: skip
    if row.body:
        schema = {"$ref": _DEFINITIONS + row.body}
        required = {"required": True} if row.method != "delete" else {}
        parameters.insert(0, {"name": "body", "in": "body", "schema": schema, **required})
    is_text = row.answer == TEXT
    answer: JsonObject = {"type": "string"} if is_text else {"$ref": _DEFINITIONS + row.answer}
    responses: JsonObject = {code: {"description": text, "schema": answer} for code, text in row.successes.items()}
    return {
        "tags": [tag(info.group, info.version)],
        "description": row.description,
        "operationId": row.operation_id,
        "consumes": _consumes(row, info),
        "produces": [TEXT] if is_text else [JSON, YAML],
        "schemes": ["https"],
        "parameters": parameters,
        "responses": {**responses, "401": {"description": "Unauthorized"}},
        "x-kubernetes-action": row.action,
        GVK: gvk_mark(row.gvk),
    }


def _consumes(row: Endpoint, info: ResourceInfo) -> list[str]:
    if row.body != PATCH:
        return ["*/*"]
    return [one for one in PATCH_TYPES if info.definition or "strategic" not in one]

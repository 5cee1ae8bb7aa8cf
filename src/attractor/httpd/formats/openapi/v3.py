"""OpenAPI v3: an index of documents, one document for each group and version.

``openapi_v3(catalog, path, ...)`` answers ``/openapi/v3`` and everything below it. The index names each document with
a hash of what it is made from, so that clients keep documents for ever; a request with an outdated hash is sent to
the current one. A document is made when it is first asked for.
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
    DELETE_OPTIONS,
    PATCH,
    PATCH_TYPES,
    RESOURCE_LIST,
    TEXT,
    WATCH_EVENT,
    Endpoint,
    definition_name,
    endpoints,
    group_path,
    operation_group,
    tag,
)
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
from attractor.objects.gvk import GroupVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.httpd.formats.catalog import Catalog
    from attractor.objects.json_types import JsonObject

_ROOT = "/openapi/v3"
_REVISION = "2"
"""Part of every hash: raise it when documents of the same kinds come to look different."""

_FOREVER = ("Cache-Control", "public, immutable, max-age=31536000")
_VARY = ("Vary", "Accept")
_ANSWERS = (JSON, YAML)
_STRATEGIC = "application/strategic-merge-patch+json"


def openapi_v3(
    catalog: Catalog, path: str, accept: str = "", *, asked_hash: str = "", if_none_match: str = ""
) -> Document | None:
    """The document at a path; None when the path is not below ``/openapi/v3``.

    ``asked_hash`` is the query parameter ``hash``.
    """
    if path != _ROOT and not path.startswith(f"{_ROOT}/"):
        return None
    try:
        negotiate(accept, (JSON,))
    except NotAcceptable as error:
        return Document(error.code, JSON, encode(error.status()))
    if path == _ROOT:
        return _cacheable(index(catalog)).when_changed(if_none_match)
    served = _group_version(path.removeprefix(f"{_ROOT}/").split("/"))
    if served is None or catalog.resources(*served) is None:
        return Document(404, "text/plain; charset=utf-8", b"")
    current = document_hash(catalog, served)
    if asked_hash and asked_hash != current:
        return Document(301, JSON, b"", (("Location", f"{path}?hash={current}"), _VARY))
    headers = (("ETag", f'"{current}"'), _VARY, *((_FOREVER,) if asked_hash else ()))
    known = Document(200, JSON, b"", headers).when_changed(if_none_match)
    return known if known.code == 304 else Document(200, JSON, document(catalog, served), headers)


def _cacheable(body: bytes) -> Document:
    return Document(200, JSON, body, (("ETag", f'"{sha512(body).hexdigest().upper()}"'), _VARY))


def _group_version(parts: list[str]) -> GroupVersion | None:
    match parts:
        case ["api", version]:
            return GroupVersion("", version)
        case ["apis", group, version] if group:
            return GroupVersion(group, version)
    return None


def index(catalog: Catalog) -> bytes:
    """Where each document is."""
    paths = {}
    for served in catalog.group_versions:
        at = group_path(*served).removeprefix("/")
        paths[at] = {"serverRelativeURL": f"{_ROOT}/{at}?hash={document_hash(catalog, served)}"}
    return orjson.dumps({"paths": paths})


def document_hash(catalog: Catalog, served: GroupVersion) -> str:
    """Changes when the document does: it is a hash of all that the document is made from."""
    return _hashes(catalog)[served]


@lru_cache(maxsize=4)
def _hashes(catalog: Catalog) -> Mapping[GroupVersion, str]:
    digests = {
        served: sha512(f"{KUBERNETES_VERSION} {_REVISION} {served}".encode()) for served in catalog.group_versions
    }
    for gvr, custom in catalog.custom.items():
        told = [custom.version, custom.list_kind, repr(custom.info)]
        digests[gvr.group_version].update(orjson.dumps(told, option=orjson.OPT_SORT_KEYS))
    return {served: digest.hexdigest().upper() for served, digest in digests.items()}


@lru_cache(maxsize=16)
def document(catalog: Catalog, served: GroupVersion) -> bytes:
    """The document of a group and version; KeyError when it is not served."""
    infos = catalog.groups[served.group][served.version]
    paths: dict[str, JsonObject] = {f"{group_path(*served)}/": {"get": _discovery(served)}}
    for info in infos:
        for row in endpoints(info, catalog.list_kind(info)):
            at = paths.setdefault(row.path, {})
            at[row.method] = _operation(row, served, is_custom=not info.definition)
            at["parameters"] = [{**each, "schema": TEXT_SHAPE} for each in path_parameters(row.path, info.kind)]
    return orjson.dumps(
        {
            "openapi": "3.0.0",
            "info": _info(is_custom=all(not info.definition for info in infos)),
            "paths": dict(sorted(paths.items())),
            "components": {
                "schemas": dict(sorted(_schemas(catalog, served).items())),
                "securitySchemes": BEARER_TOKEN,
            },
        }
    )


def _info(*, is_custom: bool) -> JsonObject:
    if is_custom:
        return {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    return {"title": "Kubernetes", "version": KUBERNETES_VERSION.rpartition(".")[0]}


def _schemas(catalog: Catalog, served: GroupVersion) -> dict[str, JsonObject]:
    wanted = {RESOURCE_LIST}
    found: dict[str, JsonObject] = {}
    for info in catalog.groups[served.group][served.version]:
        list_kind = catalog.list_kind(info)
        wanted |= {name for row in endpoints(info, list_kind) for name in (row.answer, row.body)}
        if "watch" in info.verbs:
            wanted.add(WATCH_EVENT)
        if not info.definition:
            custom, name = catalog.custom[info.gvr], definition_name(info)
            found[name] = custom_schema(custom)
            found[definition_name(info, list_kind)] = custom_list_schema(custom, name)
            wanted |= {OBJECT_META, LIST_META}
    return {**builtin_schemas(wanted - {TEXT, ""} - found.keys(), served), **found}


def _discovery(served: GroupVersion) -> JsonObject:
    return {
        "tags": [tag(*served)],
        "description": "get available resources",
        "operationId": f"get{operation_group(*served)}APIResources",
        "responses": {
            "200": {"description": "OK", "content": _content(RESOURCE_LIST, _ANSWERS)},
            "401": {"description": "Unauthorized"},
        },
    }


def _operation(row: Endpoint, served: GroupVersion, *, is_custom: bool) -> JsonObject:
    operation: JsonObject = {
        "tags": [tag(*served)],
        "description": row.description,
        "operationId": row.operation_id,
    }
    if row.parameters:
        operation["parameters"] = [_query(name, row.method) for name in row.parameters]
    if row.body:
        operation["requestBody"] = _body(row, is_custom=is_custom)
    operation["responses"] = _responses(row)
    operation["x-kubernetes-action"] = row.action
    operation[GVK] = gvk_mark(row.gvk)
    return operation


def _query(name: str, method: str) -> JsonObject:
    schema = {"type": PARAMETERS[name].type, "uniqueItems": True}
    return {"name": name, "in": "query", "description": described(name, method), "schema": schema}


def _content(definition: str, media_types: tuple[str, ...]) -> JsonObject:
    schema: dict[str, Any] = {"type": "string"} if definition == TEXT else {"$ref": REF + definition}
    return {media_type: {"schema": schema} for media_type in media_types}


def _body(row: Endpoint, *, is_custom: bool) -> JsonObject:
    if row.body == PATCH:
        accepted = tuple(one for one in PATCH_TYPES if one != _STRATEGIC or not is_custom)
        return {"content": _content(PATCH, accepted), "required": True}
    if row.body == DELETE_OPTIONS:
        return {"content": _content(row.body, ("*/*",))}
    return {"content": _content(row.body, ("*/*",)), "required": True}


def _responses(row: Endpoint) -> JsonObject:
    content = _content(row.answer, (TEXT,) if row.answer == TEXT else _ANSWERS)
    answers: JsonObject = {code: {"description": text, "content": content} for code, text in row.successes.items()}
    return {**answers, "401": {"description": "Unauthorized"}}

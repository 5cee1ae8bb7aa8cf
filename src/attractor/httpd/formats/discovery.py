"""Discovery: which groups, versions and resources there are, in the plain and in the aggregated form.

``discover(catalog, path, accept)`` answers ``/api``, ``/apis``, ``/apis/GROUP``, ``/api/v1`` and
``/apis/GROUP/VERSION``; a client that asks for aggregated discovery gets everything with one request, under an ETag.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha512
from typing import TYPE_CHECKING

from attractor.apiserver.request.bodies import JSON
from attractor.httpd.formats.document import Document, page_not_found
from attractor.httpd.formats.encoding import encode
from attractor.httpd.formats.negotiate import (
    DISCOVERY_GROUP,
    DISCOVERY_LIST,
    negotiate,
    negotiate_discovery,
    no_representation,
)
from attractor.objects.errors import NotAcceptable, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from attractor.httpd.formats.catalog import Catalog
    from attractor.httpd.formats.negotiate import DiscoveryVersion
    from attractor.k8s.catalog import ResourceInfo, SubresourceInfo
    from attractor.objects.json_types import JsonObject

_VARY = ("Vary", "Accept")


def discover(
    catalog: Catalog, path: str, accept: str = "", *, server_address: str = "", if_none_match: str = ""
) -> Document | None:
    """The discovery document at a path; None when the path is not one of discovery's.

    ``server_address`` is the ``host:port`` that ``/api`` tells clients to use.
    """
    parts = path.removesuffix("/").split("/")[1:]
    value: JsonObject | None
    match parts:
        case ["api"] | ["apis"]:
            version = negotiate_discovery(accept)
            if version:
                return aggregated(catalog, parts[0], version).when_changed(if_none_match)
            value = api_versions(server_address) if parts[0] == "api" else api_group_list(catalog)
        case ["api", version_name]:
            value = api_resource_list(catalog, "", version_name)
        case ["apis", group] if group not in catalog.groups or not group:
            return page_not_found()
        case ["apis", group]:
            value = {"kind": "APIGroup", "apiVersion": "v1", **api_group(group, catalog.groups[group])}
        case ["apis", group, _] if group not in catalog.groups or not group:
            return page_not_found()
        case ["apis", group, version_name]:
            value = api_resource_list(catalog, group, version_name)
            if value is None and group in catalog.custom_groups:
                return page_not_found()
        case _:
            return None
    routed = parts[0] == "api" or len(parts) > len(("apis", "group"))
    return _plain(value, accept, routed=routed)


def _plain(value: JsonObject | None, accept: str, *, routed: bool) -> Document:
    """A page as the client wants it; ``routed`` says whether Kubernetes' router looks at the format first."""
    if value is None:
        missing = NotFound("the server could not find the requested resource", details={})
        return Document(missing.code, JSON, encode(missing.status()))
    try:
        agreed = negotiate(accept)
    except NotAcceptable as refused:
        error = (no_representation(accept) if routed else None) or refused
        return Document(error.code, JSON, encode(error.status()))
    return Document(200, agreed.content_type, encode(value, agreed.media_type, pretty=agreed.pretty), (_VARY,))


def api_versions(server_address: str) -> JsonObject:
    """``/api``: the versions of the core group."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def api_group_list(catalog: Catalog) -> JsonObject:
    """``/apis``: the other groups."""
    groups = [api_group(name, versions) for name, versions in catalog.groups.items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(name: str, versions: Iterable[str]) -> JsonObject:
    """One group and its versions, the preferred one first."""
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def api_resource_list(catalog: Catalog, group: str, version: str) -> JsonObject | None:
    """``/api/v1`` and ``/apis/GROUP/VERSION``: the resources and their subresources; None when not served."""
    served = catalog.resources(group, version)
    if served is None:
        return None
    rows = [row for info in served for row in _rows(info)]
    head: JsonObject = {"kind": "APIResourceList"}
    if group:
        head["apiVersion"] = "v1"
    return {**head, "groupVersion": f"{group}/{version}" if group else version, "resources": rows}


def _rows(info: ResourceInfo) -> Iterable[JsonObject]:
    row: JsonObject = {
        "name": info.resource,
        "singularName": info.singular,
        "namespaced": info.namespaced,
        "kind": info.kind,
        "verbs": list(info.verbs),
    }
    if info.short_names:
        row["shortNames"] = list(info.short_names)
    if info.categories:
        row["categories"] = list(info.categories)
    if info.storage_version_hash:
        row["storageVersionHash"] = info.storage_version_hash
    yield row
    for sub in info.subresources.values():
        origin = {} if _is_own(info, sub) else {"group": sub.group, "version": sub.version}
        yield {
            "name": f"{info.resource}/{sub.name}",
            "singularName": "",
            "namespaced": info.namespaced,
            **origin,
            "kind": sub.kind,
            "verbs": list(sub.verbs),
        }


def _is_own(info: ResourceInfo, sub: SubresourceInfo) -> bool:
    return (sub.group, sub.version) == (info.group, info.version)


def aggregated(catalog: Catalog, root: str, version: DiscoveryVersion) -> Document:
    """Everything below ``/api`` or ``/apis`` at once; ``root`` is ``api`` or ``apis``."""
    body = _aggregated(catalog, root, version)
    etag = f'"{sha512(body).hexdigest().upper()}"'
    content_type = f"{JSON};g={DISCOVERY_GROUP};v={version};as={DISCOVERY_LIST}"
    return Document(200, content_type, body, (("ETag", etag), _VARY, ("Cache-Control", "public")))


@lru_cache(maxsize=16)
def _aggregated(catalog: Catalog, root: str, version: DiscoveryVersion) -> bytes:
    items = [_group(name, versions) for name, versions in catalog.groups.items() if (name == "") == (root == "api")]
    head = {"kind": DISCOVERY_LIST, "apiVersion": f"{DISCOVERY_GROUP}/{version}", "metadata": {}, "items": items}
    return encode(head)


def _group(name: str, versions: Mapping[str, Sequence[ResourceInfo]]) -> JsonObject:
    return {
        "metadata": {"name": name} if name else {},
        "versions": [
            {"version": version, "resources": [_resource(info) for info in served], "freshness": "Current"}
            for version, served in versions.items()
        ],
    }


def _resource(info: ResourceInfo) -> JsonObject:
    row: JsonObject = {
        "resource": info.resource,
        "responseKind": _response_kind(info, info.group, info.version, info.kind),
        "scope": "Namespaced" if info.namespaced else "Cluster",
        "singularResource": info.singular,
        "verbs": list(info.verbs),
    }
    if info.short_names:
        row["shortNames"] = list(info.short_names)
    if info.categories:
        row["categories"] = list(info.categories)
    if info.subresources:
        row["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(info, sub.group, sub.version, sub.kind),
                "verbs": list(sub.verbs),
            }
            for sub in info.subresources.values()
        ]
    return row


def _response_kind(info: ResourceInfo, group: str, version: str, kind: str) -> JsonObject:
    """A built-in kind of the resource's own group and version leaves them out, as Kubernetes does."""
    if info.definition and (group, version) == (info.group, info.version):
        group = version = ""
    return {"group": group, "version": version, "kind": kind}

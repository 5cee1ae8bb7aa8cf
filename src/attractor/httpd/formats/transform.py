"""From the answer of the core to the kind that a client asked for: a Table, or metadata alone.

    agreed = negotiate(accept)
    if agreed.transform:
        options = TransformOptions(agreed.transform, now, include_object(query))
        value = transform(view(catalog, gvk, resource), answer, options)        # get, list, and answers of writes
        watch = WatchTransform(view(...), agreed.transform, include_object(query))  # once for each watch
        line = watch.event("ADDED", obj, now)

Status objects are never transformed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from attractor.apiserver.verbs.watch import INITIAL_EVENTS_END
from attractor.httpd.formats.tables import list_metadata, partial_object, table
from attractor.objects.errors import NotAcceptable

if TYPE_CHECKING:
    from attractor.httpd.formats.negotiate import Transform
    from attractor.httpd.formats.tables import IncludeObject, View
    from attractor.objects.json_types import JsonObject
    from attractor.objects.timestamps import Moment


class TransformOptions(NamedTuple):
    """Into what, at which moment, and how much of each object a Table carries."""

    transform: Transform
    now: Moment
    include: IncludeObject = "Metadata"


def transform(shown: View, obj: JsonObject, options: TransformOptions, *, headers: bool = True) -> JsonObject:
    """The answer as the kind that was asked for; raises ``NotAcceptable`` when it cannot be."""
    if _is_status(obj):
        return obj
    target = options.transform
    if target.kind == "Table":
        return table(shown, obj, now=options.now, include=options.include, version=target.version, headers=headers)
    is_list = shown.is_list(obj)
    if target.kind == "PartialObjectMetadata":
        if is_list:
            raise _unfit(target.kind, "a list", shown, shown.list_kind)
        return partial_object(shown, obj, target.version)
    if not is_list:
        raise _unfit(target.kind, "not a list", shown, shown.gvk.kind)
    return {
        "kind": target.kind,
        "apiVersion": target.api_version,
        "metadata": list_metadata(obj.get("metadata") or {}),
        "items": [partial_object(shown, one, target.version) for one in obj["items"]] or None,
    }


def _is_status(obj: JsonObject) -> bool:
    return obj.get("kind") == "Status" and obj.get("apiVersion") == "v1"


def _unfit(target: str, what: str, shown: View, kind: str) -> NotAcceptable:
    """Kubernetes names the Go type of what it has."""
    package = shown.gvk.group.split(".", 1)[0] or "core"
    if shown.is_custom:
        package, kind = "unstructured", "UnstructuredList" if kind == shown.list_kind else "Unstructured"
    return NotAcceptable(f"you requested {target}, but the requested object is {what} (*{package}.{kind})")


class WatchTransform:
    """Transforms the objects of one watch; only its first Table names the columns."""

    def __init__(self, shown: View, target: Transform, include: IncludeObject = "Metadata") -> None:
        self._view = shown
        self._target = target
        self._include: IncludeObject = include
        self._headers = True

    def event(self, event_type: str, obj: JsonObject, now: Moment) -> JsonObject:
        """A watch event's object in the shape that was asked for; a Status stays what it is."""
        if event_type == "ERROR" or _is_status(obj) or self._target.kind == "PartialObjectMetadataList":
            return obj
        include = self._include
        if _ends_initial(obj) and include == "None":
            include = "Metadata"  # the annotation is the message
        headers, self._headers = self._headers, False
        return transform(self._view, obj, TransformOptions(self._target, now, include), headers=headers)


def _ends_initial(obj: JsonObject) -> bool:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    return annotations.get(INITIAL_EVENTS_END) == "true"

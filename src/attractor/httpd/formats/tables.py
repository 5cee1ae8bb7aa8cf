"""Tables: what ``kubectl get`` prints, made by the server.

A ``View`` joins a kind with its printer. ``table(view, obj, ...)`` shows an object or a list; ages are told at the
moment that is handed in. Cells hold numbers and booleans where the column says so, text otherwise, and null where a
custom column found nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, cast

from attractor.apiserver.kinds.builtin.defaults.workloads import TEMPLATE_GENERATION
from attractor.apiserver.kinds.conversion import CONVERSIONS
from attractor.httpd.formats.ages import Clock
from attractor.httpd.formats.negotiate import META_GROUP
from attractor.httpd.formats.printers import Printer, builtin_printer
from attractor.httpd.formats.printers.columns import DEFAULT
from attractor.httpd.formats.printers.custom import custom_printer
from attractor.objects.errors import BadRequest
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupVersionResource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from attractor.httpd.formats.catalog import Catalog
    from attractor.httpd.formats.negotiate import MetaVersion
    from attractor.objects.gvk import GroupVersionKind
    from attractor.objects.json_types import JsonObject
    from attractor.objects.timestamps import Moment

IncludeObject = Literal["None", "Metadata", "Object"]


@dataclass(frozen=True, eq=False)
class View:
    """How objects of one kind are shown."""

    gvk: GroupVersionKind
    list_kind: str
    printer: Printer
    is_custom: bool = False
    to_hub: Callable[[JsonObject], JsonObject] | None = None
    """Into the shape that the printer knows, for kinds that are served in another one."""

    def cells(self, obj: JsonObject, clock: Clock) -> tuple[list[object], list[JsonObject]]:
        """The cells of a row, and its conditions."""
        stored = self.to_hub(obj) if self.to_hub else obj
        conditions = self.printer.conditions(stored) if self.printer.conditions else []
        return self.printer.cells(stored, clock), conditions

    def is_list(self, obj: JsonObject) -> bool:
        """Whether this is a list of such objects rather than one of them."""
        return obj.get("kind") == self.list_kind and "items" in obj


@lru_cache(maxsize=256)
def view(catalog: Catalog, gvk: GroupVersionKind, resource: str, list_kind: str = "") -> View:
    """How objects of a kind are shown; ``list_kind`` is the kind of their lists, ``KindList`` when not given."""
    list_kind = list_kind or f"{gvk.kind}List"
    custom = catalog.custom.get(GroupVersionResource(gvk.group, gvk.version, resource))
    if custom is not None and gvk.kind == custom.info.kind:
        printer = custom_printer(custom.version.get("additionalPrinterColumns"))
        return View(gvk, custom.list_kind, printer, is_custom=True)
    conversion = CONVERSIONS.get((gvk.group, gvk.version, gvk.kind))
    if conversion is None:
        return View(gvk, list_kind, builtin_printer(gvk.group, gvk.kind))
    hub = conversion.hub
    return View(gvk, list_kind, builtin_printer(hub.group, hub.kind), to_hub=conversion.to_hub)


def include_object(query: Mapping[str, Sequence[str]]) -> IncludeObject:
    """What rows carry of their objects; raises ``BadRequest``."""
    values = query.get("includeObject") or ()
    said = (values[0] if values else "") or "Metadata"
    if said not in {"None", "Metadata", "Object"}:
        error = FieldError.invalid("includeObject", said, "must be 'Metadata', 'Object', 'None', or empty")
        raise BadRequest(f"Unable to convert to Table as requested: {error}")
    return cast("IncludeObject", said)


def table(
    shown: View,
    obj: JsonObject,
    *,
    now: Moment,
    include: IncludeObject = "Metadata",
    version: MetaVersion = "v1",
    headers: bool = True,
) -> JsonObject:
    """A Table of an object or of a list; without headers it leaves the columns to an earlier one."""
    clock = Clock(now)
    objects: Iterable[JsonObject] = obj["items"] if shown.is_list(obj) else (obj,)
    if shown.printer.order:
        objects = sorted(objects, key=shown.printer.order)
    rows = [_row(shown, one, clock, include, version) for one in objects]
    return {
        "kind": "Table",
        "apiVersion": f"{META_GROUP}/{version}",
        "metadata": list_metadata(obj.get("metadata") or {}),
        "columnDefinitions": shown.printer.definitions if headers else None,
        # Kubernetes' printer for kinds that have none of their own leaves an empty list out.
        "rows": None if not rows and shown.printer is DEFAULT else rows,
    }


def list_metadata(metadata: JsonObject) -> JsonObject:
    """What the metadata of a list, or of the one object, says about the whole."""
    kept = ("resourceVersion", "continue", "remainingItemCount")
    return {name: metadata[name] for name in kept if metadata.get(name) not in {None, ""}}


def _row(shown: View, obj: JsonObject, clock: Clock, include: IncludeObject, version: MetaVersion) -> JsonObject:
    cells, conditions = shown.cells(obj, clock)
    row: JsonObject = {"cells": cells}
    if conditions:
        row["conditions"] = conditions
    match include:
        case "None":
            row["object"] = None
        case "Metadata":
            row["object"] = partial_object(shown, obj, version)
        case "Object":
            row["object"] = {"kind": shown.gvk.kind, "apiVersion": shown.gvk.api_version, **obj}
    return row


def partial_object(shown: View, obj: JsonObject, version: MetaVersion) -> JsonObject:
    """An object's metadata alone, without what only its whole form in a version says there."""
    metadata = (shown.to_hub(obj) if shown.to_hub else obj).get("metadata") or {}
    if TEMPLATE_GENERATION in (metadata.get("annotations") or {}):
        metadata = _without_template_generation(metadata)
    return {"kind": "PartialObjectMetadata", "apiVersion": f"{META_GROUP}/{version}", "metadata": metadata}


def _without_template_generation(metadata: JsonObject) -> JsonObject:
    """A daemon set's annotation that kube-apiserver makes only when it writes the whole object."""
    kept = {name: text for name, text in metadata["annotations"].items() if name != TEMPLATE_GENERATION}
    rest = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**rest, "annotations": kept} if kept else rest

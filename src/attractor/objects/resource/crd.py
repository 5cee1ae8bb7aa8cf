"""The CustomResourceDefinition of a kind: one class for each version, one manifest for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.resource.kind import KindError
from attractor.objects.resource.structural import schema_of

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource.kind import Resource


def crd_for(*classes: type[Resource], storage: type[Resource] | None = None) -> JsonObject:
    """The manifest of a kind whose versions are ``classes``; ``storage`` is the stored one, the last if not said.

    Names, scope, short names and categories are those of the storage version, and must not differ between versions.
    """
    if not classes:
        raise KindError("crd_for needs at least one class")
    stored = storage or classes[-1]
    if stored not in classes:
        raise KindError(f"the storage version {stored.__name__} is not among the versions")
    info = stored.resource_info
    if info.definition:
        raise KindError(f"{info.gvk} is built in and needs no CustomResourceDefinition")
    for cls in classes:
        other = cls.resource_info
        named = (other.group, other.kind, other.resource, other.namespaced)
        if named != (info.group, info.kind, info.resource, info.namespaced):
            raise KindError(
                f"{cls.__name__} and {stored.__name__} are not versions of one kind: they differ in {named}"
            )
    if len({cls.gvk.version for cls in classes}) != len(classes):
        raise KindError(f"two classes of {info.group_resource} have the same version")
    if not info.group:
        raise KindError(
            f'{info.kind} is in the core group, where custom kinds cannot be; give it a group="example.org"'
        )
    names: JsonObject = {
        "plural": info.resource,
        "singular": info.singular,
        "kind": info.kind,
        "listKind": info.list_kind,
    }
    if info.short_names:
        names["shortNames"] = list(info.short_names)
    if info.categories:
        names["categories"] = list(info.categories)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{info.resource}.{info.group}"},
        "spec": {
            "group": info.group,
            "names": names,
            "scope": "Namespaced" if info.namespaced else "Cluster",
            "versions": [_version(cls, cls is stored) for cls in classes],
        },
    }


def _version(cls: type[Resource], is_stored: bool) -> JsonObject:
    options = cls.kind_options
    version: JsonObject = {
        "name": cls.gvk.version,
        "served": options.served,
        "storage": is_stored,
        "schema": {"openAPIV3Schema": schema_of(cls)},
    }
    if options.deprecated:
        version["deprecated"] = True
        if options.deprecation_warning:
            version["deprecationWarning"] = options.deprecation_warning
    subresources: JsonObject = {}
    if "status" in cls.resource_info.subresources:
        subresources["status"] = {}
    if options.scale is not None:
        paths = {
            "specReplicasPath": options.scale.spec_replicas_path,
            "statusReplicasPath": options.scale.status_replicas_path,
            "labelSelectorPath": options.scale.label_selector_path,
        }
        subresources["scale"] = {name: path for name, path in paths.items() if path}
    if subresources:
        version["subresources"] = subresources
    if options.printer_columns:
        version["additionalPrinterColumns"] = [
            {"name": column.name, "type": column.type, "jsonPath": column.json_path}
            | {
                name: value
                for name, value in (
                    ("format", column.format), ("description", column.description), ("priority", column.priority),
                )
                if value
            }
            for column in options.printer_columns
        ]  # fmt: skip
    if options.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in options.selectable_fields]
    return version

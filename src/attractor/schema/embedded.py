"""Type and object metadata of embedded resources (``x-kubernetes-embedded-resource``), in Kubernetes' words.

An embedded resource must say its ``apiVersion`` and ``kind``; ``metadata`` may be missing. The rules of ObjectMeta
itself (labels, annotations, owner references) belong to the caller, who hands them in as ``check_metadata``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from attractor.schema.node import Schema

CheckMetadata = Callable[[dict[str, Any], str], list[FieldError]]
"""``check(metadata, path)`` -> what is wrong with an embedded ObjectMeta."""

_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_STRING_FIELDS = ("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion")


def has_embedded_resources(schema: Schema | None) -> bool:
    """Whether any value below is an embedded resource."""
    if schema is None:
        return False
    inner = (*schema.properties.values(), schema.additional, schema.items)
    return schema.is_embedded_resource or any(has_embedded_resources(child) for child in inner)


def embedded_resources(schema: Schema, value: Any, path: str = "") -> Iterator[tuple[dict[str, Any], str]]:
    """The embedded resources in a value, each with its path."""
    if type(value) is dict:
        if schema.is_embedded_resource:
            yield value, path
        for name, member in value.items():
            if (child := schema.properties.get(name)) is not None:
                yield from embedded_resources(child, member, f"{path}.{name}" if path else name)
            elif schema.additional is not None:
                yield from embedded_resources(schema.additional, member, f"{path}[{name}]")
    elif type(value) is list and schema.items is not None:
        for index, item in enumerate(value):
            yield from embedded_resources(schema.items, item, f"{path}[{index}]")


def check_embedded(schema: Schema, value: Any, check_metadata: CheckMetadata, path: str = "") -> list[FieldError]:
    """What is wrong with the embedded resources in a value."""
    found: list[FieldError] = []
    for resource, at in embedded_resources(schema, value, path):
        found += _check_resource(resource, at, check_metadata)
    return found


def _check_resource(value: dict[str, Any], path: str, check_metadata: CheckMetadata) -> list[FieldError]:
    found: list[FieldError] = []
    for name, check in (("apiVersion", _check_api_version), ("kind", _check_kind)):
        at = f"{path}.{name}" if path else name
        said = value.get(name)
        if name not in value or said == "":
            found.append(FieldError.required(at))
        elif not isinstance(said, str):
            found.append(FieldError.invalid(at, said, "must be a string"))
        else:
            found += check(said, at)
    if "metadata" in value:
        at = f"{path}.metadata" if path else "metadata"
        metadata = value["metadata"]
        if not isinstance(metadata, dict):
            found.append(FieldError.invalid(at, metadata, f"expected object, got {type(metadata).__name__}"))
        else:
            found += check_metadata(metadata, at)
    return found


def _check_api_version(said: str, path: str) -> list[FieldError]:
    if said.count("/") > 1:
        return [FieldError.invalid(path, said, f"unexpected GroupVersion string: {said}")]
    return []


def _check_kind(said: str, path: str) -> list[FieldError]:
    lowered = said.lower()
    if len(lowered) > 63:
        return [
            FieldError.invalid(
                path, said, "may have mixed case, but should otherwise match: must be no more than 63 bytes"
            )
        ]
    if not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", lowered):
        return [FieldError.invalid(path, said, f"may have mixed case, but should otherwise match: {_LABEL_RULE}")]
    return []


def check_metadata_shape(metadata: dict[str, Any], path: str) -> list[FieldError]:
    """The rules that need no other module: texts are texts, and a name is one path segment."""
    found = [
        FieldError.invalid(f"{path}.{name}", metadata[name], "must be a string")
        for name in _STRING_FIELDS
        if metadata.get(name) is not None and not isinstance(metadata[name], str)
    ]
    for name in ("labels", "annotations"):
        texts = metadata.get(name)
        if texts is not None and not (isinstance(texts, dict) and all(isinstance(v, str) for v in texts.values())):
            found.append(FieldError.invalid(f"{path}.{name}", texts, "must be a map of strings"))
    given = metadata.get("name")
    if isinstance(given, str):
        if given in {".", ".."}:
            found.append(FieldError.invalid(f"{path}.name", given, f"may not be '{given}'"))
        found += [
            FieldError.invalid(f"{path}.name", given, f"may not contain '{character}'")
            for character in "/%"
            if character in given
        ]
    return found

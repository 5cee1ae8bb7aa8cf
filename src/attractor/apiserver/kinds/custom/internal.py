"""The form in which an API server checks a definition: what all versions share stands once, beside them.

That form is why an error about the schema of a definition with one version names ``spec.validation``.

>>> spec = internal_spec({"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object"}}}]})
>>> spec["validation"], spec["versions"]
({'openAPIV3Schema': {'type': 'object'}}, [{'name': 'v1'}])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_HOISTED = (
    ("schema", "validation"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
)


def internal_spec(spec: JsonObject) -> JsonObject:
    """The spec with what is equal in all versions moved beside them; the given one stays as it is."""
    versions = [dict(version) for version in spec.get("versions") or ()]
    internal = {**spec, "versions": versions}
    if not versions:
        return internal
    internal["version"] = versions[0].get("name") or ""
    for name, hoisted in _HOISTED:
        first = versions[0].get(name)
        if any((version.get(name) or None) != (first or None) for version in versions):
            continue
        for version in versions:
            version.pop(name, None)
        if first is not None:
            internal[hoisted] = first
    return internal

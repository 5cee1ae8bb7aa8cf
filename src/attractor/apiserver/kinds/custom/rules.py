"""The rules of a definition's spec, in the form in which an API server checks it.

In that form what all versions share stands once, beside them. It is why an error about the schema of a definition with
one version names ``spec.validation``.

>>> spec = internal_spec({"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object"}}}]})
>>> spec["validation"], spec["versions"]
({'openAPIV3Schema': {'type': 'object'}}, [{'name': 'v1'}])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.validation.control_plane.webhook_client import validate_client
from attractor.apiserver.kinds.custom.columns import (
    column_errors,
    deprecation_errors,
    selectable_errors,
    subresource_errors,
)
from attractor.objects import names
from attractor.objects.field import FieldError, repeated
from attractor.schema.go_form import versions_form
from attractor.schema.structural import check_structural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.json_types import JsonObject

_REVIEW_VERSIONS = ("v1", "v1beta1")


def spec_errors(given: JsonObject) -> Iterator[FieldError]:
    """Everything wrong with a definition's spec."""
    spec = internal_spec(given)
    yield from _group_errors(spec)
    yield from _missing_schemas(spec)
    for index, version in enumerate(spec["versions"]):
        path, name = f"spec.versions[{index}]", version.get("name") or ""
        if why := names.dns1035_label(name):
            yield FieldError.invalid(f"{path}.name", name, ",".join(why))
        yield from deprecation_errors(version, path)
        has_status = _has_status(version.get("subresources") or spec.get("subresources"))
        yield from _described_errors(version, "schema", path, has_status=has_status)
    yield from _version_list_errors(spec)
    yield from name_errors(spec.get("names") or {}, "spec.names", are_required=True)
    any_status = any(_has_status(one.get("subresources")) for one in (spec, *spec["versions"]))
    yield from _described_errors(spec, "validation", "spec", has_status=any_status)
    yield from _conversion_errors(spec)


def _has_status(subresources: JsonObject | None) -> bool:
    return (subresources or {}).get("status") is not None


def _group_errors(spec: JsonObject) -> Iterator[FieldError]:
    group, scope = spec.get("group") or "", spec.get("scope") or ""
    if not group:
        yield FieldError.required("spec.group")
    elif why := names.dns1123_subdomain(group):
        yield FieldError.invalid("spec.group", group, ",".join(why))
    elif "." not in group:
        yield FieldError.invalid("spec.group", group, "should be a domain with at least one dot")
    yield from _choice_errors("spec.scope", scope, ["Cluster", "Namespaced"])


def _choice_errors(path: str, value: str, known: list[str]) -> Iterator[FieldError]:
    if not value:
        yield FieldError.required(path)
    elif value not in known:
        yield FieldError.unsupported(path, value, known)


def _missing_schemas(spec: JsonObject) -> Iterator[FieldError]:
    if _document(spec, "validation") is not None:
        return
    for index, version in enumerate(spec["versions"]):
        if _document(version, "schema") is None:
            yield FieldError.required(f"spec.versions[{index}].schema.openAPIV3Schema")


def _document(owner: JsonObject, field: str) -> JsonObject | None:
    doc: JsonObject | None = (owner.get(field) or {}).get("openAPIV3Schema")
    return doc


def _described_errors(owner: JsonObject, field: str, path: str, *, has_status: bool) -> Iterator[FieldError]:
    """What one version says, or all of them together: schema, subresources, columns, selectable fields."""
    doc = _document(owner, field)
    if doc is not None:
        yield from check_structural(doc, f"{path}.{field}.openAPIV3Schema", has_status=has_status)
    yield from subresource_errors(owner.get("subresources"), f"{path}.subresources")
    for index, column in enumerate(owner.get("additionalPrinterColumns") or ()):
        yield from column_errors(column, f"{path}.additionalPrinterColumns[{index}]")
    fields, at = owner.get("selectableFields") or [], f"{path}.selectableFields"
    if fields and doc is not None:
        yield from selectable_errors(fields, doc, at)
    elif fields:
        alone = "may only be set when `version.schema.openAPIV3Schema` is not included"
        shared = "may only be set when validations.schema is included"
        yield FieldError.invalid(at, "", alone if field == "schema" else shared)


def _version_list_errors(spec: JsonObject) -> Iterator[FieldError]:
    versions = spec["versions"]
    called = [version.get("name") or "" for version in versions]
    if len(set(called)) < len(called):
        yield FieldError.invalid("spec.versions", versions_form(versions), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        yield FieldError.invalid("spec.versions", versions_form(versions) if versions else None, why)
    if spec.get("version") and (why_not := names.dns1035_label(spec["version"])):
        yield FieldError.invalid("spec.version", spec["version"], ",".join(why_not))


def name_errors(given: JsonObject, path: str, *, are_required: bool) -> Iterator[FieldError]:
    """The names of a kind, wanted or accepted."""
    for field in ("plural", "singular", "kind", "listKind"):
        value = given.get(field) or ""
        if not value:
            if are_required:
                yield FieldError.required(f"{path}.{field}")
            continue
        is_kind = field in {"kind", "listKind"}
        if why := names.dns1035_label(value.lower() if is_kind else value):
            but = "may have mixed case, but should otherwise match: " if is_kind else ""
            yield FieldError.invalid(f"{path}.{field}", value, but + ",".join(why))
    if given.get("kind") and given.get("kind") == given.get("listKind"):
        yield FieldError.invalid(f"{path}.listKind", given["listKind"], "kind and listKind may not be the same")
    for field in ("shortNames", "categories"):
        for index, value in enumerate(given.get(field) or ()):
            if why := names.dns1035_label(value):
                yield FieldError.invalid(f"{path}.{field}[{index}]", value, ",".join(why))


def _conversion_errors(spec: JsonObject) -> Iterator[FieldError]:
    conversion: JsonObject = spec.get("conversion") or {}
    webhook: JsonObject = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    at, strategy = "spec.conversion", conversion.get("strategy") or ""
    if strategy != "None" and spec.get("preserveUnknownFields"):
        yield FieldError.invalid(f"{at}.strategy", strategy, "must be None if spec.preserveUnknownFields is true")
    yield from _choice_errors(f"{at}.strategy", strategy, ["None", "Webhook"])
    if strategy != "Webhook":
        why = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield FieldError.forbidden(f"{at}.webhookClientConfig", why)
        if versions:
            yield FieldError.forbidden(f"{at}.conversionReviewVersions", why)
        return
    if client is None:
        yield FieldError.required(f"{at}.webhookClientConfig", "required when strategy is set to Webhook")
    else:
        yield from validate_client(client, f"{at}.webhookClientConfig")
    yield from _review_version_errors(versions, f"{at}.conversionReviewVersions")


def _review_version_errors(versions: list[Any], path: str) -> Iterator[FieldError]:
    if not versions:
        yield FieldError.required(path)
        return
    twice = repeated(versions)
    for index, version in enumerate(versions):
        if index in twice:
            yield FieldError.invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        for why in names.dns1035_label(version):
            yield FieldError.invalid(f"{path}[{index}]", version, why)
    if not set(_REVIEW_VERSIONS) & set(versions):
        why = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        yield FieldError.invalid(path, versions, why)


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

"""The rules of a CustomResourceDefinition itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.builtin.validation.webhookclient import validate_client
from attractor.apiserver.strategy import Decoded, Strategy
from attractor.objects import names
from attractor.objects.field import FieldError
from attractor.objects.schema.structural import check_structural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.jsontypes import JsonObject

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_PROTECTED_SUFFIXES = (".k8s.io", ".kubernetes.io")
_APPROVED = "api-approved.kubernetes.io"


class DefinitionStrategy(Strategy):
    """A definition names one kind in one or more versions, of which exactly one is stored."""

    has_status_subresource = True
    allow_unconditional_update = False

    def __init__(self, shape: Strategy) -> None:
        self.shape = shape

    def decode(self, obj: JsonObject) -> Decoded:
        """Types and unknown fields are those of the published kind."""
        return self.shape.decode(obj)

    def default(self, obj: JsonObject) -> None:
        """Names that follow from others, and no conversion."""
        spec = obj.setdefault("spec", {})
        given = spec.get("names") or {}
        kind = given.get("kind") or ""
        spec["names"] = {
            **given,
            "singular": given.get("singular") or kind.lower(),
            "listKind": given.get("listKind") or (f"{kind}List" if kind else ""),
        }
        spec["conversion"] = {"strategy": "None", **(spec.get("conversion") or {})}

    def prepare_create(self, obj: JsonObject) -> None:
        """A new definition is not yet accepted; it stores its storage version."""
        obj["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": []}
        _note_storage(obj)

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str) -> None:
        """Status through its subresource only; a version that was ever stored stays on record."""
        if subresource == "status":
            obj["spec"] = old["spec"]
            for field in ("labels", "annotations", "ownerReferences", "finalizers"):
                obj["metadata"].pop(field, None)
                if field in old["metadata"]:
                    obj["metadata"][field] = old["metadata"][field]
            return
        obj["status"] = {**(old.get("status") or {})}
        _note_storage(obj)

    def prepare_delete(self, obj: JsonObject, now: str) -> None:
        """Its objects go first: that is what the finalizer is for."""
        metadata = obj["metadata"]
        metadata.pop("deletionGracePeriodSeconds", None)
        metadata["generation"] = metadata.get("generation", 2) - 1
        metadata["finalizers"] = list(dict.fromkeys([*(metadata.get("finalizers") or ()), CLEANUP_FINALIZER]))
        status = {**(obj.get("status") or {})}
        message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        condition = {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "InstanceDeletionPending",
            "message": message,
        }
        others = [item for item in status.get("conditions") or () if item["type"] != "Terminating"]
        obj["status"] = {**status, "conditions": [*others, condition]}

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """A definition is named after its plural and group, which ``validate`` checks."""
        return names.as_prefix(names.dns1123_subdomain, name) if prefix else names.dns1123_subdomain(name)

    def validate(self, obj: JsonObject) -> list[FieldError]:
        """Names, versions and schemas."""
        spec = obj.get("spec") or {}
        return [
            *_name_errors(obj, spec),
            *_group_errors(obj, spec),
            *_names_errors(spec.get("names") or {}),
            *_version_errors(spec),
        ]

    def validate_update(self, obj: JsonObject, old: JsonObject, subresource: str) -> list[FieldError]:
        """The same, and what identifies the kind may not change."""
        if subresource == "status":
            return []
        errors: list[FieldError] = []
        for path in (("group",), ("names", "kind"), ("names", "plural"), ("scope",)):
            was, now = _at(old["spec"], path), _at(obj["spec"], path)
            if was != now and (path == ("group",) or _is_established(old)):
                errors.append(FieldError.invalid("spec." + ".".join(path), now, "field is immutable"))
        return errors + self.validate(obj)


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = (value or {}).get(name)
    return value


def _is_established(obj: JsonObject) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(item["type"] == "Established" and item["status"] == "True" for item in conditions)


def _note_storage(obj: JsonObject) -> None:
    storage = [version["name"] for version in obj["spec"].get("versions") or () if version.get("storage")]
    stored = obj["status"].get("storedVersions") or []
    obj["status"]["storedVersions"] = list(dict.fromkeys([*stored, *storage[:1]]))


def _name_errors(obj: JsonObject, spec: JsonObject) -> Iterator[FieldError]:
    name, plural, group = obj["metadata"].get("name"), _at(spec, ("names", "plural")), spec.get("group")
    if name != f"{plural or ''}.{group or ''}":
        yield FieldError.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _group_errors(obj: JsonObject, spec: JsonObject) -> Iterator[FieldError]:
    group = spec.get("group") or ""
    if not group:
        yield FieldError.required("spec.group")
    else:
        for why in names.dns1123_subdomain(group):
            yield FieldError.invalid("spec.group", group, why)
        if "." not in group:
            yield FieldError.invalid("spec.group", group, "should be a domain with at least one dot")
    protected = group in {"k8s.io", "kubernetes.io"} or group.endswith(_PROTECTED_SUFFIXES)
    if protected and not (obj["metadata"].get("annotations") or {}).get(_APPROVED):
        why = (
            'protected groups must have approval annotation "api-approved.kubernetes.io", see '
            "https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield FieldError.required("metadata.annotations[api-approved.kubernetes.io]", why)
    if spec.get("scope") not in {"Cluster", "Namespaced"}:
        if not spec.get("scope"):
            yield FieldError.required("spec.scope")
        else:
            yield FieldError.unsupported("spec.scope", spec["scope"], ["Cluster", "Namespaced"])


def _names_errors(given: JsonObject) -> Iterator[FieldError]:
    for field in ("plural", "singular", "kind", "listKind"):
        value = given.get(field) or ""
        if not value:
            yield FieldError.required(f"spec.names.{field}")
            continue
        for why in names.dns1035_label(value.lower()):
            yield FieldError.invalid(f"spec.names.{field}", value, why)
        if field in {"plural", "singular"} and value != value.lower():
            yield FieldError.invalid(f"spec.names.{field}", value, "must be all lowercase")
    for index, short in enumerate(given.get("shortNames") or ()):
        for why in names.dns1035_label(short):
            yield FieldError.invalid(f"spec.names.shortNames[{index}]", short, why)
    for index, category in enumerate(given.get("categories") or ()):
        for why in names.dns1035_label(category):
            yield FieldError.invalid(f"spec.names.categories[{index}]", category, why)
    if given.get("kind") and given.get("kind") == given.get("listKind"):
        yield FieldError.invalid("spec.names.listKind", given["listKind"], "kind and listKind may not be the same")


def _version_errors(spec: JsonObject) -> Iterator[FieldError]:
    versions = spec.get("versions") or []
    if not versions:
        yield FieldError.required("spec.versions", "must have at least one version")
        return
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        yield FieldError.invalid("spec.versions", versions, why)
    seen: set[str] = set()
    for index, version in enumerate(versions):
        path, name = f"spec.versions[{index}]", version.get("name") or ""
        if name in seen:
            yield FieldError.invalid("spec.versions", versions, "must contain unique version names")
        seen.add(name)
        for why in names.dns1035_label(name):
            yield FieldError.invalid(f"{path}.name", name, why)
        yield from _schema_errors(version, path)
    strategy = _at(spec, ("conversion", "strategy"))
    if strategy not in {"None", "Webhook"}:
        yield FieldError.unsupported("spec.conversion.strategy", strategy, ["None", "Webhook"])
    yield from _conversion_errors(spec.get("conversion") or {})


def _conversion_errors(conversion: JsonObject) -> Iterator[FieldError]:
    webhook = conversion.get("webhook")
    at = "spec.conversion.webhook"
    if conversion.get("strategy") != "Webhook":
        if webhook:
            why = "should not be set when strategy is not set to Webhook"
            yield FieldError.forbidden(at, why)
        return
    client = (webhook or {}).get("clientConfig")
    if not client:
        yield FieldError.required(f"{at}.clientConfig", "required when strategy is set to Webhook")
    else:
        yield from validate_client(client, f"{at}.clientConfig")
    versions = (webhook or {}).get("conversionReviewVersions") or ()
    if not {"v1", "v1beta1"} & set(versions):
        why = "must include at least one of v1, v1beta1"
        yield FieldError.invalid(f"{at}.conversionReviewVersions", list(versions), why)


def _schema_errors(version: JsonObject, path: str) -> Iterator[FieldError]:
    doc = (version.get("schema") or {}).get("openAPIV3Schema")
    if not doc:
        yield FieldError.required(f"{path}.schema.openAPIV3Schema", "schemas are required")
        return
    yield from check_structural(doc, f"{path}.schema.openAPIV3Schema")
    scale = (version.get("subresources") or {}).get("scale") or {}
    for field, root in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        at, value = f"{path}.subresources.scale.{field}", scale.get(field)
        if scale and not value:
            yield FieldError.required(at)
        elif scale and not str(value).startswith(f"{root}."):
            yield FieldError.invalid(at, value, f"should be a json path under {root}")

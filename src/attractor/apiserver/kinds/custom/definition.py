"""The rules of a CustomResourceDefinition itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from attractor.apiserver.kinds.custom.rules import name_errors, spec_errors
from attractor.apiserver.kinds.strategy import Decoded, Strategy
from attractor.objects import names
from attractor.objects.field import FieldError
from attractor.schema.formats import unrecognized_formats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apply.fieldset import FieldSet
    from attractor.objects.json_types import JsonObject

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_PROTECTED_SUFFIXES = (".k8s.io", ".kubernetes.io")
_APPROVED = "api-approved.kubernetes.io"


class DefinitionStrategy(Strategy):
    """A definition names one kind in one or more versions, of which exactly one is stored."""

    def __init__(self, shape: Strategy) -> None:
        super().__init__()
        self.has_status_subresource = True
        self.allow_unconditional_update = False
        self.shape = shape

    def decode(self, obj: JsonObject) -> Decoded:
        """Types and unknown fields are those of the published kind."""
        return self.shape.decode(obj)

    def fitted(self, obj: JsonObject) -> JsonObject | None:
        """Numbers are those of the published kind."""
        return self.shape.fitted(obj)

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
        if isinstance(obj.get("status"), dict) and not obj["status"].get("storedVersions"):
            obj["status"] = {**obj["status"]}
            _note_storage(obj)

    def reset_fields(self, subresource: str) -> FieldSet | None:
        """Through the status subresource, metadata can be written as well."""
        return {"f:spec": {}} if subresource == "status" else super().reset_fields(subresource)

    def prepare_create(self, obj: JsonObject) -> None:
        """A new definition is not yet accepted; it stores its storage version."""
        obj["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": []}
        _note_storage(obj)

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str) -> None:
        """Status through its subresource only, which takes metadata too; a version ever stored stays on record."""
        if subresource == "status":
            obj["spec"] = old["spec"]
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
        return [*_name_errors(obj, obj["spec"]), *spec_errors(obj["spec"]), *_whole_errors(obj, None)]

    def warnings(self, obj: JsonObject, old: JsonObject | None) -> list[str]:
        """Formats that nobody checks, unless the definition had them before."""
        known = set(_unknown_formats(old)) if old is not None else set()
        return [f'unrecognized format "{said}"' for said in _unknown_formats(obj) if said not in known]

    def validate_update(self, obj: JsonObject, old: JsonObject, subresource: str) -> list[FieldError]:
        """The same, and what identifies the kind may not change."""
        accepted = (obj.get("status") or {}).get("acceptedNames") or {}
        if subresource == "status":
            return list(name_errors(accepted, "status.acceptedNames", are_required=False))
        errors = list(spec_errors(obj["spec"]))
        for path in (("scope",), ("names", "kind"), ("group",), ("names", "plural")):
            was, now = _at(old["spec"], path), _at(obj["spec"], path)
            if was != now and (path in {("group",), ("names", "plural")} or _is_established(old)):
                errors.append(FieldError.invalid("spec." + ".".join(path), now, "field is immutable"))
        return errors + _whole_errors(obj, old)


def _unknown_formats(definition: JsonObject) -> list[str]:
    versions = definition["spec"].get("versions") or ()
    docs = [(version.get("schema") or {}).get("openAPIV3Schema") for version in versions]
    return list(dict.fromkeys(said for doc in docs if doc for said in unrecognized_formats(doc)))


def _whole_errors(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    return [*_stored_errors(obj), *_approval_errors(obj, old), *_preserving_errors(obj, old)]


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
    if name and name != f"{plural or ''}.{group or ''}":
        yield FieldError.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _stored_errors(obj: JsonObject) -> Iterator[FieldError]:
    """Every version that objects may be stored in stays in the spec."""
    stored, path = (obj.get("status") or {}).get("storedVersions") or [], "status.storedVersions"
    if not stored:
        yield FieldError.invalid(path, None, "must have at least one stored version")
        return
    versions = obj["spec"].get("versions") or ()
    unseen = set(stored)  # a version that stands there twice is only found once
    for version in versions:
        if version.get("storage") and version["name"] not in unseen:
            yield FieldError.invalid(path, stored, f"must have the storage version {version['name']}")
        unseen.discard(version["name"])
    known = {version["name"] for version in versions}
    for index, name in enumerate(stored):
        if name not in known:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            yield FieldError.invalid(f"{path}[{index}]", name, why)


def _approval(obj: JsonObject) -> tuple[str, str]:
    """The approval that a definition in a protected group claims, and whether that is one."""
    text = (obj["metadata"].get("annotations") or {}).get(_APPROVED) or ""
    if not text:
        return "", "missing"
    if text.startswith("unapproved"):
        return text, "bypassed"
    parts = urlsplit(text)
    return text, "approved" if parts.scheme and parts.netloc else "invalid"


def _approval_errors(obj: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    group = obj["spec"].get("group") or ""
    if group not in {"k8s.io", "kubernetes.io"} and not group.endswith(_PROTECTED_SUFFIXES):
        return
    text, state = _approval(obj)
    if old is not None and _approval(old)[1] == state:
        return
    path, wanted = f"metadata.annotations[{_APPROVED}]", f'protected groups must have approval annotation "{_APPROVED}"'
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    if state == "missing":
        yield FieldError.required(path, f"{wanted}, {see}")
    elif state == "invalid":
        yield FieldError.invalid(
            path, text, f'{wanted} with either a URL or a reason starting with "unapproved", {see}'
        )


def _preserving_errors(obj: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    if obj["spec"].get("preserveUnknownFields") and not (old is not None and old["spec"].get("preserveUnknownFields")):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield FieldError.invalid("spec.preserveUnknownFields", True, why)

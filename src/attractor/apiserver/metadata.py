"""The rules of ``metadata`` that all kinds share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.objects import names
from attractor.objects.errors import ApiError, BadRequest, Conflict
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from attractor.apiserver.kinds import Kind
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.jsontypes import JsonObject

MAX_GENERATED_BASE = 63 - 5
_SET_BY_SERVER = frozenset(
    {"resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"}
)
_CHECKED = frozenset({"labels", "annotations", "ownerReferences", "finalizers"})


def check_place(kind: Kind, metadata: JsonObject, namespace: str, name: str) -> None:
    """Fill in name and namespace from the URL; refuse an object that says otherwise."""
    if name:
        said = metadata.get("name") or name
        if said != name:
            raise BadRequest(f"the name of the object ({said}) does not match the name on the URL ({name})")
        metadata["name"] = name
    if not kind.namespaced:
        if metadata.get("namespace"):
            raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
        metadata.pop("namespace", None)
        return
    said = metadata.get("namespace") or namespace
    if said != namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace


def stamp_new(metadata: JsonObject, txn: Transaction) -> None:
    """Give a new object its name if it asks for one, its uid and its times."""
    if metadata.get("resourceVersion"):
        raise ApiError("resourceVersion should not be set on objects to be created")
    for field in _SET_BY_SERVER.intersection(metadata):
        del metadata[field]
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = metadata["generateName"][:MAX_GENERATED_BASE] + txn.source.suffix()
    metadata["creationTimestamp"] = txn.now
    metadata["uid"] = txn.source.uid()


def carry_over(metadata: JsonObject, old: JsonObject) -> None:
    """Put back what an update can never change."""
    metadata.setdefault("uid", old.get("uid"))
    for field in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
        metadata.pop(field, None)
        if field in old:
            metadata[field] = old[field]
    metadata.pop("selfLink", None)


def check_version(kind: Kind, metadata: JsonObject, name: str, current: int, uid: str | None) -> None:
    """Optimistic concurrency: the caller must have seen the current version, if it says which one it saw."""
    said_uid = metadata.get("uid")
    if said_uid and said_uid != uid:
        raise Conflict.of(kind.group_resource, name, uid_precondition(said_uid, uid))
    version = metadata.pop("resourceVersion", None) or ""
    if version and version != str(current):
        if not version.isdigit():
            why = f'strconv.ParseUint: parsing "{version}": invalid syntax'
            error = FieldError.invalid("metadata.resourceVersion", version, why)
            raise BadRequest(f'invalid resource version: "{version}": {error}')
        raise Conflict.of(kind.group_resource, name)


def uid_precondition(said: str, found: str | None) -> str:
    """The message for a uid that belongs to another incarnation of the name."""
    return f"Precondition failed: UID in precondition: {said}, UID in object meta: {found or ''}"


def validate_new(kind: Kind, metadata: JsonObject) -> list[FieldError]:
    """Every rule of metadata that a new object breaks."""
    errors: list[FieldError] = []
    generate, name = metadata.get("generateName"), metadata.get("name")
    if generate:
        errors += _name_errors(kind, "metadata.generateName", generate, prefix=True)
    if not name:
        errors.append(FieldError.required("metadata.name", "name or generateName is required"))
    else:
        errors += _name_errors(kind, "metadata.name", name, prefix=False)
    return errors + _validate_contents(metadata)


def _name_errors(kind: Kind, path: str, value: str, *, prefix: bool) -> list[FieldError]:
    return [FieldError.invalid(path, value, why) for why in kind.strategy.validate_name(value, prefix=prefix)]


def validate_change(kind: Kind, metadata: JsonObject, old: JsonObject) -> list[FieldError]:
    """Every rule of metadata that an update breaks."""
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        added = [item for item in metadata.get("finalizers") or () if item not in (old.get("finalizers") or ())]
        if added:
            shown = ", ".join(f'"{item}"' for item in sorted(added))
            why = "no new finalizers can be added if the object is being deleted, found new finalizers "
            why += f"[]string{{{shown}}}"
            # Kubernetes' typed kinds check this twice, once in the shared code and once in their own.
            errors += [FieldError.forbidden("metadata.finalizers", why)] * (1 if kind.is_custom else 2)
    for field in ("name", "namespace", "uid"):
        if metadata.get(field) != old.get(field):
            errors.append(FieldError.invalid(f"metadata.{field}", metadata.get(field), "field is immutable"))
    return errors + _validate_contents(metadata)


def _validate_contents(metadata: JsonObject) -> list[FieldError]:
    if _CHECKED.isdisjoint(metadata):
        return []
    errors = names.validate_labels(metadata.get("labels") or {}, "metadata.labels")
    errors += names.validate_annotations(metadata.get("annotations") or {}, "metadata.annotations")
    errors += _validate_owners(metadata.get("ownerReferences") or [])
    return errors + names.validate_finalizers(metadata.get("finalizers") or (), "metadata.finalizers")


def _validate_owners(owners: list[dict[str, Any]]) -> list[FieldError]:
    errors: list[FieldError] = []
    path, controller = "metadata.ownerReferences", ""
    for owner in owners:
        for field, why in (
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ):
            if not owner.get(field):
                errors.append(FieldError.invalid(f"{path}.{field}", owner.get(field) or "", why))
        if owner.get("kind") == "Event" and owner.get("apiVersion") in {"v1", "events.k8s.io/v1"}:
            what = f"{owner['apiVersion']}, Kind=Event"
            errors.append(FieldError.invalid(path, owner, f"{what} is disallowed from being an owner"))
        if owner.get("controller"):
            if controller:
                why = 'Only one reference can have Controller set to true. Found "true" in references for'
                errors.append(FieldError.invalid(path, owners, f"{why} {controller} and {owner.get('name')}"))
            controller = f"{owner.get('name')}"
    return errors


def deduplicate_owners(metadata: JsonObject) -> list[str]:
    """Drop repeated owner references in place; answer the warnings that say so."""
    owners = metadata.get("ownerReferences")
    if not owners or len({owner.get("uid") for owner in owners}) == len(owners):
        return []
    unique: list[Any] = []
    repeated: list[str] = []
    for owner in owners:
        if owner in unique:
            repeated.append(owner.get("uid", ""))
        else:
            unique.append(owner)
    if not repeated:
        return []
    metadata["ownerReferences"] = unique
    uids = ", ".join(dict.fromkeys(repeated))
    return [
        f".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
        f"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
    ]


def set_managed_fields(metadata: JsonObject, entries: list[JsonObject]) -> None:
    """Write the owners of fields into metadata; no owners, no field."""
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)

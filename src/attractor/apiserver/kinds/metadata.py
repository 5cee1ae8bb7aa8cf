"""The rules of ``metadata`` that all kinds share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from attractor.apiserver.kinds.metadata_passes import passes_of
from attractor.objects import names
from attractor.objects.errors import ApiError, BadRequest, Conflict
from attractor.objects.field import FieldError, InOrder
from attractor.objects.go_wording import not_parsed
from attractor.objects.numbers import saturated

if TYPE_CHECKING:
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.json_types import JsonObject

MAX_GENERATED_BASE = 63 - 5
_SET_BY_SERVER: Final[tuple[str, ...]] = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_CHECKED: Final = frozenset({"labels", "annotations", "ownerReferences", "finalizers"})


def check_place(kind: Kind, metadata: JsonObject, namespace: str, name: str) -> None:
    """Fill in name and namespace from the URL; refuse an object that says otherwise."""
    if not kind.namespaced:
        metadata.pop("namespace", None)
    else:
        said = metadata.get("namespace") or namespace
        if said != namespace:
            raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
        metadata["namespace"] = namespace
    if name:
        said = metadata.get("name") or name
        if said != name:
            raise BadRequest(f"the name of the object ({said}) does not match the name on the URL ({name})")
        metadata["name"] = name


def require_name(metadata: JsonObject, name: str) -> None:
    """Refuse a replacement that does not say whom it replaces."""
    if not metadata.get("name"):
        raise BadRequest(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")


def wipe_system_fields(metadata: JsonObject) -> None:
    """Take out of a new object what only the server gives."""
    for field in _SET_BY_SERVER:
        if field in metadata:
            del metadata[field]


def stamp_new(metadata: JsonObject, txn: Transaction) -> None:
    """Give a new object its name if it asks for one, its uid and its times."""
    if _says_a_version(metadata.get("resourceVersion")):
        raise ApiError("resourceVersion should not be set on objects to be created")
    metadata.pop("resourceVersion", None)
    wipe_system_fields(metadata)
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = metadata["generateName"][:MAX_GENERATED_BASE] + txn.source.suffix()
    metadata["creationTimestamp"] = txn.now
    metadata["uid"] = txn.source.uid()


def _says_a_version(said: Any) -> bool:
    """Whether an object that is to be created says that it was stored before; what is no version says nothing."""
    if not isinstance(said, str) or not (said.isascii() and said.isdigit()):
        return False
    return 0 < saturated(said) < 2**64


def carry_over(metadata: JsonObject, old: JsonObject) -> None:
    """Put back what an update never changes; a mark of deletion that it would add is left for validation to refuse."""
    metadata.setdefault("uid", old.get("uid"))
    for field in ("creationTimestamp", "generation"):
        if field in old:
            metadata[field] = old[field]
        else:
            metadata.pop(field, None)
    if "deletionTimestamp" in old:
        metadata["deletionTimestamp"] = old["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in old:
        metadata.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])
    metadata.pop("selfLink", None)


def check_uid(kind: Kind, metadata: JsonObject, name: str, uid: str | None) -> None:
    """The caller must mean this incarnation of the name, if it says which one it means."""
    said_uid = metadata.get("uid")
    if said_uid and said_uid != uid:
        key = registry_key(kind, metadata.get("namespace") or "", name)
        why = f"Precondition failed: UID in precondition: {said_uid}, UID in object meta: {uid or ''}"
        shown = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
        raise Conflict.of(kind.group_resource, name, shown)


def check_version(kind: Kind, metadata: JsonObject, name: str, current: int) -> None:
    """Optimistic concurrency: the caller must have seen the current version, if it says which one it saw."""
    version = metadata.pop("resourceVersion", None) or ""
    if version and version != str(current):
        if not (version.isascii() and version.isdigit()):
            raise ApiError(not_parsed("ParseUint", version))
        if saturated(version) == 0:
            return
        raise Conflict.of(kind.group_resource, name)


_REGISTRY_NAMES = {
    "endpoints": "services/endpoints",
    "ingresses": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
"""Where Kubernetes keeps what it does not keep under the name of the resource."""
_REGISTRY_GROUPS = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})


def registry_key(kind: Kind, namespace: str, name: str) -> str:
    """The key under which Kubernetes would keep an object in etcd, which some of its errors tell."""
    below = f"{kind.gvk.group}/" if kind.is_custom or kind.gvk.group in _REGISTRY_GROUPS else ""
    resource = kind.resource if below else _REGISTRY_NAMES.get(kind.resource, kind.resource)
    return "/".join(part for part in (f"/registry/{below}{resource}", namespace, name) if part)


def validate_new(kind: Kind, metadata: JsonObject) -> list[FieldError]:
    """Every rule of metadata that a new object breaks."""
    errors: list[FieldError] = []
    generate, name = metadata.get("generateName"), metadata.get("name")
    if generate:
        complaints = kind.strategy.validate_name(generate, prefix=True)
        errors += [FieldError.invalid("metadata.generateName", generate, why) for why in complaints]
    if not name:
        errors.append(FieldError.required("metadata.name", "name or generateName is required"))
    elif complaints := kind.strategy.validate_name(name):
        errors += [FieldError.invalid("metadata.name", name, why) for why in complaints]
    if metadata.get("generation", 0) < 0:
        why = "must be greater than or equal to 0"
        errors.append(FieldError.invalid("metadata.generation", metadata["generation"], why))
    if _CHECKED.isdisjoint(metadata):
        return errors
    errors += content_errors(metadata)
    if metadata.get("finalizers"):
        errors += names.validate_finalizers(metadata["finalizers"], "metadata.finalizers")
        if passes_of(kind, "").qualified_finalizers:
            errors += _unqualified_finalizers(metadata)
    return errors


_IMMUTABLE: Final[tuple[str, ...]] = ("name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds")


def validate_change(kind: Kind, metadata: JsonObject, old: JsonObject, subresource: str) -> list[FieldError]:
    """Every rule of metadata that an update breaks, each as often as Kubernetes looks at it."""
    changed = [name for name in _IMMUTABLE if metadata.get(name) != old.get(name)]
    if not changed and _CHECKED.isdisjoint(metadata):
        return []
    as_update = [FieldError.invalid(f"metadata.{name}", metadata.get(name), "field is immutable") for name in changed]
    if old.get("deletionTimestamp"):
        as_update += _new_finalizers(metadata.get("finalizers") or [], old.get("finalizers") or [])
    contents = content_errors(metadata)
    if not (as_update or contents or metadata.get("finalizers")):
        return []
    finalizers = names.validate_finalizers(metadata.get("finalizers") or (), "metadata.finalizers")
    passes = passes_of(kind, subresource)
    errors = as_update * (1 + passes.as_update) + contents * (2 + passes.as_update + passes.as_new)
    errors += finalizers * (1 + passes.as_new)
    if passes.qualified_finalizers:
        errors += _unqualified_finalizers(metadata) * (passes.as_update + passes.as_new)
    return errors


def _new_finalizers(finalizers: list[str], before: list[str]) -> list[FieldError]:
    added = sorted(set(finalizers).difference(before))
    if not added:
        return []
    shown = ", ".join(f'"{item}"' for item in added)
    why = "no new finalizers can be added if the object is being deleted, found new finalizers "
    return [FieldError.forbidden("metadata.finalizers", f"{why}[]string{{{shown}}}")]


def _unqualified_finalizers(metadata: JsonObject) -> list[FieldError]:
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        FieldError.invalid(f"metadata.finalizers[{index}]", item, why)
        for index, item in enumerate(metadata.get("finalizers") or ())
        if "/" not in item and item not in _STANDARD_FINALIZERS
    ]


def finalizer_warnings(kind: Kind, metadata: JsonObject, old: JsonObject) -> list[str]:
    """What Kubernetes says of new finalizers without a domain where it lets them pass."""
    if not kind.is_custom or "finalizers" not in metadata:
        return []
    before = old.get("finalizers") or ()
    return [
        f'metadata.finalizers: "{error.value}": prefer a domain-qualified finalizer name '
        f"{'including a path (/) ' if '.' in error.value else ''}to avoid accidental conflicts with other "
        "finalizer writers"
        for error in _unqualified_finalizers(metadata)
        if error.value not in before
    ]


def content_errors(metadata: JsonObject, path: str = "metadata") -> list[FieldError]:
    """What is wrong with labels, annotations and owners, be it of an object or of one embedded in it."""
    errors: list[FieldError] = []
    if metadata.get("labels"):
        errors += names.validate_labels(metadata["labels"], f"{path}.labels")
    if metadata.get("annotations"):
        errors += names.validate_annotations(metadata["annotations"], f"{path}.annotations")
    if metadata.get("ownerReferences"):
        errors += _validate_owners(metadata["ownerReferences"], f"{path}.ownerReferences")
    return errors


def _validate_owners(owners: list[dict[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = ""
    for owner in owners:
        api_version = owner.get("apiVersion") or ""
        if not _version_of(api_version):
            errors.append(FieldError.invalid(f"{path}.apiVersion", api_version, "version must not be empty"))
        if not (owner.get("kind") and owner.get("name") and owner.get("uid")):
            missing = [field for field in ("kind", "name", "uid") if not owner.get(field)]
            errors += [FieldError.invalid(f"{path}.{field}", "", "must not be empty") for field in missing]
        if owner.get("kind") == "Event" and owner.get("apiVersion") == "v1":
            errors.append(
                FieldError.invalid(path, _as_struct(owner), "/v1, Kind=Event is disallowed from being an owner")
            )
        if owner.get("controller"):
            this = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                why = 'Only one reference can have Controller set to true. Found "true" in references for'
                shown = [_as_struct(one) for one in owners]
                errors.append(FieldError.invalid(path, shown, f"{why} {controller} and {this}"))
            controller = controller or this
    return errors


def _version_of(api_version: str) -> str:
    """The version in an apiVersion; empty where there is none, and of what has too many parts."""
    return api_version.rpartition("/")[2] if api_version.count("/") < 2 else ""


def _as_struct(owner: dict[str, Any]) -> InOrder:
    """An owner reference as Go prints it: its fields in the order of their declaration."""
    fields = {name: owner.get(name) or "" for name in ("apiVersion", "kind", "name", "uid")}
    return InOrder(fields | {name: owner[name] for name in ("controller", "blockOwnerDeletion") if name in owner})


AFTER_ADMISSION = " after mutating admission happens"
"""When repeated owner references are looked for again, and for the first time in a patched object."""


def deduplicate_owners(metadata: JsonObject, when: str = "") -> list[str]:
    """Drop repeated owner references in place; answer the warnings that say so, and when they were found."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) == 1 or len({owner.get("uid") for owner in owners}) == len(owners):
        return []
    unique: dict[str, Any] = {}
    first = [unique.setdefault(_sameness(owner), owner) for owner in owners]
    repeated = [owner.get("uid", "") for owner, kept in zip(owners, first, strict=True) if kept is not owner]
    if not repeated:
        return []
    metadata["ownerReferences"] = list(unique.values())
    uids = ", ".join(dict.fromkeys(repeated))
    return [
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, "
        f"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
    ]


def _sameness(owner: Any) -> str:
    """What two owner references have in common when they are equal."""
    return str(sorted(owner.items())) if isinstance(owner, dict) else str(owner)


def set_managed_fields(metadata: JsonObject, entries: list[JsonObject]) -> None:
    """Write the owners of fields into metadata; no owners, no field."""
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)

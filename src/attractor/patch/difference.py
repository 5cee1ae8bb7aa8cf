"""The merge patch that turns an object as it was read into a changed copy of it.

``Context.patch_from`` and ``Client.patch_from`` both send what ``difference`` finds, guarded by the version read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attractor.objects.gvk import Key
from attractor.objects.resource import Resource
from attractor.objects.resource.difference import differing
from attractor.patch.merge_patch import merge_patch_between

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_SERVERS_OWN = ("resourceVersion", "uid", "generation", "creationTimestamp", "managedFields", "selfLink")


def difference(original: Resource | JsonObject, changed: Resource | JsonObject, subresource: str = "") -> JsonObject:
    """What differs, as a merge patch of an object or of its status; empty where nothing does.

    The status counts only for the subresource ``status``, and then nothing else does, as on the server; what only the
    server sets never counts. Raises ``TypeError`` and ``ValueError`` for what is no pair of copies of one object.
    """
    _require_copies(original, changed)
    if isinstance(original, Resource) and isinstance(changed, Resource):
        before, after = differing(original, changed)
        separate = "status" in type(original).resource_info.subresources
    else:
        before, after, separate = json_of(original), json_of(changed), False
    if subresource == "status":
        before, after = {"status": before.get("status") or {}}, {"status": after.get("status") or {}}
        return cast("JsonObject", merge_patch_between(before, after))
    found = cast("JsonObject", merge_patch_between(authors_part(before), authors_part(after)))
    if separate and found.pop("status", None) and not found:
        raise ValueError(
            f"only the status of {type(original).__name__} differs, which is written by itself: "
            'patch_from(original, changed, subresource="status")'
        )
    return found


def guarded(body: JsonObject, original: Resource | JsonObject) -> JsonObject:
    """A patch that raises ``Conflict`` unless the object is still as it was read; ``ValueError`` if it was not read."""
    version = json_version(original)
    if not version:
        named = f"{original.gvk.kind} {original.key}" if isinstance(original, Resource) else "the original"
        raise ValueError(f"{named} has no resourceVersion to guard the patch with; patch from what was read")
    return {**body, "metadata": {**(body.get("metadata") or {}), "resourceVersion": version}}


def authors_part(obj: JsonObject) -> JsonObject:
    """What of an object its authors write: not its kind, and not what only the server sets."""
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _SERVERS_OWN}
    return {**{name: value for name, value in obj.items() if name not in {"apiVersion", "kind"}}, "metadata": metadata}


def json_of(obj: Resource | JsonObject) -> JsonObject:
    """An object as a JSON value."""
    return obj.to_dict() if isinstance(obj, Resource) else obj


def json_version(obj: Resource | JsonObject) -> str:
    """The version of an object that was read; empty if it was not."""
    if isinstance(obj, Resource):
        return obj.metadata.resource_version
    return str((obj.get("metadata") or {}).get("resourceVersion") or "")


def _require_copies(original: Any, changed: Any) -> None:
    if not isinstance(original, Resource | dict) or not isinstance(changed, Resource | dict):
        raise TypeError(
            f"patch_from takes an object as it was read and a changed copy of it, not {_called(original)} and "
            f"{_called(changed)}; a patch that you have goes to patch(kind, key, body)"
        )
    if original is changed:
        raise ValueError("patch_from needs what was read and a changed copy of it; change a deep_copy()")
    if type(original) is not type(changed) or _key(original) != _key(changed):
        raise ValueError(f"patch_from needs two copies of one object, not {_called(original)} and {_called(changed)}")


def _key(obj: Resource | JsonObject) -> Key:
    if isinstance(obj, Resource):
        return obj.key
    metadata = obj.get("metadata") or {}
    return Key(metadata.get("namespace") or "", metadata.get("name") or "")


def _called(given: Any) -> str:
    if isinstance(given, Resource):
        return f"{type(given).__name__} {given.key}"
    return given.__name__ if isinstance(given, type) else repr(given)

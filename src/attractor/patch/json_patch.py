"""RFC 6902 JSON patch, as Kubernetes applies it.

Where the RFC leaves room, or where Kubernetes' library differs from it, this follows Kubernetes (evanphx/json-patch
with its defaults):

- ``replace`` of a missing object member adds it, as ``add`` does; of a missing list index it fails;
- an index may be negative and then counts from the end (``-1`` is the last item; to ``add`` it is the end itself);
- ``test`` of a missing member passes when the expected value is null or left out, and treats null as missing;
- a patch that is null has no operations, an operation that is null says nothing and so fails, and a value that is
  left out is null;
- ``add`` with a missing parent fails, as does ``remove`` of what is not there;
- ``copy`` of a missing member copies null, and only ``replace`` may name the whole document;
- what stands before the first ``/`` of a path is not looked at;
- copied values may add at most ``COPY_LIMIT_BYTES`` to the document, and a patch has at most ``MAX_OPERATIONS``.

>>> apply_json_patch({"a": [1, 2]}, [{"op": "add", "path": "/a/-", "value": 3}, {"op": "remove", "path": "/a/0"}])
{'a': [2, 3]}
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import orjson

from attractor.objects.budget import Budget, OverBudget
from attractor.objects.errors import BadRequest, Invalid, RequestEntityTooLarge
from attractor.objects.go_wording import cannot_unmarshal
from attractor.objects.json_equality import same_json

if TYPE_CHECKING:
    from attractor.objects.json_types import Json

MAX_OPERATIONS: Final = 10_000
COPY_LIMIT_BYTES: Final = 3 * 1024 * 1024
"""How much ``copy`` may add in one patch, all operations together: the size of the largest request."""

FREE_VALUES: Final = 20_000
"""How many values a patch may walk to copy them, however short it is."""
VALUES_PER_OPERATION: Final = 200
_MISSING: Final = object()
_MAX_DIGITS: Final = 20
_INDEX = re.compile(r"[+-]?[0-9]+\Z", re.ASCII)
_REFUSED = "the server rejected our request due to an error in our request"


class PatchFailed(Invalid):
    """The patch is well formed but cannot be applied to this document; ``why`` tells what Kubernetes leaves unsaid."""

    def __init__(self, why: str) -> None:
        super().__init__(_REFUSED, details={})
        self.why = why

    def __str__(self) -> str:
        return f"{self.message}: {self.why}"


def apply_json_patch(document: Json, operations: Json) -> Json:
    """The document after all operations, applied in order; all or nothing.

    Raises ``BadRequest`` when the patch is no list of operations, ``RequestEntityTooLarge`` when it has too many, and
    ``PatchFailed`` when an operation does not fit the document.
    """
    checked = _checked_operations(operations)
    holder: dict[str, Any] = {"": document}
    owned = {id(holder)}
    copied_bytes = 0
    budget = Budget(FREE_VALUES + VALUES_PER_OPERATION * len(checked))
    for number, operation in enumerate(checked):
        try:
            copied_bytes += _apply(holder, owned, operation, budget)
        except OverBudget:
            raise PatchFailed(f"operation {number} ({operation.get('op')}): the patch moves too many values") from None
        except PatchFailed as failed:
            raise PatchFailed(f"operation {number} ({operation.get('op')}): {failed.why}") from None
        except (RecursionError, orjson.JSONEncodeError):
            raise PatchFailed(f"operation {number} ({operation.get('op')}): a value is nested too deeply") from None
        if copied_bytes > COPY_LIMIT_BYTES:
            raise PatchFailed(f"operation {number} (copy): copies add more than {COPY_LIMIT_BYTES} bytes")
    result: Json = holder[""]
    return result


def _checked_operations(operations: Json) -> list[dict[str, Any]]:
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise BadRequest(_cannot_decode(operations, "[]handlers.jsonPatchOp"))
    for operation in operations:
        if operation is None:
            continue
        if not isinstance(operation, dict):
            raise BadRequest(_cannot_decode(operation, "handlers.jsonPatchOp"))
        for member, field in (("op", "op"), ("from", "from"), ("path", "path")):
            value = operation.get(member)
            if value is not None and not isinstance(value, str):
                raise BadRequest(_cannot_decode(value, "string", f"jsonPatchOp.{field}"))
    if len(operations) > MAX_OPERATIONS:
        raise RequestEntityTooLarge(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(operations)}"
        )
    return [operation or {} for operation in operations]


def _cannot_decode(value: Json, go_type: str, field: str = "") -> str:
    return f"error decoding patch: {cannot_unmarshal(value, go_type, field)}"


def _apply(holder: dict[str, Any], owned: set[int], operation: dict[str, Any], budget: Budget) -> int:
    """Apply one operation; returns how many bytes it copied. Values that are walked or copied are paid for first."""
    path = _pointer(operation, "path")
    match operation.get("op"):
        case "add":
            _put(holder, owned, path, operation.get("value"), must_exist=False)
        case "replace":
            _put(holder, owned, path, operation.get("value"), must_exist=True)
        case "remove":
            _take(holder, owned, path)
        case "move":
            source = _pointer(operation, "from")
            if path[: len(source)] == source and len(path) > len(source):
                raise PatchFailed(f"{_text(source)} cannot be moved into itself")
            _put(holder, owned, path, _take(holder, owned, source), must_exist=False)
        case "copy":
            source = _pointer(operation, "from")
            value = _get(holder, source)
            if value is _MISSING:
                value = None
            data = orjson.dumps(value)
            _put(holder, owned, path, _disowned(value, owned, budget), must_exist=False)
            return len(data)
        case "test":
            found = _get(holder, path)
            expected = operation.get("value")
            found = None if found is _MISSING else found
            if not same_json(found, expected) or isinstance(found, float) != isinstance(expected, float):
                raise PatchFailed(f"the value at {_text(path)} is not the expected one")
        case unknown:
            raise PatchFailed(f"{unknown!r} is not an operation; known are add, remove, replace, move, copy and test")
    return 0


def _pointer(operation: dict[str, Any], member: str) -> list[str]:
    """The reference segments of a JSON pointer (RFC 6901), after the holder's own."""
    text = operation.get(member)
    if text is None:
        raise PatchFailed(f"the operation has no {member}")
    return ["", *(segment.replace("~1", "/").replace("~0", "~") for segment in text.split("/")[1:])]


def _text(path: list[str]) -> str:
    return "/".join(segment.replace("~", "~0").replace("/", "~1") for segment in path) or "the root"


def _index(segment: str, length: int, path: list[str]) -> int:
    """A list index within ``length`` items; negative ones count from the end."""
    if not _INDEX.match(segment):
        raise PatchFailed(f"{segment!r} in {_text(path)} is not a list index")
    index = int(segment) if len(segment) <= _MAX_DIGITS else length
    if index < 0:
        index += length
    if not 0 <= index < length:
        raise PatchFailed(f"index {segment} in {_text(path)} is outside the list, which has {length} items")
    return index


def _get(holder: dict[str, Any], path: list[str]) -> Any:
    """The value at a path; missing when its last segment names nothing, an error when an earlier one does."""
    here: Any = holder
    for depth, segment in enumerate(path):
        if isinstance(here, dict):
            here = here.get(segment, _MISSING)
        elif isinstance(here, list):
            here = here[_index(segment, len(here), path)]
        elif here is not _MISSING and here is not None:
            raise PatchFailed(f"{_text(path[:depth])} is neither an object nor a list")
        if here is _MISSING and depth < len(path) - 1:
            raise PatchFailed(f"there is nothing at {_text(path[: depth + 1])}")
    return here


def _parent(holder: dict[str, Any], owned: set[int], path: list[str]) -> dict[str, Any] | list[Any]:
    """The container of a path's last segment, ours to change: containers on the way are copied once."""
    here: Any = holder
    for depth, segment in enumerate(path[:-1]):
        if isinstance(here, dict):
            child = here.get(segment, _MISSING)
            place: Any = segment
        else:
            place = _index(segment, len(here), path)
            child = here[place]
        if not isinstance(child, dict | list):
            raise PatchFailed(f"there is no object or list at {_text(path[: depth + 1])}")
        if id(child) not in owned:
            child = child.copy()
            owned.add(id(child))
            here[place] = child
        here = child
    container: dict[str, Any] | list[Any] = here
    return container


def _disowned(value: Any, owned: set[int], budget: Budget) -> Any:
    """The value, with every part of it open to sharing: a later change must copy it first."""
    if isinstance(value, dict):
        budget.charge(1 + len(value))
        owned.discard(id(value))
        for item in value.values():
            _disowned(item, owned, budget)
    elif isinstance(value, list):
        budget.charge(1 + len(value))
        owned.discard(id(value))
        for item in value:
            _disowned(item, owned, budget)
    return value


def _put(holder: dict[str, Any], owned: set[int], path: list[str], value: Any, *, must_exist: bool) -> None:
    if len(path) == 1 and not must_exist:
        raise PatchFailed("nothing can be added in the place of the whole document")
    container, segment = _parent(holder, owned, path), path[-1]
    if isinstance(container, dict):
        container[segment] = value
    elif must_exist:
        container[_index(segment, len(container), path)] = value
    elif segment == "-":
        container.append(value)
    else:
        container.insert(_index(segment, len(container) + 1, path), value)


def _take(holder: dict[str, Any], owned: set[int], path: list[str]) -> Any:
    if len(path) == 1:
        raise PatchFailed("the whole document cannot be removed")
    container, segment = _parent(holder, owned, path), path[-1]
    if isinstance(container, list):
        return container.pop(_index(segment, len(container), path))
    if segment not in container:
        raise PatchFailed(f"there is nothing at {_text(path)}")
    return container.pop(segment)

"""Strategic merge patch: a merge patch that knows from the kind's schema how its lists merge.

>>> from attractor.schema.node import Schema
>>> pod = Schema({"properties": {"containers": {"type": "array", "x-kubernetes-patch-strategy": "merge",
...     "x-kubernetes-patch-merge-key": "name", "items": {"type": "object"}}}})
>>> apply_strategic_merge_patch({"containers": [{"name": "a", "image": "i:1"}, {"name": "b"}]},
...     {"containers": [{"name": "a", "image": "i:2"}]}, pod)
{'containers': [{'name': 'a', 'image': 'i:2'}, {'name': 'b'}]}

Directives: ``$patch: replace`` and ``$patch: delete`` in an object or a list item, ``$retainKeys``,
``$deleteFromPrimitiveList/NAME`` and ``$setElementOrder/NAME``. Items of the patch come in the order of the patch (or
of ``$setElementOrder``); items that only the server has stay where they were among those around them.

The order of a merged list: the patch decides among its items, the server among the rest.

Worked example: the server has ``[a, x, b, y]`` and the patch names ``[b, a]``. The patch's items come as ``b, a``, the
server's own stay ``x, y``, and both runs are woven: before each item of the patch go those of the server that stood
before it. ``x`` stood before ``b``, nothing left stood before ``a``, so the list becomes ``[x, b, a, y]``. An item that
is new to the server has no place there: it goes first, so the patch ``[n]`` makes ``[n, a, x, b, y]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from attractor.k8s import go_types
from attractor.objects.errors import ApiError, BadRequest, Invalid
from attractor.objects.field import go_quoted
from attractor.objects.go_wording import GO_MAP, cannot_unmarshal, go_text, go_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.objects.json_types import Json, JsonObject
    from attractor.schema.node import Schema

_PATCH: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_SET_ORDER: Final = "$setElementOrder"
_ORDERABLE: Final = frozenset({"slice", "bytes", "pointer"})
"""What Go takes for a list when it looks for one: also whatever a pointer points to."""
_NOTHING: Final = object()
"""What becomes of a value that is all directive where there is nothing to direct."""

_BAD_RETAIN_KEYS = "invalid patch format of retainKeys"
_BAD_DELETE_LIST = "invalid patch format of primitive list"
_BAD_ORDER = "invalid patch format of setElementOrder list"


_REJECTED = "the server rejected our request due to an error in our request"


class BadStrategicPatch(ApiError):
    """The patch does not fit the kind, in a way for which Kubernetes has no code of its own: 500 without a reason.

    Its ``interpretStrategicMergePatchError`` makes 400 of badly formed directives and 422 of lists of lists; everything
    else that its ``strategicpatch`` package complains of reaches the client as a plain error.
    """


def apply_strategic_merge_patch(document: JsonObject, patch: Json, schema: Schema) -> JsonObject:
    """The document after the patch; fields that the schema does not know merge as plain JSON.

    Raises ``BadRequest`` when the patch is badly formed, ``Invalid`` or ``BadStrategicPatch`` when it does not fit.
    """
    if patch is None:
        return document
    if not isinstance(patch, dict):
        raise BadRequest(cannot_unmarshal(patch, GO_MAP))
    return _merge_object(document, patch, schema)


def _merge_object(original: JsonObject, patch: JsonObject, schema: Schema | None) -> JsonObject:
    if _PATCH in patch:
        return _whole(patch)
    patch = dict(patch)
    result = _retained(original, patch)
    _merge_ordered_lists(result, patch, schema)
    for name, change in patch.items():
        if name.startswith(_DELETE_FROM):
            _delete_from_list(result, _named(name, _DELETE_FROM, _BAD_DELETE_LIST), change)
        elif change is None:
            result.pop(name, None)
        elif name in result:
            _put(result, name, _merge_value(result[name], change, schema.child(name) if schema else None))
        else:
            _put(result, name, _fresh(change))
    return result


def _put(result: JsonObject, name: str, value: Any) -> None:
    if value is _NOTHING:
        result.pop(name, None)
    else:
        result[name] = value


def _whole(patch: JsonObject) -> JsonObject:
    """What an object with a ``$patch`` directive makes of whatever was there."""
    match patch[_PATCH]:
        case "replace":
            return {name: value for name, value in patch.items() if name != _PATCH}
        case "delete":
            return {}
        case other:
            raise BadStrategicPatch(_unknown_directive(other, patch))


def _unknown_directive(directive: Any, patch: JsonObject) -> str:
    return f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}"


def _merge_value(original: Any, change: Any, schema: Schema | None) -> Any:
    strategies = schema.patch_strategies if schema is not None else frozenset[str]()
    if isinstance(original, dict) and isinstance(change, dict):
        return change if "replace" in strategies else _merge_object(original, change, schema)
    if isinstance(original, list) and isinstance(change, list):
        return _merge_list(original, change, schema) if "merge" in strategies else change
    return _fresh(change)


def _fresh(value: Any) -> Any:
    """A value that is new to the document: nulls in it mean nothing, and neither do objects with a directive."""
    if isinstance(value, dict):
        if _PATCH in value:
            return _NOTHING
        if any(item is None or isinstance(item, dict | list) for item in value.values()):
            kept = ((name, _fresh(item)) for name, item in value.items() if item is not None)
            return {name: item for name, item in kept if item is not _NOTHING}
    elif isinstance(value, list):
        return [item for item in map(_fresh, value) if item is not _NOTHING]
    return value


def _retained(original: JsonObject, patch: JsonObject) -> JsonObject:
    """A copy of the original, without what ``$retainKeys`` does not name; takes the directive out of the patch."""
    if _RETAIN_KEYS not in patch:
        return dict(original)
    kept = patch.pop(_RETAIN_KEYS)
    if not isinstance(kept, list):
        raise BadRequest(_BAD_RETAIN_KEYS)
    names = {name for name in kept if isinstance(name, str)}
    for name, change in patch.items():
        if change is not None and not name.startswith((_DELETE_FROM, _SET_ORDER)) and name not in names:
            raise BadRequest(_BAD_RETAIN_KEYS)
    return {name: value for name, value in original.items() if name in names}


def _named(directive: str, prefix: str, complaint: str) -> str:
    """The field that a directive such as ``$setElementOrder/ports`` is about."""
    head, slash, name = directive.partition("/")
    if head != prefix or not slash:
        raise BadRequest(complaint)
    return name


def _delete_from_list(result: JsonObject, name: str, deleted: Any) -> None:
    if deleted is None:
        result.pop(name, None)
    elif isinstance(deleted, list) and isinstance(result.get(name), list):
        doomed = {_sameness(item) for item in deleted}
        result[name] = [item for item in result[name] if _sameness(item) not in doomed]


def _sameness(item: Any) -> Any:
    """What equal items have in common, and can be looked up by: themselves, or their text."""
    return go_text(item) if isinstance(item, dict | list) else item


def _merge_ordered_lists(result: JsonObject, patch: JsonObject, schema: Schema | None) -> None:
    """Merge, into ``result``, the lists that a ``$setElementOrder`` directive is about; takes both out of the patch."""
    for directive in [name for name in patch if name.startswith(_SET_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise BadStrategicPatch(f"expected a []interface {{}}, but received a {go_type(order)}")
        name = _named(directive, _SET_ORDER, _BAD_ORDER)
        for part in (result, patch):
            if name in part and not isinstance(part[name], list):
                raise BadStrategicPatch(f"expected a []interface {{}}, but received a {go_type(part[name])}")
        field = _ordered_field(schema, name) if schema is not None else None
        original, change = result.get(name), patch.pop(name, None)
        if original is None and change is None:
            continue
        key = field.patch_merge_key if field is not None else None
        _check_order(change or [], order, key)
        if original is None:
            merged = _fresh(change)
        elif change is None:
            merged = original
        else:
            merged = _merge_value(original, change, field)
        result[name] = in_order_of(merged, [_identity(item, key) for item in order], original or [], _identities(key))


def _ordered_field(schema: Schema, name: str) -> Schema | None:
    """The list that an order is about; refuses what the Go type has not, or has as something else than a list."""
    if schema.additional is not None:
        raise BadStrategicPatch("merging an object in json but data type is not struct, instead is: map")
    if not schema.definition:
        return schema.child(name)
    fields = go_types.go_type(schema.definition).fields
    known = name if name in fields else next((one for one in fields if one.casefold() == name.casefold()), None)
    if known is None:
        struct = schema.definition.rpartition(".")[2]
        raise BadStrategicPatch(f"unable to find api field in struct {struct} for the json field {go_quoted(name)}")
    if fields[known].cls not in _ORDERABLE:
        raise BadStrategicPatch("expected slice or array type, but got: struct")
    return schema.child(known)


def _check_order(change: list[Any], order: list[Any], key: str | None) -> None:
    """Every patched item must be in the order list, in the same relative order."""
    rest = iter([_identity(item, key) for item in order])
    kept = [item for item in change if not (isinstance(item, dict) and _PATCH in item)]
    if order and change and not all(_identity(item, key) in rest for item in kept):
        raise BadStrategicPatch(
            f"The order in patch list:\n{go_text(change)}\n doesn't match {_SET_ORDER} list:\n{go_text(order)}\n"
        )


def _identity(item: Any, key: str | None) -> Any:
    """What makes an item the same item: its merge key's value, or itself in a list of primitives."""
    if not key:
        if isinstance(item, dict | list):
            raise BadRequest(f"cannot order a list without merge key: {go_text(item)} is no primitive")
        return item
    if not isinstance(item, dict):
        raise BadStrategicPatch(f"expected a {GO_MAP}, but received a {go_type(item)}")
    if key not in item:
        raise BadStrategicPatch(f"map: {go_text(item)} does not contain declared merge key: {key}")
    if isinstance(item[key], dict | list):
        raise BadRequest(f"map: {go_text(item)} has a merge key that is no primitive: {key}")
    return item[key]


def _identities(key: str | None) -> Any:
    return lambda item: _identity(item, key)


def _merge_list(original: list[Any], patch: list[Any], schema: Schema | None) -> list[Any]:
    """Two lists of a field with patch strategy ``merge``."""
    if not original and not patch:
        return original
    types = set(map(type, original + patch))
    if isinstance((original or patch)[0], list):
        raise Invalid(_REJECTED, details={})
    if len(types) > 1:
        raise BadStrategicPatch(f"list element types are not identical: {go_text([original, patch])}")
    if dict not in types:
        return in_order_of(_distinct(original + patch), patch, original, lambda item: item)
    key = schema.patch_merge_key if schema is not None else None
    if not key:
        raise BadStrategicPatch("cannot merge lists without merge key for type struct")
    server, changes, replaced = _with_item_directives(original, patch, key)
    if replaced:
        return server
    items = schema.items if schema is not None else None
    merged = _merge_items(server, changes, key, items)
    return in_order_of(merged, [_identity(item, key) for item in changes], server, _identities(key))


def _distinct(items: list[Any]) -> list[Any]:
    return list(dict.fromkeys(items))


def _with_item_directives(
    original: list[JsonObject], patch: list[JsonObject], key: str
) -> tuple[list[JsonObject], list[JsonObject], bool]:
    """The server's items after ``$patch: delete`` items, the patch's plain items, and whether they replace the list."""
    changes = [item for item in patch if _PATCH not in item]
    doomed: set[Any] = set()
    replaced = False
    for item in patch:
        match item.get(_PATCH, _PATCH):
            case "$patch":
                continue
            case "delete":
                doomed.add(_identity(item, key))
            case "replace":
                replaced = True
            case "merge":
                raise BadStrategicPatch("merging lists cannot yet be specified in the patch")
            case other:
                raise BadStrategicPatch(_unknown_directive(other, item))
    if doomed:
        original = [kept for kept in original if _sameness(kept.get(key)) not in doomed]
    return (changes, [], True) if replaced else (original, changes, False)


def _merge_items(
    server: list[JsonObject], changes: list[JsonObject], key: str, schema: Schema | None
) -> list[JsonObject]:
    merged = list(server)
    places: dict[Any, int] = {}
    for place, item in enumerate(merged):
        places.setdefault(_identity(item, key), place)
    for change in changes:
        identity = _identity(change, key)
        place = places.get(identity, -1)
        if place >= 0:
            merged[place] = _merge_object(merged[place], change, schema)
        else:
            places[identity] = len(merged)
            merged.append(change)
    return merged


def in_order_of(merged: list[Any], order: list[Any], server: list[Any], identity: Callable[[Any], Any]) -> list[Any]:
    """The merged items: those that ``order`` names in its order, the others woven in by their place on the server."""
    rank: dict[Any, int] = {}
    for place, name in enumerate(order):
        rank.setdefault(name, place)
    patched = sorted((item for item in merged if identity(item) in rank), key=lambda item: rank[identity(item)])
    rest = [item for item in merged if identity(item) not in rank]
    if not rest or not patched:
        return patched or rest
    return _woven(patched, rest, server, identity)


def _woven(patched: list[Any], rest: list[Any], server: list[Any], identity: Callable[[Any], Any]) -> list[Any]:
    """Weave two runs: an item of ``rest`` goes first when it stood before the next patched item on the server."""
    places: dict[Any, int] = {}
    for place, item in enumerate(server):
        places.setdefault(identity(item), place)
    rest = sorted(rest, key=lambda item: places[identity(item)])
    woven: list[Any] = []
    left = 0
    for item in patched:
        place = places.get(identity(item), 0)  # nothing stood before an item that is new
        while left < len(rest) and places[identity(rest[left])] < place:
            woven.append(rest[left])
            left += 1
        woven.append(item)
    return woven + rest[left:]

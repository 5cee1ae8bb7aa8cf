"""RFC 7396 JSON merge patch: an object of changes, in which null removes.

>>> apply_merge_patch({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}})
{'a': {'c': 2, 'd': 3}}
>>> merge_patch_between({"a": {"b": 1, "c": 2}}, {"a": {"c": 2, "d": 3}})
{'a': {'b': None, 'd': 3}}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.json_equality import same_json

if TYPE_CHECKING:
    from attractor.objects.json_types import Json, JsonObject


def apply_merge_patch(document: Json, patch: Json) -> Json:
    """The document after the patch. A patch that is no object replaces the document."""
    if not isinstance(patch, dict):
        return patch
    result: JsonObject = dict(document) if isinstance(document, dict) else {}
    for name, change in patch.items():
        if change is None:
            result.pop(name, None)
        elif isinstance(change, dict):
            result[name] = apply_merge_patch(result.get(name), change)
        else:
            result[name] = change
    return result


def without_nulls_in_lists(patch: Json, document: Json = None) -> Json:
    """The patch as kube-apiserver's library reads it: objects inside of lists lose their null members, too.

    RFC 7396 replaces a list by the one in the patch, whatever is in it. So does the library where the document has an
    object in the place of the list. A patch without lists is answered as it is.

    >>> without_nulls_in_lists({"a": [{"b": None, "c": 1}, None], "d": None})
    {'a': [{'c': 1}, None], 'd': None}
    >>> without_nulls_in_lists({"a": [{"b": None}]}, {"a": {}})
    {'a': [{'b': None}]}
    """
    if isinstance(patch, dict):
        result = patch
        for name, value in patch.items():
            if isinstance(value, (dict, list)):
                known = document.get(name) if isinstance(document, dict) else None
                read = without_nulls_in_lists(value, known)
                if read is not value:
                    result = patch.copy() if result is patch else result
                    result[name] = read
        return result
    if isinstance(patch, list) and not isinstance(document, dict):
        return [_without_nulls(item) for item in patch]
    return patch


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def merge_patch_between(old: Json, new: Json) -> Json:
    """The smallest merge patch that turns ``old`` into ``new``.

    Raises ``ValueError`` when there is none, because a merge patch cannot set a member to null.
    """
    if not isinstance(new, dict):
        return new
    if not isinstance(old, dict):
        _refuse_nulls(new, "")
        return new
    return _between(old, new, "")


def _between(old: JsonObject, new: JsonObject, path: str) -> JsonObject:
    patch: JsonObject = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if value is before and (value is not None or name in old):
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            change = _between(before, value, f"{path}.{name}")
            if change:
                patch[name] = change
        elif name not in old or not same_json(before, value):
            _refuse_nulls(value, f"{path}.{name}")
            patch[name] = value
    return patch


def _refuse_nulls(value: Json, path: str) -> None:
    if value is None:
        raise ValueError(f"{path or 'the document'} is null, and a merge patch has no way to say so")
    if isinstance(value, dict):
        for name, item in value.items():
            _refuse_nulls(item, f"{path}.{name}")

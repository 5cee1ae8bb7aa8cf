"""The move from client-side to server-side apply with kubectl.

``kubectl apply`` leaves what it last applied in an annotation. When the same user turns to ``--server-side``, values
that came from there are no conflict, and the annotation is kept up to date so that the way back stays open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from attractor.apply.compare import compare_objects
from attractor.apply.fieldset import FieldSet, difference
from attractor.apply.typing import Untypable, fields_of, validate

if TYPE_CHECKING:
    from attractor.apply.atoms import Atom
    from attractor.objects.json_types import JsonObject

MANAGER: Final = "kubectl"
ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATIONS_LIMIT_BYTES: Final = 256 * 1024


def fields(atom: Atom, live: JsonObject) -> FieldSet:
    """What the annotation names and the object still has with that value; empty when there is no usable one."""
    text = _annotations(live).get(ANNOTATION)
    try:
        last: Any = orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != live.get("apiVersion"):
        return {}
    try:
        validate(atom, last)
        changed = compare_objects(atom, live, last)
        named = fields_of(atom, last)
    except Untypable:
        return {}
    for part in (changed.added, changed.modified, changed.removed):
        named = difference(named, part)
    return named


def refreshed(obj: JsonObject, applied: JsonObject) -> JsonObject:
    """The object with its annotation saying what was applied now, if it has one; without it when that is too long."""
    annotations = _annotations(obj)
    if ANNOTATION not in annotations:
        return obj
    text = orjson.dumps(_without_annotation(applied), option=orjson.OPT_SORT_KEYS).decode() + "\n"
    annotations = {**annotations, ANNOTATION: text}
    if sum(len(name) + len(value) for name, value in annotations.items()) > _ANNOTATIONS_LIMIT_BYTES:
        del annotations[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _without_annotation(applied: JsonObject) -> JsonObject:
    annotations = _annotations(applied)
    if ANNOTATION not in annotations:
        return applied
    rest = {name: value for name, value in annotations.items() if name != ANNOTATION}
    return {**applied, "metadata": {**applied["metadata"], "annotations": rest}}


def _annotations(obj: JsonObject) -> dict[str, Any]:
    return (obj.get("metadata") or {}).get("annotations") or {}

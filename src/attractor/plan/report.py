"""A plan for people, as a dry run prints it: what would be created, changed and deleted, in the order of work.

    print(report(plan, colour=sys.stdout.isatty()))

What goes without saying is left out: names and owners of what is created, and the fields that a change no longer sends
and for which the server has defaults (they are counted; ``Plan.diff`` has them all).
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from attractor.objects.json_equality import ABSENT
from attractor.plan.object_graph import Action

if TYPE_CHECKING:
    from attractor.objects.json_equality import FieldChange
    from attractor.plan.difference import Change
    from attractor.plan.plan import Plan

_SIGNS = {
    Action.CREATE: ("+", "32", "is created"),
    Action.UPDATE: ("~", "33", "is updated"),
    Action.PATCH: ("~", "33", "is changed"),
    Action.DELETE: ("-", "31", "is deleted"),
    Action.STATUS: ("~", "36", "tells its status"),
}
_WORDS = ("create", "change", "delete")
_COUNTED = {Action.CREATE: "create", Action.UPDATE: "change", Action.PATCH: "change", Action.DELETE: "delete"}
_MAX_VALUE = 80
_UNSAID = ("apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.ownerReferences")
_MAPS = ("annotations", "data", "labels", "limits", "matchLabels", "nodeSelector", "requests", "selector")
"""Fields with keys of the author's own: what is removed there is gone, and no default comes back."""


def report(plan: Plan, *, colour: bool = False) -> str:
    """The whole plan as text."""
    changes = plan.diff()
    if not changes:
        return f"No changes. {plan.graph.root} is as desired."
    counts = Counter(_COUNTED[change.action] for change in changes if change.action in _COUNTED)
    lines = [f"Plan for {plan.graph.root}:", ""]
    for change in changes:
        lines += [*_object(change, colour=colour), ""]
    lines.append("Plan: " + ", ".join(f"{counts[word]} to {word}" for word in _WORDS) + ".")
    if plan.requeue is not None:
        lines.append(f"It is made again after {plan.requeue.after_s:g} s: {plan.requeue}.")
    return "\n".join(lines)


def _object(change: Change, *, colour: bool) -> list[str]:
    sign, code, words = _SIGNS[change.action]
    why = f": {change.reason}" if change.reason else ""
    head = f"  {sign} {change.ref} {words}{why}"
    said, unsaid = _said(change)
    fields = [_field(sign, field) for field in said]
    if unsaid:
        fields.append(f"      - {unsaid} fields that are no longer sent; the server has defaults for them")
    painted = [_paint(head, f"{code};1", colour=colour), *(_paint(line, code, colour=colour) for line in fields)]
    return [*painted, "      (what depends on it waits for it)"] if change.is_awaited else painted


def _said(change: Change) -> tuple[list[FieldChange], int]:
    """The fields to show, and how many removed ones are only counted."""
    if change.action is Action.DELETE:
        return [], 0
    if change.action is Action.CREATE:
        return [field for field in change.fields if not field.path.startswith(_UNSAID)], 0
    said = [field for field in change.fields if field.after is not ABSENT or _is_of_a_map(field.path)]
    return said, len(change.fields) - len(said)


def _is_of_a_map(path: str) -> bool:
    return any(f".{name}." in f".{path}" for name in _MAPS)


def _field(sign: str, field: FieldChange) -> str:
    if field.before is ABSENT:
        return f"      {'+' if sign == '~' else ' '} {field.path}: {_value(field.after)}".rstrip()
    if field.after is ABSENT:
        return f"      - {field.path}: {_value(field.before)}"
    return f"      ~ {field.path}: {_value(field.before)} -> {_value(field.after)}"


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 3]}..."


def _paint(text: str, code: str, *, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text

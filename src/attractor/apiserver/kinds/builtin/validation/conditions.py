"""Rules of conditions in a status, where a kind has those that all kinds could share (``metav1.Condition``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.validation.rules import each, named
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_STATUSES = ("False", "True", "Unknown")
_MAX_REASON_BYTES, _MAX_MESSAGE_BYTES = 1024, 32 * 1024
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_RULE = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'"
)
_REASON_EXAMPLES = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")


def validate_conditions(status: JsonObject | None, path: str) -> list[FieldError]:
    """Every rule that the conditions of a status break."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for condition, at in each(status, "conditions", path):
        kind = condition.get("type", "")
        if kind in seen:
            errors.append(FieldError.duplicate(f"{at}.type", kind))
        seen.add(kind)
        errors += _validate_condition(condition, at)
    return errors


def _validate_condition(condition: dict[str, Any], path: str) -> list[FieldError]:
    errors = named(names.qualified_name, condition.get("type", ""), f"{path}.type")
    if condition.get("status") not in _STATUSES:
        errors.append(FieldError.unsupported(f"{path}.status", condition.get("status", ""), _STATUSES))
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        why = "must be greater than or equal to zero"
        errors.append(FieldError.invalid(f"{path}.observedGeneration", generation, why))
    if not condition.get("lastTransitionTime"):
        errors.append(FieldError.required(f"{path}.lastTransitionTime"))
    errors += _validate_reason(condition.get("reason", ""), f"{path}.reason")
    if len(condition.get("message", "").encode()) > _MAX_MESSAGE_BYTES:
        errors.append(FieldError.too_long(f"{path}.message", _MAX_MESSAGE_BYTES))
    return errors


def _validate_reason(reason: str, path: str) -> list[FieldError]:
    if not reason:
        return [FieldError.required(path)]
    errors = []
    if re.fullmatch(_REASON, reason) is None:
        why = names.regex_error(_REASON_RULE, _REASON, *_REASON_EXAMPLES)
        errors.append(FieldError.invalid(path, reason, why))
    if len(reason.encode()) > _MAX_REASON_BYTES:
        errors.append(FieldError.too_long(path, _MAX_REASON_BYTES))
    return errors

"""Errors about one field, in the words of ``k8s.io/apimachinery/pkg/util/validation/field``.

>>> str(FieldError.invalid("spec.size", 0, "must be positive"))
'spec.size: Invalid value: 0: must be positive'
>>> str(FieldError.required("metadata.name", "name or generateName is required"))
'metadata.name: Required value: name or generateName is required'
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

_TITLES = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueTypeInvalid": "Invalid value",
    "InternalError": "Internal error",
}
_WITHOUT_VALUE = {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "InternalError"}


class OmittedValue:
    """Stands for a value that the message leaves out, as Kubernetes does for whole objects in CEL rules."""


OMITTED = OmittedValue()


class InOrder(dict[str, Any]):
    """A value that is printed with its fields in the order they stand in: a struct of Go's, not a map."""


class FieldError(NamedTuple):
    """One broken rule: what kind of trouble, at which path, with which value."""

    reason: str
    path: str
    detail: str = ""
    value: Any = None

    @classmethod
    def required(cls, path: str, detail: str = "") -> FieldError:
        """A value is missing."""
        return cls("FieldValueRequired", path, detail)

    @classmethod
    def invalid(cls, path: str, value: Any, detail: str) -> FieldError:
        """A value breaks a rule."""
        return cls("FieldValueInvalid", path, detail, value)

    @classmethod
    def type_invalid(cls, path: str, value: Any, detail: str) -> FieldError:
        """A value is of the wrong type."""
        return cls("FieldValueTypeInvalid", path, detail, value)

    @classmethod
    def duplicate(cls, path: str, value: Any) -> FieldError:
        """A value that must be unique is there twice."""
        return cls("FieldValueDuplicate", path, "", value)

    @classmethod
    def forbidden(cls, path: str, detail: str) -> FieldError:
        """A value may not be set, or not changed."""
        return cls("FieldValueForbidden", path, detail)

    @classmethod
    def not_found(cls, path: str, value: Any) -> FieldError:
        """A value refers to something that is not there."""
        return cls("FieldValueNotFound", path, "", value)

    @classmethod
    def unsupported(cls, path: str, value: Any, supported: Iterable[str]) -> FieldError:
        """A value is not one of the known ones, listed in the given order."""
        listed = ", ".join(f'"{item}"' for item in supported)
        return cls("FieldValueNotSupported", path, f"supported values: {listed}" if listed else "", value)

    @classmethod
    def too_long(cls, path: str, limit_bytes: int) -> FieldError:
        """A text is too long."""
        return cls("FieldValueTooLong", path, f"may not be more than {limit_bytes} bytes")

    @classmethod
    def too_many(cls, path: str, count: int, limit: int) -> FieldError:
        """A list has too many items."""
        return cls("FieldValueTooMany", path, f"must have at most {limit} item{'s' if limit != 1 else ''}", count)

    @property
    def body(self) -> str:
        """The message without the path."""
        title = _TITLES[self.reason]
        if self.reason not in _WITHOUT_VALUE and self.value is not OMITTED:
            title = f"{title}: {_shown(self.value)}"
        return f"{title}: {self.detail}" if self.detail else title

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"

    def cause(self) -> dict[str, Any]:
        """This error as a ``StatusCause``."""
        return {"reason": self.reason, "message": self.body, "field": self.path}


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def go_quoted(text: str) -> str:
    """A text as Go's ``%q`` quotes it.

    >>> print(go_quoted("a\\x01b"))
    "a\\x01b"
    """

    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'

    def escaped(character: str) -> str:
        if character in {'"', "\\"}:
            return f"\\{character}"
        if character.isprintable():
            return character
        number = ord(character)
        form = f"\\x{number:02x}" if number < 0x80 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
        return _ESCAPES.get(character, form)

    return f'"{"".join(map(escaped, text))}"'


def _shown(value: Any) -> str:
    """A value as Go prints it in such an error: JSON for composites, quoted text, ``null`` for nothing.

    Go sorts the keys of a map and keeps the order of a struct. Of the structs that errors show, only a LabelSelector
    has its fields in another order than the alphabet's.
    """
    if isinstance(value, dict) and value.keys() == {"matchLabels", "matchExpressions"}:
        labels, expressions = _shown(value["matchLabels"]), _shown(value["matchExpressions"])
        return f'{{"matchLabels":{labels},"matchExpressions":{expressions}}}'
    if isinstance(value, InOrder) or (isinstance(value, list) and value and isinstance(value[0], InOrder)):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, str) and not value.isprintable():
        return go_quoted(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # an integer of more than 64 bits, which Go prints for floats below 1e21
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def repeated(values: Iterable[Hashable]) -> set[int]:
    """The places of values that were there before, in one pass: looking back from each would be quadratic.

    >>> sorted(repeated(["a", "b", "a", "a"]))
    [2, 3]
    """
    seen: set[Hashable] = set()
    found: set[int] = set()
    for place, value in enumerate(values):
        if value in seen:
            found.add(place)
        seen.add(value)
    return found

"""Field selectors: ``metadata.name=a,status.phase!=Running``, over the few fields that a kind supports.

>>> selector = FieldSelector.parse("metadata.name=a,status.phase!=Running")
>>> selector.matches_object({"metadata": {"name": "a"}, "status": {"phase": "Pending"}})
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.objects.json_types import JsonObject

METADATA_FIELDS = ("metadata.name", "metadata.namespace")


class FieldSelectorError(ValueError):
    """The selector cannot be understood, or the kind lacks the field; the message is Kubernetes'."""


class FieldTerm(NamedTuple):
    """One condition on one field."""

    field: str
    value: str
    negated: bool = False

    def __str__(self) -> str:
        return f"{self.field}{'!=' if self.negated else '='}{escape(self.value)}"


class FieldSelector:
    """A conjunction of terms; the empty one matches everything."""

    __slots__ = ("terms",)

    def __init__(self, terms: tuple[FieldTerm, ...] = ()) -> None:
        self.terms = terms

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """Read the text form; raises ``FieldSelectorError`` in Kubernetes' words."""
        found = []
        for part in sorted(_split(text)):
            if not part:
                continue
            term = _split_term(part)
            if term is None:
                raise FieldSelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
            found.append(FieldTerm(term[0], unescape(term[2]), negated=term[1] == "!="))
        return cls(tuple(found))

    @property
    def is_everything(self) -> bool:
        """Whether every object matches."""
        return not self.terms

    @property
    def is_about_identity(self) -> bool:
        """Whether name and namespace decide alone."""
        return all(term.field in METADATA_FIELDS for term in self.terms)

    def exact_value(self, field: str) -> str | None:
        """The one value that the field must have, if the selector asks for one."""
        return next((term.value for term in self.terms if term.field == field and not term.negated), None)

    def checked(self, supported: SelectableFields) -> FieldSelector:
        """This selector, if the kind supports all its fields; raises ``FieldSelectorError`` otherwise."""
        for term in self.terms:
            if term.field not in supported.getters:
                raise FieldSelectorError(supported.refusal(term.field))
        return self

    def matches(self, get: Callable[[str], str]) -> bool:
        """Whether the field values that ``get`` tells meet every term."""
        return all((get(field) == value) is not negated for field, value, negated in self.terms)

    def matches_object(self, obj: JsonObject, supported: SelectableFields | None = None) -> bool:
        """Whether the object meets every term; fields that it lacks are empty text."""
        getters = supported.getters if supported is not None else {}
        for field, value, negated in self.terms:
            getter = getters.get(field)
            found = getter(obj) if getter is not None else value_at(obj, field)
            if (found == value) is negated:
                return False
        return True

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))

    def __repr__(self) -> str:
        return f"FieldSelector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSelector) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)


class SelectableFields(NamedTuple):
    """The fields by which objects of a kind can be selected."""

    getters: Mapping[str, Callable[[JsonObject], str]]
    """For each supported field, how its text is found in an object."""
    refusal_text: str = "field label not supported: {}"
    """What to say about any other field."""

    @classmethod
    def of(cls, *fields: str, refusal_text: str = "field label not supported: {}") -> SelectableFields:
        """Fields found by their own path in the object; name and namespace are always among them."""
        return cls({field: _path_getter(field) for field in (*METADATA_FIELDS, *fields)}, refusal_text)

    def refusal(self, field: str) -> str:
        """Why the field cannot be selected by."""
        return self.refusal_text.format(field)


def value_at(obj: Any, path: str) -> str:
    """The text of a field: empty when absent, ``true``/``false`` and digits as Go prints them."""
    for name in path.split("."):
        if not isinstance(obj, dict):
            return ""
        obj = obj.get(name)
    return as_text(obj)


def as_text(value: Any) -> str:
    """A scalar as Go prints it; empty for nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _path_getter(path: str) -> Callable[[JsonObject], str]:
    parts = path.split(".")

    def get(obj: Any) -> str:
        for name in parts:
            if not isinstance(obj, dict):
                return ""
            obj = obj.get(name)
        return as_text(obj)

    return get


METADATA_ONLY = SelectableFields.of(
    refusal_text='"{}" is not a known field selector: only "metadata.name", "metadata.namespace"'
)
"""What every kind supports."""


def escape(value: str) -> str:
    """A value as it stands in a selector's text."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def unescape(value: str) -> str:
    """The value that an escaped text stands for; raises ``FieldSelectorError``."""
    if not any(character in value for character in "\\,="):
        return value
    found, escaped = [], False
    for character in value:
        if escaped:
            if character not in "\\,=":
                raise FieldSelectorError(f"invalid field selector: invalid escape sequence: \\{character}")
            found.append(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character in ",=":
            # Kubernetes prints the character's number here.
            raise FieldSelectorError(f"invalid field selector: unescaped character in value: {ord(character)}")
        else:
            found.append(character)
    if escaped:
        raise FieldSelectorError("invalid field selector: invalid escape sequence: \\")
    return "".join(found)


def _split(text: str) -> list[str]:
    """The terms between commas that are not escaped."""
    terms, start, escaped = [], 0, False
    for at, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == ",":
            terms.append(text[start:at])
            start = at + 1
    return [*terms, text[start:]]


def _split_term(term: str) -> tuple[str, str, str] | None:
    for at in range(len(term)):
        for operator in ("!=", "==", "="):
            if term.startswith(operator, at):
                return term[:at], operator, term[at + len(operator) :]
    return None

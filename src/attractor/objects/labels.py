"""Label selectors: equality and set syntax, ``metav1.LabelSelector`` objects, and fast matching.

A selector is a conjunction of requirements. It is immutable, hashable by its text, and compiled when it is made:
matching costs one dictionary look-up for each requirement.

>>> selector = LabelSelector.parse("app in (web, api), tier!=test, !legacy")
>>> selector.matches({"app": "api"}), selector.matches({"app": "db"}), str(selector)
(True, False, 'app in (api,web),!legacy,tier!=test')
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from attractor.objects.json_types import JsonObject

OPERATORS = ("in", "notin", "=", "==", "!=", "gt", "lt")
_ALL_OPERATORS = (*OPERATORS, "exists", "!")
_INT64 = range(-(2**63), 2**63)


class SelectorError(ValueError):
    """The selector cannot be understood; the message is Kubernetes'."""


class Requirement(NamedTuple):
    """One condition on one label."""

    key: str
    operator: str
    """``in``, ``notin``, ``=``, ``==``, ``!=``, ``gt``, ``lt``, ``exists`` or ``!``."""
    values: tuple[str, ...] = ()
    """Sorted and without repetition."""

    @classmethod
    def checked(cls, key: str, operator: str, values: Iterable[str] = ()) -> Requirement:
        """A requirement that keeps Kubernetes' rules; raises ``SelectorError`` otherwise."""
        kept = tuple(sorted(set(values)))
        errors = [*_key_errors(key, "key"), *_value_errors(key, operator, kept)]
        if errors:
            texts = list(dict.fromkeys(map(str, errors)))
            raise SelectorError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        return cls(key, operator, kept)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet this condition."""
        return _compiled(self)(labels)

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return f"!{self.key}"
        joined = ",".join(self.values)
        if self.operator in {"in", "notin"}:
            return f"{self.key} {self.operator} ({joined})"
        return f"{self.key}{ {'gt': '>', 'lt': '<'}.get(self.operator, self.operator) }{joined}"


def _key_errors(key: str, path: str) -> list[FieldError]:
    said = names.qualified_name(key)
    return [FieldError.invalid(path, key, "; ".join(said))] if said else []


def _value_errors(key: str, operator: str, values: tuple[str, ...]) -> list[FieldError]:
    errors = []
    trouble = _count_trouble(operator, len(values))
    if trouble:
        errors.append(FieldError.invalid("values", list(values), trouble))
    if operator not in _ALL_OPERATORS:
        errors.append(FieldError.unsupported("operator", operator, sorted(_ALL_OPERATORS)))
    for index, value in enumerate(values):
        if operator in {"gt", "lt"} and _integer(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(FieldError.invalid(f"values[{index}]", value, detail))
    for index, value in enumerate(values):
        said = names.label_value(value)
        if said:
            errors.append(FieldError.invalid(f"values[{index}][{key}]", value, "; ".join(said)))
    return errors


def _count_trouble(operator: str, count: int) -> str:
    if operator in {"in", "notin"}:
        return "" if count else "for 'in', 'notin' operators, values set can't be empty"
    if operator in {"=", "==", "!="}:
        return "" if count == 1 else "exact-match compatibility requires one single value"
    if operator in {"exists", "!"}:
        return "values set must be empty for exists and does not exist" if count else ""
    if operator in {"gt", "lt"}:
        return "" if count == 1 else "for 'Gt', 'Lt' operators, exactly one value is required"
    return ""


def _integer(text: str) -> int | None:
    if re.fullmatch("[+-]?[0-9]+", text, re.ASCII) is None:
        return None
    number = int(text) if len(text) <= 20 else 2**64
    return number if number in _INT64 else None


class LabelSelector:
    """A conjunction of requirements; the empty one matches everything."""

    __slots__ = ("_text", "matches", "requirements")

    requirements: tuple[Requirement, ...]
    """Sorted by key."""
    matches: Callable[[Mapping[str, str]], bool]
    """Whether the labels meet every requirement."""

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self._text = ",".join(map(str, self.requirements))
        self.matches = _all_of([_compiled(requirement) for requirement in self.requirements])

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Read the text form; raises ``SelectorError`` in Kubernetes' words."""
        return _parsed(text)

    @classmethod
    def of_labels(cls, labels: Mapping[str, str]) -> LabelSelector:
        """The selector of all who carry these labels."""
        return cls(Requirement(key, "=", (value,)) for key, value in labels.items())

    @classmethod
    def of_object(cls, selector: JsonObject | None) -> LabelSelector | None:
        """The selector of a ``metav1.LabelSelector``; None, which matches nothing, for an absent one.

        Raises ``SelectorError`` when it breaks a rule.
        """
        if selector is None:
            return None
        found = [Requirement.checked(key, "=", [value]) for key, value in (selector.get("matchLabels") or {}).items()]
        for expression in selector.get("matchExpressions") or ():
            operator = _OBJECT_OPERATORS.get(expression.get("operator"))
            if operator is None:
                shown = str(expression.get("operator", "")).replace('"', '\\"')
                raise SelectorError(f'"{shown}" is not a valid label selector operator')
            found.append(Requirement.checked(expression.get("key", ""), operator, expression.get("values") or ()))
        return cls(found)

    @property
    def is_everything(self) -> bool:
        """Whether every object matches."""
        return not self.requirements

    def exact_value(self, key: str) -> str | None:
        """The one value that the label must have, if the selector asks for one."""
        for requirement in self.requirements:
            if requirement.key == key and requirement.operator in {"=", "==", "in"} and len(requirement.values) == 1:
                return requirement.values[0]
        return None

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"LabelSelector({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelSelector) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> LabelSelector:
    return LabelSelector(_Parser(text).parse())


_OBJECT_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def _compiled(requirement: Requirement) -> Callable[[Mapping[str, str]], bool]:
    key, operator, values = requirement
    if operator == "exists":
        return lambda labels: key in labels
    if operator == "!":
        return lambda labels: key not in labels
    if operator in {"gt", "lt"}:
        return _comparison(key, operator, int(values[0]))
    if len(values) == 1:
        (only,) = values
        if operator in {"!=", "notin"}:
            return lambda labels: labels.get(key) != only
        return lambda labels: labels.get(key) == only
    choice = frozenset(values)
    if operator == "notin":
        return lambda labels: labels.get(key) not in choice
    return lambda labels: labels.get(key) in choice


def _comparison(key: str, operator: str, bound: int) -> Callable[[Mapping[str, str]], bool]:
    def compare(labels: Mapping[str, str]) -> bool:
        value = _integer(labels.get(key, ""))
        return value is not None and (value > bound if operator == "gt" else value < bound)

    return compare


def _all_of(tests: Sequence[Callable[[Mapping[str, str]], bool]]) -> Callable[[Mapping[str, str]], bool]:
    if not tests:
        return lambda _labels: True
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda labels: first(labels) and second(labels)
    return lambda labels: all(test(labels) for test in tests)


_SYMBOLS = frozenset("=!(),<>")
_SPACES = frozenset(" \t\r\n")
_TOKENS = {"(": "(", ")": ")", ",": ",", "!": "!", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_WORDS = {"in", "notin"}


class _Token(NamedTuple):
    kind: str
    """``id``, ``end``, ``error``, or the operator or sign itself."""
    text: str


def _scan(text: str) -> list[_Token]:
    tokens, at, end = [], 0, len(text)
    while at < end:
        if text[at] in _SPACES:
            at += 1
        elif text[at] in _SYMBOLS:
            token, at = _scan_symbol(text, at)
            tokens.append(token)
        else:
            start = at
            while at < end and text[at] not in _SYMBOLS and text[at] not in _SPACES:
                at += 1
            word = text[start:at]
            tokens.append(_Token(word if word in _WORDS else "id", word))
    tokens.append(_Token("end", ""))
    return tokens


def _scan_symbol(text: str, at: int) -> tuple[_Token, int]:
    """The longest known sign here; unknown runs of signs are taken whole, as Kubernetes does."""
    found, start = None, at
    while at < len(text) and text[at] in _SYMBOLS:
        seen = text[start : at + 1]
        if seen in _TOKENS:
            found = _Token(_TOKENS[seen], seen)
        elif found is not None:
            break
        at += 1
    return found or _Token("error", f"error expected: keyword found '{text[start:at]}'"), at


class _Parser:
    """Kubernetes' grammar, with its errors."""

    def __init__(self, text: str) -> None:
        self.tokens = _scan(text)
        self.at = 0

    def _peek(self) -> _Token:
        token = self.tokens[self.at]
        return _Token("id", token.text) if token.kind in _WORDS else token

    def _take(self) -> _Token:
        token = self._peek()
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def parse(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            kind, text = self._peek()
            if kind == "end":
                return found
            if kind not in {"id", "!"}:
                raise SelectorError(f"found '{text}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            kind, text = self._take()
            if kind == "end":
                return found
            if kind != ",":
                raise SelectorError(f"found '{text}', expected: ',' or 'end of string'")
            kind, text = self._peek()
            if kind not in {"id", "!"}:
                raise SelectorError(f"found '{text}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        kind, key = self._take()
        absent = kind == "!"
        if absent:
            kind, key = self._take()
        if kind != "id":
            raise SelectorError(f"found '{key}', expected: identifier")
        for error in _key_errors(key, "<nil>"):
            raise SelectorError(str(error))
        if absent:
            return Requirement.checked(key, "!")
        if self._peek().kind in {"end", ","}:
            return Requirement.checked(key, "exists")
        operator = self._operator()
        return Requirement.checked(key, operator, self._set() if operator in _WORDS else self._exact())

    def _operator(self) -> str:
        token = self.tokens[self.at]
        self._take()
        if token.kind not in OPERATORS:
            raise SelectorError(f"found '{token.text}', expected: {', '.join(OPERATORS)}")
        return token.kind

    def _exact(self) -> list[str]:
        if self._peek().kind in {"end", ","}:
            return [""]
        kind, text = self._take()
        if kind != "id":
            raise SelectorError(f"found '{text}', expected: identifier")
        return [text]

    def _set(self) -> set[str]:
        kind, text = self._take()
        if kind != "(":
            raise SelectorError(f"found '{text}' expected: '('")
        kind, text = self._peek()
        if kind == ")":
            self._take()
            return {""}
        if kind not in {"id", ","}:
            raise SelectorError(f"found '{text}', expected: ',', ')' or identifier")
        values = self._identifiers()
        self._take()
        return values

    def _identifiers(self) -> set[str]:
        """Values up to the closing parenthesis; nothing between two commas is the empty value."""
        values: set[str] = set()
        while True:
            kind, text = self._take()
            if kind == "id":
                values.add(text)
                kind, text = self._peek()
                if kind == ")":
                    return values
                if kind != ",":
                    raise SelectorError(f"found '{text}', expected: ',' or ')'")
            elif kind == ",":
                if not values:
                    values.add("")
                kind = self._peek().kind
                if kind == ")":
                    return values | {""}
                if kind == ",":
                    self._take()
                    values.add("")
            else:
                raise SelectorError(f"found '{text}', expected: ',', or identifier")


def validate_label_selector(selector: JsonObject | None, path: str) -> list[FieldError]:
    """Every rule that a ``metav1.LabelSelector`` inside an object breaks, at its path."""
    if not selector:
        return []
    errors = names.validate_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        errors += _expression_errors(expression, f"{path}.matchExpressions[{index}]")
    return errors


def validate_operator(operator: str, values: Sequence[Any], path: str) -> list[FieldError]:
    """Every rule that an operator and its number of values break, in a selector of labels or of nodes."""
    if operator in {"In", "NotIn"}:
        detail = "must be specified when `operator` is 'In' or 'NotIn'"
        return [] if values else [FieldError.required(f"{path}.values", detail)]
    if operator in {"Exists", "DoesNotExist"}:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [FieldError.forbidden(f"{path}.values", detail)] if values else []
    return [FieldError.invalid(f"{path}.operator", operator, "not a valid selector operator")]


def _expression_errors(expression: JsonObject, path: str) -> list[FieldError]:
    values = expression.get("values") or []
    errors = validate_operator(expression.get("operator", ""), values, path)
    key: Any = expression.get("key", "")
    errors += [FieldError.invalid(f"{path}.key", key, said) for said in names.qualified_name(key)]
    for index, value in enumerate(values):
        errors += [FieldError.invalid(f"{path}.values[{index}]", value, said) for said in names.label_value(value)]
    return errors

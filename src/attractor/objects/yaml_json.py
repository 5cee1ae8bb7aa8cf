"""YAML as Kubernetes reads it: a way to write JSON.

Timestamps stay text, keys become text. libyaml composes the nodes; from there on every node, every alias that is
followed and every key that is merged is charged to a budget before it is read, so that what a document costs is
bounded by its bytes: nested aliases and merge keys (``<<``) end as soon as they have used up what they paid for.

>>> parse_yaml("a: 2026-01-01\\n1: [x, true]")
{'a': '2026-01-01', '1': ['x', True]}
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

import yaml
from yaml.scanner import ScannerError

from attractor.objects.budget import Budget, OverBudget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.json_types import Json, JsonObject

MAX_DEPTH = 100
MAX_DIRECTIVES = 100
"""How many ``%`` lines may stand at the beginning of lines: libyaml looks through all tags for each."""
MAX_REPEATED = 100
"""How many keys that stand twice are told, as many as kube-apiserver tells."""
_STEPS_PER_BYTE = 2
"""Every node takes at least one byte, so only what is read more than once needs more."""
_OPENINGS = ("[", "{", "-", "?", ":")
"""Every level of a YAML document needs one of these."""
_DIRECTIVE = re.compile("(?:^|[\\r\\n\\x85\\u2028\\u2029\\ufeff])%")


class YamlError(ValueError):
    """The text is not YAML, or is not JSON once read; the message is Go's."""


class _Loader(yaml.CSafeLoader):
    """The safe loader, taking plain scalars for what go-yaml takes them for: no times, no base 60, ``y`` is true."""


_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_INTEGER = r"[-+]?(?:0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|[1-9][0-9_]*|0)"
_FLOAT = r"[-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("~", "null", "Null", "NULL", "")
_INTEGERS = range(-(2**63), 2**64)
"""What is an integer once it went through JSON; a larger whole number stays a float."""
_MAX_DIGITS = 400
"""A number of more digits is beyond what a float can hold."""

_Loader.yaml_implicit_resolvers = {}
for _name, _pattern, _first in (
    ("bool", "|".join(_TRUE + _FALSE), "yYnNtTfFoO"),
    ("int", _INTEGER, "-+0123456789"),
    ("float", _FLOAT, "-+0123456789."),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", "<<", "<"),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(f"^(?:{_pattern})$"), list(_first))


def parse_yaml(text: str | bytes) -> Json:
    """The JSON value that a YAML document stands for."""
    return parse_yaml_strictly(text)[0]


def parse_yaml_strictly(text: str | bytes) -> tuple[Json, tuple[str, ...]]:
    """The value of a document, and which keys stand twice in their map, and in which line, as go-yaml says it."""
    source = _source(text)
    try:
        root = next(iter(yaml.compose_all(source, Loader=_Loader)), None)  # further documents are not looked at
        return _Reader(len(source)).value(root, 0), tuple(islice(_repeated(root, set()), MAX_REPEATED))
    except (yaml.YAMLError, RecursionError) as error:
        raise _worded(error) from error


def parse_yaml_documents(text: str | bytes) -> Iterator[Json]:
    """The documents of a multi-document text that are not empty."""
    source = _source(text)
    reader = _Reader(len(source))
    try:
        for root in yaml.compose_all(source, Loader=_Loader):
            document = reader.value(root, 0)
            if document is not None:
                yield document
    except yaml.MarkedYAMLError as error:
        raise _worded(error) from error


def _repeated(node: yaml.Node | None, known: set[int]) -> Iterator[str]:
    """The keys that stand twice, in the order in which go-yaml meets them; of every map once, however often named."""
    if node is None or id(node) in known:
        return
    known.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item, known)
    elif isinstance(node, yaml.MappingNode):
        seen: set[tuple[str, str]] = set()
        for key, value in node.value:
            yield from _repeated(value, known)
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    yield f'line {value.start_mark.line + 1}: key "{key.value}" already set in map'
                seen.add((key.tag, key.value))


def _source(text: str | bytes) -> str:
    """The text, if libyaml can be trusted with it; raises ``YamlError``."""
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise YamlError("yaml: invalid leading UTF-8 octet") from error
    refuse_directives(text)
    refuse_deep(text)
    return text


def refuse_directives(text: str) -> None:
    """Raise ``YamlError`` for a text with more directives than any document has."""
    if "%" in text and sum(1 for _ in _DIRECTIVE.finditer(text)) > MAX_DIRECTIVES:
        raise YamlError(f"yaml: document has more than {MAX_DIRECTIVES} directives")


def refuse_deep(text: str) -> None:
    """Raise ``YamlError`` for a text that nests too deeply, before libyaml's composer runs out of stack on it.

    Told from its events, which take no stack; a text with few openings passes with five counts.
    """
    if sum(map(text.count, _OPENINGS)) <= MAX_DEPTH:
        return
    depth = 0
    with suppress(yaml.YAMLError):  # reading it says what is wrong with it, and gets no further than this
        for event in yaml.parse(text, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise YamlError(f"yaml: document nests deeper than {MAX_DEPTH} levels")


def _worded(error: Exception) -> YamlError:
    """The error as go-yaml words it: lines count from zero, except where the scanner stopped."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return YamlError(f"yaml: {error}")
    line = error.problem_mark.line if error.problem_mark else 0
    if line and isinstance(error, ScannerError):
        line += 1
    if not line and error.context_mark:
        line = error.context_mark.line
    return YamlError(f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}")


class _Reader:
    """Makes JSON of composed nodes, and pays for each before it is read."""

    __slots__ = ("_budget",)

    def __init__(self, size_bytes: int) -> None:
        self._budget = Budget.for_bytes(size_bytes, _STEPS_PER_BYTE)

    def value(self, node: yaml.Node | None, depth: int) -> Any:
        """The JSON value of a node, aliases followed."""
        self._pay(1, depth)
        match node:
            case None:
                return None
            case yaml.MappingNode():
                return self._mapping(node, depth)
            case yaml.SequenceNode():
                return [self.value(item, depth + 1) for item in node.value]
            case yaml.ScalarNode():
                return _as_json(_scalar(node))
        raise YamlError(f"yaml: unknown node {node!r}")

    def _pay(self, steps: int, depth: int) -> None:
        try:
            self._budget.charge(steps)
        except OverBudget:
            raise YamlError("yaml: document contains excessive aliasing") from None
        if depth > MAX_DEPTH:
            raise YamlError("yaml: document contains excessive aliasing")

    def _mapping(self, node: yaml.MappingNode, depth: int) -> JsonObject:
        """A map: first what is merged into it, the first of several maps last, then its own keys."""
        found: JsonObject = {}
        own: list[tuple[yaml.Node, yaml.Node]] = []
        for key, value in node.value:
            if key.tag == _MERGE:
                for other in reversed(_merged(value)):
                    self._pay(len(other.value), depth)
                    found.update(self._mapping(other, depth + 1))
            else:
                own.append((key, value))
        for key, value in own:
            self._pay(1, depth)
            if not isinstance(key, yaml.ScalarNode):
                of = "map[interface {}]interface {}" if isinstance(key, yaml.MappingNode) else "[]interface {}"
                raise YamlError(f"yaml: invalid map key: {of}")
            found[_key(_scalar(key))] = self.value(value, depth + 1)
        return found


def _merged(node: yaml.Node) -> list[yaml.MappingNode]:
    """The maps that a merge key names."""
    named = node.value if isinstance(node, yaml.SequenceNode) else [node]
    maps = [one for one in named if isinstance(one, yaml.MappingNode)]
    if len(maps) < len(named):
        raise YamlError("yaml: map merge requires map or sequence of maps as the value")
    return maps


def _scalar(node: yaml.ScalarNode) -> Any:
    """The value of a scalar: by its tag, or by how it looks."""
    text: str = node.value
    match node.tag.removeprefix(_TAG):
        case "str" | "merge" | "!":
            return text
        case "null" if text in _NULL:
            return None
        case "bool" if text in _TRUE or text in _FALSE:
            return text in _TRUE
        case "int" | "float" as tag:
            number: Any = _number(text)
            if number is None:
                number = text if re.fullmatch(f"{_INTEGER}|{_FLOAT}", text) else _undecodable(node)
            return float(number) if tag == "float" and isinstance(number, int) else number
    return _undecodable(node)


def _undecodable(node: yaml.ScalarNode) -> NoReturn:
    name = node.tag.removeprefix(_TAG)
    raise YamlError(f"yaml: line {node.start_mark.line + 1}: cannot decode !!str `{node.value[:40]}` as a !!{name}")


def _number(text: str) -> float | None:
    """A number as go-yaml reads it; None for what no integer and no float can hold, which stays text."""
    plain = text.replace("_", "")
    sign, digits = (plain[0], plain[1:]) if plain[:1] in {"+", "-"} else ("", plain)
    base = {"0x": 16, "0b": 2, "0o": 8}.get(digits[:2].lower(), 8 if digits[:1] == "0" and digits.isdigit() else 10)
    if len(digits) <= _MAX_DIGITS:
        with suppress(ValueError):
            value = int(digits.removeprefix("0o").removeprefix("0O"), base) if base != 10 else int(digits)
            value = -value if sign == "-" else value
            if value in _INTEGERS:
                return value
    if re.fullmatch(_FLOAT, plain) is None:
        return None
    word = digits.lower()
    if word in {".inf", ".nan"}:
        return float(sign + word[1:])
    real = float(plain)
    return real if math.isfinite(real) else None


def _as_json(value: Any) -> Any:
    """A scalar as it comes out of JSON."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise YamlError(f"json: unsupported value: {value}")
        if value.is_integer() and int(value) in _INTEGERS:
            return int(value)
    return value


def _key(key: Any) -> str:
    match key:
        case str():
            return key
        case bool():
            return "true" if key else "false"
        case int() | float():
            return str(key)
    raise YamlError(f"error converting YAML to JSON: unsupported map key of type: {type(key).__name__}, key: {key}")

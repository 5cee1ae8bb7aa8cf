"""YAML as Kubernetes reads it: a way to write JSON.

Timestamps stay text, keys become text, and a document cannot grow beyond a node budget through aliases.

>>> parse_yaml("a: 2026-01-01\\n1: [x, true]")
{'a': '2026-01-01', '1': ['x', True]}
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import yaml
from yaml.scanner import ScannerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.jsontypes import Json

_EXPONENT = 1e21
"""From here on, Go writes a float with an exponent; a smaller whole one is an integer once it went through JSON."""
MAX_NODES = 500_000
MAX_DEPTH = 100
_OPENINGS = (b"[", b"{", b"-", b"?", b":")
"""Every level of a YAML document needs one of these."""


class YamlError(ValueError):
    """The text is not YAML, or is not JSON once read; the message is Go's."""


class _Loader(yaml.CSafeLoader):
    """The safe loader, taking plain scalars for what go-yaml takes them for: no times, no base 60, ``y`` is true."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A map whose keys are text already: to Python, the keys ``1`` and ``true`` would be one."""
        self.flatten_mapping(node)
        return {
            _key(self.construct_object(key, deep=True)): self.construct_object(value, deep=deep)
            for key, value in node.value
        }


_TAG = "tag:yaml.org,2002:"
_INTEGER = r"[-+]?(?:0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|[1-9][0-9_]*|0)"
_FLOAT = r"[-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_UINT64 = 2**64

_Loader.yaml_implicit_resolvers = {}
for _name, _pattern, _first in (
    ("bool", "|".join(_TRUE + _FALSE), "yYnNtTfFoO"),
    ("int", _INTEGER, "-+0123456789"),
    ("float", _FLOAT, "-+0123456789."),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", "<<", "<"),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(f"^(?:{_pattern})$"), list(_first))


def _bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    return loader.construct_scalar(node) in _TRUE


def _int(loader: _Loader, node: yaml.ScalarNode) -> float:
    value: int = loader.construct_yaml_int(node)
    return value if abs(value) < _UINT64 else float(value)


_Loader.add_constructor(_TAG + "bool", _bool)
_Loader.add_constructor(_TAG + "int", _int)


def parse_yaml(text: str | bytes) -> Json:
    """The JSON value that a YAML document stands for."""
    refuse_deep(text)
    try:
        loaded = next(yaml.load_all(text, Loader=_Loader), None)  # further documents are not looked at
    except yaml.MarkedYAMLError as error:
        raise _worded(error) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"yaml: {error}") from error
    value: Json = _as_json(loaded, [MAX_NODES], 0)
    return value


def repeated_keys(text: str | bytes) -> Iterator[str]:
    """Which keys of a document stand twice in their map, and in which line, as go-yaml says it; the text is YAML."""
    root = next(iter(yaml.compose_all(text, Loader=_Loader)), None)
    return _repeated(root)


def _repeated(node: yaml.Node | None) -> Iterator[str]:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item)
    elif isinstance(node, yaml.MappingNode):
        seen: set[tuple[str, str]] = set()
        for key, value in node.value:
            yield from _repeated(value)
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    yield f'line {value.start_mark.line + 1}: key "{key.value}" already set in map'
                seen.add((key.tag, key.value))


def parse_yaml_documents(text: str | bytes) -> Iterator[Json]:
    """The documents of a multi-document text that are not empty."""
    refuse_deep(text)
    try:
        for document in yaml.load_all(text, Loader=_Loader):
            if document is not None:
                yield _as_json(document, [MAX_NODES], 0)
    except yaml.MarkedYAMLError as error:
        raise _worded(error) from error


def refuse_deep(text: str | bytes) -> None:
    """Raise ``YamlError`` for a text that nests too deeply, before libyaml's composer runs out of stack on it.

    Told from its events, which take no stack; a text with few openings passes with five counts.
    """
    data = text.encode() if isinstance(text, str) else text
    if sum(map(data.count, _OPENINGS)) <= MAX_DEPTH:
        return
    depth = 0
    with suppress(yaml.YAMLError):  # reading it says what is wrong with it, and gets no further than this
        for event in yaml.parse(text, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise YamlError(f"yaml: document nests deeper than {MAX_DEPTH} levels")


def _worded(error: yaml.MarkedYAMLError) -> YamlError:
    """The error as go-yaml words it: lines count from zero, except where the scanner stopped."""
    line = error.problem_mark.line if error.problem_mark else 0
    if line and isinstance(error, ScannerError):
        line += 1
    if not line and error.context_mark:
        line = error.context_mark.line
    return YamlError(f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}")


def _as_json(value: Any, budget: list[int], depth: int) -> Any:
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        raise YamlError("yaml: document contains excessive aliasing")
    match value:
        case dict():
            return {key: _as_json(item, budget, depth + 1) for key, item in value.items()}
        case list():
            return [_as_json(item, budget, depth + 1) for item in value]
        case float() if not math.isfinite(value):
            raise YamlError(f"json: unsupported value: {value}")
        case float() if value.is_integer() and abs(value) < _EXPONENT:
            return int(value)
        case str() | int() | float() | bool() | None:
            return value
    raise YamlError(f"json: unsupported type: {type(value).__name__}")


def _key(key: Any) -> str:
    match key:
        case str():
            return key
        case bool():
            return "true" if key else "false"
        case int() | float():
            return str(key)
    raise YamlError(f"error converting YAML to JSON: unsupported map key of type: {type(key).__name__}, key: {key}")

"""CEL's types, and the reading of signatures such as ``list<A>.indexOf(A): int``.

>>> str(read_type("map<string, list<int>>"))
'map(string, list(int))'
>>> assignable(read_type("list<A>"), read_type("list<int>"), found := {}), str(found["A"])
(True, 'int')
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"\s*([A-Za-z_.]+|[<>,])")


@dataclass(frozen=True, slots=True)
class Type:
    """A type: a name, and parameters for ``list``, ``map``, ``optional_type`` and ``type``."""

    name: str
    params: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name

    @property
    def is_parameter(self) -> bool:
        """Whether this stands for any type, the same within one signature."""
        return len(self.name) == 1 and self.name.isupper()


DYN, BOOL, INT, UINT, DOUBLE = Type("dyn"), Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES, NULL = Type("string"), Type("bytes"), Type("null_type")
TIMESTAMP, DURATION = Type("timestamp"), Type("duration")
SCALARS = frozenset({BOOL, INT, UINT, DOUBLE, TIMESTAMP, DURATION, NULL, Type("type")})


def list_of(item: Type) -> Type:
    """A list's type."""
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    """A map's type."""
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    """The type of a value that may be missing."""
    return Type("optional_type", (value,))


def read_type(text: str) -> Type:
    """The type that a signature writes, with ``<>`` around parameters."""
    words = _WORD.findall(text)
    found, rest = _read(words)
    if rest:
        raise ValueError(f"no type: {text!r}")
    return found


def _read(words: list[str]) -> tuple[Type, list[str]]:
    name, rest = words[0], words[1:]
    params = []
    if rest and rest[0] == "<":
        while rest[0] != ">":
            param, rest = _read(rest[1:])
            params.append(param)
        rest = rest[1:]
    return Type({"optional": "optional_type"}.get(name, name), tuple(params)), rest


def resolved(declared: Type, found: dict[str, Type]) -> Type:
    """A type with its parameters filled in; unknown ones become ``dyn``."""
    if declared.is_parameter:
        return found.get(declared.name, DYN)
    return Type(declared.name, tuple(resolved(param, found) for param in declared.params))


def assignable(declared: Type, given: Type, found: dict[str, Type]) -> bool:
    """Whether a value of a type may stand where another is declared; fills in parameters."""
    if declared.is_parameter:
        known = found.get(declared.name)
        if known is None or known == DYN:
            found[declared.name] = given
            return True
        if given == DYN or given.is_parameter:
            return True
        if assignable(known, given, {}):
            return True
        if known == NULL or (known.name == given.name and assignable(given, known, {})):
            found[declared.name] = given
            return True
        return False
    if DYN in (declared, given) or given.is_parameter:
        return True
    if NULL in (declared, given):
        other = given if declared == NULL else declared
        return declared == given or other in {TIMESTAMP, DURATION} or other.name not in _NEVER_NULL
    if declared.name != given.name:
        return False
    if len(declared.params) != len(given.params):
        return not declared.params or not given.params
    return all(assignable(a, b, found) for a, b in zip(declared.params, given.params, strict=True))


_NEVER_NULL = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "type"})

"""Values as Go prints them, for error texts that clients know from Kubernetes.

>>> go_text({"image": "noname", "ports": [80, None]})
'map[image:noname ports:[80 <nil>]]'
"""

from __future__ import annotations

from typing import Any

import orjson

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def go_text(value: Any) -> str:
    """A JSON value as Go's ``%v`` prints it: maps by sorted key, no quotes."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{go_text(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and not _INT64_MIN <= value <= _INT64_MAX:
        return repr(float(value))  # which Go can only read as a number with a fraction
    return str(value)


def go_syntax(value: Any) -> str:
    """A JSON value as Go's ``%#v`` prints it: as one would write it in a program."""
    if isinstance(value, dict):
        items = ", ".join(f"{_quoted(name)}:{go_syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{items}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return _quoted(value) if isinstance(value, str) else go_text(value)


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def go_kind(value: Any) -> str:
    """What Go's JSON decoder calls a value of this kind."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    return "null" if value is None else "number"


def go_type(value: Any) -> str:
    """The Go type of a decoded value, as ``%s`` prints it."""
    match value:
        case None:
            return "%!s(<nil>)"
        case bool():
            return "bool"
        case int() if _INT64_MIN <= value <= _INT64_MAX:
            return "int64"
        case int():
            return "float64"
        case float():
            return "float64"
        case dict():
            return "map[string]interface {}"
        case list():
            return "[]interface {}"
    return "string"

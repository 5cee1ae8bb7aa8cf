"""Numbers that are no integers of their type, as Go's converter from maps has them.

Of those that are too large the upper bits are lost, and ``3.0`` is 3.

A strategic merge patch and an applied configuration become objects by that converter; a posted object does not, and is
refused for such a number.

>>> from attractor.k8s.catalog import find
>>> lease = find("coordination.k8s.io", "v1", "leases").definition
>>> fitted({"spec": {"leaseDurationSeconds": 2**31 + 5}}, lease)
{'spec': {'leaseDurationSeconds': -2147483643}}
>>> fitted({"spec": {"leaseDurationSeconds": 5.0}}, lease)
{'spec': {'leaseDurationSeconds': 5}}
>>> fitted({"spec": {"leaseDurationSeconds": 5}}, lease) is None
True
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attractor.k8s.catalog import go_type

if TYPE_CHECKING:
    from attractor.k8s.catalog import GoType
    from attractor.objects.json_types import JsonObject

_INT64 = range(-(2**63), 2**63)


def fitted(obj: JsonObject, definition: str) -> JsonObject | None:
    """The object with every number cut to what its type holds; None if there is none to cut."""
    found = _fit(obj, go_type(definition))
    return None if repr(found) == repr(obj) else found  # for Python 5.0 equals 5


def _fit(value: Any, go: GoType) -> Any:
    if go.cls == "pointer" and go.elem is not None:
        return _fit(value, go.elem)
    if go.cls == "struct" and type(value) is dict:
        return {name: _fit(item, go.fields[name].type) if name in go.fields else item for name, item in value.items()}
    if go.cls == "map" and type(value) is dict and go.elem is not None:
        return {name: _fit(item, go.elem) for name, item in value.items()}
    if go.cls == "slice" and type(value) is list and go.elem is not None:
        return [_fit(item, go.elem) for item in value]
    if go.cls == "int" and type(value) is float and value.is_integer():
        value = int(value)
    if go.cls == "int" and type(value) is int and value in _INT64:
        bits = int(re.sub(r"\D", "", go.name) or 32) if go.name.startswith("int") else 32
        half = 1 << (bits - 1)
        return (value + half) % (2 * half) - half
    return value

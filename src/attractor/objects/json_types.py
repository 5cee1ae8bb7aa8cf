"""Types of JSON values."""

from typing import Any, TypeAlias

Json: TypeAlias = "dict[str, Any] | list[Any] | str | int | float | bool | None"
"""Any JSON value."""

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object, such as a Kubernetes object on the wire."""

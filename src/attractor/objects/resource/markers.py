"""Markers of fields in annotations: ``Annotated[list[Port], ListMap("containerPort")]``.

Bounds, lengths and patterns are said with ``Meta`` (``ge``, ``le``, ``gt``, ``lt``, ``multiple_of``, ``min_length``,
``max_length``, ``pattern``), which also checks them when an object is decoded. The markers here go to the schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from msgspec import Meta

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject


@dataclass(frozen=True)
class Rule:
    """A CEL validation rule: on a class with ``rules=[...]``, on a field with ``Annotated[T, Checked(Rule(...))]``.

    The API server enforces it; see ``x-kubernetes-validations`` in the Kubernetes documentation.
    """

    rule: str
    """A CEL expression over ``self`` and, in updates, ``oldSelf``."""
    message: str = ""
    """What the caller is told when it is false."""
    message_expression: str = ""
    """A CEL expression for that text."""
    reason: Literal["", "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"] = ""
    """The machine-readable reason of the refusal."""
    field_path: str = ""
    """The field that the refusal names."""
    optional_old_self: bool = False
    """Evaluate the rule for creations too, with ``oldSelf`` as an optional."""

    def manifest(self) -> JsonObject:
        """The rule as ``x-kubernetes-validations`` lists it."""
        said: JsonObject = {
            "rule": self.rule,
            "message": self.message,
            "messageExpression": self.message_expression,
            "reason": self.reason,
            "fieldPath": self.field_path,
            "optionalOldSelf": self.optional_old_self,
        }
        return {name: value for name, value in said.items() if value}


def Doc(text: str) -> Meta:  # noqa: N802
    """Describe a field, where a docstring below it does not."""
    return Meta(description=text)


def Format(name: str) -> Meta:  # noqa: N802
    """Say a string's OpenAPI format, such as ``ipv4``, ``uri`` or ``uuid``."""
    return Meta(extra_json_schema={"format": name})


def Checked(*rules: Rule) -> Meta:  # noqa: N802
    """Attach CEL rules to a field."""
    return Meta(extra_json_schema={"x-kubernetes-validations": [rule.manifest() for rule in rules]})


def ListMap(*keys: str) -> Meta:  # noqa: N802
    """A list whose items are identified by these fields (wire names) and merge one by one."""
    if not keys:
        raise ValueError('a ListMap needs the fields that identify an item, as in ListMap("name")')
    return Meta(extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})


ListSet = Meta(extra_json_schema={"x-kubernetes-list-type": "set"})
"""A list of unique scalars that merge one by one."""

ListAtomic = Meta(extra_json_schema={"x-kubernetes-list-type": "atomic"})
"""A list that one manager owns as a whole."""

MapAtomic = Meta(extra_json_schema={"x-kubernetes-map-type": "atomic"})
"""An object or map that one manager owns as a whole."""

PreserveUnknown = Meta(extra_json_schema={"x-kubernetes-preserve-unknown-fields": True})
"""Fields that the schema does not declare are stored."""

EmbeddedResource = Meta(
    extra_json_schema={"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
)
"""The value is a whole Kubernetes object."""

"""The schema of a CustomResourceDefinition, applied to objects: unknown fields, defaults, validity.

>>> widgets = CustomSchema({
...     "type": "object",
...     "properties": {"spec": {
...         "type": "object",
...         "required": ["size"],
...         "properties": {
...             "size": {"type": "integer", "minimum": 1},
...             "color": {"type": "string", "default": "red"},
...         },
...     }},
... })
>>> widget = {"kind": "Widget", "spec": {"size": 0, "unknown": 1}}
>>> widgets.prune_in_place(widget)
['spec.unknown']
>>> widgets.default_in_place(widget); widget["spec"]
{'size': 0, 'color': 'red'}
>>> [str(error) for error in widgets.validate(widget)]
['spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1']

A compiled schema never changes and may be shared and cached. Compiling costs milliseconds; using it, microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.cel.rules import RUNTIME_BUDGET, RuleTree, has_rules, rule_tree
from attractor.objects.field import FieldError
from attractor.schema.accept import compile_acceptance
from attractor.schema.correlation import Correlation
from attractor.schema.defaulting import compile_defaulting, compile_filling
from attractor.schema.embedded import (
    check_embedded,
    check_metadata_shape,
    embedded_resources,
    has_embedded_resources,
)
from attractor.schema.error_messages import NO_PATH, explain
from attractor.schema.list_types import check_list_types, has_list_types
from attractor.schema.node import Schema
from attractor.schema.pruning import compile_pruning

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.objects.json_types import JsonObject
    from attractor.schema.defaulting import Defaulting
    from attractor.schema.embedded import CheckMetadata
    from attractor.schema.pruning import Pruning

_BLOCKS_RULES = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
"""After an error of these kinds the rules are not run: a rule may rely on what the schema promises."""

RULES_NOT_CHECKED = FieldError.invalid(
    NO_PATH,
    None,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


class CustomSchema:
    """A version's ``openAPIV3Schema``, compiled once."""

    def __init__(
        self, doc: JsonObject, *, check_metadata: CheckMetadata = check_metadata_shape, budget: float = RUNTIME_BUDGET
    ) -> None:
        self.node = Schema(doc)
        self._budget = budget
        self._check_metadata = check_metadata
        self._has_list_types = has_list_types(self.node)
        self.has_embedded = has_embedded_resources(self.node)
        """Whether resources may stand inside an object."""
        self._rules: RuleTree | None = None
        self._has_rules = has_rules(self.node)
        # Made when they are first needed: a schema is often used in one way only.
        self._prune: Pruning | None = None
        self._default: Defaulting | None = None
        self._fill: Defaulting | None = None
        self._accepts: Callable[[JsonObject], bool] | None = None

    def _pruning(self) -> Pruning:
        if self._prune is None:
            self._prune = compile_pruning(self.node)
        return self._prune

    def _is_accepted(self, obj: JsonObject) -> bool:
        if self._accepts is None:
            self._accepts = compile_acceptance(self.node)
        return self._accepts(obj)

    def embedded_in(self, obj: JsonObject) -> list[tuple[JsonObject, str]]:
        """The resources that stand inside an object, each with its path."""
        return list(embedded_resources(self.node, obj)) if self.has_embedded else []

    def unknown_fields(self, obj: JsonObject) -> list[str]:
        """The paths of fields that the schema does not know, sorted; the object stays as it is."""
        return sorted(self._pruning()(obj, "", False))

    def prune_in_place(self, obj: JsonObject) -> list[str]:
        """Remove the fields that the schema does not know; their paths, sorted."""
        unknown = self._pruning()(obj, "", True)
        return sorted(unknown) if unknown else unknown

    def default_in_place(self, obj: JsonObject) -> None:
        """Drop nulls where null is not a value, then fill in defaults."""
        if self._default is None:
            self._default = compile_defaulting(self.node)
        self._default(obj)

    def fill_in_place(self, obj: JsonObject) -> None:
        """Fill in defaults; nulls where null is not a value stay, and are wrong."""
        if self._fill is None:
            self._fill = compile_filling(self.node)
        self._fill(obj)

    def validate(self, obj: JsonObject, old: JsonObject | None = None, *, is_refused: bool = False) -> list[FieldError]:
        """Everything wrong with an object, most basic first; on an update, unchanged wrongs are forgiven.

        The rules of the schema's author are not asked about what ``is_refused`` anyway, for what others know of it.
        """
        correlation = Correlation(obj, old, self.node) if old is not None else None
        errors = [] if self._is_accepted(obj) else explain(self.node, obj, correlation)
        return self._with_rules(errors, obj, old, correlation, is_refused=is_refused)

    def validate_status(self, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        """The same for a write of the status alone: nothing else is held against the schema."""
        correlation = Correlation(obj, old, self.node)
        node, errors = self.node.properties.get("status"), list[FieldError]()
        if node is not None and "status" in obj and not self._is_accepted(obj):
            errors = explain(node, obj["status"], correlation.key("status"), "status")
        return self._with_rules(errors, obj, old, correlation)

    def _with_rules(
        self,
        errors: list[FieldError],
        obj: JsonObject,
        old: JsonObject | None,
        correlation: Correlation | None,
        *,
        is_refused: bool = False,
    ) -> list[FieldError]:
        """What the types of fields let pass: embedded resources, lists, and the rules of the schema's author."""
        if self.has_embedded:
            errors += check_embedded(self.node, obj, self._check_metadata)
        if self._has_list_types and not (old is not None and check_list_types(self.node, old)):
            errors += check_list_types(self.node, obj)
        if self._has_rules and self._rules is None:
            self._rules = rule_tree(self.node, is_root=True)
        if self._has_rules and self._rules is not None:
            if is_refused or any(error.reason in _BLOCKS_RULES for error in errors):
                errors.append(RULES_NOT_CHECKED)
            else:
                errors += self._rules.validate(obj, old, correlation, self._budget)
        return errors

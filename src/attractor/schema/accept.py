"""The fast path: a native JSON schema validator that only ever says "surely valid".

``compile_acceptance`` translates a structural schema so that whatever the native validator accepts has no error in
the slow path (module ``error_messages``). The other direction need not hold: a value that is not accepted is merely
looked at again. Where the two languages differ (fractions in ``multipleOf``, odd bounds) the translation accepts
nothing; below ``not`` and ``oneOf``, where a stricter translation would accept more, an inexact branch is not
translated at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs

from attractor.schema.error_messages import schema_types
from attractor.schema.formats import effective_format, format_check
from attractor.schema.node import Schema
from attractor.schema.patterns import PatternError, is_plain, matcher

if TYPE_CHECKING:
    from collections.abc import Callable

_NEVER: dict[str, Any] = {"not": {}}
_BOUNDS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_AS_IS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems")


def compile_acceptance(schema: Schema) -> Callable[[Any], bool]:
    """A function that says True only of values without any schema error."""
    translation = _Translation()
    document = translation.of(schema)
    try:
        return jsonschema_rs.Draft202012Validator(
            document, formats=translation.formats, validate_formats=True, pattern_options=jsonschema_rs.RegexOptions()
        ).is_valid
    except jsonschema_rs.ValidationError:
        # Kubernetes takes schemas that JSON schema does not, such as a negative minLength: let the slow path decide.
        return lambda _value: False


class _Translation:
    """One schema on its way to JSON schema; ``formats`` collects the checks that stay in Python."""

    def __init__(self) -> None:
        self.formats: dict[str, Callable[[str], bool]] = {}
        self.is_exact = True

    def of(self, schema: Schema) -> dict[str, Any]:
        """The translated document of a node."""
        doc = schema.doc
        types = schema_types(schema)
        out: dict[str, Any] = {name: doc[name] for name in _AS_IS if doc.get(name) is not None}
        if types:
            out["type"] = [*types, "null"] if schema.is_nullable else list(types)
        if doc.get("enum"):
            out["enum"] = doc["enum"]
        if doc.get("required"):
            out["required"] = list(dict.fromkeys(doc["required"]))
        self._objects_and_lists(schema, out)
        further = [*self._texts(doc, types), *self._numbers(doc, types), *self._junctors(schema)]
        if further:
            out["allOf"] = further
        return out

    def _objects_and_lists(self, schema: Schema, out: dict[str, Any]) -> None:
        if schema.properties:
            out["properties"] = {name: self.of(child) for name, child in schema.properties.items()}
        declared = schema.doc.get("additionalProperties")
        if declared is False:
            out["additionalProperties"] = False
        elif isinstance(declared, dict) and schema.additional is not None:
            out["additionalProperties"] = self.of(schema.additional)
        if schema.items is not None:
            out["items"] = self.of(schema.items)

    def _texts(self, doc: dict[str, Any], types: tuple[str, ...]) -> list[dict[str, Any]]:
        found = []
        if pattern := doc.get("pattern"):
            try:
                matches = matcher(pattern)
            except PatternError:
                return [self._inexact()]
            plain = is_plain(pattern)
            found.append({"pattern": pattern} if plain else self._check(f"pattern:{pattern}", matches))
        said = effective_format(types[0] if len(types) == 1 else "", str(doc.get("format") or ""))
        check = format_check(said) if said else None
        if check is not None:
            self.is_exact = False  # kube-openapi lets a list pass for a formatted string
            found.append(self._check(f"format:{said}", check))
        return found

    def _check(self, name: str, check: Callable[[str], bool]) -> dict[str, Any]:
        self.formats[name] = check
        return {"format": name}

    def _numbers(self, doc: dict[str, Any], types: tuple[str, ...]) -> list[dict[str, Any]]:
        bounds = [doc.get(name) for name in ("minimum", "maximum", "multipleOf")]
        first = types[0] if types else ""
        said = str(doc.get("format") or "")
        if any(bound is not None and not float(bound).is_integer() for bound in bounds):
            return [self._inexact()]  # kube-openapi cuts fractions off before it compares integers
        if first == "integer":
            least, most = _BOUNDS.get(said, _BOUNDS["int64"])
            found = [{"minimum": least, "maximum": most}]
        elif doc.get("multipleOf") is not None or (first == "number" and said == "float"):
            return [self._inexact()]
        else:
            found = []
        for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if doc.get(bound) is not None:
                name = exclusive if doc.get(exclusive) is True else bound
                found.append({name: doc[bound]})
        if (factor := doc.get("multipleOf")) is not None:
            found.append({"multipleOf": factor} if factor > 0 else self._inexact())
        return found

    def _inexact(self) -> dict[str, Any]:
        self.is_exact = False
        return _NEVER

    def _junctors(self, schema: Schema) -> list[dict[str, Any]]:
        """The junctors of a node; kube-openapi does not ask them about null."""
        found: list[dict[str, Any]] = [
            {junctor: [self.of(Schema(doc, schema.resolve)) for doc in schema.doc[junctor]]}
            for junctor in ("allOf", "anyOf")
            if schema.doc.get(junctor)
        ]
        if branches := schema.doc.get("oneOf"):
            found.append(self._exactly({"oneOf": branches}, schema))
        if isinstance(schema.doc.get("not"), dict):
            found.append(self._exactly({"not": schema.doc["not"]}, schema))
        return [{"anyOf": [{"type": "null"}, junctor]} for junctor in found]

    def _exactly(self, junctor: dict[str, Any], schema: Schema) -> dict[str, Any]:
        """A junctor in which accepting less would mean accepting more: translated only when nothing is lost."""
        outer, self.is_exact = self.is_exact, True
        translated: dict[str, Any] = {}
        for name, inner in junctor.items():
            docs = inner if isinstance(inner, list) else [inner]
            branches = [self.of(Schema(doc, schema.resolve)) for doc in docs]
            translated[name] = branches if isinstance(inner, list) else branches[0]
        exact, self.is_exact = self.is_exact, outer
        return translated if exact else self._inexact()

"""Schema validation that says what is wrong, in the words of ``k8s.io/kube-openapi/pkg/validation``.

This is the slow path: it runs only on values that the accepting validator (module ``accept``) did not accept. It
visits keywords in kube-openapi's order and keeps its habits, odd ones included: only the first broken string keyword
is told, an ``anyOf`` repeats the errors of its most nearly matching branch, and a list passes for a formatted string.

>>> errors = explain(Schema({"properties": {"size": {"type": "integer", "minimum": 1}}}), {"size": 0})
>>> [str(error) for error in errors]
['size: Invalid value: 0: size in body should be greater than or equal to 1']
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import orjson

from attractor.objects.field import FieldError
from attractor.objects.json_equality import same_json
from attractor.schema.formats import effective_format, format_check
from attractor.schema.node import Schema
from attractor.schema.patterns import PatternError, matcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.schema.correlation import Correlation

NO_PATH = "<nil>"
_INT64 = range(-(2**63), 2**63)
_INT32 = range(-(2**31), 2**31)
_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}
_MAX_FLOAT32 = 3.4028234663852886e38 + 2.0**103


@dataclass(slots=True)
class Result:
    """Errors so far, and how many checks passed: that is how kube-openapi picks the best branch of an ``anyOf``."""

    errors: list[FieldError] = field(default_factory=list)
    matches: int = 0

    def merge(self, other: Result) -> None:
        """Take over another result."""
        self.errors += other.errors
        self.matches += other.matches


def explain(schema: Schema, value: Any, correlation: Correlation | None = None, base: str = "") -> list[FieldError]:
    """Everything wrong with a value; on an update, errors of unchanged values are left out. Paths start at ``base``."""
    found = _validate(schema, value, "", correlation).errors
    unique = {(error.reason, error.path, error.detail, repr(error.value)): error for error in found}
    if not base:
        return list(unique.values())
    return [error._replace(path=base if error.path == NO_PATH else f"{base}.{error.path}") for error in unique.values()]


def _validate(schema: Schema, value: Any, path: str, correlation: Correlation | None) -> Result:
    result = Result()
    types = schema_types(schema)
    said = effective_format(types[0] if len(types) == 1 else "", str(schema.doc.get("format") or ""))
    if value is None:
        _check_null(schema, types, path, result)
        _check_enum(schema, value, path, result)
    else:
        if types or said:
            _run(result, _check_type, types, said, value, path)
        _run(result, _check_junctors, schema, value, path)
        if isinstance(value, str):
            _run(result, _check_string, schema, value, path)
            if said:
                _run(result, _check_format, said, value, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            _run(result, _check_number, schema, *_number_type(types, said), value, path)
        elif isinstance(value, list):
            _run(result, _check_items, schema, value, path, correlation)
        if schema.doc.get("enum"):
            _check_enum(schema, value, path, result)
        result.matches += 1
        if isinstance(value, dict):
            _run(result, _check_properties, schema, value, path, correlation)
        result.matches += 1
    if result.errors and correlation is not None and correlation.is_unchanged:
        return Result()
    return result


def _run(result: Result, check: Callable[..., Result], *args: Any) -> None:
    result.merge(check(*args))
    result.matches += 1


def _number_type(types: tuple[str, ...], said: str) -> tuple[str, str]:
    """The type and format whose range a number is held to; none where more than one type, or another, is allowed."""
    if len(types) != 1 or types[0] not in _NUMBER_FORMATS:
        return "", ""
    return types[0], said if said in _NUMBER_FORMATS[types[0]] else ""


def schema_types(schema: Schema) -> tuple[str, ...]:
    """The types a value may have; empty when any."""
    if schema.is_int_or_string and schema.doc.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema.type,) if schema.type else ()


def _child(path: str, name: str) -> str:
    return f"{path}.{name}"


def _field_path(path: str) -> str:
    return path.removeprefix(".") or NO_PATH


def _nowhere(detail: str) -> FieldError:
    """An error that kube-openapi does not tie to a field."""
    return FieldError.invalid(NO_PATH, "", detail)


def _invalid(path: str, value: Any, rule: str) -> FieldError:
    return FieldError.invalid(_field_path(path), go_value(value), f"{path} in body {rule}")


def _wrong_type(path: str, wanted: str, got: str) -> FieldError:
    return FieldError.type_invalid(_field_path(path), got, f"{path} in body must be of type {wanted}: {quoted(got)}")


def quoted(text: str) -> str:
    """A text as Go's ``%q`` prints it."""
    return orjson.dumps(text).decode()


def go_value(value: Any) -> Any:
    """A number as Go prints it: a float without a fraction looks like an integer, with the digits that identify it.

    >>> go_value(2.0**64)
    18446744073709552000
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(Decimal(repr(value)))
    return value


def go_number(value: float) -> str:
    """A bound as Go's ``%v`` prints it."""
    shown = go_value(float(value))
    if isinstance(shown, int):
        return str(shown)
    return repr(shown)


def json_type(value: Any) -> tuple[str, str]:
    """The JSON type of a value, and the number format that Go decodes it to."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, str):
        return "string", ""
    if isinstance(value, int):
        return "integer", "int64"
    if isinstance(value, float):
        return "number", "float64"
    return ("array", "") if isinstance(value, list) else ("object", "")


def _check_null(schema: Schema, types: tuple[str, ...], path: str, result: Result) -> None:
    if types and not schema.is_nullable:
        result.errors.append(_wrong_type(path, ",".join(types), "null"))
    else:
        result.matches += 1


def _check_type(types: tuple[str, ...], said: str, value: Any, path: str) -> Result:
    got, number_format = json_type(value)
    whole = isinstance(value, float) and value.is_integer() and int(value) in _INT64 and "integer" in types
    fits = got in types or whole or (got == "integer" and "number" in types)
    textual = isinstance(value, str | list)
    if not textual and said and not fits and number_format != said:
        return Result([_wrong_type(path, said, number_format)])
    if said and textual and "number" not in types and "integer" not in types:
        return Result(matches=1)
    if not fits:
        return Result([_wrong_type(path, ",".join(types), got)])
    return Result(matches=1)


def _check_junctors(schema: Schema, value: Any, path: str) -> Result:
    """``anyOf``, ``oneOf``, ``allOf`` and ``not``; kube-openapi does not correlate old values below them."""
    result = Result()
    name = quoted(path)
    if any_of := _branches(schema, "anyOf", value, path, stop_at_first=True):
        valid = [branch for branch in any_of if not branch.errors]
        if not valid:
            result.errors.append(_nowhere(f"{name} must validate at least one schema (anyOf)"))
        result.merge(valid[0] if valid else max(any_of, key=lambda branch: branch.matches))
    if one_of := _branches(schema, "oneOf", value, path):
        valid = [branch for branch in one_of if not branch.errors]
        if len(valid) == 1:
            result.merge(valid[0])
        else:
            told = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
            result.errors.append(_nowhere(f"{name} must validate one and only one schema (oneOf). {told}"))
            if not valid:
                result.merge(max(one_of, key=lambda branch: branch.matches))
    if all_of := _branches(schema, "allOf", value, path):
        for branch in all_of:
            result.merge(branch)
        if broken := sum(1 for branch in all_of if branch.errors):
            none = ". None validated" if broken == len(all_of) else ""
            result.errors.append(_nowhere(f"{name} must validate all the schemas (allOf){none}"))
    unwanted = schema.doc.get("not")
    if isinstance(unwanted, dict) and not _validate(_sub(schema, unwanted), value, path, None).errors:
        result.errors.append(_nowhere(f"{name} must not validate the schema (not)"))
    result.matches += 1
    return result


def _branches(schema: Schema, junctor: str, value: Any, path: str, *, stop_at_first: bool = False) -> list[Result]:
    results = []
    for doc in schema.doc.get(junctor) or ():
        results.append(_validate(_sub(schema, doc), value, path, None))
        if stop_at_first and not results[-1].errors:
            break
    return results


def _sub(schema: Schema, doc: dict[str, Any]) -> Schema:
    return Schema(doc, schema.resolve)


def _check_string(schema: Schema, value: str, path: str) -> Result:
    doc = schema.doc
    longest, shortest, pattern = doc.get("maxLength"), doc.get("minLength"), doc.get("pattern")
    if longest is not None and len(value) > longest:
        return Result([FieldError.too_long(_field_path(path), int(longest))])
    if shortest is not None and len(value) < shortest:
        return Result([_invalid(path, value, f"should be at least {int(shortest)} chars long")])
    if pattern:
        try:
            matches = matcher(pattern)(value)
        except PatternError as error:
            return Result([_invalid(path, value, f"should match '{pattern}, but pattern is invalid: {error}'")])
        if not matches:
            return Result([_invalid(path, value, f"should match '{pattern}'")])
    return Result()


def _check_format(said: str, value: str, path: str) -> Result:
    check = format_check(said)
    if check is None or check(value):
        return Result()
    detail = f"{path} in body must be of type {said}: {quoted(value)}"
    return Result([FieldError.type_invalid(_field_path(path), value, detail)])


def _out_of_range(value: float, schema_type: str, said: str, what: str, path: str) -> FieldError | None:
    """Whether a number fits its declared type; kube-openapi ties the error to no field."""
    if schema_type == "integer":
        fits = float(value).is_integer() and int(value) in (_INT32 if said == "int32" else _INT64)
    else:
        fits = said != "float" or abs(value) <= _MAX_FLOAT32
    if fits:
        return None
    how = f"with format {said}" if said else "(default format)"
    return _nowhere(f"{what} value must be of type {schema_type or 'number'} {how} in {path}")


def _check_number(schema: Schema, schema_type: str, said: str, value: float, path: str) -> Result:
    doc = schema.doc
    found = [_out_of_range(value, schema_type, said, "Checked", path)]
    if (factor := doc.get("multipleOf")) is not None:
        found.append(_out_of_range(factor, schema_type, said, "MultipleOf", path))
        found.append(_not_multiple(value, _native(factor, value, found), path) if factor else None)
    if (least := doc.get("minimum")) is not None:
        found.append(_out_of_range(least, schema_type, said, "Minimum boundary", path))
        least = _native(least, value, found)
        exclusive = doc.get("exclusiveMinimum") is True
        if value <= least if exclusive else value < least:
            rule = "greater than" if exclusive else "greater than or equal to"
            found.append(_invalid(path, value, f"should be {rule} {go_number(least)}"))
    if (most := doc.get("maximum")) is not None:
        found.append(_out_of_range(most, schema_type, said, "Maximum boundary", path))
        most = _native(most, value, found)
        exclusive = doc.get("exclusiveMaximum") is True
        if value >= most if exclusive else value > most:
            rule = "less than" if exclusive else "less than or equal to"
            found.append(_invalid(path, value, f"should be {rule} {go_number(most)}"))
    return Result([error for error in found if error is not None], matches=1)


def _native(bound: float, value: float, found: list[FieldError | None]) -> float:
    """A bound as kube-openapi compares it: cut to an integer for an integer, unless it was just found not to fit."""
    return int(bound) if isinstance(value, int) and found[-1] is None else bound


_FIRST_INEXACT = 2.0**53
"""From here on a float need not be the integer that it looks like."""


def _not_multiple(value: float, factor: float, path: str) -> FieldError | None:
    if factor <= 0:
        detail = f"factor MultipleOf declared for {path} must be positive: {go_number(factor)}"
        return FieldError.invalid(_field_path(path), go_value(factor), detail)
    if isinstance(value, int) and float(factor).is_integer():
        whole = value % int(factor) == 0
    else:
        ratio = 1 / factor * value if factor < 1 else value / factor
        near = float(math.trunc(ratio)) if abs(ratio) < _FIRST_INEXACT else math.inf
        whole = ratio == near or abs(ratio - near) < 1e-9 * (abs(ratio) + abs(near)) < math.inf
    return None if whole else _invalid(path, value, f"should be a multiple of {go_number(factor)}")


def _check_items(schema: Schema, value: list[Any], path: str, correlation: Correlation | None) -> Result:
    result = Result()
    if schema.items is not None:
        for index, item in enumerate(value):
            inner = correlation.index(index) if correlation is not None else None
            result.merge(_validate(schema.items, item, f"{path}[{index}]", inner))
    least, most = schema.doc.get("minItems"), schema.doc.get("maxItems")
    if least is not None and len(value) < least:
        result.errors.append(_invalid(path, len(value), f"should have at least {int(least)} items"))
    if most is not None and len(value) > most:
        result.errors.append(FieldError.too_many(_field_path(path), len(value), int(most)))
    if schema.doc.get("uniqueItems") and _has_duplicates(value):
        result.errors.append(_invalid(path, "", "shouldn't contain duplicates"))
    result.matches += 1
    return result


def _has_duplicates(value: list[Any]) -> bool:
    return any(same_json(item, other) for index, item in enumerate(value) for other in value[:index])


def _check_enum(schema: Schema, value: Any, path: str, result: Result) -> None:
    allowed = schema.doc.get("enum")
    if not allowed or any(same_json(value, item) for item in allowed):
        return
    shown = [item if isinstance(item, str) else orjson.dumps(item).decode() for item in allowed]
    result.errors.append(FieldError.unsupported(_field_path(path), go_value(value), shown))


def _check_properties(schema: Schema, value: dict[str, Any], path: str, correlation: Correlation | None) -> Result:
    result = Result()
    doc = schema.doc
    least, most = doc.get("minProperties"), doc.get("maxProperties")
    if least is not None and len(value) < least:
        result.errors.append(_invalid(path, len(value), f"should have at least {int(least)} properties"))
    if most is not None and len(value) > most:
        result.errors.append(FieldError.too_many(_field_path(path), len(value), int(most)))
    if doc.get("additionalProperties") is False:
        for name in value:
            if name not in schema.properties:
                detail = f"{path}.{name} in body is a forbidden property"
                result.errors.append(FieldError.invalid(_field_path(path), name, detail))
    elif isinstance(doc.get("additionalProperties"), dict) and schema.additional is not None:
        for name, member in value.items():
            if name not in schema.properties:
                inner = correlation.key(name) if correlation is not None else None
                result.merge(_validate(schema.additional, member, _child(path, name), inner))
    for name, child in schema.properties.items():
        if name in value:
            inner = correlation.key(name) if correlation is not None else None
            result.merge(_validate(child, value[name], _child(path, name) if path else name, inner))
    for name in doc.get("required") or ():
        if name not in value:
            result.errors.append(FieldError.required(_field_path(_child(path, name))))
    return result

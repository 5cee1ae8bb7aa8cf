"""Annotations become structural schemas."""

from __future__ import annotations

import enum
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given

from attractor.objects.resource import (
    Checked,
    EmbeddedResource,
    Format,
    IntOrString,
    ListAtomic,
    ListMap,
    ListSet,
    MapAtomic,
    Meta,
    MicroTime,
    PreserveUnknown,
    Resource,
    Rule,
    SchemaError,
    Struct,
    schema_of,
)
from attractor.objects.resource.struct import StructMeta
from attractor.schema.structural import check_structural
from tests.objects.resource.test_round_trip import objects
from tests.objects.resource.widgets import Port, Tree, Widget, WidgetSpec


def one_field(hint: Any, **default: Any) -> type[Struct]:
    made: Any = StructMeta("One", (Struct,), {"__module__": __name__, "__annotations__": {"it": hint}, **default})
    found: type[Struct] = made
    return found


def field_schema(hint: Any, **default: Any) -> dict[str, Any]:
    found: dict[str, Any] = schema_of(one_field(hint, **default))["properties"]["it"]
    return found


INT = {"type": "integer", "format": "int64"}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (bool, {"type": "boolean"}),
        (float, {"type": "number", "format": "double"}),
        (Annotated[int, Meta(gt=0, lt=10, multiple_of=2)], {**INT, "minimum": 0, "exclusiveMinimum": True, "maximum": 10, "exclusiveMaximum": True, "multipleOf": 2}),
        (Annotated[str, Meta(min_length=1, pattern="^a")], {"type": "string", "minLength": 1, "pattern": "^a"}),
        (Annotated[str, Format("ipv4")], {"type": "string", "format": "ipv4"}),
        (bytes, {"type": "string", "format": "byte"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (MicroTime, {"type": "string", "format": "date-time"}),
        (date, {"type": "string", "format": "date"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (list[list[int]], {"type": "array", "items": {"type": "array", "items": INT}}),
        (Annotated[list[str], ListSet, Meta(max_length=3)], {"type": "array", "items": {"type": "string"}, "maxItems": 3, "x-kubernetes-list-type": "set"}),
        (set[str], {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
        (Annotated[list[str], ListAtomic], {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"}),
        (dict[str, dict[str, int]], {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": INT}}),
        (Annotated[dict[str, str], MapAtomic], {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"}),
        (dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
        (Annotated[dict[str, Any], EmbeddedResource], {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}),
        (IntOrString, {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}),
        (str | None, {"type": "string", "nullable": True}),
        (Annotated[str, Checked(Rule("self != ''", reason="FieldValueInvalid"), Rule("self == oldSelf"))], {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''", "reason": "FieldValueInvalid"}, {"rule": "self == oldSelf"}]}),
    ],
    ids=str,
)  # fmt: skip
def test_a_type_becomes_its_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert field_schema(hint) == schema
    assert [str(error) for error in check_structural(schema_of(one_field(hint)))] == [], "the API server refuses it"


def test_a_default_goes_to_the_schema_and_none_means_optional() -> None:
    assert field_schema(int, it=5) == {**INT, "default": 5}
    assert field_schema(str | None, it=None) == {"type": "string"}
    port = Port(container_port=80)
    assert field_schema(Port, it=port)["default"] == {"containerPort": 80, "protocol": "TCP"}
    assert "required" not in schema_of(one_field(int, it=5))
    assert schema_of(one_field(int))["required"] == ["it"]


def test_a_struct_that_preserves_unknown_fields_says_so() -> None:
    schema = field_schema(Annotated[Port, PreserveUnknown])
    assert schema["x-kubernetes-preserve-unknown-fields"] is True
    assert "containerPort" in schema["properties"]


def test_texts_come_from_docstrings_and_doc() -> None:
    schema = schema_of(WidgetSpec)
    assert schema["description"] == "What is wanted."
    assert schema["properties"]["size"]["description"] == "How many.\n\nNone means one."
    assert schema["properties"]["note"]["description"] == "Why."
    assert schema["properties"]["colour"] == {
        "type": "string",
        "enum": ["Red", "Blue"],
        "description": "A colour that paint comes in.",
    }


def test_rules_of_a_class_are_listed() -> None:
    assert schema_of(WidgetSpec)["x-kubernetes-validations"] == [
        {"rule": "self.size <= 100 || has(self.note)", "message": "large widgets need a note"}
    ]


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (timedelta, "One.it: timedelta has no structural schema; use Duration"),
        (Decimal, "One.it: decimal has no structural schema; use Quantity"),
        (time, "use datetime"),
        (tuple[int, str], "use list"),
        (dict[int, str], "One.it: the keys of a JSON object are texts"),
        (list[int | bool], r"One\.it\.\[\]: .* only `T \| None` and `int \| str` do"),
        (object, "One.it: object has no structural schema"),
        (Annotated[list[Port], ListMap("name")], r"ListMap names the field 'name', which items do not have"),
        (Annotated[list[WidgetSpec], ListMap("note")], "ListMap key 'note' must be required or have a default"),
        (Annotated[list[Port], ListSet], "One.it: only scalars form a set"),
        (Annotated[str, Meta(ge=3)], "One: Can only set `ge` on a numeric type"),
    ],
    ids=str,
)
def test_what_a_structural_schema_cannot_say_is_refused_with_a_way_out(hint: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        schema_of(one_field(hint))


class Bare(enum.Enum):
    A = "a"


def test_an_enum_without_a_docstring_has_no_description() -> None:
    assert field_schema(Bare) == {"type": "string", "enum": ["a"]}


def test_recursion_is_refused_by_name() -> None:
    with pytest.raises(SchemaError, match=r"Tree\.children\.\[\]: Tree contains itself.*use dict\[str, Any\] there"):
        schema_of(Tree)


def for_json_schema(doc: Any) -> Any:
    """OpenAPI's ``nullable`` as JSON Schema says it; int-or-string keeps its anyOf."""
    if isinstance(doc, list):
        return [for_json_schema(item) for item in doc]
    if not isinstance(doc, dict):
        return doc
    made = {name: for_json_schema(value) for name, value in doc.items()}
    if made.pop("nullable", False) is True:
        made["type"] = [made["type"], "null"]
    return made


VALIDATOR = jsonschema_rs.Draft4Validator(for_json_schema(schema_of(Widget)))


@given(objects)
def test_the_schema_accepts_what_the_class_encodes(value: Any) -> None:
    assert not list(VALIDATOR.iter_errors(Widget.from_dict(value).to_dict()))


def test_the_schema_refuses_what_the_class_refuses() -> None:
    refused: list[dict[str, Any]] = [{"size": -1}, {"mode": "Slow"}, {"ports": [{}]}, {"note": "UPPER"}, {"secret": 3}]
    for spec in refused:
        value = {"spec": spec}
        assert not VALIDATOR.is_valid(value)
        with pytest.raises(ValueError):
            Widget.from_dict(value)


class Counted(Struct):
    count: ClassVar[int] = 3
    size: int = 1


def test_a_class_variable_is_no_field() -> None:
    assert Counted.count == 3
    assert set(schema_of(Counted)["properties"]) == {"size"}
    assert msgspec.to_builtins(Counted()) == {"size": 1}


class Sized(Struct):
    size: int = 1


class Reported(Resource, group="example.org", version="v1"):
    spec: Sized
    status: Sized


def test_a_status_that_must_be_there_from_the_start_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"Reported.status: it is required, .* `status: WidgetStatus | None = None`"):
        schema_of(Reported)


@pytest.mark.parametrize(
    ("hint", "default", "said"),
    [
        (int, "x", "its default 'x' does not fit: Expected `int`, got `str`"),
        (Annotated[int, Meta(ge=5)], 1, "its default 1 does not fit: Expected `int` >= 5"),
        (Literal["a", "b"], "c", "its default 'c' does not fit: Invalid enum value 'c'"),
        (list[int], ["a"], "its default .* does not fit"),
    ],
)
def test_a_default_that_its_own_field_refuses_is_refused(hint: Any, default: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=f"One.it: {said}"):
        field_schema(hint, it=default)


def test_objects_are_no_set_however_it_is_said() -> None:
    with pytest.raises(SchemaError, match="only scalars form a set"):
        field_schema(set[Sized])

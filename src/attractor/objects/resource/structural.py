"""The structural OpenAPI v3 schema of a class, from its annotations.

Descriptions come from class docstrings, from docstrings below attributes and from ``Doc``. A field without default is
required; a default goes to the schema, so that the API server fills it in. What a structural schema cannot say is
refused, with the place and a way out.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec
import msgspec.inspect as mi
from msgspec import UnsetType

from attractor.objects.resource import codec
from attractor.objects.resource.codec import to_builtins
from attractor.objects.resource.kind import Resource
from attractor.objects.resource.published_schema import published_schema
from attractor.objects.resource.scalars import Duration, MicroTime
from attractor.objects.resource.struct import HIDDEN, Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.objects.json_types import JsonObject

_ROOT = ("api_version", "kind", "metadata")
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_TYPE_META: JsonObject = {
    "apiVersion": {
        "type": "string",
        "description": "APIVersion defines the versioned schema of this representation of an object.",
    },
    "kind": {"type": "string", "description": "Kind is the REST resource that this object represents."},
    "metadata": {"type": "object"},
}
_SCALARS: dict[type[mi.Type], JsonObject] = {
    mi.BoolType: {"type": "boolean"},
    mi.BytesType: {"type": "string", "format": "byte"},
    mi.DateTimeType: {"type": "string", "format": "date-time"},
    mi.DateType: {"type": "string", "format": "date"},
    mi.UUIDType: {"type": "string", "format": "uuid"},
}
_CUSTOM: dict[type, JsonObject] = {
    Duration: {"type": "string", "format": "duration"},
    MicroTime: {"type": "string", "format": "date-time"},
}
_REFUSED: dict[type[mi.Type], str] = {
    mi.TimeDeltaType: "use Duration, which is written as Kubernetes writes it",
    mi.DecimalType: "use Quantity",
    mi.TimeType: "use datetime",
    mi.TupleType: "use list[...]: structural schemas have no tuples",
    mi.NoneType: "a field that is always null says nothing",
}


class SchemaError(TypeError):
    """An annotation has no structural schema."""


def schema_of(cls: type[Struct]) -> JsonObject:
    """The structural schema of a typed object or kind; a new document at each call."""
    try:
        info = mi.type_info(cls)
    except TypeError as error:
        raise SchemaError(f"{cls.__name__}: {error}") from error
    return _Writer(cls.__name__).type(info, ())


class _Writer:
    """Writes one schema; ``path`` is where in it, for errors, and ``seen`` are the classes around it."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.seen: list[type] = []

    def refuse(self, path: tuple[str, ...], why: str) -> SchemaError:
        return SchemaError(f"{'.'.join((self.root, *path))}: {why}")

    def type(self, info: mi.Type, path: tuple[str, ...]) -> JsonObject:
        """The schema of any type."""
        if isinstance(info, mi.Metadata):
            return self._annotated(info, path)
        if type(info) in _SCALARS:
            return dict(_SCALARS[type(info)])
        if type(info) in _REFUSED:
            raise self.refuse(path, f"{_name(info)} has no structural schema; {_REFUSED[type(info)]}")
        match info:
            case mi.AnyType():
                return {_PRESERVE: True}
            case mi.IntType() | mi.FloatType():
                return _number(info)
            case mi.StrType():
                return _text(info)
            case mi.EnumType():
                return self._values([member.value for member in info.cls], path, _own_doc(info.cls))
            case mi.LiteralType():
                return self._values(list(info.values), path, "")
            case mi.ListType() | mi.SetType() | mi.FrozenSetType() | mi.VarTupleType():
                return self._list(info, path)
            case mi.DictType():
                return self._map(info, path)
            case mi.UnionType():
                return self._union(info, path)
            case mi.StructType():
                return self._struct(info, path)
            case mi.CustomType() if info.cls in _CUSTOM:
                return dict(_CUSTOM[info.cls])
        raise self.refuse(path, f"{_name(info)} has no structural schema; use a Struct, a JSON type, or dict[str, Any]")

    def _annotated(self, info: mi.Metadata, path: tuple[str, ...]) -> JsonObject:
        extra = dict(info.extra_json_schema or {})
        if _INT_OR_STRING in extra:
            return {"anyOf": [{"type": "integer"}, {"type": "string"}], **extra}
        schema = self.type(info.type, path)
        rules = schema.get("x-kubernetes-validations", []) + extra.pop("x-kubernetes-validations", [])
        schema |= extra
        if rules:
            schema["x-kubernetes-validations"] = rules
        if schema.get(_PRESERVE) and "type" not in schema and "x-kubernetes-embedded-resource" in schema:
            schema["type"] = "object"
        match schema.get("x-kubernetes-list-type"):
            case "map":
                self._check_list_map(schema, path)
            case "set":
                self._check_set(schema, path)
        return schema

    def _check_set(self, schema: JsonObject, path: tuple[str, ...]) -> None:
        if schema["items"].get("type") in {"object", "array"}:
            raise self.refuse(path, 'only scalars form a set; identify objects by a field, as in ListMap("name")')

    def _check_list_map(self, schema: JsonObject, path: tuple[str, ...]) -> None:
        items = schema.get("items") or {}
        fields = items.get("properties") or {}
        for key in schema["x-kubernetes-list-map-keys"]:
            if key not in fields:
                raise self.refuse(path, f"ListMap names the field {key!r}, which items do not have: {sorted(fields)}")
            if key not in items.get("required", ()) and "default" not in fields[key]:
                raise self.refuse(path, f"ListMap key {key!r} must be required or have a default")

    def _values(self, values: list[Any], path: tuple[str, ...], doc: str) -> JsonObject:
        types = {str: "string", int: "integer", bool: "boolean"}
        kinds = {types.get(type(value), "") for value in values}
        if len(kinds) != 1 or "" in kinds:
            raise self.refuse(path, f"the values {values} are not all texts or all integers")
        schema = {"type": kinds.pop(), "enum": values}
        return {**schema, "description": doc} if doc else schema

    def _list(
        self, info: mi.ListType | mi.SetType | mi.FrozenSetType | mi.VarTupleType, path: tuple[str, ...]
    ) -> JsonObject:
        schema: JsonObject = {"type": "array", "items": self.type(info.item_type, (*path, "[]"))}
        if isinstance(info, mi.SetType | mi.FrozenSetType):
            schema["x-kubernetes-list-type"] = "set"
            self._check_set(schema, path)
        return schema | _present(minItems=info.min_length, maxItems=info.max_length)

    def _map(self, info: mi.DictType, path: tuple[str, ...]) -> JsonObject:
        if not isinstance(info.key_type, mi.StrType):
            raise self.refuse(path, "the keys of a JSON object are texts: use dict[str, ...]")
        schema: JsonObject = {"type": "object"}
        if isinstance(info.value_type, mi.AnyType):
            schema[_PRESERVE] = True
        else:
            schema["additionalProperties"] = self.type(info.value_type, (*path, "*"))
        return schema | _present(minProperties=info.min_length, maxProperties=info.max_length)

    def _union(self, info: mi.UnionType, path: tuple[str, ...]) -> JsonObject:
        members = [member for member in info.types if not isinstance(member, mi.NoneType)]
        if len(members) == 1:
            return self.type(members[0], path)
        if {type(member) for member in members} == {mi.IntType, mi.StrType}:
            return {"anyOf": [{"type": "integer"}, {"type": "string"}], _INT_OR_STRING: True}
        listed = " | ".join(_name(member) for member in members)
        raise self.refuse(path, f"{listed} has no structural schema; only `T | None` and `int | str` do")

    def _struct(self, info: mi.StructType, path: tuple[str, ...]) -> JsonObject:
        cls = info.cls
        if self.seen and (definition := _built_in(cls)):
            return published_schema(definition)
        if cls in self.seen:
            raise self.refuse(
                path,
                f"{cls.__name__} contains itself, and structural schemas cannot be recursive; "
                "use dict[str, Any] there, which keeps any fields",
            )
        self.seen.append(cls)
        texts = attribute_docs(cls)
        is_kind = issubclass(cls, Resource)
        properties: JsonObject = dict(_TYPE_META) if is_kind else {}
        required = []
        for field in info.fields:
            if field.encode_name == HIDDEN or (is_kind and field.name in _ROOT):
                continue
            if is_kind and field.name == "status" and field.required:
                raise self.refuse(
                    (*path, "status"),
                    "it is required, but nothing is created with a status: the server leaves it out; give it a "
                    "default, as in `status: WidgetStatus | None = None`",
                )
            self._check_default(hints_with_bounds(cls)[field.name], field, (*path, field.encode_name))
            schema = self._field(field, (*path, field.encode_name), _drops_empty(cls))
            if "description" not in schema and field.name in texts:
                schema = {"description": texts[field.name], **schema}
            properties[field.encode_name] = schema
            if field.required:
                required.append(field.encode_name)
        self.seen.pop()
        made: JsonObject = {"type": "object", "properties": properties}
        if doc := _own_doc(cls):
            made = {"description": doc, **made}
        if required:
            made["required"] = required
        if rules := getattr(cls, "__rules__", ()):
            made["x-kubernetes-validations"] = [rule.manifest() for rule in rules]
        return made

    def _check_default(self, hint: Any, field: mi.Field, path: tuple[str, ...]) -> None:
        """A default that its own field does not admit would be refused by every server, with the whole kind."""
        default = _default(field)
        if default is None or isinstance(default, UnsetType):
            return
        try:
            codec.check(_json(default), hint)
        except (msgspec.ValidationError, ValueError) as error:
            raise self.refuse(path, f"its default {default!r} does not fit: {error}") from error

    def _field(self, field: mi.Field, path: tuple[str, ...], drops_empty: bool) -> JsonObject:
        schema = self.type(field.type, path)
        default = _default(field)
        if default is not None and not (drops_empty and not default):
            schema["default"] = _json(default)
        if _admits_null(field.type) and field.default is not None:
            schema["nullable"] = True
        return schema


def _built_in(cls: type) -> str:
    """The definition of a class that stands for a built-in type; empty for authors' own."""
    from attractor.k8s.typed_classes import definition_of  # whose classes are made of ours

    return definition_of(cls)


def _default(field: mi.Field) -> Any:
    """What a field is when nobody says; None where it is required."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default if field.default is not msgspec.NODEFAULT else None


@cache
def hints_with_bounds(cls: type) -> Mapping[str, Any]:
    """The annotations of a class, with what ``Meta`` says."""
    return get_type_hints(cls, include_extras=True)


def _drops_empty(cls: type) -> bool:
    return bool(getattr(cls, "__omitempty__", False))


def _json(value: Any) -> Any:
    """A default as JSON."""
    if isinstance(value, Struct):
        return to_builtins(value)
    return str(value) if isinstance(value, Duration | MicroTime) else msgspec.to_builtins(value)


def _admits_null(info: mi.Type) -> bool:
    if isinstance(info, mi.Metadata):
        return _admits_null(info.type)
    return isinstance(info, mi.UnionType) and any(isinstance(member, mi.NoneType) for member in info.types)


def _number(info: mi.IntType | mi.FloatType) -> JsonObject:
    schema: JsonObject = (
        {"type": "integer", "format": "int64"}
        if isinstance(info, mi.IntType)
        else {"type": "number", "format": "double"}
    )
    for bound, exclusive, limit, strict in (
        ("minimum", "exclusiveMinimum", info.ge, info.gt),
        ("maximum", "exclusiveMaximum", info.le, info.lt),
    ):
        if limit is not None:
            schema[bound] = limit
        elif strict is not None:
            schema |= {bound: strict, exclusive: True}
    return schema | _present(multipleOf=info.multiple_of)


def _text(info: mi.StrType) -> JsonObject:
    return {"type": "string"} | _present(minLength=info.min_length, maxLength=info.max_length, pattern=info.pattern)


def _present(**said: Any) -> JsonObject:
    return {name: value for name, value in said.items() if value is not None}


def _name(info: mi.Type) -> str:
    cls = getattr(info, "cls", None)
    return cls.__name__ if isinstance(cls, type) else type(info).__name__.removesuffix("Type").lower()


def _own_doc(cls: type) -> str:
    return inspect.cleandoc(cls.__doc__) if cls.__doc__ else ""


@cache
def attribute_docs(cls: type) -> Mapping[str, str]:
    """The docstrings that stand below attributes, also inherited ones; none where the source is not at hand."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not issubclass(base, Struct) or base is Struct:
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError, SyntaxError):
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for statement, after in pairwise(body):
            match statement, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = inspect.cleandoc(text)
    return found

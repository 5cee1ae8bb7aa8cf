"""Decoding as Kubernetes does it: into Go structs and back.

A request's object is read with the types of its kind and written again as Go writes it: zero scalars and empty lists
and maps with ``omitempty`` vanish, structs that are no pointers appear, lists without ``omitempty`` become null when
empty, times and quantities become canonical, fields come in the order of the struct. Wrong types are refused in Go's
words; unknown fields are dropped and reported.

Every type is compiled once, on first use, into closures. An object without unknown fields costs one pass.

>>> from attractor.k8s.catalog import find
>>> decode = decoder(find("", "v1", "configmaps").definition)
>>> found = decode({"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "1"}, "binaryData": {}, "bogus": 1})
>>> found.obj, found.unknown
({'kind': 'ConfigMap', 'apiVersion': 'v1', 'metadata': {}, 'data': {'a': '1'}}, ['bogus'])
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from attractor.apiserver.kinds.strategy import Decoded
from attractor.apiserver.request.decode_errors import DecodeError
from attractor.k8s.catalog import go_type
from attractor.objects import quantity, timestamps
from attractor.objects.go_wording import unmarshal_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attractor.k8s.catalog import GoField, GoType
    from attractor.objects.json_types import JsonObject

Reader: TypeAlias = "Callable[[Any, list[str]], Any]"
"""Takes a JSON value, gives the canonical one; appends the name of any unknown field that it meets to the list."""

Decode: TypeAlias = "Callable[[JsonObject], Decoded]"

_ABSENT: Final = object()
"""What a field's reader gives when the field leaves no trace."""

REMEMBERED_SHAPES: Final = 64
"""Of so many selections of a type's fields it is remembered that they were in order."""

_WORDS = {str: "string", bool: "bool", int: "number", float: "number", dict: "object", list: "array"}
_KINDS = {str: "string", bool: "bool", int: "int64", float: "float64", dict: "map", list: "slice"}
_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)


class _WrongType(Exception):
    """A value of the wrong type; structs on the way out add where it was."""

    def __init__(self, value: Any, type_name: str, cls: str = "", *, literal: bool = False) -> None:
        self.value = value
        self.cls = cls
        self.what = _WORDS[type(value)] + (f" {value}" if literal else "")
        self.type_name = type_name
        self.struct = ""
        self.path: list[str] = []

    def __str__(self) -> str:
        field = f"{self.struct}.{'.'.join(self.path)}" if self.struct else ""
        return unmarshal_error(self.what, self.type_name, field)

    def restored(self) -> str:
        """The same as Go's converter from maps says it."""
        kind = _KINDS[type(self.value)]
        match self.cls:
            case "struct":
                return f"cannot restore struct from: {kind}"
            case "map" | "slice":
                return f"cannot restore {self.cls} from {kind}"
            case "":
                return unmarshal_error(self.what, self.type_name)
            case "string" if kind == "int64":
                return f"cannot convert int64 to {self.type_name}"
            case basic if kind == "float64" and basic not in {"string", "bool"}:
                return f"cannot convert float64 to {self.type_name}"
            case basic:
                return f"unrecognized type: {basic}"


class _Unreadable(Exception):
    """A value that its type's own reader refuses; the text is the reader's."""

    def __init__(self, text: str, restored: str = "") -> None:
        super().__init__(text)
        self.restored = restored
        """What Go's converter from maps says, where it says something else."""


def decoder(definition: str) -> Decode:
    """A function that decodes objects of a kind; it raises ``DecodeError`` in Go's words."""
    go = go_type(definition)
    read = _reader(go)

    def decode(obj: Any) -> Decoded:
        unknown: list[str] = []
        try:
            found = read(obj, unknown)
        except _WrongType as error:
            worse = _first_unreadable(go, obj)
            raise DecodeError(worse or str(error), error.restored()) from None
        except _Unreadable as unreadable:
            raise DecodeError(str(unreadable), unreadable.restored) from None
        return Decoded(found, list(_unknown_paths(go, obj, [])) if unknown else unknown)

    return decode


@cache
def _reader(go: GoType) -> Reader:
    """The reader of a type's values; null gives the zero value."""
    if go.cls == "struct":
        return _struct(go)
    if go.cls == "pointer":
        assert go.elem is not None, f"{go.name} points to nothing"
        return _pointer(go.elem)
    if go.cls == "slice":
        return _slice(go)
    if go.cls == "map":
        return _map(go)
    if go.cls in {"int", "uint"}:
        return _integer(go)
    if go.definition.startswith(f"{_SCHEMA}Or"):
        return _schema_or(go)
    if go.cls in {"raw", "interface"}:
        return _any
    return _SIMPLE[go.cls](go)


class _Form:
    """The order of a struct's fields, and those that are always there."""

    def __init__(self) -> None:
        self._rank: dict[str, int] = {}
        self._always: list[tuple[str, Callable[[], Any]]] = []
        self.in_shape: set[tuple[str, ...]] = set()
        """Names that were found to be in order, with none missing: what is in shape once is so again."""

    def add(self, index: int, name: str, field: GoField) -> None:
        self._rank[name] = index
        if not field.is_dropped_when_zero:
            self._always.append((name, field.type.zero))

    def shaped(self, found: JsonObject, names: tuple[str, ...]) -> JsonObject:
        """The fields that were found, of these names, in order and with none missing."""
        whole = found | {name: zero() for name, zero in self._always if name not in found}
        ordered = tuple(sorted(whole, key=self._rank.__getitem__))
        if ordered == names and len(self.in_shape) < REMEMBERED_SHAPES:
            self.in_shape.add(names)
        return {name: whole[name] for name in ordered}


def _struct(go: GoType) -> Reader:
    readers: dict[str, Reader] = {}
    texts: set[str] = set()
    form = _Form()
    in_shape = form.in_shape
    struct_name, type_name = go.definition.rpartition(".")[2], go.name

    def compile_fields() -> None:  # on first use: types may hold themselves
        for index, (name, field) in enumerate(go.fields.items()):
            readers[name] = _field(field)
            form.add(index, name, field)
            if field.is_dropped_when_zero and field.cls == "string":
                texts.add(name)

    def read(value: Any, unknown: list[str]) -> Any:
        if not readers:
            compile_fields()
        given: JsonObject = {}
        if isinstance(value, dict):
            given = value
        elif value is not None:
            raise _WrongType(value, type_name, "struct")
        found: JsonObject = {}
        name = ""
        try:
            for name, item in given.items():
                if isinstance(item, str) and item and name in texts:  # most fields, and nothing to find out
                    found[name] = item
                    continue
                field = readers.get(name)
                if field is None:
                    unknown.append(name)
                    continue
                kept = field(item, unknown)
                if kept is not _ABSENT:
                    found[name] = kept
        except _WrongType as error:
            error.path[:0] = *go.fields[name].go_within, name
            error.struct = error.struct or struct_name
            raise
        names = tuple(found)
        return found if names in in_shape else form.shaped(found, names)

    return read


def _field(field: GoField) -> Reader:
    """The reader of a field, which also decides whether the value leaves a trace."""
    read = _reader(field.type)
    if not field.is_dropped_when_zero:
        return read
    if field.cls in {"struct", "time", "microtime"}:  # omitzero
        zero = field.type.zero()

        def read_zero(value: Any, unknown: list[str]) -> Any:
            found = read(value, unknown)
            return _ABSENT if found == zero else found

        return read_zero
    if field.cls == "string":
        type_name = field.type.name

        def read_text(value: Any, _unknown: list[str]) -> Any:
            if type(value) is str:
                return value or _ABSENT
            if value is None:
                return _ABSENT
            raise _WrongType(value, type_name, "string")

        return read_text
    if field.cls == "pointer":
        assert field.type.elem is not None, f"{field.type.name} points to nothing"
        read_target = _reader(field.type.elem)

        def read_pointer(value: Any, unknown: list[str]) -> Any:
            return _ABSENT if value is None else read_target(value, unknown)

        return read_pointer

    def read_empty(value: Any, unknown: list[str]) -> Any:
        return read(value, unknown) or _ABSENT

    return read_empty


def _pointer(elem: GoType) -> Reader:
    read = _reader(elem)

    def read_pointer(value: Any, unknown: list[str]) -> Any:
        return None if value is None else read(value, unknown)

    return read_pointer


def _slice(go: GoType) -> Reader:
    """Empty lists are nil after their way through the store, and nil is null."""
    assert go.elem is not None, f"{go.name} holds nothing"
    read, type_name, plain = _reader(go.elem), go.name, go.elem.cls == "string"

    def read_slice(value: Any, unknown: list[str]) -> Any:
        if not isinstance(value, list):
            if value is None:
                return None
            raise _WrongType(value, type_name, "slice")
        if not value:
            return None
        if plain and all(isinstance(item, str) for item in value):
            return value
        return [read(item, unknown) for item in value]

    return read_slice


def _map(go: GoType) -> Reader:
    assert go.elem is not None, f"{go.name} maps to nothing"
    read, type_name, plain = _reader(go.elem), go.name, go.elem.cls == "string"
    holds_bytes = go.elem.cls == "bytes"

    def read_map(value: Any, unknown: list[str]) -> Any:
        if not isinstance(value, dict):
            if value is None:
                return None
            raise _WrongType(value, type_name, "map")
        if not value:
            return None
        if plain and all(isinstance(item, str) for item in value.values()):
            return value
        found = {key: read(item, unknown) for key, item in value.items()}
        if holds_bytes and None in found.values():  # after their way through the store, nil bytes are empty ones
            return {key: item or "" for key, item in found.items()}
        return found

    return read_map


def _integer(go: GoType) -> Reader:
    type_name = go.name
    spelled = type_name if type_name.startswith(("int", "uint")) else "int32"
    bits = int(re.sub(r"\D", "", spelled) or 64)
    low, high = (0, 2**bits - 1) if go.cls == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    def read_integer(value: Any, _unknown: list[str]) -> Any:
        if type(value) is int:
            if low <= value <= high:
                return value
            raise _WrongType(value, type_name, spelled, literal=True)
        if value is None:
            return 0
        raise _WrongType(value, type_name, spelled, literal=type(value) is float)

    return read_integer


def _schema_or(go: GoType) -> Reader:
    """A schema, or what may stand in its place; its own reader drops unknown fields without a word."""
    read = _reader(go_type(_SCHEMA))
    may_be_bool = go.definition.endswith("OrBool")

    def read_schema(value: Any, _unknown: list[str]) -> Any:
        if type(value) is dict:
            return read(value, [])
        if type(value) is list and not may_be_bool:
            return [read(item, []) if type(item) is dict else item for item in value]
        if type(value) is bool or value is None or not may_be_bool:
            return value if may_be_bool else None
        raise _Unreadable("boolean or JSON schema expected")

    return read_schema


def _any(value: Any, _unknown: list[str]) -> Any:
    return value


def _string(go: GoType) -> Reader:
    type_name = go.name

    def read_string(value: Any, _unknown: list[str]) -> Any:
        if type(value) is str:
            return value
        if value is None:
            return ""
        raise _WrongType(value, type_name, "string")

    return read_string


def _bool(go: GoType) -> Reader:
    type_name = go.name

    def read_bool(value: Any, _unknown: list[str]) -> Any:
        if type(value) is bool:
            return value
        if value is None:
            return False
        raise _WrongType(value, type_name, "bool")

    return read_bool


def _float(go: GoType) -> Reader:
    type_name = go.name

    def read_float(value: Any, _unknown: list[str]) -> Any:
        if type(value) is float or type(value) is int:
            return int(value) if value == int(value) else value
        if value is None:
            return 0
        raise _WrongType(value, type_name, "float64")

    return read_float


def _bytes(go: GoType) -> Reader:
    """Text in base 64, or, as Go's decoder has it, a list of numbers."""
    assert go.elem is not None, "bytes are a slice"
    read_byte = _integer(go.elem)

    def read_bytes(value: Any, _unknown: list[str]) -> Any:
        if type(value) is not str:
            if value is None:
                return None
            if type(value) is list:
                return b64encode(bytes(read_byte(item, _unknown) for item in value)).decode()
            raise _WrongType(value, go.name, "slice")
        if _BASE64.fullmatch(value) is None:
            position = _corrupt_at(value)
            if position is not None:
                why = f"illegal base64 data at input byte {position}"
                raise _Unreadable(why, f"error decoding from json: {why}")
            value = value.replace("\n", "").replace("\r", "")
        return b64encode(b64decode(value)).decode() if value.endswith("=") else value

    return read_bytes


def _corrupt_at(text: str) -> int | None:
    """The byte at which Go's decoder gives up; None when it does not."""
    data = text.encode("utf-8", "surrogatepass")
    held, at = 0, 0
    while at < len(data):
        byte = data[at]
        at += 1
        if byte in b"\r\n":
            continue
        if byte == ord("="):
            return _corrupt_padding(data, at, held)
        if re.match(rb"[A-Za-z0-9+/]", data[at - 1 : at]) is None:
            return at - 1
        held = (held + 1) % 4
    return at - held if held else None


def _corrupt_padding(data: bytes, at: int, held: int) -> int | None:
    if held < 2:
        return at - 1
    rest = data[at:].lstrip(b"\r\n")
    if held == 2:
        if not rest:
            return len(data)
        if rest[:1] != b"=":
            return len(data) - len(rest) - 1
        rest = rest[1:].lstrip(b"\r\n")
    return len(data) - len(rest) if rest else None


def _text(read: Callable[[str], str | None]) -> Callable[[GoType], Reader]:
    """A type that is text in JSON and has a reader of its own."""

    def make(_go: GoType) -> Reader:
        def read_text(value: Any, _unknown: list[str]) -> Any:
            if value is None:
                return None
            if type(value) is not str:
                raise _WrongType(value, "string")
            try:
                return read(value)
            except timestamps.TimestampError as error:
                raise _Unreadable(str(error)) from None

        return read_text

    return make


def _quantity(_go: GoType) -> Reader:
    def read_quantity(value: Any, _unknown: list[str]) -> Any:
        if value is None:
            return "0"
        try:
            if type(value) is str or type(value) is int or type(value) is float:
                return quantity.canonical(value)
        except quantity.QuantityError as error:
            raise _Unreadable(str(error)) from None
        raise _Unreadable(quantity.WRONG_FORMAT)

    return read_quantity


def _int_or_string(_go: GoType) -> Reader:
    def read_int_or_string(value: Any, _unknown: list[str]) -> Any:
        if type(value) is str:
            return value
        if value is None:
            return 0
        if type(value) is int and -(2**31) <= value < 2**31:
            return value
        raise _WrongType(value, "int32", literal=type(value) in {int, float})

    return read_int_or_string


def _duration_text(text: str) -> str:
    return timestamps.format_duration(timestamps.parse_duration(text))


_SIMPLE: dict[str, Callable[[GoType], Reader]] = {
    "string": _string,
    "bool": _bool,
    "float": _float,
    "bytes": _bytes,
    "time": _text(timestamps.canonical_time),
    "microtime": _text(timestamps.canonical_micro_time),
    "duration": _text(_duration_text),
    "quantity": _quantity,
    "intorstring": _int_or_string,
}


_READ_BY_THEMSELVES: Final = frozenset({"time", "microtime", "duration", "quantity"})


def _first_unreadable(go: GoType, value: Any) -> str | None:
    """Why the first time or amount of a value cannot be read, which Go tells before any wrong type; or nothing.

    None if it is itself of the wrong type, so that none after it is told.
    """
    if go.cls == "pointer" and go.elem is not None:
        return _first_unreadable(go.elem, value)
    if go.cls == "struct" and type(value) is dict:
        parts = [(go.fields[name].type, item) for name, item in value.items() if name in go.fields]
    elif go.elem is not None and (go.cls, type(value)) in {("slice", list), ("map", dict)}:
        parts = [(go.elem, item) for item in (value.values() if type(value) is dict else value)]
    else:
        parts = []
    if go.cls in _READ_BY_THEMSELVES:
        try:
            _reader(go)(value, [])
        except _Unreadable as error:
            return str(error)
        except _WrongType:
            return None
    return next((why for part, item in parts if (why := _first_unreadable(part, item)) != ""), "")


def _unknown_paths(go: GoType, value: Any, path: list[str]) -> Iterator[str]:
    """Where a value has fields that its type lacks, in the order of the document; paths are written when told."""
    if go.cls == "struct" and isinstance(value, dict):
        for name, item in value.items():
            path.append(f".{name}" if path else name)
            field = go.fields.get(name)
            if field is None:
                yield "".join(path)
            else:
                yield from _unknown_paths(field.type, item, path)
            path.pop()
    elif go.cls == "pointer" and go.elem is not None:
        yield from _unknown_paths(go.elem, value, path)
    elif go.elem is not None and isinstance(value, dict):
        for key, item in value.items():
            path.append(f".{key}")
            yield from _unknown_paths(go.elem, item, path)
            path.pop()
    elif go.elem is not None and isinstance(value, list):
        for index, item in enumerate(value):
            path.append(f"[{index}]")
            yield from _unknown_paths(go.elem, item, path)
            path.pop()

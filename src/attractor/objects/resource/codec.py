"""From the wire to typed objects and back: JSON bytes and JSON values.

Decoding checks types and bounds. An error names the place, what was expected and what was found:

    DecodeError: Widget example/w: expected `int`, got `str` at spec.size

A tree that is exactly as declared takes the short way through msgspec. One with unknown fields, or with ``null`` for
a field that has a default (which means absent, as for Kubernetes), takes the long way, and loses nothing else.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from attractor.objects.resource.scalars import Duration, MicroTime
from attractor.objects.resource.struct import Struct, Unknown
from attractor.objects.resource.unknown import fold_in_place, unfold_in_place

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.objects.json_types import JsonObject

S = TypeVar("S", bound=Struct)


class DecodeError(ValueError):
    """A value does not fit the class it was decoded into; ``path`` is where, in wire names."""

    def __init__(self, subject: str, problem: str, path: str) -> None:
        super().__init__(f"{subject}: {problem}" + (f" at {path}" if path else ""))
        self.subject = subject
        self.problem = problem
        self.path = path


class HiddenNameUsed(Exception):
    """The wire itself uses the hidden name: only the long way tells them apart."""


def _decode_hook(wanted: type[Any], value: Any) -> Any:
    if isinstance(value, wanted):
        return value
    if wanted is Unknown:
        raise HiddenNameUsed
    if wanted is Duration or wanted is MicroTime:
        if not isinstance(value, str):
            raise ValueError(f"Expected `str`, got `{_json_type(value)}`")
        return wanted.parse(value)
    raise TypeError(f"fields of type {wanted.__name__} cannot be decoded; use a Struct or a JSON type")


class _Encoder:
    """One encoding; knows afterwards whether it met unknown fields."""

    __slots__ = ("met_unknown",)

    def __init__(self) -> None:
        self.met_unknown = False

    def hook(self, value: Any) -> Any:
        if isinstance(value, Unknown):
            self.met_unknown = True
            return value.fields
        if isinstance(value, Duration | MicroTime):
            return str(value)
        raise TypeError(f"values of type {type(value).__name__} cannot be written as JSON")


def short_way(cls: type[S]) -> Callable[[bytes | str], S]:
    """How to read a tree that is exactly as declared; for others ``msgspec.ValidationError`` or ``HiddenNameUsed``."""
    made: Callable[[bytes | str], S] = _decoder(cls)
    return made


@cache
def _decoder(cls: Any) -> Any:
    return msgspec.json.Decoder(cls, dec_hook=_decode_hook).decode


def decode(cls: type[S], data: bytes | str) -> S:
    """Read JSON text; DecodeError when it is no JSON or does not fit the class."""
    try:
        try:
            made: S = short_way(cls)(data)
        except (msgspec.ValidationError, HiddenNameUsed):
            made = _convert_folding(cls, msgspec.json.decode(data))
    except msgspec.DecodeError as error:
        raise DecodeError(cls.__name__, f"not JSON: {error}", "") from None
    except RecursionError:
        raise DecodeError(cls.__name__, "nested too deeply", "") from None
    return made


def convert(cls: type[S], value: Any) -> S:
    """Read a JSON value; the result shares nothing with it, so that changing one never changes the other."""
    try:
        data = msgspec.json.encode(value)  # as fast as msgspec.convert, which shares free-form parts
    except (TypeError, RecursionError) as error:
        raise DecodeError(cls.__name__, f"not a JSON value: {error}", "") from None
    return decode(cls, data)


def check(value: Any, hint: Any) -> None:
    """Raise ``msgspec.ValidationError`` or ``ValueError`` for a JSON value that does not fit a type."""
    msgspec.convert(value, hint, dec_hook=_decode_hook)


def _convert_folding(cls: type[S], value: Any) -> S:
    fold_in_place(cls, value)
    try:
        return msgspec.convert(value, cls, dec_hook=_decode_hook)
    except msgspec.ValidationError as error:
        raise _explained(cls, error, value) from None


def encode(value: Struct) -> bytes:
    """Write JSON text."""
    encoder = _Encoder()
    data = msgspec.json.encode(value, enc_hook=encoder.hook)
    if encoder.met_unknown:
        plain = msgspec.json.decode(data)
        unfold_in_place(type(value), plain)
        data = msgspec.json.encode(plain)
    return data


def to_builtins(value: Struct) -> JsonObject:
    """The JSON value of a typed object; shares nothing with it."""
    encoder = _Encoder()
    plain: JsonObject = msgspec.to_builtins(value, enc_hook=encoder.hook)
    if encoder.met_unknown:
        unfold_in_place(type(value), plain)
    return plain


def deep_copy(value: S) -> S:
    """A copy that shares nothing that can change."""
    return decode(type(value), encode(value))


_AT = re.compile(r"^(.*?)(?: - at `(?:key in )?\$\.?(.*)`)?$", re.DOTALL)


def _explained(cls: type[Struct], error: msgspec.ValidationError, value: Any) -> DecodeError:
    """The error in our words: which object, where, what was expected and what was found."""
    matched = _AT.match(str(error))
    problem, path = (matched[1], matched[2] or "") if matched else (str(error), "")
    subject = cls.__name__
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
        namespace = metadata.get("namespace")
        subject += f" {namespace}/{metadata['name']}" if namespace else f" {metadata['name']}"
    if problem.startswith("Object missing required field `"):
        missing = problem.split("`")[1]
        return DecodeError(subject, "required field is missing", f"{path}.{missing}" if path else missing)
    if "got `" not in problem and (found := _found_at(value, path)) is not _NOTHING:
        problem = f"{problem}, got {_shown(found)}"
    return DecodeError(subject, problem[:1].lower() + problem[1:], path)


_NOTHING = object()
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def _found_at(value: Any, path: str) -> Any:
    """The value at a path such as ``spec.ports[0].name``; _NOTHING where the path does not lead to one."""
    for number, name in _STEP.findall(path):
        try:
            value = value[int(number)] if number else value[name]
        except (LookupError, TypeError):
            return _NOTHING
    return value


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."


def _json_type(value: Any) -> str:
    return {dict: "object", list: "array", type(None): "null"}.get(type(value), type(value).__name__)

"""Request bodies: from bytes to JSON values, with the decoder's own words for what is wrong with them."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from attractor.apiserver.request.duplicate_fields import Pairs, RepeatedFields, RepeatedLine
from attractor.objects.budget import Budget, OverBudget
from attractor.objects.errors import BadRequest, UnsupportedMediaType
from attractor.objects.go_wording import cannot_unmarshal, syntax_error
from attractor.objects.yaml_json import YamlError, parse_yaml_strictly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.objects.json_types import Json, JsonObject

MAX_DEPTH: Final = 100
"""How deep a body may nest: far more than any kind does, and far less than what a recursive reader can stand."""
MAX_PATH: Final = 4096
"""How long the names on the way to a map or a list may be together: whoever tells a field by its path writes them."""
MAX_COMPLAINTS: Final = 100
"""How many repeated and unknown fields are told, as many as kube-apiserver tells."""

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"


class Parsed:
    """A body's value and the paths of fields that stood twice in it."""

    __slots__ = ("duplicates", "value")

    def __init__(self, value: Json, duplicates: tuple[str, ...]) -> None:
        self.value = value
        self.duplicates = duplicates


@lru_cache(maxsize=256)
def media_type(content_type: str) -> str:
    """The media type without its parameters; JSON when not said, and nothing that is known where one has no value."""
    said, *parameters = content_type.split(";")
    if any(one.strip() and "=" not in one for one in parameters):
        return content_type
    return said.strip().lower() or JSON


def unsupported(accepted: Sequence[str]) -> UnsupportedMediaType:
    """The refusal of a body's format."""
    return UnsupportedMediaType(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    )


def unroutable() -> UnsupportedMediaType:
    """The refusal of a patch's format by Kubernetes' router, which knows the routes of built-in kinds only."""
    return UnsupportedMediaType("415: Unsupported Media Type", details={})


def parse_object(data: bytes, content_type: str, kind: str, *, must_say_kind: bool = False) -> Parsed:
    """The object in a create or update body; ``kind`` is what the resource expects, for the message."""
    parsed = _parsed_json(data, kind) if content_type == JSON else _parsed(data, content_type, kind)
    if must_say_kind and not (isinstance(parsed.value, dict) and parsed.value.get("kind")):
        text = data.decode("utf-8", "replace")
        raise BadRequest(f"{_not_of_type(kind)}: {missing_kind(text)} ({_excerpt(data)})")
    return parsed


def missing_kind(text: str) -> str:
    """Go's text for an object that does not say what it is."""
    return f"Object 'Kind' is missing in '{text}'"


def _parsed(data: bytes, content_type: str, kind: str) -> Parsed:
    match media_type(content_type):
        case "application/json":
            return _parsed_json(data, kind)
        case "application/yaml":
            found, repeated = _yaml_object(data, kind)
            check_shape(found)
            return Parsed(_object(found, data, kind), tuple(map(RepeatedLine, repeated)))
        case _:
            raise unsupported((JSON, YAML, PROTOBUF))


def _parsed_json(data: bytes, kind: str) -> Parsed:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        why = syntax_error(data) or "invalid UTF-8 in string"
        raise _unrecognized(kind, f"json parse error: {why} ({_excerpt(data)})") from None
    return Parsed(_object(value, data, kind), duplicate_fields(data, value))


def parse_delete_options(data: bytes, content_type: str) -> Json:
    """The options in the body of a delete; whether they are options at all is for others to say."""
    if media_type(content_type) == JSON:
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError:
            why = syntax_error(data) or "invalid UTF-8 in string"
            raise BadRequest(f"couldn't get version/kind; json parse error: {why}") from None
        if isinstance(value, dict | None):
            return value
        why = cannot_unmarshal(value, _ANONYMOUS)
        raise BadRequest(f"couldn't get version/kind; json parse error: {why}")
    return parse_object(data, content_type, "DeleteOptions").value


def parse_json(data: bytes, what: str) -> Parsed:
    """Any JSON value, such as a patch."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise BadRequest(f"{what}{syntax_error(data) or 'invalid UTF-8 in string'}") from None
    return Parsed(value, duplicate_fields(data, value))


def parse_apply(data: bytes) -> Parsed:
    """An apply configuration, in YAML or its subset JSON; keys that stand twice are told by their lines."""
    if data.lstrip()[:1] == b"{":
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError:
            pass
        else:
            if not duplicate_fields(data, value):
                return Parsed(value, ())
    value, repeated = _yaml(data)
    check_shape(value)
    return Parsed(value, repeated)


def _yaml_object(data: bytes, kind: str) -> tuple[Json, tuple[str, ...]]:
    try:
        return parse_yaml_strictly(data)
    except YamlError as error:
        said = str(error) if str(error).startswith("yaml: ") else f"yaml: {error}"
        raise BadRequest(f"{_not_of_type(kind)}: {said} ({_excerpt(data)})") from None


def _yaml(data: bytes) -> tuple[Json, tuple[str, ...]]:
    try:
        return parse_yaml_strictly(data)
    except YamlError as error:
        raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {error}") from None


def _unrecognized(kind: str, why: str) -> BadRequest:
    return BadRequest(f"{_not_of_type(kind)}: couldn't get version/kind; {why}")


def _not_of_type(kind: str) -> str:
    return f"the object provided is unrecognized (must be of type {kind})"


_ANONYMOUS = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


def _object(value: Json, data: bytes, kind: str) -> JsonObject:
    """The value if it is an object that says what it is in strings."""
    if value is None:
        return {}
    if type(value) is dict and type(value.get("kind")) is str:
        said = value.get("apiVersion")
        if type(said) is str and said.count("/") <= 1:  # nearly all of them
            return value
    if not isinstance(value, dict):
        why = f"{cannot_unmarshal(value, _ANONYMOUS)} ({_excerpt(data)})"
        raise _unrecognized(kind, f"json parse error: {why}")
    for name in ("apiVersion", "kind"):
        if type(value.get(name, "")) is not str and value[name] is not None:
            why = f"{cannot_unmarshal(value[name], 'string', f'.{name}')} ({_excerpt(data)})"
            raise _unrecognized(kind, f"json parse error: {why}")
    if (value.get("apiVersion") or "").count("/") > 1:
        said = value["apiVersion"]
        raise BadRequest(f"{_not_of_type(kind)}: unexpected GroupVersion string: {said} ({_excerpt(data)})")
    return value


_EXCERPT_BYTES = 30
_TEXT_PER_STEP: Final = 16
"""So many characters of a path are written in one step."""


def _excerpt(data: bytes) -> str:
    """The beginning of a body, as text if it looks like an object, else as hexadecimal digits."""
    if not data:
        return "<empty>"
    head = data[:_EXCERPT_BYTES]
    shown = head.decode("utf-8", "replace") if data[:1] == b"{" else head.hex()
    return shown if len(data) <= _EXCERPT_BYTES else f"{shown} ..."


def duplicate_fields(data: bytes, value: Json) -> tuple[str, ...]:
    """Paths of fields that stand twice in a JSON text; raises ``BadRequest`` for one nested too deeply.

    Every key has its colon, so a text with no more colons than the value has keys has lost none. Where strings hold
    colons, too: every key leaves a ``":``, and there is no space before the colon. Only a text that fails both cheap
    tests is read again, with care.
    """
    keys = _count_keys(value, 0, MAX_PATH)
    if data.count(b":") == keys or (data.count(b'":') == keys and b'" :' not in data):
        return ()
    pairs = json.loads(data, object_pairs_hook=Pairs, parse_int=_no_number, parse_float=_no_number)
    if not _has_duplicates(pairs):
        return ()
    found: dict[str, None] = {}
    places: dict[str, int] = {}
    with suppress(OverBudget):  # those found until then are enough to be told
        _find_duplicates(pairs, "", found, places, Budget.for_bytes(len(data)))
    repeated = RepeatedFields(found)
    repeated.places = places
    return repeated


def _no_number(_text: str) -> int:
    """A number that nobody is going to look at, however many digits it has."""
    return 0


def check_shape(value: Json) -> None:
    """Raise ``BadRequest`` for a value that nests too deeply, or whose fields have too long names together."""
    _count_keys(value, 0, MAX_PATH)


def _count_keys(value: Any, depth: int, room: int) -> int:
    if depth > MAX_DEPTH:
        raise BadRequest(f"the body is nested more than {MAX_DEPTH} levels deep")
    if room < 0:
        raise BadRequest(f"the body has a field whose path is longer than {MAX_PATH} characters")
    total = 0
    if isinstance(value, dict):
        total = len(value)
        for name, item in value.items():
            if isinstance(item, (dict, list)):
                total += _count_keys(item, depth + 1, room - len(name))
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, (dict, list)):
                total += _count_keys(item, depth + 1, room)
    return total


def _has_duplicates(value: Any) -> bool:
    if isinstance(value, Pairs):
        if len(value) > 1 and len({name for name, _ in value}) < len(value):
            return True
        for _, item in value:
            if isinstance(item, list) and _has_duplicates(item):
                return True
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, list) and _has_duplicates(item):
                return True
    return False


def _find_duplicates(value: Any, path: str, found: dict[str, None], places: dict[str, int], budget: Budget) -> None:
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for name, item in value:
            budget.charge(1 + (len(path) + len(name)) // _TEXT_PER_STEP)
            at = f"{path}.{name}" if path else name
            if name in seen and at not in found:
                found[at] = None
                places[at] = len(places)
            places.setdefault(at, len(places))
            seen.add(name)
            _find_duplicates(item, at, found, places, budget)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            budget.charge(1 + len(path) // _TEXT_PER_STEP)
            _find_duplicates(item, f"{path}[{index}]", found, places, budget)

"""Objects made at random from a kind's schema, the same for the same seed; and ``assert_round_trips`` over them."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any, TypeVar

from attractor.objects.resource import DecodeError, Resource
from attractor.objects.resource.structural import schema_of
from attractor.webhooks import WebhookSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attractor.objects.json_types import Json, JsonObject
    from attractor.webhooks import Conversion

R = TypeVar("R", bound=Resource)
_TEXTS = ("a", "b-1", "Ä", "0", "1", "250m", "1Gi", "true", "a b", "x" * 20)
_INSTANTS = ("2026-01-01T00:00:00Z", "2026-02-03T04:05:06Z")
_ATTEMPTS = 100
_MOST = 3
"""Of items of a list or a map."""


def generated(kind: type[R], count: int = 100, *, seed: int = 0) -> Iterator[R]:
    """Objects that fit a kind's schema: each optional field now there, now not.

    Args:
        kind: Their class.
        count: How many.
        seed: The same seed gives the same objects.

    Raises:
        ValueError: No value is known for a required field that has a pattern, or is stricter than its schema says; the
            text names the field.
    """
    schema, source = schema_of(kind), random.Random(seed)  # noqa: S311 - no secret
    parts = {name: part for name, part in schema["properties"].items() if name in {"spec", "status"} or _is_own(name)}
    namespace = {"namespace": "default"} if kind.resource_info.namespaced else {}
    head = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind}
    for number in range(count):
        failed = 0
        while True:
            made = _Maker(source).record({**schema, "properties": parts}, kind.__name__)
            try:
                yield kind.from_dict({**head, "metadata": {"name": f"generated-{number}", **namespace}, **made})
                break
            except DecodeError as error:  # a class may be stricter than its schema
                failed += 1
                if failed == _ATTEMPTS:
                    raise ValueError(f"{error}: give objects of your own, with examples=[...]") from None


def _is_own(name: str) -> bool:
    return name not in {"apiVersion", "kind", "metadata"}


class _Maker:
    """Makes values of schemas."""

    def __init__(self, source: random.Random) -> None:
        self._source = source

    def record(self, schema: JsonObject, path: str) -> JsonObject:
        required, made = set(schema.get("required") or ()), {}
        for name, part in (schema.get("properties") or {}).items():
            if name in required or self._source.random() < 0.7:
                try:
                    made[name] = self._value(part, f"{path}.{name}")
                except _Unknown as unknown:
                    if name in required:
                        raise ValueError(f"{unknown}: give objects of your own, with examples=[...]") from None
        return made

    def _value(self, schema: JsonObject, path: str) -> Json:
        if "enum" in schema:
            chosen: Json = self._source.choice(schema["enum"])
            return chosen
        if schema.get("x-kubernetes-int-or-string"):
            return self._text(schema, path)
        match schema.get("type"):
            case "object" if isinstance(schema.get("additionalProperties"), dict):
                names = self._source.sample(["a", "b", "c"], self._source.randint(0, _MOST))
                return {name: self._value(schema["additionalProperties"], f"{path}.{name}") for name in names}
            case "object":
                return self.record(schema, path)
            case "array":
                return self._items(schema, path)
            case "integer":
                low, high = schema.get("minimum", -3), schema.get("maximum", 100)
                return self._source.randint(low, max(low, min(high, low + 1000)))
            case "number":
                return self._source.choice([0.5, 1.0, 2.25])
            case "boolean":
                return self._source.random() < 0.5
            case _:
                return self._text(schema, path)

    def _items(self, schema: JsonObject, path: str) -> list[Any]:
        count = self._source.randint(schema.get("minItems", 0), max(schema.get("minItems", 0), _MOST))
        items: list[Any] = [self._value(schema["items"], f"{path}[{number}]") for number in range(count)]
        keys = schema.get("x-kubernetes-list-map-keys")
        if keys:  # each key once
            return list({tuple(str(one.get(key)) for key in keys): one for one in items}.values())
        is_set = schema.get("x-kubernetes-list-type") == "set" or schema.get("uniqueItems")
        return [one for number, one in enumerate(items) if one not in items[:number]] if is_set else items

    def _text(self, schema: JsonObject, path: str) -> str:
        if schema.get("format") == "date-time":
            return self._source.choice(_INSTANTS)
        default = schema.get("default")
        known: list[str] = [*_TEXTS, *([default] if isinstance(default, str) else ())]
        low, high, pattern = schema.get("minLength", 0), schema.get("maxLength", 1000), schema.get("pattern")
        fitting = [text for text in known if low <= len(text) <= high and (not pattern or re.search(pattern, text))]
        if not fitting:
            raise _Unknown(f"{path} must match {pattern!r}, and no text is known that does")
        return self._source.choice(fitting)


class _Unknown(Exception):
    """No value of a schema is known; the text names the field."""


def assert_round_trips(
    *conversions: Conversion[Any, Any], examples: Sequence[Resource] = (), count: int = 100, seed: int = 0
) -> None:
    """Check that conversions lose nothing: there and back, from the hub and from each other version.

        assert_round_trips(up, down)

    Args:
        *conversions: All those of one kind, or of several.
        examples: Objects of your own, besides generated ones.
        count: How many objects of each version are made.
        seed: The same seed makes the same objects.

    Raises:
        AssertionError: An object came back as another one; the text shows it, and what differs.
        WebhookError: The conversions are not those of versions with a hub.
    """
    for versions in WebhookSet(conversions).versions():
        ways = versions.ways()
        for there, back in [*zip(ways[::2], ways[1::2], strict=True), *zip(ways[1::2], ways[::2], strict=True)]:
            own = [one for one in examples if isinstance(one, there.source)]
            for one in (*own, *generated(there.source, count, seed=seed)):
                before = one.to_dict()
                between = versions.converted(before, there.target.gvk.api_version)
                after = versions.converted(between, back.target.gvk.api_version)
                if after != there.source.from_dict(before).to_dict():
                    raise AssertionError(_told(there, before, between, after))


def _told(there: Conversion[Any, Any], before: JsonObject, between: JsonObject, after: JsonObject) -> str:
    versions = f"{there.source.gvk.version} -> {there.target.gvk.version} -> {there.source.gvk.version}"
    shown = [f"{name}: {one}" for name, one in (("was", before), ("became", between), ("came back as", after))]
    return "\n  ".join([f"{there.source.gvk.kind} does not survive {versions}", *shown])

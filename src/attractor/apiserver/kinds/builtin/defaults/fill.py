"""Small tools for defaulting: fill what is absent, walk into lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from attractor.objects.quantity import Quantity, QuantityError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attractor.objects.json_types import JsonObject

Defaulter: TypeAlias = "Callable[[JsonObject], None]"
"""Fills in, in place, what the caller left out."""

_MILLI = -3


def fill(obj: JsonObject, **values: Any) -> None:
    """Set each field that is absent, null or the empty text."""
    for name, value in values.items():
        if obj.get(name) in (None, ""):
            obj[name] = value


def fill_absent(obj: JsonObject, **values: Any) -> None:
    """Set each field that is absent or null; of a pointer of Go's the empty text is a value, and refused later."""
    for name, value in values.items():
        if obj.get(name) is None:
            obj[name] = value


def items(obj: JsonObject | None, *path: str) -> Iterator[JsonObject]:
    """The objects of the list at the path; nothing when any step is absent."""
    found: Any = obj
    for name in path:
        found = (found or {}).get(name)
    for item in found or ():
        if item is not None:
            yield item


def child(obj: JsonObject, name: str) -> JsonObject:
    """The object in a field, made if it is absent."""
    found = obj.get(name)
    if found is None:
        found = obj[name] = {}
    return found


def round_up_resources(amounts: JsonObject | None) -> None:
    """Round amounts up to thousandths, as Kubernetes does with every resource list."""
    for name, amount in (amounts or {}).items():
        try:
            rounded = Quantity.parse(amount).rounded_up(_MILLI)
        except QuantityError:  # refused by decoding already
            continue
        amounts[name] = str(rounded)  # type: ignore[index]


def round_up_requirements(resources: JsonObject | None) -> None:
    """Round the limits and requests of a container, a pod or a claim."""
    for name in ("limits", "requests"):
        round_up_resources((resources or {}).get(name))

"""Built-in kinds that are served in more than one shape, and how one shape becomes the other.

Objects are stored in one shape, the hub; a ``Conversion`` belongs to a kind that is served in another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from attractor.apiserver.kinds.builtin import autoscaler_conversion
from attractor.objects.gvk import GroupVersionKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.objects.json_types import JsonObject


class Conversion(NamedTuple):
    """The hub that a kind is stored as, and the way there and back; both ways make new objects."""

    hub: GroupVersionKind
    to_hub: Callable[[JsonObject], JsonObject]
    from_hub: Callable[[JsonObject], JsonObject]


_EVENT_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}


def _renaming(names: dict[str, str]) -> Callable[[JsonObject], JsonObject]:
    def rename(obj: JsonObject) -> JsonObject:
        return {names.get(name, name): value for name, value in obj.items()}

    return rename


_SERVED_EVENT = _renaming({hub: served for served, hub in _EVENT_NAMES.items()})


def _without_empty(obj: JsonObject, *names: str) -> JsonObject:
    """The object without those of the named fields that are empty, which the core group shows and others leave out."""
    return {name: value for name, value in obj.items() if value or name not in names}


CONVERSIONS: dict[tuple[str, str, str], Conversion] = {
    ("events.k8s.io", "v1", "Event"): Conversion(
        GroupVersionKind("", "v1", "Event"),
        _renaming(_EVENT_NAMES),
        lambda obj: _without_empty(_SERVED_EVENT(obj), "reportingController", "reportingInstance"),
    ),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): Conversion(
        GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler"),
        autoscaler_conversion.to_hub,
        autoscaler_conversion.from_hub,
    ),
}

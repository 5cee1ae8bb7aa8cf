"""``Scope``: which objects of a kind an informer is about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import orjson

from attractor.objects.fields import FieldSelector
from attractor.objects.labels import LabelSelector

if TYPE_CHECKING:
    from attractor.client.kinds import EncodedObject


class _LabelledMeta(msgspec.Struct):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct):
    metadata: _LabelledMeta


_decode_labels = msgspec.json.Decoder(_Labelled).decode


def labels_of(obj: EncodedObject) -> dict[str, str]:
    """An object's labels."""
    return _decode_labels(obj.json).metadata.labels or {}


@dataclass(frozen=True)
class Scope:
    """The part of a kind that is cached and watched: a namespace, a label selector, a field selector."""

    namespace: str = ""
    """Only this namespace; empty for all."""
    label_selector: str = ""
    """Such as ``"app=web"``; empty for all."""
    field_selector: str = ""
    """Such as ``"spec.nodeName=n1"``; empty for all."""

    @cached_property
    def _labels(self) -> LabelSelector:
        return LabelSelector.parse(self.label_selector)

    @cached_property
    def _fields(self) -> FieldSelector:
        return FieldSelector.parse(self.field_selector)

    @property
    def sees_all(self) -> bool:
        """Return whether every object of the namespace is in the scope."""
        return not self.label_selector and not self.field_selector

    def covers(self, obj: EncodedObject) -> bool:
        """Return whether an object is in the scope."""
        if self.namespace and obj.key.namespace != self.namespace:
            return False
        if self.label_selector and not self._labels.matches(labels_of(obj)):
            return False
        return not self.field_selector or self._fields.matches_object(orjson.loads(obj.json))

    def __str__(self) -> str:
        parts = (("namespace", self.namespace), ("labels", self.label_selector), ("fields", self.field_selector))
        return ", ".join(f"{name} {value}" for name, value in parts if value) or "all"

"""Conversion between the versions of a custom kind by a webhook (``strategy: Webhook``).

A stored object says in which version it is stored, which is the storage version of the time when it was written. One
that is asked for in another version is sent to the webhook as a ConversionReview; a list sends all that need it in one.
Only labels and annotations of the metadata may change on the way: the rest is put back.

The webhook is asked through ``ask``, so this is as pure as the rest: ``bound`` ties a conversion to the transaction
whose answers it may use.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.admission.outside_calls import Endpoint, Question
from attractor.objects import names
from attractor.objects.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.apiserver.admission.outside_calls import Answer
    from attractor.objects.gvk import GroupVersionKind
    from attractor.objects.json_types import JsonObject

TIMEOUT_S = 30
_PREFIX = "failed to call webhook: "


def _unbound(_: Sequence[Question]) -> list[Answer]:
    raise AssertionError("objects of this kind are converted by a webhook: use the kind that `find_kind` returns")


@dataclass(frozen=True)
class RemoteConversion:
    """The way between a served version and the stored one."""

    endpoint: Endpoint
    review_version: str
    served: GroupVersionKind
    stored: GroupVersionKind
    """What new objects are stored as; older ones may be of any version."""
    ask: Callable[[Sequence[Question]], list[Answer]] = _unbound
    _known: dict[bytes, JsonObject] = field(default_factory=dict)
    """Stored objects in the served version, as far as they have been converted."""

    @classmethod
    def of(cls, webhook: JsonObject, served: GroupVersionKind, stored: GroupVersionKind) -> RemoteConversion:
        """From ``spec.conversion.webhook``."""
        versions = webhook.get("conversionReviewVersions") or ["v1"]
        known = next((version for version in versions if version in {"v1", "v1beta1"}), "v1")
        return cls(Endpoint.of(webhook["clientConfig"]), f"apiextensions.k8s.io/{known}", served, stored)

    def bound(self, ask: Callable[[Sequence[Question]], list[Answer]]) -> RemoteConversion:
        """The same, asking there."""
        return replace(self, ask=ask, _known={})

    def prepare(self, values: Sequence[bytes]) -> None:
        """Convert many stored objects with one question."""
        missing = [value for value in dict.fromkeys(values) if value not in self._known]
        objects = [orjson.loads(value) for value in missing]
        foreign = [obj for obj in objects if obj["apiVersion"] != self.served.api_version]
        converted = iter(self._convert(foreign, self.served))
        for value, obj in zip(missing, objects, strict=True):
            self._known[value] = obj if obj["apiVersion"] == self.served.api_version else next(converted)

    def from_stored(self, value: bytes) -> JsonObject:
        """A stored object in the served version; the caller's own."""
        if value not in self._known:
            self.prepare([value])
        obj: JsonObject = orjson.loads(orjson.dumps(self._known[value]))
        return obj

    def to_stored(self, obj: JsonObject) -> JsonObject:
        """An object of the served version as it is stored."""
        return obj if self.served == self.stored else self._convert([obj], self.stored)[0]

    def _convert(self, objects: list[JsonObject], target: GroupVersionKind) -> list[JsonObject]:
        if not objects:
            return []
        request = {"desiredAPIVersion": target.api_version, "objects": objects}
        question = Question(self.endpoint, "ConversionReview", orjson.dumps(request), self.review_version, TIMEOUT_S)
        (answer,) = self.ask([question])
        return [
            _checked(before, after, target) for before, after in zip(objects, _converted(answer, objects), strict=True)
        ]


def _failed(obj: JsonObject, why: str) -> ApiError:
    return ApiError(f"conversion webhook for {obj['apiVersion']}, Kind={obj['kind']} failed: {why}")


def _converted(answer: Answer, objects: list[JsonObject]) -> list[Any]:
    """The converted objects of an answer; raises ``ApiError``."""
    response = answer.response
    if response is None:
        raise _failed(objects[0], answer.failure.removeprefix(_PREFIX))
    result = response.get("result")
    if not isinstance(result, dict) or result.get("status") != "Success":
        why = (result or {}).get("message") if isinstance(result, dict) else ""
        raise _failed(objects[0], why or "the webhook gave no reason")
    converted = response.get("convertedObjects")
    if not isinstance(converted, list) or len(converted) != len(objects):
        count = len(converted) if isinstance(converted, list) else 0
        raise _failed(objects[0], f"webhook returned {count} objects, expected {len(objects)}")
    return converted


def _texts(before: JsonObject, field: str, given: Any) -> dict[str, str]:
    """Labels or annotations that came back, if they are that."""
    at = f"metadata.{field}"
    is_texts = isinstance(given, dict) and all(isinstance(value, str) for value in given.values())
    if not is_texts:
        raise _failed(before, f"invalid converted object: {at} must be a map of strings")
    wrong = names.validate_labels(given, at) if field == "labels" else names.validate_annotations(given, at)
    if wrong:
        raise _failed(before, f"invalid converted object: {wrong[0]}")
    return dict(given)


def _checked(before: JsonObject, after: Any, target: GroupVersionKind) -> JsonObject:
    """A converted object, if it is the same one in the version that was asked for."""
    if not isinstance(after, dict) or not isinstance(after.get("metadata"), dict):
        raise _failed(before, "webhook returned something that is not an object with metadata")
    said = (after.get("apiVersion"), after.get("kind"))
    if said != (target.api_version, target.kind):
        expected = f"{target.api_version}, Kind={target.kind}"
        raise _failed(before, f"invalid converted object: expected {expected}, got {said[0]}, Kind={said[1]}")
    for name in ("name", "namespace", "uid"):
        if after["metadata"].get(name) != before["metadata"].get(name):
            raise _failed(before, f"invalid converted object: metadata.{name} must not be changed")
    metadata = {name: value for name, value in before["metadata"].items() if name not in {"labels", "annotations"}}
    for name in ("labels", "annotations"):
        if after["metadata"].get(name):
            metadata[name] = _texts(before, name, after["metadata"][name])
    rest = {name: value for name, value in after.items() if name not in {"kind", "apiVersion", "metadata"}}
    return {"kind": target.kind, "apiVersion": target.api_version, "metadata": metadata, **rest}

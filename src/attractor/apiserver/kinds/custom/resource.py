"""The rules of a custom kind's objects, from one version of its CustomResourceDefinition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.metadata import content_errors
from attractor.apiserver.kinds.strategy import Decoded, Strategy
from attractor.apiserver.request.decode_errors import DecodeError
from attractor.objects import names
from attractor.objects.field import FieldError
from attractor.objects.go_wording import GO_MAP, cannot_unmarshal, go_text
from attractor.schema.embedded import check_metadata_shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.kinds.builtin.decode import Decode
    from attractor.apiserver.kinds.served_kind import ScalePaths
    from attractor.objects.gvk import GroupVersionKind
    from attractor.objects.json_types import JsonObject
    from attractor.schema.custom import CustomSchema

_FIRST_TOO_LARGE = 2.0**63
"""From here on a number is left as it is: nothing here writes integers of more than 64 bits."""
MAX_INT32 = 2**31 - 1
_GO_TYPES = {
    str: "string",
    int: "int64",
    float: "float64",
    bool: "bool",
    dict: GO_MAP,
    list: "[]interface {}",
}


def check_embedded_metadata(metadata: JsonObject, path: str) -> list[FieldError]:
    """The rules of metadata in an embedded resource, whose name may be any segment of a path."""
    return [*check_metadata_shape(metadata, path), *content_errors(metadata, path)]


def _whole_numbers(value: Any) -> Any:
    """A value in which numbers without a fraction are whole, as far as 64 bits go: that is how Go writes them.

    Maps and lists are copied, so that the value may be changed in place.
    """
    if isinstance(value, str):  # most values
        return value
    if isinstance(value, dict):
        return {name: _whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _FIRST_TOO_LARGE:
        return int(value)
    return value


class CustomStrategy(Strategy):
    """Unknown fields are pruned, defaults come from the schema, and status is its own subresource if declared."""

    def __init__(
        self,
        gvk: GroupVersionKind,
        schema: CustomSchema,
        decode_metadata: Decode,
        *,
        has_status: bool,
        scale: ScalePaths | None,
    ) -> None:
        super().__init__()
        self.allow_unconditional_update = False
        self.kind = gvk.kind
        self.api_version = gvk.api_version
        self.schema = schema
        self.decode_metadata = decode_metadata
        self.has_status_subresource = has_status
        self.scale = scale

    def decode(self, obj: JsonObject) -> Decoded:
        """Read metadata as every kind's, and prune the rest."""
        metadata = self.decode_metadata(obj.get("metadata") or {})
        read: JsonObject = {}
        for name, value in obj.items():
            read[name] = _whole_numbers(value) if name != "metadata" else metadata.obj
        read["metadata"] = metadata.obj
        unknown = [f"metadata.{path}" for path in metadata.unknown] + self.schema.prune_in_place(read)
        if self.schema.has_embedded:
            unknown += sorted(self._decode_embedded(read))
        return Decoded(read, unknown)

    def _decode_embedded(self, obj: JsonObject) -> Iterator[str]:
        """Read the metadata of embedded resources like the object's own; the paths of what it does not have."""
        for resource, path in self.schema.embedded_in(obj):
            metadata, at = resource.get("metadata"), f"{path}.metadata"
            for name in ("apiVersion", "kind"):
                if not isinstance(resource.get(name, ""), str):
                    raise DecodeError(str(FieldError.invalid(f"{path}.{name}", resource[name], "must be a string")))
            if metadata is None:
                continue
            if not isinstance(metadata, dict):
                why = cannot_unmarshal(metadata, "v1.ObjectMeta")
                raise DecodeError(str(FieldError.invalid(at, metadata, why)))
            try:
                decoded = self.decode_metadata(metadata)
            except DecodeError as error:
                raise DecodeError(str(FieldError.invalid(at, metadata, str(error)))) from None
            resource["metadata"] = decoded.obj
            yield from (f"{at}.{one}" for one in decoded.unknown)

    def default(self, obj: JsonObject) -> None:
        """Fill in the schema's defaults."""
        self.schema.default_in_place(obj)

    def default_applied(self, obj: JsonObject) -> None:
        """Fill in the schema's defaults; nulls that were applied are left to be refused, as Kubernetes leaves them."""
        self.schema.fill_in_place(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        """A new object has no status where status is its own subresource."""
        if self.has_status_subresource:
            obj.pop("status", None)

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str) -> None:
        """Keep status on the main resource, and everything else on the status subresource."""
        if subresource == "status":
            status, managed = obj.get("status"), obj["metadata"].get("managedFields")
            metadata = {**old["metadata"]}
            metadata.pop("managedFields", None)
            if managed:
                metadata["managedFields"] = managed
            obj.clear()
            obj.update(old, metadata=metadata)
            _set(obj, "status", status)
        elif self.has_status_subresource:
            _set(obj, "status", old.get("status"))

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Names are DNS subdomains."""
        return names.as_prefix(names.dns1123_subdomain, name) if prefix else names.dns1123_subdomain(name)

    def validate(self, obj: JsonObject) -> list[FieldError]:
        """Schema and rules, then scale."""
        is_nameless = not obj["metadata"].get("name")  # for which it is refused
        return self.schema.validate(obj, is_refused=is_nameless) + self._scale_errors(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, subresource: str) -> list[FieldError]:
        """The same, forgiving what was wrong before and has not changed."""
        if errors := self.identity_errors(obj):
            return errors
        schema = self.schema
        errors = schema.validate_status(obj, old) if subresource == "status" else schema.validate(obj, old)
        return errors + self._scale_errors(obj)

    def identity_errors(self, obj: JsonObject) -> list[FieldError]:
        """An object must be of the kind and version that it is sent to."""
        errors: list[FieldError] = []
        if obj.get("kind") != self.kind:
            errors.append(FieldError.invalid("kind", obj.get("kind"), f"must be {self.kind}"))
        if obj.get("apiVersion") != self.api_version:
            errors.append(FieldError.invalid("apiVersion", obj.get("apiVersion"), f"must be {self.api_version}"))
        return errors

    def _scale_errors(self, obj: JsonObject) -> list[FieldError]:
        if self.scale is None:
            return []
        errors: list[FieldError] = []
        for path in (self.scale.spec_replicas, self.scale.status_replicas):
            errors += _replica_errors(obj, path)
        if self.scale.selector is not None:
            errors += _selector_errors(obj, self.scale.selector)
        return errors


def _set(obj: JsonObject, name: str, value: Any) -> None:
    if value is None:
        obj.pop(name, None)
    else:
        obj[name] = value


def _selector_errors(obj: Any, path: tuple[str, ...]) -> list[FieldError]:
    at, value = "." + ".".join(path), _at(obj, path)
    if value is _NOWHERE or isinstance(value, str):
        return []
    return [FieldError.invalid(at, "", _wrong_type(at, value, "string"))]


_NOWHERE = object()


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return _NOWHERE
        value = value[name]
    return value


def _wrong_type(at: str, value: Any, wanted: str) -> str:
    return (
        f"{at} accessor error: {go_text(value)} is of the type {_GO_TYPES.get(type(value), '<nil>')}, expected {wanted}"
    )


def _replica_errors(obj: Any, path: tuple[str, ...]) -> list[FieldError]:
    at, value = "." + ".".join(path), _at(obj, path)
    for depth in range(1, len(path)):
        if not isinstance(holder := _at(obj, path[:depth]), dict) and holder is not _NOWHERE:
            return [FieldError.invalid(at, 0, _wrong_type(at, holder, "map[string]interface{}"))]
    if value is _NOWHERE:
        return []
    if type(value) is not int:
        return [FieldError.invalid(at, 0, _wrong_type(at, value, "int64"))]
    if value < 0:
        return [FieldError.invalid(at, value, "should be a non-negative integer")]
    if value > MAX_INT32:
        return [FieldError.invalid(at, value, f"should be less than or equal to {MAX_INT32}")]
    return []

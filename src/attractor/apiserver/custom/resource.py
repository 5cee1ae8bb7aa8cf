"""The rules of a custom kind's objects, from one version of its CustomResourceDefinition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.strategy import Decoded, Strategy
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from attractor.apiserver.builtin.decode import Decode
    from attractor.apiserver.kinds import ScalePaths
    from attractor.objects.gvk import GroupVersionKind
    from attractor.objects.jsontypes import JsonObject
    from attractor.objects.schema.custom import CustomSchema

MAX_INT32 = 2**31 - 1
_GO_TYPES = {str: "string", float: "float64", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}


class CustomStrategy(Strategy):
    """Unknown fields are pruned, defaults come from the schema, and status is its own subresource if declared."""

    allow_unconditional_update = False

    def __init__(
        self,
        gvk: GroupVersionKind,
        schema: CustomSchema,
        decode_metadata: Decode,
        *,
        has_status: bool,
        scale: ScalePaths | None,
    ) -> None:
        self.gvk = gvk
        self.schema = schema
        self.decode_metadata = decode_metadata
        self.has_status_subresource = has_status
        self.scale = scale

    def decode(self, obj: JsonObject) -> Decoded:
        """Read metadata as every kind's, and prune the rest."""
        metadata = self.decode_metadata(obj.get("metadata") or {})
        obj = {**obj, "metadata": metadata.obj}
        unknown = [f"metadata.{path}" for path in metadata.unknown]
        return Decoded(obj, unknown + self.schema.prune_in_place(obj))

    def default(self, obj: JsonObject) -> None:
        """Fill in the schema's defaults."""
        self.schema.default_in_place(obj)

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
        """Identity, schema and rules, then scale."""
        return self._identity_errors(obj) or [*self.schema.validate(obj), *self._scale_errors(obj)]

    def validate_update(self, obj: JsonObject, old: JsonObject, subresource: str) -> list[FieldError]:
        """The same, forgiving what was wrong before and has not changed."""
        return self._identity_errors(obj) or [*self.schema.validate(obj, old), *self._scale_errors(obj)]

    def _identity_errors(self, obj: JsonObject) -> list[FieldError]:
        wanted = {"kind": self.gvk.kind, "apiVersion": self.gvk.api_version}
        return [
            FieldError.invalid(name, obj.get(name), f"must be {value}")
            for name, value in wanted.items()
            if obj.get(name) != value
        ]

    def _scale_errors(self, obj: JsonObject) -> list[FieldError]:
        if self.scale is None:
            return []
        errors: list[FieldError] = []
        for path in (self.scale.spec_replicas, self.scale.status_replicas):
            errors += _replica_errors(obj, path)
        return errors


def _set(obj: JsonObject, name: str, value: Any) -> None:
    if value is None:
        obj.pop(name, None)
    else:
        obj[name] = value


def _replica_errors(obj: Any, path: tuple[str, ...]) -> list[FieldError]:
    at = "." + ".".join(path)
    value: Any = obj
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return []
        value = value[name]
    if type(value) is not int:
        shown = str(value).lower() if isinstance(value, bool) else value
        why = f"{at} accessor error: {shown} is of the type {_GO_TYPES.get(type(value), '<nil>')}, expected int64"
        return [FieldError.invalid(at, 0, why)]
    if value < 0:
        return [FieldError.invalid(at, value, "should be a non-negative integer")]
    if value > MAX_INT32:
        return [FieldError.invalid(at, value, f"should be less than or equal to {MAX_INT32}")]
    return []

"""Typed classes of the built-in kinds, made from the Go types when first asked for.

    from attractor.k8s.core_v1 import ConfigMap, Container, Pod

The classes mean what the Go types mean. A struct is always there (``pod.spec.containers`` needs no check), an empty
text, list or map and a zero are left out when written, and what Go has as a pointer is ``None`` or a value. Names are
snake_case (``pod.status.pod_ips``); Python's keywords get an underscore (``rule.from_``).

The common groups are modules with type stubs. Every other kind has its class too: ``class_for(gvk)``.
"""

from __future__ import annotations

import keyword
import re
import types
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import msgspec

from attractor.k8s import archive, catalog
from attractor.objects.resource import metadata
from attractor.objects.resource.kind import Resource
from attractor.objects.resource.scalars import Duration, MicroTime
from attractor.objects.resource.struct import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.k8s.go_types import GoField, GoType
    from attractor.objects.gvk import GroupVersionKind

META_V1 = "io.k8s.apimachinery.pkg.apis.meta.v1"
SHARED: dict[str, type[Struct]] = {
    f"{META_V1}.{cls.__name__}": cls
    for cls in (
        metadata.Condition,
        metadata.LabelSelector,
        metadata.LabelSelectorRequirement,
        metadata.ListMeta,
        metadata.ManagedFieldsEntry,
        metadata.ObjectMeta,
        metadata.OwnerReference,
    )
}
"""Definitions that have a hand-written class."""

FREE_FORM = frozenset({"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"})
"""Definitions that contain themselves: such values are plain JSON objects."""

MODULES = {
    "apiextensions_v1": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
    "apps_v1": "io.k8s.api.apps.v1",
    "batch_v1": "io.k8s.api.batch.v1",
    "coordination_v1": "io.k8s.api.coordination.v1",
    "core_v1": "io.k8s.api.core.v1",
    "events_v1": "io.k8s.api.events.v1",
    "networking_v1": "io.k8s.api.networking.v1",
    "policy_v1": "io.k8s.api.policy.v1",
    "rbac_v1": "io.k8s.api.rbac.v1",
}
"""Modules with type stubs, and the packages whose types they have."""

TYPE_META = ("apiVersion", "kind", "metadata")


class PythonField(NamedTuple):
    """How a Go field looks in Python: attribute, wire name, type as source text, and how its value is left out."""

    attribute: str
    wire_name: str
    hint: Any
    default: Any


def attribute_name(wire_name: str) -> str:
    """snake_case of a wire name.

    >>> [attribute_name(name) for name in ("podIP", "clusterIPs", "nonResourceURLs", "from", "hostPID", "fieldsV1")]
    ['pod_ip', 'cluster_ips', 'non_resource_urls', 'from_', 'host_pid', 'fields_v1']
    """
    plain = re.sub(r"([A-Z]{2,})s(?=$|[A-Z])", lambda found: f"{found[1].capitalize()}s", wire_name)
    plain = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", plain)
    plain = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", plain).lower().replace("-", "_").replace("$", "")
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def _inner_hint(go: GoType) -> Any:
    """The Python type of a Go type that stands inside another, or behind a pointer."""
    match go.cls:
        case "struct":
            return dict[str, Any] if go.definition in FREE_FORM else struct_for(go.definition)
        case "pointer":
            assert go.elem is not None
            return _inner_hint(go.elem)
        case "slice":
            assert go.elem is not None
            return list[_inner_hint(go.elem)]  # type: ignore[misc]
        case "map":
            assert go.elem is not None
            return dict[str, _inner_hint(go.elem)]  # type: ignore[misc]
        case "intorstring":
            return int | str
        case "quantity":
            return int | float | str
        case "raw" | "interface":
            return Any
    return _PLAIN[go.cls]


_PLAIN: dict[str, type] = {
    "string": str,
    "int": int,
    "uint": int,
    "float": float,
    "bool": bool,
    "bytes": bytes,
    "time": datetime,
    "microtime": MicroTime,
    "duration": Duration,
}
_ZERO: dict[str, Any] = {"string": "", "int": 0, "uint": 0, "float": 0.0, "bool": False, "bytes": b""}


def python_field(field: GoField) -> PythonField:
    """A field's Python side."""
    go, hint = field.type, _inner_hint(field.type)
    name = field.json_name
    if go.cls == "struct" and go.definition not in FREE_FORM:
        return PythonField(attribute_name(name), name, hint, msgspec.field(default_factory=hint, name=name))
    if go.cls in {"slice", "map"}:
        factory = list if go.cls == "slice" else dict
        return PythonField(attribute_name(name), name, hint, msgspec.field(default_factory=factory, name=name))
    if go.cls in _ZERO:
        return PythonField(attribute_name(name), name, hint, msgspec.field(default=_ZERO[go.cls], name=name))
    return PythonField(attribute_name(name), name, Optional[hint], msgspec.field(default=None, name=name))  # noqa: UP045


def module_of(definition: str) -> str:
    """The module that offers a definition's class; this one for groups without a module of their own."""
    package = definition.rpartition(".")[0]
    named = next((module for module, owner in MODULES.items() if owner == package), "typed_classes")
    return f"attractor.k8s.{named}"


def _namespace(definition: str, leave_out: tuple[str, ...]) -> dict[str, Any]:
    fields = [
        python_field(field) for name, field in catalog.go_type(definition).fields.items() if name not in leave_out
    ]
    return {
        "__module__": module_of(definition),
        "__qualname__": definition.rpartition(".")[2],
        "__annotations__": {field.attribute: field.hint for field in fields},
        **{field.attribute: field.default for field in fields},
    }


_DEFINITIONS: dict[type, str] = {}


def definition_of(cls: type) -> str:
    """The definition that a class was made from; empty where it was written by hand."""
    if issubclass(cls, Resource):
        info = cls.__dict__.get("resource_info")
        return info.definition if info is not None and cls.__module__.startswith("attractor.k8s") else ""
    return _DEFINITIONS.get(cls, "")


@cache
def struct_for(definition: str) -> type[Struct]:
    """The class of a definition that is no kind, such as ``io.k8s.api.core.v1.Container``."""
    if definition in SHARED:
        return SHARED[definition]
    fields = _namespace(definition, ())
    made = types.new_class(fields["__qualname__"], (Struct,), {"omitempty": True}, lambda body: body.update(fields))
    _DEFINITIONS[made] = definition
    return made


@cache
def class_for(gvk: GroupVersionKind) -> type[Resource] | None:
    """The class of a built-in kind, whatever its group; None when there is no such kind."""
    info = catalog.find_kind(gvk)
    if info is None:
        return None
    fields = _namespace(info.definition, TYPE_META)
    said = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind, "omitempty": True}
    made: type[Resource] = types.new_class(gvk.kind, (Resource,), said, lambda body: body.update(fields))
    made.resource_info = info
    return made


def names_of(package: str) -> list[str]:
    """The classes that a package's module offers: its kinds and every struct that they use."""
    found = []
    for name in archive.package("go", package):
        definition = f"{package}.{name}"
        is_struct = catalog.go_type(definition).cls == "struct" and definition not in FREE_FORM
        if is_struct and not name.endswith("List") and archive.entry("schema", definition) is not None:
            found.append(name)
    return found


@cache
def _offers(package: str) -> frozenset[str]:
    return frozenset(names_of(package))


def getattr_for(package: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``: makes the class of that name."""
    module = module_of(f"{package}.")

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name.startswith("_") or name not in _offers(package):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return _offered(f"{package}.{name}")

    return __getattr__


@cache
def _offered(definition: str) -> type[Struct]:
    kinds = {name: gvk for gvk, name in archive.index()["kinds"].items()}
    if definition in kinds:
        from attractor.objects.gvk import GroupVersionKind

        cls = class_for(GroupVersionKind(*kinds[definition].split("/")))
        if cls is not None:
            return cls
    return struct_for(definition)

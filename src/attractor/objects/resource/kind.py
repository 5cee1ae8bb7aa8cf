"""``Resource``: one Python class is the kind.

class Widget(Resource, group="example.org", version="v1", short_names=["wd"]):
    '''A widget.'''
    spec: WidgetSpec
    status: WidgetStatus | None = None

widget = Widget.from_yaml(text)
widget.spec.size += 1
widget.to_dict()
"""

from __future__ import annotations

import difflib
import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast, dataclass_transform

import msgspec

from attractor.k8s.resource_info import ResourceInfo, SubresourceInfo
from attractor.objects.gvk import GroupVersionKind, Key
from attractor.objects.resource import codec
from attractor.objects.resource.codec import DecodeError
from attractor.objects.resource.markers import Rule
from attractor.objects.resource.metadata import ObjectMeta, OwnerReference
from attractor.objects.resource.struct import Struct, StructMeta, field, written
from attractor.objects.type_hints import annotate_more

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.objects.json_types import JsonObject
    from attractor.schema.node import Schema

Scope = Literal["Namespaced", "Cluster"]
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True)
class PrinterColumn:
    """A column of ``kubectl get`` for a custom kind."""

    name: str
    """The column's title."""
    json_path: str
    """Where the value is, such as ``.spec.size``."""
    type: Literal["string", "integer", "number", "boolean", "date"] = "string"
    """How it is shown; ``date`` shows an age."""
    priority: int = 0
    """0 for always; others only with ``-o wide``."""
    description: str = ""
    """What the column shows, for people."""
    format: str = ""
    """An OpenAPI format, such as ``int32``."""


@dataclass(frozen=True)
class Scale:
    """The scale subresource of a custom kind: where ``kubectl scale`` and autoscalers find the numbers."""

    spec_replicas_path: str = ".spec.replicas"
    """Where the wanted number is."""
    status_replicas_path: str = ".status.replicas"
    """Where the actual number is."""
    label_selector_path: str = ""
    """Where the selector of the counted objects is, as text; empty for none."""


@dataclass(frozen=True)
class KindOptions:
    """Options of a kind in its class statement, besides its names; ``crd`` writes it to the manifest."""

    printer_columns: tuple[PrinterColumn, ...] = ()
    scale: Scale | None = None
    selectable_fields: tuple[str, ...] = ()
    served: bool = True
    deprecated: bool = False
    deprecation_warning: str = ""


class KindError(TypeError):
    """A class statement does not make a kind."""


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class ResourceMeta(StructMeta):
    """Reads the kind's names from the class statement. A class without ``version`` is a base for others."""

    def __new__(  # noqa: D102
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        group: str | None = None,
        version: str | None = None,
        kind: str | None = None,
        plural: str | None = None,
        singular: str | None = None,
        scope: Scope = "Namespaced",
        short_names: Sequence[str] = (),
        categories: Sequence[str] = (),
        printer_columns: Sequence[PrinterColumn] = (),
        scale: Scale | None = None,
        selectable_fields: Sequence[str] = (),
        served: bool = True,
        deprecated: bool = False,
        deprecation_warning: str = "",
        **settings: Any,
    ) -> Any:
        if version is None:
            if group is not None:
                raise KindError(f'{name} has a group but no version; add one, as in version="v1"')
            return super().__new__(mcls, name, bases, namespace, **settings)
        gvk = GroupVersionKind(group or "", version, kind or name)
        _check_names(name, gvk, scope)
        columns = _several(name, printer_columns, "printer_columns")
        selectable = _several(name, selectable_fields, "selectable_fields")
        options = KindOptions(columns, scale, selectable, served, deprecated, deprecation_warning)
        _check_paths(name, options)
        annotate_more(namespace, {"api_version": str, "kind": str})
        namespace |= {
            "api_version": field(default_factory=written(gvk.api_version)),
            "kind": field(default_factory=written(gvk.kind)),
        }
        _check_settings(name, settings)
        made = cast("type[Resource]", super().__new__(mcls, name, bases, namespace, **settings))
        made.gvk = gvk
        made.resource_info = ResourceInfo(
            group=gvk.group,
            version=gvk.version,
            kind=gvk.kind,
            resource=plural or guess_plural(gvk.kind),
            singular=singular or gvk.kind.lower(),
            namespaced=scope == "Namespaced",
            verbs=_VERBS,
            short_names=_several(name, short_names, "short_names"),
            categories=_several(name, categories, "categories"),
            subresources=_subresources(made, gvk, scale),
            group_versions=(gvk.version,),
            load_schema=lambda: _schema(made),
        )
        made.kind_options = options
        return made


def _check_names(name: str, gvk: GroupVersionKind, scope: str) -> None:
    if not _DNS_LABEL.fullmatch(gvk.version):
        raise KindError(f"{name}: version {gvk.version!r} is no version name such as v1 or v1beta1")
    if not all(_DNS_LABEL.fullmatch(part) for part in filter(None, gvk.group.split("."))):
        raise KindError(f"{name}: group {gvk.group!r} is no DNS name such as example.org")
    if scope not in {"Namespaced", "Cluster"}:
        raise KindError(f"{name}: scope {scope!r} is neither Namespaced nor Cluster")


_EXAMPLES = {
    "short_names": "short_names=['ws']",
    "categories": "categories=['all']",
    "printer_columns": "printer_columns=[PrinterColumn('Size', '.spec.size', 'integer')]",
    "selectable_fields": "selectable_fields=['.spec.size']",
    "rules": "rules=[Rule('self.spec.size < 9')]",
}
"""The options of a class statement that take several things, and how they are written."""


def _several(name: str, given: Any, option: str) -> tuple[Any, ...]:
    """What an option lists; a text by itself would be taken for its letters."""
    wanted = {"printer_columns": PrinterColumn, "rules": Rule}.get(option, str)
    if not isinstance(given, list | tuple) or not all(isinstance(item, wanted) for item in given):
        raise KindError(f"{name}: {option} is {given!r}; write it as in {_EXAMPLES[option]}")
    return tuple(given)


def _check_paths(name: str, options: KindOptions) -> None:
    scale = options.scale
    if scale is not None and not isinstance(scale, Scale):
        raise KindError(f"{name}: scale is {scale!r}; write it as in scale=Scale('.spec.replicas', '.status.replicas')")
    paths = [column.json_path for column in options.printer_columns] + list(options.selectable_fields)
    if scale is not None:
        paths += [scale.spec_replicas_path, scale.status_replicas_path, scale.label_selector_path or ".status"]
    for path in paths:
        if not path.startswith("."):
            raise KindError(f"{name}: the path {path!r} does not begin at the object; write {'.' + path!r}")


def _check_settings(name: str, settings: dict[str, Any]) -> None:
    """Raise ``KindError`` for options that there are not; others are for the struct that the class is."""
    _several(name, settings.get("rules", ()), "rules")
    own = set(inspect.signature(ResourceMeta.__new__).parameters) - {"mcls", "name", "bases", "namespace", "settings"}
    known = own | {"rules", "omitempty", "frozen", "eq", "order", "gc", "weakref", "dict", "cache_hash"}
    for option in settings.keys() - known:
        near = difflib.get_close_matches(option, known, n=1)
        hint = f"did you mean `{near[0]}=`?" if near else f"there are: {', '.join(sorted(own | {'rules'}))}"
        raise KindError(f"{name} has no option {option!r}; {hint}")


def guess_plural(kind: str) -> str:
    """The plural that Kubernetes' tools guess for a kind: ``policies``, ``classes``, ``widgets``."""
    singular = kind.lower()
    if singular.endswith(("s", "x", "ch", "sh")):
        return f"{singular}es"
    if singular.endswith("y") and singular[-2:-1] not in set("aeiou"):
        return f"{singular[:-1]}ies"
    return f"{singular}s"


def _subresources(cls: type[Resource], gvk: GroupVersionKind, scale: Scale | None) -> dict[str, SubresourceInfo]:
    verbs = ("get", "patch", "update")
    found = {}
    if "status" in cls.__struct_fields__:
        found["status"] = SubresourceInfo("status", *gvk, verbs)
    if scale is not None:
        found["scale"] = SubresourceInfo("scale", "autoscaling", "v1", "Scale", verbs)
    return found


def _schema(cls: type[Resource]) -> Schema:
    from attractor.objects.resource.structural import schema_of
    from attractor.schema.node import Schema

    return Schema(schema_of(cls))


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Resource(Struct, metaclass=ResourceMeta):
    """Base class of kinds: one Python class is the kind, its schema and its CustomResourceDefinition.

        class Widget(Resource, group="example.org", version="v1", short_names=["wd"]):
            spec: WidgetSpec
            status: WidgetStatus | None = None

    The class statement takes ``group``, ``version``, ``kind``, ``plural``, ``singular``, ``scope``, ``short_names``,
    ``categories``, ``printer_columns``, ``scale``, ``selectable_fields``, ``rules``, ``served``, ``deprecated`` and
    ``deprecation_warning``. A field ``status`` makes a status subresource. Mistakes raise ``KindError``.

    Objects take their fields as keywords, can be changed, are equal when all fields are, unknown ones included, and are
    not hashable. ``Resource`` itself reads objects of any kind: metadata is typed, the rest is in ``unknown_fields``.
    """

    gvk: ClassVar[GroupVersionKind]
    """Group, version and kind of the class."""
    resource_info: ClassVar[ResourceInfo]
    """How the kind is served: plural, scope, verbs, subresources."""
    kind_options: ClassVar[KindOptions]
    """What the class statement says besides names."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    """Name, namespace, labels, owners and versions."""

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return Key(self.metadata.namespace, self.metadata.name)

    @classmethod
    def from_dict(cls, value: JsonObject) -> Self:
        """Read a JSON object.

        Raises:
            DecodeError: It is of another kind, or a field does not fit; the text names the field.
        """
        return cls._of_own_kind(codec.convert(cls, value))

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Read JSON text; raises ``DecodeError`` as ``from_dict`` does."""
        return cls._of_own_kind(codec.decode(cls, data))

    @classmethod
    def from_yaml(cls, text: str | bytes) -> Self:
        """Read one YAML document; raises ``DecodeError`` as ``from_dict`` does, and for what is no YAML."""
        from attractor.objects.resource import yaml_text

        try:
            value = yaml_text.load(text)
        except yaml_text.YAMLError as error:
            raise DecodeError(cls.__name__, f"no YAML: {error}", "") from error
        return cls.from_dict(value)

    @classmethod
    def _of_own_kind(cls, made: Self) -> Self:
        if not hasattr(cls, "gvk"):
            return made
        if made.kind != cls.gvk.kind or made.api_version != cls.gvk.api_version:
            found = f"{made.api_version or '(none)'}, Kind={made.kind or '(none)'}"
            raise DecodeError(f"{cls.__name__} {made.key}".rstrip(), f"expected {cls.gvk}, got {found}", "")
        return made

    def to_dict(self) -> JsonObject:
        """The object as a JSON value."""
        return codec.to_builtins(self)

    def to_json(self) -> bytes:
        """The object as JSON text."""
        return codec.encode(self)

    def to_yaml(self) -> str:
        """The object as a YAML document."""
        from attractor.objects.resource import yaml_text

        return yaml_text.dump(self.to_dict())

    def deep_copy(self) -> Self:
        """A copy that shares nothing mutable with this object."""
        return codec.deep_copy(self)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return codec.deep_copy(self)

    def owner_reference(self, *, controller: bool = True, block_owner_deletion: bool = True) -> OwnerReference:
        """An owner reference to this object, for the metadata of another; ``set_controller`` uses it.

        Raises:
            ValueError: The object has no uid, because it is not stored yet.
        """
        if not self.metadata.uid:
            raise ValueError(f"{self.gvk.kind} {self.key} has no uid yet: only stored objects can own others")
        return OwnerReference(
            api_version=self.gvk.api_version,
            kind=self.gvk.kind,
            name=self.metadata.name,
            uid=self.metadata.uid,
            controller=controller or None,
            block_owner_deletion=block_owner_deletion or None,
        )

    @classmethod
    def crd(cls) -> JsonObject:
        """The CustomResourceDefinition manifest of this kind, with this class as its only version."""
        from attractor.objects.resource.crd import crd_for

        return crd_for(cls)

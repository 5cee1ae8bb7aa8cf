"""The Go types behind the built-in kinds, as far as answers of an API server depend on them.

Kubernetes decodes a request into Go structs and encodes its answer from them. So a struct that is not a pointer is
always there (``"status": {}``), a slice without ``omitempty`` shows as ``null``, and a wrong value is refused in the
words of Go's types. ``zero_object`` is what a kind's empty Go value looks like as JSON.

>>> deployment = go_type("io.k8s.api.apps.v1.Deployment")
>>> deployment.name, deployment.fields["spec"].type.fields["replicas"].type.name
('v1.Deployment', '*int32')
>>> zero_object("io.k8s.api.core.v1.Service")
{'metadata': {}, 'spec': {}, 'status': {'loadBalancer': {}}}
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from attractor.k8s import archive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.objects.json_types import JsonObject

GoClass: TypeAlias = Literal[
    "struct", "pointer", "slice", "map", "string", "int", "uint", "float", "bool", "bytes", "interface",
    "time", "microtime", "duration", "quantity", "intorstring", "raw",
]  # fmt: skip
"""What kind of Go value: by language, then the types that write their own JSON. ``raw`` is any JSON
(RawExtension, FieldsV1, apiextensions' JSON and JSONSchemaPropsOr...)."""

_ZERO: dict[GoClass, Any] = {
    "string": "", "int": 0, "uint": 0, "float": 0, "bool": False, "duration": "0s", "quantity": "0", "intorstring": 0,
}  # fmt: skip
_DROPPED_WHEN_EMPTY = frozenset(
    ("pointer", "slice", "map", "string", "int", "uint", "float", "bool", "bytes", "interface")
)
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_SPECIAL: dict[str, GoClass] = {
    f"{_META}.Time": "time",
    f"{_META}.MicroTime": "microtime",
    f"{_META}.Duration": "duration",
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intorstring",
}


@dataclass(frozen=True)
class GoField:
    """A field of a Go struct, as JSON and protobuf see it.

    ``protobuf_path`` has more than one number where Go inlines a struct that protobuf nests: ``Volume.hostPath`` is
    field 1 of the message in field 2. It is empty for what protobuf does not carry (``kind`` and ``apiVersion``).
    Maps and slices are ``protobuf_repeated``; a named slice that is not (``Verbs``) is a message with the items in
    field 1. ``go_within`` are the inlined structs that it stands in, outermost first: ``VolumeSource`` for that one.
    """

    json_name: str
    go_name: str
    go_within: tuple[str, ...]
    type: GoType
    omitempty: bool
    omitzero: bool
    protobuf_path: tuple[int, ...]
    protobuf_kind: str
    protobuf_repeated: bool

    @property
    def cls(self) -> GoClass:
        """The class of the field's type."""
        return self.type.cls

    @property
    def protobuf_number(self) -> int | None:
        """The number within the innermost message."""
        return self.protobuf_path[-1] if self.protobuf_path else None

    @property
    def is_dropped_when_zero(self) -> bool:
        """Whether the zero value of this field leaves no trace in JSON."""
        return self.omitzero or (self.omitempty and self.cls in _DROPPED_WHEN_EMPTY)


@dataclass(frozen=True, eq=False)
class GoType:
    """A Go type; the same spelling always gives the same object.

    ``spelling`` names types as OpenAPI does, ``definition`` is the name of a named type and empty for others, ``elem``
    is what a pointer points to, a slice holds, or a map maps to.
    """

    spelling: str
    cls: GoClass
    definition: str = ""
    elem: GoType | None = None

    @cached_property
    def name(self) -> str:
        """The type as Go prints it in errors: ``int32``, ``v1.PodSpec``, ``[]v1.Container``, ``map[string]string``."""
        prefix, rest = "", self.spelling
        while rest.startswith(("*", "[]", "map[")):
            head, _, rest = ("*", "", rest[1:]) if rest[0] == "*" else rest.partition("]")
            if head.startswith("map["):
                head = f"map[{_last_two(head[4:])}"
            prefix += head if head == "*" else f"{head}]"
        return prefix + _last_two(rest)

    @cached_property
    def fields(self) -> Mapping[str, GoField]:
        """The fields of a struct by JSON name, in the order in which Go writes them; empty for other types."""
        if self.cls != "struct":
            return {}
        declared = archive.entry("go", self.definition)
        if isinstance(declared, str):  # a type declared as another struct: same fields, another name
            return _spelled(declared).fields
        return {row[0]: _field(row) for row in declared}

    def zero(self) -> Any:
        """The JSON of this type's zero value."""
        if self.cls != "struct":
            return _ZERO.get(self.cls)
        return {name: field.type.zero() for name, field in self.fields.items() if not field.is_dropped_when_zero}


def _last_two(qualified: str) -> str:
    """``v1.PodSpec`` of a definition name; basic types stay, ``byte`` and ``any`` under their Go names."""
    return {"byte": "uint8", "any": "interface {}"}.get(qualified) or ".".join(qualified.split(".")[-2:])


def _field(row: list[str]) -> GoField:
    json_name, go_path, spelling, flags, protobuf = row
    *within, go_name = go_path.split(".")
    numbers, kind, label = protobuf.split(" ") if protobuf else ("", "", "")
    path = tuple(int(number) for number in numbers.split(".")) if numbers else ()
    return GoField(
        json_name, go_name, tuple(within), _spelled(spelling), "o" in flags, "z" in flags, path, kind, label == "rep"
    )


@cache
def _spelled(spelling: str) -> GoType:
    if spelling == "[]byte":
        return GoType(spelling, "bytes", elem=_spelled("byte"))
    if spelling.startswith("*"):
        return GoType(spelling, "pointer", elem=_spelled(spelling[1:]))
    if spelling.startswith("[]"):
        return GoType(spelling, "slice", elem=_spelled(spelling[2:]))
    if spelling.startswith("map["):
        return GoType(spelling, "map", elem=_spelled(spelling.partition("]")[2]))
    if "." in spelling:
        return _named(spelling)
    if spelling.startswith(("int", "uint", "float")):
        return GoType(spelling, "int" if spelling.startswith("int") else "uint" if spelling[0] == "u" else "float")
    basic: dict[str, GoClass] = {"string": "string", "bool": "bool", "byte": "uint", "any": "interface"}
    return GoType(spelling, basic[spelling])


def _named(name: str) -> GoType:
    declared = archive.entry("go", name)
    if isinstance(declared, list):
        return GoType(name, "struct", name)
    if declared == "special":
        return GoType(name, _SPECIAL.get(name, "raw"), name)
    target = _spelled(declared)
    return GoType(name, target.cls, name, target.elem)


def go_type(definition: str) -> GoType:
    """The Go type of an OpenAPI definition such as ``io.k8s.api.core.v1.Pod``; KeyError for unknown names."""
    if archive.entry("go", definition) is None:
        raise KeyError(f"no Go type is known for the definition {definition!r}")
    return _spelled(definition)


def zero_object(definition: str) -> JsonObject:
    """The JSON of the empty Go value of a kind; a new object at each call."""
    zero = go_type(definition).zero()
    if not isinstance(zero, dict):
        raise TypeError(f"{definition} is no struct, so it has no zero object")
    return zero

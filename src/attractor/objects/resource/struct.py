"""``Struct``: a typed JSON object whose unknown fields survive.

    class Port(Struct):
        '''One port.'''
        container_port: int
        protocol: str = "TCP"

Attributes are snake_case in Python and camelCase on the wire; ``field(name="podIP")`` spells a wire name that the
rule cannot guess. Arguments are keyword-only.

What is written: every field that is not ``None``. A default other than ``None`` is filled in when the wire leaves the
field out, and written back. ``None`` means absent; a field for which ``null`` and absent differ is declared
``T | UnsetType | None = UNSET``. With ``omitempty=True`` a field equal to its default is left out, as Go's tag does.

What the class does not declare is kept beside the declared fields, at every depth, and written back after them.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

import msgspec
from msgspec import UNSET, UnsetType

from attractor.objects.resource.markers import Rule  # noqa: TC001 - msgspec reads annotations at run time
from attractor.objects.type_hints import hints_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.objects.json_types import JsonObject

HIDDEN = "\ue000"
"""The wire name under which unknown fields travel through msgspec; it never reaches the wire itself."""

_Field = type(msgspec.field())


class Unknown:
    """Fields that a class does not declare, as they came; equal when the fields are."""

    __slots__ = ("fields",)

    def __init__(self, fields: JsonObject) -> None:
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self.fields == other.fields

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.fields)


def field(
    *, default: Any = msgspec.NODEFAULT, default_factory: Callable[[], Any] | None = None, name: str | None = None
) -> Any:
    """Say a field's default or its name on the wire, where the rules do not give them."""
    if default_factory is not None:
        return msgspec.field(default_factory=default_factory, name=name)
    return msgspec.field(name=name) if default is msgspec.NODEFAULT else msgspec.field(default=default, name=name)


_OMITTABLE = (list, dict, set)  # factories whose empty result msgspec takes for absent
_IMMUTABLE = (str, int, float, bool, bytes, frozenset, tuple)


def written(value: Any) -> Callable[[], Any]:
    """A factory that gives a default afresh, and is no default in msgspec's eyes, so that the field is written."""
    if isinstance(value, _IMMUTABLE):
        return lambda: value
    return lambda: copy.deepcopy(value)


def _always_written(value: Any) -> Any:
    """The field for a declared default: left out when absent (None, UNSET), else filled in and written."""
    name = None
    if isinstance(value, _Field):
        name = value.name
        if value.default_factory in _OMITTABLE:
            return msgspec.field(default_factory=written(value.default_factory()), name=name)
        if value.default is msgspec.NODEFAULT:
            return value
        value = value.default
    if value is None or value is UNSET:
        return msgspec.field(default=value, name=name)
    return msgspec.field(default_factory=written(value), name=name)


_CLASS_VAR = re.compile(r"(\w+\.)*ClassVar\b")


def _field_names(namespace: dict[str, Any]) -> list[str]:
    """The attributes that a class body declares as fields: annotated, and not for the class alone."""
    declared = hints_in(namespace).items()
    return [name for name, hint in declared if not _CLASS_VAR.match(hint if isinstance(hint, str) else repr(hint))]


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class StructMeta(msgspec.StructMeta):
    """Makes msgspec structs that follow the rules of this module."""

    def __new__(  # noqa: D102
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        omitempty: bool | None = None,
        rules: Sequence[Rule] = (),
        **settings: Any,
    ) -> Any:
        inherited = any(getattr(base, "__omitempty__", False) for base in bases)
        dropping = inherited if omitempty is None else omitempty
        if not dropping:
            for attribute in _field_names(namespace):
                if attribute in namespace:
                    namespace[attribute] = _always_written(namespace[attribute])
        made: Any = super().__new__(
            mcls, name, bases, namespace,
            kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True, **settings,
        )  # fmt: skip
        made.__omitempty__ = dropping
        made.__rules__ = tuple(rules)
        return made


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Struct(msgspec.Struct, metaclass=StructMeta):
    """Base class of typed JSON objects inside a kind, such as its spec.

        class Port(Struct):
            container_port: int
            protocol: str = "TCP"

    Attributes are snake_case in Python and camelCase on the wire; ``field(name="podIP")`` sets another wire name.
    Arguments are keyword-only. Fields that the class does not declare are kept, at every depth, and written back.

    Every field that is not ``None`` is written; a default is filled in when the wire leaves the field out. With
    ``omitempty=True`` in the class statement, a field equal to its default is left out, as with Go's tag.
    """

    __omitempty__: ClassVar[bool]
    __rules__: ClassVar[tuple[Rule, ...]]

    unknown_fields_: Unknown | UnsetType = msgspec.field(default=UNSET, name=HIDDEN)

    def __repr__(self) -> str:
        """Only what says something: neither absent fields nor empty lists and maps."""
        values = ((name, getattr(self, name)) for name in self.__struct_fields__)
        shown = (f"{name}={value!r}" for name, value in values if not _says_nothing(value))
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def unknown_fields(self) -> JsonObject:
        """Fields that were read and that the class does not declare; empty for most objects."""
        return {} if isinstance(self.unknown_fields_, UnsetType) else self.unknown_fields_.fields


def _says_nothing(value: Any) -> bool:
    return value is None or value is UNSET or (isinstance(value, str | list | dict) and not value)

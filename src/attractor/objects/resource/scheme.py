"""``Scheme``: which class stands for which kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.gvk import GroupVersion, GroupVersionKind
from attractor.objects.resource.codec import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource.kind import Resource


class SchemeError(LookupError):
    """A kind has no class, or two classes claim one kind."""


class Scheme:
    """Classes by kind. Built-in kinds need no registration: their classes are made when first asked for.

    >>> Scheme().class_for(GroupVersionKind("", "v1", "ConfigMap")).__name__
    'ConfigMap'
    """

    def __init__(self, *classes: type[Resource]) -> None:
        self._classes: dict[GroupVersionKind, type[Resource]] = {}
        for cls in classes:
            self.register(cls)

    def register(self, cls: type[Resource]) -> type[Resource]:
        """Take up a class, also as a decorator; SchemeError when another class has its kind."""
        known = self._classes.setdefault(cls.gvk, cls)
        if known is not cls:
            raise SchemeError(f"{cls.gvk} is registered already, as {known.__module__}.{known.__qualname__}")
        return cls

    def find(self, gvk: GroupVersionKind) -> type[Resource] | None:
        """The class of a kind, registered or built in, if there is one."""
        if gvk in self._classes:
            return self._classes[gvk]
        from attractor.k8s.typed_classes import class_for

        return class_for(gvk)

    def class_for(self, gvk: GroupVersionKind) -> type[Resource]:
        """The class of a kind; SchemeError, with what is known, when there is none."""
        found = self.find(gvk)
        if found is None:
            known = ", ".join(sorted(str(other) for other in self._classes)) or "none"
            raise SchemeError(f"no class for {gvk}; register one with Scheme.register (registered: {known})")
        return found

    def decode(self, value: JsonObject) -> Resource:
        """A JSON object as an object of the class of its own kind."""
        api_version, kind = value.get("apiVersion"), value.get("kind")
        if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind:
            raise DecodeError("object", "an object needs apiVersion and kind to be decoded", "")
        GroupVersion.parse(api_version)
        return self.class_for(GroupVersionKind.of(api_version, kind)).from_dict(value)

    def __iter__(self) -> Iterator[type[Resource]]:
        """The registered classes."""
        return iter(self._classes.values())

    def __contains__(self, gvk: GroupVersionKind) -> bool:
        return self.find(gvk) is not None

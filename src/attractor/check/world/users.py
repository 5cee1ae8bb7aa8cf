"""Users of a world: what people may do, how often, at any time. Their steps are never owed: a user may stop anywhere.

users = [Edit(ConfigPair, key, spec=[{"size": 1}, {"size": 2}], times=2), Delete(ConfigPair, key)]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from attractor.objects.gvk import Key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.objects.jsontypes import JsonObject
    from attractor.objects.resource import Resource


@dataclass(frozen=True)
class Create:
    """Create an object, up to ``times`` (again after it is gone)."""

    object: Resource
    times: int = 1

    @property
    def label(self) -> str:
        """Whose budget this is."""
        return f"create {described(type(self.object), self.object.key)}"


@dataclass(frozen=True)
class Edit:
    """Change an object's spec to one of the given ones, ``times`` altogether; each is merged into what is there.

    ``patch`` takes whole merge patches instead, for labels, annotations or a status (``subresource="status"``).
    """

    kind: type[Resource]
    key: Key | tuple[str, str]
    spec: Sequence[Any] = ()
    patch: Sequence[JsonObject] = ()
    subresource: str = ""
    times: int = 1

    @property
    def label(self) -> str:
        """Whose budget this is."""
        return f"edit {described(self.kind, Key(*self.key))}"

    @property
    def patches(self) -> list[JsonObject]:
        """What may be merged into the object."""
        specs: list[Any] = [msgspec.to_builtins(each) for each in self.spec]
        return [{"spec": each} for each in specs] + list(self.patch)


@dataclass(frozen=True)
class Delete:
    """Delete an object by name, up to ``times``; with ``uid`` only while it is that very one."""

    kind: type[Resource]
    key: Key | tuple[str, str]
    times: int = 1
    propagation: Literal["Background", "Foreground", "Orphan"] | None = None
    uid: str = ""

    @property
    def label(self) -> str:
        """Whose budget this is."""
        return f"delete {described(self.kind, Key(*self.key))}"


User: TypeAlias = Create | Edit | Delete


def described(kind: type[Resource], key: Key) -> str:
    """An object in the words of traces: ``configmap default/a``."""
    return f"{kind.gvk.kind.lower()} {key}"

"""A world's properties, asked of the real store: the same ``Look``, over a snapshot instead of slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from attractor.check.world.looking import Look, root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.objects.resource import Resource
    from attractor.store.contract import Entry, Snapshot


class _Storage:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def entry(self, key: str) -> Entry | None:
        return self._snapshot.get(key)

    def keys(self, prefix: str) -> list[str]:
        return [entry.key for entry in self._snapshot.range(prefix)]


@dataclass(frozen=True)
class _Universe:
    """What a ``Look`` needs to know of where it looks."""

    storage: _Storage
    roots: tuple[str, ...]

    def external_state(self, protocol: Any) -> Any:
        raise LookupError(f"the state of {protocol!r} cannot be seen on the runtime")


def look_at(snapshot: Snapshot, kinds: Sequence[type[Resource]]) -> Look:
    """What properties see of a real store."""
    roots = tuple(sorted({root(kind) for kind in kinds}))
    return Look(cast("Any", _Universe(_Storage(snapshot), roots)))

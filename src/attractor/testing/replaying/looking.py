"""A world's properties, asked of the real store: the same ``Look``, over a snapshot instead of slots."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from attractor.check.world.looking import Look, root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from attractor.objects.resource import Resource
    from attractor.store.contract import Entry, Snapshot
    from attractor.testing.replaying.outside import PlayedExternal


class _Storage:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def entry(self, key: str) -> Entry | None:
        return self._snapshot.get(key)

    def keys(self, prefix: str) -> list[str]:
        return [entry.key for entry in self._snapshot.range(prefix)]


class _Stage:
    """A snapshot needs no stage: it is the same whoever looks."""

    def on(self, _view: object) -> AbstractContextManager[None]:
        return nullcontext()


@dataclass(frozen=True)
class _Universe:
    """What a ``Look`` needs to know of where it looks."""

    storage: _Storage
    roots: tuple[str, ...]
    externals: Mapping[Any, PlayedExternal]

    stage: _Stage = field(default_factory=_Stage)


class _RealLook(Look):
    """A look at what is outside the checker."""

    def external(self, protocol: Any) -> Any:
        """The model that plays an outside system, as it is now."""
        return cast("Any", self._universe).externals[protocol].model


def look_at(snapshot: Snapshot, kinds: Sequence[type[Resource]], externals: Mapping[Any, PlayedExternal]) -> Look:
    """What properties see of a real store and of played outside systems."""
    roots = tuple(sorted({root(kind) for kind in kinds}))
    return _RealLook(cast("Any", _Universe(_Storage(snapshot), roots, externals)), cast("Any", None))

"""Snapshots by ownership: what is there of an object's children, as the cache shows it.

The cache may lag behind the server. That is no danger as long as every kind of the snapshot is watched (so that the
plan is made again), every action is idempotent, and updates and deletions name the uid that they are about: then what a
stale plan does wrong is refused by the server or done again, and never hits an object that it did not mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from attractor.objects.resource import Resource
from attractor.plan.object_graph import Ref
from attractor.runtime.toolkit.owners import is_controlled_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from attractor.objects.gvk import Key
    from attractor.runtime import Context

R = TypeVar("R", bound=Resource)


class Snapshot(Mapping[Ref, Resource]):
    """Objects by reference, in the order of their references."""

    def __init__(self, objects: Iterable[Resource] = ()) -> None:
        found = {Ref.of(obj): obj for obj in objects}
        self._objects = {ref: found[ref] for ref in sorted(found, key=lambda ref: ref.order)}

    def __getitem__(self, ref: Ref) -> Resource:
        return self._objects[ref]

    def __iter__(self) -> Iterator[Ref]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def find(self, kind: type[R], key: Key) -> R | None:
        """One object, if it is there."""
        return cast("R | None", self._objects.get(Ref(kind, key)))

    def of(self, kind: type[R]) -> list[R]:
        """The objects of a kind."""
        return [cast("R", obj) for ref, obj in self._objects.items() if ref.kind is kind]


async def take_snapshot(
    ctx: Context,
    owner: Resource,
    kinds: Sequence[type[Resource]],
    *,
    labels: str = "",
    also: Callable[[Resource], bool] = lambda _: False,
) -> Snapshot:
    """The objects of these kinds in the owner's namespace that it controls (by uid), and those that ``also`` picks.

    The kinds should be declared with ``owns`` or ``watches``: an undeclared one is read from the server, and its
    changes run nothing.
    """
    found: list[Resource] = []
    for kind in kinds:
        listed = await ctx.list(kind, namespace=owner.metadata.namespace, labels=labels)
        found += [obj for obj in listed if is_controlled_by(obj, owner) or also(obj)]
    return Snapshot(found)

"""``Views``: the cached kinds of one controller, in the shared cache.

A kind that the controller declares (``for_``, ``owns``, ``watches``, ``indexes``) is read from the cache; any other is
read from the server, so that nothing is watched, and no right to watch is needed, that was not declared. So is one of
which only the metadata is watched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from attractor.client.kinds import MetadataOnly
from attractor.objects.resource import Resource
from attractor.runtime.observability.failure_log import FailureLog
from attractor.runtime.observability.field_logger import FieldLogger

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.cache import Cache, Informer
    from attractor.objects.gvk import Key
    from attractor.runtime.controller import Controller, Index

R = TypeVar("R", bound=Resource)


class Views:
    """Reads for one controller. Index names are its own: another controller's index of the same name is another."""

    def __init__(self, declared: Controller, cache: Cache) -> None:
        self._name = declared.name
        partial = declared.metadata_kinds
        self.informers: dict[type[Resource], Informer[Any]] = {
            kind: cache.informer(MetadataOnly(kind)) if kind in partial else cache.informer(kind)
            for kind in declared.kinds
        }
        """The informer of each declared kind."""
        self.whole: dict[Any, Informer[Any]] = {
            kind: informer for kind, informer in self.informers.items() if kind not in partial
        }
        """By kind, those that have whole objects."""
        log = FieldLogger(f"attractor.controller.{declared.name}", {"controller": declared.name})
        self._failures = FailureLog(log)
        self._indexes: dict[type[Resource], set[str]] = {kind: set() for kind in declared.kinds}
        for index in declared.indexes:
            self._indexes[index.kind].add(index.name)
            self.whole[index.kind].add_index(self._own(index.name), self._safe(index))

    def _own(self, index: str) -> str:
        return f"{self._name}/{index}"

    def _safe(self, index: Index[Any]) -> Callable[[Any], Iterable[str]]:
        """An index function whose failure on one object leaves that object out, and everybody's informer alive."""

        def values(obj: Any) -> list[str]:
            try:
                return _texts(index, index.values(obj))
            except Exception as error:  # user code on arbitrary objects
                self._failures.failed("cannot index an object", error, index=index.name, key=str(obj.key))
                return []

        return values

    def follows(self, kind: Any) -> bool:
        """Return whether objects of this kind are cached, as a whole."""
        return kind in self.whole

    async def list(
        self, kind: type[R], namespace: str = "", *, labels: str = "", index: tuple[str, str] | None = None
    ) -> list[R]:
        """The selected objects, in order of their keys; raises ``LookupError`` for an index that is not declared."""
        if index is not None and index[0] not in self._indexes[kind]:
            declared = ", ".join(sorted(self._indexes[kind])) or "none"
            raise LookupError(
                f"controller {self._name!r} has no index {index[0]!r} of {kind.__name__} (there are: {declared}); "
                f"declare it with indexes=[Index({kind.__name__}, {index[0]!r}, ...)]"
            )
        named = None if index is None else (self._own(index[0]), index[1])
        return await self.whole[kind].list(namespace, label_selector=labels, index=named)

    def keys_by_index(self, kind: type[Resource]) -> Callable[[str, str], Iterable[Key]]:
        """A function from an index and a value to the keys that have it, as far as the watch has told."""
        seen = self.whole[kind].core.seen
        return lambda name, value: seen.keys(self._own(name), value)


def _texts(index: Index[Any], answer: Any) -> list[str]:
    """Return the values of an index function; a single text would be taken for its letters."""
    if isinstance(answer, Iterable) and not isinstance(answer, str):
        found = list(answer)
        if all(isinstance(value, str) for value in found):
            return found
    name = getattr(index.values, "__name__", "the index function")
    raise TypeError(f"{name} answered {answer!r}; answer a list of texts, or an empty one")

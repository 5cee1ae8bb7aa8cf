"""From a change of an object to the keys that must be reconciled: pure functions over a controller's declaration."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from attractor.cache.changes import Updated
from attractor.client.encoding.heads import references_of
from attractor.objects.gvk import GroupVersion, Key
from attractor.runtime.observability.failure_log import FailureLog
from attractor.runtime.observability.field_logger import FieldLogger
from attractor.runtime.observability.metered_queue import INITIAL_PRIORITY
from attractor.runtime.predicates import LazyChange, always

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.cache.handlers import InformerEvent
    from attractor.client import EncodedObject
    from attractor.objects.resource import Resource
    from attractor.runtime.controller import Controller, Owns, Watches
    from attractor.runtime.predicates import Predicate


def passes(when: Predicate, event: InformerEvent[Any]) -> bool:
    """Return whether a change is worth a reconcile."""
    return when is always or when(LazyChange(event))


def owner_keys(owned: Owns, owner: type[Resource], event: InformerEvent[Any]) -> set[Key]:
    """The owners of a changed child, before and after the change."""
    now, change = event.encoded, event.change
    found = _owners(now, owner, owned.every_owner)
    if isinstance(change, Updated) and (now.owners is None or change.old.owners != now.owners):
        found |= _owners(change.old, owner, owned.every_owner)
    return found


def _owners(child: EncodedObject, owner: type[Resource], every_owner: bool) -> set[Key]:
    namespace = child.key.namespace if owner.resource_info.namespaced else ""
    gvk, found = owner.gvk, set()
    for reference in references_of(child.json) if child.owners is None else child.owners:
        if reference.kind != gvk.kind or _group(reference.api_version) != gvk.group:
            continue
        if every_owner or reference.controller:
            found.add(Key(namespace, reference.name))
    return found


@lru_cache(maxsize=256)
def _group(api_version: str) -> str:
    return GroupVersion.parse(api_version).group


def watched_keys(
    watched: Watches[Any], event: InformerEvent[Any], keys_by_index: Callable[[str, str], Iterable[Key]]
) -> set[Key]:
    """Return the keys that a change of another kind concerns; ``keys_by_index`` looks up the reconciled kind."""
    if watched.index:
        return {key for value in _values(watched, event) for key in keys_by_index(watched.index, value)}
    found = _mapped(watched, event.object)
    if event.old is not None:
        found |= _mapped(watched, event.old)
    return found


def _values(watched: Watches[Any], event: InformerEvent[Any]) -> set[str]:
    """Return the index values that a change is about: the object's name, or what was computed from it."""
    if watched.by is None:
        return {str(event.key)}
    found = set(watched.by(event.object))
    return found if event.old is None else found | set(watched.by(event.old))


def _mapped(watched: Watches[Any], obj: Any) -> set[Key]:
    """Return the keys of a map function; raises ``TypeError`` for what would only fail later, in a reconcile."""
    assert watched.to_keys is not None
    answer: Any = watched.to_keys(obj)
    if isinstance(answer, Iterable) and not isinstance(answer, str | Key):
        found = set(answer)
        if all(isinstance(key, Key) for key in found):
            return found
    name = getattr(watched.to_keys, "__name__", "the map function")
    raise TypeError(
        f"{name} answered {answer!r}; answer a list of Keys, such as [Key(namespace, name)], or an empty one"
    )


def handler(
    declared: Controller,
    kind: type[Resource],
    keys_by_index: Callable[[str, str], Iterable[Key]],
    add: Callable[[Key, int], None],
) -> Callable[[InformerEvent[Any]], None]:
    """Return the event handler of a kind; it tells ``add`` each key to be reconciled, and its priority."""
    log = FailureLog(FieldLogger(f"attractor.controller.{declared.name}", {"controller": declared.name}))

    def handle(event: InformerEvent[Any]) -> None:
        def failed(what: str, error: Exception) -> None:
            log.failed(what, error, kind=kind.__name__, key=str(event.key))

        priority = INITIAL_PRIORITY if event.is_initial else 0
        for key in sorted(keys_for(declared, kind, event, keys_by_index, failed)):  # the same in every process
            add(key, priority)

    return handle


def keys_for(
    declared: Controller,
    kind: type[Resource],
    event: InformerEvent[Any],
    keys_by_index: Callable[[str, str], Iterable[Key]],
    failed: Callable[[str, Exception], None],
) -> set[Key]:
    """Every key that a change of an object of a kind makes a controller reconcile.

    ``failed`` is told of what raised in the author's functions. A predicate that cannot decide lets the change pass,
    for one reconcile too many does no harm; a map function that fails leaves the other ways to a reconcile open.
    """
    found: set[Key] = set()
    if declared.for_.kind is kind and _lets_pass(declared.for_.when, event, failed):
        found.add(event.key)
    for owned in declared.owns:
        if owned.kind is kind and _lets_pass(owned.when, event, failed):
            try:
                found |= owner_keys(owned, declared.for_.kind, event)
            except msgspec.DecodeError as error:
                failed("owner references cannot be understood, so no owner is reconciled", error)
    for watched in declared.watches:
        if watched.kind is kind and _lets_pass(watched.when, event, failed):
            try:
                found |= watched_keys(watched, event, keys_by_index)
            except Exception as raised:  # author's code on arbitrary objects
                failed("a map function failed, so nothing is reconciled for this change", raised)
    return found


def _lets_pass(when: Predicate, event: InformerEvent[Any], failed: Callable[[str, Exception], None]) -> bool:
    try:
        return passes(when, event)
    except Exception as error:  # author's code on arbitrary objects
        failed("a predicate failed, so the change passes", error)
        return True

"""Predicates: which changes are worth a reconcile.

    For(ConfigPair, when=generation_changed | annotations_changed)

A predicate sees an object before and after. The ready-made ones let creations and deletions pass, since both sides
cannot be compared there. Combine them with ``&``, ``|`` and ``~``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.cache.handlers import InformerEvent
    from attractor.objects.resource import ObjectMeta


class Change:
    """An object before and after; ``old`` is None when it was created, ``new`` when it was deleted."""

    __slots__ = ("_new", "_old")

    def __init__(self, old: Any, new: Any) -> None:
        self._old = old
        self._new = new

    @property
    def old(self) -> Any:
        """The object before; None when it is new."""
        return self._old

    @property
    def new(self) -> Any:
        """The object now; None when it is gone."""
        return self._new

    @property
    def object(self) -> Any:
        """The object as it is now, or as it last was."""
        return self.old if self.new is None else self.new


class LazyChange(Change):
    """A change whose objects are decoded only when a predicate looks at them."""

    __slots__ = ("_event",)

    def __init__(self, event: InformerEvent[Any]) -> None:
        super().__init__(None, None)
        self._event = event

    @property
    def old(self) -> Any:
        """The object before; None when it is new."""
        return self._event.object if self._event.type == "delete" else self._event.old

    @property
    def new(self) -> Any:
        """The object now; None when it is gone."""
        return None if self._event.type == "delete" else self._event.object


class Predicate:
    """Decides whether a change of an object is worth a reconcile; combine predicates with ``&``, ``|`` and ``~``.

        For(ConfigPair, when=generation_changed | annotations_changed)

    Those that compare metadata let creations and deletions pass, since there is nothing to compare with.

    Args:
        decide: A function of the change: ``old`` is ``None`` for a creation, ``new`` for a deletion.
        text: A name for messages.
    """

    __slots__ = ("_decide", "_text")

    def __init__(self, decide: Callable[[Change], bool], text: str = "") -> None:
        self._decide = decide
        self._text = text or getattr(decide, "__name__", "predicate")

    def __call__(self, change: Change) -> bool:
        """Return whether the change is worth it."""
        return self._decide(change)

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(lambda change: self(change) and other(change), f"({self._text} and {other._text})")

    def __or__(self, other: Predicate) -> Predicate:
        return Predicate(lambda change: self(change) or other(change), f"({self._text} or {other._text})")

    def __invert__(self) -> Predicate:
        return Predicate(lambda change: not self(change), f"not {self._text}")

    def __repr__(self) -> str:
        return self._text


def changed(part: Callable[[ObjectMeta], Any], text: str) -> Predicate:
    """A predicate on one part of the metadata: true where it differs, and for creations and deletions."""

    def decide(change: Change) -> bool:
        if change.old is None or change.new is None:
            return True
        return bool(part(change.old.metadata) != part(change.new.metadata))

    return Predicate(decide, text)


always = Predicate(lambda change: True, "always")  # noqa: ARG005
resource_version_changed = changed(lambda meta: meta.resource_version, "resourceVersion changed")
"""Any change of the object, its status included."""
generation_changed = changed(lambda meta: (meta.generation, meta.deletion_timestamp), "generation changed")
"""The spec changed, or deletion was requested; for kinds whose generation the server counts."""
labels_changed = changed(lambda meta: meta.labels, "labels changed")
"""The labels changed."""
annotations_changed = changed(lambda meta: meta.annotations, "annotations changed")
"""The annotations changed."""
created = Predicate(lambda change: change.old is None, "created")
"""The object was created, or seen for the first time."""
deleted = Predicate(lambda change: change.new is None, "deleted")
"""The object is gone."""


def newly_held(finalizer: str) -> Predicate:
    """The object got this finalizer, or deletion was requested while it has it.

    Whoever holds objects with a finalizer must see these changes, whatever else it leaves out.
    """

    def decide(change: Change) -> bool:
        if change.old is None or change.new is None:
            return False
        old, new = change.old.metadata, change.new.metadata
        is_new = finalizer not in old.finalizers or old.deletion_timestamp != new.deletion_timestamp
        return finalizer in new.finalizers and is_new

    return Predicate(decide, f"newly held by {finalizer}")


def labels_match(**labels: str) -> Predicate:
    """The object has all these labels, before or after the change."""

    def has(obj: Any) -> bool:
        return obj is not None and all(obj.metadata.labels.get(name) == value for name, value in labels.items())

    return Predicate(lambda change: has(change.old) or has(change.new), f"labels match {labels}")

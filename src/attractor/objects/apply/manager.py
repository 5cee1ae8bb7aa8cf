"""The flow of a write through field management: ``on_update`` after a change, ``on_apply`` to make one.

Expected flow in the API core::

    fields = FieldManager(schema, empty)                # once for each kind and version
    entries = fields.on_update(None, new, manager="kubectl", now=now)                      # POST
    entries = fields.on_update(live, new, manager="kubectl", now=now, reset=RESET_STATUS)  # PUT and the other patches
    entries = fields.on_update(live, new, manager="m", subresource="status", now=now, reset=RESET_SPEC)
    merged, entries = fields.on_apply(live, applied, manager="m", force=False, now=now)    # apply; live=None creates

``entries`` becomes ``metadata.managedFields`` (left out when empty). ``new`` and ``merged`` are complete, defaulted
where the kind defaults on decoding; after ``on_apply`` the core applies defaults to ``merged`` and goes on as for an
update, without calling ``on_update``.

Guarantees: no argument is changed; what did not change is shared. A write that changes nothing that is tracked
returns the live entries themselves. Deterministic: ``now`` is the only time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.objects.jsontypes import JsonObject
    from attractor.objects.schema.node import Schema

FieldSet: TypeAlias = "dict[str, FieldSet]"

RESET_STATUS: FieldSet = {"f:status": {}}
"""What a write of the main resource does not touch, for a kind with a status subresource."""
RESET_SPEC: FieldSet = {"f:metadata": {}, "f:spec": {}}
"""What a write of the status subresource does not touch."""

Convert: TypeAlias = "Callable[[JsonObject, str], tuple[JsonObject, Schema | None] | None]"
"""An object in another version of its kind, with that version's schema; None when there is no such version."""


class FieldManager:
    """Field management of one kind in one version.

    ``schema`` is the kind's, or None for a kind without one. ``empty`` is what a fresh object of the kind encodes to
    before anything was set (``apiVersion``, ``kind``, and, for built-in kinds, the structs that are always present).
    ``convert`` finds the object in another version when managedFields names one; without it, versions are taken to
    share one shape.
    """

    def __init__(self, schema: Schema | None, empty: JsonObject, convert: Convert | None = None) -> None:
        raise NotImplementedError

    def on_update(
        self,
        live: JsonObject | None,
        new: JsonObject,
        *,
        manager: str,
        now: str,
        subresource: str = "",
        reset: FieldSet | None = None,
    ) -> list[JsonObject]:
        """The managedFields of ``new``, written by ``manager`` at ``now`` (RFC 3339, whole seconds).

        ``new`` may carry managedFields of its own: ``[]`` or ``[{}]`` forgets all owners, well-formed entries replace
        the live ones (not through a subresource), anything else is ignored. ``reset`` names what the write cannot
        touch, and so cannot own. Never raises for a strange object: it then keeps the live entries.
        """
        raise NotImplementedError

    def on_apply(
        self,
        live: JsonObject | None,
        applied: JsonObject,
        *,
        manager: str,
        force: bool,
        now: str,
        subresource: str = "",
        reset: FieldSet | None = None,
    ) -> tuple[JsonObject, list[JsonObject]]:
        """The object after ``applied`` is merged into it, without managedFields, and its new managedFields.

        The object equals ``live`` when nothing changed. Raises ``Conflict`` with a cause for every field that another
        manager owns with a different value (unless ``force``), ``BadRequest`` for an object of another kind or with
        managedFields, and a plain ``ApiError`` (500, as Kubernetes) for one that does not fit the schema.
        """
        raise NotImplementedError

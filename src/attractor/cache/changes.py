"""Changes of an object as a watch tells them: it comes into view, changes, is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from attractor.client.kinds import EncodedObject


class Added(msgspec.Struct, frozen=True):
    """An object came into view; ``is_initial`` when it was there before we looked."""

    object: EncodedObject
    is_initial: bool = False


class Updated(msgspec.Struct, frozen=True):
    """An object changed, or another one took its name (``uid`` differs)."""

    old: EncodedObject
    new: EncodedObject


class Deleted(msgspec.Struct, frozen=True):
    """An object is gone; ``object`` is its last known state, which may not be its last."""

    object: EncodedObject


Change: TypeAlias = Added | Updated | Deleted

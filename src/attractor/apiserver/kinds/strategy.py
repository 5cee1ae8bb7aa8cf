"""The rules of one kind, beyond those of all kinds.

The core runs every write through its kind's strategy, in this order: ``decode`` (shape), ``default``,
``prepare_create`` or ``prepare_update`` (what the caller may not set), then ``validate`` or ``validate_update``. All
take the object as plain JSON that the core owns and may change in place; ``old`` is never changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apply.manager import RESET_SPEC, RESET_STATUS
from attractor.objects.fields import METADATA_ONLY, SelectableFields

if TYPE_CHECKING:
    from attractor.apply.fieldset import FieldSet
    from attractor.objects.field import FieldError
    from attractor.objects.json_types import JsonObject


class Decoded:
    """A request's object after decoding, and what a strict reader would object to."""

    __slots__ = ("obj", "unknown")

    def __init__(self, obj: JsonObject, unknown: list[str]) -> None:
        self.obj = obj
        self.unknown = unknown
        """Paths of fields that the kind does not have; already dropped from ``obj``."""


class Strategy:
    """The rules of a kind that has none of its own; built-in kinds and custom resources override what they need."""

    has_generation: bool = True
    """Whether ``metadata.generation`` counts changes of everything but metadata and status."""
    counts_changes: bool = False
    """Whether changes of the spec are counted although a new object has no generation."""
    has_status_subresource: bool = False
    """Whether status is written only through its subresource."""
    allow_create_on_update: bool = False
    """Whether PUT creates a missing object."""
    orphans_by_default: bool = False
    """Whether dependents stay when the caller of a delete does not say what becomes of them."""
    warns_of_orphans: str = ""
    """What such a caller is told."""
    allow_unconditional_update: bool = True
    """Whether PUT may leave out ``metadata.resourceVersion``."""

    def __init__(self) -> None:
        self.selectable: SelectableFields = METADATA_ONLY
        """What field selectors may name."""

    def decode(self, obj: JsonObject) -> Decoded:
        """Check types and bring the object into the kind's shape; raises ``DecodeError``."""
        return Decoded(obj, [])

    def fitted(self, obj: JsonObject) -> JsonObject | None:
        """The object with numbers cut to what their types hold; None if there is none to cut, or types hold all."""
        return None

    def reset_fields(self, subresource: str) -> FieldSet | None:
        """What a write through the main resource or a subresource cannot touch, and so cannot own."""
        if subresource == "status":
            return RESET_SPEC
        return RESET_STATUS if self.has_status_subresource and not subresource else None

    def default(self, obj: JsonObject) -> None:
        """Fill in, in place, what the caller left out."""

    def default_applied(self, obj: JsonObject) -> None:
        """The same for an object that an apply made."""
        self.default(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        """Drop or set, in place, what a caller may not choose on create (status, generation is the core's)."""

    def canonicalize(self, obj: JsonObject) -> None:
        """Bring a valid new object, in place, into the form in which it is stored."""

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str) -> None:
        """Put back, in place, what this request may not change (status on the main resource, spec on status)."""

    def stamp(self, obj: JsonObject, old: JsonObject, subresource: str, now: str) -> None:
        """Write down, in place, when what this request changes was changed."""

    def grace_period_s(self, obj: JsonObject, asked: int | None) -> int:
        """How long a delete waits before the object goes; most kinds go at once."""
        return 0

    def prepare_delete(self, obj: JsonObject, now: str) -> None:
        """Change, in place, what marking the object as deleted means beyond its metadata."""

    def awaits_finalization(self, obj: JsonObject) -> bool:
        """Whether a deleted object still waits for something other than its metadata.finalizers."""
        return False

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Why the name is not allowed; ``prefix`` when it is a generateName."""
        return []

    def identity_errors(self, obj: JsonObject) -> list[FieldError]:
        """What keeps an object from being looked at any further: it says that it is something else."""
        return []

    def validate(self, obj: JsonObject) -> list[FieldError]:
        """Every rule that a new object breaks."""
        return []

    def warnings(self, obj: JsonObject, old: JsonObject | None) -> list[str]:
        """What to tell the writer of a valid object; ``old`` is what it replaces."""
        return []

    def validate_update(self, obj: JsonObject, old: JsonObject, subresource: str) -> list[FieldError]:
        """Every rule that the change breaks."""
        return self.validate(obj)

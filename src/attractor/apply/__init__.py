"""Server-side apply: who owns which field, and what an applied configuration makes of an object.

The core keeps one ``FieldManager`` for each kind and version, and calls it on every write. Guarantees: an apply never
takes a field from another manager unless forced; a field leaves the object when its last owner stops applying it; a
write that changes nothing changes no entry and no time. Objects and field sets are plain JSON and never mutated.

Start with ``manager`` (the flow of an update and of an apply), then ``fieldset`` (sets of field paths, in the shape
of FieldsV1), ``atoms`` (how a schema node merges) and the four walks over an object: ``typing`` (is it well formed,
which fields does it name), ``compare``, ``merge`` and ``remove``.
"""

from attractor.apply.manager import FieldManager

__all__ = ["FieldManager"]

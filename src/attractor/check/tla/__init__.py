"""Specifications as TLA+, so that a sceptic can check our answers with TLC.

``export(spec)`` translates the Python source of the actions and properties into a readable TLA+ module, with one
configuration for safety and one for liveness. What is outside the subset is refused with file, line and reason:
actions for good, properties by leaving them out and saying so.

The subset: variables declared with ``var``, ``each``, ``subset`` and ``fields``; numbers, strings, booleans, None,
enums, tuples, frozensets, records and maps; assignments to variables, keys and locals, ``if``, ``for`` over what is
known beforehand, ``require``, ``choose``, helper methods with or without effects; comparisons, arithmetic, set and
tuple operations, comprehensions, ``all``, ``any``, ``len``, counting ``sum``; every kind of property but ``until`` and
``refines``.

Read ``module`` first (what becomes of each declaration), then ``steps`` (statements) and ``expressions``.
"""

from attractor.check.tla.module import Export, export
from attractor.check.tla.source import OutsideSubset

__all__ = ["Export", "OutsideSubset", "export"]

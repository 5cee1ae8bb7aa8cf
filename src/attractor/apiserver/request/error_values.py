"""Empty maps and lists in refusals: Go keeps them apart from absent ones until they are stored.

Decoding here leaves no trace of a field that is empty, for nothing of it is stored. Where a refusal shows such a field
as ``null``, the document that the caller sent tells whether it was ``{}`` or ``[]``:

>>> from attractor.objects.field import FieldError
>>> error = FieldError.invalid("spec.labels", None, "does not match")
>>> str(as_given([error], {"spec": {"labels": {}}})[0])
'spec.labels: Invalid value: {}: does not match'
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.objects.field import FieldError

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_SHOWING = frozenset({"FieldValueInvalid", "FieldValueNotSupported", "FieldValueDuplicate"})


def as_given(errors: Sequence[FieldError], document: Any) -> list[FieldError]:
    """The errors, with values that were sent empty shown as empty; a list of JSON patches tells nothing."""
    return [
        error._replace(value=found)
        if error.value is None
        and error.path != "spec"
        and error.reason in _SHOWING
        and (found := _emptied(_at(document, error.path))) in ({}, [])
        else error
        for error in errors
    ]


def _emptied(value: Any) -> Any:
    """What a merge patch leaves of a map all of whose keys it takes away."""
    return {} if isinstance(value, dict) and all(item is None for item in value.values()) else value


def _at(document: Any, path: str) -> Any:
    """The value at a path; None if there is none."""
    for name, index in _STEP.findall(path):
        if name and isinstance(document, dict):
            document = document.get(name)
        elif index and isinstance(document, list) and int(index) < len(document):
            document = document[int(index)]
        else:
            return None
    return document

"""Answers of 500 and more that are no bugs of ours: Kubernetes gives them, in these words."""

from __future__ import annotations

RECORDED = (
    b"failed to create typed patch object",
    b"failed to create manager for existing fields",
    b"does not contain declared merge key",
    b"invalid key",
    b"ParseUint",
    b"resourceVersion should not be set on objects to be created",
    b"target.name: Required value",
    b"target.kind: Unsupported value",
    b"Object 'apiVersion' is missing in 'object has no apiVersion field'",
    b'the spec replicas field \\".spec',
)
"""Refusals that a recorded kube-apiserver answers with 500; ours must, too."""

BY_SOURCE = (
    b"unknown patch type",
    b"list element types are not identical",
    b"but received a",
    b"The order in patch list",
    b"Too large resource",
)
"""Refusals that no recording shows, and that Kubernetes' source gives the same codes: the first four are errors of its
``strategicpatch`` package that ``interpretStrategicMergePatchError`` passes on as they are (500, as the recorded missing
merge key), the last is ``NewTooLargeResourceVersionError``, which is a ``NewTimeoutError`` (504)."""


def is_internal(code: int, body: bytes) -> bool:
    """Whether an answer is a bug of ours."""
    return code >= 500 and not any(said in body for said in RECORDED + BY_SOURCE)

"""CEL, as Kubernetes speaks it: typed by schema, with its libraries, and with limits on what a rule may cost.

Read ``program`` first (compile, evaluate), then ``parser``, ``checker`` and ``evaluator``; ``rules`` runs the
``x-kubernetes-validations`` of a schema; ``cost`` bounds a rule before any object exists.
Guarantees: an evaluation stops when its budget is used up; no expression and no value makes it hang or raise anything
but ``CelError``. Refuses: constructing protobuf messages.
"""

from attractor.cel.checker import CelCheckError
from attractor.cel.declaration import Declaration, declare
from attractor.cel.program import PER_CALL_LIMIT, CelProgram
from attractor.cel.values import CelError, CostExceeded

__all__ = [
    "PER_CALL_LIMIT",
    "CelCheckError",
    "CelError",
    "CelProgram",
    "CostExceeded",
    "Declaration",
    "declare",
]

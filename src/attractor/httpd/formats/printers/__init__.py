"""Which columns each kind shows, and what stands in them.

A printer is registered for a group and kind by ``prints``; kinds without one show their name and when they were
created, as Kubernetes does for them. Printers see objects in the shape in which they are stored.
"""

from __future__ import annotations

from functools import cache

from attractor.httpd.formats.printers import access, cluster, network, pods, policy, scaling, storage, workloads
from attractor.httpd.formats.printers.columns import CREATED_AT, DEFAULT, PRINTERS, Printer


@cache
def builtin_printer(group: str, kind: str) -> Printer:
    """The printer of a built-in kind, whatever its version."""
    return PRINTERS.get((group, kind), DEFAULT)


__all__ = [
    "CREATED_AT",
    "Printer",
    "access",
    "builtin_printer",
    "cluster",
    "network",
    "pods",
    "policy",
    "scaling",
    "storage",
    "workloads",
]

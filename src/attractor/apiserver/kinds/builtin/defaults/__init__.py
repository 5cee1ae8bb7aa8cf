"""Defaults of built-in kinds: one function for each kind, found by ``defaulter``.

Read ``pod`` first; the other modules are families of kinds. Every function expects an object that was decoded, so the
structs that Go always has are there. Kinds that are not listed have no defaults in Kubernetes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.defaults.cluster import CLUSTER
from attractor.apiserver.kinds.builtin.defaults.core import CORE
from attractor.apiserver.kinds.builtin.defaults.workloads import WORKLOADS

if TYPE_CHECKING:
    from attractor.apiserver.kinds.builtin.defaults.fill import Defaulter
    from attractor.objects.gvk import GroupVersionKind


def defaulter(gvk: GroupVersionKind) -> Defaulter | None:
    """The function that fills in a kind's defaults, if it has any."""
    if not gvk.group:
        return CORE.get(gvk.kind)
    return WORKLOADS.get((gvk.group, gvk.version, gvk.kind)) or CLUSTER.get((gvk.group, gvk.kind))


__all__ = ["defaulter"]

"""Built-in Kubernetes kinds, typed: ``from attractor.k8s import ConfigMap, Deployment, PodSpec``.

Every class has its home in the module of its group and version (``core_v1``, ``apps_v1``, ...), which is where to look
for one of two with the same name: ``Event`` here is that of ``core_v1``, not of ``events_v1``. Classes are made when
first asked for, from the published schemas; ``catalog`` has what a server needs to know of each kind.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

GROUPS = (
    "core_v1",
    "apps_v1",
    "batch_v1",
    "networking_v1",
    "policy_v1",
    "rbac_v1",
    "coordination_v1",
    "apiextensions_v1",
)


def __getattr__(name: str) -> Any:
    if name[:1].isupper():
        for group in GROUPS:
            found = getattr(import_module(f"{__name__}.{group}"), name, None)
            if found is not None:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

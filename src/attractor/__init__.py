"""Attractor: write, run and prove Kubernetes-style controllers in Python.

An attractor is the set of states that a system falls into from every start and then never leaves. Delivering
"eventually always desired" is what a controller owes its users, and what this package is for.

The names that a first operator needs are here, loaded when they are first used; each package's docstring says what it
guarantees. ``attractor.check`` is the checker's package; its function is ``attractor.check.check``. Read
``ARCHITECTURE.md`` for the house and its floors.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from attractor.apiserver.core import Request
    from attractor.cache import Scope, drop_managed_fields
    from attractor.client import Client, MetadataOnly
    from attractor.client.configuration.kubeconfig import load_kubeconfig
    from attractor.embedded import EmbeddedCluster
    from attractor.embedded.lifecycles import LifecycleAdmission
    from attractor.httpd.audit.file import AuditFile
    from attractor.objects.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound
    from attractor.objects.gvk import GroupKind, GroupVersionKind, Key
    from attractor.objects.resource import (
        Condition,
        LabelSelector,
        ListMap,
        Meta,
        ObjectMeta,
        PrinterColumn,
        Resource,
        Rule,
        Scale,
        Struct,
        crd_for,
    )
    from attractor.runtime import (
        Context,
        Controller,
        Election,
        For,
        Index,
        Manager,
        Owns,
        Permission,
        Reconciler,
        Result,
        TerminalError,
        Watches,
    )
    from attractor.runtime.controller import controller  # not from the package: its module has the same name
    from attractor.runtime.observability.field_logger import FieldFormatter, JsonFormatter
    from attractor.runtime.observability.tracing import Tracer
    from attractor.webhooks import (
        AdmissionRequest,
        AdmissionWebhook,
        Conversion,
        Denied,
        UserInfo,
        convert,
        mutate,
        validate,
    )
    from attractor.workqueue import Backoff, MaxOf, TokenBucket

_HOMES = {
    "attractor.apiserver.core": ("Request",),
    "attractor.embedded.lifecycles": ("LifecycleAdmission",),
    "attractor.httpd.audit.file": ("AuditFile",),
    "attractor.runtime.observability.field_logger": ("FieldFormatter", "JsonFormatter"),
    "attractor.runtime.observability.tracing": ("Tracer",),
    "attractor.cache": ("Scope", "drop_managed_fields"),
    "attractor.client": ("Client", "MetadataOnly"),
    "attractor.client.configuration.kubeconfig": ("load_kubeconfig",),
    "attractor.embedded": ("EmbeddedCluster",),
    "attractor.objects.errors": ("AlreadyExists", "ApiError", "Conflict", "Invalid", "NotFound"),
    "attractor.objects.gvk": ("GroupKind", "GroupVersionKind", "Key"),
    "attractor.objects.resource": (
        "Condition",
        "LabelSelector",
        "ListMap",
        "Meta",
        "ObjectMeta",
        "PrinterColumn",
        "Resource",
        "Rule",
        "Scale",
        "Struct",
        "crd_for",
    ),
    "attractor.runtime": (
        "Context",
        "Controller",
        "Election",
        "For",
        "Index",
        "Manager",
        "Owns",
        "Permission",
        "Reconciler",
        "Result",
        "TerminalError",
        "Watches",
    ),
    "attractor.runtime.controller": ("controller",),
    "attractor.webhooks": (
        "AdmissionRequest",
        "AdmissionWebhook",
        "Conversion",
        "Denied",
        "UserInfo",
        "convert",
        "mutate",
        "validate",
    ),
    "attractor.workqueue": ("Backoff", "MaxOf", "TokenBucket"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AdmissionRequest",
    "AdmissionWebhook",
    "AlreadyExists",
    "ApiError",
    "AuditFile",
    "Backoff",
    "Client",
    "Condition",
    "Conflict",
    "Context",
    "Controller",
    "Conversion",
    "Denied",
    "Election",
    "EmbeddedCluster",
    "FieldFormatter",
    "For",
    "GroupKind",
    "GroupVersionKind",
    "Index",
    "Invalid",
    "JsonFormatter",
    "Key",
    "LabelSelector",
    "LifecycleAdmission",
    "ListMap",
    "Manager",
    "MaxOf",
    "Meta",
    "MetadataOnly",
    "NotFound",
    "ObjectMeta",
    "Owns",
    "Permission",
    "PrinterColumn",
    "Reconciler",
    "Request",
    "Resource",
    "Result",
    "Rule",
    "Scale",
    "Scope",
    "Struct",
    "TerminalError",
    "TokenBucket",
    "Tracer",
    "UserInfo",
    "Watches",
    "controller",
    "convert",
    "crd_for",
    "drop_managed_fields",
    "load_kubeconfig",
    "mutate",
    "validate",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'attractor' has no attribute {name!r}")
    found = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Rules of amounts: which resources there are, and that requests stay within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.validation.rules import amount, quantity_at_least_zero
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

CONTAINER_RESOURCES = frozenset(("cpu", "memory", "ephemeral-storage"))
STANDARD_RESOURCES = frozenset(
    (
        "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
        "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services",
        "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims", "storage", "requests.storage",
        "services.nodeports", "services.loadbalancers",
    )
)  # fmt: skip
INTEGER_RESOURCES = frozenset(
    ("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
     "persistentvolumeclaims", "services.nodeports", "services.loadbalancers")
)  # fmt: skip
_HUGE_PAGES = "hugepages-"


def validate_resource_name(name: str, path: str) -> list[FieldError]:
    """A resource that Kubernetes knows, or one with a domain."""
    errors = [FieldError.invalid(path, name, message) for message in names.qualified_name(name)]
    if not errors and "/" not in name and name not in STANDARD_RESOURCES and not is_huge_pages(name):
        errors.append(FieldError.invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors


def validate_container_resource(name: str, path: str) -> list[FieldError]:
    """A resource that containers use: processor, memory, disk or pages, or one with a domain."""
    errors = validate_resource_name(name, path)
    if "/" not in name and name not in CONTAINER_RESOURCES and not is_huge_pages(name):
        errors.append(FieldError.invalid(path, name, "must be a standard resource for containers"))
    return errors


def is_huge_pages(name: str) -> bool:
    """Pages of some size, or a quota of them."""
    return name.startswith((_HUGE_PAGES, f"requests.{_HUGE_PAGES}", f"limits.{_HUGE_PAGES}"))


def _may_overcommit(name: str) -> bool:
    """Whether limits may be higher than requests: of Kubernetes' own resources, but for huge pages."""
    return ("/" not in name or "kubernetes.io/" in name) and not is_huge_pages(name)


def validate_requirements(resources: JsonObject | None, path: str) -> list[FieldError]:
    """Limits and requests of a container."""
    if not resources:
        return []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    errors = []
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            at = f"{path}.{field}[{name}]"
            errors += validate_container_resource(name, at)
            errors += quantity_at_least_zero(value, at)
    asked = {*limits, *requests}
    if any(is_huge_pages(name) for name in asked) and not asked & {"cpu", "memory"}:
        errors.append(FieldError.forbidden(path, "HugePages require cpu or memory"))
    for name, value in requests.items():
        limit = limits.get(name)
        if limit is None:
            if not _may_overcommit(name):
                detail = "Limit must be set for non overcommitable resources"
                errors.append(FieldError.required(f"{path}.limits", detail))
        elif _may_overcommit(name) and amount(value) > amount(limit):
            detail = f"must be less than or equal to {name} limit of {limit}"
            errors.append(FieldError.invalid(f"{path}.requests", value, detail))
        elif not _may_overcommit(name) and amount(value) != amount(limit):
            detail = f"must be equal to {name} limit of {limit}"
            errors.append(FieldError.invalid(f"{path}.requests", value, detail))
    return errors

"""Resource requests of a whole pod: its containers together, or the hungriest of those that run before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.quantity import Quantity

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject


def pod_amounts(spec: JsonObject, field: str) -> dict[str, Quantity]:
    """Sums by resource of ``requests`` or ``limits``.

    >>> spec = {"containers": [{"resources": {"requests": {"cpu": "500m"}}}] * 2,
    ...         "initContainers": [{"resources": {"requests": {"cpu": "2"}}}]}
    >>> {name: str(amount) for name, amount in pod_amounts(spec, "requests").items()}
    {'cpu': '2'}
    """
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        total = _sum(total, amounts_of(container, field))
    sidecars: dict[str, Quantity] = {}
    first: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        own = amounts_of(container, field)
        if container.get("restartPolicy") == "Always":
            total, sidecars = _sum(total, own), _sum(sidecars, own)
            own = sidecars
        else:
            own = _sum(own, sidecars)
        first = {name: max(first.get(name, amount), amount) for name, amount in {**first, **own}.items()}
    for name, amount in first.items():
        total[name] = max(total.get(name, amount), amount)
    overhead = {name: Quantity.parse(str(value)) for name, value in (spec.get("overhead") or {}).items()}
    return _sum(total, overhead) if field == "requests" else total


def amounts_of(container: JsonObject, field: str) -> dict[str, Quantity]:
    """The amounts that one container has in ``requests`` or ``limits``."""
    said = (container.get("resources") or {}).get(field) or {}
    return {name: Quantity.parse(str(value)) for name, value in said.items()}


def _sum(some: dict[str, Quantity], more: dict[str, Quantity]) -> dict[str, Quantity]:
    found = dict(some)
    for name, amount in more.items():
        found[name] = found[name] + amount if name in found else amount
    return found

"""Validation of Clusters beyond their schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.quantity import Quantity, QuantityError
from attractor.operators.dbcluster.drivers import redis
from attractor.plan import Dag, DagError

if TYPE_CHECKING:
    from attractor.operators.dbcluster.api.types import Cluster, Component

MAX_NAME = 30
"""Longer names would make names of children longer than 63 characters."""


def problems(cluster: Cluster) -> list[str]:
    """Everything that is wrong, each as one sentence."""
    spec = cluster.spec
    names = {one.name for one in spec.components}
    found = []
    if len(cluster.metadata.name) > MAX_NAME:
        found.append(f"its name is longer than {MAX_NAME} characters")
    for component in spec.components:
        found += _component(component, names)
    for service in spec.services:
        if service.component not in names:
            found.append(f"service {service.name} is for component {service.component}, which there is not")
        if any(service.name in {one, f"{one}-headless"} for one in names):
            found.append(f"service {service.name} has the name that a component's own Service has")
    try:
        dependencies(cluster).topological()
    except DagError as error:
        found.append(str(error))
    return found


def _component(component: Component, names: set[str]) -> list[str]:
    found = [
        f"component {component.name} depends on {other}, which there is not"
        for other in component.depends_on
        if other not in names
    ]
    for field, value in (
        ("storage", component.storage),
        ("cpu", component.resources.cpu),
        ("memory", component.resources.memory),
    ):
        try:
            if Quantity.parse(value).sign <= 0:
                found.append(f"component {component.name} asks for {field} {value!r}, which is nothing")
        except QuantityError:
            found.append(f"component {component.name} asks for {field} {value!r}, which is no quantity such as 1Gi")
    return found + redis.problems(component)


def dependencies(cluster: Cluster) -> Dag[str]:
    """The components, and which depends on which."""
    names = [one.name for one in cluster.spec.components]
    edges = [(one.name, other) for one in cluster.spec.components for other in one.depends_on if other in names]
    return Dag(names, edges)

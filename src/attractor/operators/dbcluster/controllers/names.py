"""Names and labels of what belongs to a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta

if TYPE_CHECKING:
    from attractor.objects.resource import Resource
    from attractor.operators.dbcluster.api.types import Cluster, Component

MANAGED_BY = "app.kubernetes.io/managed-by"
INSTANCE = "app.kubernetes.io/instance"
COMPONENT = "app.kubernetes.io/component"
OPERATOR = "dbcluster.attractor.dev"
ROLLBACK = "db.attractor.dev/rollback-to"
"""The annotation that asks for an earlier revision of the spec, by number."""
FINALIZER = "db.attractor.dev/cluster"


def labels(cluster: Cluster) -> dict[str, str]:
    """Return the labels of everything in a cluster."""
    return {MANAGED_BY: OPERATOR, INSTANCE: cluster.metadata.name}


def component_labels(cluster: Cluster, component: Component) -> dict[str, str]:
    """Return the labels of everything in a component, its pods included."""
    return {**labels(cluster), COMPONENT: component.name}


def selector(cluster: Cluster) -> str:
    """Selects everything of a cluster."""
    return ",".join(f"{name}={value}" for name, value in labels(cluster).items())


def metadata(cluster: Cluster, suffix: str, component: Component | None = None) -> ObjectMeta:
    """Return the metadata of an object of a cluster: namespace, name, labels, owner."""
    return ObjectMeta(
        name=f"{cluster.metadata.name}-{suffix}" if suffix else cluster.metadata.name,
        namespace=cluster.metadata.namespace,
        labels=labels(cluster) if component is None else component_labels(cluster, component),
    )


def credentials_key(cluster: Cluster) -> Key:
    """Return the key of the credentials Secret."""
    return Key(cluster.metadata.namespace, f"{cluster.metadata.name}-credentials")


def tls_key(cluster: Cluster, component: Component) -> Key:
    """Return the key of a component's certificate Secret."""
    return Key(cluster.metadata.namespace, f"{cluster.metadata.name}-{component.name}-tls")


def workload_key(cluster: Cluster, component: Component) -> Key:
    """Return the key of a component's StatefulSet; its pods are called the same, with a number."""
    return Key(cluster.metadata.namespace, f"{cluster.metadata.name}-{component.name}")


def headless_name(cluster: Cluster, component: Component) -> str:
    """The Service that gives each pod of a component a name of its own."""
    return f"{cluster.metadata.name}-{component.name}-headless"


def cluster_keys(obj: Resource) -> list[Key]:
    """The cluster that an object says it belongs to, owned or not."""
    carried = obj.metadata.labels
    if carried.get(MANAGED_BY) != OPERATOR or INSTANCE not in carried:
        return []
    return [Key(obj.metadata.namespace, carried[INSTANCE])]

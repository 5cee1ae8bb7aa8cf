"""Objects that many tests need, each made in one place."""

from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta


def config_map(
    name: str = "a", labels: dict[str, str] | None = None, *, namespace: str = "default", uid: str = "", **data: str
) -> ConfigMap:
    """A ConfigMap with some data."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels or {}, uid=uid), data=data)

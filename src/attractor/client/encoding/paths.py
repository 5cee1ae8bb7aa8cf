"""URL paths of resources.

>>> resource_path("apps", "v1", "deployments", "a", "web", "scale")
'/apis/apps/v1/namespaces/a/deployments/web/scale'
>>> resource_path("", "v1", "namespaces", "", "a")
'/api/v1/namespaces/a'
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote


@lru_cache(maxsize=1024)
def _collection(group: str, version: str, resource: str, namespace: str) -> str:
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return f"{base}/namespaces/{quote(namespace, safe='')}/{resource}" if namespace else f"{base}/{resource}"


def resource_path(
    group: str, version: str, resource: str, namespace: str = "", name: str = "", subresource: str = ""
) -> str:
    """The path of a collection, an object or a subresource, percent-encoded."""
    path = _collection(group, version, resource, namespace)
    if name:
        path = f"{path}/{quote(name, safe='')}"
    return f"{path}/{subresource}" if subresource else path

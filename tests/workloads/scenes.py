"""Workloads that many tests need, and questions about them."""

from typing import Any

from attractor import Client, Key
from attractor.k8s import Deployment, Event, Pod, ReplicaSet
from attractor.testing import eventually

NAMESPACE = "default"
WEB = Key(NAMESPACE, "web")


def template(app: str, image: str = "web:1", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "main", "image": image}], **spec}}


def deployment(replicas: int = 3, image: str = "web:1", *, name: str = "web", **spec: Any) -> Deployment:
    return Deployment.from_dict(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": template(name, image),
                **spec,
            },
        }
    )


def replica_set(replicas: int = 2, *, name: str = "web", **spec: Any) -> ReplicaSet:
    return ReplicaSet.from_dict(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": template(name),
                **spec,
            },
        }
    )


def is_rolled_out(found: Deployment) -> bool:
    """What ``kubectl rollout status`` waits for."""
    status = found.status
    is_seen = status.observed_generation >= found.metadata.generation
    return is_seen and status.updated_replicas == status.replicas == status.available_replicas == found.spec.replicas


async def rolled_out(client: Client, key: Key = WEB, within_s: float = 60) -> Deployment:
    async def look() -> Deployment | None:
        found = await client.get(Deployment, key)
        return found if is_rolled_out(found) else None

    found = await eventually(look, within_s=within_s, interval_s=within_s / 1000)
    assert found is not None
    return found


async def pods(client: Client, app: str = "web") -> list[Pod]:
    return await client.list(Pod, NAMESPACE, label_selector=f"app={app}")


async def reasons(client: Client, kind: str) -> list[str]:
    return [one.reason for one in await client.list(Event, NAMESPACE) if one.involved_object.kind == kind]


async def set_image(client: Client, image: str, key: Key = WEB) -> None:
    body = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}}
    await client.patch(Deployment, key, body, type="strategic")

"""The peer written with kopf and the official client: `KUBECONFIG=... python kopf_operator.py`."""

import asyncio
import logging
from typing import Any

import kopf
import kubernetes


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = False
    settings.execution.max_workers = 16
    kubernetes.config.load_kube_config()


@kopf.on.create("bench.attractor.dev", "v1", "trios")
@kopf.on.update("bench.attractor.dev", "v1", "trios")
@kopf.on.resume("bench.attractor.dev", "v1", "trios")
def trio(name: str, namespace: str | None, spec: kopf.Spec, body: kopf.Body, **_: Any) -> None:
    api = kubernetes.client.CoreV1Api()
    for number in range(3):
        child: dict[str, Any] = {"metadata": {"name": f"{name}-{number}"}, "data": {"value": spec.get("value", "")}}
        kopf.append_owner_reference(child, owner=body)
        try:
            api.create_namespaced_config_map(namespace, child)
        except kubernetes.client.ApiException as error:
            if error.status != 409:
                raise
            api.patch_namespaced_config_map(f"{name}-{number}", namespace, {"data": child["data"]})


async def main() -> None:
    ready = asyncio.Event()
    operator = asyncio.create_task(kopf.operator(clusterwide=True, standalone=True, ready_flag=ready))
    await ready.wait()
    print("ready", flush=True)
    await operator


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main())

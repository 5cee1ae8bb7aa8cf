"""The peer written with kopf and the official client: `KUBECONFIG=... python kopf_operator.py`.

Written with care: one client for all threads, with a connection for each, so that no handler waits for a handshake;
each handler first tries what is most likely to work, so that no request is wasted.
"""

import asyncio
import logging
from typing import Any

import kopf
import kubernetes

WORKERS = 16


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    settings.posting.enabled = False
    settings.execution.max_workers = WORKERS
    configuration = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(client_configuration=configuration)
    configuration.connection_pool_maxsize = WORKERS
    memo.api = kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(configuration))


def children(name: str, spec: kopf.Spec, body: kopf.Body) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [
        {"metadata": {"name": f"{name}-{number}"}, "data": {"value": spec.get("value", "")}} for number in range(3)
    ]
    kopf.append_owner_reference(made, owner=body)
    return made


@kopf.on.create("bench.attractor.dev", "v1", "trios")
@kopf.on.resume("bench.attractor.dev", "v1", "trios")
def created(name: str, namespace: str, spec: kopf.Spec, body: kopf.Body, memo: kopf.Memo, **_: Any) -> None:
    for child in children(name, spec, body):
        try:
            memo.api.create_namespaced_config_map(namespace, child)
        except kubernetes.client.ApiException as error:
            if error.status != 409:
                raise
            memo.api.patch_namespaced_config_map(child["metadata"]["name"], namespace, {"data": child["data"]})


@kopf.on.update("bench.attractor.dev", "v1", "trios")
def updated(name: str, namespace: str, spec: kopf.Spec, body: kopf.Body, memo: kopf.Memo, **_: Any) -> None:
    for child in children(name, spec, body):
        try:
            memo.api.patch_namespaced_config_map(child["metadata"]["name"], namespace, {"data": child["data"]})
        except kubernetes.client.ApiException as error:
            if error.status != 404:
                raise
            memo.api.create_namespaced_config_map(namespace, child)


async def main() -> None:
    ready = asyncio.Event()
    operator = asyncio.create_task(kopf.operator(clusterwide=True, standalone=True, ready_flag=ready))
    await ready.wait()
    print("ready", flush=True)
    await operator


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main())

"""The peer written with kopf and the official client: `KUBECONFIG=... python kopf_operator.py [tuned]`.

As kopf's tutorial has it, each handler makes a client, and so a connection, of its own. `tuned` has one client for all
threads, with a connection for each: that takes a third less of the processor.
"""

import asyncio
import logging
import sys
from functools import cache
from typing import Any

import kopf
import kubernetes

WORKERS = 16


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = False
    settings.execution.max_workers = WORKERS
    kubernetes.config.load_kube_config()


def new_api() -> kubernetes.client.CoreV1Api:
    return kubernetes.client.CoreV1Api()


@cache
def shared_api() -> kubernetes.client.CoreV1Api:
    configuration = kubernetes.client.Configuration.get_default_copy()
    configuration.connection_pool_maxsize = WORKERS
    return kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(configuration))


core = shared_api if "tuned" in sys.argv else new_api


def children(name: str, spec: kopf.Spec, body: kopf.Body) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [
        {"metadata": {"name": f"{name}-{number}"}, "data": {"value": spec.get("value", "")}} for number in range(3)
    ]
    kopf.append_owner_reference(made, owner=body)
    return made


@kopf.on.create("bench.attractor.dev", "v1", "trios")
@kopf.on.resume("bench.attractor.dev", "v1", "trios")
def created(name: str, namespace: str, spec: kopf.Spec, body: kopf.Body, **_: Any) -> None:
    api = core()
    for child in children(name, spec, body):
        try:
            api.create_namespaced_config_map(namespace, child)
        except kubernetes.client.ApiException as error:
            if error.status != 409:
                raise
            api.patch_namespaced_config_map(child["metadata"]["name"], namespace, {"data": child["data"]})


@kopf.on.update("bench.attractor.dev", "v1", "trios")
def updated(name: str, namespace: str, spec: kopf.Spec, body: kopf.Body, **_: Any) -> None:
    api = core()
    for child in children(name, spec, body):
        try:
            api.patch_namespaced_config_map(child["metadata"]["name"], namespace, {"data": child["data"]})
        except kubernetes.client.ApiException as error:
            if error.status != 404:
                raise
            api.create_namespaced_config_map(namespace, child)


async def main() -> None:
    ready = asyncio.Event()
    operator = asyncio.create_task(kopf.operator(clusterwide=True, standalone=True, ready_flag=ready))
    await ready.wait()
    print("ready", flush=True)
    await operator


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main())

"""The node's pods: each one a process, and its status what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.k8s.core_v1 import ConfigMap, Pod, Secret
from attractor.operators.dbcluster.drivers.local.launch import NotYet, config_maps, hosts, launch_of, secrets
from attractor.operators.dbcluster.drivers.local.protocol import FINALIZER, NODE_NAME, Node
from attractor.runtime import Context, Key, Permission, Result, controller
from attractor.runtime.toolkit.finalizers import has_finalizer, remove_finalizer

if TYPE_CHECKING:
    from attractor.operators.dbcluster.drivers.local.protocol import ProcessState

STARTING_S, RUNNING_S, MISSING_S = 0.05, 0.5, 0.2
"""How soon to look again at a process that is starting, at one that is running, and for what is missing."""


@controller(
    name="local-pods",
    for_=Pod,
    externals=[Node],
    permissions=[Permission(ConfigMap, ("get",)), Permission(Secret, ("get",))],
    workers=4,
)
async def pods(ctx: Context, key: Key) -> Result | None:
    """Keep a pod's process running until the pod goes."""
    pod = await ctx.find(Pod, key)
    if pod is None or pod.spec.node_name != NODE_NAME:
        return None
    node = ctx.external(Node)
    if pod.metadata.is_deleting:
        if has_finalizer(pod, FINALIZER):
            await node.stop(key)
            ended = pod.deep_copy()
            remove_finalizer(ended, FINALIZER)
            await ctx.patch_from(pod, ended)
        return None
    address = await node.address(key)
    addresses = {host: await node.address(host) for host in hosts(pod)}
    try:
        launch = launch_of(
            pod,
            address,
            addresses,
            await _read(ctx, ConfigMap, config_maps(pod)),
            await _read(ctx, Secret, secrets(pod)),
        )
    except NotYet as missing:
        ctx.log.info("a pod has to wait", reason=str(missing))
        return Result(requeue_after_s=MISSING_S)
    state = await node.run(key, pod.metadata.uid, launch)
    await _tell(ctx, pod, address, state)
    return Result(requeue_after_s=RUNNING_S if state.is_ready else STARTING_S)


async def _read(ctx: Context, kind: Any, keys: list[Key]) -> dict[Key, Any]:
    found = {key: await ctx.find(kind, key) for key in keys}
    return {key: obj for key, obj in found.items() if obj is not None}


async def _tell(ctx: Context, pod: Pod, address: str, state: ProcessState) -> None:
    container = pod.spec.containers[0]
    ready = "True" if state.is_ready else "False"
    running = {"running": {}} if state.is_running else {"waiting": {"reason": "CrashLoopBackOff"}}
    status = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "hostIP": "127.0.0.1",
        "conditions": [{"type": kind, "status": ready} for kind in ("Ready", "ContainersReady")],
        "containerStatuses": [
            {
                "name": container.name,
                "image": container.image,
                "imageID": "",
                "ready": state.is_ready,
                "restartCount": state.starts - 1,
                "state": running,
            }
        ],
    }
    told = Pod.from_dict({**pod.to_dict(), "status": {**pod.to_dict().get("status", {}), **status}})
    if told.status != pod.status:
        await ctx.patch_from(pod, told, subresource="status")

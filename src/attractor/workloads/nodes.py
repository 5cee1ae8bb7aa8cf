"""Simulated nodes: Node objects that are ready, and the heartbeats that keep them so.

A simulated node is a Node with the annotation ``node.attractor.dev/kubelet: simulated``; ``simulated_node`` makes one.
The value ``stopped`` is a node that failed: its heartbeats cease and nothing on it moves any more.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from attractor import AlreadyExists, Context, Key, NotFound, ObjectMeta, Result, controller
from attractor.k8s import (
    Lease,
    Namespace,
    Node,
    NodeAddress,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    NodeSystemInfo,
)
from attractor.toolkit import add_owner

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

KUBELET = "node.attractor.dev/kubelet"
"""The annotation of simulated nodes: ``simulated`` or ``stopped``."""
NOT_READY = "node.kubernetes.io/not-ready"
LEASES = "kube-node-lease"
HEARTBEAT_S = 10.0
LEASE_S = 40
CAPACITY: Mapping[str, str] = {"cpu": "32", "memory": "256Gi", "pods": "110"}
"""What a simulated node has, unless you say otherwise: as a node of KWOK."""
_HEALTHY = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
}


def simulated_node(
    name: str, *, capacity: Mapping[str, str] = CAPACITY, labels: Mapping[str, str] | None = None
) -> Node:
    """A Node on which ``kubelet`` simulates Pods.

    Args:
        name: Its name, which is its host name, too.
        capacity: How much of each resource it has.
        labels: More labels than the host name's and the platform's.
    """
    known = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    info = NodeSystemInfo(architecture="amd64", operating_system="linux", kubelet_version="attractor")
    return Node(
        metadata=ObjectMeta(name=name, labels={**known, **(labels or {})}, annotations={KUBELET: "simulated"}),
        spec=NodeSpec(),
        status=NodeStatus(
            addresses=[NodeAddress(type="Hostname", address=name)],
            allocatable=dict(capacity),
            capacity=dict(capacity),
            node_info=info,
            phase="Running",
        ),
    )


def is_simulated(node: Node | None) -> bool:
    """Return whether Pods on this node are simulated, and the node works."""
    return node is not None and node.metadata.annotations.get(KUBELET) == "simulated"


@controller(name="node-heartbeats", for_=Node)
async def node_heartbeats(ctx: Context, key: Key) -> Result | None:
    """Keep a simulated node ready and its Lease renewed."""
    node = await ctx.find(Node, key)
    if node is None or not is_simulated(node):
        return None
    now = await ctx.now()
    await _tell_ready(ctx, node, now)
    await _untaint(ctx, node)
    await _renew(ctx, node, now)
    return Result(requeue_after_s=HEARTBEAT_S)


async def _tell_ready(ctx: Context, node: Node, now: datetime) -> None:
    moment = now.replace(microsecond=0)
    known = {one.type: one for one in node.status.conditions}
    if all(name in known and known[name].status == status for name, (status, _, _) in _HEALTHY.items()):
        return
    changed = node.deep_copy()
    changed.status.conditions = [
        NodeCondition(
            type=name,
            status=status,
            reason=reason,
            message=message,
            last_heartbeat_time=moment,
            last_transition_time=moment,
        )
        for name, (status, reason, message) in _HEALTHY.items()
    ]
    await ctx.patch_from(node, changed, subresource="status")


async def _untaint(ctx: Context, node: Node) -> None:
    """Let Pods come: a node is born with the taint that it is not ready."""
    kept = [taint for taint in node.spec.taints if taint.key != NOT_READY]
    if len(kept) == len(node.spec.taints):
        return
    fresh = await ctx.get(Node, node.key)
    changed = fresh.deep_copy()
    changed.spec.taints = kept
    await ctx.patch_from(fresh, changed)


async def _renew(ctx: Context, node: Node, now: datetime) -> None:
    moment = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    try:
        await ctx.patch(Lease, Key(LEASES, node.metadata.name), {"spec": {"renewTime": moment}})
    except NotFound:
        await _create_lease(ctx, node, moment)


async def _create_lease(ctx: Context, node: Node, moment: str) -> None:
    name = node.metadata.name
    spec = {"holderIdentity": name, "leaseDurationSeconds": LEASE_S, "renewTime": moment}
    meta = {"name": name, "namespace": LEASES}
    lease = Lease.from_dict({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec})
    add_owner(node, lease)
    with suppress(AlreadyExists):
        await ctx.create(Namespace(metadata=ObjectMeta(name=LEASES)))
    with suppress(AlreadyExists):
        await ctx.create(lease)

"""Kubernetes' own workload controllers, a scheduler and simulated nodes, written as any author would.

    async with EmbeddedCluster(nodes=3) as cluster:
        ...                                 # a Deployment that is created here becomes ready

Guarantees: each controller is one level-based function of a few hundred lines on the front door's API, proved in
``attractor.workloads.proofs`` under crashes, stale caches, conflicts and edits. Objects, conditions, Events and labels
are those of the originals; docs/explanation/workloads.md says where they differ. Read ``replica_sets`` first, then
``rollouts`` and ``deployments``; ``scheduler`` binds Pods, and ``kubelet`` simulates them on ``nodes``.

It refuses to run containers: simulated Pods have a status, and nothing behind it.
"""

from attractor.workloads.deployments import deployments
from attractor.workloads.jobs import jobs
from attractor.workloads.kubelet import Behaviour, kubelet, kubelet_with
from attractor.workloads.nodes import node_heartbeats, simulated_node
from attractor.workloads.replica_sets import replica_sets
from attractor.workloads.scheduler import scheduler

CONTROLLERS = (deployments, replica_sets, jobs)
"""The controllers of workloads, which need no nodes."""

__all__ = [
    "CONTROLLERS",
    "Behaviour",
    "deployments",
    "jobs",
    "kubelet",
    "kubelet_with",
    "node_heartbeats",
    "replica_sets",
    "scheduler",
    "simulated_node",
]

"""Database clusters, planned as a graph.

A ``Cluster`` is some components (pods of a database engine) with credentials, configuration, services and storage.
The operator makes a plan for each cluster (``attractor.plan``) and carries it out.

Guarantees: the credentials are stored before anything else is, and are never made anew while their Secret exists;
configuration is immutable and named by its content; a component changes only after those that it depends on have rolled
out; what is no longer wanted is deleted, once nothing uses it; what stays after a deletion is what the
``terminationPolicy`` says, and a successor of the same name takes it over.

It refuses to fail over to another primary, and to shrink a volume.

Read ``api.types``, then in ``controllers`` ``plan`` (a living cluster), ``deletion_plan`` (one that is deleted) and
``controller``. ``drivers.local`` runs StatefulSets on this machine, where there is no kubelet.
"""

from attractor.operators.dbcluster.api.types import Cluster, ClusterSpec, ClusterStatus, Component, ServiceSpec

__all__ = ["Cluster", "ClusterSpec", "ClusterStatus", "Component", "ServiceSpec"]

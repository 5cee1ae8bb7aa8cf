"""A node without a kubelet: StatefulSets become processes on this machine, on loopback addresses.

    manager = Manager(client, local.controllers, externals={Node: LocalNode(directory)})

``statefulsets`` makes pods and claims as Kubernetes' StatefulSet controller does: in order, one at a time, and a change
from the highest number to the lowest, each pod ready before the next one's turn. ``pods`` runs each pod's container as
a process and tells what became of it; ``claims`` gives each claim a directory. ``node`` is the only part that touches
the machine; ``launch`` says what a container's process gets.

Limits: one container in a pod, no images (the command must be installed), no isolation, Linux only (each pod has an
address of its own in 127.0.0.0/8), and processes end with the node.
"""

from attractor.operators.dbcluster.drivers.local.claims import claims
from attractor.operators.dbcluster.drivers.local.node import LocalNode
from attractor.operators.dbcluster.drivers.local.pods import pods
from attractor.operators.dbcluster.drivers.local.protocol import Launch, Node, ProcessState
from attractor.operators.dbcluster.drivers.local.statefulsets import statefulsets

controllers = (statefulsets, pods, claims)

__all__ = ["Launch", "LocalNode", "Node", "ProcessState", "controllers"]

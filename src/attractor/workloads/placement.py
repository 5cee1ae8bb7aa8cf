"""Which nodes a Pod fits on, and how full they are: the scheduler's pure half.

A node fits when it is schedulable, its taints are tolerated, node selector and required node affinity choose it, and
what is left of its resources covers what the Pod requests. Why a node does not fit is told in kube-scheduler's words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attractor.toolkit import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attractor.k8s import Node, NodeSelectorRequirement, NodeSelectorTerm, Pod, Taint, Toleration

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_HARD = frozenset({"NoSchedule", "NoExecute"})


def _amount(quantity: object) -> int:
    return Quantity.parse(str(quantity)).nanos


def requests_of(pod: Pod) -> dict[str, int]:
    """What a Pod requests of each resource, in nano units: its containers together, or one init container if larger."""
    total: dict[str, int] = {}
    for container in pod.spec.containers:
        for name, quantity in container.resources.requests.items():
            total[name] = total.get(name, 0) + _amount(quantity)
    for container in pod.spec.init_containers:
        for name, quantity in container.resources.requests.items():
            total[name] = max(total.get(name, 0), _amount(quantity))
    for name, quantity in pod.spec.overhead.items():
        total[name] = total.get(name, 0) + _amount(quantity)
    return total


@dataclass
class Place:
    """A node with what is requested of it so far."""

    node: Node
    free: dict[str, int] = field(default_factory=dict)
    """What is left of each resource, in nano units."""
    pods: int = 0
    most_pods: int = 0

    @classmethod
    def of(cls, node: Node, pods: Iterable[Pod]) -> Place:
        """A node with the Pods that are on it."""
        allocatable = {name: _amount(quantity) for name, quantity in node.status.allocatable.items()}
        most = allocatable.pop("pods", 0) // 10**9
        place = cls(node, allocatable, 0, most)
        for pod in pods:
            place.take(requests_of(pod))
        return place

    def take(self, requests: Mapping[str, int]) -> None:
        """Count a Pod as being on this node."""
        self.pods += 1
        for name, amount in requests.items():
            self.free[name] = self.free.get(name, 0) - amount

    def lacks(self, requests: Mapping[str, int]) -> str:
        """What there is too little of; empty when the requests fit."""
        if self.pods >= self.most_pods:
            return "Too many pods"
        for name, amount in requests.items():
            if amount > self.free.get(name, 0):
                return f"Insufficient {name}"
        return ""


def obstacle(place: Place, pod: Pod, requests: Mapping[str, int]) -> str:
    """Why a Pod cannot be placed on a node, in kube-scheduler's words; empty when it can."""
    node = place.node
    if node.spec.unschedulable and not any(
        _tolerates(one, UNSCHEDULABLE, "", "NoSchedule") for one in pod.spec.tolerations
    ):
        return "node(s) were unschedulable"
    taint = untolerated(node.spec.taints, pod.spec.tolerations)
    if taint is not None:
        return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
    if not is_chosen(node, pod):
        return "node(s) didn't match Pod's node affinity/selector"
    return place.lacks(requests)


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first taint that keeps new Pods away and that nobody tolerates."""
    known = list(tolerations)
    for taint in taints:
        if taint.effect in _HARD and not any(_tolerates(one, taint.key, taint.value, taint.effect) for one in known):
            return taint
    return None


def _tolerates(toleration: Toleration, key: str, value: str, effect: str) -> bool:
    if toleration.effect and toleration.effect != effect:
        return False
    if toleration.key and toleration.key != key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == value


def is_chosen(node: Node, pod: Pod) -> bool:
    """Return whether node selector and required node affinity of a Pod choose a node."""
    labels = node.metadata.labels
    if any(labels.get(name) != value for name, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return required is None or any(_matches(term, node) for term in required.node_selector_terms)


def _matches(term: NodeSelectorTerm, node: Node) -> bool:
    fields = {"metadata.name": node.metadata.name}
    if not term.match_expressions and not term.match_fields:
        return False
    return all(_holds(one, node.metadata.labels) for one in term.match_expressions) and all(
        _holds(one, fields) for one in term.match_fields
    )


def _holds(rule: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(rule.key)
    match rule.operator:
        case "In":
            return value in rule.values
        case "NotIn":
            return value not in rule.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" if value is not None and value.lstrip("-").isdigit():
            return int(value) > int(rule.values[0]) if rule.operator == "Gt" else int(value) < int(rule.values[0])
    return False


def summary(obstacles: Iterable[str], nodes: int) -> str:
    """Why a Pod fits nowhere, as kube-scheduler tells it."""
    counted = Counter(obstacles)
    told = ", ".join(f"{count} {reason}" for reason, count in sorted(counted.items()))
    return f"0/{nodes} nodes are available: {told}." if nodes else "no nodes available to schedule pods"

"""The status of a cluster, from its plan and what is there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from attractor.k8s.apps_v1 import StatefulSet
from attractor.operators.dbcluster.api.types import Cluster, ClusterStatus, ComponentStatus
from attractor.operators.dbcluster.controllers.plan import is_rolled_out, workload_ref
from attractor.plan import Action
from attractor.runtime.toolkit.conditions import set_condition

if TYPE_CHECKING:
    from attractor.operators.dbcluster.api.types import Component, Phase
    from attractor.plan import ObjectGraph, Plan

NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for the time while it is found out whether anything changes at all."""


def tell(plan: Plan, now: datetime, *, problem: str = "") -> bool:
    """Let the plan write the status if it changes; answers whether it does. A root that is written anyway is left."""
    graph = plan.graph
    cluster = cast("Cluster", graph.root_object)
    if graph[graph.root].action not in {Action.NONE, Action.STATUS}:
        return False
    told = cluster.deep_copy()
    told.status = _status(cluster, graph, now, problem)
    is_new = told.status != cluster.status
    graph.change(graph.root, after=told, action=Action.STATUS if is_new else Action.NONE)
    return is_new


def _status(cluster: Cluster, graph: ObjectGraph, now: datetime, problem: str) -> ClusterStatus:
    is_quiet = bool(problem) or cluster.spec.paused or cluster.metadata.is_deleting
    made = cluster.status
    if not is_quiet:
        made = ClusterStatus(components={one.name: _component(cluster, one, graph) for one in cluster.spec.components})
    generation = cluster.metadata.generation
    status = ClusterStatus(
        observed_generation=generation,
        phase=_phase(cluster, made, problem),
        components=dict(made.components),
        conditions=list(cluster.deep_copy().status.conditions),
    )
    conditions = status.conditions
    set_condition(
        conditions, "Valid", not problem, reason="Refused" if problem else "Accepted", message=problem,
        now=now, generation=generation,
    )  # fmt: skip
    is_ready = status.phase == "Running"
    set_condition(conditions, "Ready", is_ready, reason=status.phase or "Unknown", now=now, generation=generation)
    if cluster.metadata.is_deleting:
        is_protected = cluster.spec.termination_policy == "DoNotTerminate"
        reason = "DoNotTerminate" if is_protected else cluster.spec.termination_policy
        message = "set terminationPolicy to Halt, Delete or WipeOut to let it go" if is_protected else ""
        set_condition(
            conditions, "Terminating", not is_protected, reason=reason, message=message, now=now, generation=generation
        )
    return status


def _component(cluster: Cluster, component: Component, graph: ObjectGraph) -> ComponentStatus:
    vertex = graph[workload_ref(cluster, component)]
    known = cluster.status.components.get(component.name, ComponentStatus())
    if not isinstance(vertex.before, StatefulSet):
        is_first = all(
            is_rolled_out(graph[ref]) for ref in graph.dag.dependencies(vertex.ref) if ref.kind is StatefulSet
        )
        return ComponentStatus(phase="Creating" if is_first else "Waiting")
    status = vertex.before.status
    has_run = known.phase in {"Running", "Updating", "Stopped"}
    done = "Running" if component.replicas else "Stopped"
    return ComponentStatus(
        phase=done if is_rolled_out(vertex) else "Updating" if has_run else "Creating",  # type: ignore[arg-type]
        replicas=status.replicas,
        ready_replicas=status.ready_replicas,
        version=component.version if is_rolled_out(vertex) else known.version,
    )


def _phase(cluster: Cluster, status: ClusterStatus, problem: str) -> Phase:
    if cluster.metadata.is_deleting:
        return "Deleting"
    if problem:
        return "Failed"
    if cluster.spec.paused:
        return "Paused"
    if all(one.phase in {"Running", "Stopped"} for one in status.components.values()):
        return "Running"
    has_run = any(one.phase in {"Running", "Stopped", "Updating"} for one in cluster.status.components.values())
    return "Updating" if has_run and cluster.status.phase != "Creating" else "Creating"

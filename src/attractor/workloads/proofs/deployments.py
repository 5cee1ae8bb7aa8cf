"""Worlds of the Deployment controller: never more Pods than surge allows, never fewer available than it may.

The full worlds of Deployments, ReplicaSets and kubelet together are large. ``summary`` is what a Deployment may rely on
of a ReplicaSet: some time after its size changes, the status follows, and what is started becomes available later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attractor import Context, Key, LabelSelector, ObjectMeta, controller
from attractor.check import Edit, Faults, World, always, always_step, eventually_stable, sometimes
from attractor.k8s import (
    Deployment,
    DeploymentSpec,
    DeploymentStrategy,
    ReplicaSet,
    RollingUpdateDeployment,
)
from attractor.workloads.deployments import deployment_controller, deployments
from attractor.workloads.proofs.replica_sets import WEB, template
from attractor.workloads.rollouts import Rollout

if TYPE_CHECKING:
    from attractor import Controller
    from attractor.check import WorldState

REPLICAS, SURGE = 2, 1


@controller(name="summary-of-replica-sets", for_=ReplicaSet)
async def summary(ctx: Context, key: Key) -> None:
    """A ReplicaSet in two steps: the status shows the Pods that it is asked to have, then they are available."""
    found = await ctx.find(ReplicaSet, key)
    if found is None:
        return
    changed = found.deep_copy()
    status, size = changed.status, found.spec.replicas or 0
    if status.replicas == size:
        status.ready_replicas = status.available_replicas = size
    else:
        status.replicas = size
        status.ready_replicas = status.available_replicas = min(status.available_replicas, size)
    status.observed_generation = found.metadata.generation
    if changed.status != found.status:
        await ctx.patch_from(found, changed, subresource="status")


def deployment(strategy: DeploymentStrategy | None = None) -> Deployment:
    """A Deployment as a user writes it: two replicas, one Pod more at most, none missing."""
    rolling = RollingUpdateDeployment(max_surge=SURGE, max_unavailable=0)
    spec = DeploymentSpec(
        replicas=REPLICAS,
        selector=LabelSelector(match_labels={"app": WEB.name}),
        template=template(),
        strategy=strategy or DeploymentStrategy(type="RollingUpdate", rolling_update=rolling),
        revision_history_limit=1,
    )
    return Deployment(metadata=ObjectMeta(name=WEB.name, namespace=WEB.namespace), spec=spec)


def image_of(obj: Deployment | ReplicaSet) -> str:
    """The image of the first container."""
    return obj.spec.template.spec.containers[0].image


def new_image(image: str) -> Edit:
    """A user who gives the Deployment another template."""
    containers = [{"name": "main", "image": image}]
    return Edit(Deployment, WEB, patch=[{"spec": {"template": {"spec": {"containers": containers}}}}])


def is_rolled_out(look: WorldState) -> bool:
    """All Pods are those of the current template, and the status tells so."""
    found = look.get(Deployment, WEB)
    sizes = {image_of(one): one.spec.replicas for one in look.list(ReplicaSet) if one.spec.replicas}
    status = found.status
    is_told = status.updated_replicas == status.replicas == status.available_replicas == REPLICAS
    return sizes == {image_of(found): REPLICAS} and is_told


def never_too_many(look: WorldState) -> bool:
    """All ReplicaSets together never ask for more than replicas and surge."""
    return sum(one.spec.replicas or 0 for one in look.list(ReplicaSet)) <= REPLICAS + SURGE


def _available(look: WorldState) -> int:
    return sum(min(one.status.available_replicas, one.spec.replicas or 0) for one in look.list(ReplicaSet))


def never_too_few(before: WorldState, after: WorldState) -> bool:
    """Once all replicas are available, no step takes one of them away before another is there."""
    return _available(before) < REPLICAS or _available(after) >= REPLICAS


def is_amid(look: WorldState) -> bool:
    """Both templates have Pods; so the world is not vacuous."""
    return len([one for one in look.list(ReplicaSet) if one.spec.replicas]) == 2


def rollout(declared: Controller = deployments) -> World:
    """A new template, a crash, caches that lag."""
    return World(
        controllers=[declared, summary],
        objects=[deployment()],
        users=[new_image("web:2")],
        faults=Faults(crash=1),
        properties=[
            eventually_stable(is_rolled_out),
            always(never_too_many),
            always_step(never_too_few),
            sometimes(is_amid),
        ],
        workers=1,
        name="deployments: new template, crash",
    )


def rollback() -> World:
    """A new template, and back to the old one at any moment."""
    return rollout().but(
        users=[new_image("web:2"), new_image("web:1")], faults=None, name="deployments: new template, rollback"
    )


@dataclass
class Greedy(Rollout):
    """The mistake: room for new Pods is counted by those that are there, not by those that were asked for."""

    @property
    def size(self) -> int:
        """How many Pods ReplicaSets say there are."""
        return sum(one.status.replicas for one in self.replica_sets)


def greedy_rollout() -> World:
    """A controller that forgets what it asked for, found by the claim that there are never too many."""
    return rollout(deployment_controller(Greedy)).but(faults=None, name="deployments: greedy")

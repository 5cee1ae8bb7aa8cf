"""Worlds of the ReplicaSet controller: never too many Pods, in the end exactly as many as wanted, none left behind.

``Never too many`` is about steps in which every answer arrives. Pods have generated names, so a creation whose answer
is lost is made once more, here as in Kubernetes; the surplus Pod is deleted then, which ``lost_answers`` shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor import Key, LabelSelector, ObjectMeta
from attractor.check import Bounds, Delete, Edit, Faults, World, always, eventually_stable, sometimes
from attractor.k8s import Container, Pod, PodSpec, PodTemplateSpec, ReplicaSet, ReplicaSetSpec
from attractor.workloads.pods import is_active
from attractor.workloads.replica_sets import replica_sets

if TYPE_CHECKING:
    from attractor.check import WorldState

WEB = Key("default", "web")
MOST = 2


def template(image: str = "web:1") -> PodTemplateSpec:
    """A template of Pods with one container."""
    labels = {"app": WEB.name}
    spec = PodSpec(containers=[Container(name="main", image=image)])
    return PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=spec)


def replica_set(replicas: int = MOST) -> ReplicaSet:
    """A ReplicaSet as a user writes it."""
    spec = ReplicaSetSpec(
        replicas=replicas, selector=LabelSelector(match_labels={"app": WEB.name}), template=template()
    )
    return ReplicaSet(metadata=ObjectMeta(name=WEB.name, namespace=WEB.namespace), spec=spec)


def as_wanted(look: WorldState) -> bool:
    """There are as many Pods as the spec says, and the status tells so; without a ReplicaSet there are none."""
    found, pods = look.find(ReplicaSet, WEB), look.list(Pod)
    if found is None:
        return not pods
    return len(pods) == found.spec.replicas == found.status.replicas


def never_too_many(look: WorldState) -> bool:
    """There are never more Pods than anybody ever wanted."""
    return len([pod for pod in look.list(Pod) if is_active(pod)]) <= MOST


def is_scaled_down(look: WorldState) -> bool:
    """The ReplicaSet was scaled down and has followed; so the world is not vacuous."""
    found = look.find(ReplicaSet, WEB)
    return found is not None and found.spec.replicas == 1 and len(look.list(Pod)) == 1


def crash_and_edit() -> World:
    """The number is edited, the controller crashes, caches lag."""
    return World(
        controllers=[replica_sets],
        objects=[replica_set()],
        users=[Edit(ReplicaSet, WEB, spec=[{"replicas": 1}])],
        faults=Faults(crash=1),
        properties=[eventually_stable(as_wanted), always(never_too_many), sometimes(is_scaled_down)],
        workers=1,
        name="replica sets: edit, crash",
    )


def deletion() -> World:
    """The ReplicaSet is deleted while it is scaled; no Pod is left behind."""
    return crash_and_edit().but(
        objects=[replica_set(1)],
        users=[Delete(ReplicaSet, WEB)],
        properties=[eventually_stable(as_wanted), always(never_too_many)],
        bounds=Bounds(lag=2, generated_names=3, ordered_names=1),
        name="replica sets: deletion, crash",
    )


def lost_answers() -> World:
    """Answers of the server are lost: a Pod too many may come, and goes again."""
    return crash_and_edit().but(
        users=(),
        faults=Faults(crash=1, lost_answer=1),
        properties=[eventually_stable(as_wanted)],
        name="replica sets: lost answer, crash",
    )


def without_own_writes() -> World:
    """The mistake that Kubernetes' *expectations* prevent: a cache that does not know of one's own Pods yet."""
    return crash_and_edit().but(
        users=(),
        faults=None,
        properties=[always(never_too_many)],
        quiesces=False,
        own_writes=False,
        bounds=Bounds(lag=2, generated_names=4, ordered_names=1),
        name="replica sets: own writes unseen",
    )

"""Worlds of the database operator: ``attractor check attractor.operators.dbcluster.proofs.worlds:creation``.

The operator is the production controller, unchanged; a kubelet that needs no time stands for the pods, and a model for
the source of passwords. Each world is explored completely for its faults, with caches that lag by two events of a kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check import Bounds, Delete, Edit, Faults, World, WorldState, always, sometimes
from attractor.k8s.apps_v1 import StatefulSet
from attractor.k8s.core_v1 import ConfigMap, Secret
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.dbcluster.api.types import Cluster, ClusterSpec, Component
from attractor.operators.dbcluster.controllers.controller import clusters
from attractor.operators.dbcluster.controllers.entropy import Entropy
from attractor.operators.dbcluster.proofs.properties import (
    EntropyModel,
    belongings,
    everything_is_as_wanted,
    promises,
    ready_workloads,
    settled,
)

if TYPE_CHECKING:
    from attractor.check import WorldProperty

KEY = Key("default", "shop")
RECONFIGURED = {"components": [{"name": "cache", "config": {"maxclients": "64"}}]}
WITHOUT_QUEUE = {"components": [{"name": "cache"}]}


def cluster(*components: Component, **fields: Any) -> Cluster:
    """A cluster without a history, so that there is less to interleave."""
    spec = ClusterSpec(
        components=list(components or (Component(name="cache"),)), **{"revision_history_limit": 0, **fields}
    )
    return Cluster(metadata=ObjectMeta(name=KEY.name, namespace=KEY.namespace), spec=spec)


def two() -> Cluster:
    """A cluster of two components."""
    return cluster(Component(name="cache"), Component(name="queue"))


def world(objects: Any, users: Any = (), faults: Faults | None = None, more: Any = (), name: str = "") -> World:
    """A world in which the operator must keep its promises, and ``more`` claims hold."""
    return World(
        controllers=[clusters, ready_workloads],
        objects=objects,
        users=users,
        faults=faults,
        properties=[*promises(), *more],
        externals={Entropy: EntropyModel()},
        name=name,
        workers=1,
        bounds=Bounds(lag=2),
    )


def creation() -> World:
    """A new cluster, with a crash and a lost answer at any step: after each action of the plan, in each order."""
    reached = [
        sometimes(lambda look: len(belongings(look)) == 1, name="only the credentials are there"),
        sometimes(everything_is_as_wanted, name="it gets there"),
        sometimes(lambda look: look.external(Entropy).count > 1, name="a password is thrown away"),
    ]
    return world([cluster()], faults=Faults(crash=1, lost_answer=1), more=reached, name="creation")


def reconfiguration() -> World:
    """A running cluster whose configuration a user changes, with a crash and a lost answer at any step."""
    reached = [
        sometimes(lambda look: len(look.list(ConfigMap)) == 2, name="old and new configuration at once"),
        sometimes(_is_reconfigured, name="only the new one in the end"),
    ]
    users = [Edit(Cluster, KEY, spec=[RECONFIGURED])]
    return world(settled(cluster()), users, Faults(crash=1, lost_answer=1), reached, "reconfiguration")


def _is_reconfigured(look: WorldState) -> bool:
    return ["maxclients" in one.data["redis.conf"] for one in look.list(ConfigMap)] == [True]


def removal() -> World:
    """A running cluster of two components, one of which a user removes, with a crash and a lost answer at any step."""
    reached = [sometimes(lambda look: len(look.list(StatefulSet)) == 1, name="one component is left")]
    users = [Edit(Cluster, KEY, spec=[WITHOUT_QUEUE])]
    return world(settled(two()), users, Faults(crash=1, lost_answer=1), reached, "removal")


def dependence() -> World:
    """A new cluster whose component app depends on its component store."""

    def in_order(look: WorldState) -> bool:
        names = {one.metadata.name for one in look.list(StatefulSet)}
        return "shop-app" not in names or "shop-store" in names

    made = cluster(Component(name="app", depends_on=["store"]), Component(name="store"))
    return world([made], more=[always(in_order)], name="dependence")


def deletion() -> World:
    """A running cluster that a user deletes, with a crash at any step: nothing is left."""
    return _ending("Delete", sometimes(lambda look: not look.list(Secret), name="the credentials go"))


def halting() -> World:
    """A running cluster that a user deletes, with a crash at any step: its credentials stay, and belong to nobody."""
    return _ending("Halt", always(_credentials_outlive, name="the credentials outlive it, and belong to nobody"))


def _credentials_outlive(look: WorldState) -> bool:
    return bool(look.list(Cluster)) or [one.metadata.owner_references for one in look.list(Secret)] == [[]]


def _ending(policy: str, claim: WorldProperty) -> World:
    more = [sometimes(lambda look: not look.list(Cluster), name="the cluster is gone"), claim]
    users = [Delete(Cluster, KEY)]
    return world(settled(cluster(termination_policy=policy)), users, Faults(crash=1), more, f"deletion, {policy}")


def stillness() -> World:
    """A running cluster that nobody touches, with crashes and a closed watch at any step."""
    return world(settled(cluster()), faults=Faults(crash=2, closed_watch=1), name="stillness")


WORLDS = (creation, reconfiguration, removal, dependence, deletion, halting, stillness)

"""Worlds of the edge operator for the checker: ``attractor check attractor.operators.edge.worlds:cluster_life``.

Coordinator and agent are the production controllers, unchanged; the platform is ``model.DriverModel``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check.world import Create, Delete, Edit, Faults, World, always, always_step, eventually_stable, sometimes
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.edge import properties as owed
from attractor.operators.edge.agent import worker
from attractor.operators.edge.driver import CLUSTER, Driver, Launcher, Ref
from attractor.operators.edge.intents import status_of
from attractor.operators.edge.model import DriverModel, FragileDriver, FragileLauncher, LauncherModel
from attractor.operators.edge.states import CloudletState, TrackedState
from attractor.operators.edge.takeover import takeover
from attractor.operators.edge.types import (
    FINALIZER,
    AgentInfo,
    AppInst,
    AppInstSpec,
    Cloudlet,
    CloudletSpec,
    CloudletStatus,
    ClusterInst,
    ClusterInstSpec,
    ClusterInstStatus,
    Installed,
    Target,
)
from attractor.operators.edge.watching import APPS, CLOUDLETS, CLUSTERS

if TYPE_CHECKING:
    from attractor.check.world import Look

T = TrackedState
PLACE = "berlin"
ONE, SHOP, HERE = Key(PLACE, "one"), Key(PLACE, "shop"), Key(PLACE, PLACE)


def cloudlet(wanted: str = "1") -> Cloudlet:
    """A cloudlet that version 1 serves."""
    agents = {"1": AgentInfo(state=CloudletState.READY)}
    status = CloudletStatus(state=T.READY, version="1", agents=agents)
    return Cloudlet(metadata=ObjectMeta(name=PLACE, namespace=PLACE), spec=CloudletSpec(version=wanted), status=status)


def cluster() -> ClusterInst:
    """The wish for a cluster."""
    return ClusterInst(metadata=ObjectMeta(name="one", namespace=PLACE, finalizers=[FINALIZER]), spec=ClusterInstSpec())


def ready_cluster(app: str = "") -> ClusterInst:
    """A cluster that is there."""
    made = cluster()
    settings = {"nodes": "1"}
    made.status = ClusterInstStatus(
        state=T.READY,
        operation=1,
        observed_generation=1,
        target=Target(generation=1, settings=settings),
        current=Installed(generation=1, settings=settings),
        apps={app: 0} if app else {},
    )
    return made


def app() -> AppInst:
    """The wish for an app in that cluster, which goes with it."""
    meta = ObjectMeta(name="shop", namespace=PLACE, finalizers=[FINALIZER])
    return AppInst(metadata=meta, spec=AppInstSpec(cluster="one", auto_delete=True))


def with_cluster(driver: DriverModel) -> DriverModel:
    """A platform on which the cluster of ``ready_cluster`` is."""
    driver.apply(Ref(CLUSTER, *ONE), 1, (("nodes", "1"),))
    return driver


def _reaches(kind: Any, key: Key, state: TrackedState) -> Any:
    def reached(world: Look) -> bool:
        obj = world.find(kind, key)
        return obj is not None and status_of(obj).state is state

    return sometimes(reached, name=f"{kind.__name__} is {state}")


def cluster_life(faults: Faults | None = None, *, fragile: bool = True, lag: int = 2) -> World:
    """A cluster is created, updated and deleted, on a platform that may fail once."""
    return World(
        name="the life of a cluster",
        controllers=[CLUSTERS, worker(ClusterInst, "1")],
        objects=[cloudlet()],
        users=[Create(cluster()), Edit(ClusterInst, ONE, spec=[{"nodes": 2}]), Delete(ClusterInst, ONE)],
        faults=faults,
        externals={Driver: FragileDriver() if fragile else DriverModel()},
        workers=1,
        lag=lag,
        properties=[
            eventually_stable(owed.truth_is_believed),
            always_step(owed.states_follow_the_tables),
            *(_reaches(ClusterInst, ONE, state) for state in (T.CREATING, T.UPDATING, T.DELETING)),
        ],
    )


def app_and_cluster(faults: Faults | None = None, *, lag: int = 2) -> World:
    """An app is created in a cluster that is being deleted."""
    return World(
        name="an app and its cluster",
        controllers=[CLUSTERS, APPS, worker(ClusterInst, "1"), worker(AppInst, "1")],
        objects=[cloudlet(), ready_cluster()],
        users=[Create(app()), Delete(ClusterInst, ONE)],
        faults=faults,
        externals={Driver: with_cluster(DriverModel())},
        workers=1,
        lag=lag,
        properties=[
            eventually_stable(owed.truth_is_believed),
            always_step(owed.states_follow_the_tables),
            always(owed.no_app_work_during_its_clusters),
            always(owed.no_app_without_its_cluster),
            always(owed.no_deletion_with_apps),
            _reaches(AppInst, SHOP, T.READY),
        ],
    )


def two_coordinators(faults: Faults | None = None, *, lag: int = 1) -> World:
    """Two coordinators at once: an app is asked for, and its cluster is deleted. No agent answers."""
    return World(
        name="two coordinators",
        controllers=[CLUSTERS, APPS],
        objects=[cloudlet(), ready_cluster(), app()],
        users=[Delete(ClusterInst, ONE)],
        faults=faults,
        hosts=("first", "second"),
        workers=1,
        lag=lag,
        quiet=False,
        properties=[
            always_step(owed.states_follow_the_tables),
            always(owed.no_app_work_during_its_clusters),
            always(owed.no_deletion_with_apps),
            _reaches(AppInst, SHOP, T.CREATE_REQUESTED),
            _reaches(ClusterInst, ONE, T.DELETE_REQUESTED),
        ],
    )


def upgrade(faults: Faults | None = None, *, fragile: bool = True, lag: int = 2) -> World:
    """A cloudlet's agent is replaced by the next version, which may fail to start."""
    return World(
        name="an upgrade",
        controllers=[CLOUDLETS, _named(takeover("1"), "agent-1"), _named(takeover("2"), "agent-2")],
        objects=[cloudlet()],
        users=[Edit(Cloudlet, HERE, spec=[{"version": "2"}])],
        faults=faults,
        externals={Driver: DriverModel(), Launcher: FragileLauncher() if fragile else LauncherModel()},
        workers=1,
        lag=lag,
        properties=[
            eventually_stable(owed.upgrade_has_ended),
            always(owed.never_two_serve),
            always(owed.the_old_agent_stays_until_the_new_one_has_come),
        ],
    )


def _named(controller: Any, name: str) -> Any:
    from dataclasses import replace

    return replace(controller, name=name)

"""Worlds of the edge operator for the checker: ``attractor check attractor.operators.edge.proofs.worlds:cluster_life``.

Coordinator and agent are the production controllers, unchanged; the platform is ``model.DriverModel``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check import (
    Bounds,
    Create,
    Delete,
    Edit,
    Faults,
    World,
    always,
    always_step,
    always_step_by,
    eventually_stable,
    sometimes,
)
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.edge.api.intents import status_of, wanted
from attractor.operators.edge.api.states import CloudletState, TrackedState
from attractor.operators.edge.api.types import (
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
    InstanceStatus,
    Target,
)
from attractor.operators.edge.controllers.agent import serves, worker
from attractor.operators.edge.controllers.declarations import APPS, CLOUDLETS, CLUSTERS
from attractor.operators.edge.controllers.takeover import takeover
from attractor.operators.edge.drivers.protocols import APP, CLUSTER, Driver, Found, Launcher, Ref
from attractor.operators.edge.proofs import properties as owed
from attractor.operators.edge.proofs import upgrade_properties
from attractor.operators.edge.proofs.model import (
    DriverModel,
    FragileDriver,
    FragileLauncher,
    LauncherModel,
    TellingDriver,
)
from attractor.runtime.toolkit.channel import Channel

if TYPE_CHECKING:
    from attractor.check import WorldState

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


def ready_app() -> AppInst:
    """An app that is there; the cluster has no claim open for it."""
    made = app()
    settings = wanted(made).settings
    made.status = InstanceStatus(
        state=T.READY,
        operation=1,
        observed_generation=1,
        target=Target(generation=1, settings=settings),
        current=Installed(generation=1, settings=settings),
    )
    return made


def with_cluster(driver: DriverModel) -> DriverModel:
    """A platform on which the cluster of ``ready_cluster`` is."""
    driver.there[Ref(CLUSTER, *ONE)] = Found(1, (("nodes", "1"),))
    return driver


def with_app(driver: DriverModel) -> DriverModel:
    """A platform on which that cluster is, and ``ready_app`` in it."""
    driver.there[Ref(APP, *SHOP)] = Found(1, tuple(sorted(wanted(app()).settings.items())))
    return with_cluster(driver)


def _reaches(kind: Any, key: Key, state: TrackedState) -> Any:
    def reached(world: WorldState) -> bool:
        obj = world.find(kind, key)
        return obj is not None and status_of(obj).state is state

    return sometimes(reached, name=f"{kind.__name__} is {state}")


OWED = (
    always_step(owed.states_follow_the_tables),
    always_step_by(owed.states_are_moved_by_their_owners),
    always_step(owed.no_two_operations_on_one_key),
    always_step(owed.the_platform_changes_only_as_asked, except_for=["outside"]),
    eventually_stable(owed.every_request_has_ended, name="every request has ended"),
    eventually_stable(owed.what_is_believed_is_true, name="what is believed is true"),
)
"""What every operation on an instance owes."""
OWED_TO_APPS = (
    always(owed.no_app_work_during_its_clusters),
    always(owed.no_app_without_its_cluster),
    always(owed.no_deletion_with_apps),
)
"""What operations on an app and on its cluster owe together."""


def _of_cluster(faults: Faults | None, fragile: bool, lag: int, **changes: Any) -> World:
    given: dict[str, Any] = {
        "hosts": {"coordinator": [CLUSTERS], "agent": [worker(ClusterInst, "1")]},
        "objects": [cloudlet()],
        "faults": faults,
        "workers": 1,
        "bounds": Bounds(lag=lag),
        **changes,
    }
    driver = FragileDriver() if fragile else DriverModel()
    return World(**given, externals={Driver: driver if len(given["objects"]) == 1 else with_cluster(driver)})


def cluster_created(faults: Faults | None = None, *, fragile: bool = True, lag: int = 2) -> World:
    """A cluster is created, on a platform that may fail once. Coordinator and agent are processes of their own."""
    reached = _reaches(ClusterInst, ONE, T.CREATING)
    return _of_cluster(
        faults, fragile, lag, name="a cluster is created", users=[Create(cluster())], properties=[*OWED, reached]
    )


def cluster_updated(faults: Faults | None = None, *, fragile: bool = True, lag: int = 2) -> World:
    """A cluster is updated."""
    return _of_cluster(
        faults,
        fragile,
        lag,
        name="a cluster is updated",
        objects=[cloudlet(), ready_cluster()],
        users=[Edit(ClusterInst, ONE, spec=[{"nodes": 2}])],
        properties=[*OWED, _reaches(ClusterInst, ONE, T.UPDATING)],
    )


def cluster_deleted(faults: Faults | None = None, *, fragile: bool = True, lag: int = 2) -> World:
    """A cluster is deleted."""
    return _of_cluster(
        faults,
        fragile,
        lag,
        name="a cluster is deleted",
        objects=[cloudlet(), ready_cluster()],
        users=[Delete(ClusterInst, ONE)],
        properties=[*OWED, _reaches(ClusterInst, ONE, T.DELETING)],
    )


def cluster_life(faults: Faults | None = None, *, fragile: bool = True, lag: int = 2) -> World:
    """A cluster is created, updated and deleted, on a platform that may fail once; all in one process."""
    return World(
        name="the life of a cluster",
        controllers=[CLUSTERS, worker(ClusterInst, "1")],
        objects=[cloudlet()],
        users=[Create(cluster()), Edit(ClusterInst, ONE, spec=[{"nodes": 2}]), Delete(ClusterInst, ONE)],
        faults=faults,
        externals={Driver: FragileDriver() if fragile else DriverModel()},
        workers=1,
        bounds=Bounds(lag=lag),
        properties=[
            eventually_stable(owed.truth_is_believed),
            always_step(owed.states_follow_the_tables),
            *(_reaches(ClusterInst, ONE, state) for state in (T.CREATING, T.UPDATING, T.DELETING)),
        ],
    )


def _of_app(faults: Faults | None, fragile: bool, lag: int, **changes: Any) -> World:
    """An app in a cluster that is there and stays: whoever looks after the cluster has nothing to do."""
    driver = FragileDriver() if fragile else DriverModel()
    given: dict[str, Any] = {
        "hosts": {"coordinator": [APPS], "agent": [worker(AppInst, "1")]},
        "objects": [cloudlet(), ready_cluster("shop"), ready_app()],
        "externals": {Driver: with_app(driver)},
        "faults": faults,
        "workers": 1,
        "bounds": Bounds(lag=lag),
        **changes,
    }
    return World(**given)


def app_created(faults: Faults | None = None, *, fragile: bool = True, lag: int = 1) -> World:
    """An app is created in a cluster that is there."""
    return _of_app(
        faults,
        fragile,
        lag,
        name="an app is created",
        objects=[cloudlet(), ready_cluster()],
        externals={Driver: with_cluster(FragileDriver() if fragile else DriverModel())},
        users=[Create(app())],
        properties=[*OWED, *OWED_TO_APPS, _reaches(AppInst, SHOP, T.CREATING)],
    )


def app_updated(faults: Faults | None = None, *, fragile: bool = True, lag: int = 1) -> World:
    """An app is updated."""
    return _of_app(
        faults,
        fragile,
        lag,
        name="an app is updated",
        users=[Edit(AppInst, SHOP, spec=[{"revision": "2"}])],
        properties=[*OWED, *OWED_TO_APPS, _reaches(AppInst, SHOP, T.UPDATING)],
    )


def app_deleted(faults: Faults | None = None, *, fragile: bool = True, lag: int = 1) -> World:
    """An app is deleted."""
    return _of_app(
        faults,
        fragile,
        lag,
        name="an app is deleted",
        users=[Delete(AppInst, SHOP)],
        properties=[*OWED, *OWED_TO_APPS, _reaches(AppInst, SHOP, T.DELETING)],
    )


def _of_both(faults: Faults | None, lag: int, **changes: Any) -> World:
    given: dict[str, Any] = {
        "hosts": {"coordinator": [CLUSTERS, APPS], "agent": [worker(ClusterInst, "1"), worker(AppInst, "1")]},
        "faults": faults,
        "workers": 1,
        "bounds": Bounds(lag=lag),
        **changes,
    }
    return World(**given)


def app_and_update(faults: Faults | None = None, *, lag: int = 1) -> World:
    """An app is created in a cluster that is being updated."""
    return _of_both(
        faults,
        lag,
        name="an app, and its cluster is updated",
        objects=[cloudlet(), ready_cluster(), app()],
        users=[Edit(ClusterInst, ONE, spec=[{"nodes": 2}])],
        externals={Driver: with_cluster(DriverModel())},
        properties=[*OWED, *OWED_TO_APPS, _reaches(AppInst, SHOP, T.READY), _reaches(ClusterInst, ONE, T.UPDATING)],
    )


def app_and_deletion(faults: Faults | None = None, *, lag: int = 1) -> World:
    """A cluster is deleted, and first the app in it."""
    return _of_both(
        faults,
        lag,
        name="an app goes with its cluster",
        objects=[cloudlet(), ready_cluster("shop"), ready_app()],
        users=[Delete(ClusterInst, ONE)],
        externals={Driver: with_app(DriverModel())},
        properties=[*OWED, *OWED_TO_APPS, _reaches(AppInst, SHOP, T.DELETING), _reaches(ClusterInst, ONE, T.DELETING)],
    )


def app_and_cluster(faults: Faults | None = None, *, lag: int = 1) -> World:
    """An app is created in a cluster that is being deleted."""
    return _of_both(
        faults,
        lag,
        name="an app and its cluster",
        objects=[cloudlet(), ready_cluster(), app()],
        users=[Delete(ClusterInst, ONE)],
        externals={Driver: with_cluster(DriverModel())},
        properties=[*OWED, *OWED_TO_APPS, _reaches(AppInst, SHOP, T.READY)],
    )


def two_coordinators(faults: Faults | None = None, *, lag: int = 1) -> World:
    """Two whole coordinators at once: an app is asked for, and its cluster is deleted. No agent answers."""
    return World(
        name="two coordinators",
        controllers=[CLUSTERS, APPS],
        objects=[cloudlet(), ready_cluster(), app()],
        users=[Delete(ClusterInst, ONE)],
        faults=faults,
        hosts=("first", "second"),
        workers=1,
        bounds=Bounds(lag=lag),
        quiesces=False,
        properties=[
            always_step(owed.states_follow_the_tables),
            always_step_by(owed.states_are_moved_by_their_owners),
            always_step(owed.no_two_operations_on_one_key),
            always(owed.no_app_work_during_its_clusters),
            always(owed.no_deletion_with_apps),
            _reaches(AppInst, SHOP, T.CREATE_REQUESTED),
            _reaches(ClusterInst, ONE, T.DELETE_REQUESTED),
        ],
    )


def coordinators_apart(faults: Faults | None = None, *, lag: int = 1) -> World:
    """The same, where one coordinator looks after clusters and the other after apps, each with caches of its own."""
    return two_coordinators(faults, lag=lag).but(
        name="coordinators apart", controllers=(), hosts={"clusters": [CLUSTERS], "apps": [APPS]}
    )


def coordinator_and_apps(faults: Faults | None = None, *, lag: int = 1) -> World:
    """A whole coordinator, and a second one that looks after apps only."""
    return two_coordinators(faults, lag=lag).but(
        name="a coordinator and another of apps", controllers=(), hosts={"first": [CLUSTERS, APPS], "second": [APPS]}
    )


def coordinator_and_clusters(faults: Faults | None = None, *, lag: int = 1) -> World:
    """A whole coordinator, and a second one that looks after clusters only."""
    return two_coordinators(faults, lag=lag).but(
        name="a coordinator and another of clusters",
        controllers=(),
        hosts={"first": [CLUSTERS, APPS], "second": [CLUSTERS]},
    )


def coordinators_of_apps(faults: Faults | None = None, *, lag: int = 1) -> World:
    """Two coordinators look after the same app in a cluster that stays."""
    whole = two_coordinators(faults, lag=lag)
    return whole.but(name="two coordinators of an app", controllers=[APPS], users=(), properties=whole.claims[:-1])


def coordinators_of_clusters(faults: Faults | None = None, *, lag: int = 1) -> World:
    """Two coordinators look after the same cluster, which is deleted; nobody asks for an app."""
    whole = two_coordinators(faults, lag=lag)
    claims = [claim for claim in whole.claims if not claim.name.startswith("AppInst is")]
    return whole.but(
        name="two coordinators of a cluster",
        controllers=[CLUSTERS],
        objects=[cloudlet(), ready_cluster()],
        properties=claims,
    )


def _serves(version: str) -> Any:
    def serves_now(world: WorldState) -> bool:
        return serves(world.find(Cloudlet, HERE), version)

    return sometimes(serves_now, name=f"agent {version} serves")


OWED_IN_UPGRADES = (
    eventually_stable(upgrade_properties.upgrade_has_ended, name="the upgrade has ended"),
    always_step_by(upgrade_properties.upgrades_follow_the_tables),
    always(upgrade_properties.the_old_agent_stays_until_the_new_one_has_come),
)
"""What an upgrade owes."""


def _is_told_too_early(world: WorldState) -> bool:
    told = world.external(Driver).has_told and not owed.nothing_is_there_that_nobody_has(world)
    return told and not serves(world.find(Cloudlet, HERE), "1")


def agent_comes_up(faults: Faults | None = None, *, lag: int = 2) -> World:
    """An agent comes up on a cloudlet that nobody has served, and on its platform is a cluster that nobody has."""
    return World(
        name="an agent comes up",
        hosts={"coordinator": [CLOUDLETS], "agent-1": [takeover("1"), worker(ClusterInst, "1", (Channel[Key](),))]},
        objects=[Cloudlet(metadata=ObjectMeta(name=PLACE, namespace=PLACE), spec=CloudletSpec(version="1"))],
        faults=faults,
        externals={Driver: with_cluster(TellingDriver()), Launcher: LauncherModel()},
        workers=1,
        bounds=Bounds(lag=lag),
        properties=[
            *OWED_IN_UPGRADES,
            eventually_stable(owed.nothing_is_there_that_nobody_has, name="nothing is there that nobody has"),
            always_step_by(upgrade_properties.only_the_agent_that_serves_works),
            sometimes(_is_told_too_early, name="the agent is told before it serves"),
            _serves("1"),
        ],
    )


def upgrade(faults: Faults | None = None, *, fragile: bool = True, lag: int = 2) -> World:
    """A cloudlet's agent is replaced by the next version, which may fail to start; each is a process of its own."""
    return World(
        name="an upgrade",
        hosts={"coordinator": [CLOUDLETS], "agent-1": [takeover("1")], "agent-2": [takeover("2")]},
        objects=[cloudlet()],
        users=[Edit(Cloudlet, HERE, spec=[{"version": "2"}])],
        faults=faults,
        externals={Driver: DriverModel(), Launcher: FragileLauncher() if fragile else LauncherModel()},
        workers=1,
        bounds=Bounds(lag=lag),
        properties=[*OWED_IN_UPGRADES, _serves("2")],
    )


def upgrade_at_work(faults: Faults | None = None, *, fragile: bool = False, lag: int = 1) -> World:
    """A cluster is updated while the agent is replaced."""
    return World(
        name="an upgrade at work",
        hosts={
            "coordinator": [CLOUDLETS, CLUSTERS],
            **{f"agent-{each}": [takeover(each), worker(ClusterInst, each)] for each in ("1", "2")},
        },
        objects=[cloudlet(), ready_cluster()],
        users=[Edit(Cloudlet, HERE, spec=[{"version": "2"}]), Edit(ClusterInst, ONE, spec=[{"nodes": 2}])],
        faults=faults,
        externals={
            Driver: with_cluster(DriverModel()),
            Launcher: FragileLauncher() if fragile else LauncherModel(),
        },
        workers=1,
        bounds=Bounds(lag=lag),
        properties=[
            *OWED[:-2],
            *OWED_IN_UPGRADES,
            always_step_by(upgrade_properties.only_the_agent_that_serves_works),
            _serves("2"),
        ],
    )

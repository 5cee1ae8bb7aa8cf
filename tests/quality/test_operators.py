"""Shipped operators are eventually stable, and go quiet: two workers, stale caches, each trouble and each pair of troubles.

The troubles are those of every day: the process crashes, somebody else writes, an answer is lost, a user edits, a user
deletes. Each world is explored completely. Every trouble alone is tried here, and the pairs that take less than about
three seconds of a processor; the other pairs are left to the nightly run.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from attractor.check import Create, Delete, Edit, Faults, always_step, check, eventually_stable
from attractor.operators.configpair import controllers as controller
from attractor.operators.configpair import proofs as configpair
from attractor.operators.configpair.api import ConfigPair
from attractor.operators.dbcluster import Cluster
from attractor.operators.dbcluster.proofs import worlds as dbcluster
from attractor.operators.dbcluster.proofs.properties import settled
from attractor.operators.devplane.api.executables import Executable
from attractor.operators.devplane.api.services import Service
from attractor.operators.devplane.controllers.endpoints import endpoints
from attractor.operators.devplane.controllers.services import services
from attractor.operators.devplane.proofs import service_worlds as net
from attractor.operators.devplane.proofs import worlds as devplane
from attractor.operators.edge.api.types import ClusterInst
from attractor.operators.edge.proofs import properties as owed
from attractor.operators.edge.proofs import worlds as edge
from attractor.operators.irsa.proofs import properties as irsa

if TYPE_CHECKING:
    from collections.abc import Collection

    from attractor.check import World
    from attractor.check.world.api.users import User
    from attractor.runtime import Controller

TROUBLES = ("crash", "conflict", "lost answer", "edit", "delete")
Troubles = tuple[str, ...]


def in_trouble(slow: Collection[Troubles] = (), nightly: Collection[Troubles] = ()) -> list[Any]:
    """Each trouble and each pair, as parameters of a test."""
    found = [each for count in (1, 2) for each in combinations(TROUBLES, count)]
    marks = {**dict.fromkeys(slow, pytest.mark.slow), **dict.fromkeys(nightly, pytest.mark.nightly)}
    return [pytest.param(each, id=" and ".join(each), marks=marks.get(each, ())) for each in found]


def faults_of(troubles: Troubles) -> Faults:
    """The faults among the troubles."""
    return Faults(
        crash=int("crash" in troubles), conflict=int("conflict" in troubles), lost_answer=int("lost answer" in troubles)
    )


PAIR_USERS: dict[str, User] = {
    "edit": Edit(ConfigPair, configpair.WEB, spec=[{"value": "blue"}]),
    "delete": Delete(ConfigPair, configpair.WEB),
}


def pair_in(troubles: Troubles, declared: Controller = controller.configpair) -> World:
    """A controller of pairs with two workers, in trouble."""
    users = tuple(user for name, user in PAIR_USERS.items() if name in troubles)
    return configpair.world(declared, users=users, faults=faults_of(troubles))


@pytest.mark.parametrize(
    "troubles", in_trouble(slow=[("conflict", "delete"), ("lost answer", "delete"), ("edit", "delete")])
)
def test_a_pair_is_eventually_stable_whatever_happens(troubles: Troubles) -> None:
    verdict = check(pair_in(troubles)).assert_holds()
    assert verdict.bound is None


@pytest.mark.parametrize(("trouble", "steps"), [("crash", 12), ("lost answer", 11), ("edit", 16)])
def test_the_naive_pair_falls_to_a_single_trouble(trouble: str, steps: int) -> None:
    trace = check(pair_in((trouble,), controller.naive)).assert_violated("eventually stable")
    assert len(trace) == steps, trace.actions


def irsa_in(troubles: Troubles) -> World:
    """The IRSA operator with two workers, in trouble: while it makes a role, or when what it made is edited or deleted."""
    faults = faults_of(troubles)
    if "edit" in troubles:
        world = irsa.edited(faults)
        world.users += irsa.ended(faults).users if "delete" in troubles else ()
    else:
        world = irsa.ended(faults) if "delete" in troubles else irsa.made(faults)
    world.workers = 2
    return world


@pytest.mark.parametrize(
    "troubles",
    in_trouble(
        slow=[("conflict",), ("lost answer",)],
        nightly=[("crash", "conflict"), ("crash", "lost answer"), ("conflict", "lost answer")],
    ),
)
def test_a_service_account_with_a_role_is_eventually_stable_whatever_happens(troubles: Troubles) -> None:
    verdict = check(irsa_in(troubles)).assert_holds()
    assert verdict.bound is None


DATABASE_USERS: dict[str, User] = {
    "edit": Edit(Cluster, dbcluster.KEY, spec=[dbcluster.RECONFIGURED]),
    "delete": Delete(Cluster, dbcluster.KEY),
}


def database_in(troubles: Troubles) -> World:
    """The database operator with two workers, in trouble: while it makes a cluster, or when a running one is changed."""
    users = [user for name, user in DATABASE_USERS.items() if name in troubles]
    objects = settled(dbcluster.cluster()) if users else [dbcluster.cluster()]
    world = dbcluster.world(objects, users, faults_of(troubles))
    world.workers = 2
    return world


@pytest.mark.parametrize(
    "troubles",
    in_trouble(
        slow=[("crash",), ("conflict",), ("crash", "lost answer"), ("conflict", "edit")],
        nightly=[("crash", "conflict"), ("conflict", "lost answer"), ("edit", "delete")],
    ),
)
def test_a_database_cluster_is_eventually_stable_whatever_happens(troubles: Troubles) -> None:
    verdict = check(database_in(troubles)).assert_holds()
    assert verdict.bound is None


EDGE_USERS: dict[str, User] = {
    "edit": Edit(ClusterInst, edge.ONE, spec=[{"nodes": 2}]),
    "delete": Delete(ClusterInst, edge.ONE),
}


def edge_in(troubles: Troubles) -> World:
    """Coordinator and agent with two workers each, in trouble, on a platform that may fail once."""
    return edge.cluster_life(faults_of(troubles)).but(
        objects=[edge.cloudlet(), edge.cluster()],
        users=[user for name, user in EDGE_USERS.items() if name in troubles],
        workers=2,
        properties=[eventually_stable(owed.truth_is_believed), always_step(owed.states_follow_the_tables)],
    )


@pytest.mark.parametrize(
    "troubles",
    in_trouble(
        slow=[("crash", "conflict"), ("crash", "delete"), ("conflict", "lost answer"), ("lost answer", "delete")],
        nightly=[
            ("crash", "edit"),
            ("conflict", "edit"),
            ("conflict", "delete"),
            ("lost answer", "edit"),
            ("edit", "delete"),
        ],
    ),
)
def test_a_cluster_at_the_edge_is_eventually_stable_whatever_happens(troubles: Troubles) -> None:
    verdict = check(edge_in(troubles)).assert_holds()
    assert verdict.bound is None


EXECUTABLE_USERS: dict[str, User] = {
    "edit": Edit(Executable, devplane.KEY, spec=[{"stop": True}]),
    "delete": Delete(Executable, devplane.KEY),
}


def executable_in(troubles: Troubles) -> World:
    """The controller of Executables with two workers, in trouble, with a process that may end by itself."""
    users = [user for name, user in EXECUTABLE_USERS.items() if name in troubles]
    made = devplane.world("in trouble", [devplane.executable()], users, faults_of(troubles), exits=1)
    return made.but(workers=2)


@pytest.mark.parametrize(
    "troubles",
    in_trouble(
        slow=[("conflict",), ("edit",), ("delete",), ("crash", "conflict"), ("crash", "delete")],
        nightly=[
            *(("crash", "edit"), ("conflict", "edit"), ("lost answer", "edit"), ("edit", "delete")),
            *(("conflict", "lost answer"), ("conflict", "delete")),
        ],
    ),
)
def test_an_executable_is_eventually_stable_whatever_happens(troubles: Troubles) -> None:
    verdict = check(executable_in(troubles)).assert_holds()
    assert verdict.bound is None


SERVICE_USERS: dict[str, User] = {
    "edit": Create(net.endpoint(2)),
    "delete": Delete(Service, net.WEB),
}


def service_in(troubles: Troubles) -> World:
    """The controllers of Services and Endpoints with two workers each, in trouble; an edit is one backend more."""
    users = [user for name, user in SERVICE_USERS.items() if name in troubles]
    objects = [net.service(), net.endpoint(1), net.executable()]
    controllers = [services, endpoints]
    promised = [*net.service_promises(), *net.endpoint_promises()]
    world = net.world(controllers, objects, [*users, net.RUNS], faults_of(troubles), promised)
    world.workers = 2
    return world


@pytest.mark.parametrize("troubles", in_trouble())
def test_a_service_is_eventually_stable_whatever_happens(troubles: Troubles) -> None:
    verdict = check(service_in(troubles)).assert_holds()
    assert verdict.bound is None


@pytest.mark.nightly
@pytest.mark.parametrize("world", [pair_in(TROUBLES), edge_in(TROUBLES)], ids=["a pair", "a cluster at the edge"])
def test_all_troubles_together_leave_it_eventually_stable(world: World) -> None:
    verdict = check(world).assert_holds()
    assert verdict.bound is None

"""The operator proved: its own code, under every interleaving of stale caches, crashes, lost answers and users.

Each world is explored completely for its faults. That a claim can fail is shown by operators with one rule left out,
and by the pattern that plans replace.
"""

from collections.abc import Callable
from typing import Any

import pytest

from attractor.check import Bounds, Edit, Faults, World, WorldState, always, check, eventually_stable
from attractor.k8s.apps_v1 import StatefulSet
from attractor.k8s.core_v1 import ConfigMap
from attractor.operators.dbcluster import Cluster
from attractor.operators.dbcluster.controllers import plan as planning
from attractor.operators.dbcluster.controllers.controller import clusters
from attractor.operators.dbcluster.controllers.entropy import Entropy
from attractor.operators.dbcluster.controllers.plan import Inputs
from attractor.operators.dbcluster.proofs import worlds
from attractor.operators.dbcluster.proofs.properties import (
    EntropyModel,
    configuration_is_never_updated,
    credentials_come_before_all_else,
    settled,
    wanted_refs,
)
from attractor.operators.dbcluster.proofs.worlds import KEY, RECONFIGURED, WITHOUT_QUEUE, cluster, two, world
from attractor.plan import Freeze, RemoveOrphans, SecretsFirst, Transformer
from tests.check.world.judged import telling
from tests.operators.proofs import assert_proved

from .prepared import prepared_clusters

pytestmark = pytest.mark.slow

STATES = {
    worlds.creation: 182_027,
    worlds.reconfiguration: 49_580,
    worlds.removal: 35_488,
    worlds.dependence: 141_019,
    worlds.deletion: 44_722,
    worlds.halting: 27_091,
    worlds.stillness: 11_039,
}


@pytest.mark.parametrize("made", worlds.WORLDS, ids=lambda made: made.__name__)
def test_the_operator_keeps_its_promises(made: Callable[[], World]) -> None:
    """A crash at every step is a crash after the k-th action of a plan for every k, and for every order of a wave."""
    assert_proved(made, STATES)


def test_reconciling_again_changes_nothing_after_restarts_and_closed_watches() -> None:
    """Every reachable state of a settled world holds the very objects that it began with."""
    seen: set[object] = set()
    faults = Faults(crash=2, closed_watch=1)

    def looked_at(look: WorldState) -> bool:
        return bool(look.versions())

    with telling(lambda look: seen.add(look.versions())):
        check(world(settled(cluster()), faults=faults, more=[always(looked_at)])).assert_holds()
    assert len(seen) == 1


def without(rule: type) -> Callable[[Inputs], list[Transformer]]:
    """The operator's rules, except one."""
    complete = planning.transformers
    return lambda inputs: [one for one in complete(inputs) if type(one) is not rule]


@pytest.mark.parametrize(
    ("rule", "objects", "users", "violated"),
    [
        (SecretsFirst, [cluster()], [], "credentials come before all else"),
        (Freeze, [cluster()], [], "credentials stay the same"),
        (
            RemoveOrphans,
            settled(two()),
            [Edit(Cluster, KEY, spec=[WITHOUT_QUEUE])],
            "eventually as wanted, and no orphan",
        ),
    ],
)
def test_each_rule_is_needed(
    monkeypatch: pytest.MonkeyPatch, rule: type, objects: Any, users: Any, violated: str
) -> None:
    monkeypatch.setattr(planning, "transformers", without(rule))
    check(world(objects, users)).assert_violated(violated)


class TestThePatternThatPlansReplace:
    """Prepare, then create or update: the two problems, found by the checker, and gone with a plan."""

    @staticmethod
    def world(controller: Any, objects: Any, users: Any, claim: Any) -> World:
        return World(
            controllers=[controller],
            objects=objects,
            users=users,
            faults=None,
            properties=[claim],
            externals={Entropy: EntropyModel()},
            workers=1,
            bounds=Bounds(lag=2),
            quiesces=False,
        )

    def test_special_objects_are_written_out_of_order_and_updated(self) -> None:
        first = always(credentials_come_before_all_else)
        check(self.world(prepared_clusters, [cluster()], [], first)).assert_violated(first.name)
        check(self.world(clusters, [cluster()], [], first)).assert_holds()
        users = [Edit(Cluster, KEY, spec=[RECONFIGURED])]
        updated = always(_is_never_changed_in_place)
        check(self.world(prepared_clusters, [cluster()], users, updated)).assert_violated(updated.name)
        check(self.world(clusters, settled(cluster()), users, always(configuration_is_never_updated))).assert_holds()

    def test_what_is_no_longer_prepared_becomes_an_orphan(self) -> None:
        users = [Edit(Cluster, KEY, spec=[WITHOUT_QUEUE])]
        orphans = eventually_stable(_has_no_orphan, name="no orphan stays")
        check(self.world(prepared_clusters, [two()], users, orphans)).assert_violated(orphans.name)
        check(self.world(clusters, settled(two()), users, orphans)).assert_holds()


def _is_never_changed_in_place(look: WorldState) -> bool:
    return not any("maxclients" in one.data["redis.conf"] for one in look.list(ConfigMap))


def _has_no_orphan(look: WorldState) -> bool:
    wanted = {key.name for cluster in look.list(Cluster) for kind, key in wanted_refs(cluster) if kind == "StatefulSet"}
    return {one.metadata.name for one in look.list(StatefulSet)} <= wanted

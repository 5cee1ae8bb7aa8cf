"""The operator proved: its own code, under every interleaving of stale caches, crashes, lost answers and users.

Each world is explored completely for its faults. That a claim can fail is shown by operators with one rule left out,
and by the pattern that plans replace.
"""

from collections.abc import Callable
from typing import Any

import pytest

from attractor.check import check
from attractor.check.world import Delete, Edit, Faults, Look, World, always, eventually_stable, sometimes
from attractor.objects.builtin.apps_v1 import StatefulSet
from attractor.objects.builtin.core_v1 import ConfigMap, Secret
from attractor.operators.dbcluster import Cluster, planning
from attractor.operators.dbcluster.controller import clusters
from attractor.operators.dbcluster.entropy import Entropy
from attractor.operators.dbcluster.planning import Inputs
from attractor.operators.dbcluster.properties import (
    EntropyModel,
    belongings,
    configuration_is_never_updated,
    credentials_come_before_all_else,
    everything_is_as_wanted,
    promises,
    ready_workloads,
    settled,
    wanted_refs,
)
from attractor.plan import Freeze, RemoveOrphans, SecretsFirst, Transformer

from .places import KEY, cluster_of, component
from .prepared import prepared_clusters

pytestmark = pytest.mark.slow

RECONFIGURED = {"components": [{"name": "cache", "config": {"maxclients": "64"}}]}
WITHOUT_QUEUE = {"components": [{"name": "cache"}]}


def small(*names: str, **fields: Any) -> Cluster:
    """A cluster without a history, so that there is less to interleave."""
    return cluster_of(*(component(name) for name in names or ("cache",)), revision_history_limit=0, **fields)


def world(objects: Any, users: Any = (), faults: Faults | None = None, more: Any = (), **options: Any) -> World:
    return World(
        [clusters, ready_workloads],
        objects,
        users,
        faults,
        [*promises(), *more],
        {Entropy: EntropyModel()},
        workers=1,
        lag=2,
        **options,
    )


def configs(look: Look) -> int:
    return len(look.list(ConfigMap))


def test_creation_survives_a_crash_and_a_lost_answer_after_every_action() -> None:
    """A crash at every step is a crash after the k-th action of the plan for every k, and for every order."""
    reached = [
        sometimes(lambda look: len(belongings(look)) == 1, name="only the credentials are there"),
        sometimes(everything_is_as_wanted, name="it gets there"),
        sometimes(lambda look: look.external(Entropy).count > 1, name="a password is thrown away"),
    ]
    verdict = check(world([small()], faults=Faults(crash=1, lost_answer=1), more=reached))
    verdict.assert_holds()
    assert verdict.distinct > 100_000


def test_a_change_of_configuration_survives_a_crash_and_a_lost_answer() -> None:
    reached = [
        sometimes(lambda look: configs(look) == 2, name="old and new configuration at once"),
        sometimes(_is_reconfigured, name="only the new one in the end"),
    ]
    users = [Edit(Cluster, KEY, spec=[RECONFIGURED])]
    faults = Faults(crash=1, lost_answer=1)
    verdict = check(world(settled(small()), users, faults, reached))
    verdict.assert_holds()
    assert verdict.distinct > 10_000


def _is_reconfigured(look: Look) -> bool:
    return [bool("maxclients" in one.data["redis.conf"]) for one in look.list(ConfigMap)] == [True]


def test_a_removed_component_leaves_no_orphan_whatever_fails() -> None:
    reached = [sometimes(lambda look: len(look.list(StatefulSet)) == 1, name="one component is left")]
    users = [Edit(Cluster, KEY, spec=[WITHOUT_QUEUE])]
    faults = Faults(crash=1, lost_answer=1)
    check(world(settled(small("cache", "queue")), users, faults, reached)).assert_holds()


def test_dependent_components_are_created_in_order_whatever_fails() -> None:
    def in_order(look: Look) -> bool:
        names = {one.metadata.name for one in look.list(StatefulSet)}
        return "shop-app" not in names or "shop-store" in names

    cluster = cluster_of(component("app", depends_on=["store"]), component("store"), revision_history_limit=0)
    check(world([cluster], faults=Faults(), more=[always(in_order)])).assert_holds()


@pytest.mark.parametrize("policy", ["Delete", "Halt"])
def test_a_deletion_survives_a_crash_and_keeps_what_its_policy_keeps(policy: str) -> None:
    def kept(look: Look) -> bool:
        return bool(look.list(Cluster)) or [one.metadata.owner_references for one in look.list(Secret)] == [[]]

    is_halted = policy == "Halt"
    more = [
        sometimes(lambda look: not look.list(Cluster), name="the cluster is gone"),
        always(kept, name="the credentials outlive it, and belong to nobody")
        if is_halted
        else sometimes(lambda look: not look.list(Secret), name="the credentials go"),
    ]
    users = [Delete(Cluster, KEY)]
    check(world(settled(small(termination_policy=policy)), users, Faults(crash=1), more)).assert_holds()


def test_reconciling_again_changes_nothing_after_restarts_and_closed_watches() -> None:
    """Every reachable state of a settled world holds the very objects that it began with."""
    seen = set()

    def looked_at(look: Look) -> bool:
        seen.add(look.versions())
        return True

    verdict = check(world(settled(small()), faults=Faults(crash=2, closed_watch=1), more=[always(looked_at)]))
    verdict.assert_holds()
    assert verdict.distinct > 1_000
    assert len(seen) == 1


def without(rule: type) -> Callable[[Inputs], list[Transformer]]:
    """The operator's rules, except one."""
    complete = planning.transformers
    return lambda inputs: [one for one in complete(inputs) if type(one) is not rule]


@pytest.mark.parametrize(
    ("rule", "objects", "users", "violated"),
    [
        (SecretsFirst, [small()], [], "credentials come before all else"),
        (Freeze, [small()], [], "credentials stay the same"),
        (
            RemoveOrphans,
            settled(small("cache", "queue")),
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
            [controller], objects, users, None, [claim], {Entropy: EntropyModel()}, workers=1, lag=2, quiet=False
        )

    def test_special_objects_are_written_out_of_order_and_updated(self) -> None:
        first = always(credentials_come_before_all_else)
        check(self.world(prepared_clusters, [small()], [], first)).assert_violated(first.name)
        check(self.world(clusters, [small()], [], first)).assert_holds()
        users = [Edit(Cluster, KEY, spec=[RECONFIGURED])]
        updated = always(_is_never_changed_in_place)
        check(self.world(prepared_clusters, [small()], users, updated)).assert_violated(updated.name)
        check(self.world(clusters, settled(small()), users, always(configuration_is_never_updated))).assert_holds()

    def test_what_is_no_longer_prepared_becomes_an_orphan(self) -> None:
        users = [Edit(Cluster, KEY, spec=[WITHOUT_QUEUE])]
        orphans = eventually_stable(_has_no_orphan, name="no orphan stays")
        check(self.world(prepared_clusters, [small("cache", "queue")], users, orphans)).assert_violated(orphans.name)
        check(self.world(clusters, settled(small("cache", "queue")), users, orphans)).assert_holds()


def _is_never_changed_in_place(look: Look) -> bool:
    return not any("maxclients" in one.data["redis.conf"] for one in look.list(ConfigMap))


def _has_no_orphan(look: Look) -> bool:
    wanted = {key.name for cluster in look.list(Cluster) for kind, key in wanted_refs(cluster) if kind == "StatefulSet"}
    return {one.metadata.name for one in look.list(StatefulSet)} <= wanted

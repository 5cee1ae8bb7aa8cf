"""A plan carried out on a real server: order, idempotence, failures, crashes."""

from typing import Any

import pytest

from attractor.k8s.core_v1 import ConfigMap, Secret, Service
from attractor.objects.errors import Conflict, Forbidden, Invalid
from attractor.objects.gvk import Key
from attractor.objects.resource import Resource
from attractor.plan import Action, NameTaken, ObjectGraph, Outcome, Plan, Ref, Requeue, Snapshot, Step, Vertex
from attractor.plan.comparison import HASH
from attractor.runtime import Result, effects
from attractor.testing import ClusterUnderTest

from .hand import NAMESPACE, Crash, Hand, named, plan_for, service, snapshot_of, stored_root

WANTED: tuple[Resource, ...] = (
    service("front"),
    ConfigMap(metadata=named("settings"), data={"a": "1"}),
    Secret(metadata=named("password"), data={"password": b"x"}),
    service("back"),
)


def targets(writes: list[effects.Effect[Any]]) -> list[str]:
    return [
        f"{type(one).__name__} {one.object.metadata.name if isinstance(one, effects.Create) else one.key.name}"  # type: ignore[attr-defined]
        for one in writes
    ]


async def test_secrets_are_created_before_all_else_and_the_root_is_last(cluster: ClusterUnderTest) -> None:
    root, hand, steps = await stored_root(cluster.client), Hand(cluster.client), list[Step]()
    plan = plan_for(root, Snapshot(), WANTED)
    assert [len(wave) for wave in plan.graph.waves()] == [1, 3, 1]
    assert await hand.execute(plan, root, progress=steps.append) is None
    assert targets(hand.writes) == ["Create password", "Create settings", "Create back", "Create front"]
    assert [str(step.vertex.ref) for step in steps][-1] == "ConfigMap root"
    assert [(step.number, step.total) for step in steps] == [(n, 5) for n in range(1, 6)]


async def test_planning_again_finds_nothing_to_do(cluster: ClusterUnderTest) -> None:
    root, hand = await stored_root(cluster.client), Hand(cluster.client)
    await hand.execute(plan_for(root, Snapshot(), WANTED), root)
    again = plan_for(root, await snapshot_of(cluster.client, root), WANTED)
    assert again.is_empty
    assert again.diff() == []


async def test_executing_the_same_plan_twice_changes_nothing_more(cluster: ClusterUnderTest) -> None:
    root, plan = await stored_root(cluster.client), None
    plan = plan_for(root, Snapshot(), WANTED)
    await Hand(cluster.client).execute(plan, root)
    before = await snapshot_of(cluster.client, root)
    assert await Hand(cluster.client).execute(plan, root) is None
    assert dict(await snapshot_of(cluster.client, root)) == dict(before)


async def test_what_differs_is_patched_and_what_others_added_stays(cluster: ClusterUnderTest) -> None:
    client, root = cluster.client, await stored_root(cluster.client)
    await Hand(client).execute(plan_for(root, Snapshot(), [service("front", 80, app="x", tier="y")]), root)
    key = Key(NAMESPACE, "front")
    await client.patch(Service, key, {"metadata": {"labels": {"theirs": "1"}}})
    hand = Hand(client)
    await hand.execute(plan_for(root, await snapshot_of(client, root), [service("front", 81, app="x")]), root)
    stored = await client.get(Service, key)
    assert targets(hand.writes) == ["Patch front"]
    assert stored.spec.selector == {"app": "x"}
    assert stored.spec.ports[0].port == 81
    assert stored.metadata.labels == {"theirs": "1", "plan": "test"}
    assert plan_for(root, await snapshot_of(client, root), [service("front", 81, app="x")]).is_empty


async def test_drift_is_put_right(cluster: ClusterUnderTest) -> None:
    client, root = cluster.client, await stored_root(cluster.client)
    await Hand(client).execute(plan_for(root, Snapshot(), [service("front")]), root)
    await client.patch(Service, Key(NAMESPACE, "front"), {"spec": {"selector": {"app": "somebody-else"}}})
    await Hand(client).execute(plan_for(root, await snapshot_of(client, root), [service("front")]), root)
    assert (await client.get(Service, Key(NAMESPACE, "front"))).spec.selector == {"app": "front"}


async def test_immutable_objects_are_never_written_again(cluster: ClusterUnderTest) -> None:
    client, root = cluster.client, await stored_root(cluster.client)
    await Hand(client).execute(plan_for(root, Snapshot(), WANTED), root)
    changed = [*WANTED[:2], Secret(metadata=named("password"), data={"password": b"another"}), WANTED[3]]
    assert plan_for(root, await snapshot_of(client, root), changed).is_empty
    stored = await client.get(Secret, Key(NAMESPACE, "password"))
    assert stored.immutable is True
    assert stored.data == {"password": b"x"}


async def test_what_is_no_longer_wanted_is_deleted_last(cluster: ClusterUnderTest) -> None:
    client, root, hand = cluster.client, await stored_root(cluster.client), Hand(cluster.client)
    await Hand(client).execute(plan_for(root, Snapshot(), WANTED), root)
    wanted = [WANTED[0], ConfigMap(metadata=named("settings-2"), data={"a": "2"}), WANTED[2]]
    await hand.execute(plan_for(root, await snapshot_of(client, root), wanted), root)
    assert targets(hand.writes) == ["Create settings-2", "Delete settings", "Delete back"]
    assert plan_for(root, await snapshot_of(client, root), wanted).is_empty


async def test_a_name_that_somebody_else_has_is_refused_by_name(cluster: ClusterUnderTest) -> None:
    client, root = cluster.client, await stored_root(cluster.client)
    await client.create(Secret(metadata=named("password")))
    hand, steps = Hand(client), list[Step]()
    with pytest.raises(NameTaken, match="Secret password cannot be created for ConfigMap root"):
        await hand.execute(plan_for(root, Snapshot(), WANTED), root, progress=steps.append)
    assert targets(hand.writes) == ["Create password"]
    assert [step.outcome for step in steps] == [Outcome.FAILED, *[Outcome.BLOCKED] * 4]


async def test_a_failure_leaves_only_its_dependents_undone(cluster: ClusterUnderTest) -> None:
    client, root = cluster.client, await stored_root(cluster.client)
    wanted = [ConfigMap(metadata=named("fine")), service("port-0-is-invalid", 0), service("dependent")]

    def dependent_on_the_bad_one(graph: ObjectGraph) -> None:
        graph.depend(Ref.of(wanted[2]), Ref.of(wanted[1]))

    outcomes = dict[str, Outcome]()
    with pytest.raises(Invalid):
        await Hand(client).execute(
            plan_for(root, Snapshot(), wanted, dependent_on_the_bad_one),
            root,
            progress=lambda step: outcomes.update({step.vertex.ref.key.name: step.outcome}),
        )
    assert outcomes == {
        "fine": Outcome.DONE,
        "port-0-is-invalid": Outcome.FAILED,
        "dependent": Outcome.BLOCKED,
        "root": Outcome.BLOCKED,
    }


async def test_several_failures_come_together(cluster: ClusterUnderTest) -> None:
    root = await stored_root(cluster.client)
    with pytest.raises(ExceptionGroup, match="the plan for ConfigMap root failed in 2 places"):
        await Hand(cluster.client).execute(plan_for(root, Snapshot(), [service("a", 0), service("b", 0)]), root)


async def test_a_plan_whose_chain_asked_for_a_requeue_is_executed_first(cluster: ClusterUnderTest) -> None:
    root, hand = await stored_root(cluster.client), Hand(cluster.client)

    def later(graph: ObjectGraph) -> None:
        raise Requeue(7, "not yet")

    assert await hand.execute(plan_for(root, Snapshot(), WANTED, later), root) == Result(requeue_after_s=7)
    assert len(hand.writes) == 4


async def test_what_depends_on_an_awaited_object_waits_and_the_root_does_not(cluster: ClusterUnderTest) -> None:
    client, root = cluster.client, await stored_root(cluster.client)
    wanted = [service("first"), service("second")]

    def rolling(graph: ObjectGraph) -> None:
        graph.depend(Ref.of(wanted[1]), Ref.of(wanted[0]))
        graph.change(Ref.of(wanted[0]), is_awaited=True)
        changed = root.deep_copy()
        changed.data = {"told": "yes"}
        graph.change(graph.root, after=changed, action=Action.PATCH)

    hand = Hand(client)
    assert await hand.execute(plan_for(root, Snapshot(), wanted, rolling), root) is None
    assert targets(hand.writes) == ["Create first", "Patch root"]


async def test_an_update_meets_only_the_object_that_was_read(cluster: ClusterUnderTest) -> None:
    client, root = cluster.client, await stored_root(cluster.client)
    await Hand(client).execute(plan_for(root, Snapshot(), [service("front")]), root)
    old = await client.get(Service, Key(NAMESPACE, "front"))
    await client.delete(Service, old.key)
    await client.create(service("front"))
    for action in (Action.UPDATE, Action.PATCH):
        graph = ObjectGraph(root)
        graph.put(Vertex(Ref.of(old), old, service("front", 99), action))
        with pytest.raises(Conflict):
            await Hand(client).execute(Plan(graph), root)
    graph = ObjectGraph(root)
    graph.put(Vertex(Ref.of(old), before=old, action=Action.DELETE))
    assert await Hand(client).execute(Plan(graph), root) is None
    assert (await client.get(Service, old.key)).metadata.uid != old.metadata.uid


async def test_a_conflict_is_raised_only_where_nothing_worse_happened(cluster: ClusterUnderTest) -> None:
    client, root = cluster.client, await stored_root(cluster.client)
    await Hand(client).execute(plan_for(root, Snapshot(), [service("front")]), root)
    old = await client.get(Service, Key(NAMESPACE, "front"))
    await client.patch(Service, old.key, {"metadata": {"labels": {"newer": "yes"}}})
    graph = ObjectGraph(root)
    graph.put(Vertex(Ref.of(old), old, service("front", 99), Action.UPDATE))
    graph.put(Vertex(Ref.of(service("bad", 0)), None, service("bad", 0), Action.CREATE))
    with pytest.raises(Invalid):
        await Hand(client).execute(Plan(graph), root)


@pytest.mark.parametrize("writes", range(8))
async def test_a_crash_after_any_number_of_actions_is_made_good_by_planning_again(
    cluster: ClusterUnderTest, writes: int
) -> None:
    """From four objects to three others: two creations, one patch, and two deletions."""
    client, root = cluster.client, await stored_root(cluster.client)
    await Hand(client).execute(plan_for(root, Snapshot(), WANTED), root)
    passwords = (await client.get(Secret, Key(NAMESPACE, "password"))).metadata.uid
    wanted = [service("front", 81), ConfigMap(metadata=named("settings-2")), WANTED[2], service("third")]
    dying = Hand(client, writes)
    if writes < 5:
        with pytest.raises(Crash):
            await dying.execute(plan_for(root, await snapshot_of(client, root), wanted), root)
    else:
        await dying.execute(plan_for(root, await snapshot_of(client, root), wanted), root)
    assert len(dying.writes) == min(writes, 5)
    successor = Hand(client)
    await successor.execute(plan_for(root, await snapshot_of(client, root), wanted), root)
    assert len(successor.writes) == 5 - min(writes, 5), "what was done is not done again"
    final = await snapshot_of(client, root)
    assert sorted(ref.key.name for ref in final) == ["front", "password", "settings-2", "third"]
    assert (await client.get(Secret, Key(NAMESPACE, "password"))).metadata.uid == passwords
    assert plan_for(root, final, wanted).is_empty


async def test_errors_that_are_no_conflict_reach_the_caller_as_they_are(cluster: ClusterUnderTest) -> None:
    root = await stored_root(cluster.client)

    class Forbidding(Hand):
        async def _write(self, effect: effects.Effect[Any]) -> Any:
            raise Forbidden("not you")

    with pytest.raises(Forbidden, match="not you"):
        await Forbidding(cluster.client).execute(plan_for(root, Snapshot(), [service("front")]), root)


async def test_stored_objects_tell_what_they_were_written_from(cluster: ClusterUnderTest) -> None:
    client, root = cluster.client, await stored_root(cluster.client)
    await Hand(client).execute(plan_for(root, Snapshot(), [service("front")]), root)
    assert HASH in (await client.get(Service, Key(NAMESPACE, "front"))).metadata.annotations

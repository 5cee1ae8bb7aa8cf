"""The dry run: what a plan would do, for people."""

from attractor.k8s.core_v1 import ConfigMap, Secret
from attractor.plan import Requeue, Snapshot, report
from attractor.plan.difference import SENSITIVE
from attractor.plan.object_graph import Action, ObjectGraph
from attractor.plan.plan import Plan
from attractor.testing import ClusterUnderTest

from .hand import Hand, named, plan_for, service, snapshot_of, stored_root


async def two_plans(cluster: ClusterUnderTest) -> tuple[Plan, Plan]:
    """A first plan, and one for what comes after it was carried out."""
    client, root = cluster.client, await stored_root(cluster.client)
    wanted = [service("front", 80, app="x", tier="y"), Secret(metadata=named("password"), data={"p": b"hush"})]
    first = plan_for(root, Snapshot(), [*wanted, ConfigMap(metadata=named("old"), data={"a": "1"})])
    await Hand(client).execute(first, root)
    return first, plan_for(root, await snapshot_of(client, root), [service("front", 81, app="x"), wanted[1]])


async def test_a_report_tells_what_is_created_changed_and_deleted(cluster: ClusterUnderTest) -> None:
    first, second = await two_plans(cluster)
    text = report(first)
    assert "Plan for ConfigMap root:" in text
    assert "  + Secret password is created" in text
    assert "        spec.ports[0].port: 80" in text
    assert text.endswith("Plan: 3 to create, 0 to change, 0 to delete.")
    text = report(second)
    assert "      ~ spec.ports[0].port: 80 -> 81" in text
    assert '      - spec.selector.tier: "y"' in text
    assert "  - ConfigMap old is deleted: it is no longer wanted" in text
    assert text.endswith("Plan: 0 to create, 1 to change, 1 to delete.")


async def test_what_a_secret_holds_is_not_shown(cluster: ClusterUnderTest) -> None:
    first, _ = await two_plans(cluster)
    text = report(first)
    assert SENSITIVE in text
    assert "aHVzaA" not in text


async def test_colour_is_used_only_when_asked_for(cluster: ClusterUnderTest) -> None:
    first, _ = await two_plans(cluster)
    assert "\x1b" not in report(first)
    assert "\x1b[32;1m  + Secret password is created\x1b[0m" in report(first, colour=True)


def test_no_changes_are_said_in_one_line_and_a_requeue_is_told() -> None:
    root = ConfigMap(metadata=named("root"))
    assert report(Plan(ObjectGraph(root))) == "No changes. ConfigMap root is as desired."
    graph = ObjectGraph(root)
    ref = graph.want(ConfigMap(metadata=named("a")))
    graph.change(ref, action=Action.CREATE, is_awaited=True)
    text = report(Plan(graph, Requeue(2, "pods are starting")))
    assert "(what depends on it waits for it)" in text
    assert text.endswith("It is made again after 2 s: pods are starting.")

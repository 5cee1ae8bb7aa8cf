"""``ensure`` and ``ensure_children``: written only where something differs, in production and in worlds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor import Context, Key, ObjectMeta, controller
from attractor.check import Edit, Faults, World, WorldState, check, eventually_stable
from attractor.k8s.apps_v1 import Deployment
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime.toolkit.ensure import _overlaid
from attractor.testing import ClusterUnderTest, eventually
from attractor.toolkit import AlreadyOwned, Ensured, ensure, ensure_children, set_controller
from tests.check.world.pairs import KEY, Pair, pair
from tests.factories import config_map


def deployment(replicas: int = 1, image: str = "web:1", cpu: str = "500m") -> Deployment:
    container = {"name": "web", "image": image, "resources": {"limits": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "default"}}
    return Deployment.from_dict({**head, "spec": spec})


async def ensured(cluster: ClusterUnderTest, *wanted: Any) -> list[Ensured[Any]]:
    """What each of several calls in a row answers, within one controller."""
    seen: list[Ensured[Any]] = []

    @controller(for_=ConfigMap, owns=[Deployment])
    async def ensuring(ctx: Context, key: Key) -> None:
        if key.name == "begin" and not seen:
            seen.extend([await ensure(ctx, one) for one in wanted])

    async with cluster.running(ensuring):
        await cluster.client.create(config_map("begin"))
        await eventually(lambda: len(seen) == len(wanted))
    return seen


async def test_an_object_is_created_then_left_alone_then_changed_where_it_differs() -> None:
    async with ClusterUnderTest() as cluster:
        wanted = [deployment(), deployment(), deployment(cpu="0.5"), deployment(3, "web:2")]
        answers = await ensured(cluster, *wanted)
        assert [one.outcome for one in answers] == ["created", "unchanged", "unchanged", "changed"]
        assert answers[-1].differences == (
            "spec.replicas: 1 -> 3",
            "spec.template.spec.containers[0].image: 'web:1' -> 'web:2'",
        )
        stored = await cluster.client.get(Deployment, Key("default", "a"))
        assert stored.spec.template.spec.containers[0].image_pull_policy, "what the server filled in stays"


async def test_what_another_object_controls_is_not_taken() -> None:
    failed: list[Exception] = []

    @controller(for_=Pair, owns=[ConfigMap])
    async def greedy(ctx: Context, key: Key) -> None:
        owner = await ctx.find(Pair, key)
        if owner is not None and key.name == "b":
            try:
                await ensure(ctx, config_map("shared", text="b"), owner=owner)
            except AlreadyOwned as error:
                failed.append(error)

    async with ClusterUnderTest() as cluster:
        await cluster.install(Pair)
        child = config_map("shared", text="a")
        set_controller(await cluster.client.create(pair("a")), child)
        await cluster.client.create(child)
        async with cluster.running(greedy):
            await cluster.client.create(pair("b"))
            await eventually(lambda: bool(failed))


@controller(for_=Pair, owns=[ConfigMap])
async def letters(ctx: Context, key: Key) -> None:
    """One ConfigMap for each letter of the text."""
    owner = await ctx.find(Pair, key)
    if owner is None or owner.metadata.is_deleting:
        return
    wanted = [
        ConfigMap(metadata=ObjectMeta(name=f"{key.name}-{letter}", namespace=key.namespace), data={"letter": letter})
        for letter in sorted(set(owner.spec.text))
    ]
    await ensure_children(ctx, owner, wanted, kinds=[ConfigMap])


def spelled(world: WorldState) -> bool:
    found = [one.data for one in world.list(ConfigMap)]
    return found == [{"letter": letter} for letter in sorted(set(world.get(Pair, KEY).spec.text))]


def test_children_that_nobody_wants_any_more_go_whatever_happens() -> None:
    world = World(
        controllers=[letters],
        objects=[pair("a", "xy")],
        users=[Edit(Pair, KEY, spec=[{"text": "y"}])],
        faults=Faults(crash=1),
        properties=[eventually_stable(spelled)],
    )
    check(world).assert_holds(within=["lag", "workers"])


json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "x", "y"]), inner, max_size=3),
    max_leaves=8,
)


def has(found: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there, by the definition."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(name in found and has(found[name], one) for name, one in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(has, found, wanted))
    return bool(found == wanted and isinstance(found, bool) == isinstance(wanted, bool))


@given(found=json_values, wanted=json_values)
def test_what_is_wanted_is_there_and_wanting_it_again_changes_nothing(found: Any, wanted: Any) -> None:
    made = _overlaid(found, wanted)
    assert has(made, wanted)
    assert _overlaid(made, wanted) == made


@pytest.mark.parametrize("name", ["finalizers", "ownerReferences"])
def test_owners_and_finalizers_of_others_stay(name: str) -> None:
    assert _overlaid({name: ["theirs"]}, {name: ["ours"]}) == {name: ["theirs", "ours"]}

"""Plans made from stale caches, under every interleaving: whatever the cache missed, the end is right."""

import pytest

from attractor.check import Delete, Edit, Faults, World, WorldState, check, eventually_stable, sometimes
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource, Struct
from attractor.plan import Chain, Compare, ObjectGraph, Own, Plan, RemoveOrphans, take_snapshot
from attractor.runtime import Context, Result, controller

KEY = Key("default", "team")


class TeamSpec(Struct):
    """What is wanted: for each page its text."""

    pages: dict[str, str] = {}  # noqa: RUF012


class Team(Resource, group="test.attractor.dev", version="v1"):
    """Some pages."""

    spec: TeamSpec


@controller(for_=Team, owns=[ConfigMap])
async def teams(ctx: Context, key: Key) -> Result | None:
    team = await ctx.find(Team, key)
    if team is None or team.metadata.is_deleting:
        return None
    snapshot = await take_snapshot(ctx, team, [ConfigMap])
    graph = ObjectGraph(team)
    for name, text in sorted(team.spec.pages.items()):
        graph.want(ConfigMap(metadata=ObjectMeta(name=name, namespace=key.namespace), data={"text": text}))
    plan = Plan.build(graph, Chain([Own(), Compare(snapshot, frozen=()), RemoveOrphans(snapshot)]))
    return await plan.execute(ctx)


def team(**pages: str) -> Team:
    return Team(metadata=ObjectMeta(name=KEY.name, namespace=KEY.namespace), spec=TeamSpec(pages=pages))


def is_as_wanted(look: WorldState) -> bool:
    found = {one.metadata.name: one.data["text"] for one in look.list(ConfigMap)}
    wanted = [one.spec.pages for one in look.list(Team)]
    return found == (wanted[0] if wanted else {})


def has(**pages: str) -> object:
    def reached(look: WorldState) -> bool:
        return {one.metadata.name: one.data["text"] for one in look.list(ConfigMap)} == pages

    return sometimes(reached, name=f"{sorted(pages)} are there")


@pytest.mark.parametrize("own_writes", [True, False])
def test_creation_update_and_deletion_from_any_stale_cache_converge(own_writes: bool) -> None:
    """Without ``own_writes`` the cache may miss even what this very process wrote: c-lag, u-lag and d-lag at will."""
    world = World(
        controllers=[teams],
        objects=[team(a="1")],
        users=[Edit(Team, KEY, patch=[{"spec": {"pages": {"a": "2"}}}, {"spec": {"pages": {"a": None}}}], times=2)],
        faults=Faults(crash=1),
        properties=[eventually_stable(is_as_wanted), has(a="1"), has(a="2"), has()],  # type: ignore[list-item]
        workers=1,
        own_writes=own_writes,
    )
    check(world).assert_holds()


def test_a_child_that_somebody_deletes_comes_back_and_a_new_one_is_never_deleted_for_the_old() -> None:
    world = World(
        controllers=[teams],
        objects=[team(a="1", b="1")],
        users=[Delete(ConfigMap, Key("default", "a")), Edit(Team, KEY, patch=[{"spec": {"pages": {"b": None}}}])],
        faults=Faults(lost_answer=1),
        properties=[eventually_stable(is_as_wanted), has(a="1"), has(b="1")],  # type: ignore[list-item]
        workers=1,
        own_writes=False,
    )
    check(world).assert_holds()

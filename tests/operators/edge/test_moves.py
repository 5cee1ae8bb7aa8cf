"""Every move of every state, by everybody, asked of the API server itself: allowed where the table has it, else refused."""

from typing import Any

import pytest

from attractor.apiserver.request.caller import User
from attractor.client import Client
from attractor.httpd.auth.authentication import ADMIN
from attractor.lifecycle import Lifecycle
from attractor.objects.errors import Forbidden
from attractor.objects.gvk import Key
from attractor.operators.edge.api.states import AGENT, APP_INST, CLOUDLET, CLUSTER_INST, Actor
from attractor.operators.edge.api.types import AppInst, Cloudlet, ClusterInst
from tests.operators.edge.placing import SIDE, everybody, let_in, place, serve, way_to
from tests.operators.edge.world import PLAIN, Edge


async def ask_all(edge: Edge, kind: Any, key: Key, table: Lifecycle[Any, Any], state: Any) -> int:
    """Try every move from a state, by everybody; how many that are."""
    count = 0
    for user, actors in everybody(edge, key.namespace).items():
        async with edge.client(user) as client:
            for after in table.states:
                if after != state:
                    await ask(client, kind, key, table, state, actors, after)
                    count += 1
    return count


async def ask(
    client: Client, kind: Any, key: Key, table: Lifecycle[Any, Any], state: Any, actors: set[Actor], after: Any
) -> None:
    """Try a move without making it; a refusal names the object, the state, its owner, who asked, and for what."""
    moving = client.patch(kind, key, {"status": {"state": after}}, subresource="status", dry_run=True)
    if any(after in table.nexts(state, actor) for actor in actors):
        assert (await moving).status.state == after
        return
    with pytest.raises(Forbidden) as refused:
        await moving
    said, owner = refused.value.message, table.owner(state)
    assert f"{table.name} {key.namespace}/{key.name} is {state}" in said
    assert f"may not move it to {after}" in said
    assert all(f"the {actor}" in said for actor in actors)
    assert f"only the {owner} may move" in said or owner in actors or "which is final" in said


@pytest.mark.parametrize(("kind", "table"), [(ClusterInst, CLUSTER_INST), (AppInst, APP_INST)])
async def test_the_server_allows_exactly_the_moves_of_an_instances_table(
    edge: Edge, kind: Any, table: Lifecycle[Any, Any]
) -> None:
    await let_in(edge, ["berlin"])
    await serve(edge, "berlin")
    count = 0
    for state in table.states:
        name = state.lower()
        await (edge.create_cluster(name) if kind is ClusterInst else edge.create_app(name))
        await place(edge, kind, Key("berlin", name), way_to(table, state))
        count += await ask_all(edge, kind, Key("berlin", name), table, state)
    assert count == 12 * 11 * 4


async def test_the_server_allows_exactly_the_moves_of_a_cloudlets_table(edge: Edge) -> None:
    names = [state.lower() for state in CLOUDLET.states]
    await let_in(edge, names)
    count = 0
    for state, name in zip(CLOUDLET.states, names, strict=True):
        await place(edge, Cloudlet, Key(name, name), way_to(CLOUDLET, state))
        count += await ask_all(edge, Cloudlet, Key(name, name), CLOUDLET, state)
    assert count == 6 * 5 * 4


async def test_the_server_lets_an_agent_move_itself_exactly_along_its_table(edge: Edge) -> None:
    names = [state.lower() for state in AGENT.states]
    await let_in(edge, names)
    for state, name in zip(AGENT.states, names, strict=True):
        agent = edge.agent_user(name)
        async with edge.client(agent) as client:
            for row in way_to(AGENT, state):
                await client.patch(Cloudlet, Key(name, name), agent_is(row.next), subresource="status")
        for user, actors in {
            agent: (Actor.CRM_V1, Actor.CRM_V2),
            edge.agent_user(names[names.index(name) - 1]): (),
            ADMIN: (Actor.ADMIN,),
            SIDE: (),
            PLAIN: (),
        }.items():
            for after in AGENT.states:
                is_allowed = any(after in AGENT.nexts(state, actor) for actor in actors)
                assert after == state or await is_taken(edge, user, name, after) == is_allowed, (state, user, after)


def agent_is(state: str) -> dict[str, Any]:
    """The report of agent 1."""
    return {"status": {"agents": {"1": {"state": state}}}}


async def is_taken(edge: Edge, user: User, cloudlet: str, state: str) -> bool:
    """Whether the server would take a report."""
    async with edge.client(user) as client:
        key = Key(cloudlet, cloudlet)
        try:
            await client.patch(Cloudlet, key, agent_is(state), subresource="status", dry_run=True)
        except Forbidden:
            return False
    return True

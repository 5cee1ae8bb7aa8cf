"""The stale-cache table: what one round of a plan does when the cache lags behind the server, cell by cell.

Rows: how the cache differs from the server. Columns: what a plan from the true state would do. A cell tells what the
plan from the stale cache did in its round, and in every cell a second round, with the cache up to date, converges.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from attractor.client import Client
from attractor.k8s.core_v1 import Service
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.resource import Resource
from attractor.plan import Snapshot
from attractor.runtime import Result
from attractor.testing import ClusterUnderTest

from .hand import NAMESPACE, Hand, plan_for, service, snapshot_of, stored_root

KEY = Key(NAMESPACE, "front")
OLD, NEW = service("front", 80), service("front", 81)
REQUEUED = Result(requeue=True)


async def write(client: Client, root: Resource, *wanted: Resource) -> Snapshot:
    """Bring the server to a state; the snapshot that an up-to-date cache has then."""
    await Hand(client).execute(plan_for(root, await snapshot_of(client, root), wanted), root)
    return await snapshot_of(client, root)


async def latest_absent(client: Client, root: Resource) -> Snapshot:
    return Snapshot()


async def latest_present(client: Client, root: Resource) -> Snapshot:
    return await write(client, root, OLD)


async def create_lag(client: Client, root: Resource) -> Snapshot:
    await write(client, root, OLD)
    return Snapshot()


async def update_lag(client: Client, root: Resource) -> Snapshot:
    seen = await write(client, root, OLD)
    await client.patch(Service, KEY, {"metadata": {"labels": {"newer": "yes"}}})
    return seen


async def delete_lag(client: Client, root: Resource) -> Snapshot:
    seen = await write(client, root, OLD)
    await client.delete(Service, KEY)
    return seen


async def incarnation_lag(client: Client, root: Resource) -> Snapshot:
    """The fourth kind, which the three letters c, u and d do not tell apart: deleted and created again."""
    seen = await write(client, root, OLD)
    await client.delete(Service, KEY)
    await write(client, root, OLD)
    return seen


class Cell(NamedTuple):
    """One cell: the state, what is wanted, and what the stale round answers and leaves on the server."""

    arrange: Callable[[Client, Resource], object]
    wanted: tuple[Service, ...]
    answer: object
    port_after_the_round: int | None


TABLE = {
    "latest, create": Cell(latest_absent, (NEW,), None, 81),
    "latest, update": Cell(latest_present, (NEW,), None, 81),
    "latest, delete": Cell(latest_present, (), None, None),
    "c-lag, update (a creation that meets an object)": Cell(create_lag, (NEW,), None, 80),
    "c-lag, delete (lost)": Cell(create_lag, (), None, 80),
    "u-lag, update": Cell(update_lag, (NEW,), None, 81),
    "u-lag, delete": Cell(update_lag, (), None, None),
    "d-lag, create (a patch that meets nothing)": Cell(delete_lag, (NEW,), REQUEUED, None),
    "d-lag, nothing (a deletion that meets nothing)": Cell(delete_lag, (), None, None),
    "new incarnation, update": Cell(incarnation_lag, (NEW,), "Conflict", 80),
    "new incarnation, delete": Cell(incarnation_lag, (), None, 80),
}
FAILS_IN_ROUND_ONE = {name for name in TABLE if name.startswith(("c-lag", "d-lag, create", "new incarnation"))}


async def port(client: Client) -> int | None:
    try:
        return (await client.get(Service, KEY)).spec.ports[0].port
    except ApiError:
        return None


@pytest.mark.parametrize("name", TABLE)
async def test_one_stale_round_and_one_after_the_events(cluster: ClusterUnderTest, name: str) -> None:
    cell, client, root = TABLE[name], cluster.client, await stored_root(cluster.client)
    stale = await cell.arrange(client, root)  # type: ignore[misc]
    try:
        answer: object = await Hand(client).execute(plan_for(root, stale, cell.wanted), root)
    except ApiError as error:
        answer = type(error).__name__
    assert answer == cell.answer
    assert await port(client) == cell.port_after_the_round

    desired = 81 if cell.wanted else None
    assert (await port(client) != desired) == (name in FAILS_IN_ROUND_ONE)
    await Hand(client).execute(plan_for(root, await snapshot_of(client, root), cell.wanted), root)
    assert await port(client) == desired
    assert plan_for(root, await snapshot_of(client, root), cell.wanted).is_empty


async def test_all_objects_may_be_stale_at_once_each_in_its_way(cluster: ClusterUnderTest) -> None:
    client, root = cluster.client, await stored_root(cluster.client)
    first = [service(name) for name in ("created", "updated", "deleted", "replaced", "kept")]
    seen = await write(client, root, *first)
    for name in ("deleted", "replaced"):
        await client.delete(Service, Key(NAMESPACE, name))
    await write(client, root, *[one for one in first if one.metadata.name != "deleted"])
    await client.patch(Service, Key(NAMESPACE, "updated"), {"metadata": {"labels": {"newer": "yes"}}})
    stale = Snapshot(obj for ref, obj in seen.items() if ref.key.name != "created")
    wanted = [service(name, 81) for name in ("created", "updated", "deleted", "replaced")]
    with pytest.raises(ApiError):
        await Hand(client).execute(plan_for(root, stale, wanted), root)
    await write(client, root, *wanted)
    assert {one.metadata.name: one.spec.ports[0].port for one in (await snapshot_of(client, root)).of(Service)} == {
        one.metadata.name: 81 for one in wanted
    }

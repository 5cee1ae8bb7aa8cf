"""Objects in any state of their tables, brought there by those who may, with nobody at work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.request.caller import User
from attractor.httpd.auth.authentication import ADMIN
from attractor.k8s.rbac_v1 import ClusterRoleBinding, RoleBinding
from attractor.objects.gvk import Key
from attractor.operators.edge.admission import COORDINATORS
from attractor.operators.edge.api.states import Actor
from attractor.operators.edge.api.types import Cloudlet
from attractor.testing import eventually
from tests.operators.edge.world import PLAIN

if TYPE_CHECKING:
    from attractor.lifecycle import Lifecycle
    from tests.operators.edge.world import Edge

SIDE = User("carla", groups=(COORDINATORS, "system:authenticated"))
"""A coordinator that is no administrator."""


def everybody(edge: Edge, cloudlet: str) -> dict[User, set[Actor]]:
    """Who asks, and the actors that they are."""
    return {
        PLAIN: {Actor.USER},
        SIDE: {Actor.USER, Actor.CONTROLLER},
        ADMIN: {Actor.USER, Actor.CONTROLLER, Actor.ADMIN},
        edge.agent_user(cloudlet): {Actor.CRM},
    }


def way_to(table: Lifecycle[Any, Any], state: Any) -> list[Any]:
    """The rows of the table that lead from its initial state to another, as few as there are."""
    ways: dict[Any, list[Any]] = {table.initial: []}
    while state not in ways:
        found = {row.next: [*way, row] for at, way in ways.items() for row in table.steps if row.state == at}
        ways = {**found, **ways}
    return ways[state]


async def let_in(edge: Edge, names: list[str]) -> None:
    """Cloudlets whose agents are let in and say nothing; user and coordinator may do all that no table forbids."""
    for name in names:
        await edge.cloudlet(name)
    async with edge.coordinator():
        for name in names:
            key = Key(name, "agent-1")
            await eventually(lambda key=key: edge.admin.get(RoleBinding, key))  # type: ignore[misc]
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "all"},
        "subjects": [{"kind": "User", "name": user.name} for user in (PLAIN, SIDE)],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    }
    await edge.admin.create(ClusterRoleBinding.from_dict(binding))


async def place(edge: Edge, kind: Any, key: Key, rows: list[Any]) -> None:
    """Bring an object along rows of its table, each by the one who may."""
    for row in rows:
        who = next(user for user, actors in everybody(edge, key.namespace).items() if row.actor in actors)
        async with edge.client(who) as client:
            await client.patch(kind, key, {"status": {"state": row.next}}, subresource="status")


async def serve(edge: Edge, cloudlet: str) -> None:
    """Say of a cloudlet that agent 1 serves it, although none is there."""
    serving = {"status": {"state": "Ready", "version": "1"}}
    await edge.admin.patch(Cloudlet, Key(cloudlet, cloudlet), serving, subresource="status")

"""An agent's credentials open its own cloudlet and nothing else, and last as long as the agent does."""

from itertools import product
from pathlib import Path

import pytest

from attractor.apiserver.auth.service_accounts import token_request
from attractor.client import Client, ClientConfig, ClientRequest
from attractor.client.http.transport import HttpTransport
from attractor.objects.errors import Unauthorized
from attractor.operators.edge.api.types import GROUP, ClusterInst
from attractor.operators.edge.drivers.token_renewal import token_in
from attractor.testing import eventually
from tests.operators.edge.holds import Holds
from tests.operators.edge.programs import WITHIN_S, Programs
from tests.operators.edge.world import Edge

METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
OURS = ("cloudlets", "clusterinsts", "appinsts")
NAMES = {
    **{(GROUP, name): "berlin" if name == "cloudlets" else "one" for name in (*OURS, "progresses")},
    **{(GROUP, f"{name}/status"): "berlin" if name == "cloudlets" else "one" for name in OURS},
    ("coordination.k8s.io", "leases"): "agent-1",
    ("", "serviceaccounts"): "agent-1",
    ("", "serviceaccounts/token"): "agent-1",
    ("", "secrets"): "any",
    ("", "configmaps"): "any",
    ("", "events"): "any",
    ("rbac.authorization.k8s.io", "roles"): "agent-1",
    ("rbac.authorization.k8s.io", "rolebindings"): "agent-1",
}
MAY = {
    **{name: {"get", "list", "watch"} for name in OURS},
    **{f"{name}/status": {"patch"} for name in OURS},
    "progresses": {"get", "create", "patch"},
    "leases": {"get", "patch"},
    "serviceaccounts/token": {"create"},
    "events": {"create", "patch"},
}


def request(group: str, resource: str, verb: str) -> ClientRequest:
    """A request on an object of berlin, that changes nothing."""
    plural, _, subresource = resource.partition("/")
    path = f"/apis/{group}/v1" if group else "/api/v1"
    path += f"/namespaces/berlin/{plural}"
    if subresource or verb in {"get", "update", "patch", "delete"}:
        path += f"/{NAMES[group, resource]}" + (f"/{subresource}" if subresource else "")
    query = (("watch", "true"),) if verb == "watch" else () if METHODS[verb] == "GET" else (("dryRun", "All"),)
    content = "application/merge-patch+json" if verb == "patch" else "application/json"
    body = b"" if METHODS[verb] in {"GET", "DELETE"} else b"{}"
    return ClientRequest(METHODS[verb], path, query, body, content)


async def allowed_to(client: Client) -> dict[str, set[str]]:
    """What somebody may do in berlin."""
    found: dict[str, set[str]] = {}
    for (group, resource), verb in product(NAMES, METHODS):
        if "/" in resource and verb in {"list", "watch", "deletecollection"}:
            continue
        stream = await client.transport.open(request(group, resource, verb))
        if stream.code not in {403, 405}:
            found.setdefault(resource, set()).add(verb)
        stream.close()
    return found


async def two_cloudlets(edge: Edge) -> None:
    """Berlin and paris, each with an agent that serves."""
    for name in ("berlin", "paris"):
        await edge.cloudlet(name)
        async with edge.coordinator(), edge.agent(name):
            await edge.wait_ready(name)


async def test_an_agent_may_do_in_its_own_cloudlet_exactly_this(edge: Edge) -> None:
    await two_cloudlets(edge)
    async with edge.client(edge.agent_user("berlin")) as agent:
        assert await allowed_to(agent) == MAY


async def test_an_agent_with_the_token_of_another_cloudlet_is_refused_every_verb(edge: Edge) -> None:
    await two_cloudlets(edge)
    async with edge.client(edge.agent_user("paris")) as neighbour:
        assert await allowed_to(neighbour) == {}


@pytest.mark.slow
async def test_an_agent_renews_its_token_before_it_expires_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_request, "MIN_LIFETIME_S", 1)
    async with Programs(tmp_path, Holds()) as programs:
        await programs.coordinator()
        await programs.cloudlet()
        path = await programs.credentials(lasts_s=6)
        first = token_in(path)
        agent = programs.agent()
        await eventually(lambda: token_in(path) != first, within_s=WITHIN_S)
        async with Client(HttpTransport(ClientConfig.of(programs.url, token=first))) as late:

            async def has_expired() -> bool:
                try:
                    await late.list(ClusterInst, "berlin")
                except Unauthorized:
                    return True
                return False

            await eventually(has_expired, within_s=WITHIN_S)
        await programs.create_cluster()
        await programs.wait(ClusterInst, "one", "Ready")
        assert agent.code is None
        second = token_in(path)
        await eventually(lambda: token_in(path) != second, within_s=WITHIN_S)

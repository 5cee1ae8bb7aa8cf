"""Old versions expire, whether anything is written or not."""

from attractor.apiserver.core import Request
from attractor.embedded import EmbeddedCluster
from attractor.embedded.compaction import COMPACTION_S
from attractor.httpd.auth.authentication import ADMIN
from attractor.objects.json_types import JsonObject
from attractor.testing.virtual_time import VirtualTime
from tests.runtime.things import passing

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


async def page(cluster: EmbeddedCluster, **query: str) -> tuple[int, JsonObject]:
    asked = {name: [value] for name, value in query.items()}
    response = await cluster.server.handle(Request("GET", CONFIGMAPS, asked, user=ADMIN))
    return response.code, response.json()


async def create_three(cluster: EmbeddedCluster) -> None:
    for name in ("a", "b", "c"):
        body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%b"}}' % name.encode()
        made = await cluster.server.handle(Request("POST", CONFIGMAPS, {}, body, "application/json", ADMIN))
        assert made.code == 201


async def test_the_continue_token_of_an_idle_store_expires_and_says_how_to_go_on(virtual_time: VirtualTime) -> None:
    async with EmbeddedCluster(controllers=()) as cluster:
        await create_three(cluster)
        _, first = await page(cluster, limit="1")
        token = first["metadata"]["continue"]
        await passing(COMPACTION_S - 1)
        code, _ = await page(cluster, limit="1", **{"continue": token})
        assert code == 200
        await passing(2 * COMPACTION_S)
        code, refusal = await page(cluster, limit="1", **{"continue": token})
        assert (code, refusal["reason"]) == (410, "Expired")
        code, rest = await page(cluster, limit="5", **{"continue": refusal["metadata"]["continue"]})
        assert (code, [item["metadata"]["name"] for item in rest["items"]]) == (200, ["b", "c"])


async def test_pages_of_a_store_that_was_idle_for_long_are_read_to_the_end(virtual_time: VirtualTime) -> None:
    async with EmbeddedCluster(controllers=()) as cluster:
        await create_three(cluster)
        await passing(10 * COMPACTION_S + 1)
        _, first = await page(cluster, limit="1")
        code, rest = await page(cluster, limit="5", **{"continue": first["metadata"]["continue"]})
        assert (code, len(rest["items"])) == (200, 2)

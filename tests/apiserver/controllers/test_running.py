"""Built-in controllers, driven."""

import pytest

from attractor.apiserver.core import Request
from attractor.embedded import EmbeddedCluster
from attractor.embedded.controllers import CONTROLLERS, UnknownController, chosen
from tests.httpd.wire import eventually


async def read(cluster: EmbeddedCluster, path: str) -> int:
    return (await cluster.server.handle(Request("GET", path))).code


async def test_a_new_namespace_is_furnished() -> None:
    async with EmbeddedCluster(controllers=("service-accounts", "root-ca"), root_ca="PEM") as cluster:
        body = b'{"metadata":{"name":"new"}}'
        await cluster.server.handle(Request("POST", "/api/v1/namespaces", body=body, content_type="application/json"))

        async def is_furnished() -> bool:
            base = "/api/v1/namespaces/new"
            codes = [
                await read(cluster, f"{base}/serviceaccounts/default"),
                await read(cluster, f"{base}/configmaps/kube-root-ca.crt"),
            ]
            return codes == [200, 200]

        await eventually(is_furnished)


def test_controllers_are_chosen_by_name() -> None:
    assert chosen("all") == CONTROLLERS
    assert chosen("events, leases") == ("events", "leases")
    with pytest.raises(UnknownController, match="there is no controller janitor"):
        chosen("events,janitor")

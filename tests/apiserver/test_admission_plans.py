"""Which plug-ins a write passes: those that it concerns, in order, whatever was written before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.chain import chain_with
from attractor.apiserver.admission.plugin import MAX_PLANS, Chain, Plugin
from attractor.apiserver.admission.plugins import PLUGIN_NAMES, plugins_named
from attractor.apiserver.core import Core, Request
from attractor.apiserver.server import Server
from attractor.objects.gvk import GroupResource
from attractor.store.memory import MemoryStore
from tests.deterministic import CountingSource

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes

HEARD: list[str] = []


class Secretary(Plugin):
    """Hears of Secrets alone."""

    concerns = frozenset({GroupResource("", "secrets")})

    def admit(self, attributes: Attributes) -> None:
        HEARD.append(f"admit {attributes.kind.resource}")

    def validate(self, attributes: Attributes) -> None:
        HEARD.append(f"validate {attributes.kind.resource}")


class Clerk(Plugin):
    """Hears of everything, once anything is registered."""

    obeys_registrations = True

    def validate(self, attributes: Attributes) -> None:
        HEARD.append(f"registered {attributes.kind.resource}")


async def heard(server: Server, path: str, body: bytes) -> list[str]:
    HEARD.clear()
    response = await server.handle(Request("POST", path, {}, body, "application/json"))
    assert response.code == 201, response.json()
    return list(HEARD)


async def test_a_plug_in_hears_only_of_what_it_concerns() -> None:
    server = Server(MemoryStore(), CountingSource(), Core(chain_with((Secretary(), Clerk()))))
    await server.start()
    place, body = "/api/v1/namespaces/default", b'{"metadata":{"name":"a"}}'
    assert await heard(server, f"{place}/configmaps", body) == []
    assert await heard(server, f"{place}/secrets", body) == ["admit secrets", "validate secrets"]
    registered = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    assert await heard(server, registered, body) == [], "nothing is registered before it is written"
    assert await heard(server, f"{place}/configmaps", b'{"metadata":{"name":"b"}}') == ["registered configmaps"]
    await server.handle(Request("DELETE", f"{registered}/a"))
    assert await heard(server, f"{place}/configmaps", b'{"metadata":{"name":"c"}}') == []


def test_of_the_plug_ins_of_a_server_a_config_map_passes_two() -> None:
    passed = Chain(chain_with(plugins_named(PLUGIN_NAMES))).of(GroupResource("", "configmaps"), is_registered=False)
    names = [each.__qualname__ for each in (*passed.changing, *passed.checking)]
    assert names == ["NamespaceLifecycle.admit", "ResourceQuota.validate"]


async def test_plans_of_many_resources_are_forgotten_and_made_again() -> None:
    server = Server(MemoryStore(), CountingSource(), Core(chain_with((Secretary(),))))
    await server.start()
    chain = server.core.chain
    for number in range(MAX_PLANS + 5):
        chain._plans[GroupResource("example.com", f"r{number}")] = chain._plans[GroupResource("", "namespaces")]
    body = b'{"metadata":{"name":"a"}}'
    found = await heard(server, "/api/v1/namespaces/default/secrets", body)
    assert found == ["admit secrets", "validate secrets"]
    assert len(chain._plans) == 1

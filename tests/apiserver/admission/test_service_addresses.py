"""The way to a Service in a cluster without a network."""

from typing import Any

import pytest

from attractor.apiserver.admission.outside_calls import Service
from attractor.embedded.webhooks import UnknownService
from tests.apiserver.admission.conftest import AdmissionApi

SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
HOOK = Service("default", "hook", 443)


async def endpoints(api: AdmissionApi, name: str, address: str, *, ready: bool = True, service: str = "hook") -> None:
    await api.create(
        SLICES,
        name,
        metadata={"labels": {"kubernetes.io/service-name": service}},
        addressType="IPv4",
        ports=[{"name": "other", "port": 1}, {"name": "https", "port": 9443}],
        endpoints=[{"addresses": [address], "conditions": {"ready": ready}}],
    )


async def service(api: AdmissionApi, **spec: Any) -> None:
    await api.create(SERVICES, "hook", spec={"ports": [{"name": "https", "port": 443}], **spec})


async def test_an_external_name_is_the_address(api: AdmissionApi) -> None:
    await service(api, type="ExternalName", externalName="hooks.example.org")
    assert api.addresses(HOOK) == ("hooks.example.org", 443)


async def test_the_first_ready_endpoint_of_the_named_port_is_the_address(api: AdmissionApi) -> None:
    await service(api)
    await endpoints(api, "a", "10.0.0.1", service="another")
    await endpoints(api, "b", "10.0.0.2", ready=False)
    with pytest.raises(UnknownService, match="no address that this server can reach"):
        api.addresses(HOOK)
    await endpoints(api, "c", "10.0.0.3")
    assert api.addresses(HOOK) == ("10.0.0.3", 9443)


async def test_a_configured_address_comes_first(api: AdmissionApi) -> None:
    await service(api, type="ExternalName", externalName="hooks.example.org")
    api.addresses.known["default", "hook"] = ("127.0.0.1", 8443)
    assert api.addresses(HOOK) == ("127.0.0.1", 8443)

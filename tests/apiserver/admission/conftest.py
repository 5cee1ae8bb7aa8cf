"""A server whose webhooks are called for real."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from attractor.apiserver.server import Server
from attractor.embedded.webhooks import Webhooks
from attractor.embedded.webhooks.service_addresses import ServiceAddresses
from attractor.store.memory import MemoryStore
from tests.apiserver.admission.webhookserver import Webhook
from tests.apiserver.conftest import Api
from tests.deterministic import CountingSource

REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"
CONFIGMAP_RULE = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}


class AdmissionApi(Api):
    """An API to which webhooks and policies can be added."""

    addresses: ServiceAddresses

    async def register(self, kind: str, hook: Webhook, name: str = "hook", **spec: Any) -> None:
        """Register a Mutating or Validating webhook for ConfigMaps, or for what ``rules`` says."""
        entry = {
            "name": f"{name}.example.org",
            "clientConfig": hook.client_config(),
            "rules": [CONFIGMAP_RULE],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **spec,
        }
        path = f"{REGISTRATIONS}/{kind.lower()}webhookconfigurations"
        answer = await self("POST", path, {"metadata": {"name": name}, "webhooks": [entry]})
        assert answer.code == 201, answer.body

    async def add(self, path: str, name: str, **content: Any) -> Any:
        """Create, whatever the answer."""
        metadata = {"name": name, **content.pop("metadata", {})}
        return await self("POST", path, {"metadata": metadata, **content})


@pytest.fixture
async def api() -> AsyncIterator[AdmissionApi]:
    source, store = CountingSource(), MemoryStore()
    addresses = ServiceAddresses(store.snapshot_nowait)
    outside = Webhooks(addresses)
    server = Server(store, source, outside=outside)
    await server.start()
    made = AdmissionApi(server, source)
    made.addresses = addresses
    yield made
    outside.close()

"""A server in memory, and a short way to talk to it."""

import json
from typing import Any
from urllib.parse import parse_qs

import pytest

from attractor.apiserver.core import Request
from attractor.apiserver.request.caller import User
from attractor.apiserver.server import Server
from attractor.store.memory import MemoryStore
from tests.deterministic import CountingSource

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/example.org/v1/namespaces/default/widgets"

WIDGET_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "minimum": 0},
                "color": {"type": "string", "default": "red"},
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def widget_definition(**spec: Any) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": WIDGET_SCHEMA},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.org"},
        "spec": {
            "group": "example.org",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": [version],
            **spec,
        },
    }


class Answer:
    """A code and a body."""

    def __init__(self, code: int, body: Any, warnings: tuple[str, ...]) -> None:
        self.code, self.body, self.warnings = code, body, warnings

    @property
    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["metadata"]
        return found

    @property
    def version(self) -> str:
        return str(self.metadata["resourceVersion"])

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.body["items"]]


class Api:
    """Requests as a client would send them."""

    def __init__(self, server: Server, source: CountingSource) -> None:
        self.server, self.source = server, source

    async def __call__(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> Answer:
        path, _, query = path.partition("?")
        if method in {"POST", "PUT"} and isinstance(body, dict) and path.startswith("/apis/example.org/"):
            version = path.split("/")[3]  # objects of custom kinds must say what they are
            body = {"apiVersion": f"example.org/{version}", "kind": "Widget", **body}
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = Request(
            method, path, parse_qs(query, keep_blank_values=True), data, content_type, User("admin"), "pytest/1.0"
        )
        response = await self.server.handle(request)
        return Answer(response.code, response.json(), response.warnings)

    async def get(self, path: str) -> Answer:
        return await self("GET", path)

    async def delete(self, path: str, **options: Any) -> Answer:
        return await self("DELETE", path, options or None)

    async def merge(self, path: str, patch: Any) -> Answer:
        return await self("PATCH", path, patch, "application/merge-patch+json")

    async def apply(self, path: str, obj: Any) -> Answer:
        return await self("PATCH", path, obj, "application/apply-patch+yaml")

    async def create(self, path: str, name: str, **content: Any) -> Answer:
        metadata = {"name": name, **content.pop("metadata", {})}
        answer = await self("POST", path, {"metadata": metadata, **content})
        assert answer.code == 201, answer.body
        return answer

    async def define_widgets(self, **spec: Any) -> Answer:
        answer = await self(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widget_definition(**spec)
        )
        assert answer.code == 201, answer.body
        return answer


@pytest.fixture
async def api() -> Api:
    source = CountingSource()
    server = Server(MemoryStore(), source)
    await server.start()
    return Api(server, source)

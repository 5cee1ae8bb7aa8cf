"""Requests to a served cluster, for tests."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.httpd.wire import Answer, Wire, connected

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels or {}}, "data": data}


class HttpApi:
    """Talks to a port as somebody."""

    def __init__(self, port: int, token: str = "admin-token") -> None:
        self.port, self.token = port, token

    def headers(self, **headers: str) -> dict[str, str]:
        return {**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **headers}

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        async with connected(self.port) as wire:
            if body is not None:
                headers.setdefault("Content_Type", "application/json")
            data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
            wire.request(method, path, data, **self.headers(**headers))
            return await wire.answer(is_head=method == "HEAD")

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.call("GET", path, **headers)

    async def create(self, name: str, **data: str) -> Answer:
        answer = await self.call("POST", CONFIGMAPS, config_map(name, None, **data))
        assert answer.code == 201, answer.json
        return answer

    async def patch(self, name: str, body: Any) -> Answer:
        answer = await self.call("PATCH", f"{CONFIGMAPS}/{name}", body, Content_Type="application/merge-patch+json")
        assert answer.code == 200, answer.json
        return answer

    @asynccontextmanager
    async def watch(self, query: str = "", path: str = CONFIGMAPS, **options: Any) -> AsyncIterator[Wire]:
        async with connected(self.port, **options) as wire:
            wire.request("GET", f"{path}?watch=true&{query}", **self.headers())
            code, headers = await wire.head()
            assert (code, headers["transfer-encoding"]) == (200, "chunked")
            yield wire

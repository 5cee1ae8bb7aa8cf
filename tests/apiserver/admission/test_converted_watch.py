"""Watching a version that a webhook converts, over HTTP."""

import json
from typing import Any

from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from tests.apiserver.admission.test_conversion_webhooks import DEFINITIONS, V1, V2, convert, definition
from tests.apiserver.admission.webhookserver import webhook
from tests.httpd.api import HttpApi


async def test_a_watch_tells_converted_objects_and_ends_when_a_conversion_fails() -> None:
    async with (
        webhook(convert) as hook,
        EmbeddedCluster(controllers=(), authenticator=Authenticator({"admin-token": ADMIN})) as cluster,
    ):
        api = HttpApi((await cluster.listen()).port)

        async def put(name: str, size: int) -> None:
            body = {
                "apiVersion": "example.org/v1",
                "kind": "Widget",
                "metadata": {"name": name},
                "spec": {"size": size},
            }
            assert (await api.call("POST", V1, body)).code == 201

        def told(line: bytes) -> tuple[Any, ...]:
            event = json.loads(line)
            obj = event["object"]
            return event["type"], obj["apiVersion"], obj["metadata"].get("name"), obj.get("spec")

        assert (await api.call("POST", DEFINITIONS, definition(hook))).code == 201
        await put("first", 1)
        async with api.watch(path=V2) as wire:
            assert told(await wire.chunk()) == ("ADDED", "example.org/v2", "first", {"dimension": {"size": 1}})
            await put("second", 2)
            assert told(await wire.chunk()) == ("ADDED", "example.org/v2", "second", {"dimension": {"size": 2}})
            hook.respond = lambda _: {"result": {"status": "Failure", "message": "cannot"}}
            await put("third", 3)
            last = json.loads(await wire.chunk())
            assert (last["type"], last["object"]["code"]) == ("ERROR", 500)
            assert last["object"]["message"].endswith("failed: cannot")

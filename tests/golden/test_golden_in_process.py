"""Every recorded conversation, replayed against the core in process: same requests, same answers."""

import json
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from attractor.apiserver.admission.chain import chain_with
from attractor.apiserver.admission.plugins import DEFAULT_PLUGINS
from attractor.apiserver.admission.plugins.privileged import NoPrivilegedContainers
from attractor.apiserver.core import Core, Request
from attractor.apiserver.request.caller import User
from attractor.apiserver.response import Response
from attractor.apiserver.server import Server
from attractor.apiserver.verbs.watch import Watch, error_event
from attractor.objects.errors import ApiError, Gone
from attractor.store.contract import Compacted
from attractor.store.memory import MemoryStore
from tests.deterministic import CountingSource
from tests.golden.normal import Normal, differences

RECORDINGS = sorted((Path(__file__).parent / "kube-apiserver-1.36").glob("*.json"))
ADMIN = User("admin", "admin", ("system:masters", "system:authenticated"))

NEEDS_THE_WIRE = {
    "autoscaling-shown": "formats are negotiated by the HTTP layer",
    "content-types": "protobuf is read by the HTTP layer",
    "reviews-selectors": "reviews ask the HTTP layer's authenticator and authorizer",
    "scales-of-all-sorts": "formats are negotiated by the HTTP layer",
    "watch-deprecated": "formats, and headers of watches, are the HTTP layer's",
    "routing": "discovery, health, authentication and plain-text 404s are the HTTP layer's",
    "priority-runtime": "the system's priority classes are made when a cluster starts",
    "tables": "formats are negotiated by the HTTP layer",
    "pods-subresources": "logs are the HTTP layer's",
    "pod-admission": "the system's priority classes are made when a cluster starts",
    "rbac-accounts": "other users, and reviews, ask the HTTP layer's authenticator and authorizer",
    "reviews": "reviews ask the HTTP layer's authenticator and authorizer",
    "custom-bodies": "plain-text 404s are the HTTP layer's",
    "custom-columns": "tables are the HTTP layer's",
    "custom-lists": "other users and formats are the HTTP layer's",
    "custom-versions": "plain-text 404s are the HTTP layer's",
    "definition-conditions": "plain-text 404s are the HTTP layer's",
    "rbac-more": "other users, and reviews, ask the HTTP layer's authenticator and authorizer",
    "reviews-more": "reviews ask the HTTP layer's authenticator and authorizer",
    "updates-more": "tables are the HTTP layer's",
    "verbs-delete": "a table of what was deleted is the HTTP layer's",
    "verbs-custom": "formats and the old paths for watches are the HTTP layer's",
    "verbs-list": "formats are negotiated by the HTTP layer",
    "verbs-rbac": "other users, and reviews, ask the HTTP layer's authenticator and authorizer",
    "verbs-routes": "pages, other users and formats are the HTTP layer's",
    "verbs-watch": "the old paths for watches are the HTTP layer's",
    "errors-all": "formats, discovery, health and plain-text 404s are the HTTP layer's",
    "apiservices": "the system's API services are made when a cluster starts",
    "flowcontrol": "the system's flow control is made when a cluster starts",
    "custom-versions-scale": "discovery and formats are the HTTP layer's",
    "discovery-groups": "discovery is the HTTP layer's",
    "classes": "the system's priority classes are made when a cluster starts",
    "paging": "formats are negotiated by the HTTP layer",
    "custom-cel-more": "plain-text 404s are the HTTP layer's",
    "quota-scopes": "the system's priority classes are made when a cluster starts",
    "rbac-denials": "other users, and reviews, ask the HTTP layer's authenticator and authorizer",
    "tables-empty-and-new": "formats are negotiated by the HTTP layer",
    "token-requests": "other users are the HTTP layer's",
    "watch-selectors": "formats of events, and the old paths for watches, are the HTTP layer's",
    "autoscaling-versions": "tables are the HTTP layer's",
    "health": "health is the HTTP layer's",
    "ipaddresses": "the address of the service kubernetes is claimed when a cluster starts",
    "policies-authorizer": "other users are the HTTP layer's",
    "reaching": "logs, and other users, are the HTTP layer's",
    "reviews-again": "reviews ask the HTTP layer's authenticator and authorizer",
    "custom-again": "discovery is the HTTP layer's",
    "bodies": "formats are negotiated by the HTTP layer",
    "crd-everything": "discovery is the HTTP layer's",
    "deletecollection-more": "formats are negotiated by the HTTP layer",
    "formats-accept": "formats are negotiated by the HTTP layer",
    "list-options": "formats, and the time that a request may take, are the HTTP layer's",
    "selectors-fields-of-kinds": "formats are negotiated by the HTTP layer",
    "selectors-pods": "formats are negotiated by the HTTP layer",
    "watch-collection-deleted": "formats are negotiated by the HTTP layer",
    "watch-pods-phase": "formats are negotiated by the HTTP layer",
    "zpages": "pages are the HTTP layer's",
    "watch-more": "the old paths for watches, and formats of events, are the HTTP layer's",
}
TABLE = "application/json;as=Table"


class Replayer:
    """Plays one conversation's requests."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.server = server
        self.namespace = namespace
        self.normal = Normal(namespace)
        self.saved: dict[str, str] = {}

    def request(self, step: dict[str, Any]) -> Request:
        path = step["path"].replace("{ns}", self.namespace)
        for name, value in self.saved.items():
            path = path.replace("{" + name + "}", urllib.parse.quote(value, safe=""))
        path, _, query = path.partition("?")
        body = step.get("raw")
        if body is None and "body" in step:
            body = json.dumps(step["body"]).replace("{ns}", self.namespace)
        return Request(
            method=step["method"],
            path=path,
            query=urllib.parse.parse_qs(query, keep_blank_values=True),
            body=(body or "").encode(),
            content_type=step.get("contentType", "application/json") if body is not None else "",
            user=ADMIN,
        )

    async def answer(self, step: dict[str, Any]) -> dict[str, Any]:
        request = self.request(step)
        if "watchSeconds" in step:
            return await self.watch(request)
        response = await self.server.handle(request)
        out = self.plain(response)
        body = response.json()
        if step.get("save") == "continue":
            self.saved["continue"] = body["metadata"].get("continue", "")
        if step.get("save") == "rv":
            self.saved["rv"] = body["metadata"]["resourceVersion"]
        return out

    def plain(self, response: Response) -> dict[str, Any]:
        out: dict[str, Any] = {"code": response.code}
        if response.warnings:
            out["warning"] = [self.normal.text(f"299 - {json.dumps(text)}") for text in response.warnings]
        out["body"] = self.normal.value(response.json())
        return out

    async def watch(self, request: Request) -> dict[str, Any]:
        """What a watcher has seen when nothing more happens."""
        snapshot = await self.server.store.snapshot()
        txn = self.server.transaction(snapshot)
        try:
            op, kind = self.server.core.understand(request, txn)
            if op.verb != "watch":
                response = self.server.core.execute(op, txn)
                return {"code": response.code, "events": [self.normal.value(response.json())]}
            watch = Watch.open(op, kind, snapshot)
        except ApiError as error:
            return {"code": error.code, "body": self.normal.value(error.status())}
        events = [json.loads(event.encode()) for event in watch.initial_events(snapshot)]
        try:
            for event in await self.events(watch):
                told = watch.translate(event)
                if told is not None:
                    events.append(json.loads(told.encode()))
        except Compacted:
            gone = Gone(f"too old resource version: {watch.after} ({snapshot.revision})")
            events.append(json.loads(error_event(gone).encode()))
        return {"code": 200, "events": [self.normal.value(event) for event in events]}

    async def events(self, watch: Watch) -> Sequence[Any]:
        store = self.server.store
        assert isinstance(store, MemoryStore)
        return store.events_after(watch.prefix, watch.after).events


@pytest.fixture
async def server() -> Server:
    server = Server(
        MemoryStore(), CountingSource(), Core(chain_with((NoPrivilegedContainers(), *DEFAULT_PLUGINS.values())))
    )
    await server.start()
    await server.store.compact(server.store.revision)
    return server


def differs_on_purpose(step: dict[str, Any]) -> bool:
    """The recorded server's etcd could not report progress, so it refused initial events; ours sends them."""
    return "sendInitialEvents=true&allowWatchBookmarks" in step["request"]["path"]


@pytest.mark.parametrize(
    "path", [path for path in RECORDINGS if path.stem not in NEEDS_THE_WIRE], ids=lambda path: path.stem
)
async def test_conversation_replays_exactly(server: Server, path: Path) -> None:
    conversation = json.loads(path.read_bytes())  # noqa: ASYNC240
    namespace = "golden-0a1b2c3d"
    made = Request("POST", "/api/v1/namespaces", body=json.dumps({"metadata": {"name": namespace}}).encode())
    assert (await server.handle(made)).code == 201
    replayer = Replayer(server, namespace)
    for index, step in enumerate(conversation["steps"]):
        asked = step["request"]
        if not step["response"] or TABLE in asked.get("accept", "") or differs_on_purpose(step):
            continue
        got = await replayer.answer(asked)
        found = differences(step["response"], got)
        assert not found, f"step {index} {asked['method']} {asked['path']}\n  " + "\n  ".join(found)

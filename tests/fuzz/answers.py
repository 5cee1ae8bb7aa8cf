"""Random requests, and what a server answers: `python -m tests.fuzz.answers SEED COUNT` prints one line for each.

Bodies are objects that a server accepts, changed at random: values of other types, fields left out, added and repeated.
Time and uids count up, so that two servers that mean the same print the same.
"""

import asyncio
import copy
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

from attractor.apiserver.core import Request
from attractor.apiserver.server import Server
from attractor.store.memory import MemoryStore
from tests.deterministic import CountingSource

CONTAINER = {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "b"}]}
POD = {"containers": [CONTAINER], "volumes": [{"name": "v", "emptyDir": {}}]}
LABELS = {"a": "b"}
ITEM = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
LIST = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": ITEM}
SPEC = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}, "l": LIST}}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "status": ANYTHING}}}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.e.com"},
    "spec": {
        "group": "e.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": SCHEMA}],
    },
}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": POD}
KINDS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("/api/v1", "configmaps", "ConfigMap", {"data": {"k": "v"}, "binaryData": {"z": "AAAA"}, "immutable": False}),
    ("/api/v1", "secrets", "Secret", {"data": {"k": "AAAA"}, "stringData": {"s": "t"}, "type": "Opaque"}),
    ("/api/v1", "services", "Service", {"spec": {"ports": [{"port": 80, "name": "http"}], "selector": LABELS}}),
    ("/api/v1", "pods", "Pod", {"spec": POD}),
    (
        "/apis/apps/v1",
        "deployments",
        "Deployment",
        {"spec": {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}},
    ),
    ("/apis/coordination.k8s.io/v1", "leases", "Lease", {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}),
    ("/apis/e.com/v1", "things", "Thing", {"spec": {"n": 1, "s": "t", "l": [{"k": "a", "v": 1}]}, "status": {"ok": 1}}),
)
JUNK: tuple[Any, ...] = (None, True, 0, -1, 1.5, 10**20, "", "x", "\u0000", "é😀", [], {}, [None], [1], [{}], {"a": 1})
JUNK += ({"": ""}, {"name": None}, "2026-01-01T00:00:00Z", {"f:x": {}}, [[]], {'k:{"a":1}': {}}, 1e308)
QUERIES: tuple[dict[str, str], ...] = (
    {},
    {},
    {"fieldValidation": "Strict"},
    {"fieldValidation": "Warn"},
    {"dryRun": "All"},
    {"fieldManager": "m"},
)
PATCHES = ("merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from paths(value[key], (*path, key))


class Requests:
    """Requests as a seed has them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def new(self) -> Request:
        """The next request."""
        choose = self.random.choice
        base, plural, kind, rest = choose(KINDS)
        path, name = f"{base}/namespaces/default/{plural}", choose("abc")
        obj = self._changed(
            {"apiVersion": base.split("/", 2)[2], "kind": kind, "metadata": self._metadata(name), **rest}
        )
        body, query = json.dumps(obj).encode(), dict(choose(QUERIES))
        one = f"{path}/{name}{choose(('', '', '', '/status', '/scale'))}"
        match choose(("POST", "POST", "PUT", "PATCH", "PATCH", "PATCH", "JSON", "DELETE", "GET")):
            case "POST":
                return Request("POST", path, query, body, "application/json")
            case "PUT":
                return Request("PUT", one, query, body, "application/json")
            case "PATCH":
                media = choose(PATCHES)
                applied = {"fieldManager": choose("mn"), "force": choose(("true", "false"))}
                query |= applied if media == PATCHES[2] else {}
                return Request("PATCH", one, query, body, f"application/{media}")
            case "JSON":
                at = "/".join(["", *map(str, choose(list(paths(obj))))])
                step = {"op": choose(("add", "replace", "remove", "test")), "path": at, "value": choose(JUNK)}
                return Request("PATCH", one, query, json.dumps([step]).encode(), "application/json-patch+json")
            case "DELETE":
                return Request(
                    "DELETE", f"{path}/{name}", {}, json.dumps(choose(({}, *JUNK))).encode(), "application/json"
                )
        return Request("GET", path, dict(choose(({}, {"labelSelector": "a=b"}, {"limit": "2"}))))

    def _metadata(self, name: str) -> dict[str, Any]:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u1", "controller": True}
        entry = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:k": {}}}}
        rare = {"finalizers": ["e.com/f"], "managedFields": [entry], "ownerReferences": [owner]}
        return {"name": name, "labels": LABELS} | {field: rare[field] for field in rare if self.random.random() < 0.3}

    def _changed(self, value: Any) -> Any:
        value = copy.deepcopy(value)
        for _ in range(self.random.choice((0, 1, 1, 2))):
            path, junk = self.random.choice(list(paths(value))), copy.deepcopy(self.random.choice(JUNK))
            if not path:
                return junk
            place = value
            for key in path[:-1]:
                place = place[key]
            how = self.random.random()
            if how < 0.15 and isinstance(place, dict):
                del place[path[-1]]
            elif how < 0.25 and isinstance(place, list):
                place.append(place[path[-1]])
            else:
                place["bogus" if how < 0.3 and isinstance(place, dict) else path[-1]] = junk
        return value


async def main(seed: int, count: int) -> None:
    server, requests = Server(MemoryStore(), CountingSource()), Requests(seed)
    await server.start()
    await server.handle(Request("POST", CRDS, {}, json.dumps(CRD).encode(), "application/json"))
    for _ in range(count):
        request = requests.new()
        response = await server.handle(request)
        told = (request.method, request.path, request.query, request.body, response.code, response.encode())
        sys.stdout.write(f"{told}\n")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))

"""What an authorizer is asked about each request, compared with what Kubernetes' own are asked."""

import json
from contextlib import suppress
from pathlib import Path
from zipfile import ZipFile

from hypothesis import given
from hypothesis import strategies as st

from attractor.apiserver.auth.authorizer import AUTHENTICATED, Attributes, Decision, attributes_of
from attractor.apiserver.request.caller import User
from attractor.apiserver.request.routing import parse_path
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from attractor.httpd.router import parse_query
from attractor.k8s import catalog
from attractor.objects.errors import ApiError
from attractor.store.contract import Snapshot
from tests.httpd.wire import connected

TABLE = [
    json.loads(line)
    for line in ZipFile(Path(__file__).parent / "request_attributes.zip").read("attributes.jsonl").splitlines()
]
"""Rows of request line, verb, group, version, resource, subresource, namespace, name; or of request line, verb, path."""
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}


def row(asked: Attributes) -> list[str]:
    return list(asked[:-1]) if asked.resource else [asked.verb, asked.path]


def test_every_request_has_the_attributes_that_kubernetes_gives_it() -> None:
    for line, *expected in TABLE:
        method, target = line.split(" ", 1)
        path, _, query = target.partition("?")
        assert (line, row(attributes_of(method, path, parse_query(query)))) == (line, expected)


def test_the_table_has_every_built_in_resource_and_subresource_with_every_method() -> None:
    known = {(line.split(" ")[0], *rest[1:5]) for line, *rest in TABLE if len(rest) > 2}
    for info in catalog.resources():
        for subresource in ("", *info.subresources):
            for method in METHODS:
                assert (method, info.group, info.version, info.resource, subresource) in known


class Recorder:
    """Notes what it is asked, and refuses."""

    def __init__(self) -> None:
        self.asked: list[Attributes] = []

    def decide(self, user: User, attributes: Attributes, snapshot: Snapshot) -> Decision:
        self.asked.append(attributes)
        return Decision(allowed=False)


async def test_a_served_request_is_authorized_by_those_attributes_before_anything_else() -> None:
    recorder = Recorder()
    authenticator = Authenticator({"jane-token": User("jane", "jane", (AUTHENTICATED,))})
    cluster = EmbeddedCluster(controllers=(), authenticator=authenticator, authorizer=recorder)
    async with cluster, connected((await cluster.listen()).port) as wire:
        for line, *expected in TABLE:
            method, target = line.split(" ", 1)
            if method not in METHODS or (expected[0] == "watch" and method != "GET"):
                continue  # of the old paths, which are for GET alone
            wire.request(method, target, Authorization="Bearer jane-token")
            answer = await wire.answer()
            assert (line, answer.code) == (line, 403), answer.body
            assert (line, [row(asked) for asked in recorder.asked]) == (line, [expected])
            recorder.asked.clear()


PART = st.sampled_from(
    ["api", "apis", "v1", "g", "namespaces", "a", "status", "finalize", "pods", "x", "proxy", "watch", "", "%2F", "%61"]
)


@given(st.lists(PART, min_size=3, max_size=9).map(lambda parts: "/" + "/".join(parts)))
def test_what_is_carried_out_is_what_was_authorized(path: str) -> None:
    with suppress(ApiError):
        target = parse_path(path)
        asked = attributes_of("PUT", path, {})
        if target is None or not path.startswith(("/api/", "/apis/")):
            return
        assert asked[1:5] == (target.group, target.version, target.resource, target.subresource)
        assert asked.name == target.name
        assert asked.namespace == (target.namespace or (target.name if target.resource == "namespaces" else ""))

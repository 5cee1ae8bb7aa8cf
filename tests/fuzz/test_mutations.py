"""Recorded requests, damaged at one or several places: deep in the object, in the path, in the query, in the type.

They reach further into the server than random bytes do, since most of each request is still right. Whatever comes in,
something other than an internal error goes out, and reading the whole cluster still works afterwards.
"""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from attractor.httpd.connection import Peer
from attractor.httpd.heads import Head
from attractor.httpd.parser import HttpRequest
from attractor.httpd.reply import Reply
from tests.fuzz.refusals import is_internal
from tests.httpd.conftest import TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.httpd.reply import Reply

pytestmark = pytest.mark.slow
RECORDINGS = sorted((Path(__file__).parents[1] / "golden" / "kube-apiserver-1.36").glob("*.json"))
NAMESPACE = "default"
HANG_S = 20


class Asked(NamedTuple):
    method: str
    path: str
    content_type: str
    body: Any


def recorded() -> list[Asked]:
    """Every request of every recording, as it was sent; watches are left to the tests of watches."""
    found = []
    for recording in RECORDINGS:
        for step in json.loads(recording.read_text())["steps"]:
            asked = step["request"]
            if "watch" in asked["path"] or "raw" in asked:
                continue
            text = json.dumps(asked.get("body")).replace("{ns}", NAMESPACE)
            path = asked["path"].replace("{ns}", NAMESPACE).replace("{", "").replace("}", "")
            found.append(Asked(asked["method"], path, asked.get("contentType", "application/json"), json.loads(text)))
    return found


REQUESTS = recorded()
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 1e308, 0.5, "", " ", "x", "-", "/", ".", "..", "*", "a/b",
    "a" * 300, "é", "\x00", "0", "-1", "1e9999", "99999999999999999999", "1Gi", "2026-01-01T00:00:00Z", "9999-99-99T00:00:00Z",
    "10.0.0.1", "::1", "{}", "$patch", "%", [], {}, [[]], [None], [{}], {"": None}, {"x": {}}, ["a", "a"], [1, "1"],
]  # fmt: skip
NAMES = ["", "x", "name", "metadata", "spec", "status", "$patch", "$setElementOrder/x", "labels", "kind", "apiVersion"]
QUERIES = [
    "dryRun=All", "dryRun=x", "fieldValidation=Strict", "fieldManager=m", "fieldManager=%ff", "force=true", "limit=1",
    "limit=-1", "limit=99999999999999999999", "continue=x", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "labelSelector=a in (",
    "labelSelector=!", "fieldSelector=a", "fieldSelector=metadata.name=,", "resourceVersion=0", "resourceVersion=-1",
    "resourceVersion=99999", "resourceVersionMatch=Exact", "propagationPolicy=Orphan", "gracePeriodSeconds=-1", "pretty=true",
]  # fmt: skip
ACCEPTS = ["application/json", "application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io",
           "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"]  # fmt: skip
TYPES = [
    "application/json", "application/yaml", "application/merge-patch+json", "application/json-patch+json",
    "application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/vnd.kubernetes.protobuf",
]  # fmt: skip


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from places(item)


def damage(body: Any, draw: Any) -> Any:
    """The body with one place changed, removed, renamed or taken from another request."""
    where = list(places(body))
    if not where:
        return copy.deepcopy(draw(st.sampled_from(ODD)))
    owner, key = where[draw(st.integers(0, len(where) - 1))]
    match draw(st.sampled_from(["odd", "odd", "remove", "rename", "graft", "repeat"])):
        case "odd":
            owner[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
        case "remove":
            del owner[key]
        case "rename" if isinstance(owner, dict):
            owner[draw(st.sampled_from(NAMES))] = owner.pop(key)
        case "repeat" if isinstance(owner, list):
            owner.append(copy.deepcopy(owner[key]))
        case _:
            donor = draw(st.sampled_from(REQUESTS)).body
            grafts = list(places(donor))
            if grafts:
                source, name = grafts[draw(st.integers(0, len(grafts) - 1))]
                owner[key] = copy.deepcopy(source[name])
    return body


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Asked, str]:
    asked = draw(st.sampled_from(REQUESTS))
    body = copy.deepcopy(asked.body)
    for _ in range(draw(st.integers(1, 3))):
        body = damage(body, draw) if body is not None else body
    path = asked.path
    if draw(st.integers(0, 3)) == 0:
        path += ("&" if "?" in path else "?") + "&".join(draw(st.lists(st.sampled_from(QUERIES), max_size=3)))
    if draw(st.integers(0, 5)) == 0:
        path = draw(st.sampled_from(REQUESTS)).path
    content_type = asked.content_type
    if draw(st.integers(0, 7)) == 0:
        content_type = draw(st.sampled_from(TYPES))
    method = draw(st.sampled_from([asked.method] * 5 + ["PUT", "POST", "PATCH", "DELETE", "GET"]))
    return Asked(method, path, content_type, body), draw(st.sampled_from(ACCEPTS))


def http(asked: Asked, accept: str) -> HttpRequest:
    target = asked.path.replace(" ", "%20").encode("utf-8", "surrogatepass").decode("ascii")
    headers = {b"authorization": b"Bearer admin-token", b"accept": accept.encode(), b"host": b"t"}
    head = Head({**headers, b"content-type": asked.content_type.encode()})
    return HttpRequest(asked.method, target, head, b"" if asked.body is None else json.dumps(asked.body).encode())


async def converse(cluster: EmbeddedCluster, asked: list[tuple[Asked, str]]) -> None:
    router = cluster._router
    assert router is not None
    paths = sorted({one.path.split("?")[0] for one, _ in asked})
    readings = [(Asked("GET", path, "", None), accept) for path in paths for accept in ACCEPTS]
    for one, accept in [*asked, *readings]:
        async with asyncio.timeout(HANG_S):
            answer = router(http(one, accept), Peer("127.0.0.1"))
            reply = answer if isinstance(answer, Reply) else await answer
        assert not is_internal(reply.code, reply.body), (one, accept, reply.body[:500])


@given(asked=st.lists(damaged(), min_size=1, max_size=12))
def test_damaged_requests_get_an_answer_and_leave_a_readable_cluster(asked: list[tuple[Asked, str]]) -> None:
    async def run() -> None:
        async with EmbeddedCluster(controllers=(), authenticator=Authenticator(TOKENS)) as cluster:
            await converse(cluster, asked)

    asyncio.run(run())

"""Bytes that no client would send, and some that one would: no 500, no hang, no answer out of turn."""

import asyncio
import itertools
import json
import re
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from attractor.httpd.limits import DEFAULT_LIMITS
from attractor.httpd.parser import RequestParser
from tests.httpd.api import CONFIGMAPS, HttpApi
from tests.httpd.conftest import TOKENS
from tests.httpd.wire import connected

TOKEN = b"Authorization: Bearer admin-token\r\n"
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"])
WORDS = st.sampled_from(
    [
        "api",
        "apis",
        "v1",
        "namespaces",
        "default",
        "configmaps",
        "apps",
        "deployments",
        "a",
        "..",
        ".",
        "",
        "%2e%2e",
        "%2F",
        "%00",
        "%ff",
        "status",
        "scale",
        "openapi",
        "v3",
        "healthz",
        "metrics",
        "watch",
        "~",
        "%",
        "%zz",
        ";",
        "*",
    ]
)
KNOWN = [
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/configmaps/a",
    "/api/v1/namespaces/default/services/a",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/a/finalize",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apps/v1/namespaces/default/deployments/a/scale",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases/a",
]
PATHS = st.lists(WORDS, max_size=8).map(lambda parts: "/" + "/".join(parts)) | st.sampled_from(KNOWN)
NAMES = ["watch", "limit", "continue", "labelSelector", "fieldSelector", "resourceVersion", "dryRun", "fieldManager"]
VALUES = [
    "",
    "1",
    "-1",
    "true",
    "a=b",
    "a in (",
    "metadata.name=x",
    "%00",
    "%ff",
    "All",
    "x" * 300,
    "9" * 30,
    "&",
    "=",
    "%F0%9F",
]
QUERIES = st.lists(
    st.tuples(st.sampled_from([*NAMES, "pretty", "hash", "%"]), st.sampled_from(VALUES)), max_size=4
).map(lambda pairs: "&".join(f"{name}={value}" for name, value in pairs))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["metadata", "name", "labels", "data", "spec", "kind", "x", "finalizers"]), inner
        )
    ),
    max_leaves=20,
)
OBJECTS = st.builds(
    lambda metadata, rest: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **rest},
    st.just({"name": "a"}) | JSON,
    st.dictionaries(st.sampled_from(["data", "binaryData", "immutable", "spec"]), JSON, max_size=2),
)
BODIES = st.one_of(
    st.binary(max_size=60),
    JSON.map(lambda value: json.dumps(value).encode()),
    OBJECTS.map(lambda value: json.dumps(value).encode()),
)
TYPES = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "text/plain",
        "",
        ";",
        "a/b;c=\x7f",
    ]
)
ACCEPTS = st.sampled_from(
    [
        "*/*",
        "application/json",
        "application/yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "image/png",
        ";;,q=x",
    ]
)


def with_cluster(check: Any) -> None:
    """Run a coroutine function against a fresh cluster, and fail if it hangs."""

    async def run() -> None:
        async with asyncio.timeout(60):
            async with EmbeddedCluster(controllers=(), authenticator=Authenticator(TOKENS)) as cluster:
                work: Coroutine[Any, Any, None] = check(HttpApi((await cluster.listen()).port))
                await work

    asyncio.run(run())


def codes(answers: bytes) -> list[int]:
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)]


@given(
    data=st.lists(
        st.binary(max_size=40) | st.sampled_from([b"GET / HTTP/1.1\r\nHost: t\r\n\r\n", b"\r\n", b"0\r\n\r\n"])
    )
)
def test_any_bytes_get_answers_or_a_close_and_the_server_lives_on(data: list[bytes]) -> None:
    async def check(api: HttpApi) -> None:
        async with connected(api.port) as wire:
            for piece in data:
                wire.send(piece)
            wire.writer.write_eof()
            assert not [code for code in codes(await wire.rest()) if code >= 500 and code != 501]
        assert (await api.get("/healthz")).body == b"ok"

    with_cluster(check)


@pytest.mark.slow
@given(
    asked=st.lists(st.tuples(METHODS, PATHS, QUERIES, BODIES, TYPES, ACCEPTS), min_size=1, max_size=12),
)
def test_no_request_is_answered_with_an_internal_error(asked: list[tuple[str, str, str, bytes, str, str]]) -> None:
    async def check(api: HttpApi) -> None:
        await api.create("a", x="y")
        for method, path, query, body, content_type, accept in asked:
            async with connected(api.port) as wire:
                limited = f"{query}&timeoutSeconds=1" if "watch" in query else query
                wire.request(
                    method,
                    f"{path}?{limited}",
                    body,
                    **api.headers(Content_Type=content_type, Accept=accept),
                )
                code, headers = await wire.head()
                answer = b""
                if "content-length" in headers and method != "HEAD":
                    answer = await wire.reader.readexactly(int(headers["content-length"]))
                assert b"InternalError" not in answer, (method, path, query, body, answer)
                # Kubernetes itself words two refusals as 500 without a reason: keys with dots, versions that are no numbers.
                assert code < 500 or code == 504 or b'"invalid key' in answer or b"ParseUint" in answer, (path, answer)

    with_cluster(check)


@given(data=st.binary(max_size=400), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_the_parser_understands_the_same_however_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    data = (
        b"POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n" % len(data)
        + data
        + b"GET /y HTTP/1.1\r\nHost: t\r\n\r\n"
    )
    whole, pieces = RequestParser(DEFAULT_LIMITS), RequestParser(DEFAULT_LIMITS)
    whole.feed(data)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for start, end in itertools.pairwise(places):
        pieces.feed(data[start:end])
    assert [(one.path, one.body) for one in whole.requests] == [(one.path, one.body) for one in pieces.requests]
    assert len(whole.requests) == 2


@pytest.mark.parametrize(
    ("name", "body", "code"),
    [
        ("deep lists", b"[" * 100_000, 400),
        ("deep objects", b'{"a":' * 300 + b"1" + b"}" * 300, 400),
        ("many values", b'{"data":[' + b"{}," * 900_000 + b"{}]}", 413),
        ("many numbers", b"[" + b"1," * 1_000_000 + b"1]", 413),
        ("unterminated string", b'"' + b"[{," * 500_000, 413),
        ("brackets in text", json.dumps({"metadata": {"name": "t"}, "data": {"a": "[{," * 300_000}}).encode(), 201),
    ],
)
async def test_huge_or_deep_json_is_refused_before_it_is_decoded(
    api: HttpApi, name: str, body: bytes, code: int
) -> None:
    answer = await api.call("POST", CONFIGMAPS, body)
    assert answer.code == code, (name, answer.body[:300])


@pytest.mark.parametrize(
    ("name", "body", "code"),
    [
        ("deep flow", b"[" * 100_000, 400),
        ("deep blocks", b"- " * 100_000, 400),
        ("deep questions", b"? " * 100_000, 400),
        ("deep by indentation", b"".join(b" " * level + b"a:\n" for level in range(1000)), 400),
        ("hidden from a reader of JSON", b'# "\n' + b"[" * 100_000 + b'"', 400),
        ("hidden behind a brace", b'{# "\n' + b"a: [" * 100_000 + b'"', 400),
        ("many values", b"[" + b"a," * 300_000 + b"a]", 413),
    ],
)
@pytest.mark.parametrize("content_type", ["application/yaml", "application/apply-patch+yaml"])
async def test_huge_or_deep_yaml_is_refused_before_it_is_composed(
    api: HttpApi, name: str, body: bytes, code: int, content_type: str
) -> None:
    method, path = ("POST", CONFIGMAPS) if content_type == "application/yaml" else ("PATCH", f"{CONFIGMAPS}/a")
    answer = await api.call(method, f"{path}?fieldManager=m", body, Content_Type=content_type)
    assert answer.code == code, (name, answer.body[:300])


TRICKS = [
    "/api/v1/namespaces/..%2f..%2fsecrets/configmaps",
    "/api/v1/namespaces/default/configmaps/..%2fa",
    "/api/v1/namespaces/default/configmaps/%00",
    "/api/v1/../../healthz",
    "/apis/%2e%2e/v1/x",
    "/%2e%2e/metrics",
    "/api//",
    "//",
    "/..",
]


@pytest.mark.parametrize("path", TRICKS)
async def test_tricky_paths_lead_nowhere(api: HttpApi, path: str) -> None:
    answer = await api.get(path)
    assert answer.code == 404 or b"invalid key" in answer.body, answer

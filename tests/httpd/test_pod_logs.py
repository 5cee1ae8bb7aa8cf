"""Logs of pods: as the store knows them, or streamed by whoever runs the container."""

from collections.abc import AsyncIterator

import pytest

from attractor.apiserver.response import LogBody
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from tests.httpd.api import HttpApi
from tests.httpd.wire import connected

PODS = "/api/v1/namespaces/default/pods"
PRINTED = "one\ntwo\nthree\n"


class Runner:
    """Runs the pods whose name begins with ``live``."""

    def __init__(self) -> None:
        self.asked: list[LogBody] = []

    def open(self, log: LogBody) -> AsyncIterator[bytes] | None:
        self.asked.append(log)
        return self._print() if log.pod["metadata"]["name"].startswith("live") else None

    async def _print(self) -> AsyncIterator[bytes]:
        for line in (b"first\n", b"second\n"):
            yield line


@pytest.fixture
def runner() -> Runner:
    return Runner()


@pytest.fixture
async def api(runner: Runner) -> AsyncIterator[HttpApi]:
    authenticator = Authenticator({"admin-token": ADMIN})
    async with EmbeddedCluster(controllers=(), authenticator=authenticator, pod_logs=runner) as cluster:
        made = HttpApi((await cluster.listen()).port)
        for name, containers in (("p", "a"), ("many", "ab"), ("live", "a")):
            annotations = {f"logs.attractor.dev/{container}": f"{PRINTED}" for container in containers}
            spec = {"containers": [{"name": container, "image": "i"} for container in containers]}
            body = {"metadata": {"name": name, "annotations": annotations}, "spec": spec}
            assert (await made.call("POST", PODS, body)).code == 201
        yield made


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", PRINTED),
        ("?tailLines=1", "three\n"),
        ("?tailLines=0", ""),
        ("?tailLines=9", PRINTED),
        ("?limitBytes=5", "one\nt"),
        ("?container=a&follow=true", PRINTED),
    ],
)
async def test_a_log_is_the_annotation_of_its_container_as_plain_text(api: HttpApi, query: str, text: str) -> None:
    answer = await api.get(f"{PODS}/p/log{query}")
    assert (answer.code, answer.headers["content-type"], answer.body.decode()) == (200, "text/plain", text)


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("many/log", 400, "a container name must be specified for pod many, choose one of: [a b]"),
        ("p/log?container=x", 400, "container x is not valid for pod p"),
        ("none/log", 404, 'pods "none" not found'),
        (
            "p/log?limitBytes=0",
            422,
            'PodLogOptions "p" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
        ),
    ],
)
async def test_a_log_that_cannot_be_told_says_why(api: HttpApi, path: str, code: int, message: str) -> None:
    answer = await api.get(f"{PODS}/{path}")
    assert (answer.code, answer.json["message"]) == (code, message)


async def test_whoever_runs_the_pod_streams_its_log(api: HttpApi, runner: Runner) -> None:
    async with connected(api.port) as wire:
        wire.request("GET", f"{PODS}/live/log?follow=true&tailLines=3", **api.headers())
        code, headers = await wire.head()
        assert (code, headers["content-type"], headers["transfer-encoding"]) == (200, "text/plain", "chunked")
        assert await wire.chunk() == b"first\n"
        assert await wire.chunk() == b"second\n"
        assert await wire.chunk() == b""
    (asked,) = runner.asked
    assert (asked.container, asked.options.follow, asked.options.tail_lines) == ("a", True, 3)

"""Every recorded conversation, replayed over HTTPS against a whole cluster: same requests, same answers.

Four answers differ on purpose, and the documentation says why: ``/version`` tells what really serves, ``/api`` tells the
address that the client used, initial events of a watch are sent where the recorded server could not, and an aggregated
role that no controller has filled yet is not taken for an empty one by who would bind it.
"""

import json
import ssl
import urllib.parse
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from attractor.apiserver.admission.plugins import PLUGIN_NAMES
from attractor.embedded import EmbeddedCluster
from attractor.embedded.source import SystemSource
from attractor.httpd.auth.authentication import Authenticator, parse_token_file
from attractor.httpd.auth.certificates import ensure_certificates
from attractor.httpd.tls import server_context
from tests.golden.normal import Normal, differences
from tests.httpd.wire import Wire, connected, eventually

RECORDINGS = sorted((Path(__file__).parent / "kube-apiserver-1.36").glob("*.json"))
NAMESPACE = "golden-0a1b2c3d"
TOKENS = 'admin,admin,admin,"system:masters"\nreader,reader,reader\n'


class OneSecond(SystemSource):
    """A clock that stands still: owners of fields are sorted by time, to the second, and the recordings took less."""

    def __init__(self) -> None:
        super().__init__()
        self._stands = super().now()

    def now(self) -> str:
        return self._stands


class Served(NamedTuple):
    cluster: EmbeddedCluster
    port: int
    trust: ssl.SSLContext


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    files = ensure_certificates(tmp_path, ["localhost"])
    authenticator = Authenticator(parse_token_file(TOKENS))
    async with EmbeddedCluster(
        controllers=(),
        authenticator=authenticator,
        admission_plugins=PLUGIN_NAMES,
        allow_privileged=False,
        source=OneSecond(),
    ) as cluster:
        address = await cluster.listen(tls=server_context(files.cert, files.key))
        yield Served(cluster, address.port, ssl.create_default_context(cafile=str(files.ca)))


class Replayer:
    """Plays one conversation's requests."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.normal = Normal(NAMESPACE)
        self.saved: dict[str, str] = {}

    async def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        served = self.served
        async with connected(served.port, served.trust, server_hostname="localhost") as wire:
            self.send(wire, asked)
            if "watchSeconds" in asked:
                return await self.watched(wire)
            answer = await wire.answer(is_head=asked["method"] == "HEAD")
        out: dict[str, Any] = {"code": answer.code, **self.warned(answer.headers)}
        try:
            body = answer.json
        except ValueError:
            return {**out, "text": self.normal.text(answer.body.decode())}
        self.save(asked.get("save"), body)
        return {**out, "body": self.normal.value(body)}

    def warned(self, headers: Mapping[str, str]) -> dict[str, Any]:
        if "warning" not in headers:
            return {}
        texts = headers["warning"].replace(", 299 - ", "\n299 - ").split("\n")
        return {"warning": [self.normal.text(text) for text in texts]}

    def send(self, wire: Wire, asked: dict[str, Any]) -> None:
        path = asked["path"].replace("{ns}", NAMESPACE)
        for name, value in self.saved.items():
            path = path.replace("{" + name + "}", urllib.parse.quote(value, safe=""))
        headers = {"Accept": asked.get("accept", "application/json")}
        token = asked.get("token", "admin")
        if token:
            headers["Authorization"] = f"Bearer {token}"
        body = asked.get("raw")
        if body is None and "body" in asked:
            body = json.dumps(asked["body"]).replace("{ns}", NAMESPACE)
        if body is not None:
            headers["Content_Type"] = asked.get("contentType", "application/json")
        wire.request(asked["method"], path, (body or "").encode(), **headers)

    def save(self, what: str | None, body: Any) -> None:
        if what == "continue":
            self.saved["continue"] = body["metadata"].get("continue", "")
        if what == "rv":
            self.saved["rv"] = body["metadata"]["resourceVersion"]

    async def watched(self, wire: Wire) -> dict[str, Any]:
        """What a watcher has been told once it is as new as the store; then its stream is ended."""
        code, headers = await wire.head()
        if "content-length" in headers:
            body = json.loads(await wire.reader.readexactly(int(headers["content-length"])))
            said = self.normal.value(body)
            return {"code": code, "events": [said]} if code == 200 else {"code": code, "body": said}
        router = self.served.cluster._router
        assert router is not None
        channels = router._hub._channels
        await eventually(lambda: all(channel.streams == set(channel.members) for channel in channels.values()))
        for stream in [stream for channel in channels.values() for stream in channel.streams]:
            stream.finish()
        events = []
        while (event := await wire.event()) is not None:
            events.append(self.normal.value(event))
        return {"code": code, "events": events, **self.warned(headers)}


def differs_on_purpose(asked: dict[str, Any]) -> bool:
    if asked["path"].endswith("/rolebindings") and asked.get("body", {}).get("roleRef", {}).get("name") == "admin":
        return bool(asked["method"] == "POST")
    return asked["path"] in {"/version", "/api"} or "sendInitialEvents=true&allowWatchBookmarks" in asked["path"]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_conversation_replays_exactly_over_https(served: Served, path: Path) -> None:
    conversation = json.loads(path.read_bytes())  # noqa: ASYNC240
    made = {"method": "POST", "path": "/api/v1/namespaces", "body": {"metadata": {"name": NAMESPACE}}}
    assert (await Replayer(served).answer(made))["code"] == 201
    replayer = Replayer(served)
    for index, step in enumerate(conversation["steps"]):
        asked = step["request"]
        if not step["response"]:
            continue
        got = await replayer.answer(asked)
        if not differs_on_purpose(asked):
            found = differences(step["response"], got)
            assert not found, f"step {index} {asked['method']} {asked['path']}\n  " + "\n  ".join(found)


async def test_what_differs_on_purpose_is_what_the_documentation_says(served: Served) -> None:
    replayer = Replayer(served)
    version = await replayer.answer({"method": "GET", "path": "/version"})
    assert version["body"]["gitVersion"].startswith("v1.36.4+attractor-")
    addresses = (await replayer.answer({"method": "GET", "path": "/api"}))["body"]["serverAddressByClientCIDRs"]
    assert addresses == [{"clientCIDR": "0.0.0.0/0", "serverAddress": "test"}]

"""Random histories over HTTPS against a small oracle: every answer, the watch, and the laws of server-side apply.

The oracle is a dictionary and a list of events. It knows nothing of the server but what a user knows: a create of what
is there conflicts, a stale update conflicts, an identical write changes nothing, and a watcher is told all the rest.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from attractor.httpd.auth.certificates import ensure_certificates
from attractor.httpd.tls import server_context
from tests.httpd.conftest import TOKENS
from tests.httpd.wire import Answer, Wire, connected

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

pytestmark = pytest.mark.slow
OBJECTS = "/api/v1/namespaces/default/configmaps"
NAMES = st.sampled_from(["a", "b", "c"])
DATA = st.dictionaries(st.sampled_from(["x", "y", "z"]), st.sampled_from(["1", "2"]), min_size=1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), NAMES, DATA),
        st.tuples(st.just("update"), NAMES, DATA),
        st.tuples(st.just("stale"), NAMES, DATA),
        st.tuples(st.just("merge"), NAMES, DATA),
        st.tuples(st.just("delete"), NAMES, st.just({})),
    ),
    max_size=25,
)
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


class Client:
    """One connection that stays, and another for the watch."""

    def __init__(self, port: int, trust: ssl.SSLContext, wire: Wire) -> None:
        self.port, self.trust, self._wire = port, trust, wire

    async def __call__(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Answer:
        data = b"" if body is None else json.dumps(body).encode()
        self._wire.request(method, path, data, Authorization="Bearer admin-token", Content_Type=kind)
        return await self._wire.answer()


def over_https(directory: Path, check: Callable[[Client], Awaitable[None]]) -> None:
    """Run a check against a fresh cluster behind TLS."""

    async def run() -> None:
        files = ensure_certificates(directory, ["localhost"])
        trust = ssl.create_default_context(cafile=str(files.ca))
        async with asyncio.timeout(60):
            async with EmbeddedCluster(controllers=(), authenticator=Authenticator(TOKENS)) as cluster:
                port = (await cluster.listen(tls=server_context(files.cert, files.key))).port
                async with connected(port, trust, server_hostname="localhost") as wire:
                    await check(Client(port, trust, wire))

    asyncio.run(run())


class Oracle:
    """What must be there, and what a watcher must have been told."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.data: dict[str, dict[str, str]] = {}
        self.versions: dict[str, str] = {}
        self.events: list[tuple[str, str, dict[str, str]]] = []

    async def step(self, verb: str, name: str, data: dict[str, str]) -> None:
        there = name in self.data
        obj = {"metadata": {"name": name}, "data": data}
        match verb:
            case "create":
                self._expect(await self.client("POST", OBJECTS, obj), 409 if there else 201, name, data)
            case "update":
                self._expect(await self.client("PUT", f"{OBJECTS}/{name}", obj), 200 if there else 404, name, data)
            case "stale":
                obj["metadata"]["resourceVersion"] = "2"
                self._expect(await self.client("PUT", f"{OBJECTS}/{name}", obj), 409 if there else 404, name, data)
            case "merge":
                merged = {**self.data.get(name, {}), **data}
                answer = await self.client("PATCH", f"{OBJECTS}/{name}", {"data": data}, MERGE)
                self._expect(answer, 200 if there else 404, name, merged)
            case "delete":
                answer = await self.client("DELETE", f"{OBJECTS}/{name}")
                assert answer.code == (200 if there else 404)
                if there:
                    self.events.append(("DELETED", name, self.data.pop(name)))
                    del self.versions[name]

    def _expect(self, answer: Answer, code: int, name: str, data: dict[str, str]) -> None:
        assert answer.code == code, answer.json
        if code >= 400:
            return
        version = answer.json["metadata"]["resourceVersion"]
        assert answer.json["data"] == data
        if self.data.get(name) == data:
            assert version == self.versions[name], "an identical write changed the version"
            return
        self.events.append(("MODIFIED" if name in self.data else "ADDED", name, data))
        self.data[name], self.versions[name] = data, version


@settings(max_examples=40)
@given(steps=STEPS)
def test_every_answer_and_every_watch_event_is_what_the_oracle_says(
    certificates: Path, steps: list[tuple[str, str, dict[str, str]]]
) -> None:
    async def check(client: Client) -> None:
        oracle = Oracle(client)
        start = (await client("GET", OBJECTS)).json["metadata"]["resourceVersion"]
        for step in steps:
            await oracle.step(*step)
        listed = (await client("GET", OBJECTS)).json
        assert {one["metadata"]["name"]: one["data"] for one in listed["items"]} == oracle.data
        async with connected(client.port, client.trust, server_hostname="localhost") as watch:
            watch.request("GET", f"{OBJECTS}?watch=1&resourceVersion={start}", Authorization="Bearer admin-token")
            await watch.head()
            seen = [await watch.event() for _ in oracle.events]
        told = [(one["type"], one["object"]["metadata"]["name"], one["object"]["data"]) for one in seen]
        assert told == oracle.events
        versions = [int(one["object"]["metadata"]["resourceVersion"]) for one in seen]
        assert versions == sorted(set(versions))

    over_https(certificates, check)


async def applied(client: Client, manager: str, data: dict[str, str], *, force: bool = False) -> Answer:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "o"}, "data": data}
    return await client("PATCH", f"{OBJECTS}/o?fieldManager={manager}&force={str(force).lower()}", body, APPLY)


def owners(answer: Answer) -> dict[str, set[str]]:
    """The keys of ``data`` that each manager owns."""
    return {
        entry["manager"]: {name[2:] for name in entry["fieldsV1"].get("f:data", {}) if name.startswith("f:")}
        for entry in answer.json["metadata"]["managedFields"]
    }


@settings(max_examples=40)
@given(first=DATA, second=DATA)
def test_the_laws_of_server_side_apply_hold_through_the_server(
    certificates: Path, first: dict[str, str], second: dict[str, str]
) -> None:
    async def check(client: Client) -> None:
        once = await applied(client, "one", first)
        assert (await applied(client, "one", first)).json == once.json, "applying twice is not applying once"
        clash = {name for name in first if name in second and first[name] != second[name]}
        refused = await applied(client, "two", second)
        assert refused.code == (409 if clash else 200)
        if clash:
            fields = {cause["field"] for cause in refused.json["details"]["causes"]}
            assert fields == {f".data.{name}" for name in clash}
        forced = await applied(client, "two", second, force=True)
        assert forced.json["data"] == {**first, **second}
        held = owners(forced)
        assert held["two"] == set(second)
        assert held.get("one", set()) == set(first) - clash, "force takes what clashed, and shares what agreed"
        dropped = await applied(client, "two", {"own": "1"}, force=True)
        left = {name: value for name, value in first.items() if name not in clash}
        assert dropped.json["data"] == {**left, "own": "1"}, "what nobody applies any more is gone"

    over_https(certificates, check)


@settings(max_examples=30)
@given(
    first=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["1", "2"]), min_size=1),
    second=st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"]), min_size=1),
)
def test_appliers_of_different_fields_commute(
    certificates: Path, first: dict[str, str], second: dict[str, str]
) -> None:
    async def check(client: Client) -> None:
        results = []
        for order in ((("one", first), ("two", second)), (("two", second), ("one", first))):
            for manager, data in order:
                answer = await applied(client, manager, data)
                assert answer.code in {200, 201}
            results.append((answer.json["data"], owners(answer)))
            await client("DELETE", f"{OBJECTS}/o")
        assert results[0] == results[1]

    over_https(certificates, check)

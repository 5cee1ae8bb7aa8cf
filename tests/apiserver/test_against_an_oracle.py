"""Random requests against the server and against a dictionary: the same objects, the same versions, the same events."""

import asyncio
import json
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from attractor.apiserver.core import Request
from attractor.apiserver.server import Server
from attractor.store.memory import MemoryStore
from tests.apiserver.conftest import CONFIGMAPS
from tests.deterministic import CountingSource

NAMES = st.sampled_from(["a", "b", "c"])
DATA = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"]))


class Configmaps(RuleBasedStateMachine):
    """ConfigMaps under create, update, merge patch and delete, with and without versions."""

    @initialize()
    def start(self) -> None:
        self.server = Server(MemoryStore(), CountingSource())
        asyncio.run(self.server.start())
        self.start_revision = self.server.store.revision
        self.model: dict[str, tuple[dict[str, str], int]] = {}
        self.log: list[tuple[str, str]] = []

    def call(self, method: str, name: str, body: Any = None, content_type: str = "") -> tuple[int, Any]:
        path = CONFIGMAPS if method == "POST" else f"{CONFIGMAPS}/{name}"
        data = b"" if body is None else json.dumps(body).encode()
        response = asyncio.run(self.server.handle(Request(method, path, {}, data, content_type)))
        return response.code, response.json()

    def wrote(self, name: str, data: dict[str, str], body: Any) -> None:
        """The model's side of a write: a new version exactly when something changed."""
        version = int(body["metadata"]["resourceVersion"])
        old = self.model.get(name)
        if old is None or old[0] != data:
            assert version == self.server.store.revision
            self.log.append(("ADDED" if old is None else "MODIFIED", name))
        else:
            assert version == old[1]
        assert body.get("data", {}) == data
        self.model[name] = (data, version)

    @rule(name=NAMES, data=DATA)
    def create(self, name: str, data: dict[str, str]) -> None:
        code, body = self.call("POST", name, {"metadata": {"name": name}, "data": data})
        assert code == (409 if name in self.model else 201)
        if code == 201:
            self.wrote(name, data, body)

    @rule(name=NAMES, data=DATA, stale=st.booleans())
    def update(self, name: str, data: dict[str, str], *, stale: bool) -> None:
        metadata: dict[str, Any] = {"name": name}
        if name in self.model:
            metadata["resourceVersion"] = "1" if stale else str(self.model[name][1])
        code, body = self.call("PUT", name, {"metadata": metadata, "data": data})
        assert code == (404 if name not in self.model else 409 if stale else 200)
        if code == 200:
            self.wrote(name, data, body)

    @rule(name=NAMES, change=st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2", None])))
    def patch(self, name: str, change: dict[str, str | None]) -> None:
        code, body = self.call("PATCH", name, {"data": change}, "application/merge-patch+json")
        assert code == (200 if name in self.model else 404)
        if code == 200:
            merged = {**self.model[name][0], **change}
            self.wrote(name, {key: value for key, value in merged.items() if value is not None}, body)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        code, _ = self.call("DELETE", name)
        assert code == (200 if name in self.model else 404)
        if self.model.pop(name, None) is not None:
            self.log.append(("DELETED", name))

    @invariant()
    def lists_and_events_agree_with_the_model(self) -> None:
        response = asyncio.run(self.server.handle(Request("GET", CONFIGMAPS)))
        found = {item["metadata"]["name"]: item.get("data", {}) for item in response.json()["items"]}
        assert found == {name: data for name, (data, _) in self.model.items()}
        store = self.server.store
        assert isinstance(store, MemoryStore)
        events = store.events_after("core/configmaps/", self.start_revision).events
        kinds = [
            "DELETED" if event.value is None else "ADDED" if event.previous is None else "MODIFIED" for event in events
        ]
        assert [(kind, event.key.rsplit("/", 1)[1]) for kind, event in zip(kinds, events, strict=True)] == self.log


TestConfigmaps = Configmaps.TestCase
TestConfigmaps.settings = settings(max_examples=60, stateful_step_count=30)

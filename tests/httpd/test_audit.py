"""The audit log of a running server: what is written down of each request, and what never is."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from attractor.apiserver.audit.policy import METADATA_ONLY, Policy
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from attractor.k8s.core_v1 import ConfigMap
from attractor.store.memory import MemoryStore
from tests.httpd.api import CONFIGMAPS, HttpApi, config_map
from tests.httpd.auditlines import Lines
from tests.httpd.conftest import TOKENS
from tests.httpd.test_impersonation import allow
from tests.httpd.wire import connected, eventually

MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
EVERYTHING = Policy.parse(b"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: RequestResponse}]}")


@asynccontextmanager
async def audited(policy: Policy = METADATA_ONLY) -> AsyncIterator[tuple[HttpApi, Lines]]:
    log = Lines()
    authenticator = Authenticator(TOKENS)
    async with EmbeddedCluster(controllers=(), authenticator=authenticator, audit=log, audit_policy=policy) as cluster:
        yield HttpApi((await cluster.listen()).port), log
    assert log.is_closed


def rules(*rules: str) -> Policy:
    return Policy.parse(f"{{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{', '.join(rules)}]}}".encode())


async def test_a_request_is_one_line_in_kubernetes_form() -> None:
    async with audited() as (api, log):
        answer = await api.call("POST", f"{CONFIGMAPS}?fieldManager=me", config_map("a"), User_Agent="test/1")
        [event] = log.events
    uid, version = answer.json["metadata"]["uid"], answer.json["metadata"]["resourceVersion"]
    received, at = event.pop("requestReceivedTimestamp"), event.pop("stageTimestamp")
    assert MICRO_TIME.fullmatch(received)
    assert MICRO_TIME.fullmatch(at)
    assert received <= at
    assert event == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": answer.headers["audit-id"],
        "stage": "ResponseComplete",
        "requestURI": f"{CONFIGMAPS}?fieldManager=me",
        "verb": "create",
        "user": {"username": "attractor:admin", "groups": ["system:masters", "system:authenticated"]},
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "test/1",
        "objectRef": {
            "resource": "configmaps",
            "namespace": "default",
            "name": "a",
            "uid": uid,
            "apiVersion": "v1",
        },
        "responseStatus": {"metadata": {}, "code": 201},
        "annotations": {
            "authorization.k8s.io/decision": "allow",
            "authorization.k8s.io/reason": "",
            "attractor.dev/resource-version": version,
        },
    }


async def test_an_update_names_the_version_it_rests_on_and_the_one_it_leads_to() -> None:
    async with audited() as (api, log):
        before = (await api.create("a")).json
        after = (await api.call("PUT", f"{CONFIGMAPS}/a", {**before, "data": {"k": "v"}})).json
        event = log.events[-1]
    assert event["objectRef"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert event["annotations"]["attractor.dev/resource-version"] == after["metadata"]["resourceVersion"]


async def test_the_id_that_a_request_brings_is_its_id() -> None:
    async with audited() as (api, log):
        answer = await api.get(CONFIGMAPS, Audit_ID="mine")
    assert (answer.headers["audit-id"], log.events[0]["auditID"]) == ("mine", "mine")


async def test_requests_with_the_same_headers_on_one_connection_have_ids_of_their_own() -> None:
    async with audited() as (api, log), connected(api.port) as wire:
        answered = []
        for _ in range(3):
            wire.request("GET", CONFIGMAPS, **api.headers())
            answered.append((await wire.answer()).headers["audit-id"])
    assert [event["auditID"] for event in log.events] == answered
    assert len(set(answered)) == 3


async def test_a_refusal_says_why_if_nothing_was_sent_that_it_could_quote() -> None:
    async with audited() as (api, log):
        await api.get(f"{CONFIGMAPS}/none")
        await api.call("POST", CONFIGMAPS, {"metadata": {"name": "Bad_Name"}})
        missing, invalid = log.events
    assert missing["responseStatus"] == {
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "none" not found',
        "reason": "NotFound",
        "code": 404,
    }
    assert invalid["responseStatus"] == {"metadata": {}, "status": "Failure", "reason": "Invalid", "code": 422}


async def test_the_decision_on_a_request_is_told_with_its_reason() -> None:
    async with audited() as (api, log):
        await allow(api, "look", "reader", {"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]})
        log.take()
        reader = HttpApi(api.port, "reader-token")
        await reader.get(CONFIGMAPS)
        await reader.get("/api/v1/secrets")
        allowed, forbidden = log.events
    assert allowed["annotations"] == {
        "authorization.k8s.io/decision": "allow",
        "authorization.k8s.io/reason": 'RBAC: allowed by ClusterRoleBinding "look" of ClusterRole "look" to User "reader"',
    }
    assert forbidden["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert forbidden["responseStatus"]["code"] == 403


async def test_both_users_of_an_impersonated_request_are_named() -> None:
    async with audited() as (api, log):
        await api.get(CONFIGMAPS, Impersonate_User="jane", Impersonate_Group="dev")
        [event] = log.events
    assert event["user"]["username"] == "attractor:admin"
    assert event["impersonatedUser"] == {"username": "jane", "groups": ["dev", "system:authenticated"]}
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"


async def test_unknown_credentials_are_written_down_without_them() -> None:
    async with audited() as (api, log):
        answer = await HttpApi(api.port, "guessed-token").get(CONFIGMAPS)
        [event] = log.events
    assert (event["stage"], event["user"], event["auditID"]) == ("ResponseStarted", {}, answer.headers["audit-id"])
    assert event["responseStatus"]["message"] == "Authentication failed, attempted: bearer"
    assert event["responseStatus"]["code"] == 401
    assert b"guessed" not in log.lines[0]


async def test_a_watch_is_written_down_when_it_begins_and_when_it_ends() -> None:
    async with audited() as (api, log):
        async with api.watch() as wire:
            await eventually(lambda: len(log.lines) == 1)
            await api.create("a")
            assert (await wire.event())["type"] == "ADDED"
        await eventually(lambda: len(log.lines) == 3)
        began, _, ended = log.events
    assert (began["stage"], began["verb"], began["responseStatus"]["code"]) == ("ResponseStarted", "watch", 200)
    assert (ended["stage"], ended["auditID"]) == ("ResponseComplete", began["auditID"])


async def test_a_watch_that_the_server_ends_is_complete_once() -> None:
    async with audited() as (api, log):
        async with api.watch("timeoutSeconds=1") as wire:
            assert await wire.event() is None
        async with api.watch():
            await eventually(lambda: len(log.lines) == 3)
    assert [event["stage"] for event in log.events] == ["ResponseStarted", "ResponseComplete"] * 2


async def test_bodies_are_written_down_where_the_policy_says_so() -> None:
    asked = rules(
        "{level: None, verbs: [get]}",
        "{level: RequestResponse, verbs: [update], omitManagedFields: true, omitStages: [RequestReceived]}",
        "{level: Request, omitStages: [RequestReceived]}",
    )
    async with audited(asked) as (api, log):
        created = (await api.create("a", key="value")).json
        await api.get(f"{CONFIGMAPS}/a")
        updated = (await api.call("PUT", f"{CONFIGMAPS}/a", {**created, "data": {"key": "other"}})).json
        create, update = log.events
    assert create["requestObject"]["data"] == {"key": "value"}
    assert "responseObject" not in create
    del updated["metadata"]["managedFields"]
    assert update["responseObject"] == updated
    assert "managedFields" not in update["requestObject"]["metadata"]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/yaml", b"metadata:\n  name: a\n"),
        ("application/json", b'{\n "metadata": {\r\n "name": "a"}\n}'),
    ],
)
async def test_a_body_is_json_on_one_line_however_it_was_written(content_type: str, body: bytes) -> None:
    async with audited(EVERYTHING) as (api, log):
        await api.call("POST", CONFIGMAPS, body, Content_Type=content_type)
        received, complete = log.events
    assert (received["stage"], "requestObject" in received) == ("RequestReceived", False)
    assert complete["requestObject"] == {"metadata": {"name": "a"}}
    assert complete["responseObject"]["metadata"]["name"] == "a"


async def test_what_a_client_in_this_process_does_is_written_down_too() -> None:
    log = Lines()
    async with EmbeddedCluster(controllers=(), audit=log) as cluster, cluster.client() as client:
        await client.create(ConfigMap.from_dict(config_map("a") | {"metadata": {"name": "a", "namespace": "default"}}))
    [event] = [event for event in log.events if event["verb"] == "create"]
    assert (event["objectRef"]["name"], event["userAgent"], "sourceIPs" in event) == ("a", "attractor", False)


async def test_an_internal_error_is_a_panic_and_says_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("s3cr3t")

    async with audited() as (api, log):
        with monkeypatch.context() as breaking:
            breaking.setattr(MemoryStore, "snapshot_nowait", broken)
            answer = await api.get(CONFIGMAPS)
        [event] = log.events
    assert (answer.code, event["stage"], event["responseStatus"]["code"]) == (500, "Panic", 500)
    assert b"s3cr3t" not in log.lines[0]


async def test_what_proxies_say_comes_before_who_is_connected() -> None:
    async with audited() as (api, log):
        await api.get(CONFIGMAPS, X_Forwarded_For="10.0.0.7, nonsense, ::1")
    assert log.events[0]["sourceIPs"] == ["10.0.0.7", "::1", "127.0.0.1"]


async def test_every_request_has_an_id_even_where_nothing_is_written_down() -> None:
    async with audited(rules("{level: None}")) as (api, log):
        answer = await api.get(CONFIGMAPS)
    assert answer.headers["audit-id"]
    assert not log.lines


async def test_lines_are_valid_after_a_request_with_any_bytes_in_its_head() -> None:
    async with audited() as (api, log):
        await api.get(f"{CONFIGMAPS}?x=%0a%22&y=\\", User_Agent='a"\\')
    assert json.loads(log.lines[0])["userAgent"] == 'a"\\'

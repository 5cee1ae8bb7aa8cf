"""Priority and fairness over HTTP: who waits for whom, who is turned away, and what the answers say of it."""

import asyncio
import gzip
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from attractor.apiserver.auth.authorizer import AUTHENTICATED
from attractor.apiserver.core import Request
from attractor.apiserver.request.caller import User
from attractor.embedded import EmbeddedCluster
from attractor.httpd import fairness as driver
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from tests.httpd.api import CONFIGMAPS, HttpApi, config_map
from tests.httpd.wire import connected

MANY = 400
TOKENS = {
    "admin-token": ADMIN,
    "loud-token": User("loud", "loud", (AUTHENTICATED,)),
    "quiet-token": User("quiet", "quiet", (AUTHENTICATED,)),
}
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    running = EmbeddedCluster(controllers=(), authenticator=Authenticator(TOKENS), anonymous_read=True)
    async with running:
        for n in range(MANY):
            body = json.dumps(config_map(f"o{n}", {"half": str(n % 2)}, text='line\n"metadata":{')).encode()
            await running.server.handle(Request("POST", CONFIGMAPS, {}, body, "application/json", ADMIN))
        yield running


@pytest.fixture
async def port(cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(driver, "SLICE_S", 0.0)  # a pause after each piece, however fast the machine
    return (await cluster.listen()).port


async def create_level(admin: HttpApi, **limited: Any) -> None:
    """A level, and a schema that puts the loud user's requests into it."""
    level = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "narrow"},
        "spec": {"type": "Limited", "limited": limited},
    }
    resources = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    schema = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": "loud"},
        "spec": {
            "matchingPrecedence": 100,
            "priorityLevelConfiguration": {"name": "narrow"},
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [
                {
                    "subjects": [
                        {"kind": "User", "user": {"name": "loud"}},
                        {"kind": "User", "user": {"name": "quiet"}},
                    ],
                    "resourceRules": [resources],
                }
            ],
        },
    }
    for path, body in ((f"{FLOW}/prioritylevelconfigurations", level), (f"{FLOW}/flowschemas", schema)):
        made = await admin.call("POST", path, body)
        assert made.code == 201, made.json


async def test_a_get_is_answered_while_a_list_that_came_before_it_is_still_being_made(port: int) -> None:
    order: list[str] = []

    async def ask(who: str, path: str) -> None:
        answer = await HttpApi(port, f"{who}-token").get(path)
        assert answer.code == 200
        order.append(who)

    async with connected(port) as wire:  # five at once
        for _ in range(5):
            wire.request("GET", CONFIGMAPS, **HttpApi(port, "loud-token").headers())
        await asyncio.gather(
            ask("loud", CONFIGMAPS), ask("quiet", f"{CONFIGMAPS}/o1"), ask("admin", f"{CONFIGMAPS}/o1")
        )
        for _ in range(5):
            assert len((await wire.answer()).json["items"]) == MANY
    assert order[-1] == "loud"


async def test_answers_name_the_schema_and_the_level(port: int) -> None:
    admin = HttpApi(port)
    await create_level(admin, nominalConcurrencyShares=10, limitResponse={"type": "Reject"})
    stored = [(await admin.get(f"{FLOW}/{what}")).json["metadata"]["uid"]
              for what in ("flowschemas/loud", "prioritylevelconfigurations/narrow")]  # fmt: skip
    answer = await HttpApi(port, "loud-token").get(f"{CONFIGMAPS}/o1")
    said = [answer.headers[f"x-kubernetes-pf-{what}-uid"] for what in ("flowschema", "prioritylevel")]
    assert said == stored


async def test_a_level_that_rejects_answers_429_and_when_to_come_back(port: int) -> None:
    admin = HttpApi(port)
    await create_level(admin, nominalConcurrencyShares=1, limitResponse={"type": "Reject"}, borrowingLimitPercent=0)
    loud = HttpApi(port, "loud-token")
    answers = await asyncio.gather(*(loud.get(CONFIGMAPS) for _ in range(400)))
    codes = [answer.code for answer in answers]
    assert set(codes) == {200, 429}
    refused = next(answer for answer in answers if answer.code == 429)
    assert refused.headers["retry-after"] == "1"
    assert refused.body == b"Too many requests, please try again later.\n"
    page = (await admin.get("/metrics")).body.decode()
    line = 'apiserver_flowcontrol_rejected_requests_total{flow_schema="loud",priority_level="narrow",reason='
    assert f'{line}"concurrency-limit"}} {codes.count(429)}' in page
    assert (await HttpApi(port, "admin-token").get(CONFIGMAPS)).code == 200


async def test_queued_requests_are_all_answered_and_another_user_is_not_behind_all_of_them(
    port: int, cluster: EmbeddedCluster
) -> None:
    queuing = {"queues": 64, "handSize": 1, "queueLengthLimit": 400}
    await create_level(
        HttpApi(port),
        nominalConcurrencyShares=1,
        limitResponse={"type": "Queue", "queuing": queuing},
        borrowingLimitPercent=0,
    )
    order: list[str] = []

    async def ask(who: str, path: str) -> None:
        assert (await HttpApi(port, f"{who}-token").get(path)).code == 200
        order.append(who)

    await asyncio.gather(*(ask("loud", CONFIGMAPS) for _ in range(60)), ask("quiet", f"{CONFIGMAPS}/o1"))
    assert len(order) == 61
    assert order.index("quiet") < 55, "the quiet user waited for all of the loud one's lists"
    page = (await HttpApi(port).get("/metrics")).body.decode()
    assert 'apiserver_flowcontrol_current_inqueue_requests{flow_schema="loud",priority_level="narrow"} 0' in page
    assert 'apiserver_flowcontrol_current_executing_seats{priority_level="narrow"} 0' in page
    assert "apiserver_flowcontrol_request_wait_duration_seconds_count" in page


@pytest.mark.parametrize("query", ["", "?limit=300", "?labelSelector=half%3D1", "?pretty=1"])
@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "application/yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/yaml;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    ],
)
async def test_a_list_made_in_pieces_is_the_list_made_at_once(
    port: int, cluster: EmbeddedCluster, accept: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = CONFIGMAPS + query
    admin = HttpApi(port)
    in_pieces = await admin.get(path, Accept=accept)
    monkeypatch.setattr("attractor.apiserver.verbs.read.PIECE", 10**6)
    at_once = await admin.get(path, Accept=accept)
    assert in_pieces.code == at_once.code == 200
    assert in_pieces.headers["content-type"] == at_once.headers["content-type"]
    assert _ageless(in_pieces.body) == _ageless(at_once.body)
    packed = await admin.get(path, Accept=accept, Accept_Encoding="gzip")
    if packed.headers.get("content-encoding") == "gzip":
        assert _ageless(gzip.decompress(packed.body)) == _ageless(at_once.body)
    else:
        assert len(packed.body) <= 128 * 1024


async def test_a_long_table_of_a_kind_with_an_order_is_in_that_order(
    port: int, cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{FLOW}/flowschemas"
    for n in range(150):
        body = {
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": f"s{n}"},
            "spec": {"matchingPrecedence": 100 + n * 37 % 150, "priorityLevelConfiguration": {"name": "nowhere"}},
        }  # fmt: skip
        asked = Request("POST", path, {}, json.dumps(body).encode(), "application/json", ADMIN)
        assert (await cluster.server.handle(asked)).code == 201
    admin, table = HttpApi(port), "application/json;as=Table;v=v1;g=meta.k8s.io"
    in_pieces = await admin.get(path, Accept=table)
    monkeypatch.setattr("attractor.apiserver.verbs.read.PIECE", 10**6)
    at_once = await admin.get(path, Accept=table)
    names = [[row["object"]["metadata"]["name"] for row in one.json["rows"]] for one in (in_pieces, at_once)]
    assert names[0] == names[1]
    assert names[0] != sorted(names[0])


def _ageless(body: bytes) -> bytes:
    """Without ages, which go on."""
    return re.sub(rb'"\d+s"|\b\d+s\b', b"AGE", body)


async def test_a_client_that_goes_away_takes_its_waiting_requests_with_it(port: int, cluster: EmbeddedCluster) -> None:
    await create_level(
        HttpApi(port),
        nominalConcurrencyShares=1,
        limitResponse={"type": "Queue", "queuing": {"queues": 1, "handSize": 1, "queueLengthLimit": 400}},
        borrowingLimitPercent=0,
    )
    async with connected(port) as gone:
        gone.request("GET", CONFIGMAPS, **HttpApi(port, "loud-token").headers())
    assert (await HttpApi(port, "loud-token").get(CONFIGMAPS)).code == 200
    fairness = cluster.fairness
    assert fairness is not None
    assert not fairness.dispatcher.is_waiting
    assert all(not level.seats for level in fairness.dispatcher.levels.values())

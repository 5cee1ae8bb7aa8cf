"""Webhooks and policies behind a socket: the request waits for others, and the caller gets its warnings."""

import asyncio

from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from tests.apiserver.admission.conftest import CONFIGMAP_RULE, REGISTRATIONS
from tests.apiserver.admission.test_conversion_webhooks import DEFINITIONS, V1, V2, convert, definition
from tests.apiserver.admission.webhookserver import Webhook, patching, webhook
from tests.httpd.api import CONFIGMAPS, HttpApi, config_map


def configuration(hook: Webhook) -> dict[str, object]:
    entry = {
        "name": "hook.example.org",
        "clientConfig": hook.client_config(),
        "rules": [CONFIGMAP_RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {"metadata": {"name": "hook"}, "webhooks": [entry]}


async def test_requests_wait_for_webhooks_and_not_for_each_other() -> None:
    label = patching({"op": "add", "path": "/metadata/labels/by", "value": "hook"})
    authenticator = Authenticator({"admin-token": ADMIN})
    async with webhook(label) as hook, EmbeddedCluster(controllers=(), authenticator=authenticator) as cluster:
        hook.respond = lambda request: {**label(request), "warnings": [f"changed {request['name']}"]}
        api = HttpApi((await cluster.listen()).port)
        path = f"{REGISTRATIONS}/mutatingwebhookconfigurations"
        assert (await api.call("POST", path, configuration(hook))).code == 201
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(api.call("POST", CONFIGMAPS, config_map(f"c{n}", {"a": "b"}))) for n in range(8)]
        answers = [task.result() for task in tasks]
        assert [answer.code for answer in answers] == [201] * 8
        assert {answer.json["metadata"]["labels"]["by"] for answer in answers} == {"hook"}
        assert answers[3].headers["warning"] == '299 - "changed c3"'
        assert hook.requests[0]["userInfo"]["username"] == ADMIN.name


async def test_a_converted_kind_is_written_and_listed_behind_a_socket() -> None:
    authenticator = Authenticator({"admin-token": ADMIN})
    async with webhook(convert) as hook, EmbeddedCluster(controllers=(), authenticator=authenticator) as cluster:
        api = HttpApi((await cluster.listen()).port)
        assert (await api.call("POST", DEFINITIONS, definition(hook))).code == 201
        body = {
            "apiVersion": "example.org/v2",
            "kind": "Widget",
            "metadata": {"name": "w"},
            "spec": {"dimension": {"size": 4}},
        }
        assert (await api.call("POST", V2, body)).code == 201
        assert (await api.get(f"{V1}/w")).json["spec"] == {"size": 4}
        table = "application/json;as=Table;v=v1;g=meta.k8s.io"
        rows = (await api.get(V2, Accept=table)).json["rows"]
        assert [row["cells"][0] for row in rows] == ["w"]

"""Webhooks and configurations that make no sense: always an answer in order, never a failure of the server's own."""

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from attractor.apiserver.admission.outside_calls import Answer, Question
from attractor.apiserver.server import Server
from attractor.store.memory import MemoryStore
from tests.apiserver.admission.conftest import CONFIGMAP_RULE, REGISTRATIONS, AdmissionApi
from tests.apiserver.admission.test_conversion_webhooks import DEFINITIONS, V1, V2, version
from tests.apiserver.conftest import CONFIGMAPS, widget_definition
from tests.deterministic import CountingSource

PODS = "/api/v1/namespaces/default/pods"


class Puppet:
    """An outside that says what it is told to say."""

    respond: Callable[[dict[str, Any]], Any]

    async def answer(self, questions: Sequence[Question]) -> list[Answer]:
        return [Answer(response=self.respond(json.loads(question.body))) for question in questions]


@pytest.fixture
def puppet() -> Puppet:
    return Puppet()


@pytest.fixture
async def api(puppet: Puppet) -> AdmissionApi:
    source = CountingSource()
    server = Server(MemoryStore(), source, outside=puppet)
    await server.start()
    return AdmissionApi(server, source)


def configuration(**webhook: Any) -> dict[str, Any]:
    entry = {
        "name": "hook.example.org",
        "clientConfig": {"url": "https://example.org/"},
        "rules": [{**CONFIGMAP_RULE, "resources": ["configmaps", "pods/*"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **webhook,
    }
    return {"metadata": {"name": "hook"}, "webhooks": [entry]}


async def register(api: AdmissionApi) -> None:
    answer = await api("POST", f"{REGISTRATIONS}/mutatingwebhookconfigurations", configuration())
    assert answer.code == 201, answer.body


def patch(*operations: Any) -> dict[str, Any]:
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": text}


def setting(path: str, value: Any) -> dict[str, Any]:
    return patch({"op": "add", "path": path, "value": value})


@pytest.mark.parametrize(
    ("response", "code", "message"),
    [
        ({"allowed": False, "status": "text"}, 400, "without explanation"),
        ({"allowed": False, "status": {"code": 99999}}, 400, "without explanation"),
        ({"allowed": False, "status": {"code": "x", "message": 5, "details": []}}, 400, ": 5"),
        ({"allowed": False, "status": {"reason": ["x"]}}, 400, "without explanation"),
        ({"allowed": "yes"}, 500, "response.allowed is not a boolean"),
        ({"allowed": True, "patchType": "JSONPatch", "patch": 5}, 500, "response.patch cannot be read"),
        ({"allowed": True, "patchType": "JSONPatch", "patch": "e30="}, 500, "cannot be used: error decoding patch"),
        ({"allowed": True, "patchType": "Merge", "patch": "e30="}, 500, 'invalid response.patchType of "Merge"'),
        (patch({"op": "replace", "path": "", "value": [1]}), 500, "the patch leaves no object"),
        (setting("/kind", "Secret"), 500, "a patch may not change kind or apiVersion"),
        (setting("/metadata", "x"), 500, "cannot unmarshal string"),
        (setting("/data", {"x": {}}), 500, "cannot unmarshal object"),
        (setting("/metadata/name", "../x"), 422, "metadata.name"),
        (patch({"op": "remove", "path": "/metadata"}), 422, "name or generateName is required"),
    ],
)
async def test_an_answer_that_makes_no_sense_refuses_the_write(
    api: AdmissionApi, puppet: Puppet, response: dict[str, Any], code: int, message: str
) -> None:
    await register(api)
    puppet.respond = lambda _: response
    answer = await api.add(CONFIGMAPS, "a")
    assert (answer.code, message in answer.body["message"]) == (code, True), answer.body


@pytest.mark.parametrize("field", ["uid", "resourceVersion", "deletionTimestamp", "managedFields"])
async def test_a_webhook_cannot_set_what_is_the_servers(api: AdmissionApi, puppet: Puppet, field: str) -> None:
    values = {"deletionTimestamp": "2020-01-01T00:00:00Z", "managedFields": [{"manager": "me", "operation": "Update"}]}
    await register(api)
    puppet.respond = lambda _: setting(f"/metadata/{field}", values.get(field, "5"))
    created = await api.create(CONFIGMAPS, "a", data={"x": "1"})
    assert created.metadata.get(field) != values.get(field, "5")
    assert [entry["manager"] for entry in created.metadata["managedFields"]] == ["pytest"]


@pytest.mark.parametrize(
    ("subresource", "body", "path"),
    [
        ("binding", {"target": {"name": "n"}}, "/target"),
        ("eviction", {"apiVersion": "policy/v1", "kind": "Eviction"}, "/deleteOptions"),
    ],
)
async def test_what_is_sent_to_a_subresource_is_decoded_after_a_patch_too(
    api: AdmissionApi, puppet: Puppet, subresource: str, body: dict[str, Any], path: str
) -> None:
    await api.create(PODS, "p", spec={"containers": [{"name": "c", "image": "i"}]})
    await register(api)
    puppet.respond = lambda _: setting(path, "text")
    answer = await api("POST", f"{PODS}/p/{subresource}", body)
    assert (answer.code, "cannot unmarshal string" in answer.body["message"]) == (500, True)


async def test_a_patched_binding_is_the_one_that_counts(api: AdmissionApi, puppet: Puppet) -> None:
    await api.create(PODS, "p", spec={"containers": [{"name": "c", "image": "i"}]})
    await register(api)
    puppet.respond = lambda _: setting("/target/name", "better")
    assert (await api("POST", f"{PODS}/p/binding", {"target": {"name": "n"}})).code == 201
    assert (await api.get(f"{PODS}/p")).body["spec"]["nodeName"] == "better"


@pytest.mark.parametrize(
    ("client", "message"),
    [
        ({"url": "http://example.org/"}, "'https' is the only allowed URL scheme"),
        ({"url": "https://127.0.0.1:99999/"}, "url must be a valid URL"),
        ({"url": "https://[::1/"}, "url must be a valid URL"),
        ({"url": "https:///path"}, "host must be specified"),
        ({"url": "https://me:secret@example.org/"}, "user information is not permitted"),
        ({"url": "https://example.org/?a=b"}, "query parameters are not permitted"),
        ({"url": "https://example.org/\r\nX: y"}, "control characters are not permitted"),
        ({"url": "https://example.org/", "caBundle": "aGVsbG8="}, "unable to parse bytes as PEM block"),
        ({"url": "https://example.org/", "caBundle": "!"}, "illegal base64 data"),
        ({"service": {"namespace": "a", "name": "b", "path": "x\r\ny"}}, "must start with a '/'"),
        ({"service": {"namespace": "a", "name": "b", "path": "/a//b"}}, "segment[1] may not be empty"),
        ({"service": {"namespace": "a"}}, "service.namespace: Required value"),
        ({}, "exactly one of url or service is required"),
    ],
)
async def test_a_webhook_that_cannot_be_reached_is_not_registered(
    api: AdmissionApi, client: dict[str, Any], message: str
) -> None:
    path = f"{REGISTRATIONS}/validatingwebhookconfigurations"
    answer = await api("POST", path, configuration(clientConfig=client))
    assert answer.code in {400, 422}
    assert message in answer.body["message"]


def changing(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    """A conversion that also puts fields into each object; a function gets the object."""

    def convert(request: dict[str, Any]) -> Any:
        objects = [
            {**obj, "apiVersion": request["desiredAPIVersion"]}
            | {name: value(obj) if callable(value) else value for name, value in fields.items()}
            for obj in request["objects"]
        ]
        return {"result": {"status": "Success"}, "convertedObjects": objects}

    return convert


def with_labels(labels: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda obj: {**obj["metadata"], "labels": labels}


@pytest.mark.parametrize(
    ("respond", "message"),
    [
        (changing(metadata=None), "not an object with metadata"),
        (changing(metadata=with_labels("x")), "metadata.labels must be a map of strings"),
        (changing(metadata=with_labels({"a": 5})), "metadata.labels must be a map of strings"),
        (changing(metadata=with_labels({"a b": "c"})), "metadata.labels: Invalid value"),
        (changing(kind=5), "expected example.org/v2, Kind=Widget, got example.org/v2, Kind=5"),
        (lambda _: {"result": "x"}, "the webhook gave no reason"),
        (lambda _: {"result": {"status": "Success"}, "convertedObjects": [5]}, "not an object with metadata"),
        (lambda _: None, "failed: "),
    ],
)
async def test_a_conversion_that_makes_no_sense_fails_the_read_and_the_write(
    api: AdmissionApi, puppet: Puppet, respond: Callable[[dict[str, Any]], Any], message: str
) -> None:
    webhook = {"clientConfig": {"url": "https://example.org/"}, "conversionReviewVersions": ["v1"]}
    size = {"size": {"type": "integer"}}
    definition = widget_definition(
        versions=[version("v1", size, storage=True), version("v2", size, storage=False)],
        conversion={"strategy": "Webhook", "webhook": webhook},
    )
    assert (await api("POST", DEFINITIONS, definition)).code == 201
    await api.create(V1, "w", spec={"size": 1})
    puppet.respond = respond
    for answer in (
        await api.get(f"{V2}/w"),
        await api.get(V2),
        await api.merge(f"{V2}/w", {"spec": {"size": 2}}),
    ):
        assert (answer.code, message in answer.body["message"]) == (500, True), answer.body
    assert (await api.get(f"{V1}/w")).body["spec"] == {"size": 1}

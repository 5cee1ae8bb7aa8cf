"""Answers in protobuf: byte for byte what Kubernetes writes, and what the server sends to clients that prefer it."""

import json
import struct
from base64 import b64decode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import orjson
import pytest

from attractor.apiserver.request.bodies import PROTOBUF
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from attractor.httpd.formats import protobuf_answer
from attractor.httpd.formats.protobuf import decode
from attractor.httpd.formats.wire import values
from attractor.k8s import catalog
from attractor.objects.budget import Budget
from attractor.objects.errors import NotAcceptable
from tests.httpd.api import CONFIGMAPS, HttpApi, config_map

HERE = Path(__file__).parent
PUBLISHED = ZipFile(HERE / "published_protobuf.zip")
SPARSE = [json.loads(line) for line in ZipFile(HERE / "sparse_protobuf.zip").read("objects.jsonl").splitlines()]
NAMES = sorted(name.removesuffix(".pb") for name in PUBLISHED.namelist() if name.endswith(".pb"))
PREFERRED = f"{PROTOBUF},application/json"
PARTIAL = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize("name", NAMES)
def test_object_with_every_field_set_is_written_as_published(name: str) -> None:
    assert protobuf_answer.encode(json.loads(PUBLISHED.read(f"{name}.json"))) == PUBLISHED.read(f"{name}.pb")


def test_objects_with_few_fields_are_written_as_kubernetes_types_write_them() -> None:
    for one in SPARSE:
        assert (one["json"], protobuf_answer.encode(one["json"])) == (one["json"], b64decode(one["pb"]))
    assert (
        len({one["json"]["kind"] + one["json"]["apiVersion"] for one in SPARSE}) == len(NAMES) + 1
    )  # CustomResourceDefinition


def test_every_built_in_kind_and_its_list_can_be_written_and_read_back() -> None:
    for info in catalog.resources():
        if info.kind in {"PodExecOptions", "PodAttachOptions"} or "list" not in info.verbs:
            continue
        zero = catalog.zero_object(info.definition)
        whole: dict[str, Any] = {
            "kind": f"{info.kind}List",
            "apiVersion": info.gvk.api_version,
            "metadata": {},
            "items": [zero, zero],
        }
        data = protobuf_answer.encode(whole)
        read = decode(data, whole["kind"])
        assert len(read["items"]) == 2
        assert protobuf_answer.encode(read) == data
        spliced = protobuf_answer.raw(whole["kind"], whole["apiVersion"], {"metadata": {}})
        spliced += protobuf_answer.items(whole["kind"], whole["apiVersion"], [zero, zero])
        assert protobuf_answer.envelope(whole["kind"], whole["apiVersion"], spliced) == data


@pytest.mark.parametrize("value", [-1, 0, 127, 128, 300, 2**31 - 1, -(2**31)])
def test_numbers_of_all_sizes_are_read_back(value: int) -> None:
    pod = {"kind": "Pod", "apiVersion": "v1", "spec": {"activeDeadlineSeconds": value, "containers": []}}
    assert decode(protobuf_answer.encode(pod), "Pod")["spec"]["activeDeadlineSeconds"] == value


@pytest.mark.parametrize("gvk", [("Widget", "example.org/v1"), ("Table", "meta.k8s.io/v1"), ("", "")])
def test_what_has_no_protobuf_form_is_refused(gvk: tuple[str, str]) -> None:
    with pytest.raises(NotAcceptable, match="does not implement the protobuf marshalling interface"):
        protobuf_answer.encode({"kind": gvk[0], "apiVersion": gvk[1]})


@pytest.fixture
async def api() -> AsyncIterator[HttpApi]:
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator({"admin-token": ADMIN})) as cluster:
        yield HttpApi((await cluster.listen()).port)


async def test_reads_and_writes_are_answered_in_protobuf_to_those_who_prefer_it(api: HttpApi) -> None:
    made = await api.call("POST", CONFIGMAPS, config_map("a", None, k="v"), Accept=PREFERRED)
    assert (made.code, decode(made.body, "ConfigMap")["data"]) == (201, {"k": "v"})
    for path in (
        f"{CONFIGMAPS}/a",
        CONFIGMAPS,
        "/api/v1/namespaces",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ):
        answer = await api.get(path, Accept=PREFERRED)
        assert answer.headers["content-type"] == PROTOBUF
        assert answer.body == protobuf_answer.encode((await api.get(path)).json)
    gone = await api.call("DELETE", f"{CONFIGMAPS}/a", Accept=PREFERRED)
    assert decode_status(gone.body)["status"] == "Success"


def decode_status(data: bytes) -> dict[str, Any]:
    """A Status; no request body is one, so the decoder of bodies does not know it."""
    raw = next(value for value in values(data, 4, len(data), Budget(100)) if value.number == 2)
    inside = list(values(data, raw.start, raw.end, Budget(100)))
    texts = {value.number: data[value.start : value.end].decode() for value in inside if value.number in {2, 3, 4}}
    code = next(value.scalar for value in inside if value.number == 6)
    return {"status": texts[2], "message": texts[3], "reason": texts[4], "code": code}


async def test_refusals_are_statuses_in_protobuf(api: HttpApi) -> None:
    missing = await api.get(f"{CONFIGMAPS}/none", Accept=PREFERRED)
    assert (missing.code, missing.headers["content-type"]) == (404, PROTOBUF)
    assert decode_status(missing.body) == {
        "status": "Failure",
        "message": 'configmaps "none" not found',
        "reason": "NotFound",
        "code": 404,
    }
    nothing = await api.get("/api/v1/nothing", Accept=PROTOBUF)
    assert (nothing.code, decode_status(nothing.body)["reason"]) == (404, "NotFound")
    unknown = await HttpApi(api.port, "wrong").get(CONFIGMAPS, Accept=PROTOBUF)
    assert (unknown.code, decode_status(unknown.body)["reason"]) == (401, "Unauthorized")


async def test_a_long_list_is_the_same_as_a_short_one(api: HttpApi) -> None:
    for number in range(300):
        await api.create(f"c{number}", k="v" * 100)
    plain = (await api.get(CONFIGMAPS)).json
    assert (await api.get(CONFIGMAPS, Accept=PROTOBUF)).body == protobuf_answer.encode(plain)


async def test_metadata_alone_comes_in_protobuf(api: HttpApi) -> None:
    await api.create("a", k="v")
    one = await api.get(f"{CONFIGMAPS}/a", Accept=PARTIAL)
    plain = await api.get(f"{CONFIGMAPS}/a", Accept=PARTIAL.replace(PROTOBUF, "application/json"))
    assert one.body == protobuf_answer.encode(plain.json)
    assert plain.json["kind"] == "PartialObjectMetadata"


WIDGETS = "/apis/example.org/v1/widgets"


async def test_custom_objects_stay_json_but_for_their_metadata(api: HttpApi) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {
        "group": "example.org",
        "scope": "Cluster",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    crd = {**body, "metadata": {"name": "widgets.example.org"}, "spec": spec}
    made = await api.call("POST", definitions, crd, Accept=PREFERRED)
    assert decode(made.body, "CustomResourceDefinition")["spec"]["names"]["plural"] == "widgets"
    widget = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}}
    assert (await api.call("POST", WIDGETS, widget, Accept=PREFERRED)).json["kind"] == "Widget"
    assert (await api.get(WIDGETS, Accept=PREFERRED)).json["kind"] == "WidgetList"
    refused = await api.get(WIDGETS, Accept=PROTOBUF)
    assert refused.code == 406
    assert b"only the following media types are accepted" in refused.body
    partial = await api.get(f"{WIDGETS}/w", Accept=PARTIAL)
    assert (partial.code, partial.headers["content-type"]) == (200, PROTOBUF)


def frames(data: bytes) -> list[tuple[str, bytes]]:
    """The events of a watch stream: type, and object with its envelope."""
    found = []
    while data:
        (length,) = struct.unpack(">I", data[:4])
        event, data = data[4 : 4 + length], data[4 + length :]
        parts = {value.number: (value.start, value.end) for value in values(event, 0, length, Budget(10))}
        raw = next(iter(values(event, *parts[2], Budget(10))))
        found.append((event[slice(*parts[1])].decode(), event[raw.start : raw.end]))
    return found


async def test_a_watch_sends_frames_of_protobuf(api: HttpApi) -> None:
    await api.create("a", k="v")
    stream = f"{CONFIGMAPS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name=a"
    answer = await api.get(stream, Accept=f"{PROTOBUF};stream=watch")
    assert answer.headers["content-type"] == f"{PROTOBUF};stream=watch"
    ((event, obj),) = frames(answer.body)
    assert (event, obj) == ("ADDED", (await api.get(f"{CONFIGMAPS}/a", Accept=PROTOBUF)).body)
    partial = await api.get(stream, Accept=PARTIAL)
    assert frames(partial.body)[0][1] == (await api.get(f"{CONFIGMAPS}/a", Accept=PARTIAL)).body


async def test_an_error_of_a_watch_is_a_frame_too(api: HttpApi) -> None:
    answer = await api.get(f"{CONFIGMAPS}?watch=true&resourceVersion=999999&timeoutSeconds=9", Accept=PROTOBUF)
    ((event, obj),) = frames(answer.body)
    assert (event, decode_status(obj)["reason"]) == ("ERROR", "Timeout")


async def test_discovery_comes_in_protobuf_too(api: HttpApi) -> None:
    for path in ("/api", "/apis", "/api/v1", "/apis/apps/v1"):
        answer = await api.get(path, Accept=PROTOBUF)
        assert (answer.code, answer.headers["content-type"]) == (200, PROTOBUF)
        assert answer.body == protobuf_answer.encode(orjson.loads((await api.get(path)).body))

"""Decoding: Go's words for wrong types, Go's shape for right ones."""

import base64
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.apiserver.request.decode_errors import DecodeError
from attractor.objects.json_types import JsonObject
from tests.apiserver.kinds.builtin.pipeline import strategy

CM, SECRET, DEPLOYMENT, EVENT, ROLE = (
    "v1/ConfigMap",
    "v1/Secret",
    "apps/v1/Deployment",
    "v1/Event",
    "rbac.authorization.k8s.io/v1/Role",
)
QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def container(**fields: Any) -> JsonObject:
    return {"spec": {"template": {"spec": {"containers": [fields]}}}}


@pytest.mark.parametrize(
    ("kind", "obj", "message"),
    [
        (CM, {"data": {"a": 1}}, "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        (CM, {"data": ["a"]}, "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string"),
        (CM, {"immutable": "yes"}, "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool"),
        (CM, {"metadata": {"labels": {"a": True}}}, "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string"),
        (CM, {"metadata": {"generation": 1.5}}, "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64"),
        (CM, {"metadata": []}, "json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
        (CM, {"metadata": {"ownerReferences": [{"name": 5}]}}, "json: cannot unmarshal number into Go struct field OwnerReference.metadata.ownerReferences.name of type string"),
        (CM, {"metadata": {"creationTimestamp": "x"}}, 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
        (CM, {"metadata": {"creationTimestamp": 5}}, "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string"),
        (DEPLOYMENT, {"spec": {"replicas": "3"}}, "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (DEPLOYMENT, {"spec": {"replicas": 3.0}}, "json: cannot unmarshal number 3.0 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (DEPLOYMENT, {"spec": {"replicas": 2**31}}, "json: cannot unmarshal number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (DEPLOYMENT, {"spec": "x"}, "json: cannot unmarshal string into Go struct field Deployment.spec of type v1.DeploymentSpec"),
        (DEPLOYMENT, container(image=5), "json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.image of type string"),
        (DEPLOYMENT, container(env=[{"name": "A", "value": 1}]), "json: cannot unmarshal number into Go struct field EnvVar.spec.template.spec.containers.env.value of type string"),
        (DEPLOYMENT, container(imagePullPolicy=1), "json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.imagePullPolicy of type v1.PullPolicy"),
        (DEPLOYMENT, {"spec": {"template": {"spec": {"containers": {}}}}}, "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container"),
        (DEPLOYMENT, container(resources={"limits": {"cpu": "x"}}), QUANTITY),
        (DEPLOYMENT, container(resources={"limits": {"cpu": {}}}), QUANTITY),
        (DEPLOYMENT, container(resources={"limits": {"cpu": "1Q"}}), QUANTITY),
        (DEPLOYMENT, container(resources={"limits": {"cpu": "1K"}}), "unable to parse quantity's suffix"),
        (DEPLOYMENT, {"spec": {"strategy": {"rollingUpdate": {"maxSurge": True}}}}, "json: cannot unmarshal bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32"),
        (DEPLOYMENT, {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1.5}}}}, "json: cannot unmarshal number 1.5 into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32"),
        (SECRET, {"data": {"r": "not base64!"}}, "illegal base64 data at input byte 3"),
        (SECRET, {"data": {"r": 1}}, "json: cannot unmarshal number into Go struct field Secret.data of type []uint8"),
        (EVENT, {"eventTime": "2026-01-01T00:00:00Z"}, 'parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'),
    ],
)  # fmt: skip
def test_wrong_types_are_refused_in_the_words_of_go(kind: str, obj: JsonObject, message: str) -> None:
    with pytest.raises(DecodeError) as refused:
        strategy(kind).decode(obj)
    assert str(refused.value) == message


def test_the_first_wrong_value_of_the_document_is_the_one_named() -> None:
    with pytest.raises(DecodeError, match=r"ConfigMap\.immutable"):
        strategy(CM).decode({"immutable": 1, "data": {"a": 1}})


@pytest.mark.parametrize(
    ("kind", "obj", "expected"),
    [
        (CM, {"data": {}, "binaryData": None, "immutable": False}, {"metadata": {}, "immutable": False}),
        (CM, {"data": {"a": None}, "metadata": None}, {"metadata": {}, "data": {"a": ""}}),
        (CM, {"metadata": {"name": "x", "generation": 0, "labels": {}, "creationTimestamp": None, "finalizers": []}}, {"metadata": {"name": "x"}}),
        (CM, {"metadata": {"creationTimestamp": "2026-01-01T01:00:00.5+01:00"}}, {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}),
        (ROLE, {"rules": []}, {"metadata": {}, "rules": []}),
        (ROLE, {"rules": None}, {"metadata": {}, "rules": None}),
        (EVENT, {}, {"metadata": {}, "involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None,
                     "eventTime": None, "reportingComponent": "", "reportingInstance": ""}),
        (DEPLOYMENT, {}, {"metadata": {}, "spec": {"selector": None, "template": {"metadata": {}, "spec": {"containers": None}},
                                                   "strategy": {}}, "status": {}}),
        (DEPLOYMENT, container(name="c", resources={"limits": {"cpu": "1000m", "memory": 1024}}, args=[], stdin=False),
         {"metadata": {}, "spec": {"selector": None, "template": {"metadata": {}, "spec": {"containers": [
             {"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1024"}}}]}}, "strategy": {}}, "status": {}}),
        (SECRET, {"stringData": {"p": "q"}, "data": {"r": "cw==", "p": "eA=="}}, {"metadata": {}, "data": {"r": "cw==", "p": "cQ=="}}),
        (SECRET, {"data": {"r": "cx==", "n": None}}, {"metadata": {}, "data": {"r": "cw==", "n": ""}}),
    ],
)  # fmt: skip
def test_objects_come_out_as_go_writes_them(kind: str, obj: JsonObject, expected: JsonObject) -> None:
    assert strategy(kind).decode(obj).obj == expected


def test_fields_come_in_the_order_of_the_struct() -> None:
    found = strategy(DEPLOYMENT).decode(
        {"spec": {"replicas": 1}, "metadata": {"labels": {"a": "b"}, "name": "x"}, "kind": "Deployment"}
    )
    assert list(found.obj) == ["kind", "metadata", "spec", "status"]
    assert list(found.obj["metadata"]) == ["name", "labels"]


def test_unknown_fields_are_dropped_and_reported_by_path_in_the_order_of_the_document() -> None:
    obj = {
        "bogus": 1,
        "metadata": {"name": "x", "colour": "red"},
        "spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "b", "imaeg": "x", "Image": "y"}]}}},
    }
    found = strategy(DEPLOYMENT).decode(obj)
    assert found.unknown == [
        "bogus",
        "metadata.colour",
        "spec.template.spec.containers[1].imaeg",
        "spec.template.spec.containers[1].Image",
    ]
    assert found.obj["spec"]["template"]["spec"]["containers"][1] == {"name": "b", "resources": {}}


def test_raw_json_is_kept_as_it_is() -> None:
    data: JsonObject = {"spec": {"x": [1, None, {}]}}
    assert strategy("apps/v1/ControllerRevision").decode({"data": data, "revision": 3}).obj["data"] == data


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a", 0),
        ("ab", 0),
        ("abc", 0),
        ("abcd=", 4),
        ("ab=", 3),
        ("ab=c", 2),
        ("ab==c", 4),
        ("abc=d", 4),
        ("ab\n=", 4),
        ("é", 0),
        ("abcde", 4),
    ],
)
def test_broken_base64_is_refused_at_the_byte_where_go_gives_up(text: str, position: int) -> None:
    with pytest.raises(DecodeError) as refused:
        strategy(SECRET).decode({"data": {"k": text}})
    assert str(refused.value) == f"illegal base64 data at input byte {position}"


@given(st.binary(max_size=40), st.integers(0, 60))
def test_base64_with_line_breaks_comes_out_canonical(data: bytes, at: int) -> None:
    text = base64.b64encode(data).decode()
    found = strategy(SECRET).decode({"data": {"k": text[:at] + "\r\n" + text[at:]}})
    assert found.obj["data"]["k"] == text


def test_decoding_does_not_change_what_the_caller_holds() -> None:
    obj = {"metadata": {"name": "x"}, "spec": {"template": {"spec": {"containers": [{"name": "a", "bogus": 1}]}}}}
    before = copy.deepcopy(obj)
    strategy(DEPLOYMENT).decode(obj)
    assert obj == before


def test_an_amount_that_cannot_be_read_is_named_before_a_wrong_type() -> None:
    with pytest.raises(DecodeError, match="quantities must match"):
        strategy(DEPLOYMENT).decode({**container(name=5, resources={"limits": {"cpu": "one"}}), "metadata": []})


def test_a_time_that_is_no_text_is_named_before_one_that_cannot_be_read() -> None:
    with pytest.raises(DecodeError, match="cannot unmarshal number"):
        strategy(EVENT).decode({"firstTimestamp": 5, "lastTimestamp": "yesterday"})

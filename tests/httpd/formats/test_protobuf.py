"""Protobuf bodies: published vectors, the special types, and bytes that mean harm."""

import json
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.apiserver.request.bodies import PROTOBUF
from attractor.httpd.formats.protobuf import MAGIC, decode, request_as_json, to_json
from attractor.httpd.formats.wire import MAX_VALUES
from attractor.objects.errors import BadRequest

VECTORS = ZipFile(Path(__file__).parent / "published_protobuf.zip")
NAMES = sorted(name.removesuffix(".pb") for name in VECTORS.namelist() if name.endswith(".pb"))


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: bytes | str | float) -> bytes:
    """One field of a message: text and messages with their length, whole numbers as varints, others as doubles."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def body(api_version: str, kind: str, raw: bytes, more: bytes = b"") -> bytes:
    return MAGIC + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + more


def read(api_version: str, kind: str, raw: bytes) -> dict[str, Any]:
    return decode(body(api_version, kind, raw), kind)


@pytest.mark.parametrize("name", NAMES)
def test_object_with_every_field_set_reads_as_its_published_json(name: str) -> None:
    expected = json.loads(VECTORS.read(f"{name}.json"))
    data = VECTORS.read(f"{name}.pb")
    assert decode(data, expected["kind"]) == expected
    assert json.loads(to_json(data, expected["kind"])) == expected


def test_fields_that_json_leaves_out_when_empty_are_left_out() -> None:
    metadata = field(1, "m") + field(2, "") + field(7, 0) + field(8, b"")
    assert read("v1", "ConfigMap", field(1, metadata) + field(4, 0)) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "m"},
        "immutable": False,  # a pointer: being there is its meaning
    }


@pytest.mark.parametrize(
    ("raw", "spec"),
    [
        (field(1, field(1, 0) + field(2, -3)), {"minAvailable": -3}),
        (field(1, field(1, 1) + field(3, "50%")), {"minAvailable": "50%"}),
        (field(1, b""), {"minAvailable": 0}),
    ],
)
def test_int_or_string_is_what_its_type_says(raw: bytes, spec: dict[str, Any]) -> None:
    assert read("policy/v1", "PodDisruptionBudget", field(2, raw))["spec"] == spec


def test_packed_and_single_numbers_of_a_list_are_read_alike() -> None:
    single = field(4, 1) + field(4, 2)
    packed = field(4, varint(1) + varint(2))
    for groups in (single, packed):
        pod = read("v1", "Pod", field(2, field(14, groups)))
        assert pod["spec"]["securityContext"]["supplementalGroups"] == [1, 2]


def test_two_messages_for_one_field_are_one() -> None:
    made = read("v1", "ConfigMap", field(1, field(1, "m")) + field(1, field(3, "n")))
    assert made["metadata"] == {"name": "m", "namespace": "n"}


def test_unknown_fields_and_groups_are_passed_over() -> None:
    group = varint(90 << 3 | 3) + field(1, "x") + varint(91 << 3 | 3) + varint(91 << 3 | 4) + varint(90 << 3 | 4)
    unknown = field(99, "future") + field(98, 7) + field(97, 1.5) + varint(96 << 3 | 5) + b"abcd" + group
    assert read("v1", "ConfigMap", unknown + field(2, field(1, "k") + field(2, "v")))["data"] == {"k": "v"}


def test_map_entry_without_a_value_has_the_empty_one() -> None:
    assert read("v1", "ConfigMap", field(2, field(1, "k")))["data"] == {"k": ""}


def test_schema_of_a_definition_is_read_with_its_alternatives() -> None:
    def entry(name: str, schema: bytes) -> bytes:
        return field(29, field(1, name) + field(2, schema))

    schema = (
        field(5, "object")
        + entry("n", field(5, "integer") + field(9, 2.5) + field(11, 1.0) + field(8, field(1, b"7")))
        + entry("list", field(5, "array") + field(24, field(1, field(5, "string"))))
        + entry("any", field(5, "object") + field(30, field(1, 1)))
        + entry("typed", field(5, "object") + field(30, field(2, field(5, "string"))))
    )
    versions = field(7, field(1, "v1") + field(2, 1) + field(4, field(1, schema)))
    made = read("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, versions))
    properties = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert properties == {
        "n": {"type": "integer", "maximum": 2.5, "minimum": 1, "default": 7},
        "list": {"type": "array", "items": {"type": "string"}},
        "any": {"type": "object", "additionalProperties": True},
        "typed": {"type": "object", "additionalProperties": {"type": "string"}},
    }


def test_delete_options_are_read() -> None:
    raw = field(1, 0) + field(2, field(1, "u")) + field(4, "Foreground") + field(5, "All")
    assert read("v1", "DeleteOptions", raw) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u"},
        "propagationPolicy": "Foreground",
        "dryRun": ["All"],
    }


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", "/api/v1/namespaces/a/configmaps", "ConfigMap"),
        ("PUT", "/api/v1/namespaces/a/configmaps/c", "ConfigMap"),
        ("POST", "/api/v1/namespaces/a/pods/p/eviction", "Eviction"),
        ("DELETE", "/api/v1/namespaces/a/pods/p", "DeleteOptions"),
    ],
)
def test_request_body_becomes_json_of_the_kind_that_its_path_expects(method: str, path: str, kind: str) -> None:
    api_version = "policy/v1" if kind == "Eviction" else "v1"
    made, content_type = request_as_json(method, path, f"{PROTOBUF}; charset=x", body(api_version, kind, b""))
    assert content_type == "application/json"
    assert json.loads(made)["kind"] == kind
    with pytest.raises(BadRequest, match=f"must be of type {kind}"):
        request_as_json(method, path, PROTOBUF, b"junk")


@pytest.mark.parametrize(
    ("method", "path", "content_type", "data"),
    [
        ("POST", "/api/v1/namespaces/a/configmaps", "application/json", b"{}"),
        ("PATCH", "/api/v1/namespaces/a/configmaps/c", PROTOBUF, b"junk"),
        ("POST", "/apis/example.org/v1/namespaces/a/widgets", PROTOBUF, b"junk"),
        ("DELETE", "/api/v1/namespaces/a/configmaps/c", PROTOBUF, b""),
    ],
)
def test_other_bodies_are_left_to_the_core(method: str, path: str, content_type: str, data: bytes) -> None:
    assert request_as_json(method, path, content_type, data) == (data, content_type)


NESTED = field(5, "object")
for _ in range(200):
    NESTED = field(29, field(1, "p") + field(2, NESTED))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the object provided is unrecognized (must be of type Pod): empty data (<empty>)"),
        (b"{}", "the object provided is unrecognized (must be of type Pod): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})"),
        (MAGIC + b"\x0a\xff", "unexpected EOF"),
        (MAGIC + b"\x0a", "unexpected EOF"),
        (MAGIC + b"\xff" * 12, "proto: integer overflow"),
        (MAGIC + b"\x04", "proto: wiretype end group for non-group"),
        (MAGIC + b"\x02\x00", "proto: illegal tag 0 (wire type 2)"),
        (MAGIC + b"\x0f", "proto: illegal wireType 7"),
        (body("v1", "Nope", b""), 'Nope in version "v1" cannot be handled as a Pod: no kind "Nope" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"'),
        (body("a/b/c", "Pod", b""), "unexpected GroupVersion string: a/b/c"),
        (body("", "", b""), 'no kind "" is registered'),
        (body("v1", "Pod", b"\x0a\x05a"), 'Pod in version "v1" cannot be handled as a Pod: unexpected EOF'),
        (body("v1", "Pod", field(1, 3)), "proto: wrong wireType = 0 for field message"),
        (body("v1", "Pod", field(1, field(1, 3))), "proto: wrong wireType = 0 for field Name"),
        (body("v1", "Pod", field(1, field(7, "x"))), "proto: wrong wireType = 2 for field Generation"),
        (body("v1", "Pod", field(1, field(8, field(1, 2**60)))), "outside of the years 0 to 9999"),
        (body("v1", "ResourceQuota", field(2, field(1, field(1, "cpu") + field(2, field(1, "1x"))))), "quantities must match"),
        (body("policy/v1", "PodDisruptionBudget", field(2, field(1, field(1, 9)))), "impossible IntOrString.Type 9"),
        (body("apps/v1", "ControllerRevision", field(2, field(1, b"{not json"))), "raw JSON in the message cannot be read"),
        (body("v1", "Pod", b"", field(3, "gzip")), "content encoding 'gzip'"),
        (body("v1", "Pod", b"", field(4, "text/html")), "content type 'text/html'"),
        (body("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, field(4, field(1, NESTED))))), "exceeded max depth"),
        (body("v1", "PodList", field(2, b"") * (MAX_VALUES + 1)), f"message has more than {MAX_VALUES} values"),
        (body("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, field(4, field(1, field(9, float("nan"))))))), "json: unsupported value: nan"),
    ],
)  # fmt: skip
def test_bytes_that_are_no_object_are_refused_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        decode(data, "Pod")
    assert message in str(refused.value)
    assert refused.value.code == 400


def test_object_inside_an_object_may_be_protobuf_too() -> None:
    inner = body("v1", "ConfigMap", field(2, field(1, "k") + field(2, "v")))
    made = read("apps/v1", "ControllerRevision", field(2, field(1, inner)) + field(3, 4))
    assert made["data"] == {"kind": "ConfigMap", "apiVersion": "v1", "data": {"k": "v"}}
    assert made["revision"] == 4


def test_objects_nested_in_objects_end_somewhere() -> None:
    data = body("v1", "ConfigMap", b"")
    for _ in range(300):
        data = body("apps/v1", "ControllerRevision", field(2, field(1, data)))
    with pytest.raises(BadRequest, match="exceeded max depth"):
        decode(data, "ControllerRevision")


@given(st.sampled_from(NAMES), st.data())
def test_damaged_bytes_give_an_object_or_a_refusal(name: str, data: st.DataObject) -> None:
    damaged = bytearray(VECTORS.read(f"{name}.pb"))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)))
    for candidate in (bytes(damaged), bytes(damaged[:cut])):
        with suppress(BadRequest):
            json.dumps(decode(candidate, "Object"), allow_nan=False)


@given(st.binary(max_size=200))
def test_any_bytes_give_an_object_or_a_refusal(raw: bytes) -> None:
    for kind in ("Pod", "Secret", "Service"):
        with suppress(BadRequest):
            decode(body("v1", kind, raw), kind)

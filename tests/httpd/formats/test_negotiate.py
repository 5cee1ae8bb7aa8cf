"""Accept headers of real clients, and of odd ones."""

import pytest

from attractor.apiserver.request.bodies import JSON, PROTOBUF
from attractor.httpd.formats.encoding import encode, is_for_people
from attractor.httpd.formats.negotiate import Negotiated, Transform, negotiate, negotiate_discovery
from attractor.objects.errors import NotAcceptable

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", Negotiated("application/json")),
        ("*/*", Negotiated("application/json")),
        ("application/json", Negotiated("application/json")),
        ("application/json, */*", Negotiated("application/json")),
        ("application/yaml", Negotiated("application/yaml")),
        ("application/json;q=0.5,application/yaml", Negotiated("application/yaml")),
        ("application/json;q=0", Negotiated("application/json")),
        ("application/json;pretty=1", Negotiated("application/json", None, pretty=True)),
        ("application/json;stream=watch", Negotiated("application/json")),
        (f"{PROTOBUF},application/json", Negotiated(PROTOBUF)),
        (f"{PROTOBUF};stream=watch,application/json", Negotiated(PROTOBUF)),
        (f"{PROTOBUF};q=0.5,application/json", Negotiated("application/json")),
        (f"{TABLE.replace('application/json', PROTOBUF)},application/json", Negotiated("application/json")),
        (PARTIAL.replace("application/json", PROTOBUF), Negotiated(PROTOBUF, Transform("PartialObjectMetadata", "v1"))),
        (TABLE, Negotiated("application/json", Transform("Table", "v1"))),
        (f"{TABLE.replace('v1', 'v1beta1')},{TABLE}", Negotiated("application/json", Transform("Table", "v1beta1"))),
        (f"{TABLE.replace('v=v1', 'v=v9')},application/json", Negotiated("application/json")),
        (PARTIAL, Negotiated("application/json", Transform("PartialObjectMetadata", "v1"))),
        ("application/json;as=Pod;g=;v=v1,application/json", Negotiated("application/json")),
        ("text/html,application/xhtml+xml,*/*;q=0.8", Negotiated("application/json")),
        ("application/json;stream=sse,application/yaml", Negotiated("application/yaml")),
    ],
)
def test_accept_header_decides_format_and_kind(accept: str, expected: Negotiated) -> None:
    assert negotiate(accept) == expected


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (f"{PROTOBUF},application/json", Negotiated("application/json")),
        (PARTIAL.replace("application/json", PROTOBUF), Negotiated(PROTOBUF, Transform("PartialObjectMetadata", "v1"))),
    ],
)
def test_of_a_custom_object_only_the_metadata_goes_into_protobuf(accept: str, expected: Negotiated) -> None:
    assert negotiate(accept, is_custom=True) == expected
    with pytest.raises(NotAcceptable):
        negotiate(PROTOBUF, is_custom=True)


@pytest.mark.parametrize("accept", ["text/html", "json", "application/*", ";;,", TABLE.replace(JSON, PROTOBUF)])
def test_what_cannot_be_written_is_refused_in_kubernetes_words(accept: str) -> None:
    with pytest.raises(NotAcceptable) as refused:
        negotiate(accept)
    named = f"application/json, application/yaml, {PROTOBUF}"
    assert refused.value.status()["message"] == f"only the following media types are accepted: {named}"
    assert (refused.value.code, refused.value.reason) == (406, "NotAcceptable")


@pytest.mark.parametrize(
    "accept", ["application/json", "", "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList"]
)
def test_plain_discovery_is_for_those_who_do_not_ask_otherwise(accept: str) -> None:
    assert negotiate_discovery(accept) is None


@pytest.mark.parametrize(
    ("query", "agent", "expected"),
    [
        ({}, "curl/8.5", True),
        ({}, "kubectl/v1.32", False),
        ({"pretty": ["true"]}, "kubectl", True),
        ({"pretty": ["0"]}, "Mozilla/5.0", False),
    ],
)
def test_json_is_indented_for_people(query: dict[str, list[str]], agent: str, expected: bool) -> None:
    assert is_for_people(query, agent) is expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1, {"c": None}]}, "a:\n- 1\n- c: null\nb: 1\n"),
        (
            {"on": "yes", "x": "1", "y": "0x1f", "e": "", "d": "2026-01-01"},
            'd: "2026-01-01"\ne: ""\n"on": "yes"\nx: "1"\n"y": "0x1f"\n',
        ),
        ({"a": [], "b": {}}, "a: []\nb: {}\n"),
        ({"script": "line one\nline two\n"}, "script: |\n  line one\n  line two\n"),
        ({"t": "plain: not"}, "t: 'plain: not'\n"),
        ({"u": "grün"}, "u: grün\n"),
    ],
)
def test_yaml_reads_as_kubernetes_writes_it(value: dict[str, object], text: str) -> None:
    assert encode(value, "application/yaml").decode() == text

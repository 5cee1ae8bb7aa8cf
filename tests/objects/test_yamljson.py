"""YAML as Kubernetes reads it, and what it refuses to read."""

import pytest

from attractor.objects.yaml_json import YamlError, parse_yaml, parse_yaml_documents


@pytest.mark.parametrize("text", [b"[" * 100_000, b"{a: " * 100_000, "- " * 50_000, b"[" * 150 + b"]" * 150])
def test_document_that_nests_too_deeply_is_refused_and_the_process_lives(text: str | bytes) -> None:
    with pytest.raises(YamlError):
        parse_yaml(text)
    with pytest.raises(YamlError):
        list(parse_yaml_documents(text))


def test_long_but_flat_document_is_read() -> None:
    text = "\n".join(f"key-{number}: [{number}, 'a:b']" for number in range(1000))
    assert len(parse_yaml(text)) == 1000  # type: ignore[arg-type]


def test_times_stay_text_and_keys_become_text() -> None:
    assert parse_yaml("when: 2026-01-01T00:00:00Z\n1: yes") == {"when": "2026-01-01T00:00:00Z", "1": True}


def test_documents_that_are_empty_are_left_out() -> None:
    assert list(parse_yaml_documents("a: 1\n---\n---\nb: 2\n")) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("text", "message"), [("{a: b", "yaml: "), ("a: .nan", "unsupported value"), ("? [1]\n: 2", "yaml: ")]
)
def test_what_is_not_json_says_so(text: str, message: str) -> None:
    with pytest.raises(YamlError, match=message):
        parse_yaml(text)

"""A value that does not fit says where, what was expected and what was found."""

from typing import Any

import pytest

from attractor.objects.resource import DecodeError
from tests.objects.resource.widgets import Widget


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"metadata": {"name": "w", "namespace": "n"}, "spec": {"size": "x"}}, "Widget n/w: expected `int`, got `str` at spec.size"),
        ({"spec": {"size": -1}}, "Widget: expected `int` >= 0, got -1 at spec.size"),
        ({"spec": {"ports": [{"containerPort": 1}, {}]}}, "Widget: required field is missing at spec.ports[1].containerPort"),
        ({"spec": {"mode": "Slow"}}, "Widget: invalid enum value 'Slow', got \"Slow\" at spec.mode"),
        ({"spec": {"timeout": "soon"}}, "Widget: 'soon' is no duration; write it as in 1h30m, 10s or 300ms, got \"soon\" at spec.timeout"),
        ({"spec": {"fancy": 1, "size": []}}, "Widget: expected `int`, got `array` at spec.size"),
        ({}, "Widget: required field is missing at spec"),
        ({"spec": None}, "Widget: expected `object`, got `null` at spec"),
        ([], "Widget: expected `object`, got `array`"),
        ({"kind": "Gadget", "metadata": {"name": "g"}, "spec": {}}, "Widget g: expected example.org/v1, Kind=Widget, got example.org/v1, Kind=Gadget"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        Widget.from_dict(value)
    assert str(caught.value) == message


@pytest.mark.parametrize("data", [b'{"spec": ', b'{"spec": 3, ]', b"\xff", b"", b'{"later": 1, "spec": {}, '])
def test_text_that_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="Widget: not JSON"):
        Widget.from_json(data)


def test_what_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(DecodeError, match="nested too deeply"):
        Widget.from_json('{"spec": ' + "[" * 100_000)


def test_a_value_that_json_cannot_say_is_refused() -> None:
    with pytest.raises(DecodeError, match="not a JSON value"):
        Widget.from_dict({"spec": object()})


def test_an_empty_yaml_document_is_refused() -> None:
    with pytest.raises(DecodeError, match="expected `object`, got `null`"):
        Widget.from_yaml("")


def test_text_that_is_no_yaml_is_refused_with_the_place() -> None:
    with pytest.raises(DecodeError, match=r"Widget: no YAML: (?s:.)*line 2, column 1"):
        Widget.from_yaml("spec: [\n")

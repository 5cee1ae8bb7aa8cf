"""Field errors show values as Kubernetes prints them."""

from typing import Any

import pytest

from attractor.objects.field import FieldError


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        ("a", '"a"'),
        (3, "3"),
        ({"b": "1", "a": "2"}, '{"a":"2","b":"1"}'),
        ({"matchLabels": {"b": "1", "a": "2"}}, '{"matchLabels":{"a":"2","b":"1"}}'),
        (
            {"matchExpressions": [{"values": ["x"], "key": "k", "operator": "In"}], "matchLabels": {"a": "1"}},
            '{"matchLabels":{"a":"1"},"matchExpressions":[{"key":"k","operator":"In","values":["x"]}]}',
        ),
        (2**70, "1180591620717411303424"),
    ],
)
def test_a_value_is_shown_as_go_marshals_it(value: Any, shown: str) -> None:
    error = FieldError.invalid("spec.selector", value, "field is immutable")
    assert str(error) == f"spec.selector: Invalid value: {shown}: field is immutable"

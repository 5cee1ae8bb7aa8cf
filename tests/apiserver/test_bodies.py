"""Fields that stand twice in a body are found, however the body is written."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from attractor.apiserver.request.bodies import duplicate_fields

TEXTS = st.sampled_from(["a", "b", ":", '":', '" :', "12:30:00", ""])
PAIRS = st.recursive(
    st.one_of(st.integers(0, 9), TEXTS),
    lambda inner: st.one_of(st.lists(st.tuples(TEXTS, inner), max_size=4).map(tuple), st.lists(inner, max_size=3)),
    max_leaves=12,
)
COLONS = st.sampled_from([":", ": ", " :", " : "])


def written(value: object, colon: str) -> str:
    if isinstance(value, tuple):
        return "{" + ",".join(f"{json.dumps(name)}{colon}{written(item, colon)}" for name, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(item, colon) for item in value) + "]"
    return json.dumps(value)


def has_twice(value: object) -> bool:
    if isinstance(value, tuple):
        names = [name for name, _ in value]
        return len(set(names)) < len(names) or any(has_twice(item) for _, item in value)
    return isinstance(value, list) and any(map(has_twice, value))


@given(PAIRS, COLONS)
def test_a_field_that_stands_twice_is_found_and_no_other(value: object, colon: str) -> None:
    text = written(value, colon).encode()
    assert bool(duplicate_fields(text, json.loads(text))) == has_twice(value)

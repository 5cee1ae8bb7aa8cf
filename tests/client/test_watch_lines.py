"""Lines of a watch: read the same however a server writes them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.client.encoding.codec import ENCODED_CODEC, METADATA_CODEC
from attractor.client.errors import GarbledAnswer
from attractor.client.events import Bookmark, WatchEvent
from attractor.client.verbs.watch import LineSplitter, read_event
from attractor.objects.errors import Gone
from attractor.objects.gvk import Key

METADATA = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7"}
texts = st.dictionaries(
    st.text(max_size=5), st.text(max_size=12) | st.just('"},{"type":"ADDED","object":{'), max_size=3
)


@given(
    st.sampled_from(["ADDED", "MODIFIED", "DELETED"]),
    texts,
    st.sampled_from([(",", ":"), (", ", ": "), (" , ", " :")]),
    st.booleans(),
    st.sampled_from([{}, {"more": {}}]),
)
def test_an_event_is_the_same_in_any_order_and_spacing(
    event_type: str, data: dict[str, str], separators: tuple[str, str], object_first: bool, more: dict[str, Any]
) -> None:
    obj = {"kind": "ConfigMap", "metadata": METADATA, "data": data}
    told = {"object": obj, "type": event_type} if object_first else {"type": event_type, "object": obj}
    event = read_event(json.dumps({**told, **more}, separators=separators).encode(), ENCODED_CODEC)
    assert isinstance(event, WatchEvent)
    assert (event.type, event.key, event.uid, event.resource_version) == (event_type, Key("n", "a"), "u", "7")
    assert json.loads(event.object.json) == obj


def test_what_is_asked_for_as_metadata_is_read_as_metadata() -> None:
    event = read_event(json.dumps({"type": "ADDED", "object": {"metadata": METADATA}}).encode(), METADATA_CODEC)
    assert isinstance(event, WatchEvent)
    assert event.object.metadata.name == "a"


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ADDED","object":{"metadata":{}}',
        b'{"type":"ADDED","object":{"metadata":3}}',
        b'{"type":"ADDED","object":{}}',
        b'{"type":"ADDED","object":[]}',
        b'{"type":"ADDED"}',
        b'{"type":"CHANGED","object":{"metadata":{}}}',
        b"{",
        b"x",
    ],
)
def test_what_is_no_event_is_refused(line: bytes) -> None:
    with pytest.raises(GarbledAnswer):
        read_event(line, ENCODED_CODEC)


def test_bookmarks_and_errors_are_no_objects() -> None:
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}
    assert read_event(json.dumps(bookmark).encode(), ENCODED_CODEC) == Bookmark("9")
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    with pytest.raises(Gone):
        read_event(json.dumps({"type": "ERROR", "object": status}).encode(), ENCODED_CODEC)


@given(st.lists(st.integers(1, 40)), st.integers(0, 3))
def test_lines_are_whole_wherever_the_stream_is_cut(cuts: list[int], blank: int) -> None:
    lines = [b'{"number":%d}' % number for number in range(5)]
    stream = (b"\n" * (blank + 1)).join(lines) + b"\n"
    splitter, got = LineSplitter(), []
    for cut in cuts:
        got += splitter.feed(stream[:cut])
        stream = stream[cut:]
    got += splitter.feed(stream)
    assert got == lines
    assert splitter.is_between_lines

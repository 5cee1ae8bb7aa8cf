"""Transactions as bytes: what etcd reads is what protobuf's own messages would say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attractor.store.contract import Entry
from attractor.store.etcd.layout import PLACES, Layout, compared, head_revision, since, varint
from attractor.store.etcd.proto import rpc_pb2 as pb

KEYS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=200)
REVISIONS = st.integers(-(10**17) - 5, 2**62)


def oracle(
    layout: Layout, compares: dict[str, int], puts: dict[str, bytes], deletes: list[str], absent: list[str]
) -> pb.TxnRequest:
    head = pb.RequestOp(request_range=layout.head_request())
    writes = [pb.RequestOp(request_put=pb.PutRequest(key=layout.key(key), value=b"\0" + puts[key])) for key in puts]
    writes += [pb.RequestOp(request_delete_range=pb.DeleteRangeRequest(key=layout.key(key))) for key in deletes]
    if writes:
        writes.append(pb.RequestOp(request_put=pb.PutRequest(key=layout.head, value=b"\x000")))
    reads = [pb.RequestOp(request_range=pb.RangeRequest(key=layout.key(key), keys_only=True)) for key in compares]
    checks = [
        pb.Compare(target=pb.Compare.MOD, key=layout.key(key), mod_revision=compared(compares[key])) for key in compares
    ]
    for begin in map(layout.key, absent):
        end = Layout(begin.decode()).watch_request(0).create_request.range_end
        checks.append(pb.Compare(target=pb.Compare.MOD, key=begin, range_end=end, mod_revision=0))
    return pb.TxnRequest(compare=checks, success=writes or [head], failure=[head, *reads] if checks else [])


@given(
    st.dictionaries(KEYS, REVISIONS),
    st.dictionaries(KEYS, st.binary(max_size=300) | st.just(bytes(20_000))),
    st.lists(KEYS),
    st.lists(KEYS, unique=True),
)
def test_bytes_say_what_messages_would(
    compares: dict[str, int], puts: dict[str, bytes], deletes: list[str], absent: list[str]
) -> None:
    layout = Layout("/attractor/")
    made = pb.TxnRequest.FromString(layout.transaction(compares, puts, deletes, absent))
    assert made == oracle(layout, compares, puts, deletes, absent)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_number_is_written_as_protobuf_does(number: int) -> None:
    assert b"\x30" + varint(number) == pb.Compare(mod_revision=number).SerializeToString()


@given(
    st.dictionaries(KEYS, REVISIONS),
    st.lists(st.dictionaries(KEYS, st.binary(max_size=9)), min_size=1, max_size=PLACES),
)
def test_a_group_is_its_writes_each_at_its_place(compares: dict[str, int], writes: list[dict[str, bytes]]) -> None:
    layout = Layout("/attractor/")
    layout.begin(since=77)
    made = pb.TxnRequest.FromString(layout.group(compares, writes, ()))
    assert made.compare == oracle(layout, compares, {}, [], []).compare
    assert not made.failure
    *puts, head = [op.request_put for op in made.success]
    wanted = [(key, bytes([place]) + value) for place, put in enumerate(writes) for key, value in put.items()]
    assert [(put.key, put.value) for put in puts] == [(layout.key(key), value) for key, value in wanted]
    assert (head.key, head.value) == (layout.head, bytes([len(writes) - 1]) + b"77")


def test_every_write_of_a_group_is_a_revision_of_its_own_whatever_the_order_of_its_events() -> None:
    layout = Layout("/p/")
    stored = {"/p/b": b"\x01B", "/p/\0": b"\x010", "/p/a": b"\0A", "/p/c": b"\x01C", "/p/by hand": b"text"}
    events = [
        pb.Event(kv=pb.KeyValue(key=key.encode(), value=value, mod_revision=7, create_revision=5))
        for key, value in stored.items()
    ]
    first, second, created = 7 * PLACES, 7 * PLACES + 1, 5 * PLACES
    assert list(layout.changes(events)) == [
        (first, {"a": Entry("a", b"A", first, created), "by hand": Entry("by hand", b"text", first, created)}),
        (second, {"b": Entry("b", b"B", second, created), "c": Entry("c", b"C", second, created)}),
    ]


def test_the_head_tells_the_last_place_and_since_when_there_are_places() -> None:
    def answer(*values: bytes) -> pb.RangeResponse:
        kvs = [pb.KeyValue(mod_revision=7, value=value) for value in values]
        return pb.RangeResponse(header=pb.ResponseHeader(revision=90), kvs=kvs)

    assert (head_revision(answer(b"\x0312")), since(answer(b"\x0312"))) == (7 * PLACES + 3, 12)
    assert (head_revision(answer(b"")), since(answer(b""))) == (7 * PLACES, 90), "from before there were places"
    assert (head_revision(answer()), since(answer())) == (0, 0)


@given(st.integers(1, 2**57), st.integers(0, PLACES - 1))
def test_no_number_but_a_revision_of_ours_is_compared_with_one_of_etcd(revision: int, place: int) -> None:
    assert compared(revision * PLACES + place) == revision
    assert compared(0) == 0
    assert compared(-revision) < 0
    assert place == 0 or compared(place) < 0

"""Transactions as bytes: what etcd reads is what protobuf's own messages would say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attractor.store.etcd.layout import Layout, varint
from attractor.store.etcd.proto import rpc_pb2 as pb

KEYS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=200)
REVISIONS = st.integers(-(10**17) - 5, 2**62)


def oracle(
    layout: Layout, compares: dict[str, int], puts: dict[str, bytes], deletes: list[str], absent: list[str]
) -> pb.TxnRequest:
    head = pb.RequestOp(request_range=layout.head_request())
    writes = [pb.RequestOp(request_put=pb.PutRequest(key=layout.key(key), value=puts[key])) for key in puts]
    writes += [pb.RequestOp(request_delete_range=pb.DeleteRangeRequest(key=layout.key(key))) for key in deletes]
    if writes:
        writes.append(pb.RequestOp(request_put=pb.PutRequest(key=layout.head)))
    reads = [pb.RequestOp(request_range=pb.RangeRequest(key=layout.key(key), keys_only=True)) for key in compares]
    checks = [pb.Compare(target=pb.Compare.MOD, key=layout.key(key), mod_revision=compares[key]) for key in compares]
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

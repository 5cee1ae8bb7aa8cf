"""The layout of a store in etcd: our keys under a prefix, our transactions as etcd's.

Beside the keys there is one more, the *head* (the prefix and U+0000, which no key of ours begins with). Every
transaction writes it, so its ``mod_revision`` is the revision of the last transaction: reading this one key, which is
cheap, tells how far a mirror must have come to be up to date. Etcd's own revision does not tell that, for it also
counts writes to keys of others, and those never arrive on our watch.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from attractor.store.contract import Entry
from attractor.store.etcd.proto import rpc_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PAGE = 500
"""Keys of one answer while listing."""


class Layout:
    """The mapping between our keys and etcd's, for one prefix."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix.encode()
        self.head = self._prefix + b"\0"
        read = _bytes(b"\x0a" + _bytes(self.head_request().SerializeToString()))
        self._read_head, self._read_head_else = b"\x12" + read, b"\x1a" + read
        self._write_head = b"\x12" + _bytes(b"\x12" + _bytes(b"\x0a" + _bytes(self.head)))

    def key(self, key: str) -> bytes:
        """Etcd's key of ours."""
        return self._prefix + key.encode()

    def watch_request(self, after: int) -> pb.WatchRequest:
        """Everything under the prefix, the head included, from the revision after that one."""
        create = pb.WatchCreateRequest(key=self._prefix, range_end=_end(self._prefix), start_revision=after + 1)
        return pb.WatchRequest(create_request=create)

    def head_request(self) -> pb.RangeRequest:
        """Read the head."""
        return pb.RangeRequest(key=self.head, keys_only=True)

    def page_request(self, revision: int, after: bytes | None) -> pb.RangeRequest:
        """The next page of all entries at a revision."""
        key = self.head + b"\0" if after is None else after + b"\0"
        return pb.RangeRequest(key=key, range_end=_end(self._prefix), limit=PAGE, revision=revision)

    def transaction(
        self,
        compares: Mapping[str, int],
        puts: Mapping[str, bytes],
        deletes: Iterable[str],
        absent: Iterable[str] = (),
    ) -> bytes:
        """Write if all compares hold (with nothing to write: read the head); else read the head and all compared.

        Under the prefixes ``absent`` there must be no key; etcd compares a range without keys as if it were one key
        that is not there. The answer is a ``TxnRequest`` as bytes: it is in every write's way, and putting the bytes
        together takes a fraction of what messages in messages take.
        """
        parts = []
        failure = [self._read_head_else]
        for key, revision in compares.items():
            named = _bytes(self.key(key))
            compared = b"\x10\x02\x1a" + named + b"\x30" + varint(revision)
            parts.append(b"\x0a" + _bytes(compared))
            failure.append(b"\x1a" + _bytes(b"\x0a" + _bytes(b"\x0a" + named + b"\x40\x01")))
        for prefix in absent:
            begin = self.key(prefix)
            compared = b"\x10\x02\x1a" + _bytes(begin) + b"\x30\x00\x82\x04" + _bytes(_end(begin))
            parts.append(b"\x0a" + _bytes(compared))
        if not parts:
            failure = []
        wrote = len(parts)
        for key, value in puts.items():
            put = b"\x0a" + _bytes(self.key(key)) + b"\x12" + _bytes(value)
            parts.append(b"\x12" + _bytes(b"\x12" + _bytes(put)))
        parts += [b"\x12" + _bytes(b"\x1a" + _bytes(b"\x0a" + _bytes(self.key(key)))) for key in deletes]
        parts.append(self._read_head if len(parts) == wrote else self._write_head)
        return b"".join(parts + failure)

    def entry(self, kv: pb.KeyValue) -> Entry:
        """Our entry of etcd's; keys that are not text survive unchanged."""
        key = kv.key[len(self._prefix) :].decode(errors="surrogateescape")
        return Entry(key, kv.value, kv.mod_revision, kv.create_revision)

    def changes(self, events: Iterable[pb.Event]) -> Iterator[tuple[int, dict[str, Entry | None]]]:
        """What each revision changed, in order; the head does not count as a change."""
        for revision, group in groupby(events, key=lambda event: event.kv.mod_revision):
            changed: dict[str, Entry | None] = {}
            for event in group:
                if event.kv.key != self.head:
                    entry = self.entry(event.kv)
                    changed[entry.key] = None if event.type == pb.Event.DELETE else entry
            yield revision, changed


def head_revision(answer: pb.RangeResponse) -> int:
    """The revision of the last transaction, out of the answer to a head request."""
    return answer.kvs[0].mod_revision if answer.kvs else 0


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    if 0 <= number < 128:
        return _SMALL[number]
    number &= 0xFFFFFFFFFFFFFFFF
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def _bytes(value: bytes) -> bytes:
    """Bytes as protobuf writes them: their number first."""
    return varint(len(value)) + value


_SMALL = [bytes([number]) for number in range(128)]


def _end(prefix: bytes) -> bytes:
    """The first key after all with a prefix; a zero byte means to etcd: to the end."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else b"\0"

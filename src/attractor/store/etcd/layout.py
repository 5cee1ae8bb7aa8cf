"""The layout of a store in etcd: our keys under a prefix, our transactions in etcd's.

One transaction of etcd carries up to ``PLACES`` of ours. Etcd gives all of them one revision; to a watcher, which must
be able to resume between any two, each has its own: etcd's revision times ``PLACES``, plus its *place* in the
transaction. The place is the first byte of every value. Values without one (their first byte is ``PLACES`` or more, as
in all text) are from other tools or from before there were places, and are at place 0::

    write 1 puts a, write 2 puts b and c; etcd's revision is 7
    a = 00 value    b = 01 value    c = 01 value    a is at revision 7 * 32, b and c are at 7 * 32 + 1

Beside the keys there is one more, the *head* (the prefix and U+0000, which no key of ours begins with). Every
transaction writes it, so its ``mod_revision`` and the last place, its first byte, are the revision of the last
transaction: reading this one key, which is cheap, tells how far a mirror must have come to be up to date. Etcd's own
revision does not tell that, for it also counts writes to keys of others, and those never arrive on our watch. The other
bytes of the head are the revision of etcd *since* which there are places: what a client knows from before means
another revision now, so that older history is not offered.

A third key, the *claim*, is how a server asks others to leave a key of ours alone for a while (``retry_queue``). It is
no part of the state.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from attractor.store.contract import Entry
from attractor.store.etcd.proto import rpc_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

PAGE = 500
"""Keys of one answer while listing."""

PLACES = 32
"""Writes that one transaction of etcd can carry."""


class Layout:
    """The mapping between our keys and etcd's, for one prefix."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix.encode()
        self.head = self._prefix + b"\0"
        self._claim = self.head + b"claim"
        read = _bytes(b"\x0a" + _bytes(self.head_request().SerializeToString()))
        self._read_head, self._read_head_else = b"\x12" + read, b"\x1a" + read
        self.begin(0)

    def begin(self, since: int) -> None:
        """Tell since which revision of etcd there are places."""
        self.since = since
        self._write_head = [_put(self.head, place, b"%d" % since) for place in _SMALL[:PLACES]]

    def key(self, key: str) -> bytes:
        """Etcd's key of ours."""
        return self._prefix + key.encode()

    def watch_request(self, after: int) -> pb.WatchRequest:
        """Everything under the prefix, the head included, from the revision after that one."""
        create = pb.WatchCreateRequest(key=self._prefix, range_end=_end(self._prefix), start_revision=after + 1)
        return pb.WatchRequest(create_request=create)

    def head_request(self) -> pb.RangeRequest:
        """Read the head."""
        return pb.RangeRequest(key=self.head)

    def page_request(self, revision: int, after: bytes | None) -> pb.RangeRequest:
        """The next page of all entries at a revision."""
        key = self._prefix + b"\x01" if after is None else after + b"\0"
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
        parts = self._compares(compares, absent)
        failure = [self._read_head_else] if parts else []
        failure += [
            b"\x1a" + _bytes(b"\x0a" + _bytes(b"\x0a" + _bytes(self.key(key)) + b"\x40\x01")) for key in compares
        ]
        wrote = len(parts)
        parts += [_put(self.key(key), b"\0", value) for key, value in puts.items()]
        parts += [b"\x12" + _bytes(b"\x1a" + _bytes(b"\x0a" + _bytes(self.key(key)))) for key in deletes]
        parts.append(self._read_head if len(parts) == wrote else self._write_head[0])
        return b"".join(parts + failure)

    def group(self, compares: Mapping[str, int], writes: Sequence[Mapping[str, bytes]], absent: Iterable[str]) -> bytes:
        """Several writes at once, each at its place, if all compares hold; else nothing."""
        parts = self._compares(compares, absent)
        for place, puts in zip(_SMALL, writes, strict=False):
            parts += [_put(self.key(key), place, value) for key, value in puts.items()]
        parts.append(self._write_head[len(writes) - 1])
        return b"".join(parts)

    def claim(self, key: str, server: bytes) -> bytes:
        """The transaction by which a server claims a key."""
        return _put(self._claim, server, key.encode())

    def claimed(self, events: Iterable[pb.Event], server: bytes) -> Iterator[str]:
        """The keys that other servers than this one claim."""
        for event in events:
            kv = event.kv
            if kv.key == self._claim and not kv.value.startswith(server):
                yield kv.value[len(server) :].decode(errors="surrogateescape")

    def _compares(self, compares: Mapping[str, int], absent: Iterable[str]) -> list[bytes]:
        parts = []
        for key, revision in compares.items():
            named = _bytes(self.key(key))
            parts.append(b"\x0a" + _bytes(b"\x10\x02\x1a" + named + b"\x30" + varint(compared(revision))))
        for prefix in absent:
            begin = self.key(prefix)
            named = _bytes(begin) + b"\x30\x00\x82\x04" + _bytes(_end(begin))
            parts.append(b"\x0a" + _bytes(b"\x10\x02\x1a" + named))
        return parts

    def entry(self, kv: pb.KeyValue) -> Entry:
        """Our entry of etcd's; keys that are not text survive unchanged."""
        key = kv.key[len(self._prefix) :].decode(errors="surrogateescape")
        value, revision = kv.value, kv.mod_revision * PLACES
        if value and value[0] < PLACES:
            value, revision = value[1:], revision + value[0]
        return Entry(key, value, revision, kv.create_revision * PLACES)

    def changes(self, events: Iterable[pb.Event]) -> Iterator[tuple[int, dict[str, Entry | None]]]:
        """What each revision changed, in order; the head does not count as a change."""
        for revision, group in groupby(events, key=lambda event: event.kv.mod_revision):
            places: dict[int, dict[str, Entry | None]] = {}
            for event in group:
                if event.kv.key == self.head:
                    places.setdefault(revision * PLACES, {})
                elif event.kv.key != self._claim:
                    entry = self.entry(event.kv)
                    changed = None if event.type == pb.Event.DELETE else entry
                    places.setdefault(entry.revision, {})[entry.key] = changed
            yield from sorted(places.items())


def head_revision(answer: pb.RangeResponse) -> int:
    """The revision of the last transaction, out of the answer to a head request."""
    for head in answer.kvs:
        return head.mod_revision * PLACES + (head.value[0] if head.value else 0)
    return 0


def since(answer: pb.RangeResponse) -> int:
    """The revision of etcd since which there are places, out of the answer to a head request."""
    for head in answer.kvs:
        return int(head.value[1:]) if head.value else answer.header.revision
    return 0


def compared(revision: int) -> int:
    """The revision that etcd is to compare for one of ours; -1, which nothing has, for what is none of ours."""
    return revision // PLACES if revision >= PLACES or not revision else -1


def etcd_revision(answer: pb.RangeResponse) -> int:
    """Etcd's revision of one key; 0 if it is not there."""
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


def _put(key: bytes, place: bytes, value: bytes) -> bytes:
    """One put among those of a transaction that succeeds; ``place`` goes before the value."""
    put = b"\x0a" + _bytes(key) + b"\x12" + varint(len(place) + len(value)) + place + value
    return b"\x12" + _bytes(b"\x12" + _bytes(put))


_SMALL = [bytes([number]) for number in range(128)]


def _end(prefix: bytes) -> bytes:
    """The first key after all with a prefix; a zero byte means to etcd: to the end."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else b"\0"

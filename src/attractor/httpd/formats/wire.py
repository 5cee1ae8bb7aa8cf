"""Protobuf's wire format: tags, varints, lengths. Nothing here knows what a message means.

Every read checks its bounds, so no input reads past its end, and every value counts against a budget, so no input
costs more memory than it deserves. Errors are in the words of Go's generated code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.budget import Budget

VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)
MAX_DEPTH = 100
MAX_VALUES = 100_000
"""Fields that one body may have: a ConfigMap of 30,000 entries fits, and reading it takes less than half a second."""
_EOF = "unexpected EOF"
_U64 = (1 << 64) - 1


class WireError(ValueError):
    """The bytes are no message."""


class Value(NamedTuple):
    """One field as it stands on the wire: a number, or a span of the data."""

    number: int
    wire: int
    scalar: int
    """The value of a varint or of fixed bits; 0 for spans."""
    start: int = 0
    end: int = 0


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """An unsigned number of up to 64 bits and where it ends."""
    value = shift = 0
    while True:
        if shift >= 64:
            raise WireError("proto: integer overflow")
        if at >= end:
            raise WireError(_EOF)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _U64, at
        shift += 7


def signed(value: int, bits: int = 64) -> int:
    """A number in two's complement, cut to that many bits as Go cuts it."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def values(data: bytes, start: int, end: int, budget: Budget) -> Iterator[Value]:
    """The fields of a message, in order; groups, which nothing here uses, are passed over."""
    at = start
    while at < end:
        tag = data[at]
        if tag < 0x80:  # nearly always
            at += 1
        else:
            tag, at = varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        if wire == END_GROUP:
            raise WireError("proto: wiretype end group for non-group")
        if number == 0 or number >= 1 << 29:
            raise WireError(f"proto: illegal tag {number} (wire type {wire})")
        budget.charge()
        if wire == GROUP:
            at = _skip_group(data, at, end, budget)
            continue
        value = _value(data, at, end, number, wire)
        yield value
        at = value.end


def _value(data: bytes, at: int, end: int, number: int, wire: int) -> Value:
    if wire == VARINT:
        scalar, at = varint(data, at, end)
        return Value(number, wire, scalar, at, at)
    if wire == BYTES:
        length, at = varint(data, at, end)
        if length > end - at:
            raise WireError(_EOF)
        return Value(number, wire, 0, at, at + length)
    if wire in {FIXED64, FIXED32}:
        size = 8 if wire == FIXED64 else 4
        if size > end - at:
            raise WireError(_EOF)
        return Value(number, wire, int.from_bytes(data[at : at + size], "little"), at, at + size)
    raise WireError(f"proto: illegal wireType {wire}")


def _skip_group(data: bytes, at: int, end: int, budget: Budget) -> int:
    depth = 1
    while depth:
        tag, at = varint(data, at, end)
        budget.charge()
        wire = tag & 7
        if wire == END_GROUP:
            depth -= 1
        elif wire == GROUP:
            depth += 1
        else:
            at = _value(data, at, end, tag >> 3, wire).end
    return at

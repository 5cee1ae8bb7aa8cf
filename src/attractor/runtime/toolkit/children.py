"""Immutable children, named by a hash of the parent's data.

``(parent)-(hash of the data that matters to the child)[-(number)]``: a child never changes once created, so comparing
names tells which children are current and which are stale, and a second creation is refused by the server instead of
making a duplicate. Equal data gives equal names, whatever the order of its keys.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from attractor.objects.resource import Resource, Struct
from attractor.objects.resource.codec import to_builtins

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

R = TypeVar("R", bound=Resource)

MAX_NAME = 63
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH = 10


def data_hash(data: Any) -> str:
    """A hash of a JSON value or typed object: ten characters, safe in names and labels, the same in any key order."""
    plain = to_builtins(data) if isinstance(data, Struct) else msgspec.to_builtins(data, str_keys=True)
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    letters = []
    for _ in range(_LENGTH):
        number, index = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[index])
    return "".join(letters)


def hashed_name(parent: str, data: Any, number: int | None = None) -> str:
    """The name of an immutable child: ``<parent>-<hash of data>[-<number>]``, at most 63 characters.

    A parent's name that is too long is cut, and then its whole name is part of the hash.
    """
    tail = "" if number is None else f"-{number}"
    room = MAX_NAME - _LENGTH - 1 - len(tail)
    if len(parent) > room:
        return f"{parent[:room].rstrip('-.')}-{data_hash([parent, _plain(data)])}{tail}"
    return f"{parent}-{data_hash(data)}{tail}"


def split_children(children: Iterable[R], current_names: Collection[str]) -> tuple[list[R], list[R]]:
    """Split children by name into those that are current and those that are stale."""
    current: list[R] = []
    stale: list[R] = []
    for child in children:
        (current if child.metadata.name in current_names else stale).append(child)
    return current, stale


def _plain(data: Any) -> Any:
    return to_builtins(data) if isinstance(data, Struct) else data
